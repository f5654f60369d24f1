//! Extracts facts from calls of the `subagent` tool: names, numbers and states, never texts.

use posse_core::ErrorCode;
use posse_core::id::{AgentName, TaskId};
use posse_core::message::{ToolCall, ToolResult};
use posse_core::tool::canonical;
use serde_json::{Map, Value};

/// A completed action of the `subagent` tool.
#[derive(Debug, Default, PartialEq)]
pub struct DelegationFact {
    pub action: String,
    /// The affected task.
    pub task: Option<TaskId>,
    pub agent: Option<String>,
    pub status: Option<String>,
    pub turns_used: Option<u64>,
    /// The error code, if the call was refused.
    pub error: Option<&'static str>,
}

/// Returns the agent that a `subagent` call delegates to, if it is a spawn.
pub fn delegate_of(call: &ToolCall) -> Option<String> {
    if canonical(&call.name) != "subagent" {
        return None;
    }
    let arguments = object(call.arguments.as_object_text());
    (arguments.get("action")?.as_str()? == "spawn").then(|| agent(&arguments, "agent")).flatten()
}

/// Extracts the facts of a completed `subagent` call; `None` for other tools.
pub fn delegation(caller: &TaskId, call: &ToolCall, result: &ToolResult) -> Option<DelegationFact> {
    if canonical(&call.name) != "subagent" {
        return None;
    }
    let (asked, answered) = (object(call.arguments.as_object_text()), object(&result.text));
    let task = word(&answered, "task_id").or_else(|| word(&asked, "task_id"));
    Some(DelegationFact {
        action: word(&asked, "action")?,
        task: task.map(|short| TaskId::from_store(format!("{}.{short}", caller.session()))),
        agent: agent(&answered, "agent").or_else(|| agent(&asked, "agent")).or_else(|| agent(&asked, "name")),
        status: word(&answered, "status"),
        turns_used: answered.get("turns_used").and_then(Value::as_u64),
        error: error(result, &answered),
    })
}

/// Returns the error code of a failed call; an unknown one becomes `INVALID_REQUEST`.
fn error(result: &ToolResult, answered: &Map<String, Value>) -> Option<&'static str> {
    if !result.is_error {
        return None;
    }
    let said = answered.get("error").and_then(Value::as_str).unwrap_or_default();
    let known = ErrorCode::ALL.iter().map(|code| code.wire()).find(|wire| *wire == said);
    Some(known.unwrap_or(ErrorCode::InvalidRequest.wire()))
}

fn agent(fields: &Map<String, Value>, name: &str) -> Option<String> {
    let name = fields.get(name)?.as_str()?;
    AgentName::parse(name).ok().map(String::from)
}

/// Returns a field that is an identifier. Free text of a model in its place is dropped.
fn word(fields: &Map<String, Value>, name: &str) -> Option<String> {
    const LETTERS_MAX: usize = 64;
    let text = fields.get(name)?.as_str()?;
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (text.len() <= LETTERS_MAX && !text.is_empty() && text.chars().all(legal)).then(|| text.to_owned())
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}
