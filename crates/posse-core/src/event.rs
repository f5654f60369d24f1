//! Facts for whoever watches: store, status, dashboard, terminal, trace. They carry no prompt and no result text, but
//! for the first line of why a call failed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::approval::{ApprovalScope, ApprovalVerdict, DecidedBy};
use crate::context::wire::utc;
use crate::edits::FileChange;
use crate::grant::SandboxTier;
use crate::id::CallKey;
use crate::message::ToolCall;
use crate::outcome::{OutcomeStatus, StopReason};
use crate::reply::FailureKind;
use crate::usage::Usage;

/// A fact about a task, without prompt or result text.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Started {
        agent: String,
        model: String,
        /// Sandbox tier of the task's processes.
        sandbox: SandboxTier,
    },
    Resumed {
        agent: String,
        epoch: u64,
        finished_calls: u32,
        in_doubt: u32,
        /// Counters of the earlier processes, so that a view does not begin at zero.
        turns: u32,
        turns_max: u32,
        tool_calls: u32,
        usage: Usage,
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
    /// The task waits: a person has to say whether the call is made.
    ApprovalRequested {
        key: CallKey,
        /// Id of the parked call.
        approval: String,
        tool: String,
        summary: String,
        why: String,
        deadline_ms: u64,
    },
    ApprovalResolved {
        key: CallKey,
        approval: Option<String>,
        tool: String,
        verdict: ApprovalVerdict,
        scope: ApprovalScope,
        by: DecidedBy,
    },
    ToolFinished {
        key: CallKey,
        tool: String,
        is_error: bool,
        in_doubt: bool,
        /// Why it failed.
        why: Option<String>,
        /// Files that this call changed itself; those of a delegated task are in the task's own events.
        changed: Vec<FileChange>,
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
    /// A command that checks the result is run.
    Verifying {
        command: String,
    },
    Verified {
        command: String,
        passed: bool,
        ending: String,
        millis: u64,
    },
    Finished {
        status: OutcomeStatus,
        stop: StopReason,
        turns: u32,
        tool_calls: u32,
        usage: Usage,
    },
}

impl Event {
    /// As one JSON object with a `type`.
    pub fn to_json(&self) -> Value {
        match self {
            Event::Started { agent, model, sandbox } => {
                json!({ "type": "started", "agent": agent, "model": model, "sandbox": sandbox.wire() })
            }
            Event::Resumed {
                agent,
                epoch,
                finished_calls,
                in_doubt,
                turns,
                turns_max,
                tool_calls,
                usage,
            } => json!({
                "type": "resumed", "agent": agent, "epoch": epoch, "finished_calls": finished_calls,
                "in_doubt": in_doubt, "turns": turns, "turns_max": turns_max, "tool_calls": tool_calls,
                "usage": usage.to_json(),
            }),
            Event::TurnStarted { turn, turns_max } => {
                json!({ "type": "turn", "turn": turn, "turns_max": turns_max })
            }
            Event::Replied { turn, model, usage: used, calls } => {
                json!({ "type": "replied", "turn": turn, "model": model, "usage": used.to_json(), "calls": calls })
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
            Event::ApprovalRequested { key, approval, tool, summary, why, deadline_ms } => json!({
                "type": "approval_requested", "call": key.to_string(), "approval": approval, "tool": tool,
                "summary": summary, "why": why, "deadline_at": utc(*deadline_ms),
            }),
            Event::ApprovalResolved { key, approval, tool, verdict, scope, by } => json!({
                "type": "approval_resolved", "call": key.to_string(), "approval": approval, "tool": tool,
                "approved": *verdict == ApprovalVerdict::Approve, "scope": scope.wire(), "by": by.to_string(),
            }),
            Event::ToolFinished { key, tool, is_error, in_doubt, why, changed, bytes, millis } => json!({
                    "type": "tool_finished", "call": key.to_string(), "tool": tool, "is_error": is_error,
                    "in_doubt": in_doubt, "why": why, "bytes": bytes, "duration_ms": millis,
                    "changed": changed.iter().map(FileChange::to_json).collect::<Vec<_>>(),
            }),
            Event::Elided { results, bytes } => {
                json!({ "type": "elided", "results": results, "bytes": bytes })
            }
            Event::Verifying { command } => json!({ "type": "verifying", "command": command }),
            Event::Verified { command, passed, ending, millis } => json!({
                "type": "verified", "command": command, "passed": passed, "ending": ending, "duration_ms": millis,
            }),
            Event::WrappingUp { reason } => json!({ "type": "wrapping_up", "reason": reason.wire() }),
            Event::Finished { status, stop, turns, tool_calls, usage: used } => json!({
                    "type": "finished", "status": status.wire(), "reason": stop.wire(), "turns": turns,
                    "tool_calls": tool_calls, "usage": used.to_json(),
            }),
        }
    }
}

/// Why a call failed, for a progress line: the first line of its result that says something, bounded and visible.
pub fn reason(result: &str) -> String {
    const SHOWN: usize = 200;
    let line = result.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason was given");
    let short = crate::text::prefix(line, SHOWN);
    let more = if short.len() < line.len() { "…" } else { "" };
    format!("{}{more}", crate::text::visible(short))
}

/// Arguments that say what a call is about, the most telling first.
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

/// A short, bounded description of a call for a progress line: what it is about, never what it writes.
pub fn summary(call: &ToolCall) -> String {
    const SHOWN: usize = 80;
    let CallSummary(told) = serde_json::from_str(call.arguments.as_object_text()).unwrap_or_default();
    let mut line = String::new();
    for text in told.iter().flatten().take(2).filter_map(|text| text.lines().next()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(text);
    }
    line.truncate(crate::text::prefix(&line, SHOWN).len());
    match crate::text::visible(&line) {
        Cow::Owned(visible) => visible,
        Cow::Borrowed(_) => line,
    }
}

/// The arguments of a call that are in `TELLING`, where they are texts. The others are only passed over: they may be long.
#[derive(Default)]
struct CallSummary([Option<String>; TELLING.len()]);

impl<'de> Deserialize<'de> for CallSummary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TellingVisitor)
    }
}

struct TellingVisitor;

impl<'de> Visitor<'de> for TellingVisitor {
    type Value = CallSummary;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CallSummary, A::Error> {
        let mut told = CallSummary::default();
        while let Some(place) = map.next_key_seed(TellingKey)? {
            match place {
                Some(place) => told.0[place] = map.next_value::<Value>()?.as_str().map(str::to_owned),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(told)
    }
}

/// The place of a name in `TELLING`.
struct TellingKey;

impl<'de> DeserializeSeed<'de> for TellingKey {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for TellingKey {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an argument")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(TELLING.iter().position(|telling| *telling == name))
    }
}

#[cfg(test)]
mod tests {
    use super::{reason, summary};
    use crate::id::CallKey;
    use crate::message::{CallArguments, ToolCall};

    #[test]
    fn a_summary_is_of_the_two_most_telling_texts_whatever_else_is_said() {
        let of = |arguments: &str| {
            let (key, id, name) = (CallKey { turn: 1, index: 0 }, "1".to_owned(), "t".to_owned());
            let arguments = CallArguments::judge(arguments);
            summary(&ToolCall { key, id, name, arguments, signature: None })
        };
        let long = "é".repeat(100);
        for (arguments, told) in [
            (r#"{"name":"n","content":{"path":"inner"},"path":"a\nb","query":"q"}"#.to_owned(), "a q"),
            (r#"{"path":["a"],"key":"k\u001b","url":7}"#.to_owned(), "k\\u{1b}"),
            (format!(r#"{{"key":"{long}"}}"#), &long[..80]),
            (r#"{"content":"c"}"#.to_owned(), ""),
            ("not json".to_owned(), ""),
        ] {
            assert_eq!(of(&arguments), told, "{arguments}");
        }
    }

    #[test]
    fn a_reason_is_one_line_bounded_and_visible() {
        assert_eq!(reason("\n  exit code 2\nmore"), "exit code 2");
        assert_eq!(reason("a\u{1b}[31mb\rc"), "a\\u{1b}[31mb\\u{d}c");
        assert_eq!(reason(&"é".repeat(1000)), format!("{}…", "é".repeat(100)));
        assert_eq!(reason(" \n"), "no reason was given");
    }
}
