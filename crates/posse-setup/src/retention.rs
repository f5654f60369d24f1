//! Retention of tasks: the caps of the configuration, and when they are due.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use posse_core::id::TaskId;
use posse_core::sizes;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_store::{DeletedTrees, KeepReason, RetentionCaps, RetentionSweep, SpaceReturn, SweepMode};
use serde_json::{Value, json};

use crate::config::StoreConfig;

/// Minimum interval between two applications of the caps.
const INTERVAL: Duration = Duration::from_secs(3_600);

/// Ids listed per reason.
const NAMED_MAX: usize = 5;

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

/// Formats what was deleted for programs.
pub fn report(sweep: &RetentionSweep<'_>, mode: SweepMode, file_bytes: u64, returned: SpaceReturn) -> Value {
    let kept: BTreeMap<&str, usize> =
        sweep.kept.iter().map(|(reason, roots)| (reason.wire(), roots.len())).collect();
    let dry_run = mode == SweepMode::DryRun;
    json!({
        "type": "gc",
        "at_ms": now_ms(),
        "dry_run": dry_run,
        "trees": sweep.deleted.trees,
        "tasks": sweep.deleted.tasks,
        "bytes": sweep.deleted.bytes,
        "kept": kept,
        "store_bytes": file_bytes,
        "space_returned": returned == SpaceReturn::Done && !dry_run,
    })
}

/// Says what was deleted.
pub fn summary(deleted: DeletedTrees, mode: SweepMode, file_bytes: u64) -> String {
    let DeletedTrees { trees, tasks, bytes } = deleted;
    let (trees, tasks) = (say!("many-trees", n = trees), say!("many-tasks", n = tasks));
    let (size, now) = (sizes::in_words(bytes), sizes::in_words(file_bytes));
    match mode {
        SweepMode::DryRun => say!("gc-would-delete", trees, tasks, size, now),
        SweepMode::Delete => say!("gc-deleted", trees, tasks, size, now),
    }
}

/// Says why trees were kept.
pub fn kept_text(reason: KeepReason, roots: &[TaskId]) -> String {
    let named: Vec<&str> = roots.iter().take(NAMED_MAX).map(TaskId::as_str).collect();
    let mut tasks = named.join(", ");
    if roots.len() > NAMED_MAX {
        tasks = say!("gc-and-more", tasks, n = roots.len() - NAMED_MAX);
    }
    match reason {
        KeepReason::Running => say!("gc-kept-running", tasks),
        KeepReason::Interrupted => say!("gc-kept-interrupted", tasks),
        KeepReason::Unapplied => say!("gc-kept-unapplied", tasks),
        KeepReason::Uncollected => say!("gc-kept-uncollected", tasks),
        KeepReason::NewestOfRoom => say!("gc-kept-newest", tasks),
        KeepReason::Changed => say!("gc-kept-changed", tasks),
    }
}
