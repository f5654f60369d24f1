//! Applies the configured retention caps in the background.

use std::path::Path;

use posse_messages::say;
use posse_setup::config::StoreConfig;
use posse_setup::retention::is_due;

pub use posse_setup::retention::{REPORT, caps, kept_text, millis, report, summary};

use crate::args::GlobalArgs;
use crate::commands::in_background;
use crate::terminal;

/// Lowest priority.
const NICENESS: i32 = 19;

/// Applies the configured caps in a background process, with the lowest priority and at most once an hour.
pub fn apply_later(global: &GlobalArgs, config: &StoreConfig, state: &Path) {
    if caps(config).is_none() || !is_due(state) {
        return;
    }
    if let Err(e) = in_background(global, &["gc".into()], NICENESS) {
        terminal::note(&say!("warning", text = say!("gc-not-started", why = e)));
    }
}
