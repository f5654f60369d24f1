//! A store in memory with the semantics of the durable one. It ends with its process.
//!
//! With the feature `store-log` it keeps every write, can fail on demand, and can show what was written up to any point, as
//! if the process had died there.

mod approvals;
mod context;
mod messages;

#[cfg(feature = "store-log")]
use std::collections::VecDeque;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ports::{
    BoxFuture, ChangeRequest, JournalStore, LeaseRequest, LeaseStore, MessageReceipt, NewQuestion, NewTask,
    QuestionAnswer, ResultDelivery, SteeringMessage, StoredRecord, TaskQuery, TaskQuestion, TaskRow,
};
use posse_core::approval::{ApprovalAnswer, ApprovalRequest, ParkedCall};
use posse_core::context::ChangeResult;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::lease::{Lease, WritePaths, WriteState, WritingCommand, conflict, has_ended, in_the_way};
use posse_core::state::TaskState;
use posse_core::{Error, ErrorCode, Result, text};
use posse_messages::localized;

use self::context::{SessionChange, SessionTable};
use self::messages::MessageTable;
use crate::context::now_ms;

/// A [`Store`](crate::ports::Store) for programs that need no durability, and for tests.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    /// The state is what this log says, so a shorter log is an earlier state.
    #[cfg(feature = "store-log")]
    log: Vec<(u64, MemoryWrite)>,
    tasks: Vec<MemoryTask>,
    numbers: HashMap<TaskId, usize>,
    contexts: SessionTable,
    approvals: Vec<ParkedCall>,
    messages: MessageTable,
    beats: HashMap<String, u64>,
    /// By the number of the task; with its token and since when.
    leases: BTreeMap<usize, (u64, u64, WritePaths)>,
    /// By token: task, epoch, since when, places, and the newest lease at that time.
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

#[derive(Clone)]
enum MemoryWrite {
    Create(NewTask),
    #[cfg(feature = "store-log")]
    Append(TaskId, u64, Vec<Record>),
    Claim(TaskId, Option<u64>, String),
    Cancel(TaskId),
    Deliver(TaskId, ResultDelivery),
    Lease(TaskId, u64, LeaseRequest),
    EndLease(TaskId, u64),
    BeginCommand(TaskId, u64, WritePaths, u64),
    EndCommand(TaskId, u64),
    Beat(String, u64),
    Context(ChangeRequest),
    Session(String, SessionChange, u64),
    Park(ApprovalRequest),
    Answer(String, String, ApprovalAnswer),
    Close(TaskId, String),
    Send(SteeringMessage),
    Ask(NewQuestion),
    AnswerAsked(QuestionAnswer),
    CloseAsked(TaskId, u32),
}

enum WriteAnswer {
    Epoch(u64),
    Token(u64),
    Sign,
    Context(ChangeResult),
    Session,
    Approval(Box<ParkedCall>),
    Receipt(MessageReceipt),
    Question(TaskQuestion),
    Answered(Option<TaskQuestion>),
}

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

    /// Answers claims and reads of this task so much later than they take effect.
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
            earlier.apply(*at_ms, write.clone()).expect("a write that was accepted once is accepted again");
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

    fn claim(&mut self, claim: MemoryWrite) -> Result<u64> {
        match self.apply(now_ms(), claim)? {
            WriteAnswer::Epoch(epoch) => Ok(epoch),
            _ => unreachable!("a claim writes an epoch"),
        }
    }

    fn number(&self, task: &TaskId) -> Result<usize> {
        self.numbers
            .get(task)
            .copied()
            .ok_or_else(|| Error::new(ErrorCode::TaskNotFound, localized!("store-no-task", task)))
    }

    fn apply(&mut self, at_ms: u64, write: MemoryWrite) -> Result<WriteAnswer> {
        let applied = match &write {
            MemoryWrite::Create(task) => WriteAnswer::Epoch(self.create(at_ms, task)?),
            #[cfg(feature = "store-log")]
            MemoryWrite::Append(task, epoch, records) => {
                WriteAnswer::Epoch(self.append(at_ms, task, *epoch, records)?)
            }
            MemoryWrite::Claim(task, from, owner) => {
                let number = self.number(task)?;
                let row = &mut self.tasks[number].row;
                if let Some(from) = from.filter(|from| *from != row.epoch) {
                    return Err(owner_lost(row, from));
                }
                row.epoch += 1;
                row.owner.clone_from(owner);
                row.updated_ms = at_ms;
                WriteAnswer::Epoch(row.epoch)
            }
            MemoryWrite::Cancel(task) => {
                let number = self.number(task)?;
                let row = &mut self.tasks[number].row;
                row.cancel_requested = row.state.is_running();
                WriteAnswer::Sign
            }
            MemoryWrite::Deliver(task, delivery) => {
                let number = self.number(task)?;
                let row = &mut self.tasks[number].row;
                row.delivery = row.delivery.raised_to(delivery);
                WriteAnswer::Sign
            }
            MemoryWrite::Lease(task, epoch, request) => {
                WriteAnswer::Token(self.lease(task, *epoch, request)?)
            }
            MemoryWrite::EndLease(task, token) => {
                let number = self.number(task)?;
                self.leases.retain(|of, (held, ..)| *of != number || held != token);
                WriteAnswer::Sign
            }
            MemoryWrite::BeginCommand(task, epoch, places, now_ms) => {
                let number = self.number(task)?;
                if self.tasks[number].row.epoch != *epoch {
                    return Err(owner_lost(&self.tasks[number].row, *epoch));
                }
                if !self.tasks[number].row.state.is_running() {
                    return Err(has_ended(task));
                }
                let after = self.tokens;
                self.tokens += 1;
                self.commands.insert(self.tokens, (number, *epoch, *now_ms, places.clone(), after));
                WriteAnswer::Token(self.tokens)
            }
            MemoryWrite::EndCommand(task, token) => {
                let number = self.number(task)?;
                self.commands.retain(|at, (of, ..)| *of != number || at != token);
                WriteAnswer::Sign
            }
            MemoryWrite::Beat(owner, now_ms) => {
                self.beats.insert(owner.clone(), *now_ms);
                WriteAnswer::Sign
            }
            MemoryWrite::Context(request) => WriteAnswer::Context(self.contexts.change(request)?),
            MemoryWrite::Session(session, change, now_ms) => {
                self.contexts.change_session(session, change, *now_ms)?;
                WriteAnswer::Session
            }
            MemoryWrite::Park(request) => WriteAnswer::Approval(Box::new(self.park(request)?)),
            MemoryWrite::Answer(id, hash, answer) => {
                WriteAnswer::Approval(Box::new(self.answer(id, hash, answer)?))
            }
            MemoryWrite::Close(task, why) => {
                self.close(task, why);
                WriteAnswer::Sign
            }
            MemoryWrite::Send(message) => WriteAnswer::Receipt(self.send(message)?),
            MemoryWrite::Ask(question) => WriteAnswer::Question(self.ask(question)?),
            MemoryWrite::AnswerAsked(answer) => WriteAnswer::Answered(self.answer_asked(answer)?),
            MemoryWrite::CloseAsked(task, id) => WriteAnswer::Question(self.close_asked(task, *id)?),
        };
        #[cfg(feature = "store-log")]
        self.log.push((at_ms, write));
        Ok(applied)
    }

    fn create(&mut self, at_ms: u64, task: &NewTask) -> Result<u64> {
        if self.numbers.contains_key(&task.id) {
            let text = localized!("store-task-exists", task = task.id);
            return Err(
                Error::new(ErrorCode::InvalidRequest, text).hint(localized!("store-task-exists-hint"))
            );
        }
        let title = task.records.iter().find_map(|record| match record {
            Record::Started(start) => Some(text::prefix(&start.task, 200).to_owned()),
            _ => None,
        });
        let row = TaskRow {
            id: task.id.clone(),
            parent: task.parent.clone(),
            agent: task.agent.clone(),
            title: title.unwrap_or_default(),
            state: TaskState::Running,
            owner: task.owner.clone(),
            epoch: 1,
            created_ms: at_ms,
            updated_ms: at_ms,
            seen_ms: at_ms,
            cancel_requested: false,
            input_tokens: 0,
            output_tokens: 0,
            turns: 0,
            cost_micros: 0,
            unpriced_tokens: 0,
            delivery: ResultDelivery::default(),
        };
        self.numbers.insert(task.id.clone(), self.tasks.len());
        self.tasks.push(MemoryTask { row, records: Vec::new() });
        if let Some(Err(refused)) = task.lease.as_ref().map(|request| self.lease(&task.id, 1, request)) {
            self.numbers.remove(&task.id);
            self.tasks.pop();
            return Err(refused);
        }
        let workspace = task.records.iter().find_map(|record| match record {
            Record::Started(start) => Some(start.origin()),
            _ => None,
        });
        self.contexts.ensure_session(task.id.session(), workspace.unwrap_or_default(), at_ms);
        self.append(at_ms, &task.id, 1, &task.records)
    }

    fn append(&mut self, at_ms: u64, task: &TaskId, epoch: u64, records: &[Record]) -> Result<u64> {
        let number = self.number(task)?;
        let held = &mut self.tasks[number];
        if held.row.epoch != epoch {
            return Err(owner_lost(&held.row, epoch));
        }
        held.row.updated_ms = at_ms;
        for record in records {
            note_record(&mut held.row, record);
            if let Record::Steered { key, .. } = record {
                self.messages.deliver(task, key, held.row.turns + 1);
            }
        }
        held.records.extend(records.iter().map(|record| (at_ms, record.clone())));
        if !held.row.state.is_running() {
            self.leases.remove(&number);
            self.commands.retain(|_, (of, ..)| *of != number);
            self.messages.miss(task);
        }
        Ok(epoch)
    }

    fn lease(&mut self, task: &TaskId, epoch: u64, request: &LeaseRequest) -> Result<u64> {
        let number = self.number(task)?;
        if self.tasks[number].row.epoch != epoch {
            return Err(owner_lost(&self.tasks[number].row, epoch));
        }
        if !self.tasks[number].row.state.is_running() {
            return Err(has_ended(task));
        }
        let held = self.all_leases();
        if let Some(own) = held.iter().find(|lease| lease.task == *task && lease.places == request.places) {
            return Ok(own.token);
        }
        let in_the_way = in_the_way(&request.places, task, &self.ancestors(task), &held);
        let (ended, kept): (Vec<&Lease>, Vec<&Lease>) =
            in_the_way.into_iter().partition(|lease| request.ends(lease));
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
    let spent = record.spent();
    row.turns += u32::from(matches!(record, Record::Replied { .. }));
    if let Some(state) = record.state() {
        row.state = state;
        row.cancel_requested &= !matches!(record, Record::Finished { .. });
    }
    row.input_tokens = row.input_tokens.saturating_add(spent.input);
    row.output_tokens = row.output_tokens.saturating_add(spent.output);
    match spent.cost_micros {
        Some(cost) => row.cost_micros = row.cost_micros.saturating_add(cost),
        None => row.unpriced_tokens = row.unpriced_tokens.saturating_add(spent.total()),
    }
}

impl JournalStore for MemoryStore {
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>> {
        let answer = self.lock().apply(now_ms(), MemoryWrite::Create(task)).map(drop);
        Box::pin(async { answer })
    }

    fn append(&self, task: &TaskId, epoch: u64, records: &[Record]) -> BoxFuture<'static, Result<()>> {
        let mut state = self.lock();
        #[cfg(feature = "store-log")]
        if let Some(fault) = state.next_fault() {
            return Box::pin(async { Err(fault) });
        }
        let at_ms = now_ms();
        let answer = state.append(at_ms, task, epoch, records).map(drop);
        #[cfg(feature = "store-log")]
        if answer.is_ok() {
            state.log.push((at_ms, MemoryWrite::Append(task.clone(), epoch, records.to_vec())));
        }
        Box::pin(async { answer })
    }

    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        let answer = self.lock().claim(MemoryWrite::Claim(task.clone(), None, owner.to_owned()));
        self.answer(task, answer)
    }

    fn claim_from<'a>(&'a self, task: &'a TaskId, epoch: u64, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        let answer = self.lock().claim(MemoryWrite::Claim(task.clone(), Some(epoch), owner.to_owned()));
        self.answer(task, answer)
    }

    fn request_cancel<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), MemoryWrite::Cancel(task.clone())).map(drop);
        Box::pin(async { answer })
    }

    fn deliver<'a>(
        &'a self,
        task: &'a TaskId,
        delivery: ResultDelivery,
    ) -> BoxFuture<'a, Result<ResultDelivery>> {
        let mut state = self.lock();
        let applied = state.apply(now_ms(), MemoryWrite::Deliver(task.clone(), delivery));
        let answer = applied.and_then(|_| Ok(state.tasks[state.number(task)?].row.delivery.clone()));
        Box::pin(async { answer })
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
        let answer = self.lock().apply(now_ms(), MemoryWrite::Lease(task.clone(), epoch, request));
        Box::pin(async {
            match answer? {
                WriteAnswer::Token(token) => Ok(token),
                _ => unreachable!("a lease has a token"),
            }
        })
    }

    fn end_lease<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), MemoryWrite::EndLease(task.clone(), token)).map(drop);
        Box::pin(async { answer })
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
        let answer =
            self.lock().apply(now_ms(), MemoryWrite::BeginCommand(task.clone(), epoch, places, at_ms));
        Box::pin(async {
            match answer? {
                WriteAnswer::Token(token) => Ok(token),
                _ => unreachable!("a command has a token"),
            }
        })
    }

    fn end_command<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), MemoryWrite::EndCommand(task.clone(), token)).map(drop);
        Box::pin(async { answer })
    }

    fn commands(&self) -> BoxFuture<'_, Result<Vec<WritingCommand>>> {
        Box::pin(async { Ok(self.lock().all_commands()) })
    }

    fn beat<'a>(&'a self, owner: &'a str, at_ms: u64) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), MemoryWrite::Beat(owner.to_owned(), at_ms)).map(drop);
        Box::pin(async { answer })
    }
}
