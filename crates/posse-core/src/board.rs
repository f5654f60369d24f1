//! The tasks of one parent: which run, wait for a slot, wait for others, can be collected. It only decides; the session
//! starts and ends the tasks.

use std::collections::BTreeMap;

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode, Result};
use crate::fact::QueuePlace;

/// Limits on the tasks of one parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardLimits {
    /// Maximum running tasks.
    pub running_max: usize,
    /// Maximum open tasks: running, waiting, or ended and neither collected nor read. A spawn loop ends here.
    pub open_max: usize,
    /// Reaction to a task beyond `running_max` whose terms set none.
    pub on_limit: OnLimit,
}

/// Reaction to a spawn beyond the concurrency limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnLimit {
    Reject,
    Queue,
}

/// A task that has waited this long counts as one priority higher, so that no task starves.
pub const AGEING_MS: u64 = 60_000;

/// Priority among the tasks of one parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// Rank where all tasks compete, as at a provider: the run that a person waits for first, then delegated tasks by
/// priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    Background(Priority),
    Interactive,
}

/// Conditions of a spawn for when its task may run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpawnTerms {
    pub priority: Priority,
    /// Starts after all of these have completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Wait for a slot instead of being rejected; `None`: the session's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    /// Acquires its write lease after its dependencies have completed, and before it waits for a slot. Otherwise it has
    /// its lease from creation, or needs none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lease: bool,
}

/// The board's decision on a new task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Start it now.
    Start,
    /// It waits for a slot.
    Queued,
    /// It waits for other tasks.
    Waiting,
    /// It waits for its write lease: `leased` reports it.
    Leasing,
    /// It depended on a task that did not complete: it has ended already.
    Dependency,
}

/// Work for the session after a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardMove {
    Start(String),
    /// Acquire its write lease, then report it with `leased`.
    Lease(String),
    /// End a task that never ran, because the other one did not complete.
    Fail {
        task: String,
        because_of: String,
    },
}

/// Kinds of end that matter to dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    Completed,
    /// In any other way.
    Failed,
}

/// State of a task adopted from an earlier process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastState {
    NotBegun,
    Running,
    Ended { end: TaskEnd, collected: bool },
}

/// Situation that a cancel request finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// Running: its run has to be stopped, and ends the task.
    Running,
    /// It never started and has ended now.
    NotStarted,
    /// It had ended like this before.
    Ended(TaskEnd),
}

/// Scheduling state of one parent's tasks: a pure state machine without I/O.
#[derive(Debug)]
pub struct TaskBoard {
    rules: BoardLimits,
    /// Open tasks by id.
    tasks: BTreeMap<String, BoardEntry>,
    /// Collected tasks: others may still depend on them.
    collected: BTreeMap<String, TaskEnd>,
    tally: StateTally,
    /// Ended tasks whose text was read. They can be collected and count against no limit.
    read: usize,
    /// Incremented with every task, so that equals are served first come, first served.
    arrivals: u64,
}

#[derive(Debug)]
struct BoardEntry {
    arrival: u64,
    since_ms: u64,
    terms: SpawnTerms,
    state: EntryState,
    read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    Waiting,
    Leasing,
    Queued,
    Running,
    Ended(TaskEnd),
}

/// Number of open tasks in each state.
#[derive(Debug, Default, PartialEq, Eq)]
struct StateTally {
    waiting: usize,
    leasing: usize,
    queued: usize,
    running: usize,
    ended: usize,
}

impl StateTally {
    fn came(&mut self, to: EntryState) {
        self.of(to, |count| *count += 1);
    }

    fn left(&mut self, from: EntryState) {
        self.of(from, |count| *count -= 1);
    }

    fn of(&mut self, state: EntryState, change: impl FnOnce(&mut usize)) {
        match state {
            EntryState::Waiting => change(&mut self.waiting),
            EntryState::Leasing => change(&mut self.leasing),
            EntryState::Queued => change(&mut self.queued),
            EntryState::Running => change(&mut self.running),
            EntryState::Ended(_) => change(&mut self.ended),
        }
    }
}

impl TaskBoard {
    /// Creates an empty board.
    pub fn new(rules: BoardLimits) -> Self {
        Self {
            rules,
            tasks: BTreeMap::new(),
            collected: BTreeMap::new(),
            tally: StateTally::default(),
            read: 0,
            arrivals: 0,
        }
    }

    /// Admits a task, or says why not; then nothing has changed.
    pub fn admit(&mut self, id: &str, terms: SpawnTerms, now_ms: u64) -> Result<Admission> {
        self.check_room(&terms)?;
        let state = self.first_state(&terms);
        self.arrivals += 1;
        let entry = BoardEntry { arrival: self.arrivals, since_ms: now_ms, terms, state, read: false };
        self.take_in(id, entry);
        Ok(state.admission())
    }

    /// Checks whether a task with these terms would be admitted.
    pub fn check_room(&self, terms: &SpawnTerms) -> Result<()> {
        let is_known = |id: &String| self.tasks.contains_key(id) || self.collected.contains_key(id);
        if let Some(unknown) = terms.depends_on.iter().find(|other| !is_known(other)) {
            return Err(Error::new(ErrorCode::TaskNotFound, localized!("depends-on-unknown", unknown))
                .hint(localized!("depends-on-unknown-hint")));
        }
        if self.tasks.len() - self.read >= self.rules.open_max {
            let text = localized!("open-tasks-limit", open_max = self.rules.open_max);
            return Err(
                Error::new(ErrorCode::MaxTasksExceeded, text).hint(localized!("open-tasks-limit-hint"))
            );
        }
        let may_queue = terms.queue.unwrap_or(self.rules.on_limit == OnLimit::Queue);
        match self.first_state(terms) {
            EntryState::Queued if !may_queue => {
                let text = localized!("tasks-running-limit", running = self.running());
                Err(Error::new(ErrorCode::MaxTasksExceeded, text)
                    .hint(localized!("tasks-running-limit-hint")))
            }
            _ => Ok(()),
        }
    }

    /// Removes a task that was admitted and could not be stored.
    pub fn forget(&mut self, id: &str, now_ms: u64) -> Vec<BoardMove> {
        self.take_out(id);
        let mut moves = Vec::new();
        self.start_queued(now_ms, &mut moves);
        moves
    }

    /// Adds a task of an earlier process. A running one keeps running, whatever the limits are now.
    pub fn recall(&mut self, id: &str, terms: SpawnTerms, past: PastState, now_ms: u64) -> Admission {
        self.arrivals += 1;
        let state = match past {
            PastState::Ended { end, .. } => EntryState::Ended(end),
            PastState::Running => EntryState::Running,
            PastState::NotBegun => self.first_state(&terms),
        };
        match past {
            PastState::Ended { end, collected: true } => drop(self.collected.insert(id.to_owned(), end)),
            _ => self.take_in(
                id,
                BoardEntry { arrival: self.arrivals, since_ms: now_ms, terms, state, read: false },
            ),
        }
        state.admission()
    }

    /// Ends a task and returns the moves that follow; none for a task that had ended before.
    pub fn ended(&mut self, id: &str, end: TaskEnd, now_ms: u64) -> Vec<BoardMove> {
        match self.tasks.get_mut(id) {
            Some(entry) if !matches!(entry.state, EntryState::Ended(_)) => {
                entry.enter(EntryState::Ended(end), &mut self.tally);
            }
            _ => return Vec::new(),
        }
        let mut moves = Vec::new();
        self.settle_dependants(now_ms, &mut moves);
        self.start_queued(now_ms, &mut moves);
        moves
    }

    /// Records a task's write lease, so that it may get a slot; no moves for a task that no longer waits for one.
    pub fn leased(&mut self, id: &str, now_ms: u64) -> Vec<BoardMove> {
        let mut moves = Vec::new();
        if let Some(entry) = self.tasks.get_mut(id).filter(|entry| entry.state == EntryState::Leasing) {
            entry.enter(EntryState::Queued, &mut self.tally);
            self.start_queued(now_ms, &mut moves);
        }
        moves
    }

    /// Cancels a task. One that has not started ends here; the moves end its dependents.
    pub fn cancel(&mut self, id: &str, now_ms: u64) -> Result<(CancelOutcome, Vec<BoardMove>)> {
        match self.find(id)?.state {
            EntryState::Running => Ok((CancelOutcome::Running, Vec::new())),
            EntryState::Ended(end) => Ok((CancelOutcome::Ended(end), Vec::new())),
            EntryState::Waiting | EntryState::Leasing | EntryState::Queued => {
                Ok((CancelOutcome::NotStarted, self.ended(id, TaskEnd::Failed, now_ms)))
            }
        }
    }

    /// Collects a result, once.
    pub fn collect(&mut self, id: &str) -> Result<TaskEnd> {
        let entry = self.find(id)?;
        let EntryState::Ended(end) = entry.state else {
            let text = match entry.state {
                EntryState::Running => localized!("task-still-running", id),
                EntryState::Waiting => {
                    localized!("task-waits-for", id, waits_for = entry.terms.depends_on.join(", "))
                }
                EntryState::Leasing => localized!("task-waits-for-lease", id),
                EntryState::Queued | EntryState::Ended(_) => localized!("task-waits-for-place", id),
            };
            return Err(Error::new(ErrorCode::TaskNotReady, text).hint(localized!("collect-later-hint")));
        };
        self.take_out(id);
        self.collected.insert(id.to_owned(), end);
        Ok(end)
    }

    /// Records that the text of an ended task was read: it is no longer open, and can still be collected.
    pub fn read(&mut self, id: &str) {
        let ended = |entry: &&mut BoardEntry| matches!(entry.state, EntryState::Ended(_)) && !entry.read;
        if let Some(entry) = self.tasks.get_mut(id).filter(ended) {
            entry.read = true;
            self.read += 1;
        }
    }

    /// Tells whether the result of a task is still to be collected or read.
    pub fn is_unread(&self, id: &str) -> bool {
        self.tasks.get(id).is_some_and(|entry| matches!(entry.state, EntryState::Ended(_)) && !entry.read)
    }

    /// Checks that the task exists and was not collected.
    pub fn check(&mut self, id: &str) -> Result<()> {
        self.find(id).map(|_| ())
    }

    /// Returns a task that was not collected yet.
    pub fn is_tracked(&self, id: &str) -> bool {
        self.tasks.contains_key(id)
    }

    /// Returns the number of running tasks.
    pub fn running(&self) -> usize {
        self.tally.running
    }

    /// Counts tasks that run or can start without another admission.
    pub fn slots_taken(&self) -> usize {
        let waiting = self.tally.waiting + self.tally.leasing + self.tally.queued;
        (self.running() + waiting).min(self.rules.running_max.max(self.running()))
    }

    /// Counts tasks that have ended and were neither collected nor read.
    pub fn uncollected(&self) -> usize {
        self.tally.ended - self.read
    }

    /// Returns the places of the tasks that wait for other tasks or for a slot. Those that wait for a lease have none.
    pub fn queue_places(&self, now_ms: u64) -> Vec<(String, QueuePlace)> {
        let running = u32::try_from(self.running()).unwrap_or(u32::MAX);
        let slots = u32::try_from(self.rules.running_max).unwrap_or(u32::MAX);
        let in_state = |state: EntryState| self.tasks.iter().filter(move |(_, entry)| entry.state == state);
        let mut queued: Vec<_> = in_state(EntryState::Queued).collect();
        queued.sort_by_key(|(_, entry)| entry.rank(now_ms));
        let queued = (1..).zip(queued).map(|(position, (id, _))| {
            (id.clone(), QueuePlace { after: Vec::new(), position: Some(position), running, slots })
        });
        let is_open = |other: &&String| self.dependency(other) != EntryState::Ended(TaskEnd::Completed);
        let waiting = in_state(EntryState::Waiting).map(|(id, entry)| {
            let after = entry.terms.depends_on.iter().filter(is_open).cloned().collect();
            (id.clone(), QueuePlace { after, position: None, running, slots })
        });
        queued.chain(waiting).collect()
    }

    fn take_in(&mut self, id: &str, entry: BoardEntry) {
        self.take_out(id);
        self.tally.came(entry.state);
        self.tasks.insert(id.to_owned(), entry);
    }

    fn take_out(&mut self, id: &str) {
        if let Some(entry) = self.tasks.remove(id) {
            self.tally.left(entry.state);
            self.read -= usize::from(entry.read);
        }
    }

    fn find(&mut self, id: &str) -> Result<&mut BoardEntry> {
        let shown = crate::text::prefix(id, 80);
        let missing = |why: LocalizedText| {
            Error::new(ErrorCode::TaskNotFound, localized!("task-not-tracked", shown)).hint(why)
        };
        match self.tasks.get_mut(id) {
            Some(entry) => Ok(entry),
            None if self.collected.contains_key(id) => Err(missing(localized!("task-already-collected"))),
            None => Err(missing(localized!("task-never-spawned"))),
        }
    }

    fn first_state(&self, terms: &SpawnTerms) -> EntryState {
        let ends = || terms.depends_on.iter().map(|other| self.dependency(other));
        if ends().any(|state| state == EntryState::Ended(TaskEnd::Failed)) {
            EntryState::Ended(TaskEnd::Failed)
        } else if ends().any(|state| state != EntryState::Ended(TaskEnd::Completed)) {
            EntryState::Waiting
        } else if terms.lease {
            EntryState::Leasing
        } else if self.running() < self.rules.running_max {
            EntryState::Running
        } else {
            EntryState::Queued
        }
    }

    /// Returns how a dependency ended; an unknown one did not complete.
    fn dependency(&self, id: &str) -> EntryState {
        let collected = || self.collected.get(id).map(|end| EntryState::Ended(*end));
        self.tasks
            .get(id)
            .map(|entry| entry.state)
            .or_else(collected)
            .unwrap_or(EntryState::Ended(TaskEnd::Failed))
    }

    /// Queues tasks whose dependencies completed, and ends those that lost one, transitively.
    fn settle_dependants(&mut self, now_ms: u64, moves: &mut Vec<BoardMove>) {
        while self.tally.waiting > 0 {
            let next = self.tasks.iter().filter(|(_, entry)| entry.state == EntryState::Waiting).find_map(
                |(id, entry)| {
                    let states =
                        || entry.terms.depends_on.iter().map(|other| (other, self.dependency(other)));
                    if let Some((other, _)) =
                        states().find(|(_, state)| *state == EntryState::Ended(TaskEnd::Failed))
                    {
                        return Some((id.clone(), Some(other.clone())));
                    }
                    states()
                        .all(|(_, state)| state == EntryState::Ended(TaskEnd::Completed))
                        .then(|| (id.clone(), None))
                },
            );
            let Some((id, lost)) = next else { return };
            let entry = self.tasks.get_mut(&id).expect("it was found a moment ago");
            entry.since_ms = now_ms;
            match lost {
                None if entry.terms.lease => {
                    entry.enter(EntryState::Leasing, &mut self.tally);
                    moves.push(BoardMove::Lease(id));
                }
                None => entry.enter(EntryState::Queued, &mut self.tally),
                Some(because_of) => {
                    entry.enter(EntryState::Ended(TaskEnd::Failed), &mut self.tally);
                    moves.push(BoardMove::Fail { task: id, because_of });
                }
            }
        }
    }

    /// Starts queued tasks in free slots: the highest priority first, then first come, first served.
    fn start_queued(&mut self, now_ms: u64, moves: &mut Vec<BoardMove>) {
        while self.tally.queued > 0 && self.running() < self.rules.running_max {
            let queued = self.tasks.iter_mut().filter(|(_, entry)| entry.state == EntryState::Queued);
            let Some((id, entry)) = queued.min_by_key(|(_, entry)| entry.rank(now_ms)) else { return };
            entry.enter(EntryState::Running, &mut self.tally);
            moves.push(BoardMove::Start(id.clone()));
        }
    }
}

impl EntryState {
    fn admission(self) -> Admission {
        match self {
            EntryState::Running => Admission::Start,
            EntryState::Queued => Admission::Queued,
            EntryState::Waiting => Admission::Waiting,
            EntryState::Leasing => Admission::Leasing,
            EntryState::Ended(_) => Admission::Dependency,
        }
    }
}

impl BoardEntry {
    fn enter(&mut self, state: EntryState, tally: &mut StateTally) {
        tally.left(self.state);
        tally.came(state);
        self.state = state;
    }

    /// Returns the queue order, smallest first.
    fn rank(&self, now_ms: u64) -> (std::cmp::Reverse<u64>, u64) {
        (std::cmp::Reverse(self.urgency(now_ms)), self.arrival)
    }

    fn urgency(&self, now_ms: u64) -> u64 {
        self.terms.priority as u64 + now_ms.saturating_sub(self.since_ms) / AGEING_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: BoardLimits = BoardLimits { running_max: 2, open_max: 12, on_limit: OnLimit::Reject };

    fn queued() -> SpawnTerms {
        SpawnTerms { queue: Some(true), ..SpawnTerms::default() }
    }

    fn after(others: &[&str]) -> SpawnTerms {
        SpawnTerms { depends_on: others.iter().map(|id| (*id).to_owned()).collect(), ..SpawnTerms::default() }
    }

    fn code<T: std::fmt::Debug>(result: Result<T>) -> ErrorCode {
        result.unwrap_err().code()
    }

    #[test]
    fn only_running_tasks_count_against_the_places() {
        let mut board = TaskBoard::new(RULES);
        for id in ["a", "b"] {
            assert_eq!(board.admit(id, SpawnTerms::default(), 0).unwrap(), Admission::Start);
        }
        assert_eq!(code(board.admit("c", SpawnTerms::default(), 0)), ErrorCode::MaxTasksExceeded);
        assert_eq!(board.admit("c", queued(), 0).unwrap(), Admission::Queued);
        assert_eq!(code(board.collect("a")), ErrorCode::TaskNotReady);
        assert_eq!(board.ended("a", TaskEnd::Completed, 1), [BoardMove::Start("c".to_owned())]);
        assert_eq!(board.ended("a", TaskEnd::Failed, 1), [], "a task ends once");
        assert_eq!(board.collect("a").unwrap(), TaskEnd::Completed);
        assert_eq!(code(board.collect("a")), ErrorCode::TaskNotFound);
    }

    #[test]
    fn only_open_tasks_count_against_the_limit_and_the_error_names_its_setting() {
        let mut board = TaskBoard::new(BoardLimits { open_max: 2, ..RULES });
        for number in 0..1_000 {
            let id = format!("t_{number}");
            board.admit(&id, SpawnTerms::default(), 0).unwrap();
            board.ended(&id, TaskEnd::Completed, 0);
            board.collect(&id).unwrap();
        }
        for id in ["a", "b"] {
            board.admit(id, SpawnTerms::default(), 0).unwrap();
        }
        board.ended("a", TaskEnd::Completed, 0);
        let refused = board.admit("c", queued(), 0).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::MaxTasksExceeded);
        assert!(refused.to_string().contains("max_open_tasks"), "{refused}");
        board.collect("a").unwrap();
        board.admit("c", queued(), 0).unwrap();
    }

    #[test]
    fn a_result_that_was_read_is_not_open_and_can_still_be_collected_once() {
        let mut board = TaskBoard::new(BoardLimits { open_max: 1, ..RULES });
        board.admit("a", SpawnTerms::default(), 0).unwrap();
        board.read("a");
        assert_eq!(code(board.admit("b", SpawnTerms::default(), 0)), ErrorCode::MaxTasksExceeded, "it runs");
        board.ended("a", TaskEnd::Completed, 0);
        assert!(board.is_unread("a") && board.uncollected() == 1);
        for _ in 0..2 {
            board.read("a");
            assert!(!board.is_unread("a") && board.uncollected() == 0);
        }
        board.admit("b", SpawnTerms::default(), 0).unwrap();
        assert_eq!(board.collect("a").unwrap(), TaskEnd::Completed);
        assert_eq!(code(board.collect("a")), ErrorCode::TaskNotFound);
        assert_eq!(
            code(board.admit("c", SpawnTerms::default(), 0)),
            ErrorCode::MaxTasksExceeded,
            "it is counted once"
        );
    }

    #[test]
    fn the_urgent_go_first_and_the_patient_are_not_forgotten() {
        let mut board = TaskBoard::new(BoardLimits { running_max: 1, ..RULES });
        board.admit("a", SpawnTerms::default(), 0).unwrap();
        board.admit("low", SpawnTerms { priority: Priority::Low, ..queued() }, 0).unwrap();
        board.admit("high", SpawnTerms { priority: Priority::High, ..queued() }, 0).unwrap();
        assert_eq!(board.ended("a", TaskEnd::Completed, 0), [BoardMove::Start("high".to_owned())]);
        board.admit("normal", queued(), 2 * AGEING_MS).unwrap();
        assert_eq!(
            board.ended("high", TaskEnd::Completed, 2 * AGEING_MS),
            [BoardMove::Start("low".to_owned())]
        );
    }

    #[test]
    fn a_task_waits_for_its_dependencies_and_fails_with_them() {
        let mut board = TaskBoard::new(RULES);
        assert_eq!(code(board.admit("x", after(&["nobody"]), 0)), ErrorCode::TaskNotFound);
        board.admit("a", SpawnTerms::default(), 0).unwrap();
        assert_eq!(board.admit("b", after(&["a"]), 0).unwrap(), Admission::Waiting);
        assert_eq!(board.admit("c", after(&["b"]), 0).unwrap(), Admission::Waiting);
        let fail = |task: &str, because_of: &str| BoardMove::Fail {
            task: task.into(),
            because_of: because_of.into(),
        };
        assert_eq!(board.ended("a", TaskEnd::Failed, 0), [fail("b", "a"), fail("c", "b")]);
        assert_eq!(board.admit("d", after(&["c"]), 0).unwrap(), Admission::Dependency);
        board.admit("e", SpawnTerms::default(), 0).unwrap();
        board.ended("e", TaskEnd::Completed, 0);
        board.collect("e").unwrap();
        assert_eq!(
            board.admit("f", after(&["e"]), 0).unwrap(),
            Admission::Start,
            "a collected task has completed"
        );
    }

    #[test]
    fn a_task_that_waits_for_its_lease_takes_no_place_from_others() {
        let mut board = TaskBoard::new(BoardLimits { running_max: 1, ..RULES });
        let leasing = |others: &[&str]| SpawnTerms { lease: true, ..after(others) };
        assert_eq!(board.admit("a", leasing(&[]), 0).unwrap(), Admission::Leasing);
        assert_eq!(board.admit("b", SpawnTerms::default(), 0).unwrap(), Admission::Start);
        assert_eq!(board.admit("c", leasing(&["b"]), 0).unwrap(), Admission::Waiting);
        assert!(board.collect("a").unwrap_err().message().contains("its write paths are free"));
        assert_eq!(board.leased("a", 0), [], "there is no place yet");
        assert_eq!(board.leased("c", 0), [], "its dependency has not completed");
        let moves = [BoardMove::Lease("c".to_owned()), BoardMove::Start("a".to_owned())];
        assert_eq!(board.ended("b", TaskEnd::Completed, 0), moves);
        assert_eq!(board.cancel("c", 0).unwrap().0, CancelOutcome::NotStarted);
        assert_eq!(board.leased("c", 0), []);
    }

    #[test]
    fn a_place_in_the_queue_follows_priority_and_names_open_dependencies_only() {
        let mut board = TaskBoard::new(BoardLimits { running_max: 1, ..RULES });
        board.admit("a", SpawnTerms::default(), 0).unwrap();
        board.admit("b", queued(), 0).unwrap();
        board.admit("c", SpawnTerms { priority: Priority::High, ..queued() }, 0).unwrap();
        board.admit("d", after(&["a", "b"]), 0).unwrap();
        let slot =
            |position| QueuePlace { position: Some(position), running: 1, slots: 1, ..Default::default() };
        let behind = |others: &[&str], running| QueuePlace {
            after: others.iter().map(|id| (*id).to_owned()).collect(),
            position: None,
            running,
            slots: 1,
        };
        let places = |board: &TaskBoard| board.queue_places(0);
        let named = |id: &str, place: QueuePlace| (id.to_owned(), place);
        assert_eq!(
            places(&board),
            [named("c", slot(1)), named("b", slot(2)), named("d", behind(&["a", "b"], 1))]
        );
        board.ended("a", TaskEnd::Completed, 0);
        assert_eq!(places(&board), [named("b", slot(1)), named("d", behind(&["b"], 1))]);
        board.ended("c", TaskEnd::Completed, 0);
        assert_eq!(places(&board), [named("d", behind(&["b"], 1))]);
        board.ended("b", TaskEnd::Completed, 0);
        assert_eq!(places(&board), [], "the last one runs");
    }

    #[test]
    fn a_cancel_ends_what_has_not_begun_and_says_when_it_comes_too_late() {
        let mut board = TaskBoard::new(BoardLimits { running_max: 1, ..RULES });
        board.admit("a", SpawnTerms::default(), 0).unwrap();
        board.admit("b", queued(), 0).unwrap();
        board.admit("c", after(&["b"]), 0).unwrap();
        let (met, moves) = board.cancel("b", 0).unwrap();
        assert_eq!(met, CancelOutcome::NotStarted);
        assert_eq!(moves, [BoardMove::Fail { task: "c".into(), because_of: "b".into() }]);
        assert_eq!(board.cancel("a", 0).unwrap(), (CancelOutcome::Running, vec![]));
        board.ended("a", TaskEnd::Failed, 0);
        assert_eq!(board.cancel("a", 0).unwrap().0, CancelOutcome::Ended(TaskEnd::Failed));
    }

    #[test]
    fn a_task_that_was_at_work_goes_on_and_is_not_started_again() {
        let mut board = TaskBoard::new(BoardLimits { running_max: 1, ..RULES });
        for id in ["a", "b"] {
            assert_eq!(board.recall(id, SpawnTerms::default(), PastState::Running, 0), Admission::Start);
        }
        assert_eq!(board.recall("c", after(&["b"]), PastState::NotBegun, 0), Admission::Waiting);
        let ended = PastState::Ended { end: TaskEnd::Completed, collected: true };
        board.recall("d", SpawnTerms::default(), ended, 0);
        assert_eq!(code(board.collect("d")), ErrorCode::TaskNotFound);
        assert_eq!(board.recall("e", after(&["d"]), PastState::NotBegun, 0), Admission::Queued);
        assert_eq!(board.ended("a", TaskEnd::Completed, 0), [], "there was one too many");
        assert_eq!(board.ended("b", TaskEnd::Completed, 0), [BoardMove::Start("c".to_owned())]);
    }

    #[derive(Debug, Clone)]
    enum Deed {
        Spawn { priority: u8, after: Vec<usize>, queue: bool, lease: bool },
        Leased { task: usize },
        End { task: usize, completed: bool },
        Cancel { task: usize },
        Collect { task: usize },
        Read { task: usize },
    }

    fn deed() -> impl Strategy<Value = Deed> {
        prop_oneof![
            3 => (0u8..3, proptest::collection::vec(0usize..12, 0..3), any::<bool>(), any::<bool>())
                .prop_map(|(priority, after, queue, lease)| Deed::Spawn { priority, after, queue, lease }),
            2 => (0usize..12).prop_map(|task| Deed::Leased { task }),
            3 => (0usize..12, any::<bool>()).prop_map(|(task, completed)| Deed::End { task, completed }),
            1 => (0usize..12).prop_map(|task| Deed::Cancel { task }),
            1 => (0usize..12).prop_map(|task| Deed::Collect { task }),
            1 => (0usize..12).prop_map(|task| Deed::Read { task }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Checks every order of events: slots never leak, every task ends once, no task starts before its
        /// dependencies completed, and everything ends once all running tasks ended.
        #[test]
        fn no_order_of_events_breaks_the_board(deeds in proptest::collection::vec(deed(), 1..60)) {
            let mut board = TaskBoard::new(RULES);
            let mut world = World::default();
            for (now, deed) in deeds.into_iter().enumerate() {
                world.act(&mut board, deed, now as u64 * 10_000);
                prop_assert!(board.running() <= board.slots_taken() && board.slots_taken() <= RULES.running_max);
                prop_assert!(board.tasks.len() - board.read <= RULES.open_max);
                prop_assert_eq!(board.read, board.tasks.values().filter(|entry| entry.read).count());
                prop_assert_eq!(board.running(), world.running.len());
                let mut counted = StateTally::default();
                board.tasks.values().for_each(|entry| counted.came(entry.state));
                prop_assert_eq!(&board.tally, &counted);
                let free = board.running() < RULES.running_max;
                prop_assert!(!free || !board.tasks.values().any(|entry| entry.state == EntryState::Queued), "a place is free and somebody queues");
            }
            loop {
                let moves = match (world.running.pop(), world.leasing.pop()) {
                    (None, None) => break,
                    (Some(id), leasing) => {
                        world.leasing.extend(leasing);
                        let moves = board.ended(&id, TaskEnd::Completed, u64::MAX);
                        world.ended.push((id, TaskEnd::Completed));
                        moves
                    }
                    (None, Some(id)) => board.leased(&id, u64::MAX),
                };
                world.follow(moves);
            }
            prop_assert_eq!(board.slots_taken(), 0);
            let mut ids: Vec<&String> = world.ended.iter().map(|(id, _)| id).collect();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), world.ended.len(), "a task ended twice");
            prop_assert_eq!(ids.len(), board.tasks.len() + board.collected.len(), "a task never ended");
        }
    }

    #[derive(Default)]
    struct World {
        spawned: Vec<String>,
        running: Vec<String>,
        /// Waiting for their leases.
        leasing: Vec<String>,
        ended: Vec<(String, TaskEnd)>,
    }

    impl World {
        fn act(&mut self, board: &mut TaskBoard, deed: Deed, now_ms: u64) {
            match deed {
                Deed::Spawn { priority, after, queue, lease } => {
                    let id = format!("t_{:02}", self.spawned.len() + 1);
                    let depends_on: Vec<String> =
                        after.iter().filter_map(|at| self.spawned.get(*at).cloned()).collect();
                    let priority = [Priority::Low, Priority::Normal, Priority::High][priority as usize];
                    match board.admit(
                        &id,
                        SpawnTerms { priority, depends_on: depends_on.clone(), queue: Some(queue), lease },
                        now_ms,
                    ) {
                        Err(_) => return,
                        Ok(Admission::Leasing) => self.leasing.push(id.clone()),
                        Ok(Admission::Start) => {
                            assert!(!lease, "it begins without its lease");
                            assert!(depends_on.iter().all(|other| self.completed(other)));
                            self.running.push(id.clone());
                        }
                        Ok(Admission::Dependency) => self.ended.push((id.clone(), TaskEnd::Failed)),
                        Ok(Admission::Queued | Admission::Waiting) => {}
                    }
                    self.spawned.push(id);
                }
                Deed::Leased { task } if !self.leasing.is_empty() => {
                    let id = self.leasing.remove(task % self.leasing.len());
                    let moves = board.leased(&id, now_ms);
                    self.follow(moves);
                }
                Deed::End { task, completed } if !self.running.is_empty() => {
                    let id = self.running.remove(task % self.running.len());
                    let end = if completed { TaskEnd::Completed } else { TaskEnd::Failed };
                    self.ended.push((id.clone(), end));
                    let moves = board.ended(&id, end, now_ms);
                    self.follow(moves);
                }
                Deed::Cancel { task } if task < self.spawned.len() => {
                    let id = self.spawned[task].clone();
                    if let Ok((CancelOutcome::NotStarted, moves)) = board.cancel(&id, now_ms) {
                        self.leasing.retain(|other| *other != id);
                        self.ended.push((id, TaskEnd::Failed));
                        self.follow(moves);
                    }
                }
                Deed::Collect { task } if task < self.spawned.len() => {
                    let id = &self.spawned[task];
                    let expected = self.ended.iter().find(|(ended, _)| ended == id).map(|(_, end)| *end);
                    let tracked = board.is_tracked(id);
                    assert_eq!(board.collect(id).ok(), expected.filter(|_| tracked), "{id}");
                }
                Deed::Read { task } if task < self.spawned.len() => board.read(&self.spawned[task]),
                Deed::Leased { .. }
                | Deed::End { .. }
                | Deed::Cancel { .. }
                | Deed::Collect { .. }
                | Deed::Read { .. } => {}
            }
        }

        fn follow(&mut self, moves: Vec<BoardMove>) {
            for next in moves {
                match next {
                    BoardMove::Start(id) => self.running.push(id),
                    BoardMove::Lease(id) => self.leasing.push(id),
                    BoardMove::Fail { task, because_of } => {
                        assert!(!self.completed(&because_of));
                        self.ended.push((task, TaskEnd::Failed));
                    }
                }
            }
        }

        fn completed(&self, id: &str) -> bool {
            self.ended.iter().any(|(ended, end)| ended == id && *end == TaskEnd::Completed)
        }
    }
}
