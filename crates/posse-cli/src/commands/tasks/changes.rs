//! Changes of a task, in its worktree or in place: show, apply or discard them.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use posse_core::journal::{Record, start_of};
use posse_core::lease::WritePaths;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_git::{AppliedChanges, GitWorktree};
use posse_messages::say;
use posse_runtime::leases::refuse_leased;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{JournalStore, TaskRow};
use posse_store::SqliteStore;
use posse_terminal::style::{StyledLine, TextStyle, columns};
use posse_tools::edits::{self, EditAuthor, EditSpan, EditedFile};
use serde_json::json;

use super::find;
use crate::args::GlobalArgs;
use crate::render::file;
use crate::setup::{self, PROCESS, Setup};
use crate::terminal;
use crate::worktrees::trees;

/// Prints the patch of a worktree, or the changes of a task and its subagents in the workspace they share.
pub async fn diff(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = setup::store_to_read(global)?;
    let row = find(&*store, wanted).await?;
    match trees(&setup.process, &setup.state, &setup.workspace).find(&row.id)? {
        Some(worktree) => in_worktree(global, &store, &row, &worktree).await,
        // Changes in a worktree were never in these files.
        None if start_of(&store.records(&row.id).await?)?.apart_from.is_some() => Err(without_worktree(&row)),
        None => in_place(global, &store, &row).await,
    }
}

/// Returns the patch of a task, as `posse tasks diff` prints it, and remarks about what it lacks.
pub async fn patch(
    store: &SqliteStore,
    state: &Path,
    workspace: &Path,
    row: &TaskRow,
) -> Result<(String, Vec<String>)> {
    if let Some(worktree) = trees(&PROCESS, state, workspace).find(&row.id)? {
        let patch = worktree_patch(row, &worktree)?;
        return Ok((String::from_utf8_lossy(&patch).into_owned(), Vec::new()));
    }
    let first = store.records_from(&row.id, 0, 1).await?;
    if let Some(Record::Started(start)) = first.first().map(|stored| &stored.record)
        && start.apart_from.is_some()
    {
        return Err(without_worktree(row));
    }
    let files = edits::gather(store, &row.id, EditSpan::Whole).await?;
    Ok((files.iter().filter_map(EditedFile::diff).collect(), files.iter().filter_map(gap_note).collect()))
}

/// Formats what the diff of a file lacks.
pub fn gap_note(EditedFile { change, gap, .. }: &EditedFile) -> Option<String> {
    gap.map(|gap| format!("{}: {}", visible(&change.path), gap.text()))
}

async fn in_place(global: &GlobalArgs, store: &SqliteStore, row: &TaskRow) -> Result<ExitCode> {
    let files = edits::gather(store, &row.id, EditSpan::Whole).await?;
    let patch: String = files.iter().filter_map(EditedFile::diff).collect();
    if global.json {
        let change = |file: &EditedFile| {
            let mut value = file.to_json();
            value["by"] = file.authors.iter().map(EditAuthor::to_json).collect();
            value
        };
        let changes: Vec<_> = files.iter().map(change).collect();
        let value = json!({ "task_id": row.id.as_str(), "changes": changes, "diff": patch });
        terminal::out(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    if files.is_empty() {
        terminal::note(&say!("task-changed-nothing", task = row.id));
    }
    show(&author_lines(&files), &patch);
    // On standard error, so that the patch on standard output can be applied.
    files.iter().filter_map(gap_note).for_each(|note| terminal::note(&note));
    Ok(ExitCode::SUCCESS)
}

/// Says who changed each file: `src/auth.rs  +2 −1  t_01 code-reviewer, turn 2`.
fn author_lines(files: &[EditedFile]) -> Vec<String> {
    let path = |file: &EditedFile| visible(&file.change.path).into_owned();
    let counts = |edit: &EditedFile| file(&edit.change, false)[path(edit).len()..].trim().to_owned();
    let widest = |text: &dyn Fn(&EditedFile) -> String| files.iter().map(|file| columns(&text(file))).max();
    let (paths, figures) = (widest(&path).unwrap_or(0), widest(&counts).unwrap_or(0));
    let author = |EditAuthor { task, agent, turns }: &EditAuthor, shown: String| {
        say!("edited-by", task = task.short(), agent = visible(agent), n = turns.len(), turns = shown)
    };
    let line = |file: &EditedFile| {
        let by: Vec<String> = file.authors.iter().map(|by| author(by, by.turn_list())).collect();
        let mut line = StyledLine::plain(path(file));
        line.pad_to(paths + 2);
        line.push(&counts(file), TextStyle::PLAIN);
        line.pad_to(paths + figures + 4);
        line.push(&by.join("; "), TextStyle::PLAIN);
        line.text().trim_end().to_owned()
    };
    files.iter().map(line).collect()
}

/// Prints who changed which file, and the patch: colored at a terminal. In a pipe the patch is all of standard output,
/// so that it can be applied.
fn show(authors: &[String], patch: &str) {
    let patch = patch.trim_end_matches('\n');
    if !std::io::stdout().is_terminal() {
        authors.iter().for_each(|line| terminal::note(line));
        if !patch.is_empty() {
            terminal::out(patch);
        }
        return;
    }
    let patch = patch.split('\n').map(|line| terminal::diff_line(&visible(line)));
    let lines: Vec<String> = authors.iter().cloned().chain([String::new()]).chain(patch).collect();
    terminal::page(lines.join("\n").trim_end());
}

/// Prints the patch: byte for byte for programs, colored for people.
async fn in_worktree(
    global: &GlobalArgs,
    store: &SqliteStore,
    row: &TaskRow,
    worktree: &GitWorktree,
) -> Result<ExitCode> {
    let (path, patch) = (worktree.patch(), worktree_patch(row, worktree)?);
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
        return Ok(ExitCode::SUCCESS);
    }
    let authors = author_lines(&edits::gather(store, &row.id, EditSpan::Whole).await?);
    if std::io::stdout().is_terminal() {
        show(&authors, &String::from_utf8_lossy(&patch));
    } else {
        authors.iter().for_each(|line| terminal::note(line));
        std::io::stdout()
            .write_all(&patch)
            .map_err(|e| Error::new(ErrorCode::Io, say!("patch-not-written")).caused_by(e))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the patch of a worktree, with corrections that a person made in it since.
pub fn worktree_patch(row: &TaskRow, worktree: &GitWorktree) -> Result<Vec<u8>> {
    if !is_at_work(row) {
        worktree.keep()?;
    }
    let path = worktree.patch();
    std::fs::read(&path).map_err(|e| {
        let text = say!("patch-not-yet", task = row.id, path = path.display());
        Error::new(ErrorCode::TaskNotReady, text).hint(say!("patch-not-yet-hint")).caused_by(e)
    })
}

pub async fn apply(global: &GlobalArgs, wanted: &str, protected: bool) -> Result<ExitCode> {
    let FoundWorktree { row, worktree, store } = FoundWorktree::of(global, wanted).await?;
    let Some(AppliedTree { origin, changes }) = write_back(global, &store, &row, worktree, protected).await?
    else {
        terminal::note(&say!("changes-applied-before", task = row.id));
        return Ok(ExitCode::SUCCESS);
    };
    let AppliedChanges { written, merged, same } = changes;
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

/// A worktree whose changes were written into the directory that it was made from.
pub struct AppliedTree {
    pub origin: String,
    pub changes: AppliedChanges,
}

/// Writes the changes of a worktree back; `None` if that was done before.
pub async fn write_back(
    global: &GlobalArgs,
    store: &SqliteStore,
    row: &TaskRow,
    worktree: GitWorktree,
    protected: bool,
) -> Result<Option<AppliedTree>> {
    refuse_at_work(row, "apply")?;
    if worktree.is_applied() {
        return Ok(None);
    }
    let origin = worktree.origin().display().to_string();
    let files = worktree.changed_files()?;
    let paths = files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    refuse_leased(store, &row.id, WritePaths { workspace: origin.clone(), paths }).await?;
    let setup = Setup::load_in(global, worktree.origin().to_owned())?;
    let protection = (!protected).then(|| setup.sandbox.protection());
    Ok(Some(AppliedTree { origin, changes: worktree.apply(protection)? }))
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
    store: Arc<SqliteStore>,
}

impl FoundWorktree {
    async fn of(global: &GlobalArgs, wanted: &str) -> Result<Self> {
        let setup = Setup::load(global)?;
        let store = setup.store()?;
        let row = find(&*store, wanted).await?;
        let worktree = trees(&setup.process, &setup.state, &setup.workspace).find(&row.id)?;
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

/// Refuses for a task that a living process drives.
pub fn refuse_driven(row: &TaskRow, what: &str) -> Result<()> {
    match is_at_work(row) {
        true => Err(Error::new(ErrorCode::TaskNotReady, say!("task-at-work", task = row.id, what))
            .hint(say!("task-at-work-hint"))),
        false => Ok(()),
    }
}

/// Refuses for a running task, and for an interrupted one, which may be resumed and needs its files.
pub fn refuse_at_work(row: &TaskRow, what: &str) -> Result<()> {
    if !row.state.is_running() {
        return Ok(());
    }
    refuse_driven(row, what)?;
    let task = &row.id;
    let text = say!("task-was-interrupted", task, what);
    Err(Error::new(ErrorCode::TaskNotReady, text).hint(say!("task-was-interrupted-hint", task)))
}
