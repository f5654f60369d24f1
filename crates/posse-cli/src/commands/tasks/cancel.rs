//! `posse tasks cancel`: ends a task whoever drives it. A living process is told through the store; what a dead one left is
//! ended here.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use posse_core::journal::start_of;
use posse_core::outcome::Outcome;
use posse_core::{ErrorCode, Result};
use posse_messages::{fixed, say};
use posse_runtime::driver::end_cancelled;
use posse_runtime::ports::{Store, TaskFilter, TaskQuery, TaskRow};
use posse_store::SqliteStore;
use serde_json::json;
use tokio::time::Instant;

use super::{find, sweep};
use crate::args::GlobalArgs;
use crate::owner;
use crate::setup;
use crate::terminal;

/// A process hears of it within a second, and a command it runs has a few to end.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

pub async fn run(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let mut row = find(&*store, wanted).await?;
    if row.status != "running" {
        return Ok(tell(&row, &say!("cancel-had-ended"), global.json));
    }
    let deadline = Instant::now() + PATIENCE;
    while row.status == "running" {
        if !owner::lives(&row) {
            match end_tree(&store, &row, &fixed!("nobody-was-driving"), false).await {
                Ok(_) => {}
                // Somebody took it over in this moment; they are told.
                Err(e) if e.code() == ErrorCode::OwnerLost => {}
                Err(e) => return Err(e),
            }
        } else if !row.cancel_requested {
            store.request_cancel(&row.id).await?;
        } else if Instant::now() > deadline {
            let note = say!("cancel-not-yet", process = owner::pid(&row));
            return Ok(tell(&row, &note, global.json));
        } else {
            tokio::time::sleep(LOOK).await;
        }
        row = store.task(&row.id).await?;
    }
    let note = if row.status == "cancelled" { String::new() } else { say!("cancel-too-late") };
    Ok(tell(&row, &note, global.json))
}

fn tell(row: &TaskRow, note: &str, json: bool) -> ExitCode {
    if json {
        terminal::out(&json!({ "task_id": row.id.as_str(), "status": row.status, "note": note }).to_string());
    } else {
        let note = if note.is_empty() { String::new() } else { format!(" · {note}") };
        terminal::out(&format!("{} · {}{note}", row.id, row.status));
    }
    match row.status.as_str() {
        "running" => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// Ends what a dead process left of a task and of its children. Those that were detached go on without it.
/// A task that ends `with_parent` goes on when its orchestrator is resumed.
pub async fn end_tree(
    store: &SqliteStore,
    row: &TaskRow,
    why: &str,
    with_parent: bool,
) -> Result<Arc<Outcome>> {
    let epoch = store.claim_from(&row.id, row.epoch, &owner::owner()).await?;
    sweep(row.id.clone(), epoch).await;
    let outcome = end_cancelled(store, &row.id, epoch, why, with_parent).await?;
    let (of, status) = (TaskFilter::ChildrenOf(row.id.clone()), Some("running".to_owned()));
    for child in store.find_tasks(TaskQuery { status, ..TaskQuery::of(of) }).await? {
        if owner::lives(&child) || start_of(&store.records(&child.id).await?)?.detached {
            continue;
        }
        let why = fixed!("orchestrator-was-cancelled");
        match Box::pin(end_tree(store, &child, &why, true)).await {
            Err(e) if e.code() != ErrorCode::OwnerLost => return Err(e),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(outcome)
}
