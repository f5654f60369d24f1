//! `posse servers`: list MCP servers and their tools, accept changed tools, sign in and out.

mod login;

use std::process::ExitCode;

use posse_core::Result;
use posse_core::text::visible;
use posse_mcp::client::{Definitions, DifferenceKind, ToolPins};
use posse_messages::say;
use serde_json::json;

use super::trust::refuse_inside_a_task;
use crate::args::{GlobalArgs, ServersCommand};
use crate::setup::Setup;
use crate::terminal;
use posse_mcp::registry::{NamedServer, ServerFilter, ServerRegistry};

pub async fn run(global: &GlobalArgs, command: Option<ServersCommand>) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let servers = setup.load_servers(ServerFilter::All);
    let done = match command {
        None => list(global, &servers),
        Some(ServersCommand::Show { name, start }) => show(global, servers.find(&name)?, start).await,
        Some(ServersCommand::Accept { name }) => {
            refuse_inside_a_task()?;
            accept(global, servers.find(&name)?)
        }
        Some(ServersCommand::Login { name, no_browser, paste }) => {
            refuse_inside_a_task()?;
            login::login(global, servers.find(&name)?, login::LoginMethod { no_browser, paste }).await
        }
        Some(ServersCommand::Logout { name }) => {
            refuse_inside_a_task()?;
            login::logout(global, servers.find(&name)?).await
        }
    };
    servers.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

fn list(global: &GlobalArgs, servers: &ServerRegistry) -> Result<()> {
    for named in servers.all() {
        terminal::show(global.json, &named.line(), &named.to_json());
    }
    servers.problems().iter().for_each(terminal::warn);
    if servers.all().is_empty() && !global.json {
        terminal::note(&say!("mcp-no-servers"));
    }
    Ok(())
}

async fn show(global: &GlobalArgs, named: &NamedServer, start: bool) -> Result<()> {
    let known = match start {
        true => named.server.look().await?,
        false => named.server.known()?.unwrap_or_default(),
    };
    if global.json {
        let mut value = named.to_json();
        value["accepted"] = json!(known.accepted);
        value["waiting"] = json!(known.waiting);
        terminal::out(&value.to_string());
        return Ok(());
    }
    terminal::out(&visible(&named.line()));
    definitions(&known.accepted);
    changes(named, &known);
    Ok(())
}

/// Accepts the changes that were printed, even if the server changes again meanwhile.
fn accept(global: &GlobalArgs, named: &NamedServer) -> Result<()> {
    let known = named.server.known()?.unwrap_or_default();
    let server = &named.server.config().name;
    let count = known.differences().len();
    if !global.json {
        changes(named, &known);
    }
    if count > 0 {
        named.server.accept(known)?;
    }
    match global.json {
        true => terminal::out(&json!({ "server": server.as_str(), "accepted": count }).to_string()),
        false if count == 0 => terminal::out(&say!("mcp-nothing-waits", server)),
        false => terminal::out(&say!("mcp-accepted", server, count)),
    }
    Ok(())
}

fn definitions(definitions: &Definitions) {
    for raw in definitions.values() {
        terminal::out(&visible(&format!("{raw:#}")));
    }
}

fn changes(named: &NamedServer, known: &ToolPins) {
    let empty = Definitions::new();
    let now = known.waiting.as_ref().unwrap_or(&empty);
    for difference in known.differences() {
        let (tool, server) = (visible(&difference.tool).into_owned(), &named.server.config().name);
        terminal::out(&match difference.kind {
            DifferenceKind::New => say!("mcp-change-new", server, tool),
            DifferenceKind::Changed => say!("mcp-change-changed", server, tool),
            DifferenceKind::Gone => say!("mcp-change-gone", server, tool),
        });
        for (mark, raw) in [("-", known.accepted.get(&difference.tool)), ("+", now.get(&difference.tool))] {
            let text = raw.map(|raw| format!("{raw:#}")).unwrap_or_default();
            text.lines().for_each(|line| terminal::out(&visible(&format!("{mark} {line}"))));
        }
    }
}
