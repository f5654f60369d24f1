//! `posse tasks undo`: takes back the file changes of a task, and says what it could not take back.

use std::path::Path;
use std::process::ExitCode;

use posse_core::journal::start_of;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::ports::JournalStore;
use posse_tools::edits::EditSpan;
use posse_tools::edits::undo::{self, UndoAction, UndoStep};
use serde_json::json;

use super::changes::refuse_driven;
use super::find;
use crate::args::GlobalArgs;
use crate::setup;
use crate::terminal;

/// Exit code of an undo that kept a file.
const PARTIAL: u8 = 3;

pub async fn run(global: &GlobalArgs, wanted: &str, span: EditSpan, dry_run: bool) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let row = find(&*store, wanted).await?;
    refuse_driven(&row, "undo")?;
    let start = start_of(&store.records(&row.id).await?)?;
    if start.apart_from.is_some() && !Path::new(&start.workspace).is_dir() {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("undo-apart", task = row.id)));
    }
    let plan = undo::plan(&*store, &row.id, span).await?;
    let steps = if dry_run { plan.steps() } else { plan.perform(&*store).await? };
    if global.json {
        let files: Vec<_> = steps.iter().map(UndoStep::to_json).collect();
        let value = json!({ "task_id": row.id.as_str(), "dry_run": dry_run, "files": files });
        terminal::out(&value.to_string());
    } else {
        if steps.is_empty() {
            terminal::note(&say!("task-changed-nothing", task = row.id));
        }
        for step in &steps {
            terminal::out(&line(step, dry_run));
        }
    }
    let is_whole = !steps.iter().any(UndoStep::is_kept);
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(PARTIAL) })
}

/// Says what was done with a file, or would be.
pub fn line(step: &UndoStep, dry_run: bool) -> String {
    let path = visible(&step.path);
    match &step.action {
        UndoAction::Restore if dry_run => say!("undo-would-restore", path),
        UndoAction::Remove if dry_run => say!("undo-would-remove", path),
        UndoAction::Restore => say!("undo-restored", path),
        UndoAction::Remove => say!("undo-removed", path),
        UndoAction::Nothing => say!("undo-nothing", path),
        UndoAction::Keep(why) => say!("undo-kept", path, why = visible(&why.text().to_string())),
    }
}
