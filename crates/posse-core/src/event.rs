//! One event vocabulary: facts of a task without prompt or result text. Terminal, `--json`, `posse tasks watch`, the `events`
//! action and logs speak it; `docs/events.md` lists it. `Event::from_record` projects a journal record, and the driver tells observers
//! what that projection says, so a live view and a later reading agree.

#[cfg(test)]
mod schema_tests;
pub(crate) mod wire;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{ApprovalScope, ApprovalVerdict};
use crate::edits::FileChange;
use crate::grant::SandboxTier;
use crate::id::{CallKey, TaskId};
use crate::journal::{Record, ResultOrigin, TaskStart};
use crate::message::{Block, ToolCall, ToolResult};
use crate::outcome::{OutcomeStatus, StopReason};
use crate::reply::FailureKind;
use crate::usage::Usage;

/// Version of the wire form. Readers pass over types and fields that they do not know; a changed meaning raises it.
pub const EVENT_VERSION: u32 = 1;

/// A fact about a task, with its place in the task's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventEntry {
    /// Version of this form.
    pub v: u32,
    /// Position of the fact in the journal of its task, from 0. It grows; records that state no event leave gaps.
    pub seq: u64,
    /// The task that the fact is about.
    #[cfg_attr(test, schemars(with = "String"))]
    pub task_id: TaskId,
    /// When it was told or committed; the two differ by the time of a commit.
    #[serde(rename = "at", with = "wire::instant")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub at_ms: u64,
    #[serde(flatten)]
    pub event: Event,
}

impl EventEntry {
    /// Projects the journal record at `seq`; `None` if it states no event.
    pub fn from_record(task: &TaskId, seq: u64, at_ms: u64, record: &Record) -> Option<Self> {
        Event::from_record(record).map(|event| Self {
            v: EVENT_VERSION,
            seq,
            task_id: task.clone(),
            at_ms,
            event,
        })
    }

    /// Returns the entry as one line of JSON.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self)
            .expect("entries hold no maps with foreign keys and no failing serializers")
    }
}

/// A fact about a task, without prompt or result text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Event {
    /// The task was created and waits for a slot, a dependency, a lease or a process that drives it.
    Queued {
        agent: String,
        /// Tasks that have to complete first, by their ids in the session.
        after: Vec<String>,
    },
    /// The task begins.
    Started {
        agent: String,
        /// `provider:model` that the agent asks.
        model: String,
        /// Context window of the model in tokens; `null` if it is unknown.
        #[serde(default)]
        context_window: Option<u64>,
        /// Sandbox tier of the task's processes: `off`, `t1` (kernel rules) or `t2` (namespaces).
        #[serde(with = "wire::sandbox")]
        #[cfg_attr(test, schemars(with = "String"))]
        sandbox: SandboxTier,
    },
    /// A process took the task over, or a person sent a message to a task that had ended.
    Resumed {
        agent: String,
        /// `provider:model` that the agent asks.
        #[serde(default)]
        model: String,
        /// Context window of the model in tokens; `null` if it is unknown.
        #[serde(default)]
        context_window: Option<u64>,
        /// Number of the driver; grows with each takeover.
        epoch: u64,
        /// Tool calls of earlier processes that have a result. They are not repeated.
        finished_calls: u32,
        /// Tool calls of earlier processes that may or may not have happened.
        in_doubt: u32,
        /// Turns of earlier processes, so that a view does not begin at zero.
        turns: u32,
        turns_max: u32,
        tool_calls: u32,
        #[serde(with = "wire::usage")]
        #[cfg_attr(test, schemars(with = "wire::usage::UsageForm"))]
        usage: Usage,
    },
    /// A request to the model is about to be sent. A turn is announced again if its request has to be repeated.
    #[serde(rename = "turn")]
    TurnStarted { turn: u32, turns_max: u32 },
    /// The model replied.
    Replied {
        turn: u32,
        /// `provider:model` that replied; a fallback may differ from the agent's model.
        model: String,
        #[serde(with = "wire::usage")]
        #[cfg_attr(test, schemars(with = "wire::usage::UsageForm"))]
        usage: Usage,
        /// Tool calls that the reply asks for.
        calls: u32,
    },
    /// A remark for the person in charge: a fallback, an estimate, a withdrawn tool.
    #[serde(rename = "note")]
    Noted { note: String },
    /// An attempt at a model call failed and is repeated after a wait. Text streamed so far is void.
    ModelRetry {
        #[serde(with = "wire::failure", default = "unknown_failure")]
        #[cfg_attr(test, schemars(with = "String"))]
        kind: FailureKind,
        /// HTTP status of the failed attempt; `null` if there was no answer.
        #[serde(default)]
        status: Option<u16>,
        /// Error of the provider or the connection, bounded.
        why: String,
        wait_ms: u64,
    },
    /// The task waits for something other than its own retry.
    Waiting {
        why: WaitCause,
        /// Write paths that it waits for, if it waits for a lease.
        paths: Vec<String>,
        /// When it tries again, if that is known.
        retry_ms: Option<u64>,
    },
    /// A model call failed for good.
    ModelFailed {
        #[serde(with = "wire::failure")]
        #[cfg_attr(test, schemars(with = "String"))]
        kind: FailureKind,
        /// Error of the provider or the connection, bounded, without keys.
        message: String,
    },
    /// A tool call begins.
    ToolStarted {
        /// Turn and position of the call, such as `3.0`.
        #[serde(rename = "call", with = "wire::call")]
        #[cfg_attr(test, schemars(with = "String"))]
        key: CallKey,
        tool: String,
        /// At most 80 bytes of the arguments that name a target (path, command, pattern, URL); never content.
        summary: String,
    },
    /// A tool call was refused and not made.
    ToolRefused {
        /// Turn and position of the call, such as `3.0`.
        #[serde(rename = "call", with = "wire::call")]
        #[cfg_attr(test, schemars(with = "String"))]
        key: CallKey,
        tool: String,
        /// First line of the refusal, at most 200 bytes.
        why: String,
    },
    /// A tool call waits for a person's decision.
    ApprovalRequested {
        /// Turn and position of the call, such as `3.0`.
        #[serde(rename = "call", with = "wire::call")]
        #[cfg_attr(test, schemars(with = "String"))]
        key: CallKey,
        /// Id for `posse approvals`.
        approval: String,
        tool: String,
        /// At most 80 bytes of the arguments that name a target.
        summary: String,
        /// The rule that asks.
        why: String,
        /// When the default decision applies.
        #[serde(rename = "deadline_at", with = "wire::instant")]
        #[cfg_attr(test, schemars(with = "String"))]
        deadline_ms: u64,
    },
    /// A tool call that needed an approval was decided.
    ApprovalResolved {
        /// Turn and position of the call, such as `3.0`.
        #[serde(rename = "call", with = "wire::call")]
        #[cfg_attr(test, schemars(with = "String"))]
        key: CallKey,
        /// Id for `posse approvals`; `null` if nobody had to be asked.
        approval: Option<String>,
        tool: String,
        approved: bool,
        /// Calls that the decision covers.
        scope: ApprovalScope,
        /// A person's name, `deadline`, `policy`, or the earlier answer that covers the call.
        by: String,
    },
    /// A tool call has its result.
    ToolFinished {
        /// Turn and position of the call, such as `3.0`.
        #[serde(rename = "call", with = "wire::call")]
        #[cfg_attr(test, schemars(with = "String"))]
        key: CallKey,
        tool: String,
        is_error: bool,
        /// The call may or may not have taken effect.
        in_doubt: bool,
        /// First line of the error, at most 200 bytes.
        why: Option<String>,
        /// Files that this call changed itself; those of a delegated task are in the task's own events.
        #[serde(with = "wire::changes")]
        #[cfg_attr(test, schemars(with = "Vec<wire::changes::ChangeForm>"))]
        changed: Vec<FileChange>,
        /// Length of the whole result.
        bytes: u64,
        #[serde(rename = "duration_ms")]
        millis: u64,
    },
    /// Old tool results were left out of the conversation to make room.
    Elided { results: u32, bytes: u64 },
    /// A limit was reached: the model is asked for its final report.
    WrappingUp { reason: StopReason },
    /// A command that checks the result is about to run.
    Verifying {
        /// At most 80 bytes of the command.
        command: String,
    },
    /// A command that checks the result ended.
    Verified {
        /// At most 80 bytes of the command.
        command: String,
        passed: bool,
        /// Exit code, or why there is none.
        ending: String,
        #[serde(rename = "duration_ms")]
        millis: u64,
    },
    /// The task ended.
    Finished {
        status: OutcomeStatus,
        #[serde(rename = "reason")]
        stop: StopReason,
        turns: u32,
        tool_calls: u32,
        #[serde(with = "wire::usage")]
        #[cfg_attr(test, schemars(with = "wire::usage::UsageForm"))]
        usage: Usage,
    },
}

wire_enum! {
    /// Cause of a wait.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum WaitCause {
        /// The provider asked all calls with this key to pause.
        RateLimited = "rate_limited",
        /// Another task holds the lease of its write paths, or a command that may write there still runs.
        Lease = "lease",
    }
}

/// Returns the kind of failure for retries of journals that do not name it.
fn unknown_failure() -> FailureKind {
    FailureKind::Overloaded
}

impl Event {
    /// Projects a journal record: the one event that it states, if any.
    pub fn from_record(record: &Record) -> Option<Self> {
        Some(match record {
            Record::Observed { event } => event.clone(),
            Record::Started(start) if start.queued => Self::queued(start),
            Record::Started(start) => Self::started(start),
            Record::Asked { turn, turns_max, .. } => {
                Event::TurnStarted { turn: *turn, turns_max: *turns_max }
            }
            Record::Replied { turn, reply, .. } => {
                let calls = reply.blocks.iter().filter(|block| matches!(block, Block::ToolCall(_))).count();
                let calls = u32::try_from(calls).unwrap_or(u32::MAX);
                Event::Replied { turn: *turn, model: reply.model.clone(), usage: reply.usage, calls }
            }
            Record::Unanswered { failure, .. } => {
                Event::ModelFailed { kind: failure.kind, message: failure.message.clone() }
            }
            // Journals of earlier versions do not name the tool here.
            Record::Intended { tool, .. } if tool.is_empty() => return None,
            Record::Intended { key, tool, summary, .. } => {
                Event::ToolStarted { key: *key, tool: tool.clone(), summary: summary.clone() }
            }
            Record::Resolved { key, tool, approval, verdict, scope, by, .. } => Event::ApprovalResolved {
                key: *key,
                approval: approval.clone(),
                tool: tool.clone(),
                approved: *verdict == ApprovalVerdict::Approve,
                scope: *scope,
                by: by.to_string(),
            },
            Record::Done { result, full_text, origin, duration_ms, .. } => {
                Self::of_result(result, full_text.as_deref(), *origin, *duration_ms)
            }
            Record::Verifying { command, .. } => Event::Verifying { command: shown_command(command) },
            Record::Verified { evidence, .. } => Event::Verified {
                command: shown_command(&evidence.command),
                passed: evidence.passed(),
                ending: evidence.ending(),
                millis: evidence.duration_ms,
            },
            Record::Finished { outcome, .. } => Event::Finished {
                status: outcome.status(),
                stop: outcome.stop,
                turns: outcome.turns,
                tool_calls: outcome.tool_calls,
                usage: outcome.usage,
            },
            // Followed or preceded by an `Observed` record where there is something to tell.
            Record::Saved { .. }
            | Record::Checked { .. }
            | Record::Resumed { .. }
            | Record::Steered { .. }
            | Record::Said { .. }
            | Record::Withdrawn { .. }
            | Record::Regranted { .. }
            | Record::ModelChosen { .. }
            | Record::BudgetSpent { .. }
            | Record::Cancelled { .. } => return None,
        })
    }

    /// Returns the event of a task that does not start at once.
    fn queued(start: &TaskStart) -> Self {
        Event::Queued { agent: start.agent.name.to_string(), after: start.terms.depends_on.clone() }
    }

    /// Returns the event of a task that begins.
    pub fn started(start: &TaskStart) -> Self {
        Event::Started {
            agent: start.agent.name.to_string(),
            model: start.agent.model.clone(),
            context_window: start.agent.limits.context_window,
            sandbox: start.grant.sandbox(),
        }
    }

    fn of_result(result: &ToolResult, full_text: Option<&str>, origin: ResultOrigin, millis: u64) -> Self {
        let (key, tool, text) = (result.key, result.name.clone(), full_text.unwrap_or(&result.text));
        if origin == ResultOrigin::Refused {
            let why = reason(text.strip_prefix("refused: ").unwrap_or(text));
            return Event::ToolRefused { key, tool, why };
        }
        Event::ToolFinished {
            key,
            tool,
            is_error: result.is_error,
            in_doubt: result.in_doubt,
            why: result.is_error.then(|| reason(text)),
            changed: if origin == ResultOrigin::Delegated { Vec::new() } else { result.changed.clone() },
            bytes: text.len() as u64,
            millis,
        }
    }

    /// Returns the event's `type` on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Queued { .. } => "queued",
            Event::Started { .. } => "started",
            Event::Resumed { .. } => "resumed",
            Event::TurnStarted { .. } => "turn",
            Event::Replied { .. } => "replied",
            Event::Noted { .. } => "note",
            Event::ModelRetry { .. } => "model_retry",
            Event::Waiting { .. } => "waiting",
            Event::ModelFailed { .. } => "model_failed",
            Event::ToolStarted { .. } => "tool_started",
            Event::ToolRefused { .. } => "tool_refused",
            Event::ApprovalRequested { .. } => "approval_requested",
            Event::ApprovalResolved { .. } => "approval_resolved",
            Event::ToolFinished { .. } => "tool_finished",
            Event::Elided { .. } => "elided",
            Event::WrappingUp { .. } => "wrapping_up",
            Event::Verifying { .. } => "verifying",
            Event::Verified { .. } => "verified",
            Event::Finished { .. } => "finished",
        }
    }
}

/// Prints usage as events show it.
pub(crate) fn usage_json(usage: &Usage) -> Value {
    wire::usage::serialize(usage, serde_json::value::Serializer).expect("numbers are always printed")
}

/// The beginning of a verification command, bounded and visible.
fn shown_command(command: &str) -> String {
    const SHOWN: usize = 80;
    crate::text::visible(crate::text::prefix(command, SHOWN)).into_owned()
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
