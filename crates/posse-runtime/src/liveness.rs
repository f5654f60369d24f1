//! Owner of a task: the process that drives it, and whether that process is alive. Process ids are reused, so the
//! start time counts too; a process of another machine, container or boot is judged by its heartbeats in the store.

use std::time::Duration;

use crate::context::now_ms;
use crate::ports::TaskRow;

/// Silence after which an owner on another machine counts as dead. Heartbeats come every five seconds.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Returns the owner name of this process: id, start time and scope.
pub fn owner() -> String {
    let pid = std::process::id();
    format!("{pid}:{}:{}", started_at(pid).unwrap_or_default(), here())
}

/// Tells if the process that drives a running task is alive.
pub fn lives(row: &TaskRow) -> bool {
    lives_at(&row.owner, row.seen_ms, now_ms(), &here())
}

/// Returns the process id, for people.
pub fn pid(row: &TaskRow) -> &str {
    row.owner.split(':').next().unwrap_or_default()
}

fn lives_at(owner: &str, seen_ms: u64, now_ms: u64, here: &str) -> bool {
    let mut parts = owner.splitn(3, ':');
    let (Some(pid), Some(started)) = (parts.next(), parts.next()) else { return false };
    if parts.next().is_some_and(|place| place != here) {
        return u128::from(now_ms.saturating_sub(seen_ms)) <= SILENCE_MAX.as_millis();
    }
    pid.parse().ok().and_then(started_at).is_some_and(|ticks| ticks.to_string() == started)
}

/// Scope in which process ids are unique: this boot of this machine, and this PID namespace.
fn here() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let number: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("{}-{number}", boot.trim().get(..8).unwrap_or_default())
}

/// Returns the start time of a process in clock ticks since boot; `None` if it is gone or a zombie.
fn started_at(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, so count from its end.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if fields.first() == Some(&"Z") {
        return None;
    }
    fields.get(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_this_machine_is_looked_at_and_another_is_listened_to() {
        let me = owner();
        let (pid, rest) = me.split_once(':').unwrap();
        let started = rest.split(':').next().unwrap();
        let lives = |owner: &str, silent_ms: u64| lives_at(owner, 1_000_000 - silent_ms, 1_000_000, &here());
        assert!(lives(&me, 900_000), "it is there, however silent");
        assert!(lives(&format!("{pid}:{started}"), 900_000), "as it was written before");
        assert!(!lives(&format!("{pid}:1:{}", here()), 0), "another process had this number");
        for elsewhere in [format!("{pid}:{started}:ffffffff-1"), "1:1:".to_owned()] {
            assert!(lives(&elsewhere, 60_000), "{elsewhere}");
            assert!(!lives(&elsewhere, 60_001), "{elsewhere}");
        }
        for nobody in ["", "nobody", "x:1"] {
            assert!(!lives(nobody, 0), "{nobody}");
        }
    }
}
