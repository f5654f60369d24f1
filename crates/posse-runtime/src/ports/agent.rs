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

    /// Definitions that are broken: they are in no list, and asking for one by name gives the same error.
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

/// Parts of a program's own agent that no file can say. Such an agent gets its prompt as it is: no suffix, no guidance.
pub struct AgentEquipment {
    /// Settings of its model calls, instead of its parent's.
    pub settings: ModelSettings,
    pub output_tokens_per_call: u32,
    /// Is asked about its calls and those below it, instead of the approver of its parent.
    pub approver: Option<Arc<dyn Approver>>,
    pub observer: Option<Arc<dyn Observer>>,
    /// Describes the tools of its parent to it, also those that it may not call: requests then begin like its siblings',
    /// which a provider's prompt cache goes by.
    pub shows_parent_tools: bool,
    /// May delegate as its parent does, unless its list of tools leaves that out.
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
