//! State of the tasks of a tree, filled from events.

use std::collections::{BTreeMap, BTreeSet};

use posse_core::edits::{ChangeKind, FileChange};
use posse_core::event::{Event, EventEntry};
use posse_core::fact::{LiveFact, QueuePlace};
use posse_core::id::{CallKey, TaskId};
use posse_core::outcome::{OutcomeStatus, StopReason};
use posse_core::streamed::StreamedText;
use posse_core::text::{prefix, visible};
use posse_core::tool::{DELEGATION, canonical};
use posse_core::usage::Usage;
use posse_messages::say;

use super::figures;
use super::reasons::{AnnouncedWait, question_text, queue_text};
use crate::style::{AnsiColor, SymbolSet, TextStyle};

/// Longest text kept for one cell; no terminal shows more.
const CELL_BYTES_MAX: usize = 400;
/// Longest beginning of streamed arguments: their subject stands first.
const ARGUMENTS_BYTES_MAX: usize = 2_000;

/// State of a task as a row shows it, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowState {
    /// Waits for a person: an approval or a question.
    NeedsInput,
    /// At work.
    Working,
    /// Waits for a provider, a lease or an answer of another task.
    Waiting,
    /// Failed.
    Failed,
    /// Stopped early, with work to show.
    Partial,
    /// Its process is gone; a worker or `resume` continues it.
    Interrupted,
    /// Cancelled.
    Cancelled,
    /// Not started yet.
    Queued,
    /// Completed.
    Completed,
}

impl RowState {
    /// Returns the mark, one column wide.
    pub fn mark(self, symbols: SymbolSet) -> &'static str {
        let (unicode, ascii) = match self {
            RowState::NeedsInput => ("?", "?"),
            RowState::Working => ("●", "*"),
            RowState::Waiting => ("!", "!"),
            RowState::Failed => ("✗", "x"),
            RowState::Partial => ("◐", "%"),
            RowState::Interrupted => ("‖", "="),
            RowState::Cancelled => ("–", "-"),
            RowState::Queued => ("◌", "."),
            RowState::Completed => ("✓", "+"),
        };
        match symbols {
            SymbolSet::Unicode => unicode,
            SymbolSet::Ascii => ascii,
        }
    }

    /// Returns the style of the mark.
    pub fn style(self) -> TextStyle {
        match self {
            RowState::NeedsInput => TextStyle { bold: true, ..TextStyle::colored(AnsiColor::Yellow) },
            RowState::Waiting | RowState::Partial => TextStyle::colored(AnsiColor::Yellow),
            RowState::Working => TextStyle::colored(AnsiColor::Cyan),
            RowState::Failed => TextStyle::colored(AnsiColor::Red),
            RowState::Completed => TextStyle::colored(AnsiColor::Green),
            RowState::Interrupted | RowState::Cancelled | RowState::Queued => TextStyle::PLAIN,
        }
    }

    /// Tells whether the task has ended or stands still for good.
    pub fn is_over(self) -> bool {
        match self {
            RowState::Failed
            | RowState::Partial
            | RowState::Interrupted
            | RowState::Cancelled
            | RowState::Completed => true,
            RowState::NeedsInput | RowState::Working | RowState::Waiting | RowState::Queued => false,
        }
    }
}

/// A task as a store lists it, without its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeTask {
    /// Name of the agent.
    pub agent: String,
    /// Outcome; `None` if it has not ended.
    pub ended: Option<OutcomeStatus>,
    /// When it was created.
    pub created_ms: u64,
    /// When its journal last grew.
    pub updated_ms: u64,
    /// Replies of its models.
    pub turns: u32,
    /// Tokens and price.
    pub usage: Usage,
}

/// A piece of a streamed reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowDelta<'a> {
    /// Text of the answer.
    Text(&'a str),
    /// Reasoning.
    Thinking,
    /// The model began to ask for a tool.
    ToolCall {
        /// Position among the calls of the reply.
        index: usize,
        /// Name of the tool.
        name: &'a str,
    },
    /// More of the arguments of a tool call.
    ToolArguments {
        /// Position among the calls of the reply.
        index: usize,
        /// The next piece.
        fragment: &'a str,
    },
}

/// Current activity, or the reason of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RowAction {
    /// No activity worth a word.
    Idle,
    Text(String),
    Model,
    Thinking,
    Writing {
        characters: u64,
    },
    /// Waits for something, from the time of the event on.
    Wait {
        since_ms: u64,
        wait: AnnouncedWait,
    },
    Approve {
        call: String,
    },
    /// Waits for subagents; those that had ended before are not counted.
    Delegating {
        ended_before: BTreeSet<TaskId>,
    },
    Stopped(StopReason),
}

/// Everything that is known about one task.
#[derive(Debug, Clone)]
pub(super) struct TaskView {
    pub(super) agent: String,
    pub(super) title: String,
    pub(super) parent: Option<TaskId>,
    pub(super) state: RowState,
    pub(super) turn: u32,
    pub(super) turns_max: u32,
    pub(super) model: ModelUse,
    began_ms: Option<u64>,
    ended_ms: Option<u64>,
    action: RowAction,
    /// Tool calls without a result, and what each is about.
    calls: Vec<(CallKey, String)>,
    reply: StreamedReply,
    /// First line of the answer.
    answer: String,
    changed: Vec<FileChange>,
    has_events: bool,
}

/// The model of a task, and what it used.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelUse {
    pub(super) provider: String,
    /// Name without the provider.
    pub(super) name: String,
    pub(super) usage: Usage,
    /// Context window in tokens.
    pub(super) window: Option<u64>,
    /// Tokens of the last request and its reply.
    context: u64,
}

impl ModelUse {
    /// Takes the name of a model, such as `openai:gpt-5-mini`.
    fn rename(&mut self, model: &str) {
        let (provider, name) = model.split_once(':').unwrap_or(("", model));
        // A script is a path; its directory says nothing.
        let name = if provider == "scripted" { name.rsplit('/').next().unwrap_or(name) } else { name };
        (self.provider, self.name) = (cell(provider), cell(name));
    }

    /// Returns how full the context window is, in percent; 99 at most.
    pub(super) fn context_percent(&self) -> Option<u64> {
        let window = self.window.filter(|window| *window > 0)?;
        (self.context > 0).then(|| (self.context.saturating_mul(100) / window).clamp(1, 99))
    }
}

/// Context and cost of a tree, as far as its events say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeUse {
    /// Tokens of the topmost task's last request and its reply.
    pub context_tokens: u64,
    /// Window of its model, if known.
    pub window: Option<u64>,
    /// Cost in millionths of a dollar; `None` if a part of it is not known.
    pub cost_micros: Option<u64>,
    /// Number of tasks below it.
    pub subagents: usize,
}

/// The reply that is being streamed.
#[derive(Debug, Clone, Default)]
struct StreamedReply {
    text: String,
    characters: u64,
    /// Delegation that is being written: position, tool and the beginning of its arguments.
    asking: Option<(usize, String, String)>,
}

/// The tasks of one tree, by the events that were observed.
#[derive(Debug, Clone)]
pub struct TreeModel {
    root: TaskId,
    tasks: BTreeMap<TaskId, TaskView>,
}

impl TreeModel {
    /// Creates a tree whose topmost task is `root`.
    pub fn new(root: TaskId) -> Self {
        Self { root, tasks: BTreeMap::new() }
    }

    /// Takes an event of a task. Times come from the entry.
    pub fn observe(&mut self, entry: &EventEntry) {
        let EventEntry { task_id, at_ms, event, .. } = entry;
        let waits = matches!(event, Event::ToolStarted { tool, .. } if canonical(tool) == DELEGATION);
        let ended_before = if waits { self.ended_children(task_id) } else { BTreeSet::new() };
        self.task(task_id).observe(event, *at_ms, ended_before);
    }

    /// Takes a fact that events do not have.
    pub fn learn(&mut self, task: &TaskId, fact: &LiveFact) {
        let is_root = *task == self.root;
        self.task(task).learn(fact, is_root);
    }

    /// Takes a task as a store lists it. Events say more, so it only counts before the first of them.
    pub fn list(&mut self, task: &TaskId, listed: TreeTask) {
        self.task(task).list(listed);
    }

    /// Takes a piece of a streamed reply.
    pub fn stream(&mut self, task: &TaskId, delta: RowDelta<'_>) {
        self.task(task).stream(delta);
    }

    /// Replaces the changes that were observed by the net ones, such as those that the journal has.
    pub fn settle_changes(&mut self, files: Vec<FileChange>) {
        self.tasks.values_mut().for_each(|view| view.changed.clear());
        let root = self.root.clone();
        self.task(&root).changed = files;
    }

    /// Returns the topmost task.
    pub fn root(&self) -> &TaskId {
        &self.root
    }

    /// Returns the state of a task that was seen.
    pub fn state(&self, task: &TaskId) -> Option<RowState> {
        self.tasks.get(task).map(|view| view.state)
    }

    /// Tells whether a task below the topmost one has not ended.
    pub fn has_busy_child(&self) -> bool {
        self.tasks.iter().any(|(id, view)| *id != self.root && !view.state.is_over())
    }

    pub(super) fn tasks(&self) -> &BTreeMap<TaskId, TaskView> {
        &self.tasks
    }

    fn task(&mut self, task: &TaskId) -> &mut TaskView {
        self.tasks.entry(task.clone()).or_insert_with(TaskView::new)
    }

    /// Returns the children of a task, in the order of their numbers. Without a known parent it is the root's.
    pub(super) fn children(&self, parent: &TaskId) -> Vec<&TaskId> {
        let of = |id: &TaskId, view: &TaskView| {
            view.parent.as_ref().unwrap_or(&self.root) == parent && id != parent
        };
        let mut children: Vec<&TaskId> = self
            .tasks
            .iter()
            .filter(|(id, view)| **id != self.root && of(id, view))
            .map(|(id, _)| id)
            .collect();
        children.sort_by_key(|id| number_key(id));
        children
    }

    fn ended_children(&self, parent: &TaskId) -> BTreeSet<TaskId> {
        let is_over = |id: &&TaskId| self.tasks[*id].state.is_over();
        self.children(parent).into_iter().filter(is_over).cloned().collect()
    }

    /// Returns a task and everything below it.
    pub(super) fn subtree(&self, top: &TaskId) -> BTreeSet<TaskId> {
        let (mut found, mut open) = (BTreeSet::new(), vec![top.clone()]);
        while let Some(next) = open.pop() {
            if found.insert(next.clone()) {
                open.extend(self.children(&next).into_iter().cloned());
            }
        }
        found
    }

    /// Formats the cost of these tasks; empty if none asked a model.
    pub(super) fn cost(&self, tasks: &BTreeSet<TaskId>) -> String {
        let total = self.usage(tasks);
        if total.is_nothing() { String::new() } else { figures::cost(total.cost_micros) }
    }

    fn usage(&self, tasks: &BTreeSet<TaskId>) -> Usage {
        let mut total = Usage::default();
        let views = tasks.iter().filter_map(|task| self.tasks.get(task));
        views.for_each(|view| total.add(&view.model.usage));
        total
    }

    /// Returns what the topmost task uses, with the cost of everything below it.
    pub fn root_use(&self) -> TreeUse {
        let usage = self.usage(&self.subtree(&self.root));
        let model = self.tasks.get(&self.root).map(|view| &view.model);
        TreeUse {
            context_tokens: model.map_or(0, |model| model.context),
            window: model.and_then(|model| model.window),
            cost_micros: if usage.is_nothing() { Some(0) } else { usage.cost_micros },
            subagents: self.tasks.len().saturating_sub(1),
        }
    }

    /// Returns the files that the tasks of the tree changed, each once, in the order of their paths.
    pub(super) fn changed(&self) -> Vec<FileChange> {
        let mut files: BTreeMap<&str, FileChange> = BTreeMap::new();
        for change in self.tasks.values().flat_map(|view| &view.changed) {
            match files.get_mut(change.path.as_str()) {
                None => drop(files.insert(&change.path, change.clone())),
                Some(known) => merge(known, change),
            }
        }
        files.into_values().collect()
    }

    /// Returns the providers whose rate limit more than one task waits for: that is said once, not in every row.
    pub fn limits(&self) -> Vec<ProviderLimit> {
        let mut found: BTreeMap<&str, (u64, BTreeSet<TaskId>)> = BTreeMap::new();
        for (task, view) in &self.tasks {
            if let (RowState::Waiting, RowAction::Wait { since_ms, wait }) = (view.state, &view.action)
                && let Some(retry_ms) = wait.retry_ms.filter(|_| wait.is_rate_limit)
            {
                let (until_ms, tasks) = found.entry(&view.model.provider).or_default();
                *until_ms = (*until_ms).max(since_ms.saturating_add(retry_ms));
                tasks.insert(task.clone());
            }
        }
        let shared = found.into_iter().filter(|(_, (_, tasks))| tasks.len() > 1);
        let limit = |(provider, (until_ms, tasks)): (&str, (u64, BTreeSet<TaskId>))| ProviderLimit {
            provider: provider.to_owned(),
            until_ms,
            tasks,
        };
        shared.map(limit).collect()
    }

    /// Formats the current activity of a task, or why it waits.
    pub(super) fn action(&self, task: &TaskId, now_ms: u64) -> String {
        let Some(view) = self.tasks.get(task) else { return String::new() };
        match &view.action {
            RowAction::Idle => String::new(),
            RowAction::Text(text) => text.clone(),
            RowAction::Model => say!("task-row-model"),
            RowAction::Thinking => say!("task-row-thinking"),
            RowAction::Writing { characters } => {
                say!("task-row-writing", n = characters, count = figures::count(*characters))
            }
            RowAction::Wait { since_ms, wait } => {
                let until_ms = wait.retry_ms.map(|retry| since_ms.saturating_add(retry));
                match until_ms.map_or(u64::MAX, |until| until.saturating_sub(now_ms)) {
                    0 => say!("task-row-model"),
                    left => wait.text(left),
                }
            }
            RowAction::Approve { call } => say!("task-row-approve", call),
            RowAction::Delegating { ended_before } => {
                let children = self.children(task);
                let n = children.iter().filter(|child| !ended_before.contains(**child)).count();
                if n == 0 { say!("task-row-delegating") } else { say!("task-row-waits", n) }
            }
            RowAction::Stopped(stop) => view.ending(*stop),
        }
    }
}

/// A provider that takes no more calls for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderLimit {
    /// Name of the provider.
    pub provider: String,
    /// When the last of its tasks tries again.
    pub until_ms: u64,
    /// Tasks that wait for it.
    pub tasks: BTreeSet<TaskId>,
}

/// Adds a later change of the same file.
fn merge(known: &mut FileChange, later: &FileChange) {
    known.lines = known.lines.zip(later.lines).map(|(mut sum, more)| {
        sum.added = sum.added.saturating_add(more.added);
        sum.removed = sum.removed.saturating_add(more.removed);
        sum
    });
    if known.kind != ChangeKind::Created || later.kind == ChangeKind::Deleted {
        known.kind = later.kind;
    }
}

/// Sorts `t_100` behind `t_99`.
pub(super) fn number_key(task: &TaskId) -> (u32, String) {
    let number = task.short().strip_prefix("t_").and_then(|number| number.parse().ok());
    (number.unwrap_or(0), task.short().to_owned())
}

/// Makes foreign text one bounded line.
pub(super) fn cell(text: &str) -> String {
    visible(prefix(text, CELL_BYTES_MAX)).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats a call, such as `Bash git gc`, as one bounded line.
pub fn call_text(tool: &str, summary: &str) -> String {
    let mut name = tool.chars();
    let first = name.next().map(|c| c.to_ascii_uppercase());
    cell(&format!("{}{} {summary}", first.map(String::from).unwrap_or_default(), name.as_str()))
}

impl TaskView {
    fn new() -> Self {
        Self {
            agent: String::new(),
            title: String::new(),
            parent: None,
            state: RowState::Queued,
            turn: 0,
            turns_max: 0,
            model: ModelUse::default(),
            began_ms: None,
            ended_ms: None,
            action: RowAction::Idle,
            calls: Vec::new(),
            reply: StreamedReply::default(),
            answer: String::new(),
            changed: Vec::new(),
            has_events: false,
        }
    }

    /// Returns the milliseconds since its start, or those that it took.
    pub(super) fn elapsed_ms(&self, now_ms: u64) -> Option<u64> {
        self.began_ms.map(|began| self.ended_ms.unwrap_or(now_ms).saturating_sub(began))
    }

    /// Returns why the task ended, and the first line of its answer.
    pub(super) fn stop(&self) -> Option<(StopReason, &str)> {
        match self.action {
            RowAction::Stopped(stop) => Some((stop, &self.answer)),
            _ => None,
        }
    }

    /// Formats how the task ended.
    fn ending(&self, stop: StopReason) -> String {
        let reason = stop_text(stop);
        match (self.state, self.answer.is_empty()) {
            (RowState::Completed, _) => self.answer.clone(),
            // The answer is the provider's error.
            (_, false) if stop == StopReason::ModelFailed => self.answer.clone(),
            (_, true) => reason,
            (_, false) => format!("{reason}: {}", self.answer),
        }
    }

    /// Forgets what a listing said: events tell the same from the start.
    fn forget_listing(&mut self) {
        if !std::mem::replace(&mut self.has_events, true) {
            (self.began_ms, self.ended_ms, self.turn) = (None, None, 0);
            self.model.usage = Usage::default();
        }
    }

    fn set(&mut self, state: RowState, action: RowAction) {
        (self.state, self.action) = (state, action);
    }

    fn observe(&mut self, event: &Event, at_ms: u64, ended_before: BTreeSet<TaskId>) {
        self.forget_listing();
        match event {
            Event::Queued { agent, after } => {
                self.agent = cell(agent);
                let place = QueuePlace { after: after.clone(), ..QueuePlace::default() };
                self.set(RowState::Queued, RowAction::Text(queue_text(&place)));
            }
            Event::Started { agent, model, context_window, .. } => {
                self.agent = cell(agent);
                self.model.rename(model);
                self.model.window = *context_window;
                self.begin(at_ms);
                self.set(RowState::Working, RowAction::Model);
            }
            Event::Resumed { agent, model, context_window, turns, turns_max, usage, .. } => {
                self.agent = cell(agent);
                self.model.rename(model);
                self.model.window = *context_window;
                (self.turn, self.turns_max, self.model.usage) = (*turns, *turns_max, *usage);
                self.begin(at_ms);
                self.set(RowState::Working, RowAction::Text(say!("task-row-resumed")));
            }
            Event::TurnStarted { turn, turns_max } => {
                (self.turn, self.turns_max) = (*turn, *turns_max);
                self.reply = StreamedReply::default();
                self.calls.clear();
                self.set(RowState::Working, RowAction::Model);
            }
            Event::Replied { model, usage, .. } => {
                self.model.rename(model);
                self.model.context = usage.total();
                self.model.usage.add(usage);
                self.set(RowState::Working, RowAction::Idle);
            }
            Event::ModelRetry { .. } | Event::Waiting { .. } => self.wait(event, at_ms),
            Event::ModelFailed { message, .. } => self.answer = cell(message),
            Event::ToolStarted { .. }
            | Event::ToolRefused { .. }
            | Event::ToolFinished { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalResolved { .. } => self.observe_call(event, ended_before),
            Event::WrappingUp { .. } => {
                self.set(RowState::Working, RowAction::Text(say!("task-row-reporting")))
            }
            Event::Verifying { command } | Event::Verified { command, passed: false, .. } => {
                self.set(
                    RowState::Working,
                    RowAction::Text(say!("task-row-verifying", command = cell(command))),
                );
            }
            Event::Finished { status, stop, turns, usage, .. } => {
                self.end(*status, *stop, at_ms);
                (self.turn, self.model.usage) = (*turns, *usage);
            }
            // Notes and elisions are lines of their own, not states.
            Event::Noted { .. } | Event::Elided { .. } | Event::Verified { .. } => {}
        }
    }

    fn observe_call(&mut self, event: &Event, ended_before: BTreeSet<TaskId>) {
        match event {
            Event::ToolStarted { key, tool, summary } => {
                let text = call_text(tool, summary);
                self.calls.push((*key, text.clone()));
                match canonical(tool) == DELEGATION {
                    true => self.set(RowState::Working, RowAction::Delegating { ended_before }),
                    false => self.set(RowState::Working, RowAction::Text(text)),
                }
            }
            Event::ToolRefused { tool, why, .. } => {
                let text = say!("task-row-refused", tool = call_text(tool, ""), why = cell(why));
                self.set(RowState::Working, RowAction::Text(text));
            }
            Event::ToolFinished { key, tool, why, changed, .. } => {
                self.calls.retain(|(open, _)| open != key);
                self.changed.extend(changed.iter().cloned());
                let failure = why
                    .as_ref()
                    .map(|why| say!("task-row-failed", tool = call_text(tool, ""), why = cell(why)));
                let open = self.calls.last().map(|(_, text)| text.clone());
                let is_delegation = matches!(self.action, RowAction::Delegating { .. });
                match failure.or_else(|| open.filter(|_| !is_delegation)) {
                    Some(text) => self.set(RowState::Working, RowAction::Text(text)),
                    // The finished call stays visible until the next step.
                    None => self.state = RowState::Working,
                }
            }
            Event::ApprovalRequested { tool, summary, .. } => {
                self.set(RowState::NeedsInput, RowAction::Approve { call: call_text(tool, summary) });
            }
            Event::ApprovalResolved { tool, .. } => {
                let call = match std::mem::replace(&mut self.action, RowAction::Idle) {
                    RowAction::Approve { call } => call,
                    _ => call_text(tool, ""),
                };
                self.set(RowState::Working, RowAction::Text(call));
            }
            _ => {}
        }
    }

    fn wait(&mut self, event: &Event, at_ms: u64) {
        if let Event::ModelRetry { .. } = event {
            self.reply = StreamedReply::default();
        }
        if let Some(wait) = AnnouncedWait::of(event) {
            self.set(RowState::Waiting, RowAction::Wait { since_ms: at_ms, wait });
        }
    }

    fn begin(&mut self, at_ms: u64) {
        self.began_ms.get_or_insert(at_ms);
        self.ended_ms = None;
        self.answer.clear();
    }

    fn end(&mut self, status: OutcomeStatus, stop: StopReason, at_ms: u64) {
        self.ended_ms = Some(at_ms);
        self.calls.clear();
        if self.answer.is_empty() {
            let line = self.reply.text.lines().map(str::trim).find(|line| !line.is_empty());
            self.answer = line.map(cell).unwrap_or_default();
        }
        self.set(row_state(status), RowAction::Stopped(stop));
    }

    fn learn(&mut self, fact: &LiveFact, is_root: bool) {
        match fact {
            LiveFact::Task { agent, parent, title } => {
                (self.agent, self.title) = (cell(agent), cell(title));
                self.parent = parent.clone().filter(|_| !is_root);
            }
            // A place in the queue that arrives late is over.
            LiveFact::Queued(place) if self.began_ms.is_none() && !self.state.is_over() => {
                self.set(RowState::Queued, RowAction::Text(queue_text(place)));
            }
            LiveFact::Question { question, .. } if !self.state.is_over() => {
                self.set(RowState::NeedsInput, RowAction::Text(question_text(question)));
            }
            LiveFact::QuestionClosed { .. } if self.state == RowState::NeedsInput => {
                let open = self.calls.last().map(|(_, text)| text.clone());
                self.set(RowState::Working, open.map_or(RowAction::Idle, RowAction::Text));
            }
            LiveFact::Interrupted if !self.state.is_over() => {
                self.set(RowState::Interrupted, RowAction::Text(say!("task-row-interrupted")));
            }
            LiveFact::Answer { line } => self.answer = cell(line),
            LiveFact::Queued(_)
            | LiveFact::Question { .. }
            | LiveFact::QuestionClosed { .. }
            | LiveFact::Interrupted => {}
            // Events, deltas and cards show these.
            LiveFact::Text { .. }
            | LiveFact::Thinking { .. }
            | LiveFact::Approval { .. }
            | LiveFact::Steer { .. }
            | LiveFact::Cost { .. } => {}
        }
    }

    fn list(&mut self, listed: TreeTask) {
        if self.has_events {
            return;
        }
        let TreeTask { agent, ended, created_ms, updated_ms, turns, usage } = listed;
        (self.agent, self.turn, self.model.usage) = (cell(&agent), turns, usage);
        self.began_ms = Some(created_ms);
        self.ended_ms = ended.map(|_| updated_ms);
        // Why it ended is in its events.
        self.set(ended.map_or(RowState::Working, row_state), RowAction::Idle);
    }

    fn stream(&mut self, delta: RowDelta<'_>) {
        let action = match delta {
            RowDelta::Text(text) => {
                let reply = &mut self.reply;
                reply.text.push_str(prefix(text, CELL_BYTES_MAX.saturating_sub(reply.text.len())));
                reply.characters = reply.characters.saturating_add(text.chars().count() as u64);
                RowAction::Writing { characters: reply.characters }
            }
            RowDelta::Thinking => RowAction::Thinking,
            RowDelta::ToolCall { index, name } => {
                let is_delegation = canonical(name) == DELEGATION;
                self.reply.asking = is_delegation.then(|| (index, cell(name), String::new()));
                RowAction::Text(say!("task-row-asking", tool = cell(name)))
            }
            RowDelta::ToolArguments { index, fragment } => match self.reply.delegating(index, fragment) {
                Some(text) => RowAction::Text(text),
                None => return,
            },
        };
        self.set(RowState::Working, action);
    }
}

impl StreamedReply {
    /// Describes the delegation that the model is writing, as far as it is streamed.
    fn delegating(&mut self, index: usize, fragment: &str) -> Option<String> {
        let (_, tool, arguments) = self.asking.as_mut().filter(|(at, ..)| *at == index)?;
        arguments.push_str(prefix(fragment, ARGUMENTS_BYTES_MAX.saturating_sub(arguments.len())));
        let StreamedText { description, prompt, .. } = StreamedText::of(arguments);
        let about = cell(&description.or(prompt)?);
        Some(format!("{}: {about}", say!("task-row-asking", tool = tool.as_str())))
    }
}

fn row_state(status: OutcomeStatus) -> RowState {
    match status {
        OutcomeStatus::Completed => RowState::Completed,
        OutcomeStatus::Partial => RowState::Partial,
        OutcomeStatus::Failed => RowState::Failed,
        OutcomeStatus::Cancelled => RowState::Cancelled,
    }
}

/// Formats why a task stopped.
pub fn stop_text(stop: StopReason) -> String {
    match stop {
        StopReason::TurnsExhausted => say!("task-row-turn-limit"),
        StopReason::ToolCallsExhausted => say!("task-row-call-limit"),
        StopReason::BudgetExhausted => say!("task-row-budget-limit"),
        StopReason::ContextExhausted => say!("task-row-context-limit"),
        StopReason::Truncated => say!("task-row-output-limit"),
        StopReason::DeadlinePassed => say!("task-row-time-limit"),
        StopReason::Stalled => say!("task-row-stalled"),
        StopReason::Cancelled => say!("task-row-cancelled"),
        StopReason::ModelFailed => say!("task-row-model-failed"),
        StopReason::Answered | StopReason::Refused => say!("task-row-no-answer"),
        StopReason::DependencyFailed => say!("task-row-dependency-failed"),
        StopReason::OutputInvalid => say!("task-row-output-invalid"),
        StopReason::VerifyFailed => say!("task-row-verify-failed"),
    }
}
