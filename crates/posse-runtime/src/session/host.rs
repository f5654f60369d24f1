//! A session whose orchestrator is a program outside, which speaks some protocol. It has no run of its own: it comes and goes, and
//! what it delegated stays. Several of them can be in one session at the same time, each in its own process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use posse_core::agent::Agent;
use posse_core::approval::{self, ParkedCall};
use posse_core::budget::BudgetCaps;
use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::{ErrorCode, Result};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::adopt::BegunTasks;
use super::family::{ChildTasks, ParentTask};
use super::subagent::status;
use super::task::LiveTask;
use crate::context::now_ms;
use crate::ports::{ApprovalQuery, TaskFilter, TaskQuery, TaskRow, ToolContext, ToolInput, ToolOutput};
use crate::toolbox::ToolAnswer;

/// Number of earlier tasks that a new process loads. The others stay in the store.
const RECALLED_MAX: u32 = 100;
/// A caller from outside has no run whose time could be over; each call has its own end.
const TIME_LEFT: Duration = Duration::from_secs(3_600);
const OUTPUT_BYTES_MAX: usize = 100_000;

/// The room of a session as a program outside has it. Dropping it leaves the tasks as they are.
pub struct HostSession {
    session: Arc<Session>,
    family: Arc<ChildTasks>,
    grant: Arc<Grant>,
    /// Taken in by one at a time, so that nothing is driven twice.
    looking: Mutex<()>,
    calls: AtomicU32,
    /// Calls under way, by key: the same call made again waits for the first.
    under_way: std::sync::Mutex<HashMap<String, Arc<Mutex<()>>>>,
    attending: JoinHandle<()>,
}

/// A delegated task as listings show it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostedTask {
    pub id: TaskId,
    pub agent: String,
    pub title: String,
    /// As the `subagent` tool says it.
    pub status: Value,
}

impl Session {
    /// Opens the room for a program outside, with what was delegated from here before: what a dead process left goes on.
    /// `agent` is what a definition that does not say gets its model and its limits from. `writing_advice` is told to whoever asks
    /// for tasks that write, if they may not.
    pub async fn host(self: &Arc<Self>, agent: Agent, writing_advice: Option<String>) -> Result<HostSession> {
        self.store.create_session(&self.id, &self.workspace, now_ms()).await?;
        let grant = self.grant.keep(&agent.rights);
        let own = self.stop.child();
        let parent = ParentTask {
            id: TaskId::root(&self.id),
            grant: grant.clone(),
            agent,
            workspace: self.workspace.clone(),
            place: None,
            budget: self.account(&self.budget, BudgetCaps::default())?,
            stop: own.child(),
            own,
            outside: true,
            writing_advice,
        };
        let family = Arc::new(ChildTasks::new(parent, self.rules));
        self.families().insert(family.parent.id.clone(), family.clone());
        let session = self.clone();
        let attending = tokio::spawn(async move { session.attended(std::future::pending::<()>()).await });
        let hosted = HostSession {
            session: self.clone(),
            family,
            grant: Arc::new(grant),
            looking: Mutex::default(),
            calls: AtomicU32::new(0),
            under_way: std::sync::Mutex::default(),
            attending,
        };
        hosted.look().await?;
        self.heed_cancels().await;
        Ok(hosted)
    }
}

impl Drop for HostSession {
    fn drop(&mut self) {
        self.attending.abort();
    }
}

impl HostSession {
    /// Calls one of the tools with which it delegates. `key` is the same for every attempt at one call.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &str,
        key: &str,
        cancel: CancellationToken,
    ) -> ToolOutput {
        let turn = self.turns().entry(key.to_owned()).or_default().clone();
        let answer = {
            let _one_at_a_time = turn.lock().await;
            self.perform(tool, arguments, key, cancel).await
        };
        let mut turns = self.turns();
        // The list and this call have it, and nobody who waits.
        if Arc::strong_count(&turn) == 2 {
            turns.remove(key);
        }
        answer
    }

    fn turns(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Mutex<()>>>> {
        self.under_way.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn perform(&self, tool: &str, arguments: &str, key: &str, cancel: CancellationToken) -> ToolOutput {
        if let Err(e) = self.look().await {
            return ToolOutput::error(super::subagent::wire_error(&e).to_string());
        }
        let context = ToolContext {
            task: self.family.parent.id.clone(),
            grant: self.grant.clone(),
            cancel,
            time_left: TIME_LEFT,
            output_bytes_max: OUTPUT_BYTES_MAX,
            nesting: None,
            fence: None,
        };
        let index = self.calls.fetch_add(1, Ordering::Relaxed);
        let key =
            ToolInput { key: CallKey { turn: 0, index }, arguments, idempotency_key: key, context: &context };
        match self.session.tools.call(tool, key).await {
            ToolAnswer::Ran(output) => output,
            ToolAnswer::Mistake(complaint) => ToolOutput::mistake(complaint),
        }
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> &str {
        &self.session.id
    }

    /// The task that a call with this key began.
    pub fn begun_by(&self, key: &str) -> Option<TaskId> {
        self.family.with_key(key).map(|task| task.id.clone())
    }

    /// Lists the tasks of this host, oldest first.
    pub async fn tasks(&self) -> Result<Vec<HostedTask>> {
        self.look().await?;
        let mut tasks: Vec<Arc<LiveTask>> = self.family.tasks().into_iter().map(|(task, _)| task).collect();
        tasks.sort_by_key(|task| task.number());
        Ok(tasks.iter().map(|task| shown(task)).collect())
    }

    /// A task as the store has it.
    pub async fn row(&self, id: &str) -> Result<TaskRow> {
        let task = self.family.task(id)?;
        self.session.store.task(&task.id).await
    }

    /// Calls of this session's tasks that wait for a person's yes.
    pub async fn open_approvals(&self) -> Result<Vec<ParkedCall>> {
        let open = self.session.store.approvals(ApprovalQuery::Open).await?;
        Ok(open.into_iter().filter(|parked| parked.request.task.session() == self.session.id).collect())
    }

    /// Records a person's answer to exactly the call that was shown.
    pub async fn answer_approval(
        &self,
        parked: &ParkedCall,
        answer: approval::ApprovalAnswer,
    ) -> Result<ParkedCall> {
        self.session.store.answer(&parked.id, &parked.request.hash, answer).await
    }

    /// Returns the tasks that have not ended.
    pub fn at_work(&self) -> Vec<TaskId> {
        self.family.running().iter().map(|task| task.id.clone()).collect()
    }

    /// Takes in what other processes defined and delegated in this session since it was last looked at.
    async fn look(&self) -> Result<()> {
        let _one_at_a_time = self.looking.lock().await;
        self.session.recall_agents().await?;
        let of = TaskFilter::ChildrenOf(self.family.parent.id.clone());
        let newest = TaskQuery { limit: RECALLED_MAX, ..TaskQuery::of(of.clone()) };
        let running = TaskQuery { status: Some("running".to_owned()), ..TaskQuery::of(of) };
        let mut rows = self.session.store.find_tasks(newest).await?;
        self.session.count_from(rows.iter());
        for row in self.session.store.find_tasks(running).await? {
            if !rows.iter().any(|known| known.id == row.id) {
                rows.push(row);
            }
        }
        let mut known = Vec::with_capacity(rows.len());
        rows.retain(|row| {
            let is_new = self.family.task(row.id.short()).is_err();
            known.extend((!is_new).then(|| (row.id.clone(), row.delivery.clone())));
            is_new
        });
        for (id, delivery) in known {
            self.family.note_delivery(id.short(), &delivery);
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.session.bring_back(&self.family, rows, |_| false, &BegunTasks::default(), false).await
    }

    /// Lets go of what this process drives, so that another one can take it up at once. From here on nothing that is still
    /// under way here is written down. Returns what was let go.
    pub async fn let_go(&self) -> Result<Vec<TaskId>> {
        self.session.leaving.store(true, Ordering::Relaxed);
        let mut left = Vec::new();
        let of = TaskFilter::Session(self.session.id.clone());
        let running = TaskQuery { status: Some("running".to_owned()), ..TaskQuery::of(of) };
        let ours = |row: &TaskRow| row.owner == self.session.owner;
        for row in self.session.store.find_tasks(running).await?.into_iter().filter(ours) {
            match self.session.store.claim_from(&row.id, row.epoch, "").await {
                Ok(_) => left.push(row.id),
                // It ended or was taken in this moment.
                Err(e) if e.code() == ErrorCode::OwnerLost => {}
                Err(e) => return Err(e),
            }
        }
        Ok(left)
    }

    /// Ends everything that was delegated from here and waits a moment for it.
    pub async fn cancel_all(&self) {
        self.session.end_all(&self.family).await;
    }
}

fn shown(task: &LiveTask) -> HostedTask {
    HostedTask {
        id: task.id.clone(),
        agent: task.agent.to_string(),
        title: posse_core::text::prefix(&task.start.task, 200).to_owned(),
        status: status(task, &task.progress()),
    }
}
