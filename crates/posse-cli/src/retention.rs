//! Which trees of tasks may be deleted, and when the configured caps are applied.

use std::path::Path;
use std::time::{Duration, SystemTime};

use posse_messages::say;
use posse_store::TaskTree;

use crate::args::GlobalArgs;
use crate::commands::in_background;
use crate::config::StoreConfig;
use crate::terminal;

/// The configured caps are applied at most this often.
const INTERVAL: Duration = Duration::from_secs(3_600);

/// The lowest priority there is.
const NICENESS: i32 = 19;

/// The file of the state directory that holds what the last `posse gc` did.
pub const REPORT: &str = "retention.json";

/// Limits beyond which trees go, the oldest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionCaps {
    pub age_ms: Option<u64>,
    pub bytes: Option<u64>,
}

impl RetentionCaps {
    pub fn of(config: &StoreConfig) -> Self {
        Self { age_ms: config.max_age.map(|age| millis(age.0)), bytes: config.max_size.map(|size| size.0) }
    }

    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Why a tree has to go, if it has to; `used_bytes` is what the store still holds.
    pub fn breach(self, tree: &TaskTree, now_ms: u64, used_bytes: u64) -> Option<CapBreach> {
        if self.age_ms.is_some_and(|age| now_ms.saturating_sub(tree.updated_ms) >= age) {
            return Some(CapBreach::Age);
        }
        self.bytes.is_some_and(|most| used_bytes > most).then_some(CapBreach::Size)
    }
}

/// The cap that a tree is beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapBreach {
    Age,
    Size,
}

/// A reason that keeps a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeepReason {
    Running,
    Interrupted,
    Unapplied,
    Uncollected,
    NewestOfRoom,
    /// It went on between the look and the deletion.
    Changed,
}

impl KeepReason {
    pub fn wire(self) -> &'static str {
        match self {
            KeepReason::Running => "running",
            KeepReason::Interrupted => "interrupted",
            KeepReason::Unapplied => "changes_not_applied",
            KeepReason::Uncollected => "result_not_collected",
            KeepReason::NewestOfRoom => "newest_of_room",
            KeepReason::Changed => "changed_meanwhile",
        }
    }
}

/// What is known of a tree beside its rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeState {
    /// A process drives one of its tasks.
    pub is_driven: bool,
    /// A worktree of it holds changes that nobody applied or discarded.
    pub has_changes: bool,
}

/// The reason that keeps a tree which is beyond a cap, or was named. Which results a host has collected is in that host's memory
/// alone, so those of a room count as not collected until the age cap has passed.
pub fn obstacle(tree: &TaskTree, state: TreeState, why: Option<CapBreach>) -> Option<KeepReason> {
    match () {
        () if state.is_driven => Some(KeepReason::Running),
        () if tree.running > 0 => Some(KeepReason::Interrupted),
        () if state.has_changes => Some(KeepReason::Unapplied),
        () if tree.is_hosted && why != Some(CapBreach::Age) => Some(KeepReason::Uncollected),
        // The next task of the room is numbered after the newest: an id is never given twice.
        () if tree.is_hosted && tree.is_newest => Some(KeepReason::NewestOfRoom),
        () => None,
    }
}

/// Applies the configured caps in a process of its own, with the lowest priority and at most once an hour: nothing here waits for it.
pub fn apply_later(global: &GlobalArgs, config: &StoreConfig, state: &Path) {
    if RetentionCaps::of(config).is_none() || !is_due(&state.join(REPORT)) {
        return;
    }
    if let Err(e) = in_background(global, &["gc".into()], NICENESS) {
        terminal::note(&say!("warning", text = say!("gc-not-started", why = e)));
    }
}

fn is_due(report: &Path) -> bool {
    let changed = std::fs::metadata(report).and_then(|about| about.modified());
    // A clock that was set back does not put it off for ever.
    changed.map_or(true, |then| SystemTime::now().duration_since(then).is_ok_and(|age| age >= INTERVAL))
}

pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
