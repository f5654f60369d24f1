//! Who may read and write a key. The orchestrator and the operator always may: the session is theirs.

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};

use super::{ContextKey, OPERATOR, ORCHESTRATOR, ValueHead};
use crate::error::{Error, ErrorCode, Result};
use crate::pattern::wildcard;
use crate::text::prefix;

/// Patterns in one list, and characters of one: a list that a person can still judge.
pub const PATTERNS_MAX: usize = 16;
/// Longest participant pattern, in bytes.
pub const PATTERN_MAX: usize = 128;

/// Patterns of participants, such as `subagent:researcher:*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audience {
    pub readable_by: Vec<String>,
    pub writable_by: Vec<String>,
}

impl Default for Audience {
    fn default() -> Self {
        let everyone = || vec!["*".to_owned()];
        Self { readable_by: everyone(), writable_by: everyone() }
    }
}

/// Audience changes of a write; absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AudienceChange {
    pub readable_by: Option<Vec<String>>,
    pub writable_by: Option<Vec<String>>,
}

impl AudienceChange {
    /// Parses participant patterns; fails on malformed ones.
    pub fn parse(readable_by: Option<Vec<String>>, writable_by: Option<Vec<String>>) -> Result<Self> {
        for (name, list) in [("readable_by", &readable_by), ("writable_by", &writable_by)] {
            list.as_deref().map_or(Ok(()), |patterns| check(name, patterns))?;
        }
        Ok(Self { readable_by, writable_by })
    }

    /// All of it, whatever is there now.
    pub fn exactly(audience: &Audience) -> Self {
        let Audience { readable_by, writable_by } = audience.clone();
        Self { readable_by: Some(readable_by), writable_by: Some(writable_by) }
    }

    pub(super) fn over(&self, current: Option<&Audience>) -> Audience {
        let current = current.cloned().unwrap_or_default();
        Audience {
            readable_by: self.readable_by.clone().unwrap_or(current.readable_by),
            writable_by: self.writable_by.clone().unwrap_or(current.writable_by),
        }
    }
}

fn check(name: &str, patterns: &[String]) -> Result<()> {
    let invalid = |text: LocalizedText| {
        Error::new(ErrorCode::InvalidRequest, text).hint(localized!("audience-pattern-hint"))
    };
    if patterns.len() > PATTERNS_MAX {
        return Err(invalid(localized!("audience-too-many", name, patterns_max = PATTERNS_MAX)));
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || "_-:.*".contains(c);
    let is_pattern = |raw: &&String| !raw.is_empty() && raw.len() <= PATTERN_MAX && raw.chars().all(legal);
    match patterns.iter().find(|raw| !is_pattern(raw)) {
        Some(raw) => Err(invalid(localized!(
            "audience-pattern-invalid",
            pattern = prefix(raw, PATTERN_MAX).escape_default(),
            name
        ))),
        None => Ok(()),
    }
}

impl Audience {
    /// Tells whether the participant may read the value.
    pub fn may_read(&self, participant: &str) -> bool {
        is_in(&self.readable_by, participant)
    }

    /// Tells whether the participant may write the value.
    pub fn may_write(&self, participant: &str) -> bool {
        is_in(&self.writable_by, participant)
    }

    /// As a store keeps it; nothing if it is for everyone.
    pub fn to_store(&self) -> Option<String> {
        let text = || serde_json::to_string(self).expect("lists of text are JSON");
        (*self != Self::default()).then(text)
    }

    /// A list that cannot be read is for nobody: a check that cannot be made counts as refused.
    pub fn from_store(text: Option<&str>) -> Self {
        let nobody = || Self { readable_by: Vec::new(), writable_by: Vec::new() };
        text.map_or_else(Self::default, |text| serde_json::from_str(text).unwrap_or_else(|_| nobody()))
    }
}

fn is_in(patterns: &[String], participant: &str) -> bool {
    participant == ORCHESTRATOR
        || participant == OPERATOR
        || patterns.iter().any(|pattern| wildcard(pattern, participant))
}

/// The error for a reader who is not among those a key is for.
pub fn unreadable(key: &ContextKey) -> Error {
    denied(localized!("key-not-readable", key))
}

pub(super) fn check_writer(head: &ValueHead, participant: &str) -> Result<()> {
    if head.audience.may_write(participant) {
        return Ok(());
    }
    Err(denied(localized!("key-not-writable", key = head.key)))
}

fn denied(text: LocalizedText) -> Error {
    Error::new(ErrorCode::AccessDenied, text).hint(localized!("key-denied-hint"))
}
