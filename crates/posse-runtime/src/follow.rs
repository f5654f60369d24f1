//! Events and live facts of tasks from the store, whichever process drives them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use posse_core::Result;
use posse_core::board::{BoardLimits, OnLimit, PastState, TaskBoard, TaskEnd};
use posse_core::event::{Event, EventEntry};
use posse_core::fact::{LiveFact, QueuePlace, answer_line};
use posse_core::id::TaskId;
use posse_core::journal::{Record, TaskStart};
use posse_core::lease::Lease;
use posse_core::outcome::OutcomeStatus;
use posse_core::state::TaskState;

use crate::context::now_ms;
use crate::driver::task_fact;
use crate::ports::{
    ApprovalQuery, JournalStore, MessageReceipt, Observer, QuestionState, Store, StoredRecord, TaskFilter,
    TaskQuery, TaskRow,
};

/// Records read at a time: large ones stay within memory.
const PAGE: usize = 200;

/// Returns the task and everything below it, parents first.
pub async fn task_tree(store: &dyn JournalStore, id: &TaskId) -> Result<Vec<TaskRow>> {
    let mut rows = store.find_tasks(TaskQuery::of(TaskFilter::Session(id.session().to_owned()))).await?;
    // Newest first, and a parent is older than its children.
    rows.reverse();
    let mut within = HashSet::new();
    rows.retain(|row| {
        let belongs = row.id == *id || row.parent.as_ref().is_some_and(|parent| within.contains(parent));
        belongs && within.insert(row.id.clone())
    });
    Ok(rows)
}

/// Collects a task and its descendants depth first, oldest first.
pub async fn with_descendants(store: &dyn JournalStore, task: TaskRow) -> Result<Vec<TaskRow>> {
    let mut found = Vec::new();
    let mut open = vec![task];
    while let Some(next) = open.pop() {
        // Newest first, so that the oldest is popped next.
        open.extend(store.find_tasks(TaskQuery::of(TaskFilter::ChildrenOf(next.id.clone()))).await?);
        found.push(next);
    }
    Ok(found)
}

/// Tells observers the events and live facts of tasks from the store, whichever process drives them: the same that an
/// observer in that process gets, except deltas.
pub struct TaskFeed {
    lives: fn(&TaskRow) -> bool,
    tasks: HashMap<TaskId, FedTask>,
}

/// State of a task as far as it was told.
#[derive(Default)]
struct FedTask {
    /// Position of the next record.
    next: u64,
    start: Option<Arc<TaskStart>>,
    begun: bool,
    /// It has ended, and everything about it was told.
    over: bool,
    is_interrupted: bool,
    place: Option<QueuePlace>,
    question: Option<u32>,
    approvals: HashSet<String>,
    receipts: HashMap<String, MessageReceipt>,
}

impl TaskFeed {
    /// Creates a feed; `lives` tells whether the process that drives a running task is alive.
    pub fn new(lives: fn(&TaskRow) -> bool) -> Self {
        Self { lives, tasks: HashMap::new() }
    }

    /// Tells what has changed about these tasks since the last call. The rows have to be read before.
    pub async fn follow(
        &mut self,
        store: &dyn Store,
        rows: &[TaskRow],
        observer: &dyn Observer,
    ) -> Result<()> {
        let parked = store.approvals(ApprovalQuery::Open).await?;
        for row in rows {
            let task = self.tasks.entry(row.id.clone()).or_default();
            if task.over {
                continue;
            }
            task.tell_records(store, row, observer).await?;
            task.tell_receipts(store, row, observer).await?;
            task.tell_question(store, row, observer).await?;
            for call in parked.iter().filter(|call| call.request.task == row.id) {
                if task.approvals.insert(call.id.clone()) {
                    observer.fact(&row.id, &call.fact());
                }
            }
            let is_interrupted = row.state.is_running() && !(self.lives)(row);
            if is_interrupted && !task.is_interrupted {
                observer.fact(&row.id, &LiveFact::Interrupted);
            }
            task.is_interrupted = is_interrupted;
            task.over = !row.state.is_running();
        }
        self.tell_places(store, rows, observer).await
    }

    /// Tells the places of queued tasks, by a board that is rebuilt from the stored tasks of each parent.
    async fn tell_places(
        &mut self,
        store: &dyn Store,
        rows: &[TaskRow],
        observer: &dyn Observer,
    ) -> Result<()> {
        let waits = |row: &&TaskRow| self.tasks.get(&row.id).is_some_and(|task| task.waits(row));
        let parents: HashSet<&TaskId> =
            rows.iter().filter(waits).filter_map(|row| row.parent.as_ref()).collect();
        for parent in parents {
            let leases = store.leases().await?;
            let siblings: Vec<&TaskRow> =
                rows.iter().filter(|row| row.parent.as_ref() == Some(parent)).collect();
            let board = self.board(&siblings, &leases);
            let places: HashMap<String, QueuePlace> = board.queue_places(now_ms()).into_iter().collect();
            for row in siblings {
                let Some(task) = self.tasks.get_mut(&row.id).filter(|task| task.waits(row)) else { continue };
                let place = places.get(row.id.short()).cloned();
                if let Some(place) = place.clone().filter(|place| task.place.as_ref() != Some(place)) {
                    observer.fact(&row.id, &LiveFact::Queued(place));
                }
                task.place = place;
            }
        }
        Ok(())
    }

    fn board(&self, siblings: &[&TaskRow], leases: &[Lease]) -> TaskBoard {
        let past = |row: &TaskRow| match row.state {
            TaskState::Ended(OutcomeStatus::Completed) => {
                PastState::Ended { end: TaskEnd::Completed, collected: false }
            }
            TaskState::Ended(_) => PastState::Ended { end: TaskEnd::Failed, collected: false },
            TaskState::Running if self.tasks.get(&row.id).is_some_and(|task| task.begun) => {
                PastState::Running
            }
            TaskState::Running => PastState::NotBegun,
        };
        // A task waits for a slot only while all are taken, so the running ones are the slots.
        let running_max = siblings.iter().filter(|row| past(row) == PastState::Running).count();
        let limits = BoardLimits { running_max, open_max: usize::MAX, on_limit: OnLimit::Queue };
        let mut board = TaskBoard::new(limits);
        let mut in_order: Vec<&&TaskRow> = siblings.iter().collect();
        // Ended tasks first, for their dependents; then running ones, which keep their slots; each in order of creation.
        let rank = |row: &TaskRow| match past(row) {
            PastState::Ended { .. } => 0,
            PastState::Running => 1,
            PastState::NotBegun => 2,
        };
        in_order.sort_by_key(|row| (rank(row), row.created_ms, row.id.clone()));
        for row in in_order {
            let start = self.tasks.get(&row.id).and_then(|task| task.start.as_ref());
            let mut terms = start.map(|start| start.terms.clone()).unwrap_or_default();
            terms.lease &= !leases.iter().any(|lease| lease.task == row.id);
            board.recall(row.id.short(), terms, past(row), row.created_ms);
        }
        board
    }
}

impl FedTask {
    fn waits(&self, row: &TaskRow) -> bool {
        row.state.is_running() && !self.begun && !self.is_interrupted
    }

    async fn tell_records(
        &mut self,
        store: &dyn Store,
        row: &TaskRow,
        observer: &dyn Observer,
    ) -> Result<()> {
        loop {
            let page = store.records_from(&row.id, self.next, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            self.next = last.seq + 1;
            for StoredRecord { seq, at_ms, record } in &page {
                match record {
                    Record::Started(start) => {
                        observer.fact(&row.id, &task_fact(row.parent.as_ref(), start));
                        (self.begun, self.start) = (!start.queued, Some(start.clone()));
                    }
                    Record::Observed { event: Event::Started { .. } | Event::Resumed { .. } }
                    | Record::Asked { .. } => self.begun = true,
                    Record::Finished { outcome, .. } => {
                        if let Some(line) = answer_line(&outcome.text) {
                            observer.fact(&row.id, &LiveFact::Answer { line });
                        }
                    }
                    _ => {}
                }
                if let Some(entry) = EventEntry::from_record(&row.id, *seq, *at_ms, record) {
                    observer.event(&entry);
                }
            }
        }
    }

    async fn tell_receipts(
        &mut self,
        store: &dyn Store,
        row: &TaskRow,
        observer: &dyn Observer,
    ) -> Result<()> {
        for (key, receipt) in store.receipts(&row.id).await? {
            if self.receipts.get(&key) != Some(&receipt) {
                receipt.fact(&key).iter().for_each(|fact| observer.fact(&row.id, fact));
                self.receipts.insert(key, receipt);
            }
        }
        Ok(())
    }

    async fn tell_question(
        &mut self,
        store: &dyn Store,
        row: &TaskRow,
        observer: &dyn Observer,
    ) -> Result<()> {
        let asked = if row.state.is_running() { store.question(&row.id).await? } else { None };
        let open = asked.filter(|asked| asked.state == QuestionState::Open).map(|asked| asked.question);
        let id = open.as_ref().map(|question| question.id);
        if self.question == id {
            return Ok(());
        }
        if let Some(id) = self.question {
            observer.fact(&row.id, &LiveFact::QuestionClosed { id });
        }
        if let Some(question) = open {
            observer.fact(&row.id, &question.fact());
        }
        self.question = id;
        Ok(())
    }
}
