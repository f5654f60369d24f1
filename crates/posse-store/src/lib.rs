//! Tasks, their journals and shared context in one SQLite file.
//!
//! Owns the file, its schema and the one connection that writes to it. Knows neither models nor tools; of a record it
//! reads only what listings show (status, turns, tokens) and keeps the rest as bytes.

#![forbid(unsafe_code)]

mod approvals;
mod catalog;
mod commit;
mod context;
mod fault;
mod journal;
mod leases;
mod messages;
mod open;
mod reader;
mod retention;
mod schema;
mod sweep;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use posse_core::approval::{ApprovalAnswer, ApprovalRequest, ParkedCall};
use posse_core::context::{
    ChangeResult, ContextEntry, ContextKey, ContextSnapshot, HistoryLine, SessionState, SnapshotLabel,
    ValueHead,
};
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::lease::{Lease, WritePaths, WriteState, WritingCommand};
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;
use posse_core::{Error, Result};
use posse_runtime::ports::{
    ApprovalQuery, ApprovalStore, BoxFuture, ChangeRequest, ContextStore, JournalStore, KeptAgent,
    LeaseRequest, LeaseStore, MessageReceipt, MessageStore, NewQuestion, NewTask, QuestionAnswer,
    ResultDelivery, SessionRow, SteeringMessage, StoredRecord, TaskQuery, TaskQuestion, TaskRow,
};

use crate::reader::StoreReader;
use crate::retention::Keeper;
use crate::writer::StoreWriter;

pub use posse_runtime::ports::{SpendingGroup, SpendingLine};

pub use crate::open::StoreHealth;
pub use crate::retention::{RewriteConsent, SpaceReturn, StoreSize, TaskTree};
pub use crate::sweep::{
    DeletedTrees, KeepReason, RetentionCaps, RetentionSweep, SweepEvent, SweepMode, TaskFiles,
};

/// Timeouts of a store.
#[derive(Debug, Clone, Copy)]
pub struct StoreSettings {
    /// Time a write waits for other processes before it fails with `STORE_BUSY`. A transaction takes milliseconds, on a
    /// machine with ten runnable processes per core a second, so a lock held for this long belongs to a stopped or hung process.
    pub busy_max: Duration,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { busy_max: Duration::from_secs(30) }
    }
}

/// Filter of a task list; all given parts must match.
#[derive(Debug, Clone, Default)]
pub struct TaskListing {
    pub session: Option<String>,
    /// Directories that people work in.
    pub workspaces: Option<Vec<String>>,
    pub state: Option<TaskState>,
    /// Tasks created before do not count.
    pub since_ms: u64,
    /// Only tasks without a parent that is a task.
    pub is_root: bool,
    pub limit_max: u32,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRow {
    pub row: TaskRow,
    /// Directory that its person works in; a worktree counts as what it was copied from.
    pub workspace: String,
}

/// A store in a file. Several processes may have the same file open.
///
/// Dropping the store waits until everything queued was written.
pub struct SqliteStore {
    path: PathBuf,
    // The reader is dropped first, so that the writer closes the file last and checkpoints the log.
    reader: StoreReader,
    keeper: Keeper,
    writer: StoreWriter,
}

impl SqliteStore {
    /// Opens the store, creating the file and its directory for this user alone if they are absent.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, StoreSettings::default())
    }

    /// Opens or creates a store with these settings.
    pub fn open_with(path: impl AsRef<Path>, settings: StoreSettings) -> Result<Self> {
        let path = open::prepare_file(path.as_ref())?;
        let connection = open::connect(&path, settings.busy_max)?;
        let reader = StoreReader::new(path.clone());
        let keeper = Keeper::new(path.clone(), settings.busy_max);
        let writer = StoreWriter::new(connection, path.clone(), settings.busy_max);
        Ok(Self { path, reader, keeper, writer })
    }

    /// Opens a store to read from it. Where there is no space left, or the file system is read-only, the store is open for
    /// reading alone: every write fails with the refusal that is returned beside it.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<(Self, Option<Error>)> {
        let refusal = match Self::open(path.as_ref()) {
            Ok(store) => return Ok((store, None)),
            Err(e) => e,
        };
        if !fault::may_be_readable(&refusal) {
            return Err(refusal);
        }
        // Whatever is wrong with reading, the first refusal says more.
        let Ok((path, connection)) = open::connect_unwritable(path.as_ref()) else { return Err(refusal) };
        let reader = StoreReader::opened(path.clone(), connection);
        let keeper = Keeper::new(path.clone(), StoreSettings::default().busy_max);
        let writer = StoreWriter::refusing(refusal.clone());
        Ok((Self { path, reader, keeper, writer }, Some(refusal)))
    }

    /// Returns the path of the file, with the links of its directory resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of tasks.
    pub async fn count(&self) -> Result<u64> {
        self.reader.read(reader::count).await
    }

    /// Sums up each of these tasks with its descendants.
    pub async fn tree_totals(&self, tasks: Vec<TaskId>) -> Result<Vec<SpendingTotal>> {
        self.reader.read(move |connection| reader::tree_totals(connection, &tasks)).await
    }

    /// Sums up spending since an instant, one line for each group, the most expensive first.
    pub async fn spending(&self, by: SpendingGroup, since_ms: u64) -> Result<Vec<SpendingLine>> {
        let since_ms = signed(since_ms);
        self.reader.read(move |connection| reader::spending(connection, by, since_ms)).await
    }

    /// Lists tasks, newest first. Reads nothing of other workspaces.
    pub async fn listing(&self, query: TaskListing) -> Result<Vec<ListedRow>> {
        self.reader.read(move |connection| reader::listing(connection, &query)).await
    }

    /// Lists the workspaces of tasks that are this directory or below it.
    pub async fn workspaces(&self, directory: &str) -> Result<Vec<String>> {
        let directory = directory.to_owned();
        self.reader.read(move |connection| reader::workspaces(connection, &directory)).await
    }

    /// Counts the descendants of a task by state.
    pub async fn states_below(&self, task: &TaskId) -> Result<Vec<(TaskState, u64)>> {
        let task = task.clone();
        self.reader.read(move |connection| reader::states_below(connection, &task)).await
    }

    /// Lists all task trees, the last changed one at the end.
    pub async fn trees(&self) -> Result<Vec<TaskTree>> {
        self.reader.read(retention::trees).await
    }

    /// Returns the tasks of a tree, and the bytes of their journals.
    pub async fn tree_contents(&self, root: &TaskId) -> Result<(Vec<TaskId>, u64)> {
        let root = root.clone();
        self.reader.read(move |connection| retention::contents(connection, &root)).await
    }

    /// Deletes a whole tree with its approvals and, if its root is a session's own task, the session's shared context. Its
    /// spending is kept. Returns false and deletes nothing if the tree has changed since it was seen.
    pub async fn delete_tree(&self, tree: TaskTree, now_ms: u64) -> Result<bool> {
        self.keeper.work(move |site| site.delete(&tree, now_ms)).await
    }

    /// Returns the space of deleted rows to the file system, while others use the store.
    pub async fn give_back_space(&self, consent: RewriteConsent) -> Result<SpaceReturn> {
        self.keeper.work(move |site| site.give_back(consent)).await
    }

    /// Returns the size of the store.
    pub async fn size(&self) -> Result<StoreSize> {
        let path = self.path.clone();
        self.reader.read(move |connection| retention::size(connection, &path)).await
    }

    /// Reads the whole file and compares it with its own indexes. Takes time in proportion to its size.
    pub async fn integrity(&self) -> Result<()> {
        let path = self.path.clone();
        self.reader.read(move |connection| Ok(open::integrity(connection, &path)?)).await
    }
}

/// Checks a store without changing it: the schema is known and the file is sound.
pub fn check(path: impl AsRef<Path>) -> Result<StoreHealth> {
    open::check(path.as_ref())
}

impl JournalStore for SqliteStore {
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>> {
        self.writer.write(journal::creation(task))
    }

    fn append(&self, task: &TaskId, epoch: u64, records: &[Record]) -> BoxFuture<'static, Result<()>> {
        self.writer.write(journal::appending(task.clone(), epoch, records))
    }

    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        self.claim_at(task, None, owner)
    }

    fn claim_from<'a>(&'a self, task: &'a TaskId, epoch: u64, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        self.claim_at(task, Some(epoch), owner)
    }

    fn request_cancel<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>> {
        let task = task.clone();
        self.writer.write(move |write| journal::cancel(write.connection(), &task, write.now))
    }

    fn deliver<'a>(
        &'a self,
        task: &'a TaskId,
        delivery: ResultDelivery,
    ) -> BoxFuture<'a, Result<ResultDelivery>> {
        let task = task.clone();
        self.writer.write(move |write| journal::deliver(write.connection(), &task, &delivery))
    }

    fn cancel_requests(&self) -> BoxFuture<'_, Result<Vec<TaskId>>> {
        self.reader.read(reader::cancel_requests)
    }

    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>> {
        let (task, path) = (task.clone(), self.path.clone());
        self.reader.read(move |connection| {
            let records = reader::records(connection, &path, &task, 0, usize::MAX)?;
            Ok(records.into_iter().map(|stored| stored.record).collect())
        })
    }

    fn records_from<'a>(
        &'a self,
        task: &'a TaskId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRecord>>> {
        let (task, path) = (task.clone(), self.path.clone());
        self.reader.read(move |connection| reader::records(connection, &path, &task, from, limit))
    }

    fn task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskRow>> {
        let task = task.clone();
        self.reader.read(move |connection| reader::task(connection, &task))
    }

    fn find_tasks(&self, query: TaskQuery) -> BoxFuture<'_, Result<Vec<TaskRow>>> {
        self.reader.read(move |connection| reader::tasks(connection, &query))
    }

    fn tree_total<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<SpendingTotal>> {
        Box::pin(async move {
            let mut totals = self.tree_totals(vec![task.clone()]).await?;
            totals.pop().filter(|total| total.tasks > 0).ok_or_else(|| fault::task_not_found(task))
        })
    }
}

impl LeaseStore for SqliteStore {
    fn lease<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        request: LeaseRequest,
    ) -> BoxFuture<'a, Result<u64>> {
        let task = task.clone();
        self.writer.write(move |write| leases::acquire(write.connection(), &task, signed(epoch), &request))
    }

    fn end_lease<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let task = task.clone();
        self.writer.write(move |write| leases::delete(write.connection(), &task, token))
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<Lease>>> {
        self.reader.read(leases::all)
    }

    fn writing<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<WriteState>> {
        let task = task.clone();
        self.reader.read(move |connection| leases::writing(connection, &task))
    }

    fn begin_command<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        places: WritePaths,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<u64>> {
        let task = task.clone();
        self.writer.write(move |write| {
            leases::begin_command(write.connection(), &task, signed(epoch), &places, signed(now_ms))
        })
    }

    fn end_command<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>> {
        let task = task.clone();
        self.writer.write(move |write| leases::end_command(write.connection(), &task, token))
    }

    fn commands(&self) -> BoxFuture<'_, Result<Vec<WritingCommand>>> {
        self.reader.read(leases::commands)
    }

    fn beat<'a>(&'a self, owner: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>> {
        let owner = owner.to_owned();
        self.writer.write(move |write| journal::beat(write, &owner, signed(now_ms)))
    }
}

impl ApprovalStore for SqliteStore {
    fn park(&self, request: ApprovalRequest) -> BoxFuture<'_, Result<ParkedCall>> {
        self.writer.write(move |write| approvals::park(write.connection(), &request))
    }

    fn answer<'a>(
        &'a self,
        id: &'a str,
        hash: &'a str,
        answer: ApprovalAnswer,
    ) -> BoxFuture<'a, Result<ParkedCall>> {
        let (id, hash) = (id.to_owned(), hash.to_owned());
        self.writer.write(move |write| approvals::answer(write.connection(), &id, &hash, &answer))
    }

    fn close_approvals<'a>(&'a self, task: &'a TaskId, why: &'a str) -> BoxFuture<'a, Result<()>> {
        let (task, why) = (task.clone(), why.to_owned());
        self.writer.write(move |write| approvals::close(write.connection(), &task, &why))
    }

    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ParkedCall>> {
        let id = id.to_owned();
        self.reader.read(move |connection| approvals::find(connection, &id))
    }

    fn approvals(&self, query: ApprovalQuery) -> BoxFuture<'_, Result<Vec<ParkedCall>>> {
        self.reader.read(move |connection| approvals::list(connection, &query))
    }
}

impl MessageStore for SqliteStore {
    fn send_message(&self, message: SteeringMessage) -> BoxFuture<'_, Result<MessageReceipt>> {
        self.writer.write(move |write| messages::send(write.connection(), &message))
    }

    fn queued_messages<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<SteeringMessage>>> {
        let session = session.to_owned();
        self.reader.read(move |connection| messages::queued(connection, &session))
    }

    fn receipts<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<(String, MessageReceipt)>>> {
        let task = task.clone();
        self.reader.read(move |connection| messages::receipts(connection, &task))
    }

    fn ask_question(&self, question: NewQuestion) -> BoxFuture<'_, Result<TaskQuestion>> {
        self.writer.write(move |write| messages::ask(write.connection(), &question))
    }

    fn answer_question(&self, answer: QuestionAnswer) -> BoxFuture<'_, Result<Option<TaskQuestion>>> {
        self.writer.write(move |write| messages::answer(write.connection(), &answer))
    }

    fn close_question<'a>(&'a self, task: &'a TaskId, id: u32) -> BoxFuture<'a, Result<TaskQuestion>> {
        let task = task.clone();
        self.writer.write(move |write| messages::close(write.connection(), &task, id))
    }

    fn question<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Option<TaskQuestion>>> {
        let task = task.clone();
        self.reader.read(move |connection| messages::newest(connection, &task))
    }
}

impl ContextStore for SqliteStore {
    fn create_session<'a>(
        &'a self,
        session: &'a str,
        workspace: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<()>> {
        let (session, workspace) = (session.to_owned(), workspace.to_owned());
        self.writer.write(move |write| {
            context::create_session(write.connection(), &session, &workspace, signed(now_ms))
        })
    }

    fn sessions(&self, limit: u32, now_ms: u64) -> BoxFuture<'_, Result<Vec<SessionRow>>> {
        self.reader.read(move |connection| context::sessions(connection, limit, now_ms))
    }

    fn archive_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>> {
        let session = session.to_owned();
        self.writer.write(move |write| context::archive_session(write.connection(), &session, signed(now_ms)))
    }

    fn keep_agent<'a>(&'a self, session: &'a str, agent: KeptAgent, _: u64) -> BoxFuture<'a, Result<()>> {
        let session = session.to_owned();
        self.writer.write(move |write| context::keep_agent(write.connection(), &session, &agent))
    }

    fn kept_agents<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<KeptAgent>>> {
        self.read_context(session, context::kept_agents)
    }

    fn delete_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>> {
        let session = session.to_owned();
        self.writer.write(move |write| context::delete_session(write.connection(), &session, signed(now_ms)))
    }

    fn change_context(&self, request: ChangeRequest) -> BoxFuture<'_, Result<ChangeResult>> {
        self.writer.write(move |write| context::change(write.connection(), &request))
    }

    fn context_keys<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Vec<ValueHead>>> {
        self.read_context(session, move |connection, number| context::live_heads(connection, number, now_ms))
    }

    fn context_values<'a>(
        &'a self,
        session: &'a str,
        keys: &'a [ContextKey],
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>> {
        let keys = keys.to_vec();
        self.read_context(session, move |connection, number| {
            context::values(connection, number, &keys, now_ms)
        })
    }

    fn context_history<'a>(
        &'a self,
        session: &'a str,
        key: &'a ContextKey,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<HistoryLine>>> {
        let key = key.clone();
        self.read_context(session, move |connection, number| {
            context::history(connection, number, &key, limit)
        })
    }

    fn snapshots<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<ContextSnapshot>>> {
        self.read_context(session, context::snapshots)
    }

    fn snapshot<'a>(
        &'a self,
        session: &'a str,
        label: &'a SnapshotLabel,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>> {
        let label = label.clone();
        self.read_context(session, move |connection, number| context::copied(connection, number, &label))
    }
}

impl SqliteStore {
    /// Returns the state of a session; `None` if there is none of this id.
    pub async fn session_state(&self, session: &str) -> Result<Option<SessionState>> {
        let session = session.to_owned();
        self.reader.read(move |connection| context::state(connection, &session)).await
    }

    fn claim_at(&self, task: &TaskId, from: Option<u64>, owner: &str) -> BoxFuture<'static, Result<u64>> {
        let (task, owner) = (task.clone(), owner.to_owned());
        self.writer.write(move |write| journal::claim(write.connection(), &task, from, &owner, write.now))
    }

    fn read_context<T: Send + 'static>(
        &self,
        session: &str,
        query: impl FnOnce(&rusqlite::Connection, i64) -> Result<T, fault::StoreRefusal> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let session = session.to_owned();
        self.reader.read(move |connection| context::read(connection, &session, query))
    }
}

/// Converts to SQLite's signed numbers; saturates.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
