//! Modes that were chosen in conversations and not used yet: a message journals its mode, leaving before it does not.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use posse_core::id::TaskId;
use posse_core::mode::WorkMode;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

/// Keeps the mode of the next message; `None` forgets it.
pub(super) fn keep(state: &Path, id: &TaskId, mode: Option<WorkMode>) -> Result<()> {
    let file = file(state, id);
    let done = match mode {
        Some(mode) => fs::create_dir_all(directory(state)).and_then(|()| fs::write(&file, mode.wire())),
        None => fs::remove_file(&file).or_else(|e| match e.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(e),
        }),
    };
    done.map_err(|e| Error::new(ErrorCode::Io, say!("chat-mode-not-kept")).caused_by(e))
}

/// Returns the mode that was kept for the next message.
pub(super) fn of(state: &Path, id: &TaskId) -> Option<WorkMode> {
    WorkMode::from_wire(fs::read_to_string(file(state, id)).ok()?.trim())
}

fn directory(state: &Path) -> PathBuf {
    state.join("chat-modes")
}

fn file(state: &Path, id: &TaskId) -> PathBuf {
    directory(state).join(id.as_str().replace('/', "-"))
}
