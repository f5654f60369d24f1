//! The `shared_context` tool: a small key-value memory that all participants of a session read and write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use posse_core::text::{estimate_tokens, prefix};
use posse_core::tool::{Effect, ToolSpec};
use posse_core::{Error, ErrorCode, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Session, subagent::wire_error};
use crate::ports::{BoxFuture, Tool, ToolInput, ToolOutput};

/// Curated state, not a data store: a value is a conclusion.
const VALUE_TOKENS_MAX: u64 = 1_000;
const TOTAL_TOKENS_MAX: u64 = 10_000;
const KEY_MAX: usize = 64;

#[derive(Default)]
pub struct SharedContext(Mutex<BTreeMap<String, Entry>>);

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub value: String,
    pub written_by: String,
    pub written_at_ms: u64,
    /// Counts from 1; a rewritten key counts on.
    pub version: u64,
}

struct SharedContextTool {
    context: Arc<SharedContext>,
    session: Weak<Session>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Request {
    ListKeys {},
    Read { key: String },
    Write { key: String, value: String },
    Delete { key: String },
}

pub(super) fn tool(context: Arc<SharedContext>, session: Weak<Session>) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: "shared_context".to_owned(),
        description: include_str!("../../prompts/shared_context_tool.md").trim_end().to_owned(),
        input_schema: include_str!("../../prompts/shared_context_tool.schema.json").to_owned(),
        effect: Effect::Idempotent,
    };
    Arc::new(SharedContextTool { context, session, spec })
}

impl Tool for SharedContextTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error("the session is closed");
            };
            let participant = session.participant(&input.context.task);
            match self.context.answer(input.arguments, participant) {
                Ok(answer) => ToolOutput::text(answer.to_string()),
                Err(e) => ToolOutput::error(wire_error(&e).to_string()),
            }
        })
    }
}

impl SharedContext {
    /// Everything there is, for people.
    pub fn entries(&self) -> Vec<(String, Entry)> {
        self.lock().iter().map(|(key, entry)| (key.clone(), entry.clone())).collect()
    }

    fn answer(&self, arguments: &str, participant: String) -> Result<Value> {
        let request = serde_json::from_str(arguments)
            .map_err(|e| Error::new(ErrorCode::InvalidRequest, e.to_string()))?;
        match request {
            Request::ListKeys {} => Ok(self.list_keys()),
            Request::Read { key } => self.read(&key),
            Request::Write { key, value } => self.write(key, value, participant),
            Request::Delete { key } => match self.lock().remove(&key) {
                Some(entry) => Ok(json!({ "deleted": key, "previous_version": entry.version })),
                None => Err(missing(&key)),
            },
        }
    }

    fn list_keys(&self) -> Value {
        let entries = self.lock();
        let keys: Vec<Value> = entries
            .iter()
            .map(|(key, entry)| {
                json!({
                    "key": key,
                    "written_by": entry.written_by,
                    "written_at": entry.written_at_ms,
                    "version": entry.version,
                    "value_size_tokens": estimate_tokens(&entry.value),
                })
            })
            .collect();
        let total: u64 = entries.values().map(|entry| estimate_tokens(&entry.value)).sum();
        json!({ "keys": keys, "total_size_tokens": total })
    }

    fn read(&self, key: &str) -> Result<Value> {
        let entries = self.lock();
        let entry = entries.get(key).ok_or_else(|| missing(key))?;
        Ok(json!({
            "key": key,
            "value": entry.value,
            "written_by": entry.written_by,
            "written_at": entry.written_at_ms,
            "version": entry.version,
        }))
    }

    fn write(&self, key: String, value: String, written_by: String) -> Result<Value> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if key.is_empty() || key.len() > KEY_MAX || !key.chars().all(legal) {
            let text = format!("`{}` is not a key", prefix(&key, KEY_MAX).escape_default());
            return Err(
                Error::new(ErrorCode::InvalidKey, text).hint("use 1 to 64 characters of a-z, 0-9 and `_`")
            );
        }
        let size = estimate_tokens(&value);
        if size > VALUE_TOKENS_MAX {
            let text = format!("the value has about {size} tokens, the limit is {VALUE_TOKENS_MAX}");
            return Err(
                Error::new(ErrorCode::ValueTooLarge, text).hint("distil it, or split it over several keys")
            );
        }
        let mut entries = self.lock();
        let others = entries
            .iter()
            .filter(|(other, _)| **other != key)
            .map(|(_, entry)| estimate_tokens(&entry.value));
        if others.sum::<u64>() + size > TOTAL_TOKENS_MAX {
            return Err(Error::new(
                ErrorCode::ContextFull,
                format!("the session holds at most {TOTAL_TOKENS_MAX} tokens"),
            )
            .hint("delete keys that are no longer needed"));
        }
        let version = entries.get(&key).map_or(1, |entry| entry.version + 1);
        let entry = Entry { value, written_by, written_at_ms: now_ms(), version };
        let answer = json!({ "key": key, "version": version, "written_by": entry.written_by, "written_at": entry.written_at_ms });
        entries.insert(key, entry);
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(key: &str) -> Error {
    Error::new(ErrorCode::KeyNotFound, format!("there is no key `{}`", prefix(key, KEY_MAX)))
        .hint("`list_keys` shows what there is")
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
