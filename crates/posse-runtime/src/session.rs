//! One room: its agents, its tasks, its shared context, its budget. The orchestrator's own run and every subagent are
//! driven by the same driver.

mod shared_context;
mod subagent;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use posse_core::agent::Agent;
use posse_core::budget::{Amount, Caps};
use posse_core::definition::Definition;
use posse_core::event::Event;
use posse_core::grant::Grant;
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::{Record, TaskStart, start_of};
use posse_core::limits::Limits;
use posse_core::outcome::Outcome;
use posse_core::text::estimate_tokens;
use posse_core::verify::permit;
use posse_core::{Error, ErrorCode, Result};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::Account;
use crate::driver::{self, Onward, Ports, Stop};
use crate::observe::Observers;
use crate::ports::{Agents, Models, Observer, Store, Tool, Verifier};
use crate::resolve::resolve;
use crate::toolbox::Toolbox;

pub use shared_context::{Entry, SharedContext};

/// Running tasks per session (seed specification §4.3): more specialists than that are rarely waited for.
pub const RUNNING_MAX: usize = 5;
/// Longest task text: forces clear, scoped delegation (seed specification §4.2).
pub const TASK_TOKENS_MAX: u64 = 1_000;

/// How long a poll that would hear nothing new waits for something.
const POLL_WAIT: Duration = Duration::from_secs(5);
/// How long children may take to write down that they were cancelled.
const CHILD_GRACE: Duration = Duration::from_secs(3);

/// Turns of a delegated task when its definition does not say.
const TURNS_USUAL: u32 = 25;

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
    pub agents: Arc<dyn Agents>,
    /// What the operator allows to this session.
    pub grant: Grant,
    pub caps: Caps,
    pub stop: Stop,
    /// Runs the commands that check results. Without one, a task that has to be verified fails.
    pub verifier: Option<Arc<dyn Verifier>>,
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
    caps: Caps,
    budget: Account,
    stop: Stop,
    verifier: Option<Arc<dyn Verifier>>,
    context: Arc<SharedContext>,
    agents: Arc<dyn Agents>,
    /// Made while the session runs.
    defined: Mutex<BTreeMap<AgentName, Arc<Definition>>>,
    tasks: Mutex<Tasks>,
    parent: Mutex<Option<Parent>>,
}

/// The task that delegates: nothing it hands out exceeds what it has itself.
#[derive(Clone)]
struct Parent {
    id: TaskId,
    grant: Grant,
    agent: Agent,
    /// Ends its children, and nothing else.
    stop: Stop,
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
    began: Instant,
    progress: watch::Sender<Progress>,
    /// What was last said about it, so that a poll that would hear the same can wait a little.
    told: Mutex<Option<Progress>>,
}

#[derive(Clone, Default, PartialEq)]
pub(crate) struct Progress {
    pub turns: u32,
    pub done: Option<Done>,
}

pub(crate) type Done = Result<Outcome, String>;

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
            Session {
                id: config.id,
                owner: config.owner,
                workspace: config.workspace,
                store: config.store,
                models: config.models,
                tools,
                observers: config.observers,
                grant: config.grant,
                caps: config.caps,
                budget: Account::root(config.caps),
                stop: config.stop,
                verifier: config.verifier,
                context: context.clone(),
                agents: config.agents,
                defined: Mutex::default(),
                tasks: Mutex::default(),
                parent: Mutex::default(),
            }
        });
        failure.map_or(Ok(session), Err)
    }

    /// Runs the session's own task, the orchestrator's. `verify` are the commands that check its result, `notes` are
    /// told with the answer.
    pub async fn run(
        &self,
        agent: Agent,
        task: String,
        verify: Vec<String>,
        notes: Vec<String>,
    ) -> Result<Outcome> {
        permit(&verify, &self.grant)?;
        let grant = self.grant.keep(&agent.rights);
        let ports = self.ports(&agent, Caps::default(), self.stop.clone(), self.observers.clone())?;
        let workspace = self.workspace.clone();
        let start = TaskStart { agent, task, grant, caps: self.caps, workspace, verify, notes };
        let id = TaskId::root(&self.id);
        self.lead(id.clone(), &start);
        let outcome = driver::start(&ports, id, None, self.owner.clone(), start).await;
        self.end_children().await;
        outcome
    }

    /// Goes on with a task of the store in this session's room, with its children, and with the rights it had as far as
    /// the session has them.
    pub async fn resume(self: &Arc<Self>, id: TaskId, onward: Onward) -> Result<Outcome> {
        let mut start = start_of(&self.store.records(&id).await?)?;
        start.grant = start.grant.without(&start.grant.beyond(&self.grant));
        let ports = self.ports(&start.agent, Caps::default(), self.stop.clone(), self.observers.clone())?;
        self.lead(id.clone(), &start);
        self.say_what_is_forgotten(&id).await?;
        self.take_children_over(&id).await?;
        let outcome = driver::resume(&ports, id, &self.owner, onward, &self.grant).await;
        self.end_children().await;
        outcome
    }

    /// What the whole session has used so far, children included.
    pub fn spent(&self) -> Amount {
        self.budget.spent()
    }

    pub fn context(&self) -> &SharedContext {
        &self.context
    }

    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.names()
    }

    /// Starts a task on a named agent. It is in the store when this returns, and runs on.
    pub(crate) async fn spawn(self: &Arc<Self>, agent: &str, task: &str) -> Result<Arc<Task>> {
        let definition = self.find_agent(agent)?;
        let size = estimate_tokens(task);
        if size > TASK_TOKENS_MAX {
            let text = format!("the task has about {size} tokens, the limit is {TASK_TOKENS_MAX}");
            return Err(Error::new(ErrorCode::TaskTooLarge, text)
                .hint("write the details to shared_context and name the key in the task"));
        }
        let parent = self.parent()?;
        let tools: Vec<&str> = self.tools.names().collect();
        let base = Agent { limits: usual(&parent.agent.limits), ..parent.agent.clone() };
        let (mut agent, notes) = resolve(&definition, &base, &*self.models, &tools)?;
        permit(&definition.verify, &parent.grant)?;
        let grant = parent.grant.narrow(&agent.rights);
        agent.system_prompt = format!("{}\n\n{}", agent.system_prompt, SUBAGENT_SUFFIX.trim_end());
        let tracked = self.track(&agent.name)?;
        let (task, workspace, verify) = (task.to_owned(), self.workspace.clone(), definition.verify.clone());
        let start = TaskStart { agent, task, grant, caps: definition.caps(), workspace, verify, notes };
        let begun = self.begin(&tracked, &parent, start).await;
        if begun.is_err() {
            self.untrack(tracked.id.short());
        }
        begun.map(|()| tracked)
    }

    async fn begin(self: &Arc<Self>, tracked: &Arc<Task>, parent: &Parent, start: TaskStart) -> Result<()> {
        let observers = self.observers.with(tracked.clone());
        let ports = self.ports(&start.agent, start.caps, parent.stop.child(), observers)?;
        let id = tracked.id.clone();
        driver::create(&*self.store, id.clone(), Some(parent.id.clone()), self.owner.clone(), &start).await?;
        tracked.follow(tokio::spawn(async move { driver::run_created(&ports, id, start).await }));
        Ok(())
    }

    /// Shared context and agents defined at run time live in the process; a resumed task has to be told.
    async fn say_what_is_forgotten(&self, id: &TaskId) -> Result<()> {
        let records = self.store.records(id).await?;
        let used = |tool: &str, part: &str| {
            records.iter().any(|record| match record {
                Record::Done { result, .. } => {
                    result.name == tool && !result.is_error && result.text.contains(part)
                }
                _ => false,
            })
        };
        let nothing_kept = self.context.entries().is_empty();
        if nothing_kept && (used("shared_context", "\"version\"") || used("subagent", "\"defined\"")) {
            let note =
                "shared context and agents defined at run time did not outlive the process before this one";
            self.observers.event(id, &Event::Noted { note: note.to_owned() });
        }
        Ok(())
    }

    /// What a dead process's children had become: finished ones can be collected, the others go on.
    async fn take_children_over(self: &Arc<Self>, parent: &TaskId) -> Result<()> {
        let rows = self.store.tasks(u32::MAX).await?;
        for row in rows.iter().rev().filter(|row| row.parent.as_ref() == Some(parent)) {
            let number = row.id.short().strip_prefix("t_").and_then(|number| number.parse().ok());
            let task = Arc::new(Task::new(row.id.clone(), AgentName::parse(&row.agent)?));
            {
                let mut tasks = self.tasks();
                tasks.spawned = tasks.spawned.max(number.unwrap_or(0));
                tasks.tracked.insert(row.id.short().to_owned(), task.clone());
            }
            let records = self.store.records(&row.id).await?;
            let start = start_of(&records)?;
            let observers = self.observers.with(task.clone());
            let ports = self.ports(&start.agent, start.caps, self.parent()?.stop.child(), observers)?;
            let (id, owner, allowed) = (row.id.clone(), self.owner.clone(), self.parent()?.grant);
            let onward = Onward::Finish { turns_max: None, wall_ms_max: None };
            match row.status.as_str() {
                "running" => task.follow(tokio::spawn(async move {
                    driver::resume(&ports, id, &owner, onward, &allowed).await
                })),
                _ => {
                    let done = last_outcome(records);
                    if let Ok(outcome) = &done {
                        ports.budget.charge(ports.model.tariff.used(&outcome.usage, &outcome.answered_by));
                    }
                    task.finish(done, row.turns);
                }
            }
        }
        Ok(())
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

    fn defined(&self) -> MutexGuard<'_, BTreeMap<AgentName, Arc<Definition>>> {
        self.defined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parent(&self) -> Result<Parent> {
        let parent = self.parent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        parent.ok_or_else(|| Error::new(ErrorCode::InvalidRequest, "nobody in this session delegates yet"))
    }

    fn lead(&self, id: TaskId, start: &TaskStart) {
        let parent =
            Parent { id, grant: start.grant.clone(), agent: start.agent.clone(), stop: self.stop.child() };
        *self.parent.lock().unwrap_or_else(PoisonError::into_inner) = Some(parent);
    }

    /// Who a task is for shared context.
    pub(crate) fn participant(&self, task: &TaskId) -> String {
        let tracked = self.tasks().tracked.get(task.short()).map(|task| task.agent.clone());
        match tracked {
            Some(agent) => format!("subagent:{agent}:{}", task.short()),
            None => "orchestrator".to_owned(),
        }
    }

    /// Everyone who can be delegated to, by name.
    pub(crate) fn agents(&self) -> Vec<Arc<Definition>> {
        let mut all = self.agents.list();
        all.retain(|definition| !definition.mode.hidden);
        all.extend(self.defined().values().cloned());
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Adds an agent for this session.
    pub(crate) fn define(&self, definition: Definition) -> Result<()> {
        let name = definition.name.clone();
        let in_files = self.agents.list().iter().any(|known| known.name == name);
        let mut defined = self.defined();
        if in_files || defined.contains_key(&name) {
            let text = format!("an agent `{name}` exists already");
            return Err(Error::new(ErrorCode::AgentAlreadyExists, text).hint("choose another name"));
        }
        defined.insert(name, Arc::new(definition));
        Ok(())
    }

    fn find_agent(&self, name: &str) -> Result<Arc<Definition>> {
        let defined = AgentName::parse(name).ok().and_then(|name| self.defined().get(&name).cloned());
        defined.map_or_else(|| self.agents.find(name), Ok)
    }

    /// Takes a slot and an id in one step, so that two spawns cannot share the last slot.
    fn track(&self, agent: &AgentName) -> Result<Arc<Task>> {
        let mut tasks = self.tasks();
        let running = tasks.tracked.values().filter(|task| !task.is_done()).count();
        if running >= RUNNING_MAX {
            return Err(Error::new(
                ErrorCode::MaxTasksExceeded,
                format!("{running} tasks are already running"),
            )
            .hint("collect a finished task or wait for one"));
        }
        tasks.spawned += 1;
        let id = TaskId::child(&self.id, tasks.spawned);
        let task = Arc::new(Task::new(id.clone(), agent.clone()));
        tasks.tracked.insert(id.short().to_owned(), task.clone());
        Ok(task)
    }

    /// Children do not outlive the run that could have collected them. Each is told, waited for and reported.
    async fn end_children(&self) {
        let running: Vec<Arc<Task>> =
            self.tasks().tracked.values().filter(|task| !task.is_done()).cloned().collect();
        let Ok(parent) = self.parent() else { return };
        for task in &running {
            let note = format!(
                "{} was still running when its orchestrator ended, and was cancelled",
                task.id.short()
            );
            self.observers.event(&parent.id, &Event::Noted { note });
        }
        parent.stop.now.cancel();
        let all_done = async {
            for task in &running {
                task.done().await;
            }
        };
        // What does not end in time is found by whoever goes on with it.
        let _ = tokio::time::timeout(CHILD_GRACE, all_done).await;
    }

    /// `caps` is what the task may use of what the session has.
    fn ports(&self, agent: &Agent, caps: Caps, stop: Stop, observers: Observers) -> Result<Ports> {
        let model = self.models.open(agent)?;
        if self.caps.cost_micros.or(caps.cost_micros).is_some()
            && let Some(unpriced) = model.tariff.unpriced(&agent.model)
        {
            let text = format!("the price of `{unpriced}` is not known, so a cost limit cannot be kept");
            return Err(Error::new(ErrorCode::InvalidRequest, text)
                .hint("add its price to the configuration, or use another model"));
        }
        let budget = self.budget.child(caps);
        let budget =
            budget.map_err(|shortfall| Error::new(ErrorCode::BudgetExceeded, shortfall.to_string()))?;
        let (tools, store, verifier) = (self.tools.clone(), self.store.clone(), self.verifier.clone());
        Ok(Ports { model, tools, store, observers, budget, stop, verifier })
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn new(id: TaskId, agent: AgentName) -> Self {
        let progress = watch::Sender::new(Progress::default());
        Self { id, agent, began: Instant::now(), progress, told: Mutex::default() }
    }

    pub fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    pub fn seconds(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    /// Returns at once if there is something new since it was last asked; otherwise waits a moment for it, so that an
    /// orchestrator that polls in a tight loop spends time and not tokens.
    pub async fn news(&self, cancel: &CancellationToken) -> Progress {
        let mut changes = self.progress.subscribe();
        let told = self.told().clone();
        let now = changes.borrow_and_update().clone();
        if now.done.is_none() && told == Some(now) {
            tokio::select! {
                _ = changes.changed() => {}
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(POLL_WAIT) => {}
            }
        }
        let now = self.progress();
        *self.told() = Some(now.clone());
        now
    }

    fn told(&self) -> MutexGuard<'_, Option<Progress>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_done(&self) -> bool {
        self.progress.borrow().done.is_some()
    }

    async fn done(&self) {
        // The sender lives in `self`, so the wait can only end with what is waited for.
        let _ = self.progress.subscribe().wait_for(|progress| progress.done.is_some()).await;
    }

    fn finish(&self, done: Done, turns: u32) {
        self.progress.send_modify(|progress| {
            progress.turns = progress.turns.max(turns);
            progress.done = Some(done);
        });
    }

    /// Keeps the outcome of a run that is driven elsewhere. A panic ends this task only, and is told as what it is.
    fn follow(self: &Arc<Self>, driven: tokio::task::JoinHandle<Result<Outcome>>) {
        let task = self.clone();
        tokio::spawn(async move {
            let done = match driven.await {
                Ok(Ok(outcome)) => Ok(outcome),
                Ok(Err(e)) => Err(e.to_string()),
                Err(panic) => Err(format!("internal_error: {panic}")),
            };
            task.finish(done, 0);
        });
    }
}

/// What a delegated task may use when its definition does not say.
pub fn usual(parent: &Limits) -> Limits {
    Limits { turns_max: parent.turns_max.min(TURNS_USUAL), ..parent.clone() }
}

fn last_outcome(records: Vec<Record>) -> Done {
    let finished = records.into_iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome),
        _ => None,
    });
    finished.ok_or_else(|| "its outcome was not written down".to_owned())
}

impl Observer for Task {
    fn event(&self, task: &TaskId, event: &Event) {
        if let (true, Event::Replied { turn, .. }) = (*task == self.id, event) {
            self.progress.send_modify(|progress| progress.turns = *turn);
        }
    }
}
