//! State of the run screen: facts come in, rows, finished lines and requests go out. No I/O happens here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use posse_core::approval::ParkedCall;
use posse_core::event::{Event, EventEntry};
use posse_core::fact::LiveFact;
use posse_core::id::{CallKey, TaskId};
use posse_core::message::Block;
use posse_core::reply::FailureKind;
use posse_core::tool::{SESSION_TOOLS, canonical};
use posse_messages::say;
use posse_runtime::ports::{Delta, ObservedPayload, ParentQuestion};
use posse_terminal::dialog::{ApprovalDialog, DialogAnswer, QuestionDialog};
use posse_terminal::input::LineInput;
use posse_terminal::painter::TerminalSize;
use posse_terminal::rows::{RowDelta, TreeLayout, TreeModel};
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet};

use crate::answer::AnswerStream;

/// Replies are waited for so long when the person leaves; calls are always waited for.
const LEAVE_REPLY_MS: u64 = 10_000;

/// Notes that are remembered, so that the end does not repeat them.
const TOLD_MAX: usize = 200;

/// Looks and contents of the screen.
#[derive(Debug, Clone, Copy)]
pub struct RunLooks {
    /// Colors and attributes, or none.
    pub palette: StylePalette,
    /// Characters for marks.
    pub symbols: SymbolSet,
    /// The text of the topmost task is for people; a report in another form is not streamed.
    pub streams: bool,
    /// The task can be left to a worker in the background.
    pub can_leave: bool,
    /// A task can be opened in `top`.
    pub can_open: bool,
    /// Formats a time as that of a clock on the wall, such as `14:02:31`.
    pub clock: fn(u64) -> String,
    /// Formats an event that leaves a line, such as a failed call or changed files.
    pub notes: fn(&Event) -> Vec<String>,
}

/// Something that the screen cannot do by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunRequest {
    Answer {
        approval: String,
        hash: String,
        answer: DialogAnswer,
    },
    Reply {
        task: TaskId,
        text: String,
    },
    Steer {
        task: TaskId,
        text: String,
    },
    Cancel {
        task: TaskId,
    },
    /// Shows the task in `top`.
    Open {
        task: TaskId,
    },
    Repaint,
    Ring(String),
    End(RunEnd),
}

/// End of watching that the person asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Ctrl-C: stop now, to be resumed.
    Interrupted,
    /// The task goes on in the background.
    Left,
}

/// Line that is typed, or question that is asked, instead of watching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScreenMode {
    Watching,
    Steering { task: TaskId, input: LineInput },
    Answering { task: TaskId, input: LineInput },
    Cancelling { task: TaskId },
}

/// A call that waits for the person at this terminal.
pub(super) struct OpenApproval {
    pub(super) parked: ParkedCall,
    pub(super) dialog: ApprovalDialog,
    /// The person decides later.
    pub(super) is_later: bool,
}

/// A message to a task whose delivery is not known yet.
#[derive(Debug, Clone)]
pub(super) struct SentMessage {
    pub(super) task: TaskId,
    pub(super) key: String,
    pub(super) text: String,
    pub(super) sent_ms: u64,
}

/// Everything that the screen shows.
pub(super) struct RunState {
    pub(super) tree: TreeModel,
    pub(super) looks: RunLooks,
    pub(super) size: TerminalSize,
    pub(super) answer: AnswerStream,
    pub(super) selected: Option<TaskId>,
    pub(super) mode: ScreenMode,
    pub(super) has_help: bool,
    pub(super) approvals: VecDeque<OpenApproval>,
    pub(super) questions: BTreeMap<TaskId, QuestionDialog>,
    pub(super) sent: Vec<SentMessage>,
    /// Finished lines that were not committed yet.
    pub(super) lines: Vec<StyledLine>,
    pub(super) requests: Vec<RunRequest>,
    /// Approvals to ask about.
    pub(super) wanted: Vec<String>,
    /// Time at which the person asked to leave.
    pub(super) leaving_ms: Option<u64>,
    /// Calls that were denied here and whose refusal was not announced yet.
    pub(super) denied: BTreeSet<(TaskId, String)>,
    /// Notes of the topmost task that were printed.
    pub(super) told: BTreeSet<String>,
    under_way: UnderWay,
}

/// Work that a handover would cut off.
#[derive(Default)]
struct UnderWay {
    calls: BTreeSet<(TaskId, CallKey)>,
    replies: BTreeSet<TaskId>,
}

impl RunState {
    pub(super) fn new(root: TaskId, looks: RunLooks, size: TerminalSize) -> Self {
        Self {
            tree: TreeModel::new(root),
            looks,
            size,
            answer: AnswerStream::new(size.columns, looks.palette, looks.symbols),
            selected: None,
            mode: ScreenMode::Watching,
            has_help: false,
            approvals: VecDeque::new(),
            questions: BTreeMap::new(),
            sent: Vec::new(),
            lines: Vec::new(),
            requests: Vec::new(),
            wanted: Vec::new(),
            leaving_ms: None,
            denied: BTreeSet::new(),
            told: BTreeSet::new(),
            under_way: UnderWay::default(),
        }
    }

    pub(super) fn resize(&mut self, size: TerminalSize) {
        self.size = size;
        self.answer.set_width(size.columns);
    }

    pub(super) fn observe(&mut self, entry: &EventEntry) {
        let EventEntry { task_id, event, at_ms, .. } = entry;
        self.tree.observe(entry);
        self.under_way.observe(task_id, event);
        let is_root = task_id == self.tree.root();
        match event {
            Event::ModelRetry { .. } if is_root => {
                let lines = self.answer.void();
                self.lines.extend(lines);
            }
            Event::ApprovalRequested { approval, .. } => self.wanted.push(approval.clone()),
            Event::ApprovalResolved { approval: Some(approval), approved, by, .. } => {
                self.close_approval(approval, *approved, by);
            }
            Event::Finished { .. } => self.close_question(task_id),
            Event::Noted { note } if is_root && self.told.len() < TOLD_MAX => {
                self.told.insert(note.clone());
            }
            _ => {}
        }
        if is_root && matches!(event, Event::Replied { .. } | Event::Finished { .. }) {
            let lines = self.answer.end_reply("", *at_ms);
            self.print_text(lines);
        }
        if self.is_said(task_id, event) {
            return;
        }
        for note in (self.looks.notes)(event) {
            self.note(task_id, &note);
        }
    }

    /// Tells whether a line or a row says the same: the receipt of a denial, the row of a cancelled task.
    fn is_said(&mut self, task: &TaskId, event: &Event) -> bool {
        match event {
            Event::ModelFailed { kind: FailureKind::Cancelled, .. } => true,
            Event::ToolRefused { tool, .. } => self.denied.remove(&(task.clone(), tool.clone())),
            _ => false,
        }
    }

    pub(super) fn learn(&mut self, task: &TaskId, fact: &LiveFact, now_ms: u64) {
        self.tree.learn(task, fact);
        match fact {
            LiveFact::Question { id, question, options } => {
                let (id, text, options) = (*id, question.clone(), options.clone());
                self.open_question(task, ParentQuestion { id, text, options }, now_ms);
            }
            LiveFact::QuestionClosed { .. } => self.close_question(task),
            _ => {}
        }
    }

    pub(super) fn stream(&mut self, task: &TaskId, delta: Delta<'_>, now_ms: u64) {
        let is_root = task == self.tree.root();
        let row = match delta {
            Delta::Text(text) => {
                if is_root {
                    let lines = self.answer.push(text, now_ms);
                    self.print_text(lines);
                }
                RowDelta::Text(text)
            }
            Delta::Thinking(text) => {
                if is_root {
                    let lines = self.answer.think(text, now_ms);
                    self.print_text(lines);
                }
                RowDelta::Thinking
            }
            Delta::ToolCall { index, name } => RowDelta::ToolCall { index, name },
            Delta::ToolArguments { index, fragment } => RowDelta::ToolArguments { index, fragment },
            // Events say the same.
            Delta::Restarted { .. } | Delta::Paused { .. } => return,
        };
        self.under_way.replies.insert(task.clone());
        self.tree.stream(task, row);
    }

    pub(super) fn payload(&mut self, task: &TaskId, payload: ObservedPayload<'_>, now_ms: u64) {
        match payload {
            ObservedPayload::Reply { reply, .. } if task == self.tree.root() => {
                let text = reply.blocks.iter().filter_map(|block| match block {
                    Block::Text { text, .. } => Some(text.as_str()),
                    Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
                });
                let text: String = text.collect();
                let lines = self.answer.end_reply(&text, now_ms);
                self.print_text(lines);
            }
            _ => {}
        }
    }

    /// Prints lines of the answer, if this screen streams it.
    fn print_text(&mut self, lines: Vec<StyledLine>) {
        if self.looks.streams {
            self.lines.extend(lines);
        }
    }

    /// Prints an answer that was not streamed.
    pub(super) fn print_answer(&mut self, text: &str, now_ms: u64) {
        if self.looks.streams && self.answer.text().trim() != text.trim() {
            let lines = self.answer.end_reply(text, now_ms);
            self.lines.extend(lines);
        }
    }

    /// Prints the part of a reply that was cut off.
    pub(super) fn print_rest(&mut self) {
        let lines = self.answer.flush();
        self.print_text(lines);
    }

    /// Prints a line about a task.
    pub(super) fn note(&mut self, task: &TaskId, text: &str) {
        let text = match task == self.tree.root() {
            true => text.to_owned(),
            false => format!("{} {text}", task.short()),
        };
        let text = self.looks.symbols.adapt(&text).into_owned();
        let width = self.size.columns.saturating_sub(1);
        self.lines.extend(text.lines().flat_map(|line| StyledLine::plain(line).wrap_words(width, "  ")));
    }

    /// Opens the dialog about a call.
    pub(super) fn open_approval(&mut self, parked: ParkedCall, now_ms: u64) {
        let request = &parked.request;
        let (task, agent, tool) = (request.task.short(), &request.agent, &request.tool);
        self.requests.push(RunRequest::Ring(say!("notice-approval", task, agent, tool)));
        let dialog = ApprovalDialog::new(&parked, now_ms);
        self.approvals.push_back(OpenApproval { parked, dialog, is_later: false });
    }

    /// Takes back a question that was answered, here or elsewhere.
    fn close_approval(&mut self, approval: &str, approved: bool, by: &str) {
        self.wanted.retain(|wanted| wanted != approval);
        let Some(at) = self.approvals.iter().position(|open| open.parked.id == approval) else { return };
        if let Some(open) = self.approvals.remove(at) {
            let verdict =
                if approved { say!("approved-elsewhere", by) } else { say!("denied-elsewhere", by) };
            let task = open.parked.request.task.clone();
            self.note(&task, &format!("{}: {verdict}", open.parked.request.tool));
        }
    }

    fn open_question(&mut self, task: &TaskId, question: ParentQuestion, now_ms: u64) {
        self.requests.push(RunRequest::Ring(say!("notice-question", task = task.short())));
        let dialog = QuestionDialog::new(task.short(), &question.text, &question.options, now_ms);
        self.questions.insert(task.clone(), dialog);
    }

    pub(super) fn close_question(&mut self, task: &TaskId) {
        self.questions.remove(task);
        if matches!(&self.mode, ScreenMode::Answering { task: asked, .. } if asked == task) {
            self.mode = ScreenMode::Watching;
        }
    }

    /// Takes the calls for attention, which count while another screen is shown too.
    pub(super) fn take_notices(&mut self) -> Vec<String> {
        let mut notices = Vec::new();
        self.requests.retain(|request| match request {
            RunRequest::Ring(text) => {
                notices.push(text.clone());
                false
            }
            _ => true,
        });
        notices
    }

    /// Goes on after another screen: a key that was meant for that one answers nothing here.
    pub(super) fn come_back(&mut self, now_ms: u64) {
        self.approvals.iter_mut().for_each(|open| open.dialog.reopen(now_ms));
        self.questions.values_mut().for_each(|open| open.reopen(now_ms));
    }

    /// Returns the dialog that has the keys.
    pub(super) fn front_approval(&self) -> Option<usize> {
        self.approvals.iter().position(|open| !open.is_later)
    }

    /// Tells whether the person wants to leave and nothing would be cut off.
    pub(super) fn can_leave_now(&self, now_ms: u64) -> bool {
        self.leaving_ms.is_some_and(|since| {
            let waits_for_replies = now_ms.saturating_sub(since) < LEAVE_REPLY_MS;
            self.under_way.calls.is_empty() && (!waits_for_replies || self.under_way.replies.is_empty())
        })
    }

    /// Marks every task that has not ended as interrupted.
    pub(super) fn interrupt(&mut self, tasks: &[TaskId]) {
        tasks.iter().for_each(|task| self.tree.learn(task, &LiveFact::Interrupted));
    }

    pub(super) fn tree_layout(&self, rows_max: usize) -> TreeLayout {
        TreeLayout {
            columns: self.size.columns,
            rows_max,
            symbols: self.looks.symbols,
            selected: self.selected.clone(),
        }
    }
}

impl UnderWay {
    fn observe(&mut self, task: &TaskId, event: &Event) {
        match event {
            // A task that waits for others, or for an answer, finds them again.
            Event::ToolStarted { tool, .. } if SESSION_TOOLS.contains(&&*canonical(tool)) => {}
            Event::ToolStarted { key, .. } => drop(self.calls.insert((task.clone(), *key))),
            Event::ToolFinished { key, .. } => drop(self.calls.remove(&(task.clone(), *key))),
            Event::Replied { .. } | Event::ModelRetry { .. } | Event::ModelFailed { .. } => {
                self.replies.remove(task);
            }
            Event::Finished { .. } => {
                self.calls.retain(|(open, _)| open != task);
                self.replies.remove(task);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_waited_for(tool: &str) -> bool {
        let mut under_way = UnderWay::default();
        let (key, tool, summary) = (CallKey { turn: 1, index: 0 }, tool.to_owned(), String::new());
        under_way.observe(&TaskId::root("s1"), &Event::ToolStarted { key, tool, summary });
        !under_way.calls.is_empty()
    }

    #[test]
    fn a_call_that_only_waits_does_not_hold_the_person() {
        for tool in ["subagent", "run_subagent", "Agent", "shared_context", "ask_parent"] {
            assert!(!is_waited_for(tool), "{tool}");
        }
        assert!(is_waited_for("bash"));
    }
}
