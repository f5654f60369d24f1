//! A server's tool as a regular tool: grants, approvals, the journal and redaction treat it like any other.

use std::sync::Arc;

use posse_core::tool::ToolSpec;
use posse_runtime::ports::{BoxFuture, Tool, ToolInput, ToolOutput};

use super::definition::Offered;
use super::server::Server;

/// A tool of an MCP server.
pub(super) struct ServerTool {
    server: Arc<Server>,
    tool: Offered,
}

impl ServerTool {
    /// Creates a tool that calls through this server.
    pub fn new(server: Arc<Server>, tool: Offered) -> Self {
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
