//! Reading what many tasks have in common: pages of lists, sums, and the journal of all tasks in the order it grew.

use posse_core::Result;
use posse_core::approval::ParkedCall;
use posse_core::id::TaskId;
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;

use super::{BoxFuture, MessageReceipt, ParentQuestion, SessionRow, Store, StoredRecord, TaskRow};

/// Reads lists of a store that is shared by many tasks, for views that page and follow it. Nothing here writes.
pub trait CatalogStore: Store {
    /// Lists matching tasks, newest first.
    fn task_page(&self, query: TaskPageQuery) -> BoxFuture<'_, Result<Vec<CatalogTask>>>;

    /// Finds a task; `TASK_NOT_FOUND` if there is none.
    fn catalog_task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<CatalogTask>>;

    /// Sums up each of these tasks with its descendants.
    fn subtree_totals(&self, tasks: Vec<TaskId>) -> BoxFuture<'_, Result<Vec<SpendingTotal>>>;

    /// Sums up spending since an instant, one line for each group, the most expensive first.
    fn spending_by(&self, by: SpendingGroup, since_ms: u64) -> BoxFuture<'_, Result<Vec<SpendingLine>>>;

    /// Lists sessions with numbers below `before`, newest first.
    fn session_page(
        &self,
        before: Option<u64>,
        limit: u32,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Vec<(u64, SessionRow)>>>;

    /// Finds a session; `None` if there is none, or it was deleted.
    fn session_named<'a>(
        &'a self,
        session: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Option<SessionRow>>>;

    /// Lists approvals of any state with numbers below `before`, newest first.
    fn approval_page(&self, query: ApprovalPageQuery) -> BoxFuture<'_, Result<Vec<(u64, ParkedCall)>>>;

    /// Lists the open questions of running tasks, oldest first.
    fn open_questions(&self) -> BoxFuture<'_, Result<Vec<(TaskId, ParentQuestion)>>>;

    /// Lists messages that are queued, or were sent after the message with number `after`, oldest first.
    fn message_news(&self, after: u64) -> BoxFuture<'_, Result<Vec<MessageNews>>>;

    /// Returns appends to all journals after `after`, in the order of their commits, at most `limit`. An append that
    /// cannot be read has no records.
    fn arrivals(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<JournalArrival>>>;

    /// Returns the newest `limit` appends to a task's journal, oldest first; `TASK_NOT_FOUND` if there is no such task.
    fn recent_records<'a>(&'a self, task: &'a TaskId, limit: u32)
    -> BoxFuture<'a, Result<Vec<StoredRecord>>>;

    /// Returns the number of the newest append, 0 without one. It never goes back.
    fn last_arrival(&self) -> BoxFuture<'_, Result<u64>>;

    /// Returns a number that changes when the store does: polling it costs next to nothing.
    fn change_mark(&self) -> BoxFuture<'_, Result<u64>>;
}

/// Filter of a page of tasks; all given parts must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPageQuery {
    /// Only tasks with a smaller number: the ones after a page.
    pub before: Option<u64>,
    pub session: Option<String>,
    /// Directory that the task's person works in.
    pub workspace: Option<String>,
    pub agent: Option<String>,
    pub parent: Option<TaskId>,
    /// Only tasks without a parent that is a task.
    pub is_root: bool,
    pub state: Option<TaskState>,
    /// Only tasks that have ended.
    pub has_ended: bool,
    /// Created at this instant or later.
    pub since_ms: u64,
    /// Words of the title or the agent, in lower case.
    pub words: Vec<String>,
    pub limit: u32,
}

/// A task in a catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogTask {
    /// Position in the order of creation.
    pub number: u64,
    pub row: TaskRow,
    /// Directory that its person works in; a worktree counts as what it was copied from.
    pub workspace: String,
}

/// Filter of a page of approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalPageQuery {
    /// Only approvals with a smaller number: the ones after a page.
    pub before: Option<u64>,
    pub task: Option<TaskId>,
    /// Wire name of the state.
    pub state: Option<String>,
    pub limit: u32,
}

/// A steering message and its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageNews {
    /// Position in the order of sending.
    pub number: u64,
    pub task: TaskId,
    pub key: String,
    pub receipt: MessageReceipt,
}

/// An append to the journal of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalArrival {
    /// Position in the order of all appends.
    pub number: u64,
    pub task: TaskId,
    pub parent: Option<TaskId>,
    pub records: Vec<StoredRecord>,
}

/// Key by which spending is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendingGroup {
    Agent,
    /// Calls without a reply have no model.
    Model,
    /// In local time.
    Day,
    Workspace,
    /// A session's own task with everything below it.
    Session,
}

/// The spending of one agent, model, day or workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendingLine {
    pub name: String,
    pub total: SpendingTotal,
    /// Input tokens that the provider's cache served.
    pub cached_tokens: u64,
}
