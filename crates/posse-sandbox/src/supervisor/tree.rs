//! Finding and ending processes through `/proc`. Process groups are not enough: a child leaves one with `setsid`.

use std::collections::HashSet;
use std::fs;
use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, pidfd_send_signal, wait,
};

/// Time for a process tree to die before it counts as surviving.
pub(super) const KILL_TIME: Duration = Duration::from_secs(2);

/// The kernel's `PF_EXITING`: it has closed its files, or is about to, and will run no more of its own code.
const EXITING: u64 = 0x4;

/// Two of them are the same process if number and start time agree: it may get another parent or leave its session between two looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeProcess {
    pub pid: i32,
    parent: i32,
    pub session: i32,
    /// Start time in clock ticks: with the pid it tells a process from a later one with the same number.
    started: u64,
    alive: bool,
}

impl PartialEq for TreeProcess {
    fn eq(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

impl Eq for TreeProcess {}

impl Hash for TreeProcess {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.pid, self.started).hash(state);
    }
}

impl TreeProcess {
    /// Reads a process from `/proc`.
    pub fn read(pid: i32) -> Option<TreeProcess> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &stat)
    }

    /// The command name may contain spaces, brackets and any byte, so the fields are counted from its last `)`.
    fn parse(pid: i32, stat: &[u8]) -> Option<TreeProcess> {
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(&stat[end + 1..]).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let flags: u64 = fields.nth(2)?.parse().ok()?;
        let threads: u64 = fields.nth(10)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        // The first thread of a process can end before the others: it looks like a zombie and is not one.
        let alive = threads > 1 || (!matches!(state, "Z" | "X" | "x") && flags & EXITING == 0);
        Some(TreeProcess { pid, parent, session, started, alive })
    }

    /// Tells whether the process is neither dead nor a zombie.
    pub fn is_alive(&self) -> bool {
        self.alive
    }

    /// Signals this process and no other one that got its number meanwhile.
    pub fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let same = || TreeProcess::read(self.pid).is_some_and(|now| now.started == self.started);
        // A failure means that it is gone already or is not ours to signal; the next scan tells which.
        let _ = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if same() => pidfd_send_signal(&handle, signal),
            Err(Errno::NOSYS) if same() => kill_process(pid, signal),
            Ok(_) | Err(_) => Ok(()),
        };
    }
}

pub(super) fn processes() -> Vec<TreeProcess> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(TreeProcess::read).collect()
}

/// The living processes below any of `roots`, the roots excluded.
pub(super) fn descendants(all: &[TreeProcess], roots: &[i32]) -> Vec<TreeProcess> {
    let mut below: HashSet<i32> = roots.iter().copied().collect();
    // A child can have a smaller number than its parent, so go over the list until nothing is added.
    loop {
        let before = below.len();
        below.extend(
            all.iter().filter(|process| below.contains(&process.parent)).map(|p| p.pid).collect::<Vec<_>>(),
        );
        if below.len() == before {
            break;
        }
    }
    let inside = |process: &&TreeProcess| process.alive && below.contains(&process.pid);
    all.iter().filter(inside).filter(|process| !roots.contains(&process.pid)).copied().collect()
}

/// The living processes that are at least so many generations below one.
pub(super) fn below(all: &[TreeProcess], root: i32, generations: u32) -> Vec<TreeProcess> {
    let mut tops = vec![root];
    for _ in 1..generations {
        tops = all.iter().filter(|process| tops.contains(&process.parent)).map(|p| p.pid).collect();
    }
    descendants(all, &tops)
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EndedTree {
    /// Everything that was found alive, by identity.
    pub found: HashSet<TreeProcess>,
    /// Processes that could not be ended in time: another user's, or stuck in the kernel.
    pub survivors: u32,
}

/// Ends whatever `scan` finds until `is_over`, which may wait a little for the killed to die. A scan is no proof that
/// nothing is left: a process can fork and exit while the list is read, so that neither it nor its child is seen.
pub(super) fn end(scan: impl Fn() -> Vec<TreeProcess>, mut is_over: impl FnMut() -> bool) -> EndedTree {
    let deadline = Instant::now() + KILL_TIME;
    let mut found = HashSet::new();
    loop {
        let stopped = stop_all(&scan, &mut found, deadline);
        for process in &stopped {
            process.signal(Signal::KILL);
        }
        if is_over() {
            return EndedTree { found, survivors: 0 };
        }
        if Instant::now() >= deadline {
            return EndedTree { found, survivors: scan().len() as u32 };
        }
    }
}

/// Stops everything before anything is killed: what is stopped cannot fork, so a fork bomb cannot outrun the scan.
fn stop_all(
    scan: &impl Fn() -> Vec<TreeProcess>,
    found: &mut HashSet<TreeProcess>,
    deadline: Instant,
) -> HashSet<TreeProcess> {
    let mut stopped = HashSet::new();
    loop {
        let fresh: Vec<TreeProcess> =
            scan().into_iter().filter(|process| !stopped.contains(process)).collect();
        if fresh.is_empty() || Instant::now() >= deadline {
            return stopped;
        }
        for process in fresh {
            process.signal(Signal::STOP);
            stopped.insert(process);
            found.insert(process);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildWait {
    Some,
    None,
}

/// Reaps every child that has ended. As a subreaper's orphans become its children, `ChildWait::None` means that
/// nothing below it is left.
pub(super) fn reap(mut ended: impl FnMut(Pid, WaitStatus)) -> ChildWait {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) | Err(Errno::INTR) => return ChildWait::Some,
            Err(_) => return ChildWait::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_cannot_forge_the_fields_of_its_process() {
        let stat = b"7 (a) R 1 1 1) S 42 7 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987 1 2\n";
        let process = TreeProcess { pid: 7, parent: 42, session: 9, started: 987, alive: true };
        assert_eq!(format!("{:?}", TreeProcess::parse(7, stat)), format!("{:?}", Some(process)));
        assert_eq!(TreeProcess::parse(7, b"7 (a) S"), None);
    }

    #[test]
    fn a_process_is_alive_until_its_last_thread_is_not() {
        for (state, flags, threads, alive) in
            [("S", 0, 1, true), ("T", 0, 1, true), ("Z", 4, 1, false), ("R", 4, 1, false), ("Z", 4, 2, true)]
        {
            let stat = format!("7 (a) {state} 42 7 9 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 {threads} 0 987");
            assert_eq!(TreeProcess::parse(7, stat.as_bytes()).map(|p| p.alive), Some(alive), "{stat}");
        }
    }

    #[test]
    fn a_process_that_leaves_its_session_or_loses_its_parent_meanwhile_is_counted_once() {
        // No process has such a number, so nobody is signaled.
        let (pid, started) = (i32::MAX, 1);
        let looks = [(40, 40), (40, pid), (1, pid)];
        let look = std::cell::Cell::new(0);
        let scan = || {
            let (parent, session) = looks[look.get().min(2)];
            look.set(look.get() + 1);
            vec![TreeProcess { pid, parent, session, started, alive: true }]
        };
        let ended = end(scan, || look.get() > 2);
        assert_eq!(ended.found.len(), 1, "{ended:?}");
    }

    #[test]
    fn descendants_are_found_in_any_order_and_the_dead_are_not_counted() {
        let process = |pid, parent, alive| TreeProcess { pid, parent, session: 0, started: 0, alive };
        let all = [process(2, 9, true), process(9, 30, true), process(30, 1, true), process(4, 9, false)];
        let pids: Vec<i32> = descendants(&all, &[30]).iter().map(|p| p.pid).collect();
        assert_eq!(pids, [2, 9]);
        let pids: Vec<i32> = below(&all, 30, 2).iter().map(|p| p.pid).collect();
        assert_eq!(pids, [2]);
    }
}
