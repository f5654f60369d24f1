//! Who can be delegated to: the agents of files and those made while the session runs.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use posse_core::definition::Definition;
use posse_core::id::AgentName;
use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

use super::{Session, subagent};
use crate::context::now_ms;
use crate::ports::{KeptAgent, unknown_agent};

/// An agent made while the session runs.
#[derive(Clone)]
pub(crate) struct Defined {
    pub definition: Arc<Definition>,
    /// Grows when it is defined again.
    pub version: u32,
    /// Of the call that made it: the same call made again gets the same answer.
    pub key: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfExists {
    Refuse,
    Replace,
}

impl Session {
    /// Everyone who can be delegated to, by name.
    pub(crate) fn agents(&self) -> Vec<Arc<Definition>> {
        let defined = self.defined();
        let mut all = self.agents.list();
        all.retain(|definition| !definition.mode.hidden && !defined.contains_key(&definition.name));
        all.extend(defined.values().map(|defined| defined.definition.clone()));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// For a model: what is hidden from its lists does not exist for it, however it learned the name.
    pub(crate) fn find_agent(&self, name: &str) -> Result<Arc<Definition>> {
        let defined = AgentName::parse(name).ok().and_then(|name| self.defined().get(&name).cloned());
        if let Some(defined) = defined {
            return Ok(defined.definition);
        }
        let found = self.agents.find(name).map_err(|e| self.suggesting_defined(name, e))?;
        if !found.mode.hidden {
            return Ok(found);
        }
        let known = self.agents();
        Err(unknown_agent(name, known.iter().map(|definition| definition.name.as_str())))
    }

    /// The error about an unknown agent, with the agents of this session among those that it names.
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

    /// Adds an agent for this session, and returns its version. Tasks at work keep the agent they started with.
    pub(crate) fn define(&self, definition: Definition, if_exists: IfExists, key: &str) -> Result<u32> {
        let name = definition.name.clone();
        let in_files = self.agents.list().iter().any(|known| known.name == name);
        let mut defined = self.defined();
        let version = match defined.get(&name) {
            Some(known) if known.key == key => return Ok(known.version),
            Some(known) if if_exists == IfExists::Replace => known.version + 1,
            // What a file says counts as the first version.
            None if in_files && if_exists == IfExists::Replace => 2,
            None if !in_files => 1,
            Some(_) | None => {
                let text = localized!("agent-exists", name);
                return Err(
                    Error::new(ErrorCode::AgentAlreadyExists, text).hint(localized!("agent-exists-hint"))
                );
            }
        };
        defined.insert(name, Defined { definition: Arc::new(definition), version, key: key.to_owned() });
        Ok(version)
    }

    /// What the store keeps of an agent that was made here: for whoever comes after this process.
    pub(crate) async fn keep(&self, name: &AgentName, arguments: &str) -> Result<()> {
        let Some(Defined { version, key, .. }) = self.defined().get(name).cloned() else { return Ok(()) };
        let kept = KeptAgent { name: name.to_string(), version, key, arguments: arguments.to_owned() };
        self.store.keep_agent(&self.id, kept, now_ms()).await
    }

    /// Agents that other processes made in this session, as far as they are newer than what is known here.
    pub(crate) async fn recall_agents(&self) -> Result<()> {
        for kept in self.store.kept_agents(&self.id).await? {
            let Ok(name) = AgentName::parse(&kept.name) else { continue };
            if self.defined().get(&name).is_some_and(|known| known.version >= kept.version) {
                continue;
            }
            // It was accepted once; if it cannot be now, whoever asks for the agent is told that it does not exist.
            let Ok(definition) = subagent::recalled(self, &kept.arguments) else { continue };
            let KeptAgent { version, key, .. } = kept;
            self.defined().insert(name, Defined { definition: Arc::new(definition), version, key });
        }
        Ok(())
    }

    pub(crate) fn defined(&self) -> MutexGuard<'_, BTreeMap<AgentName, Defined>> {
        self.defined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
