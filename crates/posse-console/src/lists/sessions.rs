//! Sessions in lists.

use posse_core::context::TOTAL_TOKENS_MAX;
use posse_core::context::wire::utc;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::SessionRow;
use posse_terminal::table::{ColumnFit, TableColumn, TextTable};
use serde_json::{Value, json};

use super::age;

/// Lists sessions as a table.
pub fn session_table(rows: &[SessionRow]) -> TextTable {
    let mut table = TextTable::new(vec![
        TableColumn::text(say!("column-id"), ColumnFit::Fixed),
        TableColumn::text(say!("column-state"), ColumnFit::Optional(1)),
        TableColumn::text(say!("column-title"), ColumnFit::Flexible(16)),
        TableColumn::number(say!("column-tasks"), ColumnFit::Optional(2)),
        TableColumn::number(say!("column-keys"), ColumnFit::Optional(3)),
        TableColumn::number(say!("column-tokens"), ColumnFit::Optional(4)),
        TableColumn::number(say!("column-age"), ColumnFit::Optional(0)),
    ]);
    for row in rows {
        let title = row.title.lines().next().unwrap_or_default();
        table.row(vec![
            row.id.as_str().into(),
            state_word(row).into(),
            visible(title).into_owned().into(),
            row.tasks.to_string().into(),
            row.keys.to_string().into(),
            format!("{}/{TOTAL_TOKENS_MAX}", row.tokens).into(),
            age(row.created_ms).into(),
        ]);
    }
    table
}

fn state_word(row: &SessionRow) -> String {
    if row.archived_ms.is_some() { say!("state-archived") } else { say!("state-open") }
}

fn state(row: &SessionRow) -> &'static str {
    if row.archived_ms.is_some() { "archived" } else { "open" }
}

/// Formats a session for programs.
pub fn session_json(row: &SessionRow) -> Value {
    json!({
        "session_id": row.id,
        "state": state(row),
        "title": row.title,
        "tasks": row.tasks,
        "keys": row.keys,
        "total_size_tokens": row.tokens,
        "limit_tokens": TOTAL_TOKENS_MAX,
        "created_at": utc(row.created_ms),
        "archived_at": row.archived_ms.map(utc),
    })
}
