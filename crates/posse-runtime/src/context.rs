//! Shared context for all callers: performs a request against the store and logs the change.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use posse_core::Result;
use posse_core::context::wire::{ContextAnswer, ContextRequest, ContextWait, WaitResult};
use posse_core::context::{
    ChangeResult, ContextChange, ContextEntry, ContextKey, ContextWrite, ValueHead, missing, unreadable,
};
use tokio::time::Instant;

use crate::ports::{ChangeRequest, ContextStore};

/// Poll interval while waiting for a key. A poll reads no values.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The participant and session of a request.
#[derive(Debug, Clone, Copy)]
pub struct ContextCaller<'a> {
    pub session: &'a str,
    /// Set by the system, never by the request.
    pub participant: &'a str,
    /// The same for every attempt at this call, in any process.
    pub idempotency_key: Option<&'a str>,
}

/// Performs a request against the store.
pub async fn perform(
    store: &dyn ContextStore,
    caller: ContextCaller<'_>,
    request: ContextRequest,
) -> Result<ContextAnswer> {
    let (session, now_ms) = (caller.session, now_ms());
    let asked = match request {
        ContextRequest::ListKeys => return list(store, caller, now_ms).await,
        ContextRequest::Read(key) => {
            let found = store.context_values(session, std::slice::from_ref(&key), now_ms).await?;
            let entry = found.into_iter().next().ok_or_else(|| missing(&key))?;
            return if caller.may_read(&entry.head) {
                Ok(ContextAnswer::Value(entry))
            } else {
                Err(unreadable(&key))
            };
        }
        ContextRequest::ReadBatch(keys) => return read_batch(store, caller, &keys, now_ms).await,
        ContextRequest::ReadHistory { key, versions } => {
            let past = store.context_history(session, &key, versions).await?;
            // The audience of the newest version also applies to older ones.
            let newest = past.first().ok_or_else(|| missing(&key))?;
            return if caller.may_read(&newest.head) {
                Ok(ContextAnswer::History { key, past })
            } else {
                Err(unreadable(&key))
            };
        }
        ContextRequest::Write { key, value, expected_version, ttl_s, audience } => {
            let expires_at_ms = ttl_s.map(|ttl_s| now_ms.saturating_add(ttl_s.saturating_mul(1000)));
            ContextChange::Write(ContextWrite { key, value, expected_version, expires_at_ms, audience })
        }
        ContextRequest::Wait(wait) => return wait_for(store, caller, &wait).await.map(ContextAnswer::Waited),
        ContextRequest::Delete(key) => ContextChange::Delete(key),
        ContextRequest::Snapshot(label) => ContextChange::Snapshot(label),
    };
    change(store, caller, asked).await.map(ContextAnswer::Changed)
}

/// Makes a change and logs who changed which key and its size, never the value.
pub async fn change(
    store: &dyn ContextStore,
    caller: ContextCaller<'_>,
    change: ContextChange,
) -> Result<ChangeResult> {
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
        ChangeResult::Written(head) => ("write", head.version, head.tokens),
        ChangeResult::Deleted { previous_version, .. } => ("delete", *previous_version, 0),
        ChangeResult::SnapshotTaken(taken) => ("snapshot", 0, taken.tokens),
        ChangeResult::Restored { .. } => ("restore", 0, 0),
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

/// Returns the key or the label that a change is about.
fn name_of(change: &ContextChange) -> String {
    match change {
        ContextChange::Write(write) => write.key.to_string(),
        ContextChange::Delete(key) => key.to_string(),
        ContextChange::Snapshot(label) | ContextChange::Restore(label) => label.to_string(),
    }
}

impl ContextCaller<'_> {
    fn may_read(&self, head: &ValueHead) -> bool {
        head.audience.may_read(self.participant)
    }
}

async fn list(store: &dyn ContextStore, caller: ContextCaller<'_>, now_ms: u64) -> Result<ContextAnswer> {
    let all = store.context_keys(caller.session, now_ms).await?;
    let (heads, hidden): (Vec<ValueHead>, Vec<ValueHead>) =
        all.into_iter().partition(|head| caller.may_read(head));
    let hidden_tokens = hidden.iter().map(|head| head.tokens).sum();
    Ok(ContextAnswer::Keys { heads, hidden: hidden.len() as u64, hidden_tokens })
}

async fn read_batch(
    store: &dyn ContextStore,
    caller: ContextCaller<'_>,
    keys: &[ContextKey],
    now_ms: u64,
) -> Result<ContextAnswer> {
    let found = store.context_values(caller.session, keys, now_ms).await?;
    let is_found = |key: &&ContextKey| found.iter().any(|entry| entry.head.key == **key);
    let missing = keys.iter().filter(|key| !is_found(key)).cloned().collect();
    let (entries, others): (Vec<ContextEntry>, Vec<ContextEntry>) =
        found.into_iter().partition(|entry| caller.may_read(&entry.head));
    let denied = others.into_iter().map(|entry| entry.head.key).collect();
    Ok(ContextAnswer::Batch { entries, missing, denied })
}

/// Polls the store, so that it sees writes of any process. Fails for a key that the caller may not read.
async fn wait_for(
    store: &dyn ContextStore,
    caller: ContextCaller<'_>,
    wait: &ContextWait,
) -> Result<WaitResult> {
    let look = async || {
        let heads = store.context_keys(caller.session, now_ms()).await?;
        if let Some(head) = heads.iter().find(|head| wait.keys.contains(&head.key) && !caller.may_read(head))
        {
            return Err(unreadable(&head.key));
        }
        Ok(heads)
    };
    let end = Instant::now() + Duration::from_secs(wait.timeout_s);
    let mut heads = look().await?;
    let baseline = wait.baseline(&heads);
    loop {
        let news = ContextWait::news(&baseline, &heads);
        if !news.is_empty() || Instant::now() >= end {
            return Ok(news);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        heads = look().await?;
    }
}

/// Returns milliseconds since 1970, which other processes and machines can compare.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
