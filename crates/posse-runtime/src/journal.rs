//! A task's journal while it is driven.
//!
//! Records are queued in order at once; `commit` waits until all of them are durable. The rule that keeps a crash
//! harmless: nothing leaves this process (a model call, an effect, an answer) before `commit`.

use std::sync::Arc;

use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::journal::Record;

use crate::ports::{BoxFuture, Store};

pub(crate) struct TaskJournal {
    store: Arc<dyn Store>,
    task: TaskId,
    pub epoch: u64,
    /// The request that comes next is in the store.
    pub announced: bool,
    noted: Vec<Record>,
    queued: Vec<BoxFuture<'static, Result<()>>>,
}

impl TaskJournal {
    /// Opens the journal of a task at this epoch.
    pub fn new(store: Arc<dyn Store>, task: TaskId, epoch: u64) -> Self {
        Self { store, task, epoch, announced: false, noted: Vec::new(), queued: Vec::new() }
    }

    /// Queues a record. `send` or `commit` writes it.
    pub fn note(&mut self, record: Record) {
        self.announced = false;
        self.noted.push(record);
    }

    /// Says that a request comes next, unless that was the last thing said.
    pub fn announce(&mut self, asked: Record) {
        if !std::mem::take(&mut self.announced) {
            self.note(asked);
        }
    }

    /// Starts writing without waiting: what happens meanwhile may be repeated after a crash.
    pub fn send(&mut self) {
        if !self.noted.is_empty() {
            self.queued.push(self.store.append(&self.task, self.epoch, &self.noted));
            self.noted.clear();
        }
    }

    /// Writes the queued records and waits until they are durable.
    pub async fn commit(&mut self) -> Result<()> {
        // What follows is not written if what comes before it could not be.
        for written in self.queued.drain(..) {
            written.await?;
        }
        if self.noted.is_empty() {
            return Ok(());
        }
        let written = self.store.append(&self.task, self.epoch, &self.noted);
        self.noted.clear();
        written.await
    }
}
