//! `posse tasks watch`: prints the events of a task and of everything below it until the task ends, whoever drives it.

use std::process::ExitCode;
use std::time::Duration;

use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::state::TaskState;
use posse_messages::say;
use posse_runtime::follow::{EventCursors, task_tree};
use posse_runtime::liveness as owner;
use posse_runtime::ports::{JournalStore, Observer};
use posse_store::SqliteStore;

use super::find;
use crate::args::GlobalArgs;
use crate::commands::exit_code;
use crate::render::{JsonEvents, PlainLines};
use crate::setup;
use crate::terminal;

/// Poll interval: shorter is not noticed, and polling costs next to nothing.
const LOOK: Duration = Duration::from_millis(250);

pub async fn run(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let id = find(&*store, wanted).await?.id;
    let lines = PlainLines::default();
    let observer: &dyn Observer = if global.json { &JsonEvents } else { &lines };
    let (mut watched, mut told) = (EventCursors::default(), String::new());
    loop {
        // The rows before the records: whatever is written in between is then part of the records.
        let rows = task_tree(&*store, &id).await?;
        for row in &rows {
            watched.follow(&*store, row, observer).await?;
        }
        let Some(row) = rows.first() else { return Ok(ExitCode::FAILURE) };
        // The exit code of the run itself, so that a script can wait for a task.
        if let TaskState::Ended(status) = row.state {
            if !global.json {
                print_answer(&store, &id).await?;
            }
            return Ok(exit_code(status));
        }
        if !owner::lives(row) && told != row.owner {
            terminal::note(&say!("nobody-drives", id));
            told.clone_from(&row.owner);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn print_answer(store: &SqliteStore, id: &TaskId) -> Result<()> {
    let records = store.records(id).await?;
    let outcome = records.iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome),
        _ => None,
    });
    if let Some(outcome) = outcome.filter(|outcome| !outcome.text.is_empty()) {
        terminal::out_foreign(&outcome.text);
    }
    Ok(())
}
