//! `posse tasks export`: the whole conversation of a task, for programs.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::follow::with_descendants;
use posse_runtime::ports::JournalStore;
use posse_telemetry::transcript;

use super::tasks::{find, status};
use crate::args::GlobalArgs;
use crate::setup::Setup;
use crate::terminal::{self, OutputDelivery};

pub async fn run(global: &GlobalArgs, wanted: &str, out: Option<&Path>, tree: bool) -> Result<ExitCode> {
    let store = Setup::load(global)?.store()?;
    let task = find(&*store, wanted).await?;
    let tasks = if tree { with_descendants(&*store, task).await? } else { vec![task] };
    let mut text = String::new();
    for task in &tasks {
        for line in transcript::lines(task, status(task), &store.records(&task.id).await?)? {
            text.push_str(&format!("{line}\n"));
        }
    }
    let Some(path) = out else {
        return Ok(match terminal::deliver(text.trim_end()) {
            OutputDelivery::Done => ExitCode::SUCCESS,
            OutputDelivery::Failed => ExitCode::FAILURE,
        });
    };
    write(path, &text)?;
    terminal::note(&say!("file-written", file = visible(&path.display().to_string())));
    Ok(ExitCode::SUCCESS)
}

/// Writes the transcript. It holds everything the task has seen, so a new file is readable by its owner only.
fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |e: std::io::Error| {
        Error::new(ErrorCode::Io, say!("cannot-be-written", path = path.display())).caused_by(e)
    };
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}
