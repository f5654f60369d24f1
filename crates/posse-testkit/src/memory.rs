//! A store in memory with the semantics of the real one, which can fail on demand and can show what was durable
//! after any number of writes, as if the process had died there.

mod context;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use posse_core::context::Changed;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::usage::Usage;
use posse_core::{Error, ErrorCode, Result, text};
use posse_runtime::ports::{BoxFuture, ChangeRequest, NewTask, Store, TaskRow};

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
    Claim(TaskId, String),
    Context(ChangeRequest),
    Session(String, SessionChange, u64),
}

enum Applied {
    Epoch(u64),
    Context(Changed),
    Session,
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

impl State {
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
            Write::Claim(task, owner) => {
                let number = self.number(task)?;
                let row = &mut self.tasks[number].row;
                row.epoch += 1;
                row.owner.clone_from(owner);
                row.updated_ms = at_ms;
                Applied::Epoch(row.epoch)
            }
            Write::Context(request) => Applied::Context(self.contexts.change(request)?),
            Write::Session(session, change, now_ms) => {
                self.contexts.change_session(session, *change, *now_ms)?;
                Applied::Session
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
            input_tokens: 0,
            output_tokens: 0,
            turns: 0,
        };
        self.contexts.ensure_session(task.id.session(), at_ms);
        self.numbers.insert(task.id.clone(), self.tasks.len());
        self.tasks.push(Task { row, records: Vec::new() });
        self.append(at_ms, &task.id, 1, &task.records)
    }

    fn append(&mut self, at_ms: u64, task: &TaskId, epoch: u64, records: &[Record]) -> Result<u64> {
        let number = self.number(task)?;
        let held = &mut self.tasks[number];
        if held.row.epoch != epoch {
            return Err(Error::new(
                ErrorCode::OwnerLost,
                format!("task `{task}` is at epoch {}; this driver had epoch {epoch}", held.row.epoch),
            ));
        }
        held.row.updated_ms = at_ms;
        for record in records {
            held.row.note(record);
        }
        held.records.extend_from_slice(records);
        Ok(epoch)
    }
}

trait Note {
    fn note(&mut self, record: &Record);
}

impl Note for TaskRow {
    fn note(&mut self, record: &Record) {
        let mut spent = Usage::default();
        match record {
            Record::Replied { reply, .. } => {
                spent.add(&reply.usage);
                spent.add(&reply.lost);
                self.turns += 1;
            }
            Record::Unanswered { failure, .. } => spent = failure.lost,
            Record::Finished { outcome, .. } => self.status = outcome.status().wire().to_owned(),
            Record::Resumed { .. } | Record::Said { .. } => self.status = "running".to_owned(),
            Record::Started(_)
            | Record::Asked { .. }
            | Record::Intended { .. }
            | Record::Done { .. }
            | Record::Withdrawn { .. }
            | Record::Steered { .. }
            | Record::BudgetSpent { .. }
            | Record::Cancelled { .. } => {}
        }
        self.input_tokens = self.input_tokens.saturating_add(spent.input);
        self.output_tokens = self.output_tokens.saturating_add(spent.output);
    }
}

impl Store for MemoryStore {
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>> {
        let answer = self.lock().apply(now_ms(), Write::Create(task)).map(drop);
        Box::pin(async { answer })
    }

    fn append(&self, task: &TaskId, epoch: u64, records: Vec<Record>) -> BoxFuture<'static, Result<()>> {
        let mut state = self.lock();
        state.appends += 1;
        let at = state.appends;
        let answer = match state.faults.iter().position(|(nth, _)| *nth == at) {
            Some(position) => {
                let code = state.faults.remove(position).map_or(ErrorCode::Internal, |(_, code)| code);
                Err(Error::new(code, "the test made this append fail"))
            }
            None => state.apply(now_ms(), Write::Append(task.clone(), epoch, records)).map(drop),
        };
        Box::pin(async { answer })
    }

    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        let applied = self.lock().apply(now_ms(), Write::Claim(task.clone(), owner.to_owned()));
        let answer = applied.map(|applied| match applied {
            Applied::Epoch(epoch) => epoch,
            Applied::Context(_) | Applied::Session => unreachable!("a claim writes an epoch"),
        });
        Box::pin(async { answer })
    }

    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>> {
        Box::pin(async move { self.read(task, |held| held.records.clone()) })
    }

    fn task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskRow>> {
        Box::pin(async move { self.read(task, |held| held.row.clone()) })
    }

    fn tasks(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TaskRow>>> {
        Box::pin(async move {
            let state = self.lock();
            Ok(state.tasks.iter().rev().take(limit as usize).map(|held| held.row.clone()).collect())
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
    use crate::context_suite;
    use crate::store_suite::{self, asked, new_task};
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
    fn the_nth_append_fails_alone_and_an_earlier_state_can_be_seen() {
        block_on(async {
            let store = MemoryStore::new();
            let id = TaskId::root("s");
            store.create(new_task("s")).await.unwrap();
            store.fail_append(2, ErrorCode::DiskFull);
            store.append(&id, 1, vec![asked(1)]).await.unwrap();
            let refused = store.append(&id, 1, vec![asked(2)]).await.unwrap_err();
            assert_eq!(refused.code(), ErrorCode::DiskFull);
            store.append(&id, 1, vec![asked(3)]).await.unwrap();
            assert_eq!(store.writes(), 3);
            assert_eq!(store.as_of(2).records(&id).await.unwrap()[1..], [asked(1)]);
            assert_eq!(store.snapshot().records(&id).await.unwrap()[1..], [asked(1), asked(3)]);
        });
    }
}
