//! State of the screen: what is listed, selected and open, and what a key does. It knows no terminal and no store.

mod dialog;
mod mouse;

use std::collections::BTreeSet;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use posse_core::context::ContextEntry;
use posse_core::fact::LiveFact;
use posse_core::id::TaskId;
use posse_core::journal::TaskStart;
use posse_core::lease::Lease;
use posse_core::text::visible;
use posse_core::usage::SpendingTotal;
use posse_messages::say;
use posse_terminal::input::LineInput;
use posse_terminal::rows::{RowState, figures};
use posse_terminal::style::{StyledLine, TextStyle};

use super::actions::{ActionNotice, TaskAction};
use super::board::{BoardFilter, BoardLine, TopBoard};
use super::copy::COPY_BYTES_MAX;
use super::feed::{FeedInterest, FeedNews, PaneNews};
use super::panes::{self, LimitFacts};
use super::transcript::{TaskTranscript, TranscriptStyle};
use super::{TaskPatch, TopOptions, TopScope};

pub use self::dialog::TopDialog;

/// Time that a notice stays.
const NOTICE_MS: u64 = 8_000;
/// Columns from which list and pane stand side by side.
pub const SPLIT_COLUMNS: u16 = 110;
/// Rows that the wheel scrolls.
const WHEEL_ROWS: usize = 3;

/// Content of the pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaneKind {
    Transcript,
    Diff,
    Context,
    Limits,
}

impl PaneKind {
    /// Every pane, in the order of its key.
    pub const ALL: [PaneKind; 4] =
        [PaneKind::Transcript, PaneKind::Diff, PaneKind::Context, PaneKind::Limits];

    /// Returns the name for people.
    pub fn name(self) -> String {
        match self {
            PaneKind::Transcript => say!("top-pane-transcript"),
            PaneKind::Diff => say!("top-pane-diff"),
            PaneKind::Context => say!("top-pane-context"),
            PaneKind::Limits => say!("top-pane-limits"),
        }
    }
}

/// The part of the screen that the arrows move in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenFocus {
    List,
    Pane,
}

/// A request to the terminal or the store.
#[derive(Debug, Clone, PartialEq)]
pub enum TopRequest {
    Leave,
    /// Ctrl-Z.
    Stop,
    Repaint,
    Mouse(bool),
    Copy(String),
    Act(TaskAction),
}

/// A text with its first visible line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScrollState {
    /// First visible line.
    pub top: usize,
    /// The end stays visible when text is added.
    pub follows: bool,
}

/// Size and content of the last frame, for paging and the mouse.
#[derive(Debug, Clone, Default)]
pub struct FrameMap {
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    /// Columns of the list; 0 if it is covered.
    pub list_columns: u16,
    /// Rows of list and pane.
    pub body_rows: usize,
    /// First row of list and pane, from 0.
    pub body_top: u16,
    /// Lines of the pane.
    pub pane_lines: usize,
    /// Row of the tabs, and the columns of each.
    pub tabs: (u16, Vec<(u16, u16)>),
}

/// Content of the panes of one task.
#[derive(Debug, Default)]
pub struct PaneContent {
    task: Option<TaskId>,
    transcript: TaskTranscript,
    patch: Option<std::result::Result<TaskPatch, String>>,
    context: Option<Vec<ContextEntry>>,
    limits: Option<Arc<TaskStart>>,
}

/// State of the screen.
pub struct TopView {
    pub(super) options: TopOptions,
    pub(super) board: TopBoard,
    /// The scope to return to from all projects.
    home_scope: TopScope,
    pub(super) search: String,
    unfolded: BTreeSet<TaskId>,
    pub(super) lines: Vec<BoardLine>,
    pub(super) selected: Option<TaskId>,
    pub(super) list_top: usize,
    pub(super) pane: PaneKind,
    pub(super) focus: ScreenFocus,
    pub(super) content: PaneContent,
    pub(super) scroll: ScrollState,
    /// Text that is marked in the pane.
    pub(super) found: String,
    pub(super) is_unfolded: bool,
    pub(super) dialog: TopDialog,
    notice: Option<(StyledLine, u64)>,
    pub(super) spent: Option<SpendingTotal>,
    pub(super) leases: Vec<Lease>,
    pub(super) has_mouse: bool,
    pub(super) frame: FrameMap,
    /// The store was read at least once.
    pub(super) is_loaded: bool,
}

impl TopView {
    /// Creates the screen before anything is known.
    pub fn new(options: TopOptions) -> Self {
        Self {
            home_scope: options.scope.clone(),
            selected: match &options.scope {
                _ if options.opened.is_some() => options.opened.clone(),
                TopScope::Tree(task) => Some(task.clone()),
                TopScope::Project | TopScope::Everything => None,
            },
            focus: if options.opened.is_some() { ScreenFocus::Pane } else { ScreenFocus::List },
            options,
            board: TopBoard::default(),
            search: String::new(),
            unfolded: BTreeSet::new(),
            lines: Vec::new(),
            list_top: 0,
            pane: PaneKind::Transcript,
            content: PaneContent::default(),
            scroll: ScrollState { top: 0, follows: true },
            found: String::new(),
            is_unfolded: false,
            dialog: TopDialog::None,
            notice: None,
            spent: None,
            leases: Vec::new(),
            has_mouse: true,
            frame: FrameMap::default(),
            is_loaded: false,
        }
    }

    /// Returns the name of the person who answers.
    pub fn person(&self) -> String {
        self.options.person.clone()
    }

    /// Returns what has to be read for this screen.
    pub fn interest(&self) -> FeedInterest {
        let on_screen = self.lines.iter().skip(self.list_top).take(self.frame.body_rows.max(1));
        let shown = on_screen.filter_map(|line| match line {
            BoardLine::Task(task) => Some(task.id.clone()),
            BoardLine::Heading(..) => None,
        });
        FeedInterest {
            scope: self.options.scope.clone(),
            shown: shown.chain(self.selected.clone()).collect(),
            open: self.selected.clone().filter(|_| self.has_pane()).map(|task| (task, self.pane)),
        }
    }

    /// Tells whether list and pane stand side by side.
    pub fn is_split(&self) -> bool {
        self.frame.size.0 >= SPLIT_COLUMNS
    }

    /// Tells whether a pane is visible.
    pub fn has_pane(&self) -> bool {
        self.is_split() || self.focus == ScreenFocus::Pane
    }

    /// Takes what was read.
    pub fn take_news(&mut self, news: FeedNews, now_ms: u64) {
        if let Some(failure) = news.failure {
            return self.tell(RowState::Failed, &failure, now_ms);
        }
        self.is_loaded = true;
        self.board.take_rows(news.rows, &news.dead);
        self.board.take_sessions(news.here);
        news.events.iter().for_each(|entry| self.board.observe(entry));
        for (task, answer) in news.answers {
            self.board.learn(&task, &LiveFact::Answer { line: answer });
        }
        for task in &news.dead {
            self.board.learn(task, &LiveFact::Interrupted);
        }
        self.board.take_waiting(news.approvals, news.questions);
        self.spent = news.spent.or(self.spent);
        self.leases = news.leases;
        for pane in news.panes {
            self.take_pane(pane);
        }
        if let TopDialog::Approval(dialog) = &self.dialog
            && self.board.approval(dialog.task()).is_none_or(|parked| parked.id != dialog.id())
        {
            self.dialog = TopDialog::None;
            self.tell(RowState::Waiting, &say!("top-answered-elsewhere"), now_ms);
        }
        self.arrange(now_ms);
    }

    fn take_pane(&mut self, news: PaneNews) {
        let task = match &news {
            PaneNews::Records { task, .. }
            | PaneNews::Patch { task, .. }
            | PaneNews::Context { task, .. }
            | PaneNews::Limits { task, .. } => task.clone(),
        };
        if Some(&task) != self.selected.as_ref() {
            return;
        }
        if self.content.task.as_ref() != Some(&task) {
            self.content = PaneContent { task: Some(task), ..PaneContent::default() };
        }
        match news {
            PaneNews::Records { records, is_first, .. } => {
                if is_first {
                    self.content.transcript = TaskTranscript::default();
                }
                records.iter().for_each(|stored| self.content.transcript.take(&stored.record));
            }
            PaneNews::Patch { patch, .. } => self.content.patch = Some(patch),
            PaneNews::Context { entries, .. } => self.content.context = Some(entries),
            PaneNews::Limits { start, .. } => self.content.limits = Some(start),
        }
    }

    /// Takes the result of an action.
    pub fn take_notice(&mut self, notice: ActionNotice, now_ms: u64) {
        self.tell(notice.state, &notice.text, now_ms);
    }

    /// Lets a second pass: elapsed times grow, notices disappear.
    pub fn tick(&mut self, now_ms: u64) {
        self.notice = self.notice.take().filter(|(_, until)| *until > now_ms);
        self.arrange(now_ms);
    }

    /// Returns the notice in the last row.
    pub fn notice(&self) -> Option<&StyledLine> {
        self.notice.as_ref().map(|(line, _)| line)
    }

    /// Shows a notice.
    pub(super) fn tell(&mut self, state: RowState, text: &str, now_ms: u64) {
        let symbols = self.options.symbols;
        let mut line = StyledLine::new();
        line.push(state.mark(symbols), state.style());
        line.push(&format!(" {}", symbols.adapt(text)), TextStyle::PLAIN);
        self.notice = Some((line, now_ms.saturating_add(NOTICE_MS)));
    }

    /// Lists the tasks again. The selected one stays selected wherever it moved.
    pub(super) fn arrange(&mut self, now_ms: u64) {
        let filter = BoardFilter {
            scope: self.options.scope.clone(),
            search: self.search.clone(),
            unfolded: self.unfolded.clone(),
        };
        let before = self.selected_line();
        self.lines = self.board.list(&filter, now_ms);
        if self.selected_line().is_none() && self.is_loaded {
            // The row is gone: the one in its place is selected, or the first.
            let near = before.unwrap_or(0);
            let tasks = self.lines.iter().enumerate().filter_map(|(at, line)| match line {
                BoardLine::Task(task) => Some((at, task.id.clone())),
                BoardLine::Heading(..) => None,
            });
            let next = tasks.min_by_key(|(at, _)| at.abs_diff(near)).map(|(_, task)| task);
            self.select(next);
        }
        self.show_selected();
    }

    /// Returns the position of the selected task in the list.
    pub fn selected_line(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.lines.iter().position(|line| matches!(line, BoardLine::Task(task) if task.id == *selected))
    }

    pub(super) fn select(&mut self, task: Option<TaskId>) {
        if self.selected != task {
            self.selected = task;
            self.content = PaneContent::default();
            self.reset_scroll();
        }
    }

    fn reset_scroll(&mut self) {
        self.scroll = ScrollState { top: 0, follows: self.pane == PaneKind::Transcript };
        self.found.clear();
    }

    /// Scrolls the list so that the selected row is visible.
    pub(super) fn show_selected(&mut self) {
        let rows = self.frame.body_rows.max(1);
        let Some(at) = self.selected_line() else {
            self.list_top = 0;
            return;
        };
        // The heading above the first task is part of it.
        let from = if at == 1 { 0 } else { at };
        self.list_top = self.list_top.min(from).max((at + 1).saturating_sub(rows));
        self.list_top = self.list_top.min(self.lines.len().saturating_sub(rows));
    }

    /// Takes a key.
    pub fn on_key(&mut self, key: &KeyEvent, now_ms: u64) -> Vec<TopRequest> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return vec![TopRequest::Leave],
            KeyCode::Char('z') if control => return vec![TopRequest::Stop],
            KeyCode::Char('l') if control => return vec![TopRequest::Repaint],
            _ => {}
        }
        if !matches!(self.dialog, TopDialog::None) {
            return self.on_dialog_key(key, now_ms);
        }
        if control || key.modifiers.contains(KeyModifiers::ALT) {
            return Vec::new();
        }
        self.on_plain_key(key.code, now_ms)
    }

    fn on_plain_key(&mut self, code: KeyCode, now_ms: u64) -> Vec<TopRequest> {
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return self.go_back(now_ms),
            KeyCode::Char('?') => self.dialog = TopDialog::Keys,
            KeyCode::Char('/') => self.dialog = TopDialog::Search(LineInput::new(self.searched())),
            KeyCode::Char('s') => self.open_steering(now_ms),
            KeyCode::Char('a') => self.open_answer(now_ms),
            KeyCode::Char('c') => self.open_cancel(now_ms),
            KeyCode::Char('y') => return self.copy(now_ms),
            KeyCode::Char('A') => self.toggle_scope(now_ms),
            KeyCode::Char('m') => {
                self.has_mouse = !self.has_mouse;
                let text = if self.has_mouse { say!("top-mouse-on") } else { say!("top-mouse-off") };
                self.tell(RowState::Working, &text, now_ms);
                return vec![TopRequest::Mouse(self.has_mouse)];
            }
            KeyCode::Char('o') => self.is_unfolded = !self.is_unfolded,
            KeyCode::Char(' ') if self.focus == ScreenFocus::List => self.toggle_children(now_ms),
            KeyCode::Char(number @ '1'..='4') => {
                let at = usize::from(number as u8 - b'1');
                self.open_pane(PaneKind::ALL[at]);
            }
            KeyCode::Tab => {
                let at = PaneKind::ALL.iter().position(|pane| *pane == self.pane).unwrap_or(0);
                self.open_pane(PaneKind::ALL[(at + 1) % PaneKind::ALL.len()]);
            }
            KeyCode::Enter | KeyCode::Right => self.focus_pane(),
            KeyCode::Left => self.focus = ScreenFocus::List,
            KeyCode::Char('n') => self.find_next(1),
            KeyCode::Char('N') => self.find_next(-1),
            code => self.move_by(code),
        }
        Vec::new()
    }

    /// Returns the text that `/` starts with.
    fn searched(&self) -> &str {
        match self.focus {
            ScreenFocus::List => &self.search,
            ScreenFocus::Pane => &self.found,
        }
    }

    fn go_back(&mut self, now_ms: u64) -> Vec<TopRequest> {
        if !self.found.is_empty() && self.focus == ScreenFocus::Pane {
            self.found.clear();
        } else if self.focus == ScreenFocus::Pane && !self.is_as_opened() {
            self.focus = ScreenFocus::List;
        } else if !self.search.is_empty() {
            self.search.clear();
            self.arrange(now_ms);
        } else {
            return vec![TopRequest::Leave];
        }
        Vec::new()
    }

    /// Tells whether the pane shows the task that the screen was opened on.
    fn is_as_opened(&self) -> bool {
        self.options.opened.is_some() && self.options.opened == self.selected
    }

    fn focus_pane(&mut self) {
        if self.selected.is_some() {
            self.focus = ScreenFocus::Pane;
        }
    }

    fn open_pane(&mut self, pane: PaneKind) {
        if self.pane != pane {
            self.pane = pane;
            self.reset_scroll();
        }
        if !self.is_split() {
            self.focus_pane();
        }
    }

    fn toggle_scope(&mut self, now_ms: u64) {
        self.options.scope = match &self.options.scope {
            TopScope::Everything if self.home_scope != TopScope::Everything => self.home_scope.clone(),
            TopScope::Everything => TopScope::Project,
            TopScope::Project | TopScope::Tree(_) => TopScope::Everything,
        };
        self.spent = None;
        self.arrange(now_ms);
    }

    fn toggle_children(&mut self, now_ms: u64) {
        if let Some(task) = self.selected.clone() {
            if !self.unfolded.remove(&task) {
                self.unfolded.insert(task);
            }
            self.arrange(now_ms);
        }
    }

    fn move_by(&mut self, code: KeyCode) {
        let page = self.frame.body_rows.saturating_sub(1).max(1);
        match (self.focus, code) {
            (ScreenFocus::List, KeyCode::Down | KeyCode::Char('j')) => self.move_selection(1),
            (ScreenFocus::List, KeyCode::Up | KeyCode::Char('k')) => self.move_selection(-1),
            (ScreenFocus::List, KeyCode::Home | KeyCode::Char('g')) => self.move_selection(isize::MIN),
            (ScreenFocus::List, KeyCode::End | KeyCode::Char('G')) => self.move_selection(isize::MAX),
            (ScreenFocus::List, KeyCode::PageDown) if !self.is_split() => self.move_selection(page as isize),
            (ScreenFocus::List, KeyCode::PageUp) if !self.is_split() => self.move_selection(-(page as isize)),
            (ScreenFocus::Pane, KeyCode::Down | KeyCode::Char('j')) => self.scroll_by(1),
            (ScreenFocus::Pane, KeyCode::Up | KeyCode::Char('k')) => self.scroll_by(-1),
            (ScreenFocus::Pane, KeyCode::Home | KeyCode::Char('g')) => self.scroll_by(isize::MIN),
            (ScreenFocus::Pane, KeyCode::End | KeyCode::Char('G')) => self.scroll_by(isize::MAX),
            (_, KeyCode::PageDown | KeyCode::Char(' ')) => self.scroll_by(page as isize),
            (_, KeyCode::PageUp) => self.scroll_by(-(page as isize)),
            _ => {}
        }
    }

    fn move_selection(&mut self, by: isize) {
        let tasks: Vec<TaskId> = self
            .lines
            .iter()
            .filter_map(|line| match line {
                BoardLine::Task(task) => Some(task.id.clone()),
                BoardLine::Heading(..) => None,
            })
            .collect();
        let at = tasks.iter().position(|task| Some(task) == self.selected.as_ref()).unwrap_or(0);
        let to = at.saturating_add_signed(by).min(tasks.len().saturating_sub(1));
        self.select(tasks.get(to).cloned());
        self.show_selected();
    }

    /// Scrolls the pane. At its end it follows new text again.
    pub(super) fn scroll_by(&mut self, by: isize) {
        let last = self.frame.pane_lines.saturating_sub(self.pane_rows());
        let top = if self.scroll.follows { last } else { self.scroll.top };
        self.scroll.top = top.saturating_add_signed(by).min(last);
        self.scroll.follows = self.scroll.top == last && self.pane == PaneKind::Transcript;
    }

    /// Returns the rows of the pane below its title and tabs.
    pub fn pane_rows(&self) -> usize {
        self.frame.body_rows.saturating_sub(PANE_HEAD_ROWS)
    }

    /// Scrolls to the next line of the pane that contains the searched text.
    fn find_next(&mut self, direction: isize) {
        if self.found.is_empty() {
            return;
        }
        let width = self.pane_width();
        let needle = self.found.to_lowercase();
        let hits: Vec<usize> = self
            .pane_lines(width, 0)
            .iter()
            .enumerate()
            .filter(|(_, line)| line.text().to_lowercase().contains(&needle))
            .map(|(at, _)| at)
            .collect();
        let next = match direction {
            1 => hits.iter().find(|at| **at > self.scroll.top).or(hits.first()),
            _ => hits.iter().rev().find(|at| **at < self.scroll.top).or(hits.last()),
        };
        if let Some(at) = next {
            self.scroll = ScrollState { top: *at, follows: false };
        }
    }

    /// Returns the columns of the pane.
    pub fn pane_width(&self) -> usize {
        let columns = usize::from(self.frame.size.0);
        match self.is_split() {
            // A line and a space on its left.
            true => columns.saturating_sub(usize::from(self.frame.list_columns) + 3),
            false => columns.saturating_sub(1),
        }
        .max(10)
    }

    /// Returns the text of the pane.
    pub fn pane_lines(&mut self, width: usize, now_ms: u64) -> Vec<StyledLine> {
        let symbols = self.options.symbols;
        let loading = || vec![StyledLine::plain(say!("top-loading"))];
        let Some(task) = self.selected.clone() else { return Vec::new() };
        if self.content.task.as_ref() != Some(&task) {
            return loading();
        }
        match self.pane {
            PaneKind::Transcript if self.content.transcript.is_empty() => loading(),
            PaneKind::Transcript => {
                let (is_unfolded, palette) = (self.is_unfolded, self.options.palette);
                let style = TranscriptStyle { width, is_unfolded, palette, symbols };
                let mut lines = self.content.transcript.lines(style);
                lines.extend(self.asking_lines(&task, width));
                lines
            }
            PaneKind::Diff => match &self.content.patch {
                None => loading(),
                Some(Ok(patch)) => panes::patch_lines(patch, width, symbols),
                Some(Err(why)) => StyledLine::plain(why).wrap(width),
            },
            PaneKind::Context => match &self.content.context {
                None => loading(),
                Some(entries) => panes::context_lines(entries, width, symbols, now_ms),
            },
            PaneKind::Limits => {
                let found = (self.board.row(&task), self.board.view(&task, now_ms), &self.content.limits);
                let (Some(row), Some(view), Some(start)) = found else { return loading() };
                let (tree, leases) = (self.board.tree_total(&task), self.leases.as_slice());
                let facts = LimitFacts { row, view: &view, start, tree, leases, now_ms };
                panes::limit_lines(&facts, width, symbols)
            }
        }
    }

    /// Formats what a task waits for, below its conversation.
    fn asking_lines(&self, task: &TaskId, width: usize) -> Vec<StyledLine> {
        let asked = match (self.board.approval(task), self.board.question(task)) {
            (Some(_), _) => say!("top-asks-approval"),
            (None, Some(question)) => say!("top-asks-question", question = visible(&question.text).as_ref()),
            (None, None) => return Vec::new(),
        };
        let state = RowState::NeedsInput;
        let mut line = StyledLine::new();
        line.push(&format!("{} {asked}", state.mark(self.options.symbols)), state.style());
        [vec![StyledLine::new()], line.wrap(width)].concat()
    }

    /// Copies what the pane is about, or the id of the selected task.
    fn copy(&mut self, now_ms: u64) -> Vec<TopRequest> {
        let Some(task) = self.selected.clone() else { return Vec::new() };
        let is_known = self.content.task.as_ref() == Some(&task) && self.has_pane();
        let text = match (is_known, self.pane) {
            (true, PaneKind::Diff) => match &self.content.patch {
                Some(Ok(patch)) => patch.text.clone(),
                _ => String::new(),
            },
            (true, PaneKind::Transcript) => self.content.transcript.answer().to_owned(),
            (true, PaneKind::Context | PaneKind::Limits) => {
                let lines = self.pane_lines(usize::MAX, now_ms);
                lines.iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
            }
            (false, _) => String::new(),
        };
        let text = if text.trim().is_empty() { task.to_string() } else { text };
        let copied = figures::count(text.len().min(COPY_BYTES_MAX) as u64);
        self.tell(RowState::Completed, &say!("top-copied", bytes = copied), now_ms);
        vec![TopRequest::Copy(text)]
    }

    /// Takes pasted text; outside of a prompt it is no key.
    pub fn on_paste(&mut self, text: &str) -> Vec<TopRequest> {
        if let TopDialog::Approval(dialog) = &mut self.dialog {
            dialog.paste(text);
        } else if let Some(line) = self.dialog.line_mut() {
            line.paste(text);
        }
        Vec::new()
    }
}

/// Rows of the pane above its text: title and tabs.
pub const PANE_HEAD_ROWS: usize = 2;
