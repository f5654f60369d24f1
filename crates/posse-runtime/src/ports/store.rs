//! The store: tasks and their journals, leases, approvals and shared context.

use posse_core::approval::{self, ParkedCall};
use posse_core::context::{
    ChangeResult, ContextChange, ContextEntry, ContextKey, ContextSnapshot, HistoryLine, SnapshotLabel,
    ValueHead,
};
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::Record;
use posse_core::lease::{Lease, WritePaths, WriteState, WritingCommand};
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use super::{BoxFuture, MessageStore};

/// Everything that a session keeps. Implemented by whatever implements the five parts.
pub trait Store: JournalStore + LeaseStore + ContextStore + ApprovalStore + MessageStore {}

impl<T: JournalStore + LeaseStore + ContextStore + ApprovalStore + MessageStore> Store for T {}

/// Keeps tasks and their journals. Whatever a returned future resolved for is on disk.
pub trait JournalStore: Send + Sync {
    /// Creates a task with its first records, owned by `owner` at epoch 1, with its lease, and its session if that is new.
    /// Fails with `INVALID_REQUEST` if the id exists, and with `LEASE_CONFLICT` as `lease` does.
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>>;

    /// Queues records at once and in order; the future resolves when they are durable. Dropping the future does not
    /// take the records back. Fails with `OWNER_LOST`, writing nothing, if `epoch` is no longer the task's.
    fn append(&self, task: &TaskId, epoch: u64, records: &[Record]) -> BoxFuture<'static, Result<()>>;

    /// Makes `owner` the task's driver and returns the new epoch; appends of earlier epochs fail from then on.
    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>>;

    /// The same, if the task is still at this epoch; fails with `OWNER_LOST` otherwise. Of several that saw the same dead
    /// owner, one gets the task.
    fn claim_from<'a>(&'a self, task: &'a TaskId, epoch: u64, owner: &'a str) -> BoxFuture<'a, Result<u64>>;

    /// Says that somebody wants a running task to end. Whoever drives it finds it among `cancel_requests`. The wish is
    /// over when the task has ended; of a task that has ended already, nothing changes.
    fn request_cancel<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>>;

    /// Notes how far the result of a task has reached whoever delegated it, and returns what holds now. It never goes back, and the
    /// first `Collected` stays: of several requests that collect at once, one finds its own key in the answer.
    fn deliver<'a>(
        &'a self,
        task: &'a TaskId,
        delivery: ResultDelivery,
    ) -> BoxFuture<'a, Result<ResultDelivery>>;

    /// Running tasks that somebody wants to end.
    fn cancel_requests(&self) -> BoxFuture<'_, Result<Vec<TaskId>>>;

    /// All records of a task in order. `TASK_NOT_FOUND` if there is no such task.
    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>>;

    /// The records of a task from position `from` on, counted from 0, at most `limit`. `TASK_NOT_FOUND` if there is no such task.
    fn records_from<'a>(
        &'a self,
        task: &'a TaskId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRecord>>>;

    fn task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskRow>>;

    /// Newest first, at most `limit`.
    fn tasks(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TaskRow>>> {
        self.find_tasks(TaskQuery { limit, ..TaskQuery::default() })
    }

    /// Lists matching tasks, newest first.
    fn find_tasks(&self, query: TaskQuery) -> BoxFuture<'_, Result<Vec<TaskRow>>>;

    /// Checks if a task is `top`, or was delegated below it.
    fn is_within<'a>(&'a self, row: &'a TaskRow, top: &'a TaskId) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let (mut id, mut parent) = (row.id.clone(), row.parent.clone());
            while id != *top {
                match parent {
                    None => return Ok(false),
                    Some(above) if above == *top => return Ok(true),
                    Some(above) => match self.task(&above).await {
                        Ok(row) => (id, parent) = (above, row.parent),
                        // The host of an MCP session delegates, and has no row.
                        Err(e) if e.code() == ErrorCode::TaskNotFound => return Ok(false),
                        Err(e) => return Err(e),
                    },
                }
            }
            Ok(true)
        })
    }

    /// Sums of a task and of everything below it.
    fn tree_total<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<SpendingTotal>> {
        Box::pin(async move {
            let mut total = self.task(task).await?.total;
            let mut parents = vec![task.clone()];
            while let Some(parent) = parents.pop() {
                for child in self.find_tasks(TaskQuery::of(TaskFilter::ChildrenOf(parent))).await? {
                    total.add(&child.total);
                    parents.push(child.id);
                }
            }
            Ok(total)
        })
    }
}

/// Keeps write leases, the commands that may write at this moment, and the heartbeats of owners. Whatever a returned future
/// resolved for is on disk.
pub trait LeaseStore: Send + Sync {
    /// Gives a task all of these places, or none: fails with `LEASE_CONFLICT` if another task holds one of them, and with
    /// `OWNER_LOST` if `epoch` is no longer the task's. Returns the lease's token; of a task that has these places already,
    /// the one it has. A lease ends with its task, in the same write.
    fn lease<'a>(&'a self, task: &'a TaskId, epoch: u64, request: LeaseRequest)
    -> BoxFuture<'a, Result<u64>>;

    /// Takes a lease away. Nothing changes if the task has another one by now, or none.
    fn end_lease<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>>;

    /// Everybody's, oldest first.
    fn leases(&self) -> BoxFuture<'_, Result<Vec<Lease>>>;

    fn writing<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<WriteState>>;

    /// Notes that a task starts a process which may write these places. Nothing stands in its way; leases that are given from
    /// now on are newer than it. Fails with `OWNER_LOST` if `epoch` is no longer the task's. It is over with `end_command`, with the
    /// epoch, and with the task.
    fn begin_command<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        places: WritePaths,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<u64>>;

    fn end_command<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>>;

    /// Everybody's, oldest first.
    fn commands(&self) -> BoxFuture<'_, Result<Vec<WritingCommand>>>;

    /// Says that this owner lives now. Those that were silent for a day are forgotten.
    fn beat<'a>(&'a self, owner: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;
}

/// Filter for tasks; all given parts must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    pub of: TaskFilter,
    pub state: Option<TaskState>,
    pub limit: u32,
}

impl Default for TaskQuery {
    fn default() -> Self {
        Self { of: TaskFilter::All, state: None, limit: u32::MAX }
    }
}

impl TaskQuery {
    /// Creates a query without further restrictions.
    pub fn of(of: TaskFilter) -> Self {
        Self { of, ..Self::default() }
    }

    /// Creates a query for the running tasks of a group.
    pub fn running(of: TaskFilter) -> Self {
        Self { of, state: Some(TaskState::Running), ..Self::default() }
    }
}

/// Groups of tasks to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskFilter {
    All,
    /// A session's own task and everything below it.
    Session(String),
    ChildrenOf(TaskId),
    /// Ids that begin so.
    Prefix(String),
    /// Ids whose part after the session is this: `t_01`, or a session's own id.
    Short(String),
}

impl TaskFilter {
    /// Tells whether the row matches.
    pub fn fits(&self, row: &TaskRow) -> bool {
        match self {
            TaskFilter::All => true,
            TaskFilter::Session(session) => row.id.session() == session,
            TaskFilter::ChildrenOf(parent) => row.parent.as_ref() == Some(parent),
            TaskFilter::Prefix(prefix) => row.id.as_str().starts_with(prefix),
            TaskFilter::Short(short) => row.id.short() == short,
        }
    }
}

/// A record with its place in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRecord {
    /// Position in the journal of its task, from 0.
    pub seq: u64,
    /// When it was appended.
    pub at_ms: u64,
    pub record: Record,
}

/// A task to create, with its first records.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub id: TaskId,
    pub parent: Option<TaskId>,
    pub agent: String,
    pub owner: String,
    pub records: Vec<Record>,
    /// Lease to acquire with the creation. The task is not created without it.
    pub lease: Option<LeaseRequest>,
}

/// A request for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    pub places: WritePaths,
    /// Leases, by their tokens, whose holders are dead: they end if they stand in the way.
    pub dead: Vec<u64>,
    /// A holder that was not heard of for longer than this loses its lease if it stands in the way.
    pub silence_ms_max: u64,
    pub now_ms: u64,
}

impl LeaseRequest {
    /// Tells whether a conflicting lease may be ended for this request.
    pub fn ends(&self, lease: &Lease) -> bool {
        self.dead.contains(&lease.token) || lease.is_expired(self.now_ms, self.silence_ms_max)
    }
}

/// A task as listings show it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    pub id: TaskId,
    pub parent: Option<TaskId>,
    pub agent: String,
    /// The first 200 bytes of the task text.
    pub title: String,
    pub state: TaskState,
    pub owner: String,
    pub epoch: u64,
    pub created_ms: u64,
    pub updated_ms: u64,
    /// The last sign of life of its owner: what it wrote for this task, or its last `beat`.
    pub seen_ms: u64,
    /// A cancel was requested.
    pub cancel_requested: bool,
    /// Sums over the records of this task alone.
    pub total: SpendingTotal,
    /// Delivery of the result to a host; an orchestrator's journal records it for its own tasks.
    pub delivery: ResultDelivery,
}

impl TaskRow {
    /// Returns the number of replies.
    pub fn turns(&self) -> u32 {
        u32::try_from(self.total.turns).unwrap_or(u32::MAX)
    }
}

/// Delivery state of a task's result to its parent.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultDelivery {
    #[default]
    Unreported,
    /// A `wait` named its end.
    Reported,
    /// Its text was read. It can still be collected.
    Read,
    /// Given to the request with this key, and to no other one.
    Collected { by: String },
}

impl ResultDelivery {
    /// Returns the state after a request for `next`.
    pub fn raised_to(&self, next: &Self) -> Self {
        match self {
            Self::Collected { .. } => self.clone(),
            _ => self.max(next).clone(),
        }
    }

    /// As a store keeps it; `None` for what is usual.
    pub fn stored(&self) -> Option<String> {
        match self {
            Self::Unreported => None,
            Self::Reported => Some("reported".to_owned()),
            Self::Read => Some("read".to_owned()),
            Self::Collected { by } => Some(format!("collected:{by}")),
        }
    }

    pub fn from_store(text: Option<&str>) -> Self {
        match text {
            None => Self::Unreported,
            Some("reported") => Self::Reported,
            Some("read") => Self::Read,
            Some(text) => Self::Collected { by: text.strip_prefix("collected:").unwrap_or(text).to_owned() },
        }
    }
}

/// Keeps calls that wait for a person's yes, and the answers. What a returned future resolved for is on disk and seen by every
/// process on the same store. The rules are those of `posse_core::approval`, applied inside one transaction, so that of
/// several answers one counts. Time is passed in.
pub trait ApprovalStore: Send + Sync {
    /// Parks a call. One that was parked before keeps its place and its answer, as `ParkedCall::park_again` says;
    /// `APPROVAL_MISMATCH` if it was another call then.
    fn park(&self, request: approval::ApprovalRequest) -> BoxFuture<'_, Result<ParkedCall>>;

    /// `APPROVAL_CLOSED` if somebody was faster or its task has ended, `APPROVAL_MISMATCH` if `hash` is of something else.
    fn answer<'a>(
        &'a self,
        id: &'a str,
        hash: &'a str,
        answer: approval::ApprovalAnswer,
    ) -> BoxFuture<'a, Result<ParkedCall>>;

    /// Closes the open questions of a task that no longer waits for answers.
    fn close_approvals<'a>(&'a self, task: &'a TaskId, why: &'a str) -> BoxFuture<'a, Result<()>>;

    /// `APPROVAL_NOT_FOUND` if there is none.
    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ParkedCall>>;

    /// Oldest first.
    fn approvals(&self, query: ApprovalQuery) -> BoxFuture<'_, Result<Vec<ParkedCall>>>;
}

/// Filter for approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalQuery {
    /// The newest ones, whatever became of them.
    Newest(u32),
    /// Open questions of tasks that have not ended.
    Open,
    /// Answers of a session that hold for more than one call.
    Standing(String),
    /// That of one call, if it was ever parked.
    Call(TaskId, CallKey),
}

/// The error for an id that no approval has.
pub fn unknown_approval(id: &str) -> Error {
    let id = posse_core::text::prefix(id, 80);
    Error::new(ErrorCode::ApprovalNotFound, localized!("approval-not-found", id))
        .hint(localized!("approvals-list-hint"))
}

/// Keeps sessions and their shared context. What a returned future resolved for is on disk and seen by every process
/// on the same store. The rules are those of `posse_core::context`, applied inside one transaction, so that limits and
/// versions hold whoever else writes. Every function but `create_session` and `sessions` fails with
/// `SESSION_NOT_FOUND` for a session that is not there or was deleted. Time is passed in.
pub trait ContextStore: Send + Sync {
    /// Makes a session of a workspace known before it has a task. Nothing changes if it is there already.
    fn create_session<'a>(
        &'a self,
        session: &'a str,
        workspace: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<()>>;

    /// Newest first, at most `limit`; those that were deleted are left out.
    fn sessions(&self, limit: u32, now_ms: u64) -> BoxFuture<'_, Result<Vec<SessionRow>>>;

    /// From now on the session's context can be read and not be changed.
    fn archive_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;

    /// Keeps an agent that was made in a session without a journal of its own, in place of an earlier one of its name.
    fn keep_agent<'a>(&'a self, session: &'a str, agent: KeptAgent, now_ms: u64)
    -> BoxFuture<'a, Result<()>>;

    /// The newest `KEPT_AGENTS_MAX` of them, oldest first.
    fn kept_agents<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<KeptAgent>>>;

    /// Removes the session's context with its history and snapshots, and its agents. Tasks and journals stay.
    fn delete_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;

    /// Makes one change, whole or not at all. A request that was made before is not made again: it gets the same answer.
    fn change_context(&self, request: ChangeRequest) -> BoxFuture<'_, Result<ChangeResult>>;

    /// Lists the keys of a session without their values.
    fn context_keys<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Vec<ValueHead>>>;

    /// The values of these keys as of one instant, in the order asked for; keys that do not exist are left out.
    fn context_values<'a>(
        &'a self,
        session: &'a str,
        keys: &'a [ContextKey],
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>>;

    /// The newest `limit` lines of a key's history, newest first. The values of the last `HISTORY_MAX` are kept.
    fn context_history<'a>(
        &'a self,
        session: &'a str,
        key: &'a ContextKey,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<HistoryLine>>>;

    /// Oldest first.
    fn snapshots<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<ContextSnapshot>>>;

    /// Returns the entries of a snapshot; fails with `KEY_NOT_FOUND`.
    fn snapshot<'a>(
        &'a self,
        session: &'a str,
        label: &'a SnapshotLabel,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>>;
}

/// A requested change of a session's context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRequest {
    pub session: String,
    /// Participant who requests it.
    pub participant: String,
    /// The same for every attempt at this change, in any process.
    pub idempotency_key: Option<String>,
    pub change: ContextChange,
    pub now_ms: u64,
}

/// A session as listings show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    /// Title of the session's own task; empty without one.
    pub title: String,
    /// The directory that its tasks work in, or were copied from.
    pub workspace: String,
    pub created_ms: u64,
    pub archived_ms: Option<u64>,
    pub tasks: u64,
    /// Number of keys in the shared context.
    pub keys: u64,
    pub tokens: u64,
}

/// So many agents of one session are known again; a session that makes more makes them for one task each.
pub const KEPT_AGENTS_MAX: usize = 200;

/// An agent as it was defined while a session ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAgent {
    pub name: String,
    /// Grows when it is defined again.
    pub version: u32,
    /// Idempotency key of the call that defined it.
    pub key: String,
    /// Arguments of that call, as JSON.
    pub arguments: String,
}
