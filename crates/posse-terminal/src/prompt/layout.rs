//! Rows of the live area: the prompt, the menu below it, the lines around them, and the place of the cursor.

use posse_messages::say;

use super::buffer::PromptBuffer;
use super::editor::PromptEditor;
use crate::painter::{CursorSpot, TerminalSize};
use crate::style::{StyledLine, SymbolSet, TextStyle, columns, cut_text};

/// Text before the first line of the prompt; later lines are indented by as much.
const SIGN: &str = "> ";

/// Space and characters of the live area.
#[derive(Debug, Clone, Copy)]
pub struct PromptLayout {
    /// Size of the terminal.
    pub size: TerminalSize,
    /// Characters for marks and ellipses.
    pub symbols: SymbolSet,
}

impl PromptLayout {
    /// Returns the rows of the live area at most: 60 % of the terminal, so that the conversation stays in sight.
    pub fn rows_max(&self) -> usize {
        (self.size.rows * 6 / 10).max(3)
    }
}

/// Rows of the live area and the cursor in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRows {
    /// Rows, each within the width.
    pub rows: Vec<StyledLine>,
    /// Place of the cursor.
    pub cursor: CursorSpot,
}

impl PromptEditor {
    /// Lays out the live area: `above`, the prompt, the menu or else `below`. `above` and the prompt give way to each other's last
    /// rows, so that the line with the cursor is always there.
    pub fn lines(&self, layout: &PromptLayout, above: &[StyledLine], below: &[StyledLine]) -> LiveRows {
        let width = layout.size.columns;
        let rows_max = layout.rows_max();
        let (mut text, mut cursor) = match &self.search {
            Some(search) => search_row(&search.query, search.found.as_ref().map(|(_, text)| text), layout),
            None => prompt_rows(&self.buffer, width),
        };
        let beside = below.len().min(rows_max / 2);
        let text_max = rows_max.saturating_sub(beside).max(1);
        if text.len() > text_max {
            let first = (cursor.row + 1).saturating_sub(text_max);
            text = text[first..first + text_max].to_vec();
            cursor.row -= first;
        }
        let above_max = rows_max.saturating_sub(text.len() + beside);
        let mut rows: Vec<StyledLine> = above[above.len().saturating_sub(above_max)..].to_vec();
        cursor.row += rows.len();
        rows.append(&mut text);
        let left = rows_max.saturating_sub(rows.len());
        match self.menu.as_ref().filter(|_| self.search.is_none()) {
            Some(menu) => rows.extend(menu.lines(width, left.max(1), layout.symbols)),
            None => rows.extend(below.iter().take(left.max(beside)).cloned()),
        }
        LiveRows { rows, cursor }
    }
}

/// Wraps the text by grapheme and finds the cursor.
fn prompt_rows(buffer: &PromptBuffer, width: usize) -> (Vec<StyledLine>, CursorSpot) {
    let indent = columns(SIGN);
    // The cursor needs a column of its own after the last character, and a row ends before the edge.
    let row_max = width.saturating_sub(2).max(indent + 2);
    let mut rows = vec![StyledLine::plain(SIGN)];
    let mut column = indent;
    let mut cursor = CursorSpot::default();
    let spans = buffer.spans();
    for (at, span) in spans.iter().enumerate() {
        let wide = columns(&span.text);
        let wraps = column + wide > row_max && column > indent;
        if at == buffer.cursor() && !wraps {
            cursor = CursorSpot { row: rows.len() - 1, column };
        }
        if span.text == "\n" || wraps {
            rows.push(StyledLine::plain(" ".repeat(indent)));
            column = indent;
        }
        if at == buffer.cursor() && wraps {
            cursor = CursorSpot { row: rows.len() - 1, column };
        }
        if span.text != "\n" {
            let style = if span.is_folded { TextStyle::BOLD } else { TextStyle::PLAIN };
            rows.last_mut().expect("there is a row").push(&span.text, style);
            column += wide;
        }
    }
    if buffer.cursor() >= spans.len() {
        cursor = CursorSpot { row: rows.len() - 1, column };
    }
    // A single character can be wider than a very narrow row.
    cursor.column = cursor.column.min(width.saturating_sub(1));
    (rows, cursor)
}

fn search_row(query: &str, found: Option<&String>, layout: &PromptLayout) -> (Vec<StyledLine>, CursorSpot) {
    let width = layout.size.columns.saturating_sub(1);
    let entry = found.map(|text| text.replace('\n', " ")).unwrap_or_default();
    let label = format!("{SIGN}{}: {query}", say!("prompt-search"));
    let label = cut_text(&label, width.saturating_sub(1), layout.symbols);
    let cursor = CursorSpot { row: 0, column: columns(&label) };
    let mut line = StyledLine::plain(&label);
    let text = match (query.is_empty(), found) {
        (true, _) => String::new(),
        (false, None) => format!("  {}", say!("prompt-search-nothing")),
        (false, Some(_)) => format!("  {}", posse_core::text::visible(&entry)),
    };
    line.push(&text, TextStyle::PLAIN);
    (vec![line.cut(width, layout.symbols)], cursor)
}
