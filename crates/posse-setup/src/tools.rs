//! Tools that a setup found, and their names as a person lists them.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_core::pattern::ToolPattern;
use posse_core::tool::{SESSION_TOOLS, ToolEffect};
use posse_core::tool_names::{named_tools, patterns_of};
use posse_core::{Error, ErrorCode, Result};
use posse_mcp::registry::{ServerRegistry, is_about_servers};
use posse_messages::say;
use posse_runtime::ports::Tool;

/// All tools found here, and the problems of those that cannot be used.
pub struct ToolInventory {
    /// Tools, built-in ones first.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools of the project, each with its digest: programs by the author of the project.
    pub foreign: BTreeMap<String, String>,
    /// Tools that cannot be used.
    pub problems: Vec<Error>,
    /// Registry of the MCP servers.
    pub servers: Arc<ServerRegistry>,
}

impl ToolInventory {
    /// Resolves tool names, and `mcp__server` for all tools of a server. An unknown name is an error: a misspelling
    /// must not allow anything. A server's tools are known only after it was asked.
    pub fn named(&self, list: &[String]) -> Result<Vec<String>> {
        let (servers, list): (Vec<&String>, Vec<&String>) =
            list.iter().partition(|name| is_about_servers(name));
        let mut of_servers = Vec::new();
        for entry in servers {
            if !self.servers.covers(entry) {
                return Err(self.servers.unknown(entry));
            }
            let patterns = ToolPattern::parse(entry)?;
            of_servers.extend(
                self.names().filter(|name| patterns.iter().any(|p| p.names(name))).map(str::to_owned),
            );
        }
        let named = named_tools(list.iter().copied(), &self.names().collect::<Vec<_>>());
        of_servers
            .splice(0..0, named.map_err(|e| list.iter().find_map(|name| self.broken(name)).unwrap_or(e))?);
        Ok(of_servers)
    }

    /// Says what is wrong with a tool of one's own, if it is there and cannot be used.
    fn broken(&self, name: &str) -> Option<Error> {
        let place = format!("/tools/{name}/");
        let problem = self.problems.iter().find(|problem| problem.message().contains(&place))?;
        let text = say!("tool-broken", name, why = problem.message());
        let error = Error::new(ErrorCode::ToolInvalid, text);
        Some(match problem.advice() {
            Some(hint) => error.hint(hint.to_owned()),
            None => error,
        })
    }

    /// Tells whether a tool of this name is there.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|there| there == name)
    }

    /// Lists the tools with their effects.
    pub fn effects(&self) -> impl Iterator<Item = (String, ToolEffect)> {
        self.tools.iter().map(|tool| (tool.spec().name.clone(), tool.spec().effect))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec().name.as_str()).chain(SESSION_TOOLS.iter().copied())
    }

    /// Parses a pattern list of the configuration.
    pub(crate) fn patterns(&self, key: &str, list: &[String]) -> Result<Vec<ToolPattern>> {
        let parsed = patterns_of(list, &self.names().collect::<Vec<_>>());
        parsed.map_err(|e| {
            let text = format!("`{key}`: {}", e.message());
            Error::new(ErrorCode::ConfigInvalid, text).hint(e.advice().unwrap_or_default())
        })
    }
}
