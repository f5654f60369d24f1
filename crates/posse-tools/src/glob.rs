//! Finds files by the pattern of their path, newest first.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::ToolOutput;
use rustix::fs::AtFlags;
use serde::Deserialize;

use crate::answer::{BoundedLines, NOTES_BYTES, count, decode, name};
use crate::files::{Answer, FileJob, describe};
use crate::grep::names_hidden;
use crate::walk::{EntryKind, WalkOptions, walk};

const RESULTS_MAX: usize = 200;
const PATTERN_BYTES_MAX: usize = 4096;

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "pattern": { "type": "string", "description": "Glob such as `**/*.rs`, `src/**/test_*.py` or `*.{json,toml}`. `*` does not cross `/`, `**` does. A pattern without `/` matches file names at any depth." },
    "path": { "type": "string", "description": "Directory in which to look, relative to the workspace; the pattern is relative to it. Default: the workspace." }
  },
  "required": ["pattern"],
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GlobArguments {
    pattern: String,
    path: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    describe(
        "glob",
        ToolEffect::Pure,
        "Find files by name. Paths are relative to the workspace, most recently changed first. Leaves out what \
         .gitignore and .ignore name, and hidden files unless the pattern spells the dot. A note says exactly how \
         many did not fit.",
        SCHEMA,
    )
}

pub(crate) fn run(job: &FileJob, arguments: GlobArguments) -> Answer {
    let workspace = &job.context.workspace;
    let start = workspace.path(arguments.path.as_deref().unwrap_or("."))?;
    let (pattern, base) = relative_pattern(job, &arguments.pattern, &start)?;
    let matcher = matcher(&pattern)?;
    let directory = workspace.open_directory(&start)?;
    let mut found: Vec<(i128, PathBuf)> = Vec::new();
    let refuses = job.leaves_out(&start, job.check(&start, directory.as_fd())?);
    let options = WalkOptions { hidden: names_hidden(&pattern), refuses: &refuses, ..WalkOptions::default() };
    let report = walk(workspace, &start, directory, options, &job.cancel, &mut |entry| {
        let relative = entry.path.strip_prefix(&base).unwrap_or(entry.path);
        if entry.kind == EntryKind::Directory || !matcher.is_match(relative) {
            return;
        }
        let changed = rustix::fs::statat(entry.directory, entry.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(0, |stat| i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec));
        found.push((changed, entry.path.to_owned()));
    });
    found.sort_by(|(a_changed, a), (b_changed, b)| b_changed.cmp(a_changed).then_with(|| a.cmp(b)));
    let mut out = BoundedLines::new(RESULTS_MAX, job.room - NOTES_BYTES);
    let shown = found.iter().take_while(|(_, path)| out.push(&name(path.as_os_str()))).count();
    let mut notes = Vec::new();
    if found.is_empty() {
        notes.push(format!("no file matches `{}`", decode(arguments.pattern.as_bytes(), 200).text));
    } else if shown < found.len() {
        let more = count((found.len() - shown) as u64, "file");
        notes.push(format!("… {more} more, changed less recently; use a stricter pattern or a `path`"));
    }
    notes.extend(report.notes());
    Ok(ToolOutput::text(out.finish(&notes)))
}

/// The pattern and the directory it is relative to. Models also write patterns from the root of the file system.
fn relative_pattern(job: &FileJob, raw: &str, start: &Path) -> Result<(String, PathBuf), String> {
    if raw.is_empty() || raw.len() > PATTERN_BYTES_MAX {
        return Err(format!("the pattern must have between 1 and {PATTERN_BYTES_MAX} bytes"));
    }
    let mut pattern = raw;
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err("the pattern contains `..`; files outside the workspace cannot be listed".to_owned());
    }
    let Some(absolute) = pattern.strip_prefix('/') else { return Ok((pattern.to_owned(), start.to_owned())) };
    let root = job.context.workspace.root().to_string_lossy().into_owned();
    match absolute.strip_prefix(root.trim_start_matches('/')).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) if !rest.is_empty() => Ok((rest.to_owned(), PathBuf::new())),
        _ => Err(format!("the pattern is outside the workspace; patterns are relative to `{root}`")),
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let anywhere;
    let pattern = if pattern.contains('/') {
        pattern
    } else {
        anywhere = format!("**/{pattern}");
        &anywhere
    };
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|cause| format!("the pattern is not a glob: {cause}"))
}
