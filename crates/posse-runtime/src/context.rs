//! Shared context behind every door: a request goes to the store, and what it changed is logged.

use std::time::{SystemTime, UNIX_EPOCH};

use posse_core::Result;
use posse_core::context::wire::{Answer, Request};
use posse_core::context::{Change, Changed, Key, Write, missing};

use crate::ports::{ChangeRequest, ContextStore};

/// Who asks, and where.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    pub session: &'a str,
    /// Said by the system, never by the request.
    pub participant: &'a str,
    /// The same for every attempt at this call, in any process.
    pub idempotency_key: Option<&'a str>,
}

pub async fn perform(store: &dyn ContextStore, caller: Caller<'_>, request: Request) -> Result<Answer> {
    let (session, now_ms) = (caller.session, now_ms());
    let asked = match request {
        Request::ListKeys => return Ok(Answer::Keys(store.context_keys(session, now_ms).await?)),
        Request::Read(key) => {
            let found = store.context_values(session, std::slice::from_ref(&key), now_ms).await?;
            return found.into_iter().next().map(Answer::Value).ok_or_else(|| missing(&key));
        }
        Request::ReadBatch(keys) => return read_batch(store, session, &keys, now_ms).await,
        Request::ReadHistory { key, versions } => {
            let past = store.context_history(session, &key, versions).await?;
            return if past.is_empty() { Err(missing(&key)) } else { Ok(Answer::History { key, past }) };
        }
        Request::Write { key, value, expected_version, ttl_s } => {
            let expires_at_ms = ttl_s.map(|ttl_s| now_ms.saturating_add(ttl_s.saturating_mul(1000)));
            Change::Write(Write { key, value, expected_version, expires_at_ms })
        }
        Request::Delete(key) => Change::Delete(key),
        Request::Snapshot(label) => Change::Snapshot(label),
    };
    change(store, caller, asked).await.map(Answer::Changed)
}

/// Makes a change and logs it: who, what and how large, never what it says.
pub async fn change(store: &dyn ContextStore, caller: Caller<'_>, change: Change) -> Result<Changed> {
    let (now_ms, name) = (now_ms(), name_of(&change));
    let request = ChangeRequest {
        session: caller.session.to_owned(),
        participant: caller.participant.to_owned(),
        idempotency_key: caller.idempotency_key.map(str::to_owned),
        change,
        now_ms,
    };
    let changed = store.change_context(request).await?;
    let (action, version, tokens) = match &changed {
        Changed::Written(head) => ("write", head.version, head.tokens),
        Changed::Deleted { previous_version, .. } => ("delete", *previous_version, 0),
        Changed::SnapshotTaken(taken) => ("snapshot", 0, taken.tokens),
        Changed::Restored { .. } => ("restore", 0, 0),
    };
    tracing::info!(
        event = "shared_context",
        session_id = caller.session,
        action,
        key = name,
        written_by = caller.participant,
        timestamp_ms = now_ms,
        value_size_tokens = tokens,
        version,
        "shared context changed"
    );
    Ok(changed)
}

/// The key or the label that a change is about.
fn name_of(change: &Change) -> String {
    match change {
        Change::Write(write) => write.key.to_string(),
        Change::Delete(key) => key.to_string(),
        Change::Snapshot(label) | Change::Restore(label) => label.to_string(),
    }
}

async fn read_batch(store: &dyn ContextStore, session: &str, keys: &[Key], now_ms: u64) -> Result<Answer> {
    let entries = store.context_values(session, keys, now_ms).await?;
    let is_found = |key: &&Key| entries.iter().any(|entry| entry.head.key == **key);
    let missing = keys.iter().filter(|key| !is_found(key)).cloned().collect();
    Ok(Answer::Batch { entries, missing })
}

/// Milliseconds since 1970: what is written down is read in other processes and on other days.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
