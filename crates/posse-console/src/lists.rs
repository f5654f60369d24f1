//! Tasks, sessions, leases, approvals and shared context in lists for people.

pub mod approvals;
pub mod context;
pub mod leases;
pub mod sessions;
pub mod tasks;

use posse_core::spans;
use posse_runtime::context::now_ms;

/// Formats the time since then.
pub fn age(then_ms: u64) -> String {
    spans::short(now_ms().saturating_sub(then_ms) / 1000)
}
