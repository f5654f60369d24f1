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

/// The store of a session. Implemented by every type that implements the five parts.
pub trait Store: JournalStore + LeaseStore + ContextStore + ApprovalStore + MessageStore {}

impl<T: JournalStore + LeaseStore + ContextStore + ApprovalStore + MessageStore> Store for T {}

/// Keeps tasks and their journals. A write is durable when its future resolves.
pub trait JournalStore: Send + Sync {
    /// Creates a task with its first records, owned by `owner` at epoch 1, with its lease, and its session if that is new.
    /// Fails with `INVALID_REQUEST` if the id exists, and with `LEASE_CONFLICT` as `lease` does.
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>>;

    /// Queues records at once and in order; the future resolves when they are durable. Dropping the future does not
    /// take the records back. Fails with `OWNER_LOST`, writing nothing, if `epoch` is no longer the task's.
    fn append(&self, task: &TaskId, epoch: u64, records: &[Record]) -> BoxFuture<'static, Result<()>>;

    /// Makes `owner` the task's driver and returns the new epoch; appends of earlier epochs fail from then on.
    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>>;

    /// Like `claim`, if the task is still at this epoch; fails with `OWNER_LOST` otherwise. Of several claimers that saw
    /// the same dead owner, one wins.
    fn claim_from<'a>(&'a self, task: &'a TaskId, epoch: u64, owner: &'a str) -> BoxFuture<'a, Result<u64>>;

    /// Requests that a running task end. Its driver finds the request among `cancel_requests`. The request ends with the
    /// task; a task that has ended does not change.
    fn request_cancel<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>>;

    /// Advances the delivery state of a task's result to its parent, and returns the current state. It never goes back,
    /// and the first `Collected` stays: of several requests that collect at once, one finds its own key in the answer.
    fn deliver<'a>(
        &'a self,
        task: &'a TaskId,
        delivery: ResultDelivery,
    ) -> BoxFuture<'a, Result<ResultDelivery>>;

    /// Lists running tasks with a cancel request.
    fn cancel_requests(&self) -> BoxFuture<'_, Result<Vec<TaskId>>>;

    /// Returns all records of a task in order; `TASK_NOT_FOUND` if there is no such task.
    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>>;

    /// Returns at most `limit` records of a task from position `from` on; `TASK_NOT_FOUND` if there is no such task.
    fn records_from<'a>(
        &'a self,
        task: &'a TaskId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRecord>>>;

    fn task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskRow>>;

    /// Lists tasks, newest first, at most `limit`.
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
                        // The host of an MCP session is a parent without a row.
                        Err(e) if e.code() == ErrorCode::TaskNotFound => return Ok(false),
                        Err(e) => return Err(e),
                    },
                }
            }
            Ok(true)
        })
    }

    /// Sums up a task and its descendants.
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

/// Keeps write leases, running commands that may write, and the heartbeats of owners. A write is durable when its future
/// resolves.
pub trait LeaseStore: Send + Sync {
    /// Leases all of these paths to a task, or none: fails with `LEASE_CONFLICT` if another task holds one of them, and
    /// with `OWNER_LOST` if `epoch` is no longer the task's. Returns the lease's token; the existing one if the task has
    /// these paths already. A lease ends with its task, in the same write.
    fn lease<'a>(&'a self, task: &'a TaskId, epoch: u64, request: LeaseRequest)
    -> BoxFuture<'a, Result<u64>>;

    /// Ends a lease. Nothing changes if the task has another one by now, or none.
    fn end_lease<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>>;

    /// Lists all leases, oldest first.
    fn leases(&self) -> BoxFuture<'_, Result<Vec<Lease>>>;

    fn writing<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<WriteState>>;

    /// Records that a task starts a process which may write these paths. It never conflicts; leases acquired from now on
    /// are newer. Fails with `OWNER_LOST` if `epoch` is no longer the task's. It ends with `end_command`, with the epoch,
    /// and with the task.
    fn begin_command<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        places: WritePaths,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<u64>>;

    fn end_command<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>>;

    /// Lists all running commands, oldest first.
    fn commands(&self) -> BoxFuture<'_, Result<Vec<WritingCommand>>>;

    /// Records a heartbeat of this owner. Owners without one for a day are removed.
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
    /// A session's own task and its descendants.
    Session(String),
    ChildrenOf(TaskId),
    /// Ids with this prefix.
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

/// A record with its position in the journal.
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
    /// Tokens of leases whose holders are dead: they end if they conflict.
    pub dead: Vec<u64>,
    /// A holder without a heartbeat for longer than this loses its lease if it conflicts.
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
    /// Last sign of life of its owner: its last write for this task, or its last heartbeat.
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
    /// A `wait` reported its end.
    Reported,
    /// Its text was read. It can still be collected.
    Read,
    /// Delivered to the request with this key, and to no other one.
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

    /// Returns the stored form; `None` for the default.
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

/// Keeps calls that wait for approval, and the answers. A write is durable and visible to every process on the same store
/// when its future resolves. The rules are those of `posse_core::approval`, applied in one transaction, so that of several
/// answers one counts. Time is passed in.
pub trait ApprovalStore: Send + Sync {
    /// Parks a call. One that was parked before keeps its id and its answer, as `ParkedCall::park_again` says;
    /// `APPROVAL_MISMATCH` if the call has changed.
    fn park(&self, request: approval::ApprovalRequest) -> BoxFuture<'_, Result<ParkedCall>>;

    /// Answers a parked call; `APPROVAL_CLOSED` if it is answered or its task has ended, `APPROVAL_MISMATCH` if `hash` differs.
    fn answer<'a>(
        &'a self,
        id: &'a str,
        hash: &'a str,
        answer: approval::ApprovalAnswer,
    ) -> BoxFuture<'a, Result<ParkedCall>>;

    /// Closes the open questions of a task that no longer waits for answers.
    fn close_approvals<'a>(&'a self, task: &'a TaskId, why: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Finds a parked call; `APPROVAL_NOT_FOUND` if there is none.
    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ParkedCall>>;

    /// Lists parked calls, oldest first.
    fn approvals(&self, query: ApprovalQuery) -> BoxFuture<'_, Result<Vec<ParkedCall>>>;
}

/// Filter for approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalQuery {
    /// The newest ones, in any state.
    Newest(u32),
    /// Open questions of tasks that have not ended.
    Open,
    /// Answers of a session that cover more than one call.
    Standing(String),
    /// The request of one call, if it was ever parked.
    Call(TaskId, CallKey),
}

/// Creates the error for an unknown approval id.
pub fn unknown_approval(id: &str) -> Error {
    let id = posse_core::text::prefix(id, 80);
    Error::new(ErrorCode::ApprovalNotFound, localized!("approval-not-found", id))
        .hint(localized!("approvals-list-hint"))
}

/// Keeps sessions and their shared context. A write is durable and visible to every process on the same store when its
/// future resolves. The rules are those of `posse_core::context`, applied in one transaction, so that limits and versions
/// hold under concurrent writes. Every function but `create_session` and `sessions` fails with `SESSION_NOT_FOUND` for an
/// unknown or deleted session. Time is passed in.
pub trait ContextStore: Send + Sync {
    /// Creates a session of a workspace before it has a task. Nothing changes if it exists.
    fn create_session<'a>(
        &'a self,
        session: &'a str,
        workspace: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<()>>;

    /// Lists sessions, newest first, at most `limit`, without deleted ones.
    fn sessions(&self, limit: u32, now_ms: u64) -> BoxFuture<'_, Result<Vec<SessionRow>>>;

    /// Makes the session's context read-only.
    fn archive_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;

    /// Stores an agent of a session without a journal of its own, in place of an earlier one of its name.
    fn keep_agent<'a>(&'a self, session: &'a str, agent: KeptAgent, now_ms: u64)
    -> BoxFuture<'a, Result<()>>;

    /// Lists the newest `KEPT_AGENTS_MAX` agents, oldest first.
    fn kept_agents<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<KeptAgent>>>;

    /// Removes the session's context with its history and snapshots, and its agents. Tasks and journals stay.
    fn delete_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;

    /// Makes one change, whole or not at all. A repeated request changes nothing and gets the same answer.
    fn change_context(&self, request: ChangeRequest) -> BoxFuture<'_, Result<ChangeResult>>;

    /// Lists the keys of a session without their values.
    fn context_keys<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Vec<ValueHead>>>;

    /// Returns the values of these keys as of one instant, in the order requested, without keys that do not exist.
    fn context_values<'a>(
        &'a self,
        session: &'a str,
        keys: &'a [ContextKey],
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>>;

    /// Returns the newest `limit` entries of a key's history, newest first. The values of the last `HISTORY_MAX` are kept.
    fn context_history<'a>(
        &'a self,
        session: &'a str,
        key: &'a ContextKey,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<HistoryLine>>>;

    /// Lists snapshots, oldest first.
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
    /// Idempotency key: equal for every attempt at this change, in any process.
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
    /// The workspace of its tasks, or the one that their worktrees were copied from.
    pub workspace: String,
    pub created_ms: u64,
    pub archived_ms: Option<u64>,
    pub tasks: u64,
    /// Number of keys in the shared context.
    pub keys: u64,
    pub tokens: u64,
}

/// Maximum agents of one session that are restored; a session that makes more makes them for one task each.
pub const KEPT_AGENTS_MAX: usize = 200;

/// An agent as it was defined while a session ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAgent {
    pub name: String,
    /// Incremented when it is defined again.
    pub version: u32,
    /// Idempotency key of the call that defined it.
    pub key: String,
    /// Arguments of that call, as JSON.
    pub arguments: String,
}
