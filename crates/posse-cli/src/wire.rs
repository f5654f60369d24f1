//! Events and errors as JSON lines.

use std::time::Duration;

use posse_core::Error;
use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_messages::LocalizedText;
use serde_json::{Value, json};

pub fn event(task: &TaskId, event: &Event) -> Value {
    let mut value = event.to_json();
    value["task_id"] = json!(task.as_str());
    value
}

/// A model call failed and is made again: what was shown of it is void.
pub fn restarted(task: &TaskId, why: &str, wait: Duration) -> Value {
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    json!({ "type": "model_retry", "why": why, "wait_ms": wait_ms, "task_id": task.as_str() })
}

/// The last line of a command that could not do what it was asked.
pub fn error(error: &Error) -> Value {
    let (message, hint) = (error.message().as_str(), error.advice().map(LocalizedText::as_str));
    json!({ "type": "error", "code": error.code().wire(), "message": message, "hint": hint })
}
