//! `posse tasks watch`: follows the journal of a task that another process drives, until the task has ended.

use std::process::ExitCode;
use std::time::Duration;

use posse_core::Result;
use posse_core::journal::Record;
use posse_messages::say;
use posse_runtime::ports::{Store, TaskRow};

use super::{find, lines};
use crate::args::GlobalArgs;
use crate::owner;
use crate::setup;
use crate::terminal;

/// A person does not notice less, and a reading of what is new costs next to nothing.
const LOOK: Duration = Duration::from_millis(250);

pub async fn run(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let id = find(&*store, wanted).await?.id;
    let (mut seen, mut told) = (0, String::new());
    loop {
        // The row first: what is written between the two readings is then part of the records.
        let row = store.task(&id).await?;
        let records = store.records_from(&id, seen).await?;
        seen += u32::try_from(records.len()).unwrap_or(u32::MAX);
        for record in &records {
            show(record, global.json);
        }
        if row.status != "running" {
            return Ok(exit_code(&row));
        }
        if !owner::lives(&row) && told != row.owner {
            terminal::note(&say!("nobody-drives", id));
            told.clone_from(&row.owner);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn show(record: &Record, json: bool) {
    if json {
        terminal::out(&String::from_utf8_lossy(&record.encode()));
        return;
    }
    for line in lines(record) {
        terminal::out_foreign(&line);
    }
}

/// As of the run itself, so that a script can wait for a task.
fn exit_code(row: &TaskRow) -> ExitCode {
    ExitCode::from(match row.status.as_str() {
        "completed" => 0,
        "partial" => 3,
        "cancelled" => 130,
        _ => 1,
    })
}
