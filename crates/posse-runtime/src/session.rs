//! A session: its agents, its tasks, its shared context, its budget. The orchestrator's own run and every subagent are
//! driven by the same driver; each parent's `TaskBoard` decides which of its tasks may start when.

pub(crate) mod adopt;
pub(crate) mod agents;
mod attend;
mod builder;
pub(crate) mod children;
pub mod facades;
mod host;
mod numbers;
mod questions;
mod shared_context;
mod shortfall;
mod subagent;
pub(crate) mod task;
mod writing;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use posse_core::agent::Agent;
use posse_core::board::{Admission, BoardLimits, BoardMove, CancelOutcome, OnLimit};
use posse_core::budget::{Amount, BudgetCaps};
use posse_core::definition::{Definition, Format, Isolation, TOOLS, insert_tool_list};
use posse_core::fact::LiveFact;
use posse_core::grant::{Autonomy, Grant, Rights};
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::{ParentLink, Record, TaskStart, start_of};
use posse_core::lease::OnConflict;
use posse_core::limits::Limits;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::provenance::{RULE, is_foreign};
use posse_core::task::{CONTEXT_PLACEHOLDER, TaskRequest};
use posse_core::text::estimate_tokens;
use posse_core::tool::{DELEGATION, ToolEffect};
use posse_core::verify::permit;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use crate::budget::TaskAccount;
use crate::context::now_ms;
use crate::delegation::Delegation;
use crate::driver::{self, ContextUse, DriverPorts, PreparedRun, ResumeGrant, ResumeMode, StopTokens};
use crate::inbox::TaskInbox;
use crate::journal::{TaskJournal, first_events};
use crate::leases::{HolderLiveness, LEASE_POLL, lease_wait, own_write_paths, write_paths_of};
use crate::panics::PanicGuard;
use crate::ports::{AgentEquipment, Approver, TaskFilter, TaskQuery, TaskRow, TaskWorktree};
use crate::resolve::resolve;
use crate::toolbox::Toolbox;
use agents::DefinedAgent;
pub use builder::{SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers};
use children::{ChildTasks, ParentTask};
use facades::{Facade, InvestigationCounter, guidance};
pub use host::{HostSession, PrintedReply};
use numbers::TaskNumbers;
use task::{LiveTask, StartMode, TaskStage, outcome_of};

/// Answer of a tool whose session was dropped.
const SESSION_CLOSED: &str = "the session is closed";

/// Longest task text: forces clear, scoped delegation (requirement R116).
pub const TASK_TOKENS_MAX: u64 = 1_000;

/// Default limits of each parent: five running tasks (requirement R117) and 200 open ones, which only a spawn loop reaches.
pub const DEFAULT_LIMITS: BoardLimits =
    BoardLimits { running_max: 5, open_max: 200, on_limit: OnLimit::Reject };

/// Maximum running tasks of a whole session, so that nested delegation cannot multiply the per-parent limit.
const TREE_RUNNING_MAX: usize = 64;

/// Time for children to record their cancellation.
const CHILD_GRACE: Duration = Duration::from_secs(3);

/// Maximum turns of a delegated task whose definition sets none.
pub(crate) const DEFAULT_TURNS: u32 = 25;

/// Prompt suffix of every subagent that has shared context (requirement R166).
const SUBAGENT_SUFFIX: &str = include_str!("../prompts/subagent_suffix.md");
/// Prompt suffix of subagents without shared context: no prompt names a tool that its reader lacks.
const SUBAGENT_SUFFIX_ALONE: &str = include_str!("../prompts/subagent_suffix_alone.md");

/// One orchestrator with its tasks, agents, shared context and budget.
pub struct Session {
    this: Weak<Session>,
    id: String,
    pub(crate) sources: SessionSources,
    pub(crate) policy: SessionPolicy,
    /// `place.tools` are the tools of the session's own task; `children_tools` adds questions to the parent.
    place: SessionPlace,
    watchers: SessionWatchers,
    holders: HolderLiveness,
    pub(crate) children_tools: Toolbox,
    budget: Arc<TaskAccount>,
    investigations: InvestigationCounter,
    /// Agents made while the session runs.
    defined: Mutex<BTreeMap<AgentName, DefinedAgent>>,
    numbers: TaskNumbers,
    /// The session is shutting down: it has released its tasks and adopts none.
    leaving: AtomicBool,
    parents: Mutex<HashMap<TaskId, Arc<ChildTasks>>>,
}

impl Session {
    /// Returns the sources that the session was built from.
    pub fn sources(&self) -> &SessionSources {
        &self.sources
    }

    /// Returns the tokens that stop the session.
    pub fn stop(&self) -> &StopTokens {
        &self.watchers.stop
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Runs the session's own task, the orchestrator's. `verify` are the commands that check its result, `notes`
    /// are reported as warnings with the answer.
    pub async fn run(
        &self,
        agent: Agent,
        task: String,
        verify: Vec<String>,
        notes: Vec<String>,
    ) -> Result<Arc<Outcome>> {
        self.run_with_delivery(agent, task, verify, notes, None).await
    }

    /// Like `run`; `delivery` is stored so that a resuming process presents the outcome the same way.
    pub async fn run_with_delivery(
        &self,
        agent: Agent,
        task: String,
        verify: Vec<String>,
        notes: Vec<String>,
        delivery: Option<serde_json::Value>,
    ) -> Result<Arc<Outcome>> {
        let start = self.root_start(agent, task, verify, notes)?;
        let start = TaskStart { delivery: delivery.map(Box::new), ..start };
        let id = TaskId::root(&self.id);
        let ports = self.root_ports(&start)?;
        let children = self.register_parent(&id, &start, &ports);
        let driven = driver::start(&ports, id, None, self.sources.owner.clone(), start);
        let outcome = self.with_heartbeat(driven).await;
        self.end_children_after(&outcome, &children).await;
        outcome
    }

    /// Creates the session's own task without driving it: it has no owner, so the next worker claims it.
    pub async fn hand_over(
        &self,
        agent: Agent,
        task: String,
        verify: Vec<String>,
        notes: Vec<String>,
    ) -> Result<TaskId> {
        let start = Arc::new(self.root_start(agent, task, verify, notes)?);
        // A model that cannot be opened fails the request, not an unattended worker.
        self.root_ports(&start)?;
        let (id, nobody) = (TaskId::root(&self.id), String::new());
        let records = driver::queued_records(&start);
        driver::create(&*self.sources.store, &self.holders, id.clone(), None, nobody, &start, records)
            .await?;
        Ok(id)
    }

    /// Describes the session's own task: its grant, its prompt with the guidance for delegation, its limits.
    fn root_start(
        &self,
        mut agent: Agent,
        task: String,
        verify: Vec<String>,
        mut notes: Vec<String>,
    ) -> Result<TaskStart> {
        permit(&verify, &self.policy.grant)?;
        let grant = self.policy.grant.keep(&agent.rights);
        notes.extend(shortfall::of_tools(&agent.name, &agent.rights, &grant, &self.place.tools, None));
        agent.system_prompt = insert_tool_list(&agent.system_prompt, &self.place.tools.offered(&grant));
        self.add_guidance(&mut agent, &grant);
        let workspace = self.place.workspace.clone();
        let caps = self.policy.caps;
        let write_lease = own_write_paths(&self.policy.grant, &agent.rights, &Rights::default(), &grant)?;
        Ok(TaskStart {
            caps,
            workspace,
            verify,
            notes,
            write_lease,
            apart_from: self.place.apart_from.clone(),
            ..TaskStart::new(agent, task, grant)
        })
    }

    /// Appends the delegation guidance for agents that can delegate, and the rule on provenance marks for agents whose
    /// tools bring in foreign content.
    fn add_guidance(&self, agent: &mut Agent, grant: &Grant) {
        if grant.depth() > 0 && grant.offers(DELEGATION, ToolEffect::Idempotent) {
            let effects = self.place.tools.effects();
            let has = |tool: &str| effects.get(tool).is_some_and(|effect| grant.offers(tool, *effect));
            let guidance = guidance(&self.policy.facades, &self.sources.agents.list(), &has);
            if !guidance.is_empty() {
                append_paragraph(&mut agent.system_prompt, &guidance);
            }
        }
        if grant.tools().any(is_foreign) {
            append_paragraph(&mut agent.system_prompt, RULE);
        }
    }

    /// Tells whether a task with this grant can read and write the session's shared context.
    fn shares_context(&self, grant: &Grant) -> bool {
        self.policy.facades.has(Facade::SharedContext)
            && grant.offers("shared_context", ToolEffect::Idempotent)
    }

    /// Resumes a stored task and its children. Its grant is intersected with the session's. The caller ensures that no
    /// other process drives it.
    pub async fn resume(&self, id: TaskId, onward: ResumeMode) -> Result<Arc<Outcome>> {
        let records = self.sources.store.records(&id).await?;
        let mut start = start_of(&records)?;
        start.grant = start.grant.meet(&self.policy.grant);
        if let Some(parent) = self.sources.store.task(&id).await?.parent {
            return self.resume_alone(parent, id, start, &records, onward).await;
        }
        let rights = ResumeGrant::Within(&self.policy.grant);
        self.resume_root(id, start, &records, onward, rights).await
    }

    /// Resumes a root task with the grant that a new task of this session would get: the operator chose another mode
    /// for it. This is the only way a grant grows; the journal keeps it. Children keep their own, narrower grants, and
    /// the sandbox tier is never lowered.
    pub async fn resume_regranted(&self, id: TaskId, onward: ResumeMode) -> Result<Arc<Outcome>> {
        let records = self.sources.store.records(&id).await?;
        let mut start = start_of(&records)?;
        if self.sources.store.task(&id).await?.parent.is_some() {
            return Err(Error::new(ErrorCode::InvalidRequest, localized!("mode-of-subagent", id)));
        }
        let tier = Rights { sandbox: Some(start.grant.sandbox()), ..Rights::default() };
        let grant = self.policy.grant.keep(&start.agent.rights).keep(&tier);
        start.grant = grant.clone();
        self.resume_root(id, start, &records, onward, ResumeGrant::Chosen(&grant)).await
    }

    async fn resume_root(
        &self,
        id: TaskId,
        mut start: TaskStart,
        records: &[Record],
        onward: ResumeMode,
        rights: ResumeGrant<'_>,
    ) -> Result<Arc<Outcome>> {
        if let Some(choice) = onward.chosen_model() {
            start.agent.choose_model(choice);
        }
        let ports = self.root_ports(&start)?;
        let children = self.register_parent(&id, &start, &ports);
        self.adopt(&children, records, &onward).await?;
        if onward.is_message() {
            self.investigations.reset();
        }
        self.apply_cancel_requests().await;
        let driven = driver::resume_with(&ports, id, &self.sources.owner, onward, rights);
        let outcome = self.with_heartbeat(driven).await;
        self.end_children_after(&outcome, &children).await;
        outcome
    }

    /// Measures the next request of a stored task: what fills the window of its model.
    pub async fn context_use(&self, id: &TaskId) -> Result<ContextUse> {
        let mut start = start_of(&self.sources.store.records(id).await?)?;
        start.grant = start.grant.meet(&self.policy.grant);
        driver::context_use(&self.root_ports(&start)?, id).await
    }

    /// Measures the first request of a task that this session would start, without its text.
    pub fn opening_context(&self, agent: Agent) -> Result<ContextUse> {
        let start = self.root_start(agent, String::new(), Vec::new(), Vec::new())?;
        Ok(driver::opening_context(&self.root_ports(&start)?, &start))
    }

    /// Checks that this process can reach the model of an agent. A worker does so before it claims a task.
    pub fn check_model(&self, agent: &Agent) -> Result<()> {
        self.sources.models.open(agent).map(drop)
    }

    /// Detached tasks that have not ended yet. They stay in the store and can be resumed.
    pub fn left_running(&self) -> Vec<TaskId> {
        let mut left: Vec<TaskId> = self.detached().iter().map(|task| task.id.clone()).collect();
        left.sort_unstable();
        left
    }

    /// Waits for the detached tasks that have not ended yet.
    pub async fn finish_detached(&self) {
        let all_done = async {
            // A task that ends may start its dependents.
            while let Some(task) = self.detached().first() {
                task.done().await;
            }
        };
        self.with_heartbeat(all_done).await;
    }

    fn detached(&self) -> Vec<Arc<LiveTask>> {
        self.unfinished().into_iter().filter(|task| task.start.link.detached).collect()
    }

    /// Releases ownership of `top` and its descendants so that another process can claim them. Later writes from here
    /// fail. Returns the released tasks.
    pub async fn release_tasks(&self, top: &TaskId) -> Result<Vec<TaskId>> {
        self.leaving.store(true, Ordering::Relaxed);
        let running = TaskQuery::running(TaskFilter::Session(self.id.clone()));
        let mut left = Vec::new();
        for row in self.sources.store.find_tasks(running).await? {
            if row.owner != self.sources.owner || !self.sources.store.is_within(&row, top).await? {
                continue;
            }
            match self.sources.store.claim_from(&row.id, row.epoch, "").await {
                Ok(_) => {
                    self.watchers.observers.fact(&row.id, &LiveFact::Interrupted);
                    left.push(row.id);
                }
                // It ended or was claimed meanwhile.
                Err(e) if e.code() == ErrorCode::OwnerLost => {}
                Err(e) => return Err(e),
            }
        }
        Ok(left)
    }

    /// Returns the tasks of every parent that have not ended.
    fn unfinished(&self) -> Vec<Arc<LiveTask>> {
        self.parents().values().flat_map(|children| children.unfinished()).collect()
    }

    /// Returns the spending of the whole session, children included.
    pub fn spent(&self) -> Amount {
        self.budget.spent()
    }

    /// Returns the keys of the session's shared context, each with its last writer.
    pub async fn context_keys(&self) -> Result<Vec<posse_core::context::ValueHead>> {
        self.sources.store.context_keys(&self.id, now_ms()).await
    }

    /// Iterates over the names of all tools.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.place.tools.names()
    }

    /// Opens delegation for a parent: the session's own task, or a child that may delegate.
    pub fn delegation(self: &Arc<Self>, parent: &TaskId) -> Result<Delegation> {
        Ok(Delegation::new(self.clone(), self.children_of(parent)?))
    }

    /// Delegates a task of `parent` and waits for its end. A caller that stops waiting leaves the task running.
    pub async fn delegate(&self, parent: &TaskId, request: TaskRequest) -> Result<Arc<Outcome>> {
        let children = self.children_of(parent)?;
        // Boxed: the state of starting it is not needed while waiting for its end.
        let task = Box::pin(self.spawn(&children, request)).await?;
        let done = task.done().await.done.unwrap_or_else(|| Err("it has no outcome".to_owned()));
        done.map_err(|why| Error::new(ErrorCode::Internal, format!("`{}`: {why}", task.id.short())))
    }

    /// Starts a task, or queues it. It is in the store when this returns, and runs in the background.
    pub(crate) async fn spawn(
        &self,
        children: &Arc<ChildTasks>,
        mut request: TaskRequest,
    ) -> Result<Arc<LiveTask>> {
        if let Some(task) = request.key.as_deref().and_then(|key| children.with_key(key)) {
            return Ok(task);
        }
        for other in &mut request.terms.depends_on {
            *other = children.own_id(other);
        }
        let mut start = self.prepare(&children.parent, request)?;
        // An MCP host may disconnect before the answer is there.
        start.link.detached |= children.parent.outside;
        let (task, StoredTask { ports, admission, beginning }) =
            self.register(children, Arc::new(start)).await?;
        children.note_stored(&task);
        let mode = DriveMode::Created(beginning.map(Box::new));
        self.follow_admission(children, &task, admission, ports, mode).await;
        self.tell_queue(children);
        Ok(task)
    }

    /// Performs the board's decision on a stored task.
    async fn follow_admission(
        &self,
        children: &Arc<ChildTasks>,
        task: &Arc<LiveTask>,
        admission: Admission,
        ports: DriverPorts,
        mode: DriveMode,
    ) {
        let dependency = match &mode {
            DriveMode::Created(_) => "a dependency",
            DriveMode::Resumed => "a task it depends on",
        };
        match admission {
            Admission::Start => self.launch(children, task, ports, mode),
            Admission::Queued | Admission::Waiting => {}
            Admission::Leasing => self.lease_later(children, task),
            Admission::Dependency => self.fail_dependant(children, task, dependency).await,
        }
    }

    /// Gives a task its number, its entry on the board and its row in the store, all or nothing; on failure the number is
    /// reused.
    async fn register(
        &self,
        children: &Arc<ChildTasks>,
        start: Arc<TaskStart>,
    ) -> Result<(Arc<LiveTask>, StoredTask)> {
        loop {
            let number = self.numbers.allocate();
            let id = TaskId::child(&self.id, number);
            let e = match self.register_as(children, start.clone(), id.clone()).await {
                Ok(entered) => return Ok(entered),
                Err(e) => e,
            };
            match self.sources.store.task(&id).await {
                // Another process of this session took the number. Each retry means that another process created a task,
                // so the loop terminates.
                Ok(row) if row.owner != self.sources.owner => self.reserve_numbers([&row].into_iter()),
                Ok(_) => return Err(e),
                Err(_) => {
                    self.numbers.release(number);
                    return Err(e);
                }
            }
        }
    }

    async fn register_as(
        &self,
        children: &Arc<ChildTasks>,
        mut start: Arc<TaskStart>,
        id: TaskId,
    ) -> Result<(Arc<LiveTask>, StoredTask)> {
        let worktree = self.open_worktree(&id, &start).await?;
        if let Some(worktree) = &worktree {
            Arc::make_mut(&mut start).workspace.clone_from(&worktree.workspace);
        }
        let above = if start.link.detached { &self.watchers.stop } else { &children.parent.stop };
        let task = Arc::new(LiveTask::new(id, start, above.child(), StartMode::Afresh));
        task.set_worktree(worktree);
        match self.admit_and_store(children, &task).await {
            Ok(entered) => Ok((task, entered)),
            Err(e) => {
                if let (Some(_), Some(worktrees)) = (task.worktree.get(), &self.place.worktrees) {
                    let _ = worktrees.discard(&task.id).await;
                }
                Err(e)
            }
        }
    }

    /// Skips the numbers of stored tasks.
    fn reserve_numbers<'a>(&self, rows: impl Iterator<Item = &'a TaskRow>) {
        let numbers = rows.filter_map(|row| row.id.short().strip_prefix("t_")?.parse().ok());
        self.numbers.skip_to(numbers.max().unwrap_or(0));
    }

    /// Refuses a task if the whole tree runs `TREE_RUNNING_MAX` tasks. It is not queued, because a waiting parent occupies
    /// a slot, so queuing could deadlock.
    fn check_tree(&self, children: &ChildTasks) -> Result<()> {
        let taken: usize = self.parents().values().map(|children| children.slots_taken()).sum();
        if taken <= TREE_RUNNING_MAX || children.parent.grant.depth_max() <= 1 {
            return Ok(());
        }
        let text = format!("{TREE_RUNNING_MAX} tasks are running in this session, which is the most");
        Err(Error::new(ErrorCode::MaxTasksExceeded, text)
            .hint("do the task yourself, or wait until some of them have ended".to_owned()))
    }

    /// Admits a task to the board and stores it, or neither.
    async fn admit_and_store(&self, children: &Arc<ChildTasks>, task: &Arc<LiveTask>) -> Result<StoredTask> {
        let ports = self.child_ports(&children.parent, task)?;
        let admission = children.admit(task, now_ms())?;
        if let Err(e) = self.check_tree(children) {
            let moves = children.forget(task, now_ms());
            self.perform(children, moves).await;
            return Err(e);
        }
        let (parent, owner) = (Some(children.parent.id.clone()), self.sources.owner.clone());
        let id = task.id.clone();
        let mut beginning =
            (admission == Admission::Start).then(|| PreparedRun::for_task(&ports, &task.start));
        let records = match &mut beginning {
            Some(beginning) => beginning.reserve_and_record(&ports, &task.start),
            None => driver::queued_records(&task.start),
        };
        task.stored.set_records(records.len());
        let events = first_events(&id, &records);
        match driver::create(&*self.sources.store, &self.holders, id, parent, owner, &task.start, records)
            .await
        {
            Ok(()) => {
                driver::tell_created(&ports, &task.id, Some(&children.parent.id), &task.start, &events);
                Ok(StoredTask { ports, admission, beginning })
            }
            Err(e) => {
                let moves = children.forget(task, now_ms());
                self.perform(children, moves).await;
                Err(e)
            }
        }
    }

    /// Opens the worktree of an isolated task, and creates it if there is none.
    async fn open_worktree(&self, id: &TaskId, start: &TaskStart) -> Result<Option<TaskWorktree>> {
        let Some(origin) = &start.apart_from else { return Ok(None) };
        match &self.place.worktrees {
            Some(worktrees) => worktrees.open(id, origin).await.map(Some),
            None => Err(Error::new(ErrorCode::IsolationUnavailable, localized!("no-worktrees"))
                .hint(localized!("no-worktrees-hint"))),
        }
    }

    /// Resolves a request for this parent into a task start, without side effects.
    fn prepare(&self, parent: &ParentTask, request: TaskRequest) -> Result<TaskStart> {
        let mut definition = self.find_agent(&request.agent)?;
        // The timeout in an acai file (docs/agents.md) is a default that a call overrides.
        if definition.origin.format == Format::Acai && request.bounds.wall_ms.is_some() {
            Arc::make_mut(&mut definition).limits.wall_s = None;
        }
        check_size(&request.task, request.door.task_tokens_max.unwrap_or(TASK_TOKENS_MAX))?;
        check_depth(&parent.grant)?;
        let default_turns = request.door.default_turns.unwrap_or(DEFAULT_TURNS);
        let FittedAgent { mut agent, grant, mut notes } =
            self.resolve_for_parent(parent, &definition, default_turns)?;
        let is_program_agent = self.sources.agents.equipment(&agent.name).is_some();
        if let Some(system) = request.system {
            agent.system_prompt = system;
        }
        writing::check(parent, &request.rights)?;
        let verify: Vec<String> = definition.answer.verify.iter().cloned().chain(request.verify).collect();
        permit(&verify, &parent.grant)?;
        let grant = grant.keep(&request.rights);
        if agent.system_prompt.contains(TOOLS) {
            agent.system_prompt =
                insert_tool_list(&agent.system_prompt, &self.children_tools.offered(&grant));
        }
        let write_lease = own_write_paths(&parent.grant, &agent.rights, &request.rights, &grant)?;
        let apart = [definition.mode.isolation, request.isolation].contains(&Isolation::Worktree);
        let mut terms = request.terms;
        // A dependent task acquires its lease only after its dependencies end, since they may hold the same paths.
        terms.lease = !write_lease.is_empty()
            && (request.on_conflict == OnConflict::Wait || !terms.depends_on.is_empty());
        let limits = request.door.bounds.narrow(&agent.limits);
        let caps = definition.caps().least(&request.door.bounds.caps);
        notes.extend(request.bounds.lowered(&limits, &caps).into_iter().map(shortfall::of_call));
        agent.limits = request.bounds.narrow(&limits);
        if let Some(schema) = request.output_schema {
            agent.settings.output_schema = Some(schema.to_string());
        }
        let task = with_context(&mut agent, request.task, request.context);
        if !is_program_agent {
            self.complete_prompt(&mut agent, &grant);
        }
        Ok(TaskStart {
            caps: caps.least(&request.bounds.caps),
            workspace: parent.workspace.clone(),
            apart_from: apart.then(|| parent.workspace.clone()),
            verify,
            notes,
            terms,
            link: ParentLink { key: request.key, detached: request.detached, pushed: request.pushed },
            write_lease,
            ..TaskStart::new(agent, task, grant)
        })
    }

    /// Adds to a subagent's prompt the delegation guidance, the rule on provenance marks and the report format.
    fn complete_prompt(&self, agent: &mut Agent, grant: &Grant) {
        self.add_guidance(agent, grant);
        let suffix = match self.shares_context(grant) {
            true => SUBAGENT_SUFFIX,
            false => SUBAGENT_SUFFIX_ALONE,
        };
        append_paragraph(&mut agent.system_prompt, suffix.trim_end());
    }

    /// Resolves a definition into the agent and the grant that this parent would get.
    pub(crate) fn resolve_for_parent(
        &self,
        parent: &ParentTask,
        definition: &Definition,
        default_turns: u32,
    ) -> Result<FittedAgent> {
        let tools: Vec<&str> = self.children_tools.names().collect();
        // Defaults of a definition. Other fields of the parent's agent are not inherited.
        let Agent { name, model, fallback_models, default_model, settings, limits, .. } = &parent.agent;
        let base = Agent {
            limits: at_most(limits, default_turns),
            settings: settings.clone(),
            fallback_models: fallback_models.clone(),
            default_model: default_model.clone(),
            ..Agent::new(name.clone(), model.as_str(), "")
        };
        let (mut agent, mut notes) = resolve(definition, &base, &*self.sources.models, &tools)?;
        let equipment = self.sources.agents.equipment(&agent.name);
        if let Some(equipment) = &equipment {
            equip(&mut agent, equipment);
        }
        let mut grant = parent.grant.narrow(&agent.rights);
        // An agent delegates only if its own definition says so: inheriting every tool is not enough.
        let inherits = equipment.is_some_and(|equipment| equipment.inherits_delegation);
        if !agent.rights.lists(DELEGATION) && !inherits {
            grant = grant.without(&[DELEGATION.to_owned()]);
        }
        let advice = parent.writing_advice.as_deref();
        notes.extend(shortfall::of_tools(&agent.name, &agent.rights, &grant, &self.children_tools, advice));
        Ok(FittedAgent { agent, grant, notes })
    }

    /// Drives a task that has a slot in the background, then ends its children and performs the moves of its board.
    fn launch(&self, children: &Arc<ChildTasks>, task: &Arc<LiveTask>, ports: DriverPorts, mode: DriveMode) {
        let Some(session) = self.this.upgrade() else { return };
        let (children, task) = (children.clone(), task.clone());
        task.set_running();
        // Boxed: a spawned future is moved several times, and this one is large.
        tokio::spawn(Box::pin(async move {
            let (id, start) = (task.id.clone(), task.start.clone());
            let (epoch, above) = (task.stored.epoch(), children.clone());
            let next = task.stored.records();
            let ended = PanicGuard(Box::pin(async move {
                match mode {
                    DriveMode::Created(beginning) => {
                        let beginning = beginning
                            .map_or_else(|| PreparedRun::for_task(&ports, &start), |beginning| *beginning);
                        driver::run_created(&ports, id, start, beginning, next).await
                    }
                    DriveMode::Resumed => {
                        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
                        let allowed = ResumeGrant::Within(&above.parent.grant);
                        Box::pin(driver::resume_claimed(&ports, id, epoch, onward, allowed)).await
                    }
                }
            }))
            .await;
            if matches!(&ended, Ok(Err(e)) if e.code() == ErrorCode::OwnerLost) {
                // Another process drives it now: follow it through the store.
                return session.follow(&children, &task);
            }
            let done = outcome_of(ended);
            if let Some(own) = session.known_children(&task.id) {
                Box::pin(session.end_children(&own)).await;
                // Its detached tasks may still be running.
                if own.unfinished().is_empty() {
                    session.parents().remove(&task.id);
                }
            }
            let turns = done.as_ref().map_or(0, |outcome| outcome.turns);
            let moves = children.ended(&task, done, turns, now_ms());
            match moves.is_empty() {
                // The end may have shortened a list of dependencies.
                true => session.tell_queue(&children),
                false => Box::pin(session.perform(&children, moves)).await,
            }
        }));
    }

    /// Tells observers the places of queued tasks that have changed.
    fn tell_queue(&self, children: &ChildTasks) {
        children.tell_places(now_ms(), |task, place| {
            self.watchers.observers.fact(task, &LiveFact::Queued(place));
        });
    }

    /// Performs the board's decisions.
    async fn perform(&self, children: &Arc<ChildTasks>, moves: Vec<BoardMove>) {
        self.tell_queue(children);
        for step in moves {
            match step {
                BoardMove::Start(id) => {
                    let Ok(task) = children.task(&id) else { continue };
                    // Adopted while already running, so it needs no slot.
                    if task.progress().stage == TaskStage::Running {
                        continue;
                    }
                    match self.child_ports(&children.parent, &task) {
                        Ok(ports) => self.launch(children, &task, ports, task.stored.mode.into()),
                        Err(e) => {
                            let outcome = Outcome::unstarted(StopReason::ModelFailed, e.english());
                            Box::pin(self.end_unstarted(children, &task, outcome)).await;
                        }
                    }
                }
                BoardMove::Lease(id) => {
                    if let Ok(task) = children.task(&id) {
                        self.lease_later(children, &task);
                    }
                }
                BoardMove::Fail { task, because_of } => {
                    if let Ok(task) = children.task(&task) {
                        Box::pin(self.fail_dependant(children, &task, &because_of)).await;
                    }
                }
            }
        }
    }

    /// In the background, waits until an unstarted task gets its write lease; then the board may start it.
    fn lease_later(&self, children: &Arc<ChildTasks>, task: &Arc<LiveTask>) {
        let Some(session) = self.this.upgrade() else { return };
        let (children, task) = (children.clone(), task.clone());
        tokio::spawn(async move {
            let mut was_noted = false;
            loop {
                match session.lease_now(&task).await {
                    Ok(()) => {
                        let moves = children.leased(&task, now_ms());
                        return session.perform(&children, moves).await;
                    }
                    // Cancelled meanwhile.
                    Err(_) if task.is_done() => return,
                    Err(e) if e.code() == ErrorCode::LeaseConflict => {
                        if !std::mem::replace(&mut was_noted, true) {
                            let waits =
                                Record::Observed { event: lease_wait(task.start.write_lease.clone()) };
                            // Ignored: if the store fails here, acquiring the lease fails too and reports it.
                            let _ = session.write_unstarted(&task, vec![waits]).await;
                        }
                        tokio::time::sleep(LEASE_POLL).await;
                    }
                    Err(e) => {
                        let outcome = Outcome::unstarted(StopReason::Cancelled, e.english());
                        return session.end_unstarted(&children, &task, outcome).await;
                    }
                }
            }
        });
    }

    async fn lease_now(&self, task: &LiveTask) -> Result<()> {
        let Some(paths) = write_paths_of(&task.start)? else { return Ok(()) };
        let request = self.holders.request(&*self.sources.store, &task.id, paths).await?;
        self.sources.store.lease(&task.id, task.stored.epoch(), request).await.map(drop)
    }

    async fn fail_dependant(&self, children: &Arc<ChildTasks>, task: &Arc<LiveTask>, because_of: &str) {
        // Its dependency was stopped with the orchestrator, and so is this task.
        let outcome = match children.parent.stop.is_requested() {
            true => Outcome::unstarted(StopReason::Cancelled, "its orchestrator ended".to_owned()),
            false => {
                Outcome::unstarted(StopReason::DependencyFailed, format!("{because_of} did not complete"))
            }
        };
        self.end_unstarted(children, task, outcome).await;
    }

    /// Journals the end of a task that never started.
    async fn end_unstarted(&self, children: &Arc<ChildTasks>, task: &Arc<LiveTask>, outcome: Outcome) {
        let outcome = Arc::new(outcome);
        let with_parent = outcome.stop == StopReason::Cancelled && children.parent.stop.is_requested();
        let cancelled = with_parent.then_some(Record::Cancelled { elapsed_ms: 0, with_parent });
        let finished = Record::Finished { outcome: outcome.clone(), elapsed_ms: 0 };
        let ending: Vec<Record> = cancelled.into_iter().chain([finished]).collect();
        let written = self.write_unstarted(task, ending).await;
        let done = written.map(|()| outcome.clone()).map_err(|e| e.english());
        let moves = children.ended(task, done, 0, now_ms());
        Box::pin(self.perform(children, moves)).await;
    }

    /// Commits records of an unstarted task, then notifies observers of their events.
    async fn write_unstarted(&self, task: &Arc<LiveTask>, records: Vec<Record>) -> Result<()> {
        let (epoch, next) = (task.stored.epoch(), task.stored.add_records(records.len()));
        let observers = self.watchers.observers.with(task.clone());
        let journal = TaskJournal::new(self.sources.store.clone(), observers, task.id.clone(), epoch, next);
        let events: Vec<_> = records.into_iter().map(|record| journal.hold(record)).collect();
        journal.commit().await?;
        events.into_iter().for_each(|entry| journal.tell(entry));
        Ok(())
    }

    /// Ends the children of a run that has ended. Those of a run that another process took over belong to that process.
    async fn end_children_after(&self, outcome: &Result<Arc<Outcome>>, children: &Arc<ChildTasks>) {
        if !matches!(outcome, Err(e) if e.code() == ErrorCode::OwnerLost) {
            self.end_children(children).await;
        }
    }

    /// Cancels the children of a run that has ended, except detached ones, and waits for their ends.
    async fn end_children(&self, children: &Arc<ChildTasks>) {
        let running: Vec<Arc<LiveTask>> =
            children.unfinished().into_iter().filter(|task| !task.start.link.detached).collect();
        // Cancels the parent token first so that children record `with_parent`.
        children.parent.stop.now.cancel();
        self.cancel_and_wait(children, &running).await;
    }

    /// Cancels all tasks of a parent, detached ones included.
    async fn cancel_all(&self, children: &Arc<ChildTasks>) {
        self.cancel_and_wait(children, &children.unfinished()).await;
    }

    async fn cancel_and_wait(&self, children: &Arc<ChildTasks>, running: &[Arc<LiveTask>]) {
        let all_done = async {
            for task in running {
                // A task that ended meanwhile needs no cancelling.
                let _ = self.cancel(children, task.id.short(), "its orchestrator ended").await;
            }
            for task in running {
                task.done().await;
            }
        };
        // Unfinished tasks stay `running` in the store for the next resume.
        let _ = tokio::time::timeout(CHILD_GRACE, all_done).await;
    }

    /// Cancels a task: stops a running one, ends an unstarted one here.
    pub(crate) async fn cancel(
        &self,
        children: &Arc<ChildTasks>,
        id: &str,
        why: &str,
    ) -> Result<(Arc<LiveTask>, CancelOutcome)> {
        let (task, met, moves) = children.cancel(id, now_ms())?;
        match met {
            CancelOutcome::Running => task.stop.now.cancel(),
            CancelOutcome::NotStarted => {
                let outcome = Outcome::unstarted(StopReason::Cancelled, why.to_owned());
                self.end_unstarted(children, &task, outcome).await;
                self.perform(children, moves).await;
            }
            CancelOutcome::Ended(_) => {}
        }
        Ok((task, met))
    }

    /// Returns the task table of a parent: the session's own task, or a child that may delegate.
    pub(crate) fn children_of(&self, parent: &TaskId) -> Result<Arc<ChildTasks>> {
        if let Some(children) = self.known_children(parent) {
            return Ok(children);
        }
        let nobody = || Error::new(ErrorCode::InvalidRequest, localized!("nobody-delegates"));
        let task = self.find_task(parent).ok_or_else(nobody)?;
        let (budget, inbox) = (task.budget().ok_or_else(nobody)?, task.inbox.clone());
        let above = || self.siblings_of(&task.id)?.parent.worktree.clone();
        let parent = ParentTask {
            worktree: task.worktree.get().cloned().or_else(above),
            ..ParentTask::new(task.id.clone(), &task.start, budget, inbox, task.stop.clone())
        };
        let children = Arc::new(ChildTasks::new(parent, self.policy.rules));
        let children = self.parents().entry(task.id.clone()).or_insert(children).clone();
        task.inbox.watch_children(Arc::downgrade(&children) as _);
        Ok(children)
    }

    fn known_children(&self, parent: &TaskId) -> Option<Arc<ChildTasks>> {
        self.parents().get(parent).cloned()
    }

    /// Finds a delegated task of this session, of any parent.
    pub(crate) fn find_task(&self, id: &TaskId) -> Option<Arc<LiveTask>> {
        self.parents().values().find_map(|children| children.task(id.short()).ok())
    }

    fn register_parent(&self, id: &TaskId, start: &TaskStart, ports: &DriverPorts) -> Arc<ChildTasks> {
        let DriverPorts { budget, inbox, stop, .. } = ports;
        let parent = ParentTask::new(id.clone(), start, budget.clone(), inbox.clone(), stop.clone());
        let children = Arc::new(ChildTasks::new(parent, self.policy.rules));
        ports.inbox.watch_children(Arc::downgrade(&children) as _);
        self.parents().insert(id.clone(), children.clone());
        children
    }

    /// Returns the participant name of a task in shared context.
    pub(crate) fn participant(&self, task: &TaskId) -> String {
        match self.find_task(task) {
            Some(task) => format!("subagent:{}:{}", task.agent, task.id.short()),
            None if task.short() == task.as_str() => "orchestrator".to_owned(),
            // A task that a tool of the application runs.
            None => format!("subagent:{}", task.short()),
        }
    }

    fn root_ports(&self, start: &TaskStart) -> Result<DriverPorts> {
        let budget = self.account(&self.budget, BudgetCaps::default())?;
        // A separate token, so that cancelling the root task spares detached ones.
        self.ports(&start.agent, BudgetCaps::default(), budget, self.watchers.stop.child())
    }

    fn child_ports(&self, parent: &ParentTask, task: &Arc<LiveTask>) -> Result<DriverPorts> {
        let budget = match task.budget() {
            Some(reserved) => reserved,
            None => self.account(&parent.budget, task.start.caps)?,
        };
        task.set_account(budget.clone());
        let mut ports = DriverPorts {
            tools: self.children_tools.clone(),
            observers: self.watchers.observers.with(task.clone()),
            inbox: task.inbox.clone(),
            ..self.ports(&task.start.agent, task.start.caps, budget, task.stop.clone())?
        };
        if let Some(worktree) = task.worktree.get().or(parent.worktree.as_ref()) {
            ports.tools = ports.tools.replaced_by(&worktree.tools)?;
            ports.verifier.clone_from(&worktree.verifier);
        }
        let equipment = self.sources.agents.equipment(&task.agent);
        let own_approver = equipment.as_ref().and_then(|equipment| equipment.approver.clone());
        if let Some(approver) = own_approver.or_else(|| self.approver_of(&parent.id)) {
            ports.tools = ports.tools.approved_by(approver);
        }
        if let Some(equipment) = equipment {
            if equipment.shows_parent_tools {
                ports.tools = ports.tools.showing(parent.grant.clone());
            }
            if let Some(observer) = &equipment.observer {
                ports.observers = ports.observers.with(observer.clone());
            }
        }
        Ok(ports)
    }

    /// Returns the approver that a program set for a task of this session, or for a task above it.
    fn approver_of(&self, id: &TaskId) -> Option<Arc<dyn Approver>> {
        let mut id = id.clone();
        loop {
            let task = self.find_task(&id)?;
            let equipment = self.sources.agents.equipment(&task.agent);
            if let Some(approver) = equipment.and_then(|equipment| equipment.approver.clone()) {
                return Some(approver);
            }
            id = self.siblings_of(&id)?.parent.id.clone();
        }
    }

    fn account(&self, parent: &TaskAccount, caps: BudgetCaps) -> Result<Arc<TaskAccount>> {
        let account = parent.child(caps);
        account.map(Arc::new).map_err(|shortfall| {
            Error::new(ErrorCode::BudgetExceeded, shortfall.of_reservation()).hint(
                "ask for less, or wait until running tasks have ended and given back what they reserved"
                    .to_owned(),
            )
        })
    }

    /// Opens the model and assembles the ports common to every task.
    fn ports(
        &self,
        agent: &Agent,
        caps: BudgetCaps,
        budget: Arc<TaskAccount>,
        stop: StopTokens,
    ) -> Result<DriverPorts> {
        let model = self.sources.models.open(agent)?;
        if self.policy.caps.cost_micros.or(caps.cost_micros).is_some()
            && let Some(unpriced) = model.tariff.unpriced(&agent.model)
        {
            return Err(crate::budget::unknown_price(unpriced));
        }
        Ok(DriverPorts {
            model,
            tools: self.place.tools.clone(),
            store: self.sources.store.clone(),
            observers: self.watchers.observers.clone(),
            budget,
            stop,
            inbox: TaskInbox::default(),
            verifier: self.place.verifier.clone(),
            holders: self.holders,
            worktrees: self.place.worktrees.clone(),
        })
    }

    fn parents(&self) -> MutexGuard<'_, HashMap<TaskId, Arc<ChildTasks>>> {
        self.parents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that was admitted and stored.
struct StoredTask {
    ports: DriverPorts,
    admission: Admission,
    /// Set for a task that starts at once.
    beginning: Option<PreparedRun>,
}

/// Ways to drive an admitted task.
enum DriveMode {
    /// Created by this process. `Some` for a task that starts at once.
    Created(Option<Box<PreparedRun>>),
    /// Created by an earlier process and claimed by this one.
    Resumed,
}

impl From<StartMode> for DriveMode {
    fn from(begin: StartMode) -> Self {
        match begin {
            StartMode::Afresh => DriveMode::Created(None),
            StartMode::Resumed => DriveMode::Resumed,
        }
    }
}

pub(crate) struct FittedAgent {
    pub agent: Agent,
    pub grant: Grant,
    /// Deviations from the definition.
    pub notes: Vec<String>,
}

fn append_paragraph(prompt: &mut String, paragraph: &str) {
    prompt.push_str("\n\n");
    prompt.push_str(paragraph);
}

/// Applies the equipment of a program's own agent.
fn equip(agent: &mut Agent, equipment: &AgentEquipment) {
    let most = equipment.output_tokens_per_call;
    agent.settings = equipment.settings.clone();
    agent.limits = agent.limits.narrow(&Limits {
        output_tokens_per_call: most,
        output_tokens_per_call_max: most,
        wrap_up_tokens: agent.limits.wrap_up_tokens.min(most),
        ..agent.limits.clone()
    });
    if equipment.approver.as_ref().is_some_and(|approver| !approver.is_automatic()) {
        // If another program resumes the task, its calls wait for approval instead of running unasked.
        agent.rights.autonomy = agent.rights.autonomy.max(Some(Autonomy::Asks));
    }
}

/// Generates a session id: short enough to type, long enough to be unique.
pub fn fresh_id() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    (0..8).map(|_| ALPHABET[fastrand::usize(..ALPHABET.len())] as char).collect()
}

/// Replaces the context placeholder in the system prompt, or appends the context to the task. Returns the task.
fn with_context(agent: &mut Agent, task: String, context: Option<String>) -> String {
    match context.filter(|context| !context.trim().is_empty()) {
        Some(context) if agent.system_prompt.contains(CONTEXT_PLACEHOLDER) => {
            agent.system_prompt = agent.system_prompt.replacen(CONTEXT_PLACEHOLDER, &context, 1);
            task
        }
        Some(context) => format!("{task}\n\n## Context\n\n{context}"),
        None => task,
    }
}

fn check_depth(grant: &Grant) -> Result<()> {
    if grant.depth() > 0 {
        return Ok(());
    }
    let text = grant.too_deep();
    Err(Error::new(ErrorCode::InvalidRequest, text).hint(localized!("delegation-too-deep-hint")))
}

/// Returns the default limits of a delegated task.
pub fn default_limits(parent: &Limits) -> Limits {
    at_most(parent, DEFAULT_TURNS)
}

fn at_most(parent: &Limits, turns: u32) -> Limits {
    Limits { turns_max: parent.turns_max.min(turns), ..parent.clone() }
}

fn check_size(task: &str, task_tokens_max: u64) -> Result<()> {
    if task.trim().is_empty() {
        return Err(Error::new(ErrorCode::InvalidRequest, localized!("task-empty")));
    }
    let size = estimate_tokens(task);
    if size <= task_tokens_max {
        return Ok(());
    }
    let text = localized!("task-too-large", size, task_tokens_max);
    Err(Error::new(ErrorCode::TaskTooLarge, text).hint(localized!("task-too-large-hint")))
}
