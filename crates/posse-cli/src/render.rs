//! Progress view of a session without a screen: one line per change, or JSON lines on request.

use std::sync::Arc;

use posse_runtime::lines::JsonLines;
use posse_runtime::ports::Observer;

pub use posse_console::partial::PartialText;
pub use posse_console::plain::{PlainLines, traces};
pub use posse_console::words::{count, file, price, tokens, with_subagents};

use crate::terminal;

/// Returns the observer that prints lines of JSON.
pub fn json_lines() -> JsonLines {
    JsonLines::new(terminal::out)
}

/// Returns the observer that prints one line per change.
pub fn plain_lines() -> PlainLines {
    PlainLines::new(terminal::note)
}

/// Picks the progress view for an output without a screen.
pub fn observer(json: bool) -> Arc<dyn Observer> {
    if json { Arc::new(json_lines()) } else { Arc::new(plain_lines()) }
}
