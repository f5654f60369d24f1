//! A session whose orchestrator is an external program, such as an MCP host. It has no run of its own: it connects and
//! disconnects, and its tasks stay. Several hosts can share a session, each in its own process.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use posse_core::Result;
use posse_core::agent::Agent;
use posse_core::approval::{self, ParkedCall};
use posse_core::budget::BudgetCaps;
use posse_core::id::TaskId;
use posse_core::task::TaskRequest;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::adopt::BegunTasks;
use super::children::{ChildTasks, ParentTask};
use super::facades::investigate;
use super::{Session, shared_context, subagent};
use crate::context::now_ms;
use crate::delegation::{Delegation, DelegationCall, ReplyContent, SpawnReceipt, TaskReport, ToolReply};
use crate::inbox::TaskInbox;
use crate::ports::{ApprovalQuery, TaskFilter, TaskQuery, TaskRow, ToolOutput};

/// Number of earlier tasks that a new process loads. The others stay in the store.
const RECALLED_MAX: u32 = 100;
/// A host has no run whose time could be over; each call has its own timeout.
const TIME_LEFT: Duration = Duration::from_secs(3_600);

/// A session as an external program uses it. Dropping it leaves the tasks as they are.
pub struct HostSession {
    session: Arc<Session>,
    children: Arc<ChildTasks>,
    delegation: Delegation,
    /// Serializes syncs, so that no task is driven twice.
    syncing: Mutex<()>,
    /// Calls in progress, by key: a repeated call waits for the first.
    under_way: std::sync::Mutex<HashMap<String, Arc<Mutex<()>>>>,
    attending: JoinHandle<()>,
}

/// A reply as a host gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedReply {
    pub text: String,
    /// The reply as an object; `None` if it is plain text.
    pub object: Option<Value>,
    pub is_error: bool,
}

impl Session {
    /// Opens the session for an external program, with its earlier tasks: those of a dead process are resumed. `agent` has
    /// the default model and limits of definitions. `writing_advice` is shown to callers that are refused write rights.
    pub async fn host(self: &Arc<Self>, agent: Agent, writing_advice: Option<String>) -> Result<HostSession> {
        self.sources.store.create_session(&self.id, &self.place.workspace, now_ms()).await?;
        let own = self.watchers.stop.child();
        let parent = ParentTask {
            id: TaskId::root(&self.id),
            grant: self.policy.grant.keep(&agent.rights),
            agent,
            workspace: self.place.workspace.clone(),
            worktree: None,
            budget: self.account(&self.budget, BudgetCaps::default())?,
            inbox: TaskInbox::default(),
            stop: own.child(),
            own,
            outside: true,
            writing_advice,
        };
        let children = Arc::new(ChildTasks::new(parent, self.policy.rules));
        self.parents().insert(children.parent.id.clone(), children.clone());
        let session = self.clone();
        let attending =
            tokio::spawn(async move { session.with_heartbeat(std::future::pending::<()>()).await });
        let hosted = HostSession {
            delegation: Delegation::new(self.clone(), children.clone()),
            session: self.clone(),
            children,
            syncing: Mutex::default(),
            under_way: std::sync::Mutex::default(),
            attending,
        };
        hosted.sync_with_store().await?;
        self.apply_cancel_requests().await;
        Ok(hosted)
    }
}

impl Drop for HostSession {
    fn drop(&mut self) {
        self.attending.abort();
    }
}

impl HostSession {
    /// Returns the delegation of this host, after loading definitions and tasks of other processes.
    pub async fn delegation(&self) -> Result<&Delegation> {
        self.sync_with_store().await?;
        Ok(&self.delegation)
    }

    /// Creates a call of this host. `key` is its idempotency key.
    pub fn call<'a>(&self, key: &'a str, cancel: &'a CancellationToken) -> DelegationCall<'a> {
        DelegationCall { key, cancel, time_left: TIME_LEFT }
    }

    /// Starts a task. A repeated request with this key gets the task of the first.
    pub async fn spawn(&self, request: TaskRequest, key: &str) -> Result<SpawnReceipt> {
        let _turn = self.begin(key).await?;
        self.delegation.spawn(TaskRequest { key: Some(key.to_owned()), ..request }).await
    }

    /// Performs a call of the `subagent` tool.
    pub async fn subagent(&self, arguments: Map<String, Value>, call: DelegationCall<'_>) -> ToolReply {
        match self.begin(call.key).await {
            Ok(_turn) => {
                let delegation = Ok(self.delegation.clone());
                subagent::perform(delegation, arguments, call, None).await.into_reply()
            }
            Err(e) => ToolReply::failed(&e),
        }
    }

    /// Performs a call of the `shared_context` tool.
    pub async fn shared_context(&self, arguments: Map<String, Value>, call: DelegationCall<'_>) -> ToolReply {
        match self.begin(call.key).await {
            Ok(_turn) => {
                shared_context::respond(&self.session, &self.children.parent.id, arguments, call).await
            }
            Err(e) => ToolReply::failed(&e),
        }
    }

    /// Performs a call of the `run_subagent` tool.
    pub async fn run_subagent(&self, arguments: Map<String, Value>, call: DelegationCall<'_>) -> ToolReply {
        let arguments = Value::Object(arguments);
        if let Some(misfit) = self.session.place.tools.misfit("run_subagent", &arguments) {
            return ToolOutput::mistake(misfit).into();
        }
        match self.begin(call.key).await {
            Ok(_turn) => investigate::respond(&self.delegation, call, arguments).await.into(),
            Err(e) => ToolReply::failed(&e),
        }
    }

    /// Waits for an earlier attempt at the call with this key, then loads changes of other processes.
    async fn begin(&self, key: &str) -> Result<CallTurn<'_>> {
        let turn = self.under_way().entry(key.to_owned()).or_default().clone();
        let turn = CallTurn { hosted: self, key: key.to_owned(), held: Some(turn.lock_owned().await) };
        self.sync_with_store().await?;
        Ok(turn)
    }

    fn under_way(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Mutex<()>>>> {
        self.under_way.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Prints a reply, with secrets redacted.
    pub fn print(&self, reply: ToolReply) -> PrintedReply {
        let is_error = reply.is_error;
        let (text, object) = match reply.content {
            ReplyContent::Object(value) => (value.to_string(), Some(value)),
            ReplyContent::Text(text) => (text, None),
        };
        let redacted = match self.session.place.tools.redactor().redact(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(redacted) => Some(redacted),
        };
        match redacted {
            None => PrintedReply { text, object, is_error },
            Some(text) => {
                let object = object.and_then(|_| serde_json::from_str(&text).ok());
                PrintedReply { text, object, is_error }
            }
        }
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> &str {
        &self.session.id
    }

    /// Returns the task that a call with this key started.
    pub fn begun_by(&self, key: &str) -> Option<TaskId> {
        self.children.with_key(key).map(|task| task.id.clone())
    }

    /// Waits until a call with this key has started a task. The task is in the store then.
    pub async fn begun(&self, key: &str) -> TaskId {
        self.children.stored_with_key(key).await.id.clone()
    }

    /// Lists the tasks of this host, oldest first.
    pub async fn tasks(&self) -> Result<Vec<TaskReport>> {
        self.sync_with_store().await?;
        let mut tasks: Vec<_> = self.children.tasks().into_iter().map(|(task, _)| task).collect();
        tasks.sort_by_key(|task| task.number());
        Ok(tasks.iter().map(|task| task.report()).collect())
    }

    /// Returns a task's row in the store.
    pub async fn row(&self, id: &str) -> Result<TaskRow> {
        let task = self.children.task(id)?;
        self.session.sources.store.task(&task.id).await
    }

    /// Lists calls of this session's tasks that wait for approval.
    pub async fn open_approvals(&self) -> Result<Vec<ParkedCall>> {
        let open = self.session.sources.store.approvals(ApprovalQuery::Open).await?;
        Ok(open.into_iter().filter(|parked| parked.request.task.session() == self.session.id).collect())
    }

    /// Records a person's answer to exactly the call that was shown.
    pub async fn answer_approval(
        &self,
        parked: &ParkedCall,
        answer: approval::ApprovalAnswer,
    ) -> Result<ParkedCall> {
        self.session.sources.store.answer(&parked.id, &parked.request.hash, answer).await
    }

    /// Returns the tasks that have not ended.
    pub fn unfinished(&self) -> Vec<TaskId> {
        self.children.unfinished().iter().map(|task| task.id.clone()).collect()
    }

    /// Loads definitions and tasks of other processes in this session.
    async fn sync_with_store(&self) -> Result<()> {
        let _one_at_a_time = self.syncing.lock().await;
        self.session.recall_agents().await?;
        let of = TaskFilter::ChildrenOf(self.children.parent.id.clone());
        let newest = TaskQuery { limit: RECALLED_MAX, ..TaskQuery::of(of.clone()) };
        let running = TaskQuery::running(of);
        let mut rows = self.session.sources.store.find_tasks(newest).await?;
        self.session.reserve_numbers(rows.iter());
        for row in self.session.sources.store.find_tasks(running).await? {
            if !rows.iter().any(|known| known.id == row.id) {
                rows.push(row);
            }
        }
        let (known, new): (Vec<TaskRow>, Vec<TaskRow>) =
            rows.into_iter().partition(|row| self.children.task(row.id.short()).is_ok());
        for row in &known {
            self.session.refresh(&self.children, row).await;
        }
        if new.is_empty() {
            return Ok(());
        }
        self.session.restore_children(&self.children, new, |_| false, &BegunTasks::default(), false).await
    }

    /// Releases ownership of all tasks that this process drives, so that another one can claim them. Later writes from
    /// here fail. Returns the released tasks.
    pub async fn release_tasks(&self) -> Result<Vec<TaskId>> {
        self.session.release_tasks(&self.children.parent.id).await
    }

    /// Cancels all tasks of this host and waits a moment for their ends.
    pub async fn cancel_all(&self) {
        self.session.cancel_all(&self.children).await;
    }
}

/// The turn of one attempt at a call. Dropping it lets the next attempt start.
struct CallTurn<'a> {
    hosted: &'a HostSession,
    key: String,
    held: Option<OwnedMutexGuard<()>>,
}

impl Drop for CallTurn<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut under_way = self.hosted.under_way();
        // Only the map holds it: no attempt waits.
        if under_way.get(&self.key).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            under_way.remove(&self.key);
        }
    }
}
