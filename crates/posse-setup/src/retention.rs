//! Retention of tasks: the caps of the configuration, and when they are due.

use std::path::Path;
use std::time::{Duration, SystemTime};

use posse_store::RetentionCaps;

use crate::config::StoreConfig;

/// Minimum interval between two applications of the caps.
const INTERVAL: Duration = Duration::from_secs(3_600);

/// File in the state directory with the report of the last `posse gc`.
pub const REPORT: &str = "retention.json";

/// Returns the configured caps.
pub fn caps(config: &StoreConfig) -> RetentionCaps {
    RetentionCaps { age_ms: config.max_age.map(millis), bytes: config.max_size }
}

/// Tells whether the caps were not applied for a while.
pub fn is_due(state: &Path) -> bool {
    let changed = std::fs::metadata(state.join(REPORT)).and_then(|about| about.modified());
    // A clock that was set back must not postpone it forever.
    changed.map_or(true, |then| SystemTime::now().duration_since(then).is_ok_and(|age| age >= INTERVAL))
}

/// Converts a span to milliseconds.
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
