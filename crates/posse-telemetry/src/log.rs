//! Events as `tracing` records with the target `posse`: names, numbers and states. Texts are included only on
//! request.

mod json_lines;
mod record;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_core::ErrorCode;
use posse_core::event::{Event, EventEntry};
use posse_core::id::{CallKey, TaskId};
use posse_core::message::Block;
use posse_core::usage::Usage;
use posse_runtime::delegation::wire_status;
use posse_runtime::ports::{DelegationFact, ObservedPayload, Observer};
use serde_json::{Value, json};
use tracing::Level;

use crate::tool_name;
use record::LogRecord;

pub use json_lines::{JsonLog, LogFilter, open};

/// Policy for logging tasks, prompts, arguments and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadPolicy {
    /// The default: they may be confidential, and many people read logs.
    Never,
    /// For debugging.
    InFull,
}

/// Maximum tasks whose agent names are cached; bounds the cache if a task never ends here because another
/// process took it over.
const TASKS_MAX: usize = 10_000;

/// An observer that logs events.
pub struct EventLog {
    payloads: PayloadPolicy,
    agents: Mutex<BTreeMap<TaskId, String>>,
}

impl EventLog {
    /// Creates a log with this payload policy.
    pub fn new(payloads: PayloadPolicy) -> Self {
        Self { payloads, agents: Mutex::default() }
    }

    fn agents(&self) -> MutexGuard<'_, BTreeMap<TaskId, String>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn agent(&self, task: &TaskId) -> Option<String> {
        self.agents().get(task).cloned()
    }

    fn remember_agent(&self, task: &TaskId, agent: &str) {
        let mut agents = self.agents();
        if agents.len() >= TASKS_MAX {
            agents.pop_first();
        }
        agents.insert(task.clone(), agent.to_owned());
    }

    fn record<'a>(&self, task: &'a TaskId, event: &'a str) -> LogRecord<'a> {
        LogRecord {
            session_id: task.session(),
            event,
            task_id: Some(task.as_str()),
            agent: self.agent(task),
            details: String::new(),
            payload: None,
        }
    }

    /// Emits a record that carries only text.
    fn text(&self, task: &TaskId, event: &str, turn: u32, payload: Value) {
        let record = self.record(task, event).with("turn", turn);
        LogRecord { payload: Some(payload.to_string()), ..record }.emit(Level::INFO);
    }
}

impl Observer for EventLog {
    // flat table
    fn event(&self, EventEntry { task_id: task, event, .. }: &EventEntry) {
        if let Event::Queued { agent, .. } | Event::Started { agent, .. } | Event::Resumed { agent, .. } =
            event
        {
            self.remember_agent(task, agent);
        }
        let record = self.record(task, event.kind());
        // Event texts are reasons that may quote a model, a tool or a provider.
        let quoting = |record, text: &str| {
            let in_full = self.payloads == PayloadPolicy::InFull;
            LogRecord { payload: in_full.then(|| json!({ "text": text }).to_string()), ..record }
        };
        let (record, level) = match event {
            Event::Started { model, .. } => (record.with("model", model.as_str()), Level::INFO),
            Event::Queued { .. } | Event::Resumed { .. } => (record, Level::INFO),
            Event::TurnStarted { turn, .. } => (record.with("turn", *turn), Level::DEBUG),
            Event::Replied { turn, model, usage, calls } => {
                let record = record.with("model", model.as_str()).with("turn", *turn).with("calls", *calls);
                (with_tokens(record, usage), Level::INFO)
            }
            Event::Noted { .. } if self.payloads == PayloadPolicy::Never => return,
            Event::Noted { note } => (quoting(record, note), Level::INFO),
            Event::ModelRetry { kind, status, why, wait_ms } => {
                let record = record.with("error", kind.wire()).with_some("http_status", *status);
                (quoting(record.with("wait_ms", *wait_ms), why), Level::WARN)
            }
            Event::Waiting { why, retry_ms, .. } => {
                (record.with("why", why.wire()).with_some("wait_ms", *retry_ms), Level::INFO)
            }
            Event::ModelFailed { kind, message } => {
                (quoting(record.with("error", kind.wire()), message), Level::WARN)
            }
            Event::ToolStarted { key, tool, .. } => (of_call(record, key, tool), Level::DEBUG),
            Event::ToolRefused { key, tool, why } => (quoting(of_call(record, key, tool), why), Level::WARN),
            Event::ApprovalRequested { key, tool, summary, .. } => {
                (quoting(of_call(record, key, tool), summary), Level::WARN)
            }
            Event::ApprovalResolved { key, tool, approved, .. } => {
                let status = if *approved { "approved" } else { "denied" };
                (of_call(record, key, tool).with("status", status), Level::INFO)
            }
            Event::ToolFinished { key, tool, is_error, in_doubt, bytes, millis, .. } => {
                let record = of_call(record, key, tool).with("is_error", *is_error);
                let record = record.with_some("in_doubt", in_doubt.then_some(true));
                (record.with("bytes", *bytes).with("duration_ms", *millis), Level::INFO)
            }
            Event::Elided { bytes, .. } => (record.with("bytes", *bytes), Level::INFO),
            Event::Verifying { command } => (quoting(record, command), Level::DEBUG),
            Event::Verified { command, passed, millis, .. } => {
                let record = record.with("is_error", !passed).with("duration_ms", *millis);
                (quoting(record, command), Level::INFO)
            }
            Event::WrappingUp { reason } => (record.with("reason", reason.wire()), Level::INFO),
            Event::Finished { status, stop, turns, tool_calls, usage } => {
                self.agents().remove(task);
                let record = record.with("turns_used", *turns).with("tool_calls", *tool_calls);
                let record = record.with("status", status.wire()).with("reason", stop.wire());
                (with_tokens(record, usage), Level::INFO)
            }
        };
        record.emit(level);
    }

    fn delegation(&self, caller: &TaskId, fact: &DelegationFact) {
        LogRecord {
            task_id: fact.task.as_ref().map(TaskId::as_str),
            agent: fact.agent.as_ref().map(ToString::to_string),
            ..self.record(caller, "subagent")
        }
        .with("caller_task_id", caller.as_str())
        .with("action", fact.action)
        .with("call", fact.call.to_string())
        .with_some("turns_used", fact.turns)
        .with_some("status", fact.state.map(wire_status))
        .with_some("error", fact.error.map(ErrorCode::wire))
        .emit(Level::INFO);
    }

    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        if self.payloads == PayloadPolicy::Never {
            return;
        }
        match payload {
            ObservedPayload::Start(start) => {
                let (system, first) = start.opening();
                let texts = json!({ "task": start.task, "system": system, "first_message": first });
                self.text(task, "task_text", 0, texts);
            }
            ObservedPayload::Message(text) => self.text(task, "message_text", 0, json!({ "text": text })),
            ObservedPayload::Reply { turn, reply } => {
                self.text(task, "reply_text", turn, json!({ "text": text_of(&reply.blocks) }));
            }
            ObservedPayload::Call(call) => {
                let arguments = call.arguments.as_object_text();
                let texts =
                    json!({ "call": call.key.to_string(), "tool": call.name, "arguments": arguments });
                self.text(task, "call_text", call.key.turn, texts);
            }
            ObservedPayload::Result { call, result } => {
                let texts = json!({ "call": call.key.to_string(), "tool": call.name, "result": result.text });
                self.text(task, "result_text", call.key.turn, texts);
            }
        }
    }
}

fn of_call<'a>(record: LogRecord<'a>, key: &CallKey, tool: &str) -> LogRecord<'a> {
    record.with("tool", tool_name(tool)).with("call", key.to_string()).with("turn", key.turn)
}

fn with_tokens<'a>(record: LogRecord<'a>, usage: &Usage) -> LogRecord<'a> {
    record
        .with("input_tokens", usage.input)
        .with("output_tokens", usage.output)
        .with("cache_read_tokens", usage.cache_read)
}

fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
    });
    texts.collect()
}
