//! Agents to delegate to: those of files, and those made while the session runs.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use posse_core::definition::{Definition, DefinitionScope};
use posse_core::id::AgentName;
use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

use super::Session;
use crate::context::now_ms;
use crate::delegation::recalled;
use crate::ports::{KeptAgent, unknown_agent};

/// An agent made while the session runs.
#[derive(Clone)]
pub(crate) struct DefinedAgent {
    pub definition: Arc<Definition>,
    /// Incremented when it is defined again.
    pub version: u32,
    /// Idempotency key of the call that defined it: the same call gets the same answer.
    pub key: String,
    pub source: AgentSource,
}

/// Process that a defined agent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentSource {
    /// Defined in this process.
    Own,
    /// Defined in another process of the session, and kept by the store.
    Kept,
    /// Kept by the store, and defined in this process again with the same content.
    TakenOver,
}

/// Result of a definition that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DefineOutcome {
    pub version: u32,
    /// Another process has defined the same agent.
    pub unchanged: bool,
}

impl DefinedAgent {
    fn outcome(&self) -> DefineOutcome {
        DefineOutcome { version: self.version, unchanged: self.source == AgentSource::TakenOver }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfExists {
    Refuse,
    Replace,
}

impl Session {
    /// Lists all agents to delegate to, by name.
    pub(crate) fn agents(&self) -> Vec<Arc<Definition>> {
        let defined = self.defined();
        let mut all = self.sources.agents.list();
        all.retain(|definition| !definition.mode.hidden && !defined.contains_key(&definition.name));
        all.extend(defined.values().map(|defined| defined.definition.clone()));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Finds an agent for a model: agents that are hidden from its lists do not exist for it.
    pub(crate) fn find_agent(&self, name: &str) -> Result<Arc<Definition>> {
        let defined = AgentName::parse(name).ok().and_then(|name| self.defined().get(&name).cloned());
        if let Some(defined) = defined {
            return Ok(defined.definition);
        }
        let found = self.sources.agents.find(name).map_err(|e| self.suggesting_defined(name, e))?;
        if !found.mode.hidden {
            return Ok(found);
        }
        let known = self.agents();
        Err(unknown_agent(name, known.iter().map(|definition| definition.name.as_str())))
    }

    /// Creates the error for an unknown agent, which names agents of this session.
    fn suggesting_defined(&self, name: &str, error: Error) -> Error {
        let defined: Vec<String> = self.defined().keys().map(ToString::to_string).collect();
        if error.code() != ErrorCode::AgentNotFound || defined.is_empty() {
            return error;
        }
        let near = nearest(name, defined.iter().map(String::as_str));
        let near = near.map(|name| localized!("did-you-mean", name));
        let listed = localized!("agents-defined", names = defined.join(", "));
        let parts = near.iter().chain(error.advice()).chain([&listed]);
        let hint = LocalizedText::join(parts, " ");
        error.hint(hint)
    }

    /// Adds an agent for this session. Running tasks keep the agent they started with.
    pub(crate) fn define(
        &self,
        definition: Definition,
        if_exists: IfExists,
        key: &str,
    ) -> Result<DefineOutcome> {
        let name = definition.name.clone();
        let in_files = self.scope_in_files(&name);
        let mut defined = self.defined();
        let (version, source) = match (defined.get(&name), in_files) {
            (_, Some(DefinitionScope::BuiltIn)) => {
                let hint = localized!("agent-built-in-hint", name = name.as_str());
                return Err(already_exists(&name, hint));
            }
            (Some(known), _) if known.key == key => return Ok(known.outcome()),
            (Some(known), _) if if_exists == IfExists::Replace => (known.version + 1, AgentSource::Own),
            (Some(known), _) if known.source == AgentSource::Kept && *known.definition == definition => {
                (known.version, AgentSource::TakenOver)
            }
            // The definition in a file is the first version.
            (None, Some(_)) if if_exists == IfExists::Replace => (2, AgentSource::Own),
            (None, None) => (1, AgentSource::Own),
            _ => return Err(already_exists(&name, localized!("agent-exists-hint"))),
        };
        let agent = DefinedAgent { definition: Arc::new(definition), version, key: key.to_owned(), source };
        let outcome = agent.outcome();
        defined.insert(name, agent);
        Ok(outcome)
    }

    /// Returns the scope of the agent of this name that is not made by `define`.
    fn scope_in_files(&self, name: &AgentName) -> Option<DefinitionScope> {
        self.sources.agents.list().iter().find(|known| known.name == *name).map(|known| known.origin.scope)
    }

    /// Stores an agent defined here for later processes of the session.
    pub(crate) async fn keep(&self, name: &AgentName, arguments: &str) -> Result<()> {
        let Some(DefinedAgent { version, key, .. }) = self.defined().get(name).cloned() else {
            return Ok(());
        };
        let kept = KeptAgent { name: name.to_string(), version, key, arguments: arguments.to_owned() };
        self.sources.store.keep_agent(&self.id, kept, now_ms()).await
    }

    /// Loads agents that other processes made in this session and that are newer than those known here.
    pub(crate) async fn recall_agents(&self) -> Result<()> {
        let all = match self.sources.store.kept_agents(&self.id).await {
            // The session was deleted while in use: its tasks and results can still be read.
            Err(e) if e.code() == ErrorCode::SessionNotFound => return Ok(()),
            all => all?,
        };
        for kept in all {
            let Ok(name) = AgentName::parse(&kept.name) else { continue };
            if self.defined().get(&name).is_some_and(|known| known.version >= kept.version) {
                continue;
            }
            if self.scope_in_files(&name) == Some(DefinitionScope::BuiltIn) {
                continue;
            }
            // It was accepted once; if it fails now, requests for the agent fail as for an unknown one.
            let Ok(definition) = recalled(self, &kept.arguments) else { continue };
            let KeptAgent { version, key, .. } = kept;
            let source = AgentSource::Kept;
            self.defined()
                .insert(name, DefinedAgent { definition: Arc::new(definition), version, key, source });
        }
        Ok(())
    }

    pub(crate) fn defined(&self) -> MutexGuard<'_, BTreeMap<AgentName, DefinedAgent>> {
        self.defined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn already_exists(name: &AgentName, hint: LocalizedText) -> Error {
    Error::new(ErrorCode::AgentAlreadyExists, localized!("agent-exists", name)).hint(hint)
}
