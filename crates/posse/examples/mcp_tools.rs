//! Tools of an MCP server: `cargo run -p posse --example mcp_tools`.
#![allow(clippy::print_stdout)]

use posse::mcp::ToolServer;
use posse::prelude::*;

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    // Any server of your own: ToolServer::program("git", "uvx", ["mcp-server-git"]), ToolServer::url(…).
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scripts/weather_server.sh");
    let tools = ToolServer::program("weather", "sh", [server])?.connect().await?;
    let agent = Agent::new(model())?.tools(tools);
    println!("{}", agent.ask("How is the weather in Oslo?").await?);
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/mcp_tools.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
