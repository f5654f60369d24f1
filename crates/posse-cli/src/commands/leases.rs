//! `posse leases`: list write leases, and release those whose holder is gone.

use std::path::Path;
use std::process::ExitCode;

use posse_console::lists::leases::{LeaseStanding, lease_cells, lease_json, lease_table};
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{JournalStore, LeaseStore};

use super::tasks::find;
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
    let mut table = lease_table();
    for lease in held {
        let row = store.task(&lease.task).await?;
        let standing = LeaseStanding::of(&lease, &row, setup.lease_ms());
        if global.json {
            terminal::out(&lease_json(&lease, &row, standing, setup.lease_ms()).to_string());
            continue;
        }
        let workspace = lists::short_path(Path::new(&lease.places.workspace));
        table.row(lease_cells(&lease, &row, standing, workspace));
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
