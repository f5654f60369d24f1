//! Tables: collected until they end, then aligned by display width.

use super::inline::{self, InlinePiece};
use super::wrap::WordWrapper;
use crate::style::{StylePalette, StyledLine, SymbolSet, TextStyle};

/// Rows that wait for the end of their table. A longer table is shown in parts of this many rows, each aligned by itself.
const ROWS_MAX: usize = 200;
/// Narrowest column whose text is wrapped; where columns would be narrower, each row becomes a list of its cells.
const COLUMN_MIN: usize = 8;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnSide {
    Left,
    Center,
    Right,
}

/// A table whose end was not seen yet.
#[derive(Debug, Clone)]
pub(super) struct TableBlock {
    sides: Vec<ColumnSide>,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// True until the header was shown.
    is_headed: bool,
}

/// Tells whether a line separates the header of a table from its rows.
pub(super) fn is_delimiter_row(line: &str) -> bool {
    let text = line.trim();
    text.contains('|') && text.contains('-') && split_cells(text).iter().all(|cell| side(cell).is_some())
}

impl TableBlock {
    /// Opens a table; `None` if header and delimiter row differ in their number of cells.
    pub(super) fn open(header: &str, delimiter: &str) -> Option<Self> {
        let sides: Option<Vec<ColumnSide>> = split_cells(delimiter).iter().map(|cell| side(cell)).collect();
        let (sides, header) = (sides?, split_cells(header));
        (sides.len() == header.len()).then_some(Self { sides, header, rows: Vec::new(), is_headed: true })
    }

    pub(super) fn add_row(&mut self, line: &str) {
        self.rows.push(split_cells(line));
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX
    }

    /// Renders the rows so far and forgets them.
    pub(super) fn flush(
        &mut self,
        width: usize,
        palette: StylePalette,
        symbols: SymbolSet,
    ) -> Vec<StyledLine> {
        let rows = std::mem::take(&mut self.rows);
        let is_headed = std::mem::take(&mut self.is_headed);
        // Cells beyond the header are kept: losing text is worse than a ragged table.
        let count = rows.iter().map(Vec::len).chain([self.sides.len()]).max().unwrap_or(0);
        let render = |cells: &[String], style| -> Vec<StyledLine> {
            (0..count).map(|at| cell(cells.get(at).map_or("", String::as_str), palette, style)).collect()
        };
        let header = render(&self.header, TextStyle::BOLD);
        let body: Vec<Vec<StyledLine>> = rows.iter().map(|row| render(row, TextStyle::PLAIN)).collect();
        let shown = if is_headed { Some(&header) } else { None };
        let natural: Vec<usize> = (0..count)
            .map(|at| shown.into_iter().chain(&body).map(|row| row[at].width()).max().unwrap_or(0).max(1))
            .collect();
        let room = width.saturating_sub(3 * count.saturating_sub(1));
        let Some(widths) = column_widths(&natural, room) else { return records(&header, &body, width) };
        let grid = TableGrid { widths, sides: &self.sides, symbols };
        let mut lines = Vec::new();
        if let Some(header) = shown {
            lines.extend(grid.row(header));
            lines.push(grid.rule());
        }
        lines.extend(body.iter().flat_map(|row| grid.row(row)));
        lines
    }
}

/// Splits a row at its unescaped bars.
fn split_cells(line: &str) -> Vec<String> {
    let text = line.trim();
    let text = text.strip_prefix('|').unwrap_or(text);
    let mut cells = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&'|') => {
                cells.last_mut().expect("one cell").extend(characters.next())
            }
            '|' => cells.push(String::new()),
            c => cells.last_mut().expect("one cell").push(c),
        }
    }
    // The bar at the end opens no cell.
    if cells.len() > 1 && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn side(cell: &str) -> Option<ColumnSide> {
    let marks = cell.trim_start_matches(':').trim_end_matches(':');
    if marks.is_empty() || marks.contains(|c| c != '-') {
        return None;
    }
    Some(match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => ColumnSide::Center,
        (false, true) => ColumnSide::Right,
        (_, false) => ColumnSide::Left,
    })
}

fn cell(text: &str, palette: StylePalette, base: TextStyle) -> StyledLine {
    let mut line = StyledLine::new();
    inline::render(text, palette, base, &mut |piece| match piece {
        InlinePiece::Text(text, style) => line.push(&text.replace('\t', " "), style),
        InlinePiece::LineBreak => line.push(" ", base),
    });
    line
}

/// Narrows the widest columns until all fit; `None` if one would be too narrow to read.
fn column_widths(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().sum::<usize>() <= room {
        return Some(natural.to_vec());
    }
    let sum = |cap: usize| natural.iter().map(|width| (*width).min(cap)).sum::<usize>();
    let cap = (COLUMN_MIN..=room).rev().find(|cap| sum(*cap) <= room)?;
    let mut left = room - sum(cap);
    let widen = |width: &usize| {
        let more = usize::from(*width > cap && left > 0);
        left -= more;
        (*width).min(cap) + more
    };
    Some(natural.iter().map(widen).collect())
}

/// Shows each row as lines of `header: cell`, where columns do not fit.
fn records(header: &[StyledLine], body: &[Vec<StyledLine>], width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    // A table without rows still says what its columns are.
    let rows: Vec<&[StyledLine]> =
        if body.is_empty() { vec![&[]] } else { body.iter().map(Vec::as_slice).collect() };
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            lines.push(StyledLine::new());
        }
        for (at, name) in header.iter().enumerate() {
            let empty = StyledLine::new();
            let value = row.get(at).unwrap_or(&empty);
            let mut wrapper = WordWrapper::new(width, StyledLine::new(), StyledLine::plain("  "));
            put_line(&mut wrapper, name);
            wrapper.put(": ", TextStyle::PLAIN);
            put_line(&mut wrapper, value);
            lines.extend(wrapper.finish());
        }
    }
    lines
}

fn put_line(wrapper: &mut WordWrapper, line: &StyledLine) {
    line.spans().iter().for_each(|span| wrapper.put(&span.text, span.style));
}

/// Widths and sides of the columns.
struct TableGrid<'a> {
    widths: Vec<usize>,
    sides: &'a [ColumnSide],
    symbols: SymbolSet,
}

impl TableGrid<'_> {
    /// Renders one row; cells that are too wide are wrapped inside their column.
    fn row(&self, cells: &[StyledLine]) -> Vec<StyledLine> {
        let wrap = |(cell, width): (&StyledLine, &usize)| {
            let mut wrapper = WordWrapper::new(*width, StyledLine::new(), StyledLine::new());
            put_line(&mut wrapper, cell);
            wrapper.finish()
        };
        let wrapped: Vec<Vec<StyledLine>> = cells.iter().zip(&self.widths).map(wrap).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
        (0..height).map(|at| self.line(&wrapped, at)).collect()
    }

    fn line(&self, wrapped: &[Vec<StyledLine>], at: usize) -> StyledLine {
        let bar = match self.symbols {
            SymbolSet::Unicode => " │ ",
            SymbolSet::Ascii => " | ",
        };
        let mut line = StyledLine::new();
        let last = wrapped.len().saturating_sub(1);
        for (column, cell) in wrapped.iter().enumerate() {
            if column > 0 {
                line.push(bar, TextStyle::DIM);
            }
            let empty = StyledLine::new();
            let cell = cell.get(at).unwrap_or(&empty);
            let free = self.widths[column].saturating_sub(cell.width());
            let before = match self.sides.get(column).copied().unwrap_or(ColumnSide::Left) {
                ColumnSide::Left => 0,
                ColumnSide::Center => free / 2,
                ColumnSide::Right => free,
            };
            line.push(&" ".repeat(before), TextStyle::PLAIN);
            line.extend(cell);
            if column < last {
                line.push(&" ".repeat(free - before), TextStyle::PLAIN);
            }
        }
        line
    }

    fn rule(&self) -> StyledLine {
        let (dash, cross) = match self.symbols {
            SymbolSet::Unicode => ("─", "─┼─"),
            SymbolSet::Ascii => ("-", "-+-"),
        };
        let parts: Vec<String> = self.widths.iter().map(|width| dash.repeat(*width)).collect();
        let mut line = StyledLine::new();
        line.push(&parts.join(cross), TextStyle::DIM);
        line
    }
}
