//! A store in memory with the semantics of the real one, which can fail on demand and can show what was durable
//! after any number of writes, as if the process had died there.

mod approvals;
mod context;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use posse_core::approval::{ApprovalAnswer, ApprovalRequest, ParkedCall};
use posse_core::context::ChangeResult;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::lease::{Lease, WritePaths, WriteState, WritingCommand, conflict, has_ended, in_the_way};
use posse_core::{Error, ErrorCode, Result, text};
use posse_runtime::ports::{
    BoxFuture, ChangeRequest, LeaseRequest, NewTask, ResultDelivery, Store, TaskQuery, TaskRow,
};

use self::context::{Contexts, SessionChange};

/// The state is what the log of writes says, so a shorter log is an earlier state.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    log: Vec<(u64, Write)>,
    tasks: Vec<Task>,
    numbers: HashMap<TaskId, usize>,
    contexts: Contexts,
    approvals: Vec<ParkedCall>,
    beats: HashMap<String, u64>,
    /// By the number of the task; with its token and since when.
    leases: BTreeMap<usize, (u64, u64, WritePaths)>,
    /// By token: task, epoch, since when, places, and the newest lease at that time.
    commands: BTreeMap<u64, (usize, u64, u64, WritePaths, u64)>,
    tokens: u64,
    appends: u64,
    faults: VecDeque<(u64, ErrorCode)>,
}

struct Task {
    row: TaskRow,
    records: Vec<Record>,
}

#[derive(Clone)]
enum Write {
    Create(NewTask),
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
}

enum Applied {
    Epoch(u64),
    Token(u64),
    Sign,
    Context(ChangeResult),
    Session,
    Approval(Box<ParkedCall>),
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the `nth` append from now (counted from 1) fail with `code`, writing nothing.
    pub fn fail_append(&self, nth: u64, code: ErrorCode) {
        let mut state = self.lock();
        let at = state.appends + nth;
        state.faults.push_back((at, code));
    }

    /// How many creations, appends, claims and changes were written.
    pub fn writes(&self) -> usize {
        self.lock().log.len()
    }

    /// What a new process finds if this one dies right after its `writes`th write.
    pub fn as_of(&self, writes: usize) -> MemoryStore {
        let mut earlier = State::default();
        for (at_ms, write) in self.lock().log.iter().take(writes) {
            earlier.apply(*at_ms, write.clone()).expect("a write that was accepted once is accepted again");
        }
        MemoryStore { state: Mutex::new(earlier) }
    }

    /// What is durable now.
    pub fn snapshot(&self) -> MemoryStore {
        self.as_of(usize::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, task: &TaskId, read: impl FnOnce(&Task) -> T) -> Result<T> {
        let state = self.lock();
        let number = state.number(task)?;
        Ok(read(&state.tasks[number]))
    }
}

fn owner_lost(task: &TaskId, current: u64, had: u64) -> Error {
    let text = format!("task `{task}` is at epoch {current}; this driver had epoch {had}");
    Error::new(ErrorCode::OwnerLost, text)
}

impl State {
    fn row(&self, held: &Task) -> TaskRow {
        let beat_ms = self.beats.get(&held.row.owner).copied().unwrap_or(0);
        TaskRow { seen_ms: held.row.updated_ms.max(beat_ms), ..held.row.clone() }
    }

    fn claim(&mut self, claim: Write) -> Result<u64> {
        match self.apply(now_ms(), claim)? {
            Applied::Epoch(epoch) => Ok(epoch),
            Applied::Token(_)
            | Applied::Sign
            | Applied::Context(_)
            | Applied::Session
            | Applied::Approval(_) => {
                unreachable!("a claim writes an epoch")
            }
        }
    }

    fn number(&self, task: &TaskId) -> Result<usize> {
        self.numbers
            .get(task)
            .copied()
            .ok_or_else(|| Error::new(ErrorCode::TaskNotFound, format!("the store has no task `{task}`")))
    }

    fn apply(&mut self, at_ms: u64, write: Write) -> Result<Applied> {
        let applied = match &write {
            Write::Create(task) => Applied::Epoch(self.create(at_ms, task)?),
            Write::Append(task, epoch, records) => Applied::Epoch(self.append(at_ms, task, *epoch, records)?),
            Write::Claim(task, from, owner) => {
                let number = self.number(task)?;
                let row = &mut self.tasks[number].row;
                if let Some(from) = from.filter(|from| *from != row.epoch) {
                    return Err(owner_lost(task, row.epoch, from));
                }
                row.epoch += 1;
                row.owner.clone_from(owner);
                row.updated_ms = at_ms;
                Applied::Epoch(row.epoch)
            }
            Write::Cancel(task) => {
                let number = self.number(task)?;
                let row = &mut self.tasks[number].row;
                row.cancel_requested = row.status == "running";
                Applied::Sign
            }
            Write::Deliver(task, delivery) => {
                let number = self.number(task)?;
                let row = &mut self.tasks[number].row;
                row.delivery = row.delivery.raised_to(delivery);
                Applied::Sign
            }
            Write::Lease(task, epoch, request) => Applied::Token(self.lease(task, *epoch, request)?),
            Write::EndLease(task, token) => {
                let number = self.number(task)?;
                self.leases.retain(|of, (held, ..)| *of != number || held != token);
                Applied::Sign
            }
            Write::BeginCommand(task, epoch, places, now_ms) => {
                let number = self.number(task)?;
                let current = self.tasks[number].row.epoch;
                if current != *epoch {
                    return Err(owner_lost(task, current, *epoch));
                }
                if self.tasks[number].row.status != "running" {
                    return Err(has_ended(task));
                }
                let after = self.tokens;
                self.tokens += 1;
                self.commands.insert(self.tokens, (number, *epoch, *now_ms, places.clone(), after));
                Applied::Token(self.tokens)
            }
            Write::EndCommand(task, token) => {
                let number = self.number(task)?;
                self.commands.retain(|at, (of, ..)| *of != number || at != token);
                Applied::Sign
            }
            Write::Beat(owner, now_ms) => {
                self.beats.insert(owner.clone(), *now_ms);
                Applied::Sign
            }
            Write::Context(request) => Applied::Context(self.contexts.change(request)?),
            Write::Session(session, change, now_ms) => {
                self.contexts.change_session(session, change, *now_ms)?;
                Applied::Session
            }
            Write::Park(request) => Applied::Approval(Box::new(self.park(request)?)),
            Write::Answer(id, hash, answer) => Applied::Approval(Box::new(self.answer(id, hash, answer)?)),
            Write::Close(task, why) => {
                self.close(task, why);
                Applied::Sign
            }
        };
        self.log.push((at_ms, write));
        Ok(applied)
    }

    fn create(&mut self, at_ms: u64, task: &NewTask) -> Result<u64> {
        if self.numbers.contains_key(&task.id) {
            return Err(Error::new(
                ErrorCode::InvalidRequest,
                format!("the store already has a task `{}`", task.id),
            ));
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
            status: "running".to_owned(),
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
        self.tasks.push(Task { row, records: Vec::new() });
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
            return Err(owner_lost(task, held.row.epoch, epoch));
        }
        held.row.updated_ms = at_ms;
        for record in records {
            held.row.note(record);
        }
        held.records.extend_from_slice(records);
        if held.row.status != "running" {
            self.leases.remove(&number);
            self.commands.retain(|_, (of, ..)| *of != number);
        }
        Ok(epoch)
    }

    fn lease(&mut self, task: &TaskId, epoch: u64, request: &LeaseRequest) -> Result<u64> {
        let number = self.number(task)?;
        let current = self.tasks[number].row.epoch;
        if current != epoch {
            return Err(owner_lost(task, current, epoch));
        }
        if self.tasks[number].row.status != "running" {
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

trait Note {
    fn note(&mut self, record: &Record);
}

impl Note for TaskRow {
    fn note(&mut self, record: &Record) {
        let spent = record.spent();
        self.turns += u32::from(matches!(record, Record::Replied { .. }));
        if let Some(status) = record.status() {
            self.status = status.to_owned();
            self.cancel_requested &= !matches!(record, Record::Finished { .. });
        }
        self.input_tokens = self.input_tokens.saturating_add(spent.input);
        self.output_tokens = self.output_tokens.saturating_add(spent.output);
        match spent.cost_micros {
            Some(cost) => self.cost_micros = self.cost_micros.saturating_add(cost),
            None => self.unpriced_tokens = self.unpriced_tokens.saturating_add(spent.total()),
        }
    }
}

impl Store for MemoryStore {
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>> {
        let answer = self.lock().apply(now_ms(), Write::Create(task)).map(drop);
        Box::pin(async { answer })
    }

    fn append(&self, task: &TaskId, epoch: u64, records: &[Record]) -> BoxFuture<'static, Result<()>> {
        let mut state = self.lock();
        state.appends += 1;
        let at = state.appends;
        let answer = match state.faults.iter().position(|(nth, _)| *nth == at) {
            Some(position) => {
                let code = state.faults.remove(position).map_or(ErrorCode::Internal, |(_, code)| code);
                Err(Error::new(code, "the test made this append fail"))
            }
            None => state.apply(now_ms(), Write::Append(task.clone(), epoch, records.to_vec())).map(drop),
        };
        Box::pin(async { answer })
    }

    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        let answer = self.lock().claim(Write::Claim(task.clone(), None, owner.to_owned()));
        Box::pin(async { answer })
    }

    fn claim_from<'a>(&'a self, task: &'a TaskId, epoch: u64, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        let answer = self.lock().claim(Write::Claim(task.clone(), Some(epoch), owner.to_owned()));
        Box::pin(async { answer })
    }

    fn request_cancel<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), Write::Cancel(task.clone())).map(drop);
        Box::pin(async { answer })
    }

    fn deliver<'a>(
        &'a self,
        task: &'a TaskId,
        delivery: ResultDelivery,
    ) -> BoxFuture<'a, Result<ResultDelivery>> {
        let mut state = self.lock();
        let applied = state.apply(now_ms(), Write::Deliver(task.clone(), delivery));
        let answer = applied.and_then(|_| Ok(state.tasks[state.number(task)?].row.delivery.clone()));
        Box::pin(async { answer })
    }

    fn cancel_requests(&self) -> BoxFuture<'_, Result<Vec<TaskId>>> {
        let state = self.lock();
        let wanted = state.tasks.iter().filter(|held| held.row.cancel_requested);
        let answer = Ok(wanted.map(|held| held.row.id.clone()).collect());
        Box::pin(async { answer })
    }

    fn lease<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        request: LeaseRequest,
    ) -> BoxFuture<'a, Result<u64>> {
        let answer = self.lock().apply(now_ms(), Write::Lease(task.clone(), epoch, request));
        Box::pin(async {
            match answer? {
                Applied::Token(token) => Ok(token),
                _ => unreachable!("a lease has a token"),
            }
        })
    }

    fn end_lease<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), Write::EndLease(task.clone(), token)).map(drop);
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
        let answer = self.lock().apply(now_ms(), Write::BeginCommand(task.clone(), epoch, places, at_ms));
        Box::pin(async {
            match answer? {
                Applied::Token(token) => Ok(token),
                _ => unreachable!("a command has a token"),
            }
        })
    }

    fn end_command<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), Write::EndCommand(task.clone(), token)).map(drop);
        Box::pin(async { answer })
    }

    fn commands(&self) -> BoxFuture<'_, Result<Vec<WritingCommand>>> {
        Box::pin(async { Ok(self.lock().all_commands()) })
    }

    fn beat<'a>(&'a self, owner: &'a str, at_ms: u64) -> BoxFuture<'a, Result<()>> {
        let answer = self.lock().apply(now_ms(), Write::Beat(owner.to_owned(), at_ms)).map(drop);
        Box::pin(async { answer })
    }

    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>> {
        Box::pin(async move { self.read(task, |held| held.records.clone()) })
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
            let fits = |row: &TaskRow| {
                query.of.fits(row) && query.status.as_ref().is_none_or(|status| row.status == *status)
            };
            Ok(rows.filter(fits).take(query.limit as usize).collect())
        })
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store_suite::{self, asked, new_task};
    use crate::{approval_suite, context_suite};
    use std::sync::Arc;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn it_keeps_the_contract_of_a_store() {
        block_on(store_suite::run(|| Arc::new(MemoryStore::new())));
    }

    #[test]
    fn it_keeps_the_contract_of_a_context_store() {
        block_on(context_suite::run(|| Arc::new(MemoryStore::new())));
    }

    #[test]
    fn it_keeps_the_contract_of_an_approval_store() {
        block_on(approval_suite::run(|| Arc::new(MemoryStore::new())));
    }

    #[test]
    fn the_nth_append_fails_alone_and_an_earlier_state_can_be_seen() {
        block_on(async {
            let store = MemoryStore::new();
            let id = TaskId::root("s");
            store.create(new_task("s")).await.unwrap();
            store.fail_append(2, ErrorCode::DiskFull);
            store.append(&id, 1, &[asked(1)]).await.unwrap();
            let refused = store.append(&id, 1, &[asked(2)]).await.unwrap_err();
            assert_eq!(refused.code(), ErrorCode::DiskFull);
            store.append(&id, 1, &[asked(3)]).await.unwrap();
            assert_eq!(store.writes(), 3);
            assert_eq!(store.as_of(2).records(&id).await.unwrap()[1..], [asked(1)]);
            assert_eq!(store.snapshot().records(&id).await.unwrap()[1..], [asked(1), asked(3)]);
        });
    }
}
