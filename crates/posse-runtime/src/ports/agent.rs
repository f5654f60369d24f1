//! Agents that a task can be delegated to.

use std::sync::Arc;

use posse_core::agent::ModelSettings;
use posse_core::definition::Definition;
use posse_core::id::AgentName;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

use super::{Approver, Observer};

/// Source of agents to delegate to. It may change while a session runs; a task keeps the agent it started with.
pub trait AgentLookup: Send + Sync {
    fn list(&self) -> Vec<Arc<Definition>>;

    /// Finds a definition; for a broken one, the error says why it cannot be used.
    fn find(&self, name: &str) -> Result<Arc<Definition>>;

    /// Lists broken definitions: they are in no list, and finding one by name gives the same error.
    fn diagnostics(&self) -> Vec<AgentDiagnostic> {
        Vec::new()
    }

    /// Returns the equipment of an agent that the program itself brings; `None` for agents of files.
    fn equipment(&self, _agent: &AgentName) -> Option<Arc<AgentEquipment>> {
        None
    }

    /// Returns a remark for people about definitions that cannot be used.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// Settings of a program's own agent that no file can express. Its prompt gets no suffix and no guidance.
pub struct AgentEquipment {
    /// Settings of its model calls, instead of its parent's.
    pub settings: ModelSettings,
    pub output_tokens_per_call: u32,
    /// Approver of its calls and those below it, instead of its parent's.
    pub approver: Option<Arc<dyn Approver>>,
    pub observer: Option<Arc<dyn Observer>>,
    /// Shows it all tools of its parent, also those it may not call: its requests then share a prefix with its siblings',
    /// which a provider's prompt cache needs.
    pub shows_parent_tools: bool,
    /// May delegate like its parent, unless its tool list excludes that.
    pub inherits_delegation: bool,
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

/// Creates the error for an unknown agent name.
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

/// Maximum names in an error message; a model can list the others.
const AGENTS_NAMED: usize = 50;
