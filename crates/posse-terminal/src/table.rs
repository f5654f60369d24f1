//! Tables of lists: a header, aligned columns by display width, and columns that give way on a narrow terminal.

use crate::style::{StyledLine, SymbolSet, TextStyle, columns};

/// Spaces between two columns.
const GAP: usize = 2;

/// Columns that a flexible column has at most where the width is not limited.
const FLEXIBLE_MAX: usize = 60;

/// Side of a cell that is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellSide {
    Left,
    Right,
}

/// Behavior of a column on a narrow terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnFit {
    /// Always shown as wide as its widest cell.
    Fixed,
    /// Cut down to this width.
    Flexible(usize),
    /// Left out when the flexible columns are at their smallest; the highest rank goes first.
    Optional(u8),
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct TableColumn {
    header: String,
    side: CellSide,
    fit: ColumnFit,
}

impl TableColumn {
    /// Creates a column of text.
    pub fn text(header: impl Into<String>, fit: ColumnFit) -> Self {
        Self { header: header.into(), side: CellSide::Left, fit }
    }

    /// Creates a column of numbers, aligned to the right.
    pub fn number(header: impl Into<String>, fit: ColumnFit) -> Self {
        Self { header: header.into(), side: CellSide::Right, fit }
    }
}

/// A cell: text without line ends and control characters.
#[derive(Debug, Clone, Default)]
pub struct TableCell {
    text: String,
    style: TextStyle,
}

impl TableCell {
    /// Creates a cell with a style.
    pub fn styled(text: impl Into<String>, style: TextStyle) -> Self {
        Self { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self::styled(text, TextStyle::PLAIN)
    }
}

enum TableRow {
    Cells(Vec<TableCell>),
    /// A remark below a row, indented to the second column.
    Remark(String),
}

/// Rows under a header.
pub struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<TableRow>,
}

impl TextTable {
    /// Creates an empty table.
    pub fn new(columns: Vec<TableColumn>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Appends a row; cells that are missing are empty.
    pub fn row(&mut self, cells: Vec<TableCell>) {
        self.rows.push(TableRow::Cells(cells));
    }

    /// Appends a remark about the row before it.
    pub fn remark(&mut self, text: impl Into<String>) {
        self.rows.push(TableRow::Remark(text.into()));
    }

    /// Tells whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Lays the table out in this many columns, or as wide as it needs; the header comes first.
    pub fn lines(&self, width_max: Option<usize>, symbols: SymbolSet) -> Vec<StyledLine> {
        let widths = self.widths(width_max);
        let header = self.columns.iter().map(|column| TableCell::styled(&column.header, TextStyle::BOLD));
        let header = self.line(&header.collect::<Vec<_>>(), &widths, symbols);
        let indent = widths.first().copied().flatten().unwrap_or(0) + GAP;
        let rows = self.rows.iter().map(|row| match row {
            TableRow::Cells(cells) => self.line(cells, &widths, symbols),
            TableRow::Remark(text) => {
                let mut line = StyledLine::plain(" ".repeat(indent));
                line.push(text, TextStyle::DIM);
                line
            }
        });
        let cut = |line: StyledLine| width_max.map_or(line.clone(), |width| line.cut(width, symbols));
        std::iter::once(header).chain(rows).map(cut).collect()
    }

    /// Decides the width of each column; `None` for one that is left out.
    fn widths(&self, width_max: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> =
            (0..self.columns.len()).map(|index| Some(self.natural_width(index))).collect();
        let Some(width_max) = width_max else { return widths };
        let floor = |index: usize, width: usize| match self.columns[index].fit {
            ColumnFit::Flexible(least) => width.min(least),
            ColumnFit::Fixed | ColumnFit::Optional(_) => width,
        };
        let smallest = |widths: &[Option<usize>]| {
            let floors: Vec<Option<usize>> = widths
                .iter()
                .enumerate()
                .map(|(index, width)| width.map(|width| floor(index, width)))
                .collect();
            total(&floors)
        };
        while smallest(&widths) > width_max {
            let rank = |index: usize| match self.columns[index].fit {
                ColumnFit::Optional(rank) => Some(rank),
                ColumnFit::Fixed | ColumnFit::Flexible(_) => None,
            };
            let shown = (0..widths.len()).filter(|index| widths[*index].is_some());
            let Some((_, index)) = shown.filter_map(|index| Some((rank(index)?, index))).max() else { break };
            widths[index] = None;
        }
        // Flexible columns share what is left, the widest gives first.
        while total(&widths) > width_max {
            let flexible = (0..widths.len()).filter_map(|index| {
                let width = widths[index]?;
                (width > floor(index, width)).then_some((width, index))
            });
            let Some((width, index)) = flexible.max() else { break };
            widths[index] = Some(width - 1);
        }
        widths
    }

    fn natural_width(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| match row {
            TableRow::Cells(cells) => cells.get(index).map(|cell| columns(&cell.text)),
            TableRow::Remark(_) => None,
        });
        let column = &self.columns[index];
        let width = cells.chain([columns(&column.header)]).max().unwrap_or(0);
        match column.fit {
            ColumnFit::Flexible(_) => width.min(FLEXIBLE_MAX),
            ColumnFit::Fixed | ColumnFit::Optional(_) => width,
        }
    }

    fn line(&self, cells: &[TableCell], widths: &[Option<usize>], symbols: SymbolSet) -> StyledLine {
        let mut line = StyledLine::new();
        let empty = TableCell::default();
        let shown = self.columns.iter().zip(widths).enumerate();
        let shown = shown.filter_map(|(index, (column, width))| Some((index, column, (*width)?)));
        for (index, column, width) in shown {
            if !line.is_empty() {
                line.push(&" ".repeat(GAP), TextStyle::PLAIN);
            }
            let cell = cells.get(index).unwrap_or(&empty);
            let mut text = StyledLine::new();
            text.push(&cell.text, cell.style);
            let text = text.cut(width, symbols);
            let missing = " ".repeat(width.saturating_sub(text.width()));
            match column.side {
                CellSide::Left => {
                    line.extend(&text);
                    line.push(&missing, TextStyle::PLAIN);
                }
                CellSide::Right => {
                    line.push(&missing, TextStyle::PLAIN);
                    line.extend(&text);
                }
            }
        }
        trimmed(line)
    }
}

fn total(widths: &[Option<usize>]) -> usize {
    let shown: Vec<usize> = widths.iter().copied().flatten().collect();
    shown.iter().sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

/// Removes spaces at the end of a line.
fn trimmed(line: StyledLine) -> StyledLine {
    let mut kept = StyledLine::new();
    let end = line.text().trim_end().len();
    let mut at = 0;
    for span in line.spans() {
        let left = end.saturating_sub(at).min(span.text.len());
        kept.push(&span.text[..left], span.style);
        at += span.text.len();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new(vec![
            TableColumn::text("ID", ColumnFit::Fixed),
            TableColumn::text("TASK", ColumnFit::Flexible(8)),
            TableColumn::text("AGENT", ColumnFit::Optional(2)),
            TableColumn::number("COST", ColumnFit::Optional(1)),
        ]);
        table.row(vec!["k3v9".into(), "Review the auth code".into(), "lead".into(), "$0.076".into()]);
        table.remark("2 subagents: 1 completed, 1 partial");
        table.row(vec!["日本".into(), "エラーを直す".into(), "".into(), "$12".into()]);
        table
    }

    fn shown(width: Option<usize>) -> Vec<String> {
        table().lines(width, SymbolSet::Unicode).iter().map(StyledLine::text).collect()
    }

    #[test]
    fn columns_line_up_by_display_width_under_their_headers() {
        assert_eq!(
            shown(None),
            [
                "ID    TASK                  AGENT    COST",
                "k3v9  Review the auth code  lead   $0.076",
                "      2 subagents: 1 completed, 1 partial",
                "日本  エラーを直す                    $12",
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_first_cuts_the_flexible_column_then_loses_optional_ones() {
        assert_eq!(shown(Some(36))[1], "k3v9  Review the aut…  lead   $0.076");
        assert_eq!(shown(Some(24))[..2], ["ID    TASK          COST", "k3v9  Review th…  $0.076"]);
        assert_eq!(shown(Some(15))[1], "k3v9  Review t…");
        assert!(shown(Some(12)).iter().all(|line| columns(line) <= 12), "{:?}", shown(Some(12)));
    }

    #[test]
    fn a_flexible_column_is_bounded_where_the_width_is_not() {
        let mut table = TextTable::new(vec![TableColumn::text("TASK", ColumnFit::Flexible(8))]);
        table.row(vec!["x".repeat(500).into()]);
        assert_eq!(columns(&table.lines(None, SymbolSet::Unicode)[1].text()), FLEXIBLE_MAX);
    }
}
