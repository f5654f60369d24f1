//! Facts of the running conversation: streamed text, finished lines, the tree of tasks.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::event::{Event, EventEntry};
use posse_core::fact::LiveFact;
use posse_core::id::TaskId;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{Delta, ObservedPayload, Observer};
use posse_terminal::markdown::{CodeColors, MarkdownStream, MarkdownStyle};
use posse_terminal::rows::{RowDelta, TreeModel};
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet, TextStyle};
use tokio::sync::Notify;

use super::calls::CallTrace;

/// Time that the colors of one block of code may take.
const CODE_BUDGET: Duration = Duration::from_millis(20);
/// Shorter thinking is not worth a line.
const THOUGHT_MS_MIN: u64 = 1_000;
/// Thinking kept for Ctrl-T, in bytes.
const THINKING_BYTES_MAX: usize = 64 * 1_024;

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
    markdown: MarkdownStream,
    /// Text of the reply under way, and of the last whole one.
    said: String,
    last: String,
    calls: CallTrace,
    thought: ThoughtFold,
    /// Approvals that were asked for.
    asked: Vec<String>,
    /// Approvals that were decided.
    closed: BTreeSet<String>,
}

/// Thinking, folded to a line unless Ctrl-T shows it.
#[derive(Default)]
struct ThoughtFold {
    began_ms: Option<u64>,
    text: String,
    is_shown: bool,
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
        self.lock().tree.learn(task, fact);
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
            markdown: markdown(looks, columns),
            said: String::new(),
            last: String::new(),
            calls: CallTrace::default(),
            thought: ThoughtFold::default(),
            asked: Vec::new(),
            closed: BTreeSet::new(),
        }
    }

    pub(super) fn switch(&mut self, root: TaskId) {
        self.tree = TreeModel::new(root);
    }

    /// Uses another width from the next reply on.
    pub(super) fn resize(&mut self, columns: usize) {
        if self.said.is_empty() {
            self.markdown = markdown(self.looks, columns);
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
        if task_id != self.tree.root() {
            return;
        }
        if matches!(event, Event::ModelRetry { .. }) && !self.said.is_empty() {
            self.markdown.finish();
            self.said.clear();
            self.remark(&say!("chat-text-void"));
        }
        if matches!(event, Event::Replied { .. } | Event::Finished { .. }) {
            self.flush();
        }
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
                    self.push(text);
                }
                RowDelta::Text(text)
            }
            Delta::Thinking(text) => {
                if is_root {
                    self.think(text);
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

    fn push(&mut self, text: &str) {
        self.fold_thought();
        self.said.push_str(text);
        let finished = self.markdown.push(text);
        self.lines.extend(finished);
    }

    fn think(&mut self, text: &str) {
        if self.thought.began_ms.is_none() {
            self.thought.began_ms = Some(now_ms());
            self.thought.text.clear();
        }
        if self.thought.text.len() < THINKING_BYTES_MAX {
            self.thought.text.push_str(text);
        }
    }

    fn fold_thought(&mut self) {
        let Some(began_ms) = self.thought.began_ms.take() else { return };
        let seconds = now_ms().saturating_sub(began_ms);
        if self.thought.is_shown {
            self.print_thought();
        } else if seconds >= THOUGHT_MS_MIN {
            self.remark(&say!("chat-thought", seconds = seconds / 1_000));
        }
    }

    fn print_thought(&mut self) {
        let text = posse_core::text::visible(&self.thought.text).into_owned();
        for line in text.lines() {
            let mut row = StyledLine::plain("  ");
            row.push(line, TextStyle::DIM);
            self.lines.push(row);
        }
    }

    /// Shows or folds thinking from now on, and shows what was thought last.
    pub(super) fn toggle_thinking(&mut self) {
        self.thought.is_shown = !self.thought.is_shown;
        if self.thought.is_shown {
            self.print_thought();
        }
    }

    /// Returns the lines that later text may still change.
    pub(super) fn pending(&self, rows_max: usize) -> Vec<StyledLine> {
        let mut pending = self.markdown.pending();
        pending.split_off(pending.len().saturating_sub(rows_max.max(1)))
    }

    /// Ends the text under way.
    fn flush(&mut self) {
        self.fold_thought();
        let finished = self.markdown.finish();
        self.lines.extend(finished);
        if !self.said.trim().is_empty() {
            self.last = std::mem::take(&mut self.said);
        }
        self.said.clear();
    }

    /// Ends a message; prints an answer that was not streamed.
    pub(super) fn end(&mut self, text: &str) {
        self.flush();
        let line = self.calls.take_line(self.looks.symbols);
        self.lines.extend(line);
        if self.last.trim() != text.trim() {
            self.print_answer(text);
        }
        self.last.clear();
    }

    /// Prints text as Markdown.
    pub(super) fn print_answer(&mut self, text: &str) {
        let mut lines = self.markdown.push(text);
        lines.extend(self.markdown.finish());
        self.lines.extend(lines);
    }

    fn remark(&mut self, text: &str) {
        let mut line = StyledLine::new();
        line.push(&self.looks.symbols.adapt(&format!("· {text}")), TextStyle::DIM);
        self.lines.push(line);
    }

    pub(super) fn take_asked(&mut self) -> Vec<String> {
        std::mem::take(&mut self.asked)
    }

    pub(super) fn take_closed(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.closed)
    }
}

fn markdown(looks: ChatLooks, width: usize) -> MarkdownStream {
    let code = match looks.palette {
        StylePalette::Ansi => CodeColors::start(CODE_BUDGET),
        StylePalette::Plain => CodeColors::off(),
    };
    MarkdownStream::new(MarkdownStyle { width, palette: looks.palette, symbols: looks.symbols, code })
}
