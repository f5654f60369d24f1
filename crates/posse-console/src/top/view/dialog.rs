//! Prompts above the list: search, steering, cancelling, approvals and questions.

use crossterm::event::{KeyCode, KeyEvent};
use posse_core::approval::{ApprovalScope, ApprovalVerdict, ParkedCall};
use posse_core::id::TaskId;
use posse_messages::say;
use posse_runtime::ports::ParentQuestion;
use posse_terminal::input::LineInput;
use posse_terminal::rows::{ApprovalCard, RowState};
use posse_terminal::style::{StyledLine, SymbolSet};

use super::{ScreenFocus, TopRequest, TopView};
use crate::top::actions::TaskAction;
use crate::top::board::{BoardLine, TaskGroup};

/// Time before a key counts: nothing typed ahead approves.
const SETTLE_MS: u64 = 500;

/// A prompt that takes the keys.
#[derive(Debug)]
pub enum TopDialog {
    None,
    /// The list of keys.
    Keys,
    Search(LineInput),
    Steer {
        task: TaskId,
        line: LineInput,
    },
    Cancel {
        task: TaskId,
        /// Subagents that end with it.
        below: usize,
    },
    Approval(Box<CallDecision>),
    Question {
        task: TaskId,
        question: ParentQuestion,
        line: LineInput,
    },
}

impl TopDialog {
    /// Returns the line that is typed.
    pub fn line(&self) -> Option<&LineInput> {
        match self {
            TopDialog::Search(line) | TopDialog::Steer { line, .. } | TopDialog::Question { line, .. } => {
                Some(line)
            }
            TopDialog::Approval(dialog) => dialog.reason.as_ref(),
            TopDialog::None | TopDialog::Keys | TopDialog::Cancel { .. } => None,
        }
    }

    /// Returns the line that is typed, to change it.
    pub fn line_mut(&mut self) -> Option<&mut LineInput> {
        match self {
            TopDialog::Search(line) | TopDialog::Steer { line, .. } | TopDialog::Question { line, .. } => {
                Some(line)
            }
            TopDialog::Approval(dialog) => dialog.reason.as_mut(),
            TopDialog::None | TopDialog::Keys | TopDialog::Cancel { .. } => None,
        }
    }
}

/// A call that waits for an answer, and how much of it was shown.
#[derive(Debug)]
pub struct CallDecision {
    parked: ParkedCall,
    card: ApprovalCard,
    opened_ms: u64,
    /// The whole call is paged through, from this line on.
    top: Option<usize>,
    /// Why it is denied.
    reason: Option<LineInput>,
}

impl CallDecision {
    /// Opens the dialog.
    pub fn new(parked: &ParkedCall, now_ms: u64) -> Self {
        let card = ApprovalCard::new(parked);
        Self { parked: parked.clone(), card, opened_ms: now_ms, top: None, reason: None }
    }

    /// Returns the id of the approval.
    pub fn id(&self) -> &str {
        &self.parked.id
    }

    /// Returns the task that waits.
    pub fn task(&self) -> &TaskId {
        &self.parked.request.task
    }

    /// Lays the dialog out in so many rows.
    pub fn lines(&self, width: usize, rows: usize, symbols: SymbolSet, now_ms: u64) -> Vec<StyledLine> {
        let card = self.card.lines(width, rows, symbols, now_ms);
        let (Some(top), Some(title)) = (self.top, card.first()) else { return card };
        let body = self.card.body(width);
        let shown = page_rows(rows);
        let left = body.len().saturating_sub(top + shown);
        let last = match left {
            0 => say!("top-card-end"),
            n => say!("top-card-page", n),
        };
        let mut lines = vec![title.clone()];
        lines.extend(body.into_iter().skip(top).take(shown));
        lines.push(StyledLine::plain(format!("  {last}")).cut(width.saturating_sub(1), symbols));
        lines
    }

    /// Tells whether the last line of the call was visible.
    fn is_seen(&self, width: usize, rows: usize) -> bool {
        match self.top {
            None => self.card.hidden(width, rows) == 0,
            Some(top) => top + page_rows(rows) >= self.card.body(width).len(),
        }
    }

    /// Shows the next page of the whole call.
    fn page(&mut self, width: usize, rows: usize, by: isize) {
        let last = self.card.body(width).len().saturating_sub(page_rows(rows));
        self.top = Some(self.top.map_or(0, |top| top.saturating_add_signed(by)).min(last));
    }
}

/// Rows of the call while it is paged through: without title and keys.
fn page_rows(rows: usize) -> usize {
    rows.saturating_sub(2).max(1)
}

impl TopView {
    /// Asks for a message to the selected task.
    pub(super) fn open_steering(&mut self, now_ms: u64) {
        let Some(task) = self.selected.clone() else { return };
        match self.board.row(&task).is_some_and(|row| row.state.is_running()) {
            true => self.dialog = TopDialog::Steer { task, line: LineInput::default() },
            false => self.tell(RowState::Waiting, &say!("top-has-ended", task = task.short()), now_ms),
        }
    }

    /// Opens what the selected task asks, or what the first task asks that needs input.
    pub(super) fn open_answer(&mut self, now_ms: u64) {
        let asking = self.selected.clone().filter(|task| self.asks(task));
        let asking = asking.or_else(|| self.first_asking());
        let Some(task) = asking else {
            return self.tell(RowState::Waiting, &say!("top-nothing-asked"), now_ms);
        };
        self.select(Some(task.clone()));
        self.show_selected();
        if let Some(parked) = self.board.approval(&task) {
            self.dialog = TopDialog::Approval(Box::new(CallDecision::new(parked, now_ms)));
        } else if let Some(question) = self.board.question(&task).cloned() {
            self.dialog = TopDialog::Question { task, question, line: LineInput::default() };
        }
    }

    fn asks(&self, task: &TaskId) -> bool {
        self.board.approval(task).is_some() || self.board.question(task).is_some()
    }

    fn first_asking(&self) -> Option<TaskId> {
        let tasks = self.lines.iter().filter_map(|line| match line {
            BoardLine::Task(task) if TaskGroup::of(task.view.state) != TaskGroup::Completed => Some(&task.id),
            BoardLine::Task(_) | BoardLine::Heading(..) => None,
        });
        tasks.into_iter().find(|task| self.asks(task)).cloned()
    }

    /// Asks whether the selected task shall end.
    pub(super) fn open_cancel(&mut self, now_ms: u64) {
        let Some(task) = self.selected.clone() else { return };
        if !self.board.row(&task).is_some_and(|row| row.state.is_running()) {
            return self.tell(RowState::Waiting, &say!("top-has-ended", task = task.short()), now_ms);
        }
        let is_running = |child: &&TaskId| self.board.row(child).is_some_and(|row| row.state.is_running());
        let below = self.board.children(&task).iter().filter(is_running).count();
        self.dialog = TopDialog::Cancel { task, below };
    }

    /// Takes a key while a prompt is open.
    pub(super) fn on_dialog_key(&mut self, key: &KeyEvent, now_ms: u64) -> Vec<TopRequest> {
        let dialog = std::mem::replace(&mut self.dialog, TopDialog::None);
        match dialog {
            TopDialog::None | TopDialog::Keys => {}
            TopDialog::Search(line) => self.on_search_key(line, key, now_ms),
            TopDialog::Steer { task, mut line } => match key.code {
                KeyCode::Esc => {}
                KeyCode::Enter if line.text().trim().is_empty() => {}
                KeyCode::Enter => {
                    return vec![TopRequest::Act(TaskAction::Steer { task, text: line.text().to_owned() })];
                }
                _ => {
                    line.key(key);
                    self.dialog = TopDialog::Steer { task, line };
                }
            },
            TopDialog::Cancel { task, below } => match key.code {
                KeyCode::Char('y') => {
                    let row = self.board.row(&task).cloned();
                    return row
                        .map(|row| TopRequest::Act(TaskAction::Cancel(Box::new(row))))
                        .into_iter()
                        .collect();
                }
                KeyCode::Char('n') | KeyCode::Esc | KeyCode::Char('q') => {}
                _ => self.dialog = TopDialog::Cancel { task, below },
            },
            TopDialog::Approval(dialog) => return self.on_approval_key(dialog, key, now_ms),
            TopDialog::Question { task, question, line } => {
                return self.on_question_key(task, question, line, key);
            }
        }
        Vec::new()
    }

    /// The list is filtered while the text is typed; in a pane Enter goes to the first line that contains it.
    fn on_search_key(&mut self, mut line: LineInput, key: &KeyEvent, now_ms: u64) {
        match (key.code, self.focus) {
            (KeyCode::Esc, ScreenFocus::List) => self.search.clear(),
            (KeyCode::Esc, ScreenFocus::Pane) => self.found.clear(),
            (KeyCode::Enter, ScreenFocus::List) => self.search = line.text().trim().to_owned(),
            (KeyCode::Enter, ScreenFocus::Pane) => {
                self.found = line.text().trim().to_owned();
                self.find_next(1);
            }
            (_, focus) => {
                line.key(key);
                if focus == ScreenFocus::List {
                    self.search = line.text().trim().to_owned();
                }
                self.dialog = TopDialog::Search(line);
            }
        }
        self.arrange(now_ms);
    }

    fn on_approval_key(
        &mut self,
        mut dialog: Box<CallDecision>,
        key: &KeyEvent,
        now_ms: u64,
    ) -> Vec<TopRequest> {
        if let Some(mut line) = dialog.reason.take() {
            match key.code {
                KeyCode::Esc => self.dialog = TopDialog::Approval(dialog),
                KeyCode::Enter => {
                    let reason = Some(line.text().trim().to_owned()).filter(|reason| !reason.is_empty());
                    return vec![decide(dialog, ApprovalVerdict::Deny, ApprovalScope::Once, reason)];
                }
                _ => {
                    line.key(key);
                    dialog.reason = Some(line);
                    self.dialog = TopDialog::Approval(dialog);
                }
            }
            return Vec::new();
        }
        if now_ms.saturating_sub(dialog.opened_ms) < SETTLE_MS {
            self.dialog = TopDialog::Approval(dialog);
            return Vec::new();
        }
        let (width, rows) = self.card_size();
        let page = page_rows(rows) as isize;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return Vec::new(),
            KeyCode::Char('y' | 't' | 's') if !dialog.is_seen(width, rows) => dialog.page(width, rows, page),
            KeyCode::Char('y') => {
                return vec![decide(dialog, ApprovalVerdict::Approve, ApprovalScope::Once, None)];
            }
            KeyCode::Char('t') => {
                return vec![decide(dialog, ApprovalVerdict::Approve, ApprovalScope::Task, None)];
            }
            KeyCode::Char('s') => {
                return vec![decide(dialog, ApprovalVerdict::Approve, ApprovalScope::Session, None)];
            }
            KeyCode::Char('n') => dialog.reason = Some(LineInput::default()),
            KeyCode::Char('d' | ' ') | KeyCode::PageDown => dialog.page(width, rows, page),
            KeyCode::Down | KeyCode::Char('j') => dialog.page(width, rows, 1),
            KeyCode::Up | KeyCode::Char('k') => dialog.page(width, rows, -1),
            KeyCode::PageUp => dialog.page(width, rows, -page),
            _ => {}
        }
        self.dialog = TopDialog::Approval(dialog);
        Vec::new()
    }

    /// Returns columns and rows of the approval dialog.
    pub fn card_size(&self) -> (usize, usize) {
        (usize::from(self.frame.size.0), self.frame.body_rows)
    }

    fn on_question_key(
        &mut self,
        task: TaskId,
        question: ParentQuestion,
        mut line: LineInput,
        key: &KeyEvent,
    ) -> Vec<TopRequest> {
        let option = match key.code {
            KeyCode::Char(digit @ '1'..='9') if line.text().is_empty() => {
                question.options.get(usize::from(digit as u8 - b'1')).cloned()
            }
            _ => None,
        };
        let typed = Some(line.text().trim().to_owned()).filter(|text| !text.is_empty());
        let text = option.or(typed.filter(|_| key.code == KeyCode::Enter));
        match (text, key.code) {
            (Some(text), _) => return vec![TopRequest::Act(TaskAction::Answer { task, text })],
            (None, KeyCode::Esc) => {}
            (None, _) => {
                line.key(key);
                self.dialog = TopDialog::Question { task, question, line };
            }
        }
        Vec::new()
    }
}

fn decide(
    dialog: Box<CallDecision>,
    verdict: ApprovalVerdict,
    scope: ApprovalScope,
    reason: Option<String>,
) -> TopRequest {
    let parked = Box::new(dialog.parked);
    TopRequest::Act(TaskAction::Decide { parked, verdict, scope, reason })
}
