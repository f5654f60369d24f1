//! `posse tasks cancel`: cancels a task in any process. A living process is told through the store; the tasks of a
//! dead one are ended here.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use posse_core::journal::start_of;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::state::TaskState;
use posse_core::{ErrorCode, Result};
use posse_messages::say;
use posse_runtime::driver::end_cancelled;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{JournalStore, TaskFilter, TaskQuery, TaskRow};
use posse_store::SqliteStore;
use serde_json::json;
use tokio::time::Instant;

use super::{find, sweep};
use crate::args::GlobalArgs;
use crate::setup;
use crate::terminal;

/// Longest wait: a process polls every second, and its commands get a few seconds to end.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

pub async fn run(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let mut row = find(&*store, wanted).await?;
    if !row.state.is_running() {
        return Ok(tell(&row, &say!("cancel-had-ended"), global.json));
    }
    let deadline = Instant::now() + PATIENCE;
    while row.state.is_running() {
        if !owner::lives(&row) {
            match end_tree(&store, &row, "nobody was driving it", false).await {
                Ok(_) => {}
                // Another process has just claimed it; that one is told.
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
    let note = if row.state == TaskState::Ended(OutcomeStatus::Cancelled) {
        String::new()
    } else {
        say!("cancel-too-late")
    };
    Ok(tell(&row, &note, global.json))
}

fn tell(row: &TaskRow, note: &str, json: bool) -> ExitCode {
    if json {
        terminal::out(
            &json!({ "task_id": row.id.as_str(), "status": row.state.wire(), "note": note }).to_string(),
        );
    } else {
        let note = if note.is_empty() { String::new() } else { format!(" · {note}") };
        terminal::out(&format!("{} · {}{note}", row.id, row.state));
    }
    match row.state {
        TaskState::Running => ExitCode::FAILURE,
        TaskState::Ended(_) => ExitCode::SUCCESS,
    }
}

/// Ends the task of a dead process and its children, except detached ones. A task that ends `with_parent` continues
/// when its orchestrator is resumed.
pub async fn end_tree(
    store: &SqliteStore,
    row: &TaskRow,
    why: &str,
    with_parent: bool,
) -> Result<Arc<Outcome>> {
    let epoch = store.claim_from(&row.id, row.epoch, &owner::owner()).await?;
    sweep(row.id.clone(), epoch).await;
    let outcome = end_cancelled(store, &row.id, epoch, why, with_parent).await?;
    let running = TaskQuery::running(TaskFilter::ChildrenOf(row.id.clone()));
    for child in store.find_tasks(running).await? {
        if owner::lives(&child) || start_of(&store.records(&child.id).await?)?.link.detached {
            continue;
        }
        let why = "its orchestrator was cancelled".to_owned();
        match Box::pin(end_tree(store, &child, &why, true)).await {
            Err(e) if e.code() != ErrorCode::OwnerLost => return Err(e),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(outcome)
}
