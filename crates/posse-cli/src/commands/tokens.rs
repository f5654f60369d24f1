//! `posse tokens`: tokens of the HTTP API.

use std::process::ExitCode;

use posse_core::context::wire::utc;
use posse_core::{Error, ErrorCode, Result};
use posse_http::tokens::{TokenEntry, TokenFile, TokenKind};
use posse_http::wire::TokenScope;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_terminal::table::{ColumnFit, TableColumn, TextTable};
use serde_json::{Value, json};

use super::tasks::age;
use crate::args::{GlobalArgs, TokensCommand};
use crate::{lists, setup, terminal};

/// Returns the file of all tokens.
pub fn token_file(global: &GlobalArgs) -> Result<TokenFile> {
    Ok(TokenFile::at(setup::state_dir(global)?.join("http-tokens.json")))
}

/// Creates a link that logs a browser in. The code is in the fragment, which is sent to no server.
pub fn login_link(file: &TokenFile, url: &str, scopes: &[TokenScope]) -> Result<String> {
    let code = file.new_code(scopes)?.secret;
    Ok(format!("{}/#code={code}", url.trim_end_matches('/')))
}

pub fn run(global: &GlobalArgs, command: TokensCommand) -> Result<ExitCode> {
    let file = token_file(global)?;
    match command {
        TokensCommand::Add { name, scope, expires } => {
            let expires_ms = expires.map(|seconds| now_ms().saturating_add(seconds * 1000));
            let issued = file.add(&name, &scope, expires_ms)?;
            if global.json {
                let mut value = entry_json(&issued.entry);
                value["token"] = json!(issued.secret);
                terminal::out(&value.to_string());
            } else {
                terminal::out(&issued.secret);
                terminal::note(&say!("token-shown-once", name, scopes = scopes(&issued.entry)));
            }
        }
        TokensCommand::List => list(&file, global.json)?,
        TokensCommand::Revoke { name } => {
            if !file.revoke(&name)? {
                return Err(Error::new(ErrorCode::InvalidRequest, say!("token-unknown", name))
                    .hint(say!("token-unknown-hint")));
            }
            terminal::note(&say!("token-revoked", name));
        }
        TokensCommand::Login { url, scope } => {
            let scopes = if scope.is_empty() { TokenScope::ALL.to_vec() } else { scope };
            let link = login_link(&file, &url, &scopes)?;
            terminal::show(global.json, &link, &json!({ "link": link }));
            terminal::note(&say!("login-link-once"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(file: &TokenFile, json: bool) -> Result<()> {
    let mut tokens = file.list()?;
    // Codes are links that nobody has opened yet.
    tokens.retain(|entry| entry.kind != TokenKind::Code);
    if json {
        tokens.iter().for_each(|entry| terminal::out(&entry_json(entry).to_string()));
        return Ok(());
    }
    if tokens.is_empty() {
        terminal::note(&say!("no-tokens"));
        return Ok(());
    }
    let mut table = TextTable::new(vec![
        TableColumn::text(say!("column-name"), ColumnFit::Fixed),
        TableColumn::text(say!("column-kind"), ColumnFit::Optional(1)),
        TableColumn::text(say!("column-scopes"), ColumnFit::Flexible(12)),
        TableColumn::number(say!("column-age"), ColumnFit::Optional(2)),
        TableColumn::text(say!("column-expires"), ColumnFit::Optional(3)),
    ]);
    for entry in &tokens {
        table.row(vec![
            entry.name.as_str().into(),
            entry.kind.wire().into(),
            scopes(entry).into(),
            age(entry.created_ms).into(),
            entry.expires_ms.map(utc).unwrap_or_default().into(),
        ]);
    }
    lists::print(&table);
    Ok(())
}

fn scopes(entry: &TokenEntry) -> String {
    entry.scopes.iter().map(|scope| scope.wire()).collect::<Vec<_>>().join(", ")
}

fn entry_json(entry: &TokenEntry) -> Value {
    json!({
        "name": entry.name,
        "kind": entry.kind.wire(),
        "scopes": entry.scopes,
        "created_at": utc(entry.created_ms),
        "expires_at": entry.expires_ms.map(utc),
    })
}
