//! `posse tasks cancel`: cancels a task in any process. A living process is told through the store; the tasks of a
//! dead one are ended here.

use std::process::ExitCode;

use posse_core::Result;
use posse_core::state::TaskState;
use posse_messages::say;
use posse_runtime::liveness as owner;
use posse_runtime::ports::TaskRow;
use posse_runtime::worker::{CancelEnd, cancel};
use posse_sandbox::supervisor::sweep;
use serde_json::json;

use super::find;
use crate::args::GlobalArgs;
use crate::setup;
use crate::terminal;

pub async fn run(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let row = find(&*store, wanted).await?;
    let (row, end) = cancel(&*store, row, sweep).await?;
    let note = match end {
        CancelEnd::Cancelled => String::new(),
        CancelEnd::HadEnded => say!("cancel-had-ended"),
        CancelEnd::TooLate => say!("cancel-too-late"),
        CancelEnd::NotYet => say!("cancel-not-yet", process = owner::pid(&row)),
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
