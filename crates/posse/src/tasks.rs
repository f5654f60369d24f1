//! Sessions: a program spawns tasks for agents and keeps a handle on each.

use std::future::{Future, IntoFuture};
use std::path::Path;
use std::sync::Arc;

use posse_core::definition::Definition;
use posse_core::grant::Rights;
use posse_core::id::AgentName;
use posse_core::outcome::Outcome;
use posse_core::task::TaskRequest;
use posse_core::{Error, ErrorCode, Result};
use posse_runtime::delegation::{CancelReport, EventPage, PollRequest, SendReceipt, TaskPhase, TaskReport};
use posse_runtime::driver::StopTokens;
use posse_runtime::ports::{BoxFuture, Tool};
use posse_runtime::session::{HostSession, fresh_id};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::answer::AgentAnswer;
use crate::compose::SessionKind;
use crate::subagent::program_origin;

/// A session in which a program spawns tasks for agents, side by side and within one budget.
///
/// Dropping it cancels tasks that are kept in memory. Tasks of a [`store`](SessionConfig::store) are left as they are: the
/// next session of the same [`name`](SessionConfig::name) continues them.
///
/// ```no_run
/// use posse::prelude::*;
/// # async fn example() -> posse::Result<()> {
/// let session = Session::builder("openai:gpt-5")?
///     .store("./state") // in memory without this line
///     .agent("researcher", "Looks things up.", "You look things up.")
///     .max_concurrent(10)
///     .budget_usd(1.0)
///     .start()
///     .await?;
/// let found: TaskHandle = session.spawn("researcher", "Find the callers of f").await?;
/// println!("{}", found.await?);
/// # Ok(()) }
/// ```
pub struct Session {
    host: Arc<HostSession>,
    stop: StopTokens,
    is_durable: bool,
}

/// Configuration of a [`Session`].
pub struct SessionConfig {
    lead: Agent,
    name: Option<String>,
    agents: Vec<AgentDraft>,
}

struct AgentDraft {
    name: String,
    description: String,
    system: String,
}

impl Session {
    /// Begins a session whose agents run on `provider:model`, with the key from the environment.
    pub fn builder(model: impl AsRef<str>) -> Result<SessionConfig> {
        Agent::new(model).map(Self::of)
    }

    /// Begins a session with the model, tools, subagents, limits and approver of an agent.
    pub fn of(agent: Agent) -> SessionConfig {
        SessionConfig { lead: agent, name: None, agents: Vec::new() }
    }

    /// Returns the name under which the session is stored.
    pub fn name(&self) -> &str {
        self.host.session_id()
    }

    /// Starts a task, or queues it while all slots are taken. The task is in the store when this returns.
    pub async fn spawn(&self, agent: impl Into<String>, task: impl Into<String>) -> Result<TaskHandle> {
        let request = TaskRequest { agent: agent.into(), task: task.into(), ..TaskRequest::default() };
        self.spawn_request(request).await
    }

    /// Starts a task with all the options of a request: dependencies, limits, write paths, output schema, verification.
    pub async fn spawn_request(&self, request: TaskRequest) -> Result<TaskHandle> {
        let receipt = self.host.delegation().await?.spawn(request).await?;
        Ok(self.handle(receipt.id.short()))
    }

    /// Returns a handle on a task of this session, by the id of its report or its short form (`t_01`).
    pub async fn task(&self, id: impl std::fmt::Display) -> Result<TaskHandle> {
        let id = id.to_string();
        let short = id.strip_prefix(self.name()).and_then(|rest| rest.strip_prefix('.')).unwrap_or(&id);
        self.host.row(short).await?;
        Ok(self.handle(short))
    }

    /// Lists the tasks of this session, oldest first, those of earlier processes included.
    pub async fn tasks(&self) -> Result<Vec<TaskReport>> {
        self.host.tasks().await
    }

    /// Cancels every task and waits up to three seconds for their ends.
    pub async fn cancel_all(&self) {
        self.host.cancel_all().await;
    }

    fn handle(&self, id: &str) -> TaskHandle {
        TaskHandle { host: self.host.clone(), id: id.to_owned() }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let host = self.host.clone();
        match (self.is_durable, tokio::runtime::Handle::try_current()) {
            (false, _) => self.stop.now.cancel(),
            // Without a runtime no task runs any more; they count as interrupted when the process ends.
            (true, Err(_)) => {}
            (true, Ok(runtime)) => drop(runtime.spawn(async move { host.release_tasks().await })),
        }
    }
}

impl SessionConfig {
    /// Adds an agent. It has all tools of the session.
    pub fn agent(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        system: impl Into<String>,
    ) -> Self {
        let (name, description, system) = (name.into(), description.into(), system.into());
        self.agents.push(AgentDraft { name, description, system });
        self
    }

    /// Adds a tool for the agents.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.lead = self.lead.tool(tool);
        self
    }

    /// Adds several tools for the agents.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.lead = self.lead.tools(tools);
        self
    }

    /// Keeps tasks in a SQLite store below this directory, so that they survive the process.
    pub fn store(mut self, directory: impl AsRef<Path>) -> Self {
        self.lead = self.lead.store(directory);
        self
    }

    /// Names the session: a later one of the same name and store has its tasks and continues those that were interrupted.
    /// Without a name each session is a fresh one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the maximum number of tasks that run at once; 5 by default. Others are queued.
    pub fn max_concurrent(mut self, tasks: usize) -> Self {
        self.lead = self.lead.max_concurrent(tasks);
        self
    }

    /// Sets the maximum cost of all tasks together.
    pub fn budget_usd(mut self, usd: f64) -> Self {
        self.lead = self.lead.budget_usd(usd);
        self
    }

    /// Opens the store and starts the session. Interrupted tasks of a named session are resumed.
    pub async fn start(self) -> Result<Session> {
        let agents = self.agents.into_iter().map(AgentDraft::definition).collect::<Result<Vec<_>>>()?;
        let id = self.name.map(|name| AgentName::parse(&name).map(|name| name.to_string())).transpose()?;
        let composed = self.lead.compose(SessionKind::Hosted(id), &agents)?;
        let host = composed.core.host(self.lead.snapshot()?, None).await?;
        let is_durable = self.lead.run.store.is_durable();
        Ok(Session { host: Arc::new(host), stop: composed.stop, is_durable })
    }
}

impl AgentDraft {
    fn definition(self) -> Result<Definition> {
        let name = AgentName::parse(&self.name)?;
        let mut definition = Definition::new(name, program_origin(), self.description, self.system);
        definition.rights = Rights::default();
        Ok(definition)
    }
}

/// A task that was spawned. Awaiting it gives its answer; dropping it leaves the task running.
#[derive(Clone)]
pub struct TaskHandle {
    host: Arc<HostSession>,
    id: String,
}

impl TaskHandle {
    /// Returns the id of the task in its session (`t_01`).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reports on the task as of now.
    pub async fn status(&self) -> Result<TaskReport> {
        let (key, cancel) = (fresh_id(), CancellationToken::new());
        let call = self.host.call(&key, &cancel);
        self.host.delegation().await?.status(&PollRequest::now(self.id.as_str()), call).await
    }

    /// Waits for the end and returns how the task ended, whether it completed or not.
    pub async fn outcome(&self) -> Result<Arc<Outcome>> {
        match self.host.delegation().await?.finished(&self.id).await?.phase {
            TaskPhase::Ended(Ok(outcome)) => Ok(outcome),
            TaskPhase::Ended(Err(why)) => Err(Error::new(ErrorCode::TaskIncomplete, why)),
            TaskPhase::Running(_) => Err(Error::new(ErrorCode::Internal, "it has not ended".to_owned())),
        }
    }

    /// Sends a message, which the task reads before its next turn.
    pub async fn send(&self, message: impl Into<String>) -> Result<SendReceipt> {
        self.host.delegation().await?.send(&self.id, message.into(), &fresh_id()).await
    }

    /// Answers the task's open question; `status` shows it. Returns false if the question is gone.
    pub async fn answer(&self, answer: impl Into<String>) -> Result<bool> {
        let receipt = self.host.delegation().await?.answer(&self.id, answer.into(), &fresh_id()).await?;
        Ok(receipt.answered)
    }

    /// Cancels the task with its subagents.
    pub async fn cancel(&self) -> Result<CancelReport> {
        self.host.delegation().await?.cancel(&self.id).await
    }

    /// Returns events of the task from journal position `since` on; `next` of the page is the following `since`.
    pub async fn events(&self, since: u64) -> Result<EventPage> {
        self.host.delegation().await?.events(&self.id, since).await
    }

    async fn collect(self) -> Result<AgentAnswer> {
        let outcome = self.outcome().await?;
        let (key, cancel) = (fresh_id(), CancellationToken::new());
        let call = self.host.call(&key, &cancel);
        // Another handle on the task may have collected it.
        let _ = self.host.delegation().await?.collect(&PollRequest::now(self.id.as_str()), call).await;
        AgentAnswer::of(outcome)
    }
}

impl IntoFuture for TaskHandle {
    type Output = Result<AgentAnswer>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.collect())
    }
}

// Futures of a session can be spawned on any runtime.
const _: fn() = || {
    fn is_send<T: Send + 'static>(_: impl Future<Output = T> + Send) {}
    let _ = |handle: TaskHandle| is_send(handle.into_future());
};
