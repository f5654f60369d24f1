//! Facts for whoever watches: store, status, dashboard, terminal, trace. They carry no prompt and no result text.

use crate::id::CallKey;
use crate::message::ToolCall;
use crate::outcome::{Status, StopReason};
use crate::reply::FailureKind;
use crate::usage::Usage;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Started {
        agent: String,
        model: String,
    },
    Resumed {
        agent: String,
        epoch: u64,
        finished_calls: u32,
        in_doubt: u32,
    },
    TurnStarted {
        turn: u32,
        turns_max: u32,
    },
    Replied {
        turn: u32,
        model: String,
        usage: Usage,
        calls: u32,
    },
    /// A fallback, an estimate, an elision: something the person in charge may want to know.
    Noted {
        note: String,
    },
    ModelFailed {
        kind: FailureKind,
        message: String,
    },
    ToolStarted {
        key: CallKey,
        tool: String,
        summary: String,
    },
    ToolRefused {
        key: CallKey,
        tool: String,
        why: String,
    },
    ToolFinished {
        key: CallKey,
        tool: String,
        is_error: bool,
        in_doubt: bool,
        bytes: u64,
        millis: u64,
    },
    Elided {
        results: u32,
        bytes: u64,
    },
    WrappingUp {
        reason: StopReason,
    },
    Finished {
        status: Status,
        stop: StopReason,
        turns: u32,
        tool_calls: u32,
        usage: Usage,
    },
}

/// A short, bounded description of a call for a progress line: what it is about, never what it writes.
pub fn summary(call: &ToolCall) -> String {
    const SHOWN: usize = 80;
    const TELLING: &[&str] = &[
        "command",
        "path",
        "pattern",
        "query",
        "url",
        "action",
        "agent",
        "key",
        "name",
        "metric",
        "environment",
    ];
    let arguments: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(call.arguments.as_object_text()).unwrap_or_default();
    let told: Vec<&str> = TELLING.iter().filter_map(|name| arguments.get(*name)?.as_str()).take(2).collect();
    let line = told.iter().filter_map(|text| text.lines().next()).collect::<Vec<_>>().join(" ");
    crate::text::visible(crate::text::prefix(&line, SHOWN)).into_owned()
}
