//! Facts of the running conversation: streamed text, finished lines, the tree of tasks.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_core::event::{Event, EventEntry};
use posse_core::fact::LiveFact;
use posse_core::id::TaskId;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{Delta, ObservedPayload, Observer, ParentQuestion};
use posse_terminal::rows::{RowDelta, TreeModel};
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet};
use tokio::sync::Notify;

use super::calls::CallTrace;
use crate::answer::AnswerStream;

/// Looks of the screen.
#[derive(Debug, Clone, Copy)]
pub struct ChatLooks {
    /// Colors and attributes, or none.
    pub palette: StylePalette,
    /// Characters for marks.
    pub symbols: SymbolSet,
}

/// Observer of the conversation's sessions.
pub(super) struct ChatObserver {
    state: Mutex<WatchedChat>,
    pub(super) changed: Notify,
}

/// Everything that was observed.
pub(super) struct WatchedChat {
    pub(super) tree: TreeModel,
    pub(super) looks: ChatLooks,
    /// Finished lines that were not printed yet.
    pub(super) lines: Vec<StyledLine>,
    pub(super) answer: AnswerStream,
    calls: CallTrace,
    /// Approvals that were asked for.
    asked: Vec<String>,
    /// Approvals that were decided.
    closed: BTreeSet<String>,
    /// Questions of tasks, in the order in which they were asked and closed.
    questions: Vec<QuestionChange>,
}

/// A question that was asked, or is no longer open.
pub(super) enum QuestionChange {
    Asked(TaskId, ParentQuestion),
    Closed(TaskId),
}

impl ChatObserver {
    pub(super) fn new(root: TaskId, looks: ChatLooks, columns: usize) -> Self {
        Self { state: Mutex::new(WatchedChat::new(root, looks, columns)), changed: Notify::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, WatchedChat> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_lines(&self) -> Vec<StyledLine> {
        std::mem::take(&mut self.lock().lines)
    }
}

impl Observer for ChatObserver {
    fn event(&self, entry: &EventEntry) {
        self.lock().observe(entry);
        self.changed.notify_one();
    }

    fn fact(&self, task: &TaskId, fact: &LiveFact) {
        self.lock().learn(task, fact);
        self.changed.notify_one();
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        self.lock().stream(task, delta);
        self.changed.notify_one();
    }

    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        self.lock().payload(task, payload);
    }
}

impl WatchedChat {
    fn new(root: TaskId, looks: ChatLooks, columns: usize) -> Self {
        Self {
            tree: TreeModel::new(root),
            looks,
            lines: Vec::new(),
            answer: AnswerStream::new(columns, looks.palette, looks.symbols),
            calls: CallTrace::default(),
            asked: Vec::new(),
            closed: BTreeSet::new(),
            questions: Vec::new(),
        }
    }

    pub(super) fn switch(&mut self, root: TaskId) {
        self.tree = TreeModel::new(root);
    }

    /// Uses another width from the next block on.
    pub(super) fn resize(&mut self, columns: usize) {
        self.answer.set_width(columns);
    }

    fn learn(&mut self, task: &TaskId, fact: &LiveFact) {
        self.tree.learn(task, fact);
        match fact {
            LiveFact::Question { id, question, options } => {
                let asked = ParentQuestion { id: *id, text: question.clone(), options: options.clone() };
                self.questions.push(QuestionChange::Asked(task.clone(), asked));
            }
            LiveFact::QuestionClosed { .. } => self.questions.push(QuestionChange::Closed(task.clone())),
            _ => {}
        }
    }

    fn observe(&mut self, entry: &EventEntry) {
        let EventEntry { task_id, event, .. } = entry;
        self.tree.observe(entry);
        match event {
            Event::ApprovalRequested { approval, .. } => self.asked.push(approval.clone()),
            Event::ApprovalResolved { approval: Some(approval), .. } => {
                self.closed.insert(approval.clone());
            }
            _ => {}
        }
        if matches!(event, Event::Finished { .. }) {
            self.questions.push(QuestionChange::Closed(task_id.clone()));
        }
        if task_id != self.tree.root() {
            return;
        }
        let lines = match event {
            Event::ModelRetry { .. } => self.answer.void(),
            Event::Replied { .. } | Event::Finished { .. } => self.answer.end_reply("", entry.at_ms),
            _ => Vec::new(),
        };
        self.lines.extend(lines);
        if self.calls.observe(event) {
            let line = self.calls.take_line(self.looks.symbols);
            self.lines.extend(line);
        }
    }

    fn stream(&mut self, task: &TaskId, delta: Delta<'_>) {
        let is_root = task == self.tree.root();
        let row = match delta {
            Delta::Text(text) => {
                if is_root {
                    let lines = self.answer.push(text, now_ms());
                    self.lines.extend(lines);
                }
                RowDelta::Text(text)
            }
            Delta::Thinking(text) => {
                if is_root {
                    let lines = self.answer.think(text, now_ms());
                    self.lines.extend(lines);
                }
                RowDelta::Thinking
            }
            Delta::ToolCall { index, name } => RowDelta::ToolCall { index, name },
            Delta::ToolArguments { index, fragment } => RowDelta::ToolArguments { index, fragment },
            // The event says the same.
            Delta::Restarted { .. } | Delta::Paused { .. } => return,
        };
        self.tree.stream(task, row);
    }

    fn payload(&mut self, task: &TaskId, payload: ObservedPayload<'_>) {
        if let ObservedPayload::Result { call, result } = payload
            && task == self.tree.root()
            && !result.is_error
        {
            self.calls.count(call.key, result.text.lines().count());
        }
    }

    /// Shows or folds thinking from now on, and shows what was thought last.
    pub(super) fn toggle_thinking(&mut self) {
        let lines = self.answer.toggle_thinking();
        self.lines.extend(lines);
    }

    /// Returns the lines that later text may still change.
    pub(super) fn pending(&self, rows_max: usize) -> Vec<StyledLine> {
        let mut pending = self.answer.pending();
        pending.split_off(pending.len().saturating_sub(rows_max.max(1)))
    }

    /// Begins a message: its first text stands right below it.
    pub(super) fn begin(&mut self) {
        self.answer.begin();
    }

    /// Ends a message; prints an answer that was not streamed.
    pub(super) fn end(&mut self, text: &str) {
        let lines = self.answer.flush();
        self.lines.extend(lines);
        let line = self.calls.take_line(self.looks.symbols);
        self.lines.extend(line);
        if self.answer.text().trim() != text.trim() {
            self.print_answer(text);
        }
    }

    /// Prints text as Markdown.
    pub(super) fn print_answer(&mut self, text: &str) {
        let lines = self.answer.end_reply(text, now_ms());
        self.lines.extend(lines);
    }

    pub(super) fn take_questions(&mut self) -> Vec<QuestionChange> {
        std::mem::take(&mut self.questions)
    }

    pub(super) fn take_asked(&mut self) -> Vec<String> {
        std::mem::take(&mut self.asked)
    }

    pub(super) fn take_closed(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.closed)
    }
}
