//! Agents that a task can be delegated to.

use std::sync::Arc;

use posse_core::definition::Definition;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

/// Source of agents to delegate to. It may change while a session runs; a task keeps the agent it started with.
pub trait AgentLookup: Send + Sync {
    fn list(&self) -> Vec<Arc<Definition>>;

    /// Finds a definition; for a broken one, the error says why it cannot be used.
    fn find(&self, name: &str) -> Result<Arc<Definition>>;

    /// Definitions that are broken: they are in no list, and asking for one by name gives the same error.
    fn diagnostics(&self) -> Vec<AgentDiagnostic> {
        Vec::new()
    }

    /// Returns a remark for people about definitions that cannot be used.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// A definition that cannot be used, and why.
#[derive(Debug)]
pub struct AgentDiagnostic {
    pub name: String,
    pub path: String,
    pub error: Error,
}

/// A fixed list.
impl AgentLookup for Vec<Arc<Definition>> {
    fn list(&self) -> Vec<Arc<Definition>> {
        self.clone()
    }

    fn find(&self, name: &str) -> Result<Arc<Definition>> {
        let found = self.iter().find(|definition| definition.name.as_str() == name).cloned();
        let shown = self.iter().filter(|definition| !definition.mode.hidden);
        found.ok_or_else(|| unknown_agent(name, shown.map(|definition| definition.name.as_str())))
    }
}

/// The error for a name that no agent has.
pub fn unknown_agent<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    let near = posse_core::text::nearest(name, known.iter().copied());
    let near = near.map(|name| localized!("did-you-mean", name));
    let name = posse_core::text::prefix(name, 80);
    let there_are = match known.is_empty() {
        true => localized!("there-are-none"),
        false => localized!("there-are", names = known[..known.len().min(AGENTS_NAMED)].join(", ")),
    };
    let hint = LocalizedText::join(near.iter().chain([&there_are]), " ");
    Error::new(ErrorCode::AgentNotFound, localized!("agent-not-found", name)).hint(hint)
}

/// Names in an error message; a model can ask for the others.
const AGENTS_NAMED: usize = 50;
