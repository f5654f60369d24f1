//! `posse servers login` and `logout`: OAuth sign-in with a browser, here or on another machine.

use std::io::BufRead;
use std::process::{Command, Stdio};
use std::sync::Arc;

use posse_core::{Error, ErrorCode, Result};
use posse_mcp::client::{LoginStanding, SignIn, SignInStart, TokenManager};
use posse_messages::say;
use serde_json::json;
use tokio::sync::oneshot;

use crate::args::GlobalArgs;
use crate::terminal;
use posse_mcp::registry::NamedServer;

/// Program that opens an address in a browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Flags of the sign-in.
#[derive(Debug, Clone, Copy)]
pub struct LoginMethod {
    pub no_browser: bool,
    pub paste: bool,
}

pub async fn login(global: &GlobalArgs, named: &NamedServer, way: LoginMethod) -> Result<()> {
    let keeper = keeper(named)?;
    if keeper.standing()? == LoginStanding::Unasked {
        // The refusal tells where to sign in and for which scopes; other errors are reported below.
        let _ = named.server.look().await;
    }
    if let SignInStart::Person(sign_in) = keeper.sign_in().await? {
        show(global, named, sign_in.url(), way);
        let redirect = redirect(&sign_in, way).await?;
        sign_in.finish(&redirect).await?;
    }
    let known = named.server.look().await?;
    let server = named.server.config().name.as_str();
    let until = named.sign_in().unwrap_or_default();
    match global.json {
        true => terminal::out(
            &json!({ "server": server, "sign_in": "signed_in", "state": until.as_str() }).to_string(),
        ),
        false => terminal::out(&say!("mcp-signed-in-now", server, until, tools = known.accepted.len())),
    }
    Ok(())
}

pub async fn logout(global: &GlobalArgs, named: &NamedServer) -> Result<()> {
    let was_signed_in = keeper(named)?.sign_out().await?;
    let server = named.server.config().name.as_str();
    match (global.json, was_signed_in) {
        (true, _) => terminal::out(&json!({ "server": server, "was_signed_in": was_signed_in }).to_string()),
        (false, true) => terminal::out(&say!("mcp-signed-out-now", server)),
        (false, false) => terminal::out(&say!("mcp-was-not-signed-in", server)),
    }
    Ok(())
}

fn keeper(named: &NamedServer) -> Result<&Arc<TokenManager>> {
    let server = &named.server.config().name;
    let nobody = || Error::new(ErrorCode::InvalidRequest, say!("mcp-nobody-signs-in", server));
    named.server.keeper().ok_or_else(nobody)
}

/// Prints the address, and opens a browser if a person sits here.
fn show(global: &GlobalArgs, named: &NamedServer, url: &str, way: LoginMethod) {
    let server = named.server.config().name.as_str();
    if global.json {
        terminal::out(&json!({ "server": server, "url": url }).to_string());
    } else {
        terminal::note(&say!("mcp-sign-in-there", server));
        terminal::out(url);
    }
    if way.paste || terminal::is_attended() {
        terminal::note(&say!("mcp-paste-here"));
    }
    if !way.no_browser && !way.paste && terminal::is_attended() {
        // The URL scheme is http or https (`TokenManager::sign_in`), so it cannot be an option or a file.
        let _ = Command::new(OPENER)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
    }
}

/// Waits for the redirect: the browser comes here, or the person pastes its address.
async fn redirect(sign_in: &SignIn<'_>, way: LoginMethod) -> Result<String> {
    if way.paste || terminal::is_attended() {
        tokio::select! {
            came = sign_in.redirected() => came,
            pasted = pasted(way) => pasted,
        }
    } else {
        sign_in.redirected().await
    }
}

/// Reads a line of standard input. The reading thread ends with the process.
async fn pasted(way: LoginMethod) -> Result<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(|line| line.ok());
        if let Some(line) = lines.map(|line| line.trim().to_owned()).find(|line| !line.is_empty()) {
            let _ = sender.send(line);
        }
    });
    match receiver.await {
        Ok(line) => Ok(line),
        Err(_) if way.paste => Err(Error::new(ErrorCode::InvalidRequest, say!("mcp-nothing-pasted"))),
        // Input has ended, but the browser may still come.
        Err(_) => std::future::pending().await,
    }
}
