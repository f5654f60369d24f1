//! Serving MCP hosts: the session of a room, and the token of the HTTP server.

use std::fs::File;

use posse_core::context::SessionState;
use posse_core::{Error, ErrorCode, Result};
use posse_mcp::files::read_or_create;
use posse_mcp::server::room_session;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::ContextStore;
use posse_store::SqliteStore;

use crate::setup::Setup;

/// Finds the session of a room. An archived or deleted session is followed by a fresh one.
pub async fn session_id(store: &SqliteStore, setup: &Setup, room: Option<&str>) -> Result<String> {
    const CLOSED_MAX: u32 = 1_000;
    let place = setup.workspace.canonicalize().unwrap_or(setup.workspace.clone());
    for number in 0..CLOSED_MAX {
        let id = room_session(&place, room, number);
        store.create_session(&id, &setup.workspace.display().to_string(), now_ms()).await?;
        if store.session_state(&id).await? == Some(SessionState::Open) {
            return Ok(id);
        }
    }
    Err(Error::new(ErrorCode::SessionNotFound, say!("mcp-sessions-closed"))
        .hint(say!("mcp-sessions-closed-hint")))
}

/// Returns the bearer token and its source: the environment, or a file that only this user can read.
pub fn token(setup: &Setup) -> Result<(String, String)> {
    const VARIABLE: &str = "POSSE_MCP_TOKEN";
    if let Some(token) = setup.process.text(VARIABLE) {
        return Ok((token.trim().to_owned(), format!("${VARIABLE}")));
    }
    let path = setup.state.join("mcp-token");
    let token = read_or_create(&path, || {
        use std::io::Read;
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    })?;
    Ok((token.trim().to_owned(), path.display().to_string()))
}
