//! `posse serve`: the HTTP API and the dashboard, with the MCP endpoint of this directory on the same server.

pub mod host;

use std::process::ExitCode;
use std::sync::Arc;

use http::Uri;
use posse_core::{Error, ErrorCode, Result};
use posse_http::wire::TokenScope;
use posse_http::{ApiServer, Body, MountedHandler, ServerOptions, listen, tls};
use posse_mcp::server::http::{McpEndpoint, PATH, RequestGuard};
use posse_mcp::server::{ConnectedHosts, McpServer, SessionSlot};
use posse_messages::say;
use tokio_util::sync::CancellationToken;

use self::host::{LateSession, ProgramHost};
use super::mcp::{leave, open, prepare, told_to_stop};
use super::tokens::{login_link, token_file};
use crate::args::{GlobalArgs, McpArgs, ServeArgs, TaskFlags};
use crate::config::{ApprovalMode, OnExit};
use crate::setup::Setup;
use crate::{retention, terminal};

pub async fn run(global: &GlobalArgs, args: ServeArgs) -> Result<ExitCode> {
    let setup = Setup { hosts: ConnectedHosts::served(), ..Setup::load(global)? };
    retention::apply_later(global, &setup.config.store, &setup.state);
    // An address that is refused is never listened at.
    ServedPlace::of(&args, args.listen)?;
    let listener = listen(args.listen).await?;
    let place = ServedPlace::of(&args, listener.local_addr().unwrap_or(args.listen))?;
    let (leaving, tokens) = (CancellationToken::new(), token_file(global)?);
    let options = ServerOptions {
        guard: place.guard.clone(),
        tokens: tokens.clone(),
        cookie: format!("posse_{}", place.port),
        is_secure: place.is_secure,
        tls: match (&args.tls_cert, &args.tls_key) {
            (Some(certificates), Some(key)) => Some(tls(certificates, key)?),
            (Some(_), None) | (None, Some(_)) | (None, None) => None,
        },
    };
    let (opener, entrance) = SessionSlot::closed();
    let (door, plan) = prepare(&setup, delegation(&setup, &args), leaving.clone(), entrance.clone()).await?;
    let session = Arc::new(LateSession::default());
    let host = ProgramHost::new(global, &setup, session.clone())?;
    let endpoint = McpEndpoint::new(move || door.another(), &place.guard, leaving.clone());
    let server = ApiServer::new(setup.store()?, Arc::new(host), options, leaving.clone())
        .mount(PATH, mounted(endpoint, session.clone()));
    terminal::note(&say!("serve-listening", url = place.url));
    if !args.no_link {
        let link = login_link(&tokens, &place.url, &TokenScope::ALL)?;
        terminal::show(global.json, &link, &serde_json::json!({ "link": link }));
    }
    // A viewer needs no session, and opening one starts MCP servers: it waits for the first request that needs it.
    let opening = async {
        session.wanted().await;
        match open(&setup, plan).await {
            Ok(hosted) => {
                opener.open(hosted.clone());
                session.opened(Ok(hosted));
            }
            Err(e) => session.opened(Err(e)),
        }
        std::future::pending::<Result<()>>().await
    };
    let mut serving = std::pin::pin!(server.run(listener));
    let served = tokio::select! {
        () = serving.as_mut() => Ok(()),
        told = told_to_stop() => told,
        failed = opening => failed,
    };
    leaving.cancel();
    serving.await;
    if let Some(hosted) = entrance.hosted() {
        leave(global, &hosted, args.on_exit.or(setup.config.mcp.on_exit).unwrap_or(OnExit::HandOver)).await?;
    }
    setup.close_servers().await;
    served.map(|()| ExitCode::SUCCESS)
}

/// Returns the options of the session that spawns tasks. Calls that need approval wait for the people at the dashboard.
fn delegation(setup: &Setup, args: &ServeArgs) -> McpArgs {
    let asked = setup.config.approvals.mode.is_none().then_some(ApprovalMode::Ask);
    let approvals = args.common.approvals.or(asked);
    McpArgs {
        command: None,
        tools: Vec::new(),
        on_exit: args.on_exit,
        room: None,
        http: None,
        write: args.write.clone(),
        common: TaskFlags { approvals, ..args.common.clone() },
    }
}

/// Serves MCP on the same server. The first request opens the session.
fn mounted(endpoint: McpEndpoint<McpServer>, session: Arc<LateSession>) -> MountedHandler {
    Arc::new(move |request| {
        session.want();
        let endpoint = endpoint.clone();
        Box::pin(async move { endpoint.respond(request).await.map(Body::new) })
    })
}

/// Addresses of a server.
#[derive(Debug)]
struct ServedPlace {
    /// Address in the browser.
    url: String,
    guard: RequestGuard,
    port: u16,
    is_secure: bool,
}

impl ServedPlace {
    fn of(args: &ServeArgs, address: std::net::SocketAddr) -> Result<Self> {
        let has_tls = args.tls_cert.is_some();
        let is_loopback = address.ip().to_canonical().is_loopback();
        if !is_loopback && !has_tls && !args.behind_proxy {
            return Err(Error::new(ErrorCode::InvalidRequest, say!("serve-beyond-loopback", address))
                .hint(say!("serve-beyond-loopback-hint")));
        }
        let scheme = if has_tls { "https" } else { "http" };
        let port = address.port();
        let mut guard = RequestGuard { token: None, hosts: Vec::new(), origins: Vec::new() };
        let mut add = |scheme: &str, authority: &str| {
            guard.hosts.push(authority.to_owned());
            guard.origins.push(format!("{scheme}://{authority}"));
        };
        // Exactly this port: pages of other servers on this machine are other sites.
        if is_loopback || address.ip().is_unspecified() {
            for name in ["127.0.0.1", "localhost", "[::1]"] {
                add(scheme, &format!("{name}:{port}"));
            }
        } else {
            add(scheme, &address.to_string());
        }
        let mut url = None;
        for text in &args.public_url {
            let (scheme, authority) = parse_url(text)?;
            add(&scheme, &authority);
            url.get_or_insert(format!("{scheme}://{authority}"));
        }
        let own = || guard.origins.first().cloned().unwrap_or_default();
        let is_secure = url.as_ref().map_or(has_tls, |url: &String| url.starts_with("https:"));
        Ok(Self { url: url.unwrap_or_else(own), guard, port, is_secure })
    }
}

/// Returns scheme and authority of an address in a browser, which has no path.
fn parse_url(text: &str) -> Result<(String, String)> {
    let invalid = || Error::new(ErrorCode::InvalidRequest, say!("public-url-invalid", url = text));
    let uri: Uri = text.trim_end_matches('/').parse().map_err(|e| invalid().caused_by(e))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(invalid()) };
    let is_plain = uri.path().trim_matches('/').is_empty() && uri.query().is_none();
    if !["http", "https"].contains(&scheme) || !is_plain || authority.as_str().contains('@') {
        return Err(invalid());
    }
    Ok((scheme.to_owned(), authority.as_str().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_a_browser_is_a_scheme_and_a_host() {
        assert_eq!(parse_url("https://Posse.example/").unwrap(), ("https".into(), "posse.example".into()));
        assert_eq!(parse_url("http://[::1]:8080").unwrap(), ("http".into(), "[::1]:8080".into()));
        for wrong in ["posse.example", "ftp://x", "https://a/b", "https://u@a", "https://a?b", "", "//a"] {
            assert!(parse_url(wrong).is_err(), "{wrong}");
        }
    }
}
