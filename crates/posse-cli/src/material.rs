//! Standard input as material for a task: `cat log | posse run "What failed?"`.
//!
//! A file is read to its end. A pipe may stay open without ever being written to (CI, ssh, programs that start
//! programs), so its first byte has to arrive within `SILENCE_MAX`, unless the command line says `-`.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use posse_core::provenance::marked;
use posse_core::text::head_and_tail;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

use crate::{sizes, terminal};

/// Longest wait for the first byte of a pipe.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// Maximum bytes read: a stream need not end.
const READ_BYTES_MAX: u64 = 16 << 20;

/// Maximum bytes sent to the model.
const BYTES_MAX: usize = 256 << 10;

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
    let material = Material::of(&bytes, bytes_max(window_tokens));
    terminal::note(&material.note());
    Ok(format!("{task}\n\n{}", material.for_model()))
}

/// Half of the window, at four bytes per token.
fn bytes_max(window_tokens: Option<u64>) -> usize {
    let half = window_tokens.and_then(|tokens| usize::try_from(tokens.saturating_mul(2)).ok());
    half.map_or(BYTES_MAX, |half| half.min(BYTES_MAX))
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

/// Material as sent to the model.
#[derive(Debug, PartialEq, Eq)]
struct Material {
    text: String,
    /// Bytes that were read, and true if there were more.
    bytes: u64,
    has_more: bool,
    is_cut: bool,
}

impl Material {
    fn of(bytes: &[u8], bytes_max: usize) -> Self {
        let read = bytes.len().min(READ_BYTES_MAX as usize);
        let whole = String::from_utf8_lossy(&bytes[..read]);
        let is_cut = whole.len() > bytes_max;
        let text = if is_cut { head_and_tail(&whole, bytes_max) } else { whole.into_owned() };
        Self { text, bytes: read as u64, has_more: bytes.len() > read, is_cut }
    }

    fn for_model(&self) -> String {
        let text = marked("standard input", &self.text);
        let intro = match (self.has_more, self.is_cut) {
            (false, false) => "Standard input that came with the task:".to_owned(),
            (false, true) => format!(
                "Standard input that came with the task: the beginning and the end of {} bytes:",
                self.bytes
            ),
            (true, _) => format!(
                "Standard input that came with the task: the beginning and the end of its first {} \
                 bytes; the rest was not read:",
                self.bytes
            ),
        };
        format!("{intro}\n{text}")
    }

    fn note(&self) -> String {
        let (size, shown) = (sizes::in_words(self.bytes), sizes::in_words(self.text.len() as u64));
        match (self.has_more, self.is_cut) {
            (false, false) => say!("stdin-taken", size),
            (false, true) => say!("stdin-cut", size, shown),
            (true, _) => say!("stdin-endless", size, shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_is_cut_in_the_middle_and_the_model_is_told() {
        let small = Material::of(b"one\ntwo", 100);
        assert_eq!((small.text.as_str(), small.is_cut), ("one\ntwo", false));
        let long = format!("BEGIN{}END", "x".repeat(1_000));
        let cut = Material::of(long.as_bytes(), 100);
        assert!(cut.text.starts_with("BEGIN") && cut.text.ends_with("END") && cut.text.len() < 200);
        assert!(cut.for_model().contains("1008 bytes"), "{}", cut.for_model());
        assert_eq!(bytes_max(Some(8_000)), 16_000);
        assert_eq!((bytes_max(Some(1_000_000)), bytes_max(None)), (BYTES_MAX, BYTES_MAX));
    }
}
