//! Write leases in lists.

use posse_core::context::wire::utc;
use posse_core::lease::Lease;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::ports::TaskRow;
use posse_terminal::table::{ColumnFit, TableCell, TableColumn, TextTable};
use serde_json::{Value, json};

use super::age;

/// Returns an empty list of leases.
pub fn lease_table() -> TextTable {
    TextTable::new(vec![
        TableColumn::text(say!("column-task"), ColumnFit::Fixed),
        TableColumn::text(say!("column-state"), ColumnFit::Fixed),
        TableColumn::text(say!("column-paths"), ColumnFit::Flexible(16)),
        TableColumn::text(say!("column-workspace"), ColumnFit::Flexible(12)),
        TableColumn::number(say!("column-process"), ColumnFit::Optional(2)),
        TableColumn::number(say!("column-age"), ColumnFit::Optional(1)),
    ])
}

/// Returns the cells of a lease.
pub fn lease_cells(
    lease: &Lease,
    row: &TaskRow,
    standing: LeaseStanding,
    workspace: String,
) -> Vec<TableCell> {
    vec![
        lease.task.as_str().into(),
        standing.word().into(),
        visible(&lease.places.paths.join(", ")).into_owned().into(),
        workspace.into(),
        owner::pid(row).into(),
        age(lease.since_ms).into(),
    ]
}

/// State of a lease, as another task that wants the same paths would find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStanding {
    /// Its process is alive.
    Held,
    /// Its process is alive but has stopped sending heartbeats.
    Expired,
    /// Its process is gone.
    Dead,
}

impl LeaseStanding {
    /// Looks at a lease.
    pub fn of(lease: &Lease, row: &TaskRow, lease_ms: u64) -> Self {
        match owner::lives(row) {
            false => LeaseStanding::Dead,
            true if lease.is_expired(now_ms(), lease_ms) => LeaseStanding::Expired,
            true => LeaseStanding::Held,
        }
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            LeaseStanding::Held => "held",
            LeaseStanding::Expired => "expired",
            LeaseStanding::Dead => "dead",
        }
    }
}

/// Formats a lease for programs.
pub fn lease_json(lease: &Lease, row: &TaskRow, standing: LeaseStanding, lease_ms: u64) -> Value {
    json!({
        "task_id": lease.task.as_str(),
        "agent": row.agent,
        "state": standing.word(),
        "workspace": lease.places.workspace,
        "paths": lease.places.paths,
        "acquired_at": utc(lease.since_ms),
        "expires_at": utc(lease.expires_ms(lease_ms)),
        "process": owner::pid(row),
        "epoch": lease.epoch,
        "token": lease.token,
    })
}
