//! MCP server: offers Posse's delegation tools to MCP hosts. It only translates; the session decides what a
//! call does, as for every other front end.

mod bounded;
mod elicitation;
mod handler;
pub mod http;
mod prompts;
mod resources;
mod room;
mod sampling;
mod session_slot;
mod tasks;
mod tools;
mod watch;
mod wire;

pub use handler::{McpServer, ServerParts};
pub use resources::TranscriptSource;
pub use room::room_session;
pub use sampling::{ANY, ConnectedHosts, HostModel, PROVIDER};
pub use session_slot::{SessionSlot, SlotOpener};
pub use tools::{HostTool, TaskReach};
pub use wire::HostWire;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use rmcp::ServerHandler;
use rmcp::service::{ServerInitializeError, serve_server};

/// Serves one host until its input ends.
pub async fn converse<H: ServerHandler + Clone>(handler: H, wire: HostWire) -> Result<()> {
    loop {
        match serve_server(handler.clone(), wire.clone()).await {
            Ok(running) => {
                let ended = running.waiting().await;
                ended.map_err(|e| {
                    Error::new(ErrorCode::Internal, localized!("mcp-loop-crashed")).caused_by(e)
                })?;
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            // A message that does not belong before the handshake; the host may still initialize properly.
            Err(_) => {}
        }
        if wire.has_ended() {
            return Ok(());
        }
    }
}
