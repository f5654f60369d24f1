//! `posse gc` and `posse tasks delete`: delete tasks and free their disk space.

use std::path::Path;
use std::process::ExitCode;

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result, sizes};
use posse_git::GitWorktrees;
use posse_messages::say;
use posse_runtime::ports::{JournalStore, TaskRow};
use posse_store::{
    RetentionCaps, RetentionSweep, SpaceReturn, SqliteStore, SweepEvent, SweepMode, TaskFiles,
};
use serde_json::json;

use super::tasks::{age, find};
use crate::args::{GcArgs, GlobalArgs};
use crate::retention::{REPORT, caps, kept_text, millis, report, summary};
use crate::setup::Setup;
use crate::terminal;
use crate::worktrees::trees;

pub async fn run(global: &GlobalArgs, args: &GcArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let caps = match args.older_than {
        Some(span) => RetentionCaps { age_ms: Some(millis(span)), bytes: None },
        None => caps(&setup.config.store),
    };
    if caps.is_none() {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("gc-no-rule")).hint(say!("gc-no-rule-hint")));
    }
    let mode = if args.dry_run { SweepMode::DryRun } else { SweepMode::Delete };
    let (store, files) = (setup.store()?, Worktrees(trees(&setup.process, &setup.state, &setup.workspace)));
    let mut tell = |event| show(&event, mode, global.json);
    let mut sweep = RetentionSweep::new(&store, &files, mode, &mut tell).await?;
    sweep.apply(caps).await?;
    finish(&sweep, &store, mode, global.json, &setup.state).await?;
    Ok(ExitCode::SUCCESS)
}

/// Deletes the trees of these tasks. `force` also deletes what would be kept, except tasks that a process drives.
pub async fn delete(global: &GlobalArgs, wanted: &[String], force: bool) -> Result<ExitCode> {
    let (setup, mode) = (Setup::load(global)?, SweepMode::Delete);
    let (store, files) = (setup.store()?, Worktrees(trees(&setup.process, &setup.state, &setup.workspace)));
    let mut tell = |event| show(&event, mode, global.json);
    let mut sweep = RetentionSweep::new(&store, &files, mode, &mut tell).await?;
    let mut named = Vec::new();
    for wanted in wanted {
        let row = find(&*store, wanted).await?;
        named.push(match sweep.tree(&row.id) {
            Some(tree) => tree,
            None => return Err(inside_tree(&store, row).await),
        });
    }
    named.dedup_by(|a, b| a.root == b.root);
    for tree in named {
        sweep.delete_named(tree, force).await?;
    }
    finish(&sweep, &store, mode, global.json, &setup.state).await?;
    Ok(if sweep.kept.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The worktrees as files of tasks.
struct Worktrees(GitWorktrees);

impl TaskFiles for Worktrees {
    fn has_changes(&self, task: &TaskId) -> bool {
        self.0.has_changes(task)
    }

    fn discard(&self, task: &TaskId) -> Result<()> {
        self.0.discard(task)
    }
}

/// Returns the error for a task inside of a tree, which names the root.
async fn inside_tree(store: &SqliteStore, row: TaskRow) -> Error {
    let text = say!("task-inside-tree", task = row.id);
    let mut root = row;
    while let Some(parent) = &root.parent
        && let Ok(above) = store.task(parent).await
    {
        root = above;
    }
    Error::new(ErrorCode::InvalidRequest, text).hint(say!("task-inside-tree-hint", root = root.id))
}

/// Prints one step: each for programs, candidates of a dry run for people.
fn show(event: &SweepEvent, mode: SweepMode, json: bool) {
    let dry_run = mode == SweepMode::DryRun;
    match event {
        SweepEvent::Deleted { root, tasks, bytes, .. } if json => {
            let (kind, id) = ("deleted", root.as_str());
            let line =
                json!({ "type": kind, "task_id": id, "tasks": tasks, "bytes": bytes, "dry_run": dry_run });
            terminal::out(&line.to_string());
        }
        SweepEvent::Deleted { root, tasks, bytes, updated_ms } if dry_run => {
            let (count, size) = (say!("many-tasks", n = *tasks), sizes::in_words(*bytes));
            terminal::out(&format!("{root:<14} {count:>10} {size:>10} {:>6}", age(*updated_ms)));
        }
        SweepEvent::Kept { root, reason } if json => {
            let line = json!({ "type": "kept", "task_id": root.as_str(), "why": reason.wire() });
            terminal::out(&line.to_string());
        }
        SweepEvent::FilesLeft(e) => terminal::warn(e),
        SweepEvent::Deleted { .. } | SweepEvent::Kept { .. } => {}
    }
}

/// Frees disk space and prints the report.
async fn finish(
    sweep: &RetentionSweep<'_>,
    store: &SqliteStore,
    mode: SweepMode,
    json: bool,
    state: &Path,
) -> Result<()> {
    let returned = sweep.give_back_space().await?;
    let file_bytes = store.size().await?.file_bytes;
    let report = report(sweep, mode, file_bytes, returned);
    if mode == SweepMode::Delete {
        // Only `posse doctor` reads this, so a failed write does not matter.
        let _ = std::fs::write(state.join(REPORT), report.to_string());
    }
    if json {
        terminal::out(&report.to_string());
        return Ok(());
    }
    terminal::note(&summary(sweep.deleted, mode, file_bytes));
    for (reason, roots) in &sweep.kept {
        terminal::note(&kept_text(*reason, roots));
    }
    if returned == SpaceReturn::NeedsRewrite {
        terminal::note(&say!("gc-needs-rewrite"));
    }
    Ok(())
}
