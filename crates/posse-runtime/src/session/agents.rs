//! Who can be delegated to: the agents of files and those made while the session runs.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use posse_core::definition::Definition;
use posse_core::id::AgentName;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

use super::Session;
use crate::ports::unknown_agent;

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
        let found = self.agents.find(name)?;
        if !found.mode.hidden {
            return Ok(found);
        }
        let known = self.agents();
        Err(unknown_agent(name, known.iter().map(|definition| definition.name.as_str())))
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
                let text = say!("agent-exists", name);
                return Err(Error::new(ErrorCode::AgentAlreadyExists, text).hint(say!("agent-exists-hint")));
            }
        };
        defined.insert(name, Defined { definition: Arc::new(definition), version, key: key.to_owned() });
        Ok(version)
    }

    pub(crate) fn defined(&self) -> MutexGuard<'_, BTreeMap<AgentName, Defined>> {
        self.defined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
