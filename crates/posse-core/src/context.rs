//! The rules of shared context: a small key-value memory that all participants of a session read and write.
//!
//! Owns what a key is, how large values may be, how versions count and when a value is over. Knows no store: a store
//! asks these functions inside its own transaction and writes down what they answer. Time is passed in.

mod audience;
pub mod wire;

use std::fmt;

use posse_messages::{LocalizedText, localized};

use crate::error::{Error, ErrorCode, Result};
use crate::text::{estimate_tokens, prefix};
pub use audience::{Audience, AudienceChange, PATTERN_MAX, PATTERNS_MAX, unreadable};

/// Curated state, not a data store: a value is a conclusion.
pub const VALUE_TOKENS_MAX: u64 = 1_000;
/// From here on a writer is told that the value is large.
pub const VALUE_TOKENS_WARN: u64 = 800;
/// All values of a session together: everyone can afford to read all of it.
pub const TOTAL_TOKENS_MAX: u64 = 10_000;
/// Empty values cost no tokens, but a listing of them does.
pub const KEYS_MAX: usize = 1_000;
/// Longest key, and longest label of a snapshot.
pub const KEY_MAX: usize = 64;
/// Versions of a key whose values are kept.
pub const HISTORY_MAX: u32 = 20;
/// Snapshots of one session: each may hold a whole context.
pub const SNAPSHOTS_MAX: usize = 20;
/// Longest life of a value that has an end: a year.
pub const TTL_S_MAX: u64 = 365 * 24 * 60 * 60;

/// Participant name of a person who writes from outside of the session.
pub const OPERATOR: &str = "operator";
/// Participant name of the session's own task.
pub const ORCHESTRATOR: &str = "orchestrator";

/// A name that matches `[a-z0-9_]+`, with at most one namespace before a colon: `inv:findings_summary`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextKey(String);

impl ContextKey {
    /// Parses a key; fails with `INVALID_KEY`.
    pub fn parse(raw: &str) -> Result<Self> {
        if !is_key(raw) {
            let text = localized!("key-invalid", key = prefix(raw, KEY_MAX).escape_default());
            return Err(Error::new(ErrorCode::InvalidKey, text).hint(localized!("key-shape-hint")));
        }
        Ok(Self(raw.to_owned()))
    }

    /// For keys that come back from a store, which only holds keys that were parsed.
    pub fn from_store(raw: String) -> Self {
        Self(raw)
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContextKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a snapshot, spelled like a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotLabel(String);

impl SnapshotLabel {
    /// Parses a label; fails if it is not spelled like a key.
    pub fn parse(raw: &str) -> Result<Self> {
        if !is_name(raw) {
            let text = localized!("label-invalid", label = prefix(raw, KEY_MAX).escape_default());
            return Err(Error::new(ErrorCode::InvalidRequest, text).hint(localized!("name-shape-hint")));
        }
        Ok(Self(raw.to_owned()))
    }

    /// For labels that come back from a store, which only holds labels that were parsed.
    pub fn from_store(raw: String) -> Self {
        Self(raw)
    }

    /// Returns the label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SnapshotLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The length is that of the whole key, its namespace included.
fn is_key(raw: &str) -> bool {
    let (namespace, name) = raw.split_once(':').unwrap_or(("_", raw));
    raw.len() <= KEY_MAX && is_name(namespace) && is_name(name)
}

fn is_name(raw: &str) -> bool {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !raw.is_empty() && raw.len() <= KEY_MAX && raw.chars().all(legal)
}

/// Everything about a value but the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueHead {
    pub key: ContextKey,
    /// Counts from 1, and again from 1 when the key was deleted or over in between.
    pub version: u64,
    pub tokens: u64,
    /// Set by the system; no request can name it.
    pub written_by: String,
    pub written_at_ms: u64,
    /// The version this key had when it was deleted or over: whoever still knows that one can see that the count began
    /// anew, although the number may be the same.
    pub previous_version: Option<u64>,
    /// From this instant on the key does not exist.
    pub expires_at_ms: Option<u64>,
    /// Participants who may read and write the value.
    pub audience: Audience,
}

impl ValueHead {
    /// Tells whether the value has not expired.
    pub fn is_live(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_none_or(|end| now_ms < end)
    }

    /// Returns the warning for a writer of a large value.
    pub fn warning(&self) -> Option<LocalizedText> {
        (self.tokens >= VALUE_TOKENS_WARN)
            .then(|| localized!("value-is-large", tokens = self.tokens, value_tokens_max = VALUE_TOKENS_MAX))
    }
}

/// A value with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEntry {
    pub head: ValueHead,
    pub value: String,
}

/// One line of a key's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryLine {
    pub act: HistoryAct,
    /// Metadata of the version. For a deletion: the deleted version, its author and time.
    pub head: ValueHead,
    /// `None` for a deletion, and where the history is longer than what is kept.
    pub value: Option<String>,
}

wire_enum! {
    /// Kinds of history lines.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum HistoryAct {
        Write = "write",
        Delete = "delete",
    }
}

/// A request to write one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextWrite {
    pub key: ContextKey,
    pub value: String,
    /// Write only if the key has this version now; 0 if it must not exist.
    pub expected_version: Option<u64>,
    pub expires_at_ms: Option<u64>,
    /// Audience changes that come with the write.
    pub audience: AudienceChange,
}

/// One change to a session's context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextChange {
    Write(ContextWrite),
    Delete(ContextKey),
    /// Keep a copy of everything.
    Snapshot(SnapshotLabel),
    /// Make everything as it was in a copy. Versions count on, so a rollback can be seen.
    Restore(SnapshotLabel),
}

/// The effect of an applied change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeResult {
    Written(ValueHead),
    Deleted { key: ContextKey, previous_version: u64 },
    SnapshotTaken(ContextSnapshot),
    Restored { written: u32, deleted: u32 },
}

/// Metadata of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSnapshot {
    pub label: SnapshotLabel,
    pub taken_by: String,
    pub taken_at_ms: u64,
    pub keys: u64,
    pub tokens: u64,
}

/// Judges a write. `heads` are all entries of the session, those that are over included; `last_version` is the version
/// in the last line of the key's history, if it has one.
pub fn write(
    heads: &[ValueHead],
    last_version: Option<u64>,
    write: &ContextWrite,
    written_by: &str,
    now_ms: u64,
) -> Result<ValueHead> {
    let tokens = estimate_tokens(&write.value);
    if tokens > VALUE_TOKENS_MAX {
        let text = localized!("value-too-large", tokens, value_tokens_max = VALUE_TOKENS_MAX);
        return Err(Error::new(ErrorCode::ValueTooLarge, text).hint(localized!("value-too-large-hint")));
    }
    let live = || heads.iter().filter(|head| head.is_live(now_ms));
    let current = live().find(|head| head.key == write.key);
    if let Some(current) = current {
        audience::check_writer(current, written_by)?;
    }
    let version = current.map_or(0, |head| head.version);
    if write.expected_version.is_some_and(|expected| expected != version) {
        return Err(conflict(&write.key, current));
    }
    let (mut keys, mut used) = (0, 0);
    for other in live().filter(|head| head.key != write.key) {
        keys += 1;
        used += other.tokens;
    }
    if used + tokens > TOTAL_TOKENS_MAX {
        let text = localized!("context-full", used, tokens, total_tokens_max = TOTAL_TOKENS_MAX);
        return Err(full(text));
    }
    if keys >= KEYS_MAX {
        return Err(full(localized!("context-keys-full", keys)));
    }
    Ok(ValueHead {
        key: write.key.clone(),
        version: version + 1,
        tokens,
        written_by: written_by.to_owned(),
        // A clock that went back must not make a version older than the one before it.
        written_at_ms: current.map_or(now_ms, |head| now_ms.max(head.written_at_ms)),
        previous_version: current.map_or(last_version, |head| head.previous_version),
        expires_at_ms: write.expires_at_ms,
        audience: write.audience.over(current.map(|head| &head.audience)),
    })
}

/// Judges a deletion and returns what the history says about it.
pub fn delete(
    current: Option<&ValueHead>,
    key: &ContextKey,
    deleted_by: &str,
    now_ms: u64,
) -> Result<ValueHead> {
    let current = current.filter(|head| head.is_live(now_ms)).ok_or_else(|| missing(key))?;
    audience::check_writer(current, deleted_by)?;
    Ok(ValueHead {
        written_by: deleted_by.to_owned(),
        written_at_ms: now_ms.max(current.written_at_ms),
        expires_at_ms: None,
        ..current.clone()
    })
}

/// Judges whether one more snapshot may be taken. Labels are never used twice: whoever knows one means that copy.
pub fn snapshot(taken: &[SnapshotLabel], label: &SnapshotLabel) -> Result<()> {
    if taken.contains(label) {
        return Err(Error::new(ErrorCode::InvalidRequest, localized!("snapshot-exists", label))
            .hint(localized!("snapshot-exists-hint")));
    }
    if taken.len() >= SNAPSHOTS_MAX {
        return Err(full(localized!("snapshots-full", snapshots_max = SNAPSHOTS_MAX)));
    }
    Ok(())
}

/// Computes the writes and deletes that lead back to a snapshot. Shrinking changes come before growing ones, so
/// that no intermediate step exceeds a limit that both ends keep. Expired values are left out.
pub fn restore(snapshot: &[ContextEntry], current: &[ContextEntry], now_ms: u64) -> Vec<ContextChange> {
    let wanted = || snapshot.iter().filter(|entry| entry.head.is_live(now_ms));
    let current = || current.iter().filter(|entry| entry.head.is_live(now_ms));
    let now = |key: &ContextKey| current().find(|entry| entry.head.key == *key);
    let gone = current().filter(|entry| !wanted().any(|other| other.head.key == entry.head.key));
    let mut changes: Vec<ContextChange> =
        gone.map(|entry| ContextChange::Delete(entry.head.key.clone())).collect();
    let same = |a: &ContextEntry, b: &ContextEntry| {
        let (head, other) = (&a.head, &b.head);
        a.value == b.value && head.expires_at_ms == other.expires_at_ms && head.audience == other.audience
    };
    let mut differing: Vec<&ContextEntry> =
        wanted().filter(|entry| !now(&entry.head.key).is_some_and(|held| same(entry, held))).collect();
    let growth = |entry: &&ContextEntry| {
        let before = now(&entry.head.key).map_or(0, |held| held.head.tokens);
        i128::from(entry.head.tokens) - i128::from(before)
    };
    differing.sort_by_key(growth);
    changes.extend(differing.into_iter().map(|entry| {
        ContextChange::Write(ContextWrite {
            key: entry.head.key.clone(),
            value: entry.value.clone(),
            expected_version: None,
            expires_at_ms: entry.head.expires_at_ms,
            audience: AudienceChange::exactly(&entry.head.audience),
        })
    }));
    changes
}

/// Life cycle of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    Open,
    /// Can be read and not be changed.
    Archived,
    Deleted,
}

/// Kinds of access to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextAccess {
    Read,
    Change,
}

/// Judges whether a session's context may be looked at or changed. `None`: no session has this id.
pub fn enter(session: &str, state: Option<SessionState>, access: ContextAccess) -> Result<()> {
    match (state, access) {
        (Some(SessionState::Open), _) | (Some(SessionState::Archived), ContextAccess::Read) => Ok(()),
        (Some(SessionState::Archived), ContextAccess::Change) => {
            let text = localized!("session-archived", session);
            Err(Error::new(ErrorCode::SessionArchived, text).hint(localized!("session-archived-hint")))
        }
        (Some(SessionState::Deleted), _) => {
            let text = localized!("session-context-deleted", session);
            Err(Error::new(ErrorCode::SessionNotFound, text).hint(localized!("session-context-deleted-hint")))
        }
        (None, _) => {
            let text =
                localized!("session-not-found", session = prefix(session, SESSION_ID_MAX).escape_default());
            Err(Error::new(ErrorCode::SessionNotFound, text).hint(localized!("session-not-found-hint")))
        }
    }
}

/// Longest id of a session; it appears in task ids.
pub const SESSION_ID_MAX: usize = 64;

/// The id of a session is part of task ids, where a dot ends it.
pub fn check_session_id(id: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.is_empty() || id.len() > SESSION_ID_MAX || !id.chars().all(legal) {
        let text = localized!("session-id-invalid", session = prefix(id, SESSION_ID_MAX).escape_default());
        return Err(Error::new(ErrorCode::InvalidRequest, text).hint(localized!("session-id-invalid-hint")));
    }
    Ok(())
}

/// The error for a key that has no value. For an optional key it is ordinary.
pub fn missing(key: &ContextKey) -> Error {
    Error::new(ErrorCode::KeyNotFound, localized!("key-not-found", key))
        .hint(localized!("key-not-found-hint"))
}

/// The error for a snapshot that was never taken.
pub fn no_snapshot(label: &SnapshotLabel) -> Error {
    Error::new(ErrorCode::KeyNotFound, localized!("snapshot-not-found", label))
        .hint(localized!("snapshot-not-found-hint"))
}

fn conflict(key: &ContextKey, current: Option<&ValueHead>) -> Error {
    match current {
        Some(head) => Error::new(
            ErrorCode::VersionConflict,
            localized!("version-conflict", key, version = head.version, written_by = head.written_by),
        )
        .hint(localized!("version-conflict-hint")),
        None => Error::new(ErrorCode::VersionConflict, localized!("version-conflict-missing", key))
            .hint(localized!("version-conflict-missing-hint")),
    }
}

fn full(text: LocalizedText) -> Error {
    Error::new(ErrorCode::ContextFull, text).hint(localized!("context-full-hint"))
}
