//! `posse leases`: list write leases, and release those whose holder is gone.

use std::path::Path;
use std::process::ExitCode;

use posse_core::context::wire::utc;
use posse_core::lease::Lease;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{JournalStore, LeaseStore, TaskRow};
use posse_terminal::table::{ColumnFit, TableColumn, TextTable};
use serde_json::json;

use super::tasks::{age, find};
use crate::args::{GlobalArgs, LeasesArgs, LeasesCommand};
use crate::setup::{self, Setup};
use crate::{lists, terminal};

pub async fn run(global: &GlobalArgs, args: LeasesArgs) -> Result<ExitCode> {
    match args.command {
        None => list(global).await,
        Some(LeasesCommand::Release { task, force }) => release(global, &task, force).await,
    }
}

async fn list(global: &GlobalArgs) -> Result<ExitCode> {
    let (setup, store) = (Setup::load(global)?, setup::store_to_read(global)?);
    let held = store.leases().await?;
    if held.is_empty() && !global.json {
        terminal::note(&say!("no-leases"));
    }
    let mut table = TextTable::new(vec![
        TableColumn::text(say!("column-task"), ColumnFit::Fixed),
        TableColumn::text(say!("column-state"), ColumnFit::Fixed),
        TableColumn::text(say!("column-paths"), ColumnFit::Flexible(16)),
        TableColumn::text(say!("column-workspace"), ColumnFit::Flexible(12)),
        TableColumn::number(say!("column-process"), ColumnFit::Optional(2)),
        TableColumn::number(say!("column-age"), ColumnFit::Optional(1)),
    ]);
    for lease in held {
        let row = store.task(&lease.task).await?;
        let standing = LeaseStanding::of(&lease, &row, setup.lease_ms());
        if global.json {
            terminal::out(&lease_json(&lease, &row, standing, setup.lease_ms()).to_string());
            continue;
        }
        table.row(vec![
            lease.task.as_str().into(),
            standing.word().into(),
            visible(&lease.places.paths.join(", ")).into_owned().into(),
            lists::short_path(Path::new(&lease.places.workspace)).into(),
            owner::pid(&row).into(),
            age(lease.since_ms).into(),
        ]);
    }
    if !table.is_empty() {
        lists::print(&table);
    }
    Ok(ExitCode::SUCCESS)
}

/// Releases a lease whose holder is gone, or with `force` any lease.
async fn release(global: &GlobalArgs, wanted: &str, force: bool) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = setup.store()?;
    let row = find(&*store, wanted).await?;
    let held = store.leases().await?.into_iter().find(|lease| lease.task == row.id);
    let Some(lease) = held else {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("lease-not-held", task = row.id))
            .hint(say!("lease-not-held-hint")));
    };
    let paths = visible(&lease.places.paths.join(", ")).into_owned();
    if LeaseStanding::of(&lease, &row, setup.lease_ms()) == LeaseStanding::Held {
        if !force {
            let text = say!("lease-in-use", task = row.id, process = owner::pid(&row), paths);
            return Err(Error::new(ErrorCode::LeaseHeld, text).hint(say!("lease-in-use-hint", task = row.id)));
        }
        terminal::note(&say!("lease-taken-away", task = row.id, paths));
    }
    store.end_lease(&lease.task, lease.token).await?;
    terminal::note(&say!("lease-released", paths, task = row.id));
    Ok(ExitCode::SUCCESS)
}

/// State of a lease, as another task that wants the same paths would find it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaseStanding {
    Held,
    /// Its process is alive but has stopped sending heartbeats.
    Expired,
    Dead,
}

impl LeaseStanding {
    fn of(lease: &Lease, row: &TaskRow, lease_ms: u64) -> Self {
        match owner::lives(row) {
            false => LeaseStanding::Dead,
            true if lease.is_expired(now_ms(), lease_ms) => LeaseStanding::Expired,
            true => LeaseStanding::Held,
        }
    }

    fn word(self) -> &'static str {
        match self {
            LeaseStanding::Held => "held",
            LeaseStanding::Expired => "expired",
            LeaseStanding::Dead => "dead",
        }
    }
}

fn lease_json(lease: &Lease, row: &TaskRow, standing: LeaseStanding, lease_ms: u64) -> serde_json::Value {
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
