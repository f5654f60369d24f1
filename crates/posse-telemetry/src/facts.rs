//! What calls of the `subagent` tool did, read from their requests and answers: names, numbers and states, never the
//! texts.

use posse_core::ErrorCode;
use posse_core::id::{AgentName, TaskId};
use posse_core::message::{ToolCall, ToolResult};
use posse_core::tool::canonical;
use serde_json::{Map, Value};

/// An action of the `subagent` tool.
#[derive(Debug, Default, PartialEq)]
pub struct Delegation {
    pub action: String,
    /// The task that it is about.
    pub task: Option<TaskId>,
    pub agent: Option<String>,
    pub status: Option<String>,
    pub turns_used: Option<u64>,
    /// The code of the refusal.
    pub error: Option<&'static str>,
}

/// Who a call to `subagent` wants to delegate to, if it is a spawn.
pub fn delegate_of(call: &ToolCall) -> Option<String> {
    if canonical(&call.name) != "subagent" {
        return None;
    }
    let arguments = object(call.arguments.as_object_text());
    (arguments.get("action")?.as_str()? == "spawn").then(|| agent(&arguments, "agent")).flatten()
}

pub fn delegation(caller: &TaskId, call: &ToolCall, result: &ToolResult) -> Option<Delegation> {
    if canonical(&call.name) != "subagent" {
        return None;
    }
    let (asked, answered) = (object(call.arguments.as_object_text()), object(&result.text));
    let task = word(&answered, "task_id").or_else(|| word(&asked, "task_id"));
    Some(Delegation {
        action: word(&asked, "action")?,
        task: task.map(|short| TaskId::from_store(format!("{}.{short}", caller.session()))),
        agent: agent(&answered, "agent").or_else(|| agent(&asked, "agent")).or_else(|| agent(&asked, "name")),
        status: word(&answered, "status"),
        turns_used: answered.get("turns_used").and_then(Value::as_u64),
        error: error(result, &answered),
    })
}

/// Why a call failed, as a code of ours.
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

/// A field that is an identifier. What a model wrote instead of one is its text, and stays out.
fn word(fields: &Map<String, Value>, name: &str) -> Option<String> {
    const LETTERS_MAX: usize = 64;
    let text = fields.get(name)?.as_str()?;
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (text.len() <= LETTERS_MAX && !text.is_empty() && text.chars().all(legal)).then(|| text.to_owned())
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}
