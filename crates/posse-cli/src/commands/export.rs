//! `posse tasks export`: the whole conversation of a task, for programs.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use posse_core::Result;
use posse_core::text::visible;
use posse_mcp::files::unwritable;
use posse_messages::say;
use posse_runtime::follow::with_descendants;
use posse_runtime::ports::JournalStore;
use posse_telemetry::transcript;

use super::tasks::{find, status};
use crate::args::GlobalArgs;
use crate::setup;
use crate::terminal;

pub async fn run(global: &GlobalArgs, wanted: &str, out: Option<&Path>, tree: bool) -> Result<ExitCode> {
    let store = setup::store_to_read(global)?;
    let task = find(&*store, wanted).await?;
    let tasks = if tree { with_descendants(&*store, task).await? } else { vec![task] };
    let mut text = String::new();
    for task in &tasks {
        for line in transcript::lines(task, status(task), &store.records(&task.id).await?)? {
            text.push_str(&format!("{line}\n"));
        }
    }
    match out {
        None => terminal::deliver(text.trim_end()),
        Some(path) => {
            write(path, &text).map_err(|e| unwritable(path).caused_by(e))?;
            terminal::note(&say!("file-written", file = visible(&path.display().to_string())));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the transcript. It holds everything the task has seen, so a new file is readable by its owner only.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}
