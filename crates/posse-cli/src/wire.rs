//! Events and errors as JSON lines.

use std::time::Duration;

use posse_core::Error;
use posse_core::event::Event;
use posse_core::id::TaskId;
use serde_json::{Value, json};

use crate::envelope::usage;

pub fn event(task: &TaskId, event: &Event) -> Value {
    let mut value = match event {
        Event::Started { agent, model } => json!({ "type": "started", "agent": agent, "model": model }),
        Event::Resumed { agent, epoch, finished_calls, in_doubt } => {
            json!({ "type": "resumed", "agent": agent, "epoch": epoch, "finished_calls": finished_calls, "in_doubt": in_doubt })
        }
        Event::TurnStarted { turn, turns_max } => {
            json!({ "type": "turn", "turn": turn, "turns_max": turns_max })
        }
        Event::Replied { turn, model, usage: used, calls } => {
            json!({ "type": "replied", "turn": turn, "model": model, "usage": usage(used), "calls": calls })
        }
        Event::Noted { note } => json!({ "type": "note", "note": note }),
        Event::ModelFailed { kind, message } => {
            json!({ "type": "model_failed", "kind": kind.wire(), "message": message })
        }
        Event::ToolStarted { key, tool, summary } => {
            json!({ "type": "tool_started", "call": key.to_string(), "tool": tool, "summary": summary })
        }
        Event::ToolRefused { key, tool, why } => {
            json!({ "type": "tool_refused", "call": key.to_string(), "tool": tool, "why": why })
        }
        Event::ToolFinished { key, tool, is_error, in_doubt, why, bytes, millis } => json!({
            "type": "tool_finished", "call": key.to_string(), "tool": tool, "is_error": is_error,
            "in_doubt": in_doubt, "why": why, "bytes": bytes, "ms": millis,
        }),
        Event::Elided { results, bytes } => json!({ "type": "elided", "results": results, "bytes": bytes }),
        Event::WrappingUp { reason } => json!({ "type": "wrapping_up", "reason": reason.wire() }),
        Event::Verifying { command } => json!({ "type": "verifying", "command": command }),
        Event::Verified { command, passed, ending, millis } => json!({
            "type": "verified", "command": command, "passed": passed, "ending": ending, "ms": millis,
        }),
        Event::Finished { status, stop, turns, tool_calls, usage: used } => json!({
            "type": "finished", "status": status.wire(), "reason": stop.wire(), "turns": turns,
            "tool_calls": tool_calls, "usage": usage(used),
        }),
    };
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
    json!({ "type": "error", "code": error.code().wire(), "message": error.message(), "hint": error.advice() })
}
