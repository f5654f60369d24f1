//! Posse as a server: the tools that delegate, for hosts that speak the protocol. It translates; what a call does is decided where it
//! is decided for every other door, in the session.

mod asking;
mod bounded;
mod door;
mod entrance;
pub mod http;
mod prompts;
mod resources;
mod sampling;
mod tasks;
mod tools;
mod watch;
mod wire;

pub use door::{Door, Serving};
pub use entrance::{Entrance, Opener};
pub use resources::Transcripts;
pub use sampling::{ANY, HostModel, Hosts, PROVIDER};
pub use tools::{Offer, TaskReach};
pub use wire::Wire;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use rmcp::ServerHandler;
use rmcp::service::{ServerInitializeError, serve_server};

/// Talks with one host until it says nothing more.
pub async fn converse<H: ServerHandler + Clone>(handler: H, wire: Wire) -> Result<()> {
    loop {
        match serve_server(handler.clone(), wire.clone()).await {
            Ok(running) => {
                let ended = running.waiting().await;
                ended.map_err(|e| {
                    Error::new(ErrorCode::Internal, localized!("mcp-loop-crashed")).caused_by(e)
                })?;
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            // Something that has no place before the handshake: whoever says it can still begin properly.
            Err(_) => {}
        }
        if wire.has_ended() {
            return Ok(());
        }
    }
}
