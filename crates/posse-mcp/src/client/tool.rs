//! A server's tool as a regular tool: grants, approvals, the journal and redaction treat it like any other.

use std::sync::Arc;

use posse_core::tool::ToolSpec;
use posse_runtime::ports::{BoxFuture, Tool, ToolInput, ToolOutput};

use super::definition::OfferedTool;
use super::server::McpClient;

/// A tool of an MCP server.
pub(super) struct ServerTool {
    server: Arc<McpClient>,
    tool: OfferedTool,
}

impl ServerTool {
    /// Creates a tool that calls through this server.
    pub fn new(server: Arc<McpClient>, tool: OfferedTool) -> Self {
        Self { server, tool }
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.tool.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.server.call(&self.tool.remote, &self.tool.hash, &input).await })
    }
}
