//! Rows of the run screen.

use posse_messages::say;
use posse_terminal::dialog::{DialogLayout, QuestionDialog};
use posse_terminal::painter::CursorSpot;
use posse_terminal::rows::{ProviderLimit, RowState, key_lines};
use posse_terminal::style::{StyledLine, TextStyle};

use super::state::{RunState, ScreenMode};

/// Rows that stay free: the last finished line above, and one below.
const ROWS_FREE: usize = 2;
/// Rows that the tree keeps beside a dialog.
const TREE_ROWS_MIN: usize = 4;
/// Share of the live rows that unfinished text takes at most.
const PENDING_SHARE: usize = 3;

impl RunState {
    /// Lays out the live rows: unfinished text, then the dialog or the typed line, the tree, and the keys.
    pub(super) fn rows(&self, now_ms: u64) -> (Vec<StyledLine>, CursorSpot) {
        let rows_max = self.rows_max();
        let mut rows = self.pending(rows_max / PENDING_SHARE);
        let mut cursor = CursorSpot { row: rows.len(), column: 0 };
        let (dialog, spot) = self.dialog(now_ms);
        if let Some(spot) = spot {
            cursor = CursorSpot { row: rows.len() + spot.row, column: spot.column };
        }
        rows.extend(dialog);
        let last: Vec<StyledLine> = self.limit_rows().into_iter().chain(self.last_rows()).collect();
        let room = rows_max.saturating_sub(rows.len() + last.len()).max(1);
        rows.extend(self.tree.lines(&self.tree_layout(room), now_ms));
        rows.extend(last);
        (rows, cursor)
    }

    fn rows_max(&self) -> usize {
        self.size.rows.saturating_sub(ROWS_FREE).max(1)
    }

    /// Returns the rows that the tree has without a dialog.
    pub(super) fn tree_rows(&self) -> usize {
        self.rows_max().saturating_sub(self.limit_rows().len() + self.last_rows().len()).max(1)
    }

    pub(super) fn dialog_layout(&self) -> DialogLayout {
        let (columns, symbols) = (self.size.columns, self.looks.symbols);
        DialogLayout { columns, rows_max: self.rows_max().saturating_sub(TREE_ROWS_MIN).max(4), symbols }
    }

    /// Returns the last rows of the text that is not finished.
    fn pending(&self, rows_max: usize) -> Vec<StyledLine> {
        if !self.looks.streams {
            return Vec::new();
        }
        let mut pending = self.answer.pending();
        pending.split_off(pending.len().saturating_sub(rows_max.max(1)))
    }

    fn dialog(&self, now_ms: u64) -> (Vec<StyledLine>, Option<CursorSpot>) {
        let typed = |label: String, input: &posse_terminal::input::LineInput| {
            let (line, column) = input.line(&format!("{label} "), self.size.columns);
            (vec![line], Some(CursorSpot { row: 0, column }))
        };
        match &self.mode {
            ScreenMode::Steering { task, input } => typed(say!("run-steer", task = task.short()), input),
            ScreenMode::Answering { task, input } => {
                let (line, spot) = typed(say!("run-answer", task = task.short()), input);
                let asked = self.questions.get(task).map(|open| self.question(open));
                let above: Vec<StyledLine> = asked.into_iter().flatten().collect();
                let spot = spot.map(|spot| CursorSpot { row: above.len(), ..spot });
                (above.into_iter().chain(line).collect(), spot)
            }
            ScreenMode::Cancelling { task } => {
                let mut line = StyledLine::new();
                line.push(&say!("run-cancel", task = task.short()), TextStyle::BOLD);
                (vec![line], None)
            }
            ScreenMode::Watching => match (self.front_approval(), self.asking()) {
                (Some(at), _) => self.approvals[at].dialog.lines(&self.dialog_layout(), now_ms),
                (None, Some(task)) => (self.question(&self.questions[&task]), None),
                (None, None) => (Vec::new(), None),
            },
        }
    }

    /// Lays out a question with its possible answers.
    fn question(&self, dialog: &QuestionDialog) -> Vec<StyledLine> {
        dialog.lines(&self.dialog_layout(), &say!("run-asks-keys")).0
    }

    /// Says once which provider several tasks wait for.
    fn limit_rows(&self) -> Vec<StyledLine> {
        let symbols = self.looks.symbols;
        let row = |limit: ProviderLimit| {
            let (time, n) = ((self.looks.clock)(limit.until_ms), limit.tasks.len());
            let mut line = StyledLine::new();
            line.push(RowState::Waiting.mark(symbols), RowState::Waiting.style());
            let text = say!("run-limited", provider = limit.provider, time, n);
            line.push(&format!(" {text}"), TextStyle::PLAIN);
            line.cut(self.size.columns.saturating_sub(1), symbols)
        };
        self.tree.limits().into_iter().map(row).collect()
    }

    /// Returns the rows below the tree: keys, or what the screen waits for.
    fn last_rows(&self) -> Vec<StyledLine> {
        let width = self.size.columns.saturating_sub(1);
        let line = |text: String| {
            StyledLine::plain(self.looks.symbols.adapt(&format!("  {text}"))).cut(width, self.looks.symbols)
        };
        if self.leaving_ms.is_some() {
            return vec![line(say!("run-leaving"))];
        }
        if self.has_help {
            return key_lines(&say!("run-help"), self.size.columns, self.looks.symbols);
        }
        match &self.mode {
            ScreenMode::Steering { .. } | ScreenMode::Answering { .. } => {
                return vec![line(say!("run-typed-keys"))];
            }
            ScreenMode::Cancelling { .. } => return Vec::new(),
            ScreenMode::Watching if self.front_approval().is_some() => return Vec::new(),
            ScreenMode::Watching => {}
        }
        vec![self.tree.key_line(&self.tree_layout(1), self.looks.can_leave)]
    }
}
