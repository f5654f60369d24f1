//! Changes of a task in its own worktree: show, apply or discard them.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use posse_core::lease::WritePaths;
use posse_core::{Error, ErrorCode, Result};
use posse_git::{AppliedChanges, GitWorktree};
use posse_messages::say;
use posse_runtime::leases::refuse_leased;
use posse_runtime::liveness as owner;
use posse_runtime::ports::TaskRow;
use posse_store::SqliteStore;
use serde_json::json;

use super::diff::show;
use super::find;
use crate::args::GlobalArgs;
use crate::setup::Setup;
use crate::terminal;
use crate::worktrees::trees;

/// Prints the patch: byte for byte for programs, colored for people.
pub fn diff(global: &GlobalArgs, row: &TaskRow, worktree: &GitWorktree) -> Result<ExitCode> {
    // Includes corrections that a person made in the worktree since.
    if !is_at_work(row) {
        worktree.keep()?;
    }
    let path = worktree.patch();
    let patch = std::fs::read(&path).map_err(|e| {
        let text = say!("patch-not-yet", task = row.id, path = path.display());
        Error::new(ErrorCode::TaskNotReady, text).hint(say!("patch-not-yet-hint")).caused_by(e)
    })?;
    if global.json {
        let changed: Vec<String> = if worktree.is_applied() { Vec::new() } else { worktree.keep()? };
        let (path, tree) = (path.display().to_string(), worktree.workspace().display().to_string());
        terminal::out(
            &json!({
                "task_id": row.id.as_str(),
                "patch": path,
                "worktree": (!worktree.is_applied()).then_some(tree),
                "applied": worktree.is_applied(),
                "changed_files": changed,
            })
            .to_string(),
        );
        return Ok(ExitCode::SUCCESS);
    }
    if patch.is_empty() {
        terminal::note(&say!("task-changed-nothing", task = row.id));
    } else if std::io::stdout().is_terminal() {
        show(&String::from_utf8_lossy(&patch));
    } else {
        std::io::stdout()
            .write_all(&patch)
            .map_err(|e| Error::new(ErrorCode::Io, say!("patch-not-written")).caused_by(e))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub async fn apply(global: &GlobalArgs, wanted: &str, protected: bool) -> Result<ExitCode> {
    let FoundWorktree { row, worktree, store } = FoundWorktree::of(global, wanted).await?;
    refuse_at_work(&row, "apply")?;
    if worktree.is_applied() {
        terminal::note(&say!("changes-applied-before", task = row.id));
        return Ok(ExitCode::SUCCESS);
    }
    let origin = worktree.origin().display().to_string();
    let files = worktree.changed_files()?;
    let paths = files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    refuse_leased(&*store, &row.id, WritePaths { workspace: origin.clone(), paths }).await?;
    let setup = Setup::load_in(global, worktree.origin().to_owned())?;
    let protection = (!protected).then(|| setup.sandbox.protection());
    let AppliedChanges { written, merged, same } = worktree.apply(protection)?;
    if global.json {
        terminal::out(
            &json!({
                "task_id": row.id.as_str(),
                "applied_to": origin,
                "written": written,
                "merged": merged,
                "unchanged": same,
            })
            .to_string(),
        );
        return Ok(ExitCode::SUCCESS);
    }
    for name in written {
        terminal::out(&say!("change-written", name));
    }
    for name in merged {
        terminal::out(&say!("change-merged", name));
    }
    terminal::note(&say!("changes-applied", origin));
    Ok(ExitCode::SUCCESS)
}

pub async fn discard(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let FoundWorktree { row, worktree, .. } = FoundWorktree::of(global, wanted).await?;
    refuse_at_work(&row, "discard")?;
    let applied = worktree.is_applied();
    worktree.discard()?;
    terminal::note(&match applied {
        true => say!("patch-removed", task = row.id),
        false => say!("changes-removed", task = row.id),
    });
    Ok(ExitCode::SUCCESS)
}

struct FoundWorktree {
    row: TaskRow,
    worktree: GitWorktree,
    store: std::sync::Arc<SqliteStore>,
}

impl FoundWorktree {
    async fn of(global: &GlobalArgs, wanted: &str) -> Result<Self> {
        let setup = Setup::load(global)?;
        let store = setup.store()?;
        let row = find(&*store, wanted).await?;
        let worktree = trees(&setup.state, &setup.workspace).find(&row.id)?;
        let worktree = worktree.ok_or_else(|| without_worktree(&row))?;
        Ok(Self { row, worktree, store })
    }
}

pub fn without_worktree(row: &TaskRow) -> Error {
    Error::new(ErrorCode::InvalidRequest, say!("task-without-worktree", task = row.id))
        .hint(say!("task-without-worktree-hint"))
}

fn is_at_work(row: &TaskRow) -> bool {
    row.state.is_running() && owner::lives(row)
}

/// Refuses for a running task, and for an interrupted one, which may be resumed and needs its files.
fn refuse_at_work(row: &TaskRow, what: &str) -> Result<()> {
    if !row.state.is_running() {
        return Ok(());
    }
    let task = &row.id;
    let (text, hint) = match is_at_work(row) {
        true => (say!("task-at-work", task, what), say!("task-at-work-hint")),
        false => (say!("task-was-interrupted", task, what), say!("task-was-interrupted-hint", task)),
    };
    Err(Error::new(ErrorCode::TaskNotReady, text).hint(hint))
}
