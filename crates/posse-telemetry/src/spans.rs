//! Events as OpenTelemetry spans: `invoke_agent` for a task, `chat` for a model call, `execute_tool` for a
//! tool call. A delegated task is a child of the call that spawned it, so that a whole delegation is one
//! tree.

pub mod conventions;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::event::Event;
use posse_core::id::{CallKey, TaskId};
use posse_core::outcome::OutcomeStatus;
use posse_core::usage::Usage;
use posse_runtime::ports::{Delta, ObservedPayload, Observer};

use crate::facts;
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
    fn take(&self, span: Span);
}

/// Maximum sessions and task links kept; beyond that new ones are not linked.
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
    /// The call that spawned a task, as reported by the call's answer.
    spawned_by: BTreeMap<TaskId, SpanId>,
    /// Models of tasks about to start.
    models: BTreeMap<TaskId, String>,
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
    calls: BTreeMap<CallKey, CallSpan>,
}

struct ChatSpan {
    span: Span,
    attempts: u64,
}

struct CallSpan {
    span: Span,
    /// The agent that the call delegates to.
    delegate: Option<String>,
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
            let calls = std::mem::take(&mut task.calls).into_values().map(|call| call.span);
            for span in calls.chain(chat).chain([task.span]) {
                self.sink.take(ended(Span { error: Some("interrupted".to_owned()), ..span }));
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenSpans> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for SpanObserver {
    fn event(&self, task: &TaskId, event: &Event) {
        let finished = self.open().event(task, event);
        if let Some(span) = finished {
            self.sink.take(ended(span));
        }
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        if let Delta::Restarted { .. } = delta
            && let Some(chat) = self.open().tasks.get_mut(task).and_then(|task| task.chat.as_mut())
        {
            chat.attempts += 1;
        }
    }

    /// Extracts only which agent a call delegates to, and the model of a resumed task.
    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        match payload {
            ObservedPayload::Call(call) => {
                let delegate = facts::delegate_of(call);
                self.open().call(task, call.key, &call.name, delegate);
            }
            ObservedPayload::Result { call, result } => {
                let Some(done) = facts::delegation(task, call, result) else { return };
                if done.action == "spawn" && done.error.is_none() {
                    self.open().link(task, call.key, done.task);
                }
            }
            ObservedPayload::Start(start) => {
                self.open().models.insert(task.clone(), start.agent.model.clone());
            }
            ObservedPayload::Message(_) | ObservedPayload::Reply { .. } => {}
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
            Event::ModelFailed { kind, .. } => {
                let span = self.tasks.get_mut(id)?.answered()?;
                return Some(Span { error: Some(kind.wire().to_owned()), ..span });
            }
            Event::ToolRefused { key, tool, .. } => {
                let span = self.tasks.get(id)?.tool(id, *key, tool);
                return Some(Span { error: Some("refused".to_owned()), ..span });
            }
            Event::ToolFinished { key, is_error, in_doubt, bytes, .. } => {
                let mut span = self.tasks.get_mut(id)?.calls.remove(key)?.span;
                span.attributes.push((is::RESULT_BYTES, (*bytes).into()));
                if *in_doubt {
                    span.attributes.push((is::IN_DOUBT, SpanValue::Flag(true)));
                }
                span.error = is_error.then(|| "tool_error".to_owned());
                return Some(span);
            }
            Event::ToolStarted { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalResolved { .. }
            | Event::Noted { .. }
            | Event::Elided { .. }
            | Event::Verifying { .. }
            | Event::Verified { .. }
            | Event::WrappingUp { .. } => {}
        }
        None
    }

    fn begin(&mut self, id: &TaskId, agent: &str, model: Option<&str>) {
        let announced = self.models.remove(id);
        let model = model.or(announced.as_deref());
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
            span.parent = self.spawner(id, agent);
        }
        let (agent, model) = (agent.to_owned(), model.map(str::to_owned));
        self.tasks.insert(id.clone(), TaskSpan { span, agent, model, chat: None, calls: BTreeMap::new() });
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
        let TaskSpan { mut span, agent, .. } = self.tasks.remove(id)?;
        if is_root(id) {
            // No further tasks of this session can start.
            self.spawned_by.retain(|spawned, _| spawned.session() != id.session());
        } else {
            // By now the answer of the spawning call has usually arrived.
            span.parent = self.spawned_by.remove(id).or(span.parent).or_else(|| self.spawner(id, &agent));
        }
        Some(span)
    }

    /// Finds the parent of a delegated task: the call that spawned it, else a pending call to this agent (a
    /// task may start before its call has an answer), else the root task.
    fn spawner(&self, id: &TaskId, agent: &str) -> Option<SpanId> {
        let of_session = self.tasks.iter().filter(|(task, _)| task.session() == id.session());
        let mut calls = of_session.flat_map(|(_, task)| task.calls.values());
        let about_to = calls.find(|call| call.delegate.as_deref() == Some(agent));
        let root = || self.traces.get(id.session()).and_then(|trace| trace.root);
        self.spawned_by.get(id).copied().or(about_to.map(|call| call.span.id)).or_else(root)
    }

    fn call(&mut self, id: &TaskId, key: CallKey, tool: &str, delegate: Option<String>) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        let span = task.tool(id, key, tool);
        task.calls.insert(key, CallSpan { span, delegate });
    }

    fn link(&mut self, caller: &TaskId, key: CallKey, spawned: Option<TaskId>) {
        let call = self.tasks.get_mut(caller).and_then(|task| task.calls.get_mut(&key));
        let (Some(call), Some(spawned)) = (call, spawned) else { return };
        // Linked now, so it must not match the next task of the same agent.
        call.delegate = None;
        let by = call.span.id;
        match self.tasks.get_mut(&spawned) {
            Some(child) => child.span.parent = Some(by),
            None if self.spawned_by.len() < REMEMBERED_MAX => {
                self.spawned_by.insert(spawned, by);
            }
            None => {}
        }
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
