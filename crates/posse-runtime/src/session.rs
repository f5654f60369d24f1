//! One room: its agents, its tasks, its shared context, its budget. The orchestrator's own run and every subagent are
//! driven by the same driver.

mod shared_context;
mod subagent;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use posse_core::agent::Agent;
use posse_core::budget::Caps;
use posse_core::event::Event;
use posse_core::grant::Grant;
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::TaskStart;
use posse_core::outcome::Outcome;
use posse_core::text::estimate_tokens;
use posse_core::{Error, ErrorCode, Result};

use crate::budget::Account;
use crate::driver::{self, Onward, Ports, Stop};
use crate::observe::Observers;
use crate::ports::{Models, Observer, Store, Tool};
use crate::toolbox::Toolbox;

pub use shared_context::{Entry, SharedContext};

/// Running tasks per session (seed specification §4.3): more specialists than that are rarely waited for.
pub const RUNNING_MAX: usize = 5;
/// Longest task text: forces clear, scoped delegation (seed specification §4.2).
pub const TASK_TOKENS_MAX: u64 = 1_000;

/// Told to every subagent (seed specification §8.4).
const SUBAGENT_SUFFIX: &str = include_str!("../prompts/subagent_suffix.md");

pub struct SessionConfig {
    pub id: String,
    /// Names this process in the store, so that others can tell whether it still lives.
    pub owner: String,
    pub workspace: String,
    pub store: Arc<dyn Store>,
    pub models: Arc<dyn Models>,
    pub tools: Toolbox,
    pub observers: Observers,
    /// What can be delegated to.
    pub agents: Vec<Agent>,
    /// What the operator allows to this session.
    pub grant: Grant,
    pub caps: Caps,
    pub stop: Stop,
}

pub struct Session {
    id: String,
    owner: String,
    workspace: String,
    store: Arc<dyn Store>,
    models: Arc<dyn Models>,
    tools: Toolbox,
    observers: Observers,
    grant: Grant,
    budget: Account,
    stop: Stop,
    context: Arc<SharedContext>,
    agents: Mutex<BTreeMap<AgentName, Agent>>,
    tasks: Mutex<Tasks>,
    /// What an agent defined at run time uses when it names no model.
    orchestrator_model: Mutex<String>,
}

#[derive(Default)]
struct Tasks {
    spawned: u32,
    /// By short id. A collected task is gone from here and stays in the store.
    tracked: BTreeMap<String, Arc<Task>>,
}

pub(crate) struct Task {
    pub id: TaskId,
    pub agent: AgentName,
    progress: Mutex<Progress>,
}

#[derive(Clone, Default)]
pub(crate) struct Progress {
    pub turns: u32,
    pub done: Option<Result<Outcome, String>>,
}

impl Session {
    pub fn new(config: SessionConfig) -> Result<Arc<Self>> {
        let context = Arc::new(SharedContext::default());
        let mut failure = None;
        let session = Arc::new_cyclic(|this: &Weak<Session>| {
            let own: [Arc<dyn Tool>; 2] = [
                Arc::new(subagent::SubagentTool::new(this.clone())),
                shared_context::tool(context.clone(), this.clone()),
            ];
            let tools = config.tools.with(own).unwrap_or_else(|e| {
                failure = Some(e);
                Toolbox::default()
            });
            let agents = config.agents.into_iter().map(|agent| (agent.name.clone(), agent)).collect();
            Session {
                id: config.id,
                owner: config.owner,
                workspace: config.workspace,
                store: config.store,
                models: config.models,
                tools,
                observers: config.observers,
                grant: config.grant,
                budget: Account::root(config.caps),
                stop: config.stop,
                context: context.clone(),
                agents: Mutex::new(agents),
                tasks: Mutex::default(),
                orchestrator_model: Mutex::default(),
            }
        });
        failure.map_or(Ok(session), Err)
    }

    /// Runs the session's own task, the orchestrator's.
    pub async fn run(&self, agent: Agent, task: String) -> Result<Outcome> {
        self.set_orchestrator(&agent);
        let grant = match &agent.tools {
            None => self.grant.clone(),
            Some(names) => self.grant.keep(names),
        };
        let ports = self.ports(&agent, self.child_account()?, self.stop.clone(), self.observers.clone())?;
        let start = TaskStart { agent, task, grant, workspace: self.workspace.clone() };
        let outcome = driver::start(&ports, TaskId::root(&self.id), None, self.owner.clone(), start).await;
        self.stop_children();
        outcome
    }

    /// Goes on with a task of the store in this session's room.
    pub async fn resume(&self, id: TaskId, agent: &Agent, onward: Onward) -> Result<Outcome> {
        self.set_orchestrator(agent);
        let known = self.store.tasks(u32::MAX).await?;
        let children = known.iter().filter(|row| row.id.session() == self.id);
        let numbers = children.filter_map(|row| row.id.short().strip_prefix("t_")?.parse().ok());
        self.tasks().spawned = numbers.max().unwrap_or(0);
        let ports = self.ports(agent, self.child_account()?, self.stop.clone(), self.observers.clone())?;
        let outcome = driver::resume(&ports, id, &self.owner, onward).await;
        self.stop_children();
        outcome
    }

    pub fn context(&self) -> &SharedContext {
        &self.context
    }

    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.names()
    }

    /// Starts a task on a named agent and returns at once.
    pub(crate) fn spawn(self: &Arc<Self>, agent: &str, task: &str) -> Result<Arc<Task>> {
        let agent = self.find_agent(agent)?;
        let size = estimate_tokens(task);
        if size > TASK_TOKENS_MAX {
            let text = format!("the task has about {size} tokens, the limit is {TASK_TOKENS_MAX}");
            return Err(Error::new(ErrorCode::TaskTooLarge, text)
                .hint("write the details to shared_context and name the key in the task"));
        }
        let stop = self.stop.child();
        let grant = self.grant.narrow(agent.tools.as_deref());
        let tracked = self.track(&agent.name)?;
        let observers = self.observers.with(tracked.clone());
        let agent = Agent {
            system_prompt: format!("{}\n\n{}", agent.system_prompt.trim_end(), SUBAGENT_SUFFIX.trim_end()),
            ..agent
        };
        let start = TaskStart {
            agent: agent.clone(),
            task: task.to_owned(),
            grant,
            workspace: self.workspace.clone(),
        };
        let (session, entry) = (self.clone(), tracked.clone());
        let driven = tokio::spawn(async move {
            let ports = session.ports(&agent, session.child_account()?, stop, observers)?;
            let parent = Some(TaskId::root(&session.id));
            driver::start(&ports, entry.id.clone(), parent, session.owner.clone(), start).await
        });
        let entry = tracked.clone();
        tokio::spawn(async move {
            // A panic ends this task only, and is told as what it is.
            let done = match driven.await {
                Ok(Ok(outcome)) => Ok(outcome),
                Ok(Err(e)) => Err(e.to_string()),
                Err(panic) => Err(format!("internal_error: {panic}")),
            };
            entry.progress().done = Some(done);
        });
        Ok(tracked)
    }

    pub(crate) fn task(&self, short_id: &str) -> Result<Arc<Task>> {
        self.tasks().tracked.get(short_id).cloned().ok_or_else(|| {
            Error::new(
                ErrorCode::TaskNotFound,
                format!("no task `{}` is tracked here", posse_core::text::prefix(short_id, 80)),
            )
            .hint("it was never spawned, or it was collected already")
        })
    }

    /// Takes a finished task out of tracking.
    pub(crate) fn untrack(&self, short_id: &str) {
        self.tasks().tracked.remove(short_id);
    }

    pub(crate) fn agents(&self) -> MutexGuard<'_, BTreeMap<AgentName, Agent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn orchestrator_model(&self) -> String {
        self.orchestrator_model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_orchestrator(&self, agent: &Agent) {
        let mut model = self.orchestrator_model.lock().unwrap_or_else(PoisonError::into_inner);
        model.clone_from(&agent.model);
    }

    /// Who a task is for shared context.
    pub(crate) fn participant(&self, task: &TaskId) -> String {
        let tracked = self.tasks().tracked.get(task.short()).map(|task| task.agent.clone());
        match tracked {
            Some(agent) => format!("subagent:{agent}:{}", task.short()),
            None => "orchestrator".to_owned(),
        }
    }

    fn find_agent(&self, name: &str) -> Result<Agent> {
        let agents = self.agents();
        if let Some(agent) = AgentName::parse(name).ok().and_then(|name| agents.get(&name)) {
            return Ok(agent.clone());
        }
        let known: Vec<&str> = agents.keys().map(AgentName::as_str).collect();
        Err(Error::new(
            ErrorCode::AgentNotFound,
            format!("no agent is called `{}`", posse_core::text::prefix(name, 80)),
        )
        .hint(format!("there are: {}", known.join(", "))))
    }

    /// Takes a slot and an id in one step, so that two spawns cannot share the last slot.
    fn track(&self, agent: &AgentName) -> Result<Arc<Task>> {
        let mut tasks = self.tasks();
        let running = tasks.tracked.values().filter(|task| task.progress().done.is_none()).count();
        if running >= RUNNING_MAX {
            return Err(Error::new(
                ErrorCode::MaxTasksExceeded,
                format!("{running} tasks are already running"),
            )
            .hint("collect a finished task or wait for one"));
        }
        tasks.spawned += 1;
        let id = TaskId::child(&self.id, tasks.spawned);
        let task = Arc::new(Task { id: id.clone(), agent: agent.clone(), progress: Mutex::default() });
        tasks.tracked.insert(id.short().to_owned(), task.clone());
        Ok(task)
    }

    /// Children do not outlive the run that could have collected them.
    fn stop_children(&self) {
        if self.tasks().tracked.values().any(|task| task.progress().done.is_none()) {
            self.stop.now.cancel();
        }
    }

    fn ports(&self, agent: &Agent, budget: Account, stop: Stop, observers: Observers) -> Result<Ports> {
        let model = self.models.open(agent)?;
        Ok(Ports { model, tools: self.tools.clone(), store: self.store.clone(), observers, budget, stop })
    }

    fn child_account(&self) -> Result<Account> {
        let account = self.budget.child(Caps::default());
        account.map_err(|shortfall| Error::new(ErrorCode::BudgetExceeded, shortfall.to_string()))
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Task {
    fn event(&self, task: &TaskId, event: &Event) {
        if let (true, Event::Replied { turn, .. }) = (*task == self.id, event) {
            self.progress().turns = *turn;
        }
    }
}
