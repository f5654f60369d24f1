//! `posse tasks diff`: changes of a task, in its worktree or in place.

use std::io::IsTerminal;
use std::process::ExitCode;

use posse_core::Result;
use posse_core::journal::start_of;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::{JournalStore, TaskRow};
use posse_store::SqliteStore;
use posse_tools::edits::{self, EditSpan, EditedFile};
use serde_json::json;

use super::{apart, find};
use crate::args::GlobalArgs;
use crate::setup::Setup;
use crate::terminal;
use crate::worktrees::trees;

/// Prints the patch of a worktree, or the changes of a task and its subagents in the workspace they share.
pub async fn diff(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = setup.store()?;
    let row = find(&*store, wanted).await?;
    match trees(&setup.state, &setup.workspace).find(&row.id)? {
        Some(worktree) => apart::diff(global, &row, &worktree),
        // Changes in a worktree were never in these files.
        None if start_of(&store.records(&row.id).await?)?.apart_from.is_some() => {
            Err(apart::without_worktree(&row))
        }
        None => in_place(global, &store, &row).await,
    }
}

async fn in_place(global: &GlobalArgs, store: &SqliteStore, row: &TaskRow) -> Result<ExitCode> {
    let files = edits::gather(store, &row.id, EditSpan::Whole).await?;
    let patch: String = files.iter().filter_map(EditedFile::diff).collect();
    if global.json {
        let changes: Vec<_> = files.iter().map(EditedFile::to_json).collect();
        let value = json!({ "task_id": row.id.as_str(), "changes": changes, "diff": patch });
        terminal::out(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    if files.is_empty() {
        terminal::note(&say!("task-changed-nothing", task = row.id));
    }
    if !patch.is_empty() {
        show(&patch);
    }
    // On standard error, so that the patch on standard output can be applied.
    for EditedFile { change, gap, .. } in &files {
        if let Some(gap) = gap {
            terminal::note(&format!("{}: {}", visible(&change.path), gap.text()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a patch, colored at a terminal.
pub fn show(patch: &str) {
    let patch = patch.trim_end_matches('\n');
    if !std::io::stdout().is_terminal() {
        return terminal::out(patch);
    }
    for line in patch.split('\n') {
        terminal::out(&terminal::diff_line(&visible(line)));
    }
}
