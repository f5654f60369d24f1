//! Events as OpenTelemetry spans: `invoke_agent` for a task, `chat` for a model call, `execute_tool` for a
//! tool call. A delegated task is a child of the call that spawned it, so that a whole delegation is one
//! tree.

pub mod conventions;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::event::{Event, EventEntry};
use posse_core::id::{CallKey, TaskId};
use posse_core::outcome::OutcomeStatus;
use posse_core::tool::{DELEGATION, canonical};
use posse_core::usage::Usage;
use posse_runtime::ports::{ObservedPayload, Observer};

use crate::tool_name;
use conventions as is;

/// A trace ID.
pub type TraceId = [u8; 16];
/// A span ID.
pub type SpanId = [u8; 8];

/// A finished or open span.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub name: String,
    pub kind: SpanKind,
    /// Start and end in nanoseconds since 1970.
    pub began: u64,
    pub ended: u64,
    pub attributes: Vec<(&'static str, SpanValue)>,
    /// The error type, if it failed.
    pub error: Option<String>,
}

/// The kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    /// A request to another service.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum SpanValue {
    Text(String),
    Number(u64),
    Flag(bool),
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        SpanValue::Text(text.to_owned())
    }
}

impl From<u64> for SpanValue {
    fn from(number: u64) -> Self {
        SpanValue::Number(number)
    }
}

/// A receiver of finished spans. It runs inside a task, so it must neither block nor fail.
pub trait SpanSink: Send + Sync {
    fn export(&self, span: Span);
}

/// Maximum sessions kept; beyond that those without a task are forgotten.
const REMEMBERED_MAX: usize = 10_000;

/// An observer that turns events into spans.
pub struct SpanObserver {
    sink: Arc<dyn SpanSink>,
    open: Mutex<OpenSpans>,
}

#[derive(Default)]
struct OpenSpans {
    traces: BTreeMap<String, SpanTrace>,
    tasks: BTreeMap<TaskId, TaskSpan>,
    /// Tasks about to start.
    announced: BTreeMap<TaskId, AnnouncedTask>,
}

/// Facts about a task that is about to start.
struct AnnouncedTask {
    model: String,
    /// The call that spawned it.
    spawned_by: Option<(TaskId, CallKey)>,
}

/// The trace of one request to a session.
#[derive(Clone, Copy)]
struct SpanTrace {
    id: TraceId,
    /// The span of the session's root task; `None` before it starts.
    root: Option<SpanId>,
}

struct TaskSpan {
    span: Span,
    agent: String,
    model: Option<String>,
    chat: Option<ChatSpan>,
    calls: BTreeMap<CallKey, Span>,
    /// Spans of the calls that may have spawned a task, also after their end.
    delegations: BTreeMap<CallKey, SpanId>,
}

struct ChatSpan {
    span: Span,
    attempts: u64,
}

impl SpanObserver {
    /// Creates an observer that passes finished spans to this sink.
    pub fn new(sink: Arc<dyn SpanSink>) -> Self {
        Self { sink, open: Mutex::default() }
    }

    /// Ends all open spans as interrupted, because the process is ending.
    pub fn interrupt(&self) {
        let tasks = std::mem::take(&mut self.open().tasks);
        for mut task in tasks.into_values() {
            let chat = task.chat.take().map(|chat| chat.span);
            let calls = std::mem::take(&mut task.calls).into_values();
            for span in calls.chain(chat).chain([task.span]) {
                self.sink.export(ended(Span { error: Some("interrupted".to_owned()), ..span }));
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenSpans> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for SpanObserver {
    fn event(&self, EventEntry { task_id: task, event, .. }: &EventEntry) {
        let finished = self.open().event(task, event);
        if let Some(span) = finished {
            self.sink.export(ended(span));
        }
    }

    /// Extracts only names and keys: the tool of a call, the model of a task, and the call that spawned it.
    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        match payload {
            ObservedPayload::Call(call) => self.open().call(task, call.key, &call.name),
            ObservedPayload::Start(start) => {
                let spawned_by = start.link.key.as_deref().and_then(CallKey::parse_idempotency_key);
                let announced = AnnouncedTask { model: start.agent.model.clone(), spawned_by };
                self.open().announced.insert(task.clone(), announced);
            }
            ObservedPayload::Message(_) | ObservedPayload::Reply { .. } | ObservedPayload::Result { .. } => {}
        }
    }
}

impl OpenSpans {
    /// Handles an event; returns the span that it ends.
    fn event(&mut self, id: &TaskId, event: &Event) -> Option<Span> {
        match event {
            Event::Started { agent, model, .. } => self.begin(id, agent, Some(model)),
            Event::Resumed { agent, .. } => self.begin(id, agent, None),
            Event::Finished { status, stop, turns, tool_calls, usage } => {
                let mut span = self.end(id)?;
                span.attributes.extend([
                    (is::STATUS, status.wire().into()),
                    (is::STOP_REASON, stop.wire().into()),
                    (is::TURNS, u64::from(*turns).into()),
                    (is::TOOL_CALLS, u64::from(*tool_calls).into()),
                ]);
                span.attributes.extend(tokens(usage));
                span.error = (*status == OutcomeStatus::Failed).then(|| stop.wire().to_owned());
                return Some(span);
            }
            Event::TurnStarted { turn, .. } => self.tasks.get_mut(id)?.ask(id, *turn),
            Event::Replied { model, usage, .. } => {
                let mut span = self.tasks.get_mut(id)?.answered()?;
                span.attributes.push((is::RESPONSE_MODEL, split(model).1.into()));
                span.attributes.extend(tokens(usage));
                return Some(span);
            }
            Event::ModelRetry { .. } => self.tasks.get_mut(id)?.chat.as_mut()?.attempts += 1,
            Event::ModelFailed { kind, .. } => {
                let span = self.tasks.get_mut(id)?.answered()?;
                return Some(Span { error: Some(kind.wire().to_owned()), ..span });
            }
            Event::ToolRefused { key, tool, .. } => {
                let span = self.tasks.get(id)?.tool(id, *key, tool);
                return Some(Span { error: Some("refused".to_owned()), ..span });
            }
            Event::ToolFinished { key, is_error, in_doubt, bytes, .. } => {
                let mut span = self.tasks.get_mut(id)?.calls.remove(key)?;
                span.attributes.push((is::RESULT_BYTES, (*bytes).into()));
                if *in_doubt {
                    span.attributes.push((is::IN_DOUBT, SpanValue::Flag(true)));
                }
                span.error = is_error.then(|| "tool_error".to_owned());
                return Some(span);
            }
            Event::Queued { .. }
            | Event::ToolStarted { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalResolved { .. }
            | Event::Noted { .. }
            | Event::Waiting { .. }
            | Event::Elided { .. }
            | Event::Verifying { .. }
            | Event::Verified { .. }
            | Event::WrappingUp { .. } => {}
        }
        None
    }

    fn begin(&mut self, id: &TaskId, agent: &str, model: Option<&str>) {
        let announced = self.announced.remove(id);
        let model = model.or(announced.as_ref().map(|task| task.model.as_str()));
        let trace = self.trace(id);
        let mut span =
            Span::begin(trace.id, None, format!("{} {agent}", is::INVOKE_AGENT), SpanKind::Internal);
        span.attributes = vec![
            (is::OPERATION, is::INVOKE_AGENT.into()),
            (is::AGENT_NAME, agent.into()),
            (is::AGENT_ID, id.as_str().into()),
            (is::CONVERSATION, id.session().into()),
            (is::TASK_ID, id.as_str().into()),
        ];
        if let Some(model) = model {
            let (provider, model) = split(model);
            span.attributes.push((is::PROVIDER, provider.into()));
            span.attributes.push((is::REQUEST_MODEL, model.into()));
        }
        if is_root(id) {
            self.traces.insert(id.session().to_owned(), SpanTrace { root: Some(span.id), ..trace });
        } else {
            let spawned_by = announced.as_ref().and_then(|task| task.spawned_by.as_ref());
            span.parent = spawned_by.and_then(|(task, call)| self.delegation(task, call)).or(trace.root);
        }
        let (agent, model) = (agent.to_owned(), model.map(str::to_owned));
        let (calls, delegations) = Default::default();
        self.tasks.insert(id.clone(), TaskSpan { span, agent, model, chat: None, calls, delegations });
    }

    /// Returns the task's trace. The root task starts a new one, unless its children started first.
    fn trace(&mut self, id: &TaskId) -> SpanTrace {
        if self.traces.len() >= REMEMBERED_MAX {
            let Self { traces, tasks, .. } = self;
            traces.retain(|session, _| tasks.keys().any(|task| task.session() == session));
        }
        let known = self.traces.get(id.session()).filter(|trace| !is_root(id) || trace.root.is_none());
        let trace = known.copied().unwrap_or_else(|| SpanTrace { id: random(), root: None });
        self.traces.insert(id.session().to_owned(), trace);
        trace
    }

    fn end(&mut self, id: &TaskId) -> Option<Span> {
        self.tasks.remove(id).map(|task| task.span)
    }

    /// Returns the span of a call that may have spawned a task.
    fn delegation(&self, caller: &TaskId, call: &CallKey) -> Option<SpanId> {
        self.tasks.get(caller)?.delegations.get(call).copied()
    }

    fn call(&mut self, id: &TaskId, key: CallKey, tool: &str) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        let span = task.tool(id, key, tool);
        if canonical(tool) == DELEGATION {
            task.delegations.insert(key, span.id);
        }
        task.calls.insert(key, span);
    }
}

impl TaskSpan {
    fn ask(&mut self, id: &TaskId, turn: u32) {
        let (provider, model) = split(self.model.as_deref().unwrap_or_default());
        let name = format!("{} {model}", is::CHAT).trim_end().to_owned();
        let mut span = Span::begin(self.span.trace, Some(self.span.id), name, SpanKind::Client);
        span.attributes = vec![
            (is::OPERATION, is::CHAT.into()),
            (is::CONVERSATION, id.session().into()),
            (is::AGENT_NAME, self.agent.as_str().into()),
            (is::TASK_ID, id.as_str().into()),
            (is::TURN, u64::from(turn).into()),
        ];
        if !model.is_empty() {
            span.attributes.push((is::PROVIDER, provider.into()));
            span.attributes.push((is::REQUEST_MODEL, model.into()));
        }
        self.chat = Some(ChatSpan { span, attempts: 1 });
    }

    fn answered(&mut self) -> Option<Span> {
        let ChatSpan { mut span, attempts } = self.chat.take()?;
        span.attributes.push((is::ATTEMPTS, attempts.into()));
        Some(span)
    }

    fn tool(&self, id: &TaskId, key: CallKey, tool: &str) -> Span {
        let tool = tool_name(tool);
        let mut span = Span::begin(
            self.span.trace,
            Some(self.span.id),
            format!("{} {tool}", is::EXECUTE_TOOL),
            SpanKind::Internal,
        );
        span.attributes = vec![
            (is::OPERATION, is::EXECUTE_TOOL.into()),
            (is::TOOL_NAME, tool.as_str().into()),
            (is::TOOL_TYPE, is::FUNCTION.into()),
            (is::TOOL_CALL_ID, key.to_string().as_str().into()),
            (is::AGENT_NAME, self.agent.as_str().into()),
            (is::CONVERSATION, id.session().into()),
            (is::TASK_ID, id.as_str().into()),
        ];
        span
    }
}

impl Span {
    fn begin(trace: TraceId, parent: Option<SpanId>, name: String, kind: SpanKind) -> Self {
        let began = now();
        let (attributes, error) = (Vec::new(), None);
        Self { trace, id: random(), parent, name, kind, began, ended: began, attributes, error }
    }
}

fn ended(mut span: Span) -> Span {
    span.ended = now().max(span.began);
    if let Some(error) = &span.error {
        span.attributes.push((is::ERROR_TYPE, error.as_str().into()));
    }
    span
}

fn tokens(usage: &Usage) -> impl Iterator<Item = (&'static str, SpanValue)> {
    let all = [
        (is::INPUT_TOKENS, usage.input),
        (is::OUTPUT_TOKENS, usage.output),
        (is::CACHE_READ_TOKENS, usage.cache_read),
        (is::CACHE_WRITE_TOKENS, usage.cache_write),
        (is::REASONING_TOKENS, usage.reasoning),
    ];
    // Zero for the last three mostly means that the provider does not report them.
    let said = all.into_iter().enumerate().filter(|(at, (_, tokens))| *at < 2 || *tokens > 0);
    said.map(|(_, (name, tokens))| (name, tokens.into()))
}

/// Splits `provider:model`.
fn split(model: &str) -> (&str, &str) {
    let (ours, model) = model.split_once(':').unwrap_or(("", model));
    (is::provider(ours), model)
}

fn is_root(id: &TaskId) -> bool {
    id.short() == id.as_str()
}

fn now() -> u64 {
    u64::try_from(crate::since_1970().as_nanos()).unwrap_or(u64::MAX)
}

/// Generates a random ID; all zeros would mean "none".
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fastrand::fill(&mut bytes);
    bytes[0] |= 1;
    bytes
}
