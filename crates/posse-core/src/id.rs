//! Names that were checked once. Later code never looks at their spelling again.

use posse_messages::localized;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorCode, Result};

/// Longest agent name (requirement R124); it appears in participant names and file names.
pub const AGENT_NAME_MAX: usize = 64;

/// A name that matches `[a-z0-9_-]+`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

impl AgentName {
    /// Parses an agent name; fails with `INVALID_AGENT_NAME`.
    pub fn parse(raw: &str) -> Result<Self> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if raw.is_empty() || raw.len() > AGENT_NAME_MAX || !raw.chars().all(legal) {
            let shown: String = raw.chars().take(AGENT_NAME_MAX).collect();
            return Err(Error::new(
                ErrorCode::InvalidAgentName,
                localized!("agent-name-invalid", name = shown.escape_default()),
            )
            .hint(localized!("agent-name-invalid-hint")));
        }
        Ok(Self(raw.to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Identifies a task in a store, across sessions: `k3f9a2c7` for a session's own run, `k3f9a2c7.t_01` for its children.
/// It goes along with everything that a task does, so a copy is only counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct TaskId(Arc<str>);

impl TaskId {
    /// The run that opened the session.
    pub fn root(session: &str) -> Self {
        Self(session.into())
    }

    /// The `number`th task of a session, counted from 1.
    pub fn child(session: &str, number: u32) -> Self {
        Self(format!("{session}.t_{number:02}").into())
    }

    /// For ids that come back from a store, which only holds ids made by the functions above.
    pub fn from_store(raw: String) -> Self {
        raw.into()
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id within its session: `t_01`, or the whole id for the session's own run.
    pub fn short(&self) -> &str {
        self.0.rsplit('.').next().unwrap_or(&self.0)
    }

    /// Tells whether this is a session's own run.
    pub fn is_root(&self) -> bool {
        !self.0.contains('.')
    }

    /// Returns the session's part of the id.
    pub fn session(&self) -> &str {
        self.0.split('.').next().unwrap_or(&self.0)
    }
}

/// Identifies a tool call inside its run: the turn that asked for it (from 1) and its position in that turn (from 0).
/// Providers repeat, omit and invent call ids, so nothing of ours is keyed by theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    pub turn: u32,
    pub index: u32,
}

impl CallKey {
    /// Returns the idempotency key of this call of a task: the same for every attempt at it, in any process.
    pub fn idempotency_key(self, task: &TaskId) -> String {
        format!("{task}/{self}")
    }

    /// Parses an idempotency key; `None` for a key that names no call of a task.
    pub fn parse_idempotency_key(key: &str) -> Option<(TaskId, Self)> {
        let (task, call) = key.split_once('/')?;
        let (turn, index) = call.split_once('.')?;
        let call = Self { turn: turn.parse().ok()?, index: index.parse().ok()? };
        Some((TaskId::from_store(task.to_owned()), call))
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.turn, self.index)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for TaskId {
    fn from(raw: String) -> Self {
        Self(raw.into())
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.as_str().to_owned()
    }
}

impl TryFrom<String> for AgentName {
    type Error = Error;
    fn try_from(raw: String) -> Result<Self> {
        Self::parse(&raw)
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_leads_back_to_its_call() {
        let (task, call) = (TaskId::child("s", 12), CallKey { turn: 3, index: 1 });
        let key = call.idempotency_key(&task);
        assert_eq!(key, "s.t_12/3.1");
        assert_eq!(CallKey::parse_idempotency_key(&key), Some((task, call)));
        for other in ["", "s", "s/3", "mcp/request/a/0f", "s/3.x"] {
            assert_eq!(CallKey::parse_idempotency_key(other), None, "{other}");
        }
    }
}
