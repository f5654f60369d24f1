//! Tasks in lists.

use posse_core::context::wire::utc;
use posse_core::id::TaskId;
use posse_core::spans;
use posse_core::text::visible;
use posse_core::usage::SpendingTotal;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::ports::TaskRow;
use posse_terminal::style::{AnsiColor, TextStyle};
use posse_terminal::table::{ColumnFit, TableCell, TableColumn};
use serde_json::{Value, json};

use super::age;
use crate::words::{count, price};

/// Returns the status; a running task whose process is gone is `interrupted`, and `queued` if nobody began it.
pub fn status(row: &TaskRow) -> &'static str {
    let is_begun = !row.owner.is_empty() || row.epoch > 1;
    match row.state.is_running() && !owner::lives(row) {
        true if is_begun => "interrupted",
        true => "queued",
        false => row.state.wire(),
    }
}

/// Formats a task for programs.
pub fn row_json(row: &TaskRow, tree: &SpendingTotal) -> Value {
    json!({
        "task_id": row.id.as_str(),
        "parent": row.parent.as_ref().map(TaskId::as_str),
        "agent": row.agent,
        "title": row.title,
        "status": status(row),
        "turns": row.turns(),
        "input_tokens": row.total.input_tokens,
        "output_tokens": row.total.output_tokens,
        "cost_usd": row.total.cost_usd(),
        "tree_cost_usd": tree.cost_usd(),
        "created_at": utc(row.created_ms),
        "updated_at": utc(row.updated_ms),
        // An ended task gets no more records.
        "completed_at": (!row.state.is_running()).then(|| utc(row.updated_ms)),
    })
}

/// Returns the columns of a list of tasks; `all` adds their project.
pub fn task_columns(all: bool) -> Vec<TableColumn> {
    let mut columns = vec![
        TableColumn::text(say!("column-id"), ColumnFit::Fixed),
        TableColumn::text(say!("column-state"), ColumnFit::Fixed),
        TableColumn::text(say!("column-agent"), ColumnFit::Optional(3)),
        TableColumn::text(say!("column-task"), ColumnFit::Flexible(16)),
    ];
    if all {
        columns.push(TableColumn::text(say!("column-project"), ColumnFit::Optional(4)));
    }
    columns.extend([
        TableColumn::number(say!("column-turns"), ColumnFit::Optional(6)),
        TableColumn::number(say!("column-tokens"), ColumnFit::Optional(5)),
        TableColumn::number(say!("column-cost"), ColumnFit::Optional(0)),
        TableColumn::number(say!("column-took"), ColumnFit::Optional(2)),
        TableColumn::number(say!("column-age"), ColumnFit::Optional(1)),
    ]);
    columns
}

/// Returns the cells of a task; `place` is its project, where the list has that column.
pub fn row_cells(row: &TaskRow, tree: &SpendingTotal, place: Option<String>) -> Vec<TableCell> {
    let title = row.title.lines().next().unwrap_or_default();
    let mut cells: Vec<TableCell> = vec![
        row.id.as_str().into(),
        TableCell::styled(status(row), style(status(row))),
        visible(&row.agent).into_owned().into(),
        visible(title).into_owned().into(),
    ];
    cells.extend(place.map(TableCell::from));
    cells.extend([
        TableCell::from(row.turns().to_string()),
        count(row.total.tokens()).into(),
        price(tree).into(),
        spans::short(took_ms(row) / 1000).into(),
        age(row.updated_ms).into(),
    ]);
    cells
}

/// Returns the time from the creation to the end, or to now.
pub fn took_ms(row: &TaskRow) -> u64 {
    let until =
        if row.state.is_running() && status(row) != "interrupted" { now_ms() } else { row.updated_ms };
    until.saturating_sub(row.created_ms)
}

fn style(status: &str) -> TextStyle {
    match status {
        "completed" => TextStyle::colored(AnsiColor::Green),
        "failed" => TextStyle::colored(AnsiColor::Red),
        "running" => TextStyle::colored(AnsiColor::Cyan),
        "partial" | "interrupted" => TextStyle::colored(AnsiColor::Yellow),
        _ => TextStyle::PLAIN,
    }
}
