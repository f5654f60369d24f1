//! A task's journal while it is driven.
//!
//! Records are queued in order at once; `commit` waits until all of them are durable. The rule that keeps a crash
//! harmless: nothing leaves this process (a model call, an effect, an answer) before `commit`.
//!
//! Observers are notified of each record's event, in the order of the records: at once, or after the commit where the
//! record announces something.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::Result;
use posse_core::event::{Event, EventEntry};
use posse_core::id::TaskId;
use posse_core::journal::Record;

use crate::context::now_ms;
use crate::observe::Observers;
use crate::ports::{BoxFuture, JournalStore, Store, StoredRecord};

/// A handle on the journal of one driven task; copies share the queue.
#[derive(Clone)]
pub struct TaskJournal(Arc<JournalShared>);

struct JournalShared {
    store: Arc<dyn Store>,
    observers: Observers,
    task: TaskId,
    epoch: u64,
    queue: Mutex<JournalQueue>,
    /// Held during a commit, so that a second one waits for the records of the first.
    committing: tokio::sync::Mutex<()>,
}

struct JournalQueue {
    /// Position of the next record.
    next: u64,
    /// The next request is announced: its `Asked` record is in the store.
    announced: bool,
    /// The task ends: only its outcome is written any more.
    ending: bool,
    noted: Vec<Record>,
    sent: Vec<BoxFuture<'static, Result<()>>>,
}

impl TaskJournal {
    /// Opens the journal of a task at this epoch; `next` is the number of records it has.
    pub fn new(store: Arc<dyn Store>, observers: Observers, task: TaskId, epoch: u64, next: u64) -> Self {
        let (announced, ending, noted, sent) = (false, false, Vec::new(), Vec::new());
        let queue = Mutex::new(JournalQueue { next, announced, ending, noted, sent });
        Self(Arc::new(JournalShared { store, observers, task, epoch, queue, committing: Default::default() }))
    }

    /// Returns the epoch of its appends.
    pub(crate) fn epoch(&self) -> u64 {
        self.0.epoch
    }

    /// Marks the next request as announced.
    pub(crate) fn set_announced(&self) {
        self.queue().announced = true;
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.queue().announced
    }

    /// Queues a record and notifies observers of its event. `send` or `commit` writes it.
    pub(crate) fn note(&self, record: Record) {
        // Notified with the lock held, so that observers see events in order.
        let mut queue = self.queue();
        let entry = self.push(&mut queue, record);
        self.tell(entry);
    }

    /// Queues a record; the caller notifies observers of its event after the commit.
    pub(crate) fn hold(&self, record: Record) -> Option<EventEntry> {
        self.push(&mut self.queue(), record)
    }

    /// Queues the announcement of a request like `hold`, unless it is announced already.
    pub(crate) fn announce(&self, asked: Record) -> Option<EventEntry> {
        let mut queue = self.queue();
        if std::mem::take(&mut queue.announced) { None } else { self.push(&mut queue, asked) }
    }

    /// Notifies observers of an event that `hold` or `announce` returned.
    pub(crate) fn tell(&self, entry: Option<EventEntry>) {
        if let Some(entry) = entry {
            self.0.observers.event(&entry);
        }
    }

    /// Journals a fact that no other record states, and notifies observers. It is written with the next commit; facts
    /// after the task's end are dropped.
    pub fn observe(&self, event: Event) {
        let mut queue = self.queue();
        if !queue.ending {
            let entry = self.push(&mut queue, Record::Observed { event });
            self.tell(entry);
        }
    }

    /// Journals a fact before a wait, so that other processes see it meanwhile.
    pub(crate) fn observe_now(&self, event: Event) {
        self.observe(event);
        self.send();
    }

    /// Starts writing without waiting for durability: steps until the next commit may be repeated after a crash.
    pub(crate) fn send(&self) {
        let mut queue = self.queue();
        if let Some(written) = self.append(&mut queue) {
            queue.sent.push(written);
        }
    }

    /// Writes the queued records and waits until they are durable.
    pub(crate) async fn commit(&self) -> Result<()> {
        let _alone = self.0.committing.lock().await;
        let sent = std::mem::take(&mut self.queue().sent);
        // Later records are not written if earlier ones could not be.
        for written in sent {
            written.await?;
        }
        let written = self.append(&mut self.queue());
        match written {
            Some(written) => written.await,
            None => Ok(()),
        }
    }

    fn push(&self, queue: &mut JournalQueue, record: Record) -> Option<EventEntry> {
        match record {
            Record::Observed { .. } => {}
            Record::Cancelled { .. } | Record::Finished { .. } => queue.ending = true,
            _ => queue.announced = false,
        }
        let seq = queue.next;
        queue.next += 1;
        let entry = match self.0.observers.is_empty() {
            true => None,
            false => EventEntry::from_record(&self.0.task, seq, now_ms(), &record),
        };
        queue.noted.push(record);
        entry
    }

    fn append(&self, queue: &mut JournalQueue) -> Option<BoxFuture<'static, Result<()>>> {
        if queue.noted.is_empty() {
            return None;
        }
        let written = self.0.store.append(&self.0.task, self.0.epoch, &queue.noted);
        queue.noted.clear();
        Some(written)
    }

    fn queue(&self) -> MutexGuard<'_, JournalQueue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the events of a task from position `since` on, of at most `limit` records, and the position to read on from.
pub async fn read_events(
    store: &(impl JournalStore + ?Sized),
    task: &TaskId,
    since: u64,
    limit: usize,
) -> Result<(Vec<EventEntry>, u64)> {
    let stored = store.records_from(task, since, limit).await?;
    let next = stored.last().map_or(since, |last| last.seq + 1);
    let entry = |StoredRecord { seq, at_ms, record }: &StoredRecord| {
        EventEntry::from_record(task, *seq, *at_ms, record)
    };
    Ok((stored.iter().filter_map(entry).collect(), next))
}

/// Returns the events of a task's first records, for observers once the task is in the store.
pub(crate) fn first_events(task: &TaskId, records: &[Record]) -> Vec<EventEntry> {
    let now = now_ms();
    (0..).zip(records).filter_map(|(seq, record)| EventEntry::from_record(task, seq, now, record)).collect()
}
