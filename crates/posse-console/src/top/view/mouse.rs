//! The mouse: the wheel scrolls what is below it, a click selects.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::{PaneKind, ScreenFocus, TopDialog, TopRequest, TopView, WHEEL_ROWS};
use crate::top::board::BoardLine;

impl TopView {
    /// Takes an event of the mouse.
    pub fn on_mouse(&mut self, mouse: &MouseEvent, now_ms: u64) -> Vec<TopRequest> {
        if !matches!(self.dialog, TopDialog::None) {
            return Vec::new();
        }
        let rows = WHEEL_ROWS as isize;
        let is_list = mouse.column < self.frame.list_columns;
        match mouse.kind {
            MouseEventKind::ScrollDown if is_list => self.scroll_list(rows),
            MouseEventKind::ScrollUp if is_list => self.scroll_list(-rows),
            MouseEventKind::ScrollDown => self.scroll_by(rows),
            MouseEventKind::ScrollUp => self.scroll_by(-rows),
            MouseEventKind::Down(MouseButton::Left) => self.click(mouse.column, mouse.row, now_ms),
            _ => {}
        }
        Vec::new()
    }

    fn scroll_list(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(self.frame.body_rows);
        self.list_top = self.list_top.saturating_add_signed(by).min(last);
    }

    fn click(&mut self, column: u16, row: u16, now_ms: u64) {
        let (tab_row, tabs) = self.frame.tabs.clone();
        if row == tab_row
            && let Some(at) = tabs.iter().position(|(from, to)| (*from..*to).contains(&column))
        {
            return self.open_pane(PaneKind::ALL[at]);
        }
        if row < self.frame.body_top {
            return;
        }
        let at = usize::from(row - self.frame.body_top);
        if column >= self.frame.list_columns {
            return self.focus_pane();
        }
        let line = (at < self.frame.body_rows).then(|| self.lines.get(self.list_top + at)).flatten();
        if let Some(BoardLine::Task(task)) = line {
            let task = task.id.clone();
            let is_again = self.selected.as_ref() == Some(&task);
            self.select(Some(task));
            self.focus = ScreenFocus::List;
            // The second click opens, as Enter does.
            if is_again {
                self.focus_pane();
            }
            self.arrange(now_ms);
        }
    }
}
