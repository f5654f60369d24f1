//! A store in memory with the semantics of the durable one. It ends with its process.
//!
//! With the feature `store-log` it keeps every write, can fail on demand, and can return its state after any write, as if
//! the process had died there.

mod approvals;
mod context;
mod messages;

#[cfg(feature = "store-log")]
use std::collections::VecDeque;
use std::collections::{BTreeMap, HashMap};
#[cfg(feature = "store-log")]
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ports::{
    BoxFuture, JournalStore, LeaseRequest, LeaseStore, NewTask, ResultDelivery, StoredRecord, TaskQuery,
    TaskRow,
};
use posse_core::approval::ParkedCall;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::lease::{self, Lease, WritePaths, WriteState, WritingCommand, conflict, has_ended};
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use self::context::SessionTable;
use self::messages::MessageTable;
use crate::context::now_ms;

/// A [`Store`](crate::ports::Store) for programs that need no durability, and for tests.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    /// The log determines the state: a shorter log is an earlier state.
    #[cfg(feature = "store-log")]
    log: Vec<LoggedWrite>,
    tasks: Vec<MemoryTask>,
    numbers: HashMap<TaskId, usize>,
    contexts: SessionTable,
    approvals: Vec<ParkedCall>,
    messages: MessageTable,
    beats: HashMap<String, u64>,
    /// By task number: token, acquisition time, paths.
    leases: BTreeMap<usize, (u64, u64, WritePaths)>,
    /// By token: task, epoch, start time, paths, and the newest lease token at that time.
    commands: BTreeMap<u64, (usize, u64, u64, WritePaths, u64)>,
    tokens: u64,
    #[cfg(feature = "store-log")]
    appends: u64,
    #[cfg(feature = "store-log")]
    faults: VecDeque<(u64, ErrorCode)>,
    #[cfg(feature = "store-log")]
    late: HashMap<TaskId, std::time::Duration>,
}

struct MemoryTask {
    row: TaskRow,
    /// Each with the time of its append.
    records: Vec<(u64, Record)>,
}

/// An accepted write, with its time. Replaying it on an earlier state repeats it.
#[cfg(feature = "store-log")]
type LoggedWrite = (u64, Arc<dyn Fn(&mut MemoryState, u64) -> Result<()> + Send + Sync>);

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, task: &TaskId, read: impl FnOnce(&MemoryTask) -> T) -> Result<T> {
        let state = self.lock();
        let number = state.number(task)?;
        Ok(read(&state.tasks[number]))
    }

    /// Makes a change at the current time, whole or not at all.
    fn write<T: Send + 'static>(
        &self,
        change: impl Fn(&mut MemoryState, u64) -> Result<T> + Send + Sync + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let answer = self.lock().write(change);
        Box::pin(async { answer })
    }

    fn claim_task<'a>(
        &'a self,
        task: &'a TaskId,
        from: Option<u64>,
        owner: &str,
    ) -> BoxFuture<'a, Result<u64>> {
        let (claimed, owner) = (task.clone(), owner.to_owned());
        let answer = self.lock().write(move |state, at_ms| state.claim(at_ms, &claimed, from, &owner));
        self.answer(task, answer)
    }

    #[cfg(not(feature = "store-log"))]
    fn answer<'a, T: Send + 'a>(&self, _: &TaskId, answer: Result<T>) -> BoxFuture<'a, Result<T>> {
        Box::pin(async { answer })
    }
}

#[cfg(feature = "store-log")]
impl MemoryStore {
    fn answer<'a, T: Send + 'a>(&self, task: &TaskId, answer: Result<T>) -> BoxFuture<'a, Result<T>> {
        let delay = self.lock().late.get(task).copied();
        Box::pin(async move {
            if let Some(delay) = delay {
                tokio::time::sleep(delay).await;
            }
            answer
        })
    }

    /// Delays answers to claims and reads of this task by so much after they take effect.
    pub fn answer_late(&self, task: TaskId, delay: std::time::Duration) {
        self.lock().late.insert(task, delay);
    }

    /// Makes the `nth` append from now (counted from 1) fail with `code`, writing nothing.
    pub fn fail_append(&self, nth: u64, code: ErrorCode) {
        let mut state = self.lock();
        let at = state.appends + nth;
        state.faults.push_back((at, code));
    }

    /// Counts the writes: creations, appends, claims and changes.
    pub fn writes(&self) -> usize {
        self.lock().log.len()
    }

    /// Returns the store that a new process finds if this one dies right after its `writes`th write.
    pub fn as_of(&self, writes: usize) -> MemoryStore {
        let mut earlier = MemoryState::default();
        for (at_ms, write) in self.lock().log.iter().take(writes) {
            write(&mut earlier, *at_ms).expect("a write that was accepted once is accepted again");
            earlier.log.push((*at_ms, write.clone()));
        }
        MemoryStore { state: Mutex::new(earlier) }
    }

    /// Returns the store as a new process finds it now.
    pub fn snapshot(&self) -> MemoryStore {
        self.as_of(usize::MAX)
    }
}

#[cfg(feature = "store-log")]
impl MemoryState {
    /// Counts an append; returns the error that was set for it.
    fn next_fault(&mut self) -> Option<Error> {
        self.appends += 1;
        let position = self.faults.iter().position(|(nth, _)| *nth == self.appends)?;
        let (_, code) = self.faults.remove(position)?;
        Some(Error::new(code, "the test made this append fail"))
    }
}

fn owner_lost(row: &TaskRow, had: u64) -> Error {
    let TaskRow { id, owner, epoch, .. } = row;
    let text = localized!("owner-lost", task = id, owner, current = epoch, epoch = had);
    Error::new(ErrorCode::OwnerLost, text).hint(localized!("owner-lost-hint"))
}

impl MemoryState {
    fn row(&self, held: &MemoryTask) -> TaskRow {
        let beat_ms = self.beats.get(&held.row.owner).copied().unwrap_or(0);
        TaskRow { seen_ms: held.row.updated_ms.max(beat_ms), ..held.row.clone() }
    }

    fn write<T>(
        &mut self,
        change: impl Fn(&mut MemoryState, u64) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let at_ms = now_ms();
        let answer = change(self, at_ms)?;
        #[cfg(feature = "store-log")]
        self.log.push((at_ms, Arc::new(move |state, at_ms| change(state, at_ms).map(drop))));
        Ok(answer)
    }

    fn number(&self, task: &TaskId) -> Result<usize> {
        self.numbers
            .get(task)
            .copied()
            .ok_or_else(|| Error::new(ErrorCode::TaskNotFound, localized!("store-no-task", task)))
    }

    fn task(&mut self, task: &TaskId) -> Result<&mut MemoryTask> {
        let number = self.number(task)?;
        Ok(&mut self.tasks[number])
    }

    /// Returns the number of a running task that this epoch may write to.
    fn writable(&self, task: &TaskId, epoch: u64) -> Result<usize> {
        let number = self.number(task)?;
        let row = &self.tasks[number].row;
        match row.state.is_running() {
            _ if row.epoch != epoch => Err(owner_lost(row, epoch)),
            true => Ok(number),
            false => Err(has_ended(task)),
        }
    }

    fn claim(&mut self, at_ms: u64, task: &TaskId, from: Option<u64>, owner: &str) -> Result<u64> {
        let row = &mut self.task(task)?.row;
        if let Some(from) = from.filter(|from| *from != row.epoch) {
            return Err(owner_lost(row, from));
        }
        row.epoch += 1;
        owner.clone_into(&mut row.owner);
        row.updated_ms = at_ms;
        Ok(row.epoch)
    }

    fn begin_command(
        &mut self,
        task: &TaskId,
        epoch: u64,
        places: &WritePaths,
        since_ms: u64,
    ) -> Result<u64> {
        let number = self.writable(task, epoch)?;
        let after = self.tokens;
        self.tokens += 1;
        self.commands.insert(self.tokens, (number, epoch, since_ms, places.clone(), after));
        Ok(self.tokens)
    }

    fn create(&mut self, at_ms: u64, task: &NewTask) -> Result<()> {
        if self.numbers.contains_key(&task.id) {
            let text = localized!("store-task-exists", task = task.id);
            return Err(
                Error::new(ErrorCode::InvalidRequest, text).hint(localized!("store-task-exists-hint"))
            );
        }
        let start = task.records.iter().find_map(|record| match record {
            Record::Started(start) => Some(start),
            _ => None,
        });
        let row = TaskRow {
            id: task.id.clone(),
            parent: task.parent.clone(),
            agent: task.agent.clone(),
            title: start.map(|start| start.title().to_owned()).unwrap_or_default(),
            state: TaskState::Running,
            owner: task.owner.clone(),
            epoch: 1,
            created_ms: at_ms,
            updated_ms: at_ms,
            seen_ms: at_ms,
            cancel_requested: false,
            total: SpendingTotal { tasks: 1, ..SpendingTotal::default() },
            delivery: ResultDelivery::default(),
        };
        self.numbers.insert(task.id.clone(), self.tasks.len());
        self.tasks.push(MemoryTask { row, records: Vec::new() });
        if let Some(Err(refused)) = task.lease.as_ref().map(|request| self.lease(&task.id, 1, request)) {
            self.numbers.remove(&task.id);
            self.tasks.pop();
            return Err(refused);
        }
        let workspace = start.map(|start| start.origin()).unwrap_or_default();
        self.contexts.ensure_session(task.id.session(), workspace, at_ms);
        self.append(at_ms, &task.id, 1, &task.records)
    }

    fn append(&mut self, at_ms: u64, task: &TaskId, epoch: u64, records: &[Record]) -> Result<()> {
        let number = self.number(task)?;
        let held = &mut self.tasks[number];
        if held.row.epoch != epoch {
            return Err(owner_lost(&held.row, epoch));
        }
        held.row.updated_ms = at_ms;
        for record in records {
            note_record(&mut held.row, record);
            if let Record::Steered { key, .. } = record {
                self.messages.deliver(task, key, held.row.turns() + 1);
            }
        }
        held.records.extend(records.iter().map(|record| (at_ms, record.clone())));
        if !held.row.state.is_running() {
            self.leases.remove(&number);
            self.commands.retain(|_, (of, ..)| *of != number);
            self.messages.miss(task);
        }
        Ok(())
    }

    fn lease(&mut self, task: &TaskId, epoch: u64, request: &LeaseRequest) -> Result<u64> {
        let number = self.writable(task, epoch)?;
        let held = self.all_leases();
        if let Some(own) = held.iter().find(|lease| lease.task == *task && lease.places == request.places) {
            return Ok(own.token);
        }
        let conflicting = lease::conflicting_leases(&request.places, task, &self.ancestors(task), &held);
        let (ended, kept): (Vec<&Lease>, Vec<&Lease>) =
            conflicting.into_iter().partition(|lease| request.ends(lease));
        if !kept.is_empty() {
            return Err(conflict(&request.places, &kept));
        }
        self.leases.retain(|_, (token, ..)| !ended.iter().any(|lease| lease.token == *token));
        self.tokens += 1;
        self.leases.insert(number, (self.tokens, request.now_ms, request.places.clone()));
        Ok(self.tokens)
    }

    fn all_leases(&self) -> Vec<Lease> {
        let lease = |(number, (token, since_ms, places)): (&usize, &(u64, u64, WritePaths))| {
            self.held(*number, *token, *since_ms, places)
        };
        let mut leases: Vec<Lease> = self.leases.iter().map(lease).collect();
        leases.sort_by_key(|lease| lease.token);
        leases
    }

    fn all_commands(&self) -> Vec<WritingCommand> {
        let current = self.commands.iter().filter(|(_, (of, epoch, ..))| self.tasks[*of].row.epoch == *epoch);
        let command =
            |(token, (of, _, since_ms, places, after)): (&u64, &(usize, u64, u64, WritePaths, u64))| {
                WritingCommand { by: self.held(*of, *token, *since_ms, places), after: *after }
            };
        current.map(command).collect()
    }

    fn held(&self, number: usize, token: u64, since_ms: u64, places: &WritePaths) -> Lease {
        let TaskRow { id, owner, epoch, seen_ms, .. } = self.row(&self.tasks[number]);
        Lease { task: id, token, places: places.clone(), since_ms, owner, epoch, seen_ms }
    }

    fn ancestors(&self, task: &TaskId) -> Vec<TaskId> {
        let parent = |id: &TaskId| self.tasks[*self.numbers.get(id)?].row.parent.clone();
        std::iter::successors(parent(task), parent).collect()
    }
}

/// Counts a record into the row of its task.
fn note_record(row: &mut TaskRow, record: &Record) {
    row.total.add(&record.spending());
    if let Some(state) = record.state() {
        row.state = state;
        row.cancel_requested &= !matches!(record, Record::Finished { .. });
    }
}

impl JournalStore for MemoryStore {
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>> {
        self.write(move |state, at_ms| state.create(at_ms, &task))
    }

    fn append(&self, task: &TaskId, epoch: u64, records: &[Record]) -> BoxFuture<'static, Result<()>> {
        let mut state = self.lock();
        #[cfg(feature = "store-log")]
        let answer = match state.next_fault() {
            Some(fault) => Err(fault),
            None => {
                let (task, records) = (task.clone(), records.to_vec());
                state.write(move |state, at_ms| state.append(at_ms, &task, epoch, &records))
            }
        };
        #[cfg(not(feature = "store-log"))]
        let answer = state.append(now_ms(), task, epoch, records);
        Box::pin(async { answer })
    }

    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        self.claim_task(task, None, owner)
    }

    fn claim_from<'a>(&'a self, task: &'a TaskId, epoch: u64, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        self.claim_task(task, Some(epoch), owner)
    }

    fn request_cancel<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>> {
        let task = task.clone();
        self.write(move |state, _| {
            let row = &mut state.task(&task)?.row;
            row.cancel_requested = row.state.is_running();
            Ok(())
        })
    }

    fn deliver<'a>(
        &'a self,
        task: &'a TaskId,
        delivery: ResultDelivery,
    ) -> BoxFuture<'a, Result<ResultDelivery>> {
        let task = task.clone();
        self.write(move |state, _| {
            let row = &mut state.task(&task)?.row;
            row.delivery = row.delivery.raised_to(&delivery);
            Ok(row.delivery.clone())
        })
    }

    fn cancel_requests(&self) -> BoxFuture<'_, Result<Vec<TaskId>>> {
        let state = self.lock();
        let wanted = state.tasks.iter().filter(|held| held.row.cancel_requested);
        let answer = Ok(wanted.map(|held| held.row.id.clone()).collect());
        Box::pin(async { answer })
    }

    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>> {
        let answer = self.read(task, |held| held.records.iter().map(|(_, record)| record.clone()).collect());
        self.answer(task, answer)
    }

    fn records_from<'a>(
        &'a self,
        task: &'a TaskId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRecord>>> {
        let answer = self.read(task, |held| {
            let skipped = usize::try_from(from).unwrap_or(usize::MAX);
            let records = (0..).zip(&held.records).skip(skipped).take(limit);
            let stored = |(seq, (at_ms, record)): (u64, &(u64, Record))| {
                let (at_ms, record) = (*at_ms, record.clone());
                StoredRecord { seq, at_ms, record }
            };
            records.map(stored).collect()
        });
        self.answer(task, answer)
    }

    fn task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskRow>> {
        Box::pin(async move {
            let state = self.lock();
            let number = state.number(task)?;
            Ok(state.row(&state.tasks[number]))
        })
    }

    fn find_tasks(&self, query: TaskQuery) -> BoxFuture<'_, Result<Vec<TaskRow>>> {
        Box::pin(async move {
            let state = self.lock();
            let rows = state.tasks.iter().rev().map(|held| state.row(held));
            let fits =
                |row: &TaskRow| query.of.fits(row) && query.state.is_none_or(|state| row.state == state);
            Ok(rows.filter(fits).take(query.limit as usize).collect())
        })
    }
}

impl LeaseStore for MemoryStore {
    fn lease<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        request: LeaseRequest,
    ) -> BoxFuture<'a, Result<u64>> {
        let task = task.clone();
        self.write(move |state, _| state.lease(&task, epoch, &request))
    }

    fn end_lease<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let task = task.clone();
        self.write(move |state, _| {
            let number = state.number(&task)?;
            state.leases.retain(|of, (held, ..)| *of != number || *held != token);
            Ok(())
        })
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<Lease>>> {
        Box::pin(async { Ok(self.lock().all_leases()) })
    }

    fn writing<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<WriteState>> {
        Box::pin(async move {
            let state = self.lock();
            let TaskRow { epoch, seen_ms, .. } = state.row(&state.tasks[state.number(task)?]);
            let (ancestors, leases) = (state.ancestors(task), state.all_leases());
            Ok(WriteState { epoch, seen_ms, ancestors, leases })
        })
    }

    fn begin_command<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        places: WritePaths,
        at_ms: u64,
    ) -> BoxFuture<'a, Result<u64>> {
        let task = task.clone();
        self.write(move |state, _| state.begin_command(&task, epoch, &places, at_ms))
    }

    fn end_command<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let task = task.clone();
        self.write(move |state, _| {
            let number = state.number(&task)?;
            state.commands.retain(|at, (of, ..)| *of != number || *at != token);
            Ok(())
        })
    }

    fn commands(&self) -> BoxFuture<'_, Result<Vec<WritingCommand>>> {
        Box::pin(async { Ok(self.lock().all_commands()) })
    }

    fn beat<'a>(&'a self, owner: &'a str, at_ms: u64) -> BoxFuture<'a, Result<()>> {
        let owner = owner.to_owned();
        self.write(move |state, _| {
            state.beats.insert(owner.clone(), at_ms);
            Ok(())
        })
    }
}
