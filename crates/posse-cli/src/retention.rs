//! Applies the configured retention caps in the background.

use std::path::Path;
use std::time::{Duration, SystemTime};

use posse_messages::say;
use posse_store::RetentionCaps;

use crate::args::GlobalArgs;
use crate::commands::in_background;
use crate::config::StoreConfig;
use crate::terminal;

/// Minimum interval between two applications of the caps.
const INTERVAL: Duration = Duration::from_secs(3_600);

/// Lowest priority.
const NICENESS: i32 = 19;

/// File in the state directory with the report of the last `posse gc`.
pub const REPORT: &str = "retention.json";

/// Returns the configured caps.
pub fn caps(config: &StoreConfig) -> RetentionCaps {
    RetentionCaps { age_ms: config.max_age.map(millis), bytes: config.max_size }
}

/// Applies the configured caps in a background process, with the lowest priority and at most once an hour.
pub fn apply_later(global: &GlobalArgs, config: &StoreConfig, state: &Path) {
    if caps(config).is_none() || !is_due(&state.join(REPORT)) {
        return;
    }
    if let Err(e) = in_background(global, &["gc".into()], NICENESS) {
        terminal::note(&say!("warning", text = say!("gc-not-started", why = e)));
    }
}

fn is_due(report: &Path) -> bool {
    let changed = std::fs::metadata(report).and_then(|about| about.modified());
    // A clock that was set back must not postpone it forever.
    changed.map_or(true, |then| SystemTime::now().duration_since(then).is_ok_and(|age| age >= INTERVAL))
}

pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
