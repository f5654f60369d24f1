//! Standard input as material for a task: `cat log | posse run "What failed?"`.
//!
//! A file is read to its end. A pipe may stay open without ever being written to (CI, ssh, programs that start
//! programs), so its first byte has to arrive within `SILENCE_MAX`, unless the command line says `-`.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use posse_core::material::{InputMaterial, READ_BYTES_MAX};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

use crate::terminal;

/// Longest wait for the first byte of a pipe.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// Patience with a silent pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipePatience {
    /// Default: the command line does not mention standard input.
    Short,
    Endless,
}

/// Appends standard input to a task, limited by the model's context window in tokens if that is known, and prints a
/// note.
pub fn with_material(task: String, patience: PipePatience, window_tokens: Option<u64>) -> Result<String> {
    let Some(bytes) = read(patience)? else { return Ok(task) };
    if bytes.is_empty() {
        return Ok(task);
    }
    let material = InputMaterial::new(&bytes, window_tokens);
    terminal::note(&material.note());
    Ok(format!("{task}\n\n{}", material.for_model()))
}

/// Reads standard input; `None` if it is a terminal or stays silent.
fn read(patience: PipePatience) -> Result<Option<Vec<u8>>> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Ok(None);
    }
    // A closed or unreadable descriptor has no material.
    let Ok(file) = input.as_fd().try_clone_to_owned().map(File::from) else { return Ok(None) };
    let Ok(kind) = file.metadata().map(|about| about.file_type()) else { return Ok(None) };
    let is_stream = kind.is_fifo() || kind.is_socket();
    if !is_stream && !kind.is_file() {
        return Ok(None);
    }
    if is_stream && patience == PipePatience::Short && !terminal::is_readable(&file, SILENCE_MAX) {
        terminal::note(&say!("stdin-silent"));
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let failed = |e| Error::new(ErrorCode::InvalidRequest, say!("stdin-unreadable")).caused_by(e);
    file.take(READ_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}
