//! Events as `tracing` records with the target `posse`: names, numbers and states. Texts are included only on
//! request.

mod json_lines;
mod record;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_core::ErrorCode;
use posse_core::event::{Event, EventEntry};
use posse_core::id::TaskId;
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

    fn know(&self, task: &TaskId, agent: &str) {
        let mut agents = self.agents();
        if agents.len() >= TASKS_MAX {
            agents.pop_first();
        }
        agents.insert(task.clone(), agent.to_owned());
    }

    fn record<'a>(&self, task: &'a TaskId, event: &'a str) -> LogRecord<'a> {
        LogRecord {
            task_id: Some(task.as_str()),
            agent: self.agent(task),
            ..LogRecord::new(task.session(), event)
        }
    }

    /// Emits a record that carries only text.
    fn text(&self, task: &TaskId, event: &str, turn: u32, payload: Value) {
        LogRecord { turn: Some(turn), payload: Some(payload.to_string()), ..self.record(task, event) }
            .emit(Level::INFO);
    }
}

impl Observer for EventLog {
    // flat table
    fn event(&self, EventEntry { task_id: task, event, .. }: &EventEntry) {
        if let Event::Queued { agent } | Event::Started { agent, .. } | Event::Resumed { agent, .. } = event {
            self.know(task, agent);
        }
        // Event texts are reasons that may quote a model, a tool or a provider.
        let text = |text: &str| {
            (self.payloads == PayloadPolicy::InFull).then(|| json!({ "text": text }).to_string())
        };
        match event {
            Event::Started { model, .. } => {
                LogRecord { model: Some(model), ..self.record(task, event.kind()) }.emit(Level::INFO);
            }
            Event::Queued { .. } | Event::Resumed { .. } => self.record(task, event.kind()).emit(Level::INFO),
            Event::TurnStarted { turn, .. } => {
                LogRecord { turn: Some(*turn), ..self.record(task, event.kind()) }.emit(Level::DEBUG);
            }
            Event::Replied { turn, model, usage, calls } => {
                let record =
                    LogRecord { turn: Some(*turn), model: Some(model), ..self.record(task, event.kind()) };
                LogRecord { calls: Some(*calls), ..with_tokens(record, usage) }.emit(Level::INFO);
            }
            Event::Noted { note } => {
                if let Some(note) = text(note) {
                    LogRecord { payload: Some(note), ..self.record(task, event.kind()) }.emit(Level::INFO);
                }
            }
            Event::ModelRetry { why, wait_ms } => {
                let record = LogRecord { wait_ms: Some(*wait_ms), ..self.record(task, event.kind()) };
                LogRecord { payload: text(why), ..record }.emit(Level::WARN);
            }
            Event::ModelFailed { kind, message } => {
                let record = LogRecord { error: Some(kind.wire()), ..self.record(task, event.kind()) };
                LogRecord { payload: text(message), ..record }.emit(Level::WARN);
            }
            Event::ToolStarted { key, tool, .. } => {
                let (call, tool) = (Some(key.to_string()), Some(tool_name(tool)));
                LogRecord { call, tool, turn: Some(key.turn), ..self.record(task, event.kind()) }
                    .emit(Level::DEBUG);
            }
            Event::ToolRefused { key, tool, why } => {
                let (call, tool) = (Some(key.to_string()), Some(tool_name(tool)));
                let record =
                    LogRecord { call, tool, turn: Some(key.turn), ..self.record(task, event.kind()) };
                LogRecord { payload: text(why), ..record }.emit(Level::WARN);
            }
            Event::ApprovalRequested { key, tool, summary, .. } => {
                let (call, tool) = (Some(key.to_string()), Some(tool_name(tool)));
                let record =
                    LogRecord { call, tool, turn: Some(key.turn), ..self.record(task, event.kind()) };
                LogRecord { payload: text(summary), ..record }.emit(Level::WARN);
            }
            Event::ApprovalResolved { key, tool, approved, .. } => {
                let (call, tool) = (Some(key.to_string()), Some(tool_name(tool)));
                let record =
                    LogRecord { call, tool, turn: Some(key.turn), ..self.record(task, event.kind()) };
                let status = if *approved { "approved" } else { "denied" };
                LogRecord { status: Some(status.to_owned()), ..record }.emit(Level::INFO);
            }
            Event::ToolFinished { key, tool, is_error, in_doubt, bytes, millis, .. } => {
                let (call, tool) = (Some(key.to_string()), Some(tool_name(tool)));
                let record =
                    LogRecord { call, tool, turn: Some(key.turn), ..self.record(task, event.kind()) };
                LogRecord {
                    is_error: Some(*is_error),
                    in_doubt: in_doubt.then_some(true),
                    bytes: Some(*bytes),
                    duration_ms: Some(*millis),
                    ..record
                }
                .emit(Level::INFO);
            }
            Event::Elided { bytes, .. } => {
                LogRecord { bytes: Some(*bytes), ..self.record(task, event.kind()) }.emit(Level::INFO);
            }
            Event::Verifying { command } => {
                LogRecord { payload: text(command), ..self.record(task, event.kind()) }.emit(Level::DEBUG);
            }
            Event::Verified { command, passed, millis, .. } => {
                let record = LogRecord { payload: text(command), ..self.record(task, event.kind()) };
                LogRecord { is_error: Some(!passed), duration_ms: Some(*millis), ..record }.emit(Level::INFO);
            }
            Event::WrappingUp { reason } => {
                LogRecord { reason: Some(reason.wire()), ..self.record(task, event.kind()) }
                    .emit(Level::INFO);
            }
            Event::Finished { status, stop, turns, tool_calls, usage } => {
                let record = LogRecord {
                    status: Some(status.wire().to_owned()),
                    reason: Some(stop.wire()),
                    turns_used: Some(u64::from(*turns)),
                    tool_calls: Some(*tool_calls),
                    ..self.record(task, event.kind())
                };
                with_tokens(record, usage).emit(Level::INFO);
                self.agents().remove(task);
            }
        }
    }

    fn delegation(&self, caller: &TaskId, fact: &DelegationFact) {
        LogRecord {
            task_id: fact.task.as_ref().map(TaskId::as_str),
            agent: fact.agent.as_ref().map(ToString::to_string),
            caller_task_id: Some(caller.as_str()),
            call: Some(fact.call.to_string()),
            action: Some(fact.action),
            status: fact.state.map(|state| wire_status(state).to_owned()),
            turns_used: fact.turns.map(u64::from),
            error: fact.error.map(ErrorCode::wire),
            ..LogRecord::new(caller.session(), "subagent")
        }
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

fn with_tokens<'a>(record: LogRecord<'a>, usage: &Usage) -> LogRecord<'a> {
    LogRecord {
        input_tokens: Some(usage.input),
        output_tokens: Some(usage.output),
        cache_read_tokens: Some(usage.cache_read),
        ..record
    }
}

fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
    });
    texts.collect()
}
