//! Prompts above the list: search, steering, cancelling, approvals and questions.

use crossterm::event::{KeyCode, KeyEvent};
use posse_core::approval::ParkedCall;
use posse_core::id::TaskId;
use posse_messages::say;
use posse_runtime::ports::ParentQuestion;
use posse_terminal::dialog::{ApprovalDialog, DialogAnswer, DialogLayout, DialogStep};
use posse_terminal::input::LineInput;
use posse_terminal::painter::CursorSpot;
use posse_terminal::rows::RowState;
use posse_terminal::style::StyledLine;

use super::{ScreenFocus, TopRequest, TopView};
use crate::top::actions::TaskAction;
use crate::top::board::{BoardLine, TaskGroup};

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
            TopDialog::None | TopDialog::Keys | TopDialog::Cancel { .. } | TopDialog::Approval(_) => None,
        }
    }

    /// Returns the line that is typed, to change it.
    pub fn line_mut(&mut self) -> Option<&mut LineInput> {
        match self {
            TopDialog::Search(line) | TopDialog::Steer { line, .. } | TopDialog::Question { line, .. } => {
                Some(line)
            }
            TopDialog::None | TopDialog::Keys | TopDialog::Cancel { .. } | TopDialog::Approval(_) => None,
        }
    }
}

/// A call that waits for an answer. Where it is too long, it is paged through on the screen itself.
#[derive(Debug)]
pub struct CallDecision {
    parked: ParkedCall,
    dialog: ApprovalDialog,
    /// The whole call is paged through, from this line on.
    top: Option<usize>,
}

impl CallDecision {
    /// Opens the dialog.
    pub fn new(parked: &ParkedCall, now_ms: u64) -> Self {
        Self { parked: parked.clone(), dialog: ApprovalDialog::new(parked, now_ms), top: None }
    }

    /// Returns the id of the approval.
    pub fn id(&self) -> &str {
        &self.parked.id
    }

    /// Returns the task that waits.
    pub fn task(&self) -> &TaskId {
        &self.parked.request.task
    }

    /// Takes pasted text, which only a reason has room for.
    pub fn paste(&mut self, text: &str) {
        self.dialog.paste(text);
    }

    /// Lays the dialog out; returns its rows and where the cursor is, if it is typed into.
    pub fn lines(&self, layout: &DialogLayout, now_ms: u64) -> (Vec<StyledLine>, Option<CursorSpot>) {
        let DialogLayout { columns, rows_max, symbols } = *layout;
        let (card, spot) = self.dialog.lines(layout, now_ms);
        let (Some(top), Some(title), None) = (self.top, card.first(), spot) else { return (card, spot) };
        let body = self.dialog.card().body(columns);
        let shown = page_rows(rows_max);
        let left = body.len().saturating_sub(top + shown);
        let last = match left {
            0 => say!("top-card-end"),
            n => say!("top-card-page", n),
        };
        let mut lines = vec![title.clone()];
        lines.extend(body.into_iter().skip(top).take(shown));
        lines.push(StyledLine::plain(format!("  {last}")).cut(columns.saturating_sub(1), symbols));
        (lines, None)
    }

    /// Takes a key: one that pages, or one of the dialog. A yes counts once the last line of the call was visible.
    fn key(&mut self, key: &KeyEvent, layout: &DialogLayout, now_ms: u64) -> DialogStep {
        let DialogLayout { columns, rows_max, .. } = *layout;
        // On a screen of any height the call is whole: it was paged through.
        let whole = DialogLayout { rows_max: usize::MAX, ..*layout };
        if self.dialog.is_typing() || !self.dialog.is_armed(now_ms) {
            return self.dialog.key(key, &whole, now_ms);
        }
        let page = page_rows(rows_max) as isize;
        match key.code {
            KeyCode::Char('q') => return DialogStep::Later,
            KeyCode::Char('y' | 't' | 's') if !self.is_seen(columns, rows_max) => {
                self.page(columns, rows_max, page);
            }
            KeyCode::Char('d' | ' ') | KeyCode::PageDown => self.page(columns, rows_max, page),
            KeyCode::Down | KeyCode::Char('j') => self.page(columns, rows_max, 1),
            KeyCode::Up | KeyCode::Char('k') => self.page(columns, rows_max, -1),
            KeyCode::PageUp => self.page(columns, rows_max, -page),
            _ => return self.dialog.key(key, &whole, now_ms),
        }
        DialogStep::Open
    }

    /// Tells whether the last line of the call was visible.
    fn is_seen(&self, width: usize, rows: usize) -> bool {
        match self.top {
            None => self.dialog.card().hidden(width, rows) == 0,
            Some(top) => top + page_rows(rows) >= self.dialog.card().body(width).len(),
        }
    }

    /// Shows the next page of the whole call.
    fn page(&mut self, width: usize, rows: usize, by: isize) {
        let last = self.dialog.card().body(width).len().saturating_sub(page_rows(rows));
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
        let step = dialog.key(key, &self.card_layout(), now_ms);
        match step {
            DialogStep::Answered(DialogAnswer { verdict, scope, reason }) => {
                let parked = Box::new(dialog.parked);
                return vec![TopRequest::Act(TaskAction::Decide { parked, verdict, scope, reason })];
            }
            DialogStep::Later => {}
            // Nothing is printed above a full screen.
            DialogStep::Open | DialogStep::Print(_) => self.dialog = TopDialog::Approval(dialog),
        }
        Vec::new()
    }

    /// Returns size and looks of the approval dialog.
    pub fn card_layout(&self) -> DialogLayout {
        let (columns, rows_max) = (usize::from(self.frame.size.0), self.frame.body_rows);
        DialogLayout { columns, rows_max, symbols: self.options.symbols }
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
