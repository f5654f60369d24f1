//! Lists a directory, or draws the tree below it.

use std::os::fd::AsFd;
use std::path::Path;

use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::ToolOutput;
use posse_sandbox::workspace::show;
use rustix::fs::AtFlags;
use serde::Deserialize;

use crate::answer::{BoundedLines, NOTES_BYTES, count, name};
use crate::files::{Answer, FileJob, describe, number};
use crate::walk::{EntryKind, WalkOptions, entries, walk};

const LS_ENTRIES_MAX: usize = 500;
/// Names read from one directory; more are only said to exist.
const LS_NAMES_MAX: usize = 100_000;
const TREE_ENTRIES_MAX: usize = 400;
const TREE_DEPTH_DEFAULT: u64 = 3;
const TREE_DEPTH_MAX: u64 = 20;

const LS_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "Directory to list, relative to the workspace. Default: the workspace." }
  },
  "additionalProperties": false
}"#;

const TREE_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "Directory to show, relative to the workspace. Default: the workspace." },
    "depth": { "type": "integer", "minimum": 1, "maximum": 20, "description": "How many levels to show. Default 3." }
  },
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LsArguments {
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TreeArguments {
    path: Option<String>,
    #[serde(default, deserialize_with = "number")]
    depth: Option<u64>,
}

pub(crate) fn ls_spec() -> ToolSpec {
    describe(
        "ls",
        ToolEffect::Pure,
        "List one directory: directories first (with a `/`), then files with their size in bytes and symbolic links \
         with their target. Shows hidden and ignored entries too.",
        LS_SCHEMA,
    )
}

pub(crate) fn tree_spec() -> ToolSpec {
    describe(
        "directory_tree",
        ToolEffect::Pure,
        "Show the directories and files below a directory as an indented tree. Leaves out hidden files and what \
         .gitignore and .ignore name. Use it once to get an overview, then `glob`, `grep` and `ls` for details.",
        TREE_SCHEMA,
    )
}

pub(crate) fn ls(job: &FileJob, arguments: LsArguments) -> Answer {
    let path = job.context.workspace.path(arguments.path.as_deref().unwrap_or("."))?;
    let directory = job.context.workspace.open_directory(&path)?;
    job.check(&path, directory.as_fd())?;
    let (mut found, more) = entries(directory.as_fd(), LS_NAMES_MAX)
        .map_err(|cause| format!("cannot list `{}`: {cause}", show(&path)))?;
    found.sort_by(|(a, a_kind), (b, b_kind)| {
        (*a_kind != EntryKind::Directory).cmp(&(*b_kind != EntryKind::Directory)).then_with(|| a.cmp(b))
    });
    let mut out = BoundedLines::new(LS_ENTRIES_MAX, job.room - NOTES_BYTES);
    let mut shown = 0;
    for (entry, kind) in &found {
        let shown_name = name(entry);
        let line = match kind {
            EntryKind::Directory => format!("{shown_name}/"),
            EntryKind::File => match rustix::fs::statat(&directory, entry, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => format!("{shown_name}  {}", count(stat.st_size.unsigned_abs(), "byte")),
                Err(_) => format!("{shown_name}  (gone)"),
            },
            EntryKind::Link => match rustix::fs::readlinkat(&directory, entry, Vec::new()) {
                Ok(target) => format!("{shown_name} -> {}", show(Path::new(&*target.to_string_lossy()))),
                Err(_) => format!("{shown_name}  (gone)"),
            },
            EntryKind::Other => format!("{shown_name}  (pipe, socket or device)"),
        };
        if !out.push(&line) {
            break;
        }
        shown += 1;
    }
    let mut notes = Vec::new();
    if found.is_empty() {
        notes.push(format!("`{}` is an empty directory", show(&path)));
    } else if shown < found.len() {
        let left_out = count((found.len() - shown) as u64, "entry");
        notes.push(match more {
            true => format!("… at least {left_out} more; use `glob` with a pattern to see some of them"),
            false => format!("… {left_out} more; use `glob` with a pattern to see some of them"),
        });
    }
    Ok(ToolOutput::text(out.finish(&notes)))
}

pub(crate) fn tree(job: &FileJob, arguments: TreeArguments) -> Answer {
    let path = job.context.workspace.path(arguments.path.as_deref().unwrap_or("."))?;
    let directory = job.context.workspace.open_directory(&path)?;
    let depth = arguments.depth.unwrap_or(TREE_DEPTH_DEFAULT).clamp(1, TREE_DEPTH_MAX) as usize;
    let refuses = job.leaves_out(&path, job.check(&path, directory.as_fd())?);
    let options = WalkOptions { depth_max: depth, refuses: &refuses, ..WalkOptions::default() };
    let mut out = BoundedLines::new(TREE_ENTRIES_MAX + 1, job.room - NOTES_BYTES);
    out.push(&format!("{}/", show(&path)));
    let mut left_out = 0;
    let report = walk(&job.context.workspace, &path, directory, options, &job.cancel, &mut |entry| {
        let mark = match entry.kind {
            EntryKind::Directory if entry.depth == depth => "/ …",
            EntryKind::Directory => "/",
            EntryKind::Link => "@",
            EntryKind::File | EntryKind::Other => "",
        };
        if !out.push(&format!("{}{}{mark}", "  ".repeat(entry.depth), name(entry.name))) {
            left_out += 1;
        }
    });
    let mut notes = Vec::new();
    if left_out > 0 {
        let left_out = count(left_out, "entry");
        notes.push(format!("… {left_out} more within this depth; name a `path` or a smaller `depth`"));
    }
    if report.not_entered > 0 {
        let closed = count(report.not_entered, "directory");
        notes.push(format!("{closed} at depth {depth} not opened (marked …)"));
    }
    notes.extend(report.notes());
    Ok(ToolOutput::text(out.finish(&notes)))
}
