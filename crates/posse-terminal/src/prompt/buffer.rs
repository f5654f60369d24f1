//! Text under edit: graphemes and pastes, with a cursor between them.

use std::ops::Range;

use posse_core::text::visible;
use posse_messages::say;
use unicode_segmentation::UnicodeSegmentation;

use crate::style::columns;

/// Longest text of a prompt, in bytes: more than any context window takes as one message.
const BUFFER_BYTES_MAX: usize = 1 << 20;
/// A paste of so many lines, or more, is shown as one word.
const FOLDED_LINES_MIN: usize = 5;
/// A paste of so many bytes, or more, is shown as one word.
const FOLDED_BYTES_MIN: usize = 800;

/// One unit of the text: the cursor never stands inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BufferCell {
    Grapheme(String),
    /// A long paste, shown as `[pasted 48 lines]`.
    Paste(String),
}

impl BufferCell {
    fn text(&self) -> &str {
        match self {
            BufferCell::Grapheme(text) | BufferCell::Paste(text) => text,
        }
    }

    fn is_line_end(&self) -> bool {
        matches!(self, BufferCell::Grapheme(text) if text == "\n")
    }

    fn is_space(&self) -> bool {
        matches!(self, BufferCell::Grapheme(text) if text.chars().all(char::is_whitespace))
    }

    fn is_word(&self) -> bool {
        match self {
            BufferCell::Grapheme(text) => {
                text.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_')
            }
            BufferCell::Paste(_) => true,
        }
    }

    /// Returns the form on the screen, without control characters.
    fn shown(&self) -> String {
        match self {
            BufferCell::Grapheme(text) if text == "\t" => "    ".to_owned(),
            BufferCell::Grapheme(text) => visible(text).into_owned(),
            BufferCell::Paste(text) => format!("[{}]", say!("prompt-pasted", n = text.lines().count())),
        }
    }
}

/// A destination of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorMove {
    /// One grapheme back.
    Left,
    /// One grapheme forward.
    Right,
    /// Start of the word.
    WordLeft,
    /// End of the word.
    WordRight,
    /// Start of the line.
    LineStart,
    /// End of the line.
    LineEnd,
    /// The line above, at the same column.
    Up,
    /// The line below, at the same column.
    Down,
    /// Start of the text.
    Start,
    /// End of the text.
    End,
}

/// A piece of the text as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    /// Text without control characters; a line end is `"\n"`.
    pub text: String,
    /// True for a folded paste.
    pub is_folded: bool,
}

/// Text under edit, with a cursor and the text that was cut last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptBuffer {
    cells: Vec<BufferCell>,
    cursor: usize,
    /// Display column that Up and Down aim at.
    goal: Option<usize>,
    /// The text that was cut last.
    cut: Vec<BufferCell>,
    bytes: usize,
}

impl PromptBuffer {
    /// Returns the whole text, pastes included.
    pub fn text(&self) -> String {
        self.cells.iter().map(BufferCell::text).collect()
    }

    /// Tells whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the number of units before the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the text as it is shown, one span per unit.
    pub fn spans(&self) -> Vec<TextSpan> {
        let span = |cell: &BufferCell| TextSpan {
            text: if cell.is_line_end() { "\n".to_owned() } else { cell.shown() },
            is_folded: matches!(cell, BufferCell::Paste(_)),
        };
        self.cells.iter().map(span).collect()
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        (self.cells, self.cursor, self.goal, self.bytes) = (Vec::new(), 0, None, 0);
        self.insert(text);
    }

    /// Takes the text and leaves the buffer empty.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.set("");
        text
    }

    /// Inserts typed text at the cursor. A mark that combines with the character before it joins that one. Returns false if
    /// a part did not fit.
    pub fn insert(&mut self, text: &str) -> bool {
        let fitting = self.fitting(text);
        let is_whole = fitting.len() == text.len();
        let joined = match self.cursor.checked_sub(1).and_then(|before| self.cells.get(before)) {
            Some(BufferCell::Grapheme(before)) if before != "\n" => {
                let before = before.clone();
                self.remove(self.cursor - 1..self.cursor);
                before + fitting
            }
            _ => fitting.to_owned(),
        };
        let cells = joined.graphemes(true).map(grapheme_cell).collect();
        self.insert_cells(cells);
        is_whole
    }

    /// Inserts a paste at the cursor; a long one becomes one unit. Returns false if a part did not fit.
    pub fn paste(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.lines().count() < FOLDED_LINES_MIN && text.len() < FOLDED_BYTES_MIN {
            return self.insert(&text);
        }
        let fitting = self.fitting(&text).to_owned();
        let is_whole = fitting.len() == text.len();
        self.insert_cells(vec![BufferCell::Paste(fitting)]);
        is_whole
    }

    /// Moves the cursor; returns false if it is there already.
    pub fn go(&mut self, to: CursorMove) -> bool {
        let target = match to {
            CursorMove::Up | CursorMove::Down => return self.go_line(to == CursorMove::Down),
            other => self.target(other),
        };
        self.goal = None;
        std::mem::replace(&mut self.cursor, target) != target
    }

    /// Removes the text between the cursor and this place.
    pub fn delete(&mut self, to: CursorMove) {
        self.remove_to(to);
    }

    /// Cuts the text between the cursor and this place, for [`PromptBuffer::yank`]. At the end of a line, `LineEnd` cuts the
    /// line end.
    pub fn kill(&mut self, to: CursorMove) {
        let at_end = to == CursorMove::LineEnd && self.target(to) == self.cursor;
        let cut = self.remove_to(if at_end { CursorMove::Right } else { to });
        if !cut.is_empty() {
            self.cut = cut;
        }
    }

    /// Inserts the text that was cut last.
    pub fn yank(&mut self) {
        self.insert_cells(self.cut.clone());
    }

    /// Returns the text before the cursor back to white space, and the number of units before it.
    pub fn word(&self) -> (usize, String) {
        let before = &self.cells[..self.cursor];
        let ends = |cell: &BufferCell| cell.is_space() || matches!(cell, BufferCell::Paste(_));
        let start = before.iter().rposition(ends).map_or(0, |at| at + 1);
        (start, before[start..].iter().map(BufferCell::text).collect())
    }

    /// Replaces the text from this unit to the cursor.
    pub fn replace_from(&mut self, start: usize, text: &str) {
        let start = start.min(self.cursor);
        self.remove(start..self.cursor);
        self.insert_cells(self.fitting(text).graphemes(true).map(grapheme_cell).collect());
    }

    /// Returns the beginning of a text that still fits.
    fn fitting<'a>(&self, text: &'a str) -> &'a str {
        let room = BUFFER_BYTES_MAX.saturating_sub(self.bytes);
        &text[..text.floor_char_boundary(room)]
    }

    fn insert_cells(&mut self, cells: Vec<BufferCell>) {
        let bytes: usize = cells.iter().map(|cell| cell.text().len()).sum();
        if self.bytes + bytes > BUFFER_BYTES_MAX {
            return;
        }
        let count = cells.len();
        self.cells.splice(self.cursor..self.cursor, cells);
        (self.cursor, self.goal, self.bytes) = (self.cursor + count, None, self.bytes + bytes);
    }

    /// Removes these units; the cursor goes to their place.
    fn remove(&mut self, range: Range<usize>) -> Vec<BufferCell> {
        (self.cursor, self.goal) = (range.start, None);
        let removed: Vec<BufferCell> = self.cells.drain(range).collect();
        self.bytes -= removed.iter().map(|cell| cell.text().len()).sum::<usize>();
        removed
    }

    fn remove_to(&mut self, to: CursorMove) -> Vec<BufferCell> {
        let target = self.target(to);
        self.remove(self.cursor.min(target)..self.cursor.max(target))
    }

    fn target(&self, to: CursorMove) -> usize {
        let (before, after) = self.cells.split_at(self.cursor);
        match to {
            CursorMove::Left => self.cursor.saturating_sub(1),
            CursorMove::Right => (self.cursor + 1).min(self.cells.len()),
            CursorMove::WordLeft => {
                let gap = before.iter().rposition(BufferCell::is_word).unwrap_or(0);
                before[..gap].iter().rposition(|cell| !cell.is_word()).map_or(0, |at| at + 1)
            }
            CursorMove::WordRight => {
                let gap = after.iter().position(BufferCell::is_word).unwrap_or(after.len());
                let word = after[gap..].iter().position(|cell| !cell.is_word());
                self.cursor + word.map_or(after.len(), |length| gap + length)
            }
            CursorMove::LineStart => before.iter().rposition(BufferCell::is_line_end).map_or(0, |at| at + 1),
            CursorMove::LineEnd => {
                self.cursor + after.iter().position(BufferCell::is_line_end).unwrap_or(after.len())
            }
            CursorMove::Start => 0,
            CursorMove::End => self.cells.len(),
            CursorMove::Up | CursorMove::Down => self.cursor,
        }
    }

    fn go_line(&mut self, is_down: bool) -> bool {
        let start = self.target(CursorMove::LineStart);
        let line = if is_down {
            let end = self.target(CursorMove::LineEnd);
            if end == self.cells.len() {
                return false;
            }
            end + 1
        } else {
            let Some(end) = start.checked_sub(1) else { return false };
            self.cells[..end].iter().rposition(BufferCell::is_line_end).map_or(0, |at| at + 1)
        };
        let width = |cells: &[BufferCell]| cells.iter().map(|cell| columns(&cell.shown())).sum::<usize>();
        let goal = self.goal.unwrap_or_else(|| width(&self.cells[start..self.cursor]));
        let (mut at, mut column) = (line, 0);
        while at < self.cells.len() && !self.cells[at].is_line_end() {
            column += columns(&self.cells[at].shown());
            if column > goal {
                break;
            }
            at += 1;
        }
        (self.cursor, self.goal) = (at, Some(goal));
        true
    }
}

fn grapheme_cell(text: &str) -> BufferCell {
    // A pair of carriage return and line feed is one grapheme.
    BufferCell::Grapheme(if text == "\r\n" || text == "\r" { "\n".to_owned() } else { text.to_owned() })
}
