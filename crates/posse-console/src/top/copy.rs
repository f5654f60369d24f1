//! Copying to the clipboard of the terminal, which also works over SSH.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use posse_core::text::prefix;

/// Largest text: some terminals ignore a sequence of more than 100,000 bytes.
pub const COPY_BYTES_MAX: usize = 72_000;

/// Returns the sequence (OSC 52) that copies a text, cut to what terminals take.
pub fn sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(prefix(text, COPY_BYTES_MAX)))
}
