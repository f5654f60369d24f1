//! The one loop, for the orchestrator and for every subagent. It performs what `Run` decides and writes down what
//! happened; it decides nothing itself.

mod approval;
mod calls;
mod judge;
mod resume;

use std::sync::Arc;
use std::time::Duration;

use posse_core::Result;
use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_core::event::Event;
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::journal::{Record, TaskStart};
use posse_core::limits::Limits;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::reply::{FailureKind, ModelFailure, Reply};
use posse_core::run::{ModelAsk, Run, RunStep};
use posse_core::tokens::tokens_at_most;
use posse_core::tool::ToolSpec;
use posse_core::usage::Usage;
use posse_messages::fixed;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{BudgetHold, CallPayment, TaskAccount};
use crate::images::ImageLedger;
use crate::inbox::TaskInbox;
use crate::journal::TaskJournal;
use crate::leases::{self, HolderLiveness};
use crate::observe::{Observers, TaskDeltas};
use crate::panics::PanicGuard;
use crate::ports::{
    ModelMemo, ModelRequest, NewTask, ObservedPayload, OpenModel, Store, ToolUse, Verifier, WorktreeSource,
};
use crate::schema::check_settings;
use crate::toolbox::Toolbox;

/// Dependencies of a run.
pub struct DriverPorts {
    pub model: OpenModel,
    pub tools: Toolbox,
    pub store: Arc<dyn Store>,
    pub observers: Observers,
    pub budget: Arc<TaskAccount>,
    pub stop: StopTokens,
    /// Steering messages that reach the run before its next turn.
    pub inbox: TaskInbox,
    /// Without one, a task that has to be verified fails.
    pub verifier: Option<Arc<dyn Verifier>>,
    /// Decides which lease holders count as dead.
    pub holders: HolderLiveness,
    /// Keeps what a task changed that works apart from others.
    pub worktrees: Option<Arc<dyn WorktreeSource>>,
}

/// Context for a tool that runs an agent inside the run that called it. The nested run gets at most the rights of
/// its caller.
pub struct NestedRuns {
    pub grant: Arc<Grant>,
    pub limits: Limits,
    pub settings: ModelSettings,
    pub workspace: String,
    pub tools: Toolbox,
    pub store: Arc<dyn Store>,
    pub observers: Observers,
    pub budget: Arc<TaskAccount>,
    pub stop: StopTokens,
    pub holders: HolderLiveness,
}

impl NestedRuns {
    fn of(ports: &DriverPorts, start: &TaskStart) -> Self {
        Self {
            grant: Arc::new(start.grant.clone()),
            limits: start.agent.limits.clone(),
            settings: start.agent.settings.clone(),
            workspace: start.workspace.clone(),
            tools: ports.tools.clone(),
            store: ports.store.clone(),
            observers: ports.observers.clone(),
            budget: ports.budget.clone(),
            stop: ports.stop.clone(),
            holders: ports.holders,
        }
    }
}

/// Two ways to stop a run. A child gets a child of both: stopping a parent stops the tree, stopping a child leaves its
/// siblings alone.
#[derive(Clone, Default)]
pub struct StopTokens {
    /// Finish the step that is under way, then stop with the text there is.
    pub soon: CancellationToken,
    /// Drop what is under way.
    pub now: CancellationToken,
    /// Both of the run above.
    above: Option<[CancellationToken; 2]>,
}

impl StopTokens {
    pub fn new(soon: CancellationToken, now: CancellationToken) -> Self {
        Self { soon, now, above: None }
    }

    /// Creates child tokens: cancelling the parent cancels them, not the other way round.
    pub fn child(&self) -> Self {
        let above = Some([self.soon.clone(), self.now.clone()]);
        Self { soon: self.soon.child_token(), now: self.now.child_token(), above }
    }

    pub fn is_requested(&self) -> bool {
        self.soon.is_cancelled() || self.now.is_cancelled()
    }

    /// Returns whether the run above was stopped too.
    fn is_from_above(&self) -> bool {
        self.above.iter().flatten().any(CancellationToken::is_cancelled)
    }
}

/// Starts a task and works on it to its end.
pub async fn start(
    ports: &DriverPorts,
    id: TaskId,
    parent: Option<TaskId>,
    owner: String,
    start: TaskStart,
) -> Result<Arc<Outcome>> {
    let start = Arc::new(start);
    let mut beginning = PreparedRun::of(ports, &start);
    let records = beginning.written(ports, &start);
    create(&*ports.store, &ports.holders, id.clone(), parent, owner, &start, records).await?;
    run_created(ports, id, start, beginning).await
}

/// A task ready for its first step.
pub struct PreparedRun {
    system: String,
    offered: Vec<ToolSpec>,
    run: Box<Run>,
    /// Hold for the first request, if that was recorded with the task.
    held: Option<BudgetHold>,
}

impl PreparedRun {
    /// Prepares a run without an announced first request.
    pub fn of(ports: &DriverPorts, start: &TaskStart) -> Self {
        let offered = ports.tools.offered(&start.grant);
        let (system, _) = start.opening();
        let fixed = fixed_tokens(&system, &offered);
        let run = Box::new(Run::of(start, ports.tools.effects(), fixed));
        Self { system, offered, run, held: None }
    }

    /// Returns the records of a task that starts at once: the task and its first request in one write. The request
    /// is announced only if the budget covers it.
    pub fn written(&mut self, ports: &DriverPorts, start: &Arc<TaskStart>) -> Vec<Record> {
        let mut records = vec![Record::Started(start.clone())];
        // Nothing is asked before it has its places, and that may take a while.
        if start.write_lease.is_empty()
            && let RunStep::CallModel(ask) = self.run.next_step(0)
        {
            let need = ask.need(self.run.limits());
            self.held = BudgetHold::open(&ports.budget, &ports.model.tariff, &need).ok();
            records.extend(self.held.as_ref().map(|_| ask.announced(0)));
        }
        records
    }
}

/// Writes a task down, with its write lease unless it waits for that. Whoever is told about it afterwards will find it
/// there.
pub async fn create(
    store: &dyn Store,
    holders: &HolderLiveness,
    id: TaskId,
    parent: Option<TaskId>,
    owner: String,
    start: &TaskStart,
    records: Vec<Record>,
) -> Result<()> {
    check_settings(&start.agent.settings)?;
    let agent = start.agent.name.to_string();
    let lease = match leases::places_of(start)? {
        Some(places) if !start.terms.lease => Some(holders.request(store, &id, places).await?),
        _ => None,
    };
    store.create(NewTask { id, parent, agent, owner, records, lease }).await
}

/// Works on a task that was just created by this process.
pub async fn run_created(
    ports: &DriverPorts,
    id: TaskId,
    start: Arc<TaskStart>,
    beginning: PreparedRun,
) -> Result<Arc<Outcome>> {
    let (agent, model) = (start.agent.name.to_string(), ports.model.model.name().to_owned());
    ports.observers.payload(&id, ObservedPayload::Start(&start));
    let sandbox = start.grant.sandbox();
    ports.observers.event(&id, &Event::Started { agent, model, sandbox });
    leases::wait(ports, &id, 1, &start).await?;
    let PreparedRun { system, offered, run, held } = beginning;
    let mut life = RunDriver::new(ports, id, start, (system, offered), 1, 0);
    life.journal.announced = held.is_some();
    life.held = held;
    drive(ports, life, run).await
}

/// The most tokens that go with every request beside the conversation.
fn fixed_tokens(system: &str, offered: &[ToolSpec]) -> u64 {
    let tools = offered.iter().map(|spec| {
        let texts = [&spec.name, &spec.description, &spec.input_schema];
        texts.into_iter().map(tokens_at_most).sum::<u64>()
    });
    tokens_at_most(system).saturating_add(tools.sum())
}

pub use resume::{ResumeMode, end_cancelled, resume};

/// The run is boxed: what is kept over an await is moved from future to future until then.
async fn drive(ports: &DriverPorts, mut life: RunDriver<'_>, mut run: Box<Run>) -> Result<Arc<Outcome>> {
    loop {
        life.emit(&mut run);
        life.listen(&mut run);
        if ports.stop.is_requested() {
            life.cancel(&mut run);
        }
        match run.next_step(life.elapsed_ms()) {
            RunStep::CallModel(ask) => life.ask(&mut run, ask).await?,
            // Boxed, because it is large and a task waits for its model most of the time.
            RunStep::CallTools(calls) => Box::pin(life.call_tools(&mut run, calls)).await?,
            RunStep::Check(value) => life.check(&mut run, &value),
            RunStep::Verify(command) => Box::pin(life.verify(&mut run, command)).await?,
            RunStep::Finish(outcome) => return life.finish(&mut run, outcome).await,
        }
    }
}

/// State of a run while this process drives it.
struct RunDriver<'a> {
    scene: DriverContext<'a>,
    journal: TaskJournal,
    memo: ModelMemo,
    /// For the request that was announced with the task.
    held: Option<BudgetHold>,
}

/// The part of it that stays the same, and that calls running side by side may look at together.
struct DriverContext<'a> {
    ports: &'a DriverPorts,
    id: TaskId,
    start: Arc<TaskStart>,
    system: String,
    offered: Vec<ToolSpec>,
    nesting: Arc<NestedRuns>,
    began: Instant,
    /// Time used before this process took over.
    elapsed_before_ms: u64,
    /// Time in which model calls only waited for their turn. It does not count.
    queued: Duration,
    images: Arc<ImageLedger>,
    /// The task could use `bash` and cannot any more, so nothing is run for it either.
    commands_withdrawn: bool,
}

impl<'a> RunDriver<'a> {
    fn new(
        ports: &'a DriverPorts,
        id: TaskId,
        start: Arc<TaskStart>,
        (system, offered): (String, Vec<ToolSpec>),
        epoch: u64,
        elapsed_before_ms: u64,
    ) -> Self {
        let journal = TaskJournal::new(ports.store.clone(), id.clone(), epoch);
        let nesting = Arc::new(NestedRuns::of(ports, &start));
        let scene = DriverContext {
            ports,
            id,
            start,
            system,
            offered,
            nesting,
            began: Instant::now(),
            elapsed_before_ms,
            queued: Duration::ZERO,
            images: Arc::default(),
            commands_withdrawn: false,
        };
        Self { scene, journal, memo: ModelMemo::default(), held: None }
    }

    fn elapsed_ms(&self) -> u64 {
        self.scene.elapsed_ms()
    }

    /// One model call: authorised, announced in the journal, made, paid, written down, fed.
    async fn ask(&mut self, run: &mut Run, ask: ModelAsk) -> Result<()> {
        let DriverPorts { budget, model, .. } = self.scene.ports;
        let tariff = &*model.tariff.after(run.answered_by());
        let need = ask.need(run.limits());
        let time_left = self.scene.time_left(run);
        let held = self.held.take().filter(|_| self.journal.announced);
        let purse = match CallPayment::open(budget, tariff, &need, time_left, held) {
            Ok(purse) => purse,
            Err(missing) => {
                let (shortfall, input_excess) = (missing.to_string(), missing.input_excess);
                run.on_budget_spent(&shortfall, input_excess);
                let elapsed_ms = self.elapsed_ms();
                self.journal.note(Record::BudgetSpent { shortfall, input_excess, elapsed_ms });
                return Ok(());
            }
        };
        self.journal.announce(ask.announced(self.elapsed_ms()));
        if let Err(e) = self.journal.commit().await {
            purse.settle(None, &Usage::default());
            return Err(e);
        }
        debug_assert_eq!(posse_core::message::find_fault(run.messages()), None);
        let turns_max = run.limits().turns_max;
        self.scene.event(|| Event::TurnStarted { turn: ask.turn, turns_max });
        let answer = self.call_model(run, &ask, &purse).await;
        self.scene.queued += purse.queued();
        let elapsed_ms = self.elapsed_ms();
        match answer {
            Ok(mut reply) => {
                reply.usage = tariff.priced(&reply.model, reply.usage);
                reply.lost = purse.priced_lost(reply.lost);
                purse.settle(Some((&reply.model, &reply.usage)), &reply.lost);
                reply.notes.extend(purse.overrun(&reply.usage));
                self.scene.payload(ObservedPayload::Reply { turn: ask.turn, reply: &reply });
                self.scene.event(|| replied(&ask, &reply));
                self.journal.note(Record::Replied { reply: reply.clone(), elapsed_ms });
                run.on_reply(reply);
            }
            Err(mut failure) => {
                failure.lost = purse.priced_lost(failure.lost);
                purse.settle(None, &failure.lost);
                let (kind, message) = (failure.kind, &failure.message);
                self.scene.event(|| Event::ModelFailed { kind, message: message.clone() });
                run.on_failure(&failure);
                self.journal.note(Record::Unanswered { failure, elapsed_ms });
            }
        }
        Ok(())
    }

    async fn call_model(
        &mut self,
        run: &Run,
        ask: &ModelAsk,
        purse: &CallPayment<'_>,
    ) -> Result<Reply, ModelFailure> {
        let urgency = match self.scene.id.is_root() {
            true => Urgency::Interactive,
            false => Urgency::Background(self.scene.start.terms.priority),
        };
        let request = ModelRequest {
            system: &self.scene.system,
            messages: run.messages(),
            tools: &self.scene.offered,
            tool_use: if ask.with_tools { ToolUse::Auto } else { ToolUse::Forbidden },
            output_tokens_max: purse.output_tokens(),
            settings: &self.scene.start.agent.settings,
            answered_by: run.answered_by(),
            unanswered: run.unanswered(),
            generation: run.generation(),
            memo: &mut self.memo,
            allowance: purse,
            urgency,
        };
        let deltas = TaskDeltas { observers: &self.scene.ports.observers, task: &self.scene.id };
        let call = PanicGuard(self.scene.ports.model.model.call(request, &deltas));
        // The call is dropped before what follows from a stop is worked out, so whether it was asked at all is said first.
        let cancelled = async {
            self.scene.ports.stop.now.cancelled().await;
            purse.is_queued()
        };
        let cut_off = |why: &str, queued: bool| {
            let mut lost = purse.charged();
            if !queued {
                lost.add(&Usage { input: ask.estimate, estimated: true, ..Usage::default() });
            }
            Err(ModelFailure { lost, ..ModelFailure::new(FailureKind::Cancelled, why) })
        };
        tokio::select! {
            biased;
            queued = cancelled => cut_off(&fixed!("run-cancelled"), queued),
            () = purse.out_of_time() => cut_off(&fixed!("run-out-of-time"), false),
            answer = call => answer.unwrap_or_else(|panic| {
                Err(ModelFailure::new(FailureKind::InvalidRequest, fixed!("model-client-crashed", panic)))
            }),
        }
    }

    /// Moves steering messages into the next request.
    fn listen(&mut self, run: &mut Run) {
        let Some(turn) = run.turn_to_ask() else { return };
        for message in self.scene.ports.inbox.take(turn) {
            run.on_steer(&message.text);
            self.scene.payload(ObservedPayload::Message(&message.text));
            let (text, key) = (message.text, message.key);
            self.journal.note(Record::Steered { text, key, elapsed_ms: self.elapsed_ms() });
        }
    }

    fn cancel(&mut self, run: &mut Run) {
        if !run.is_finished() {
            run.on_cancel();
            let with_parent = !self.scene.id.is_root() && self.scene.ports.stop.is_from_above();
            self.journal.note(Record::Cancelled { elapsed_ms: self.elapsed_ms(), with_parent });
        }
    }

    /// The outcome is durable before anyone is told.
    async fn finish(mut self, run: &mut Run, mut outcome: Arc<Outcome>) -> Result<Arc<Outcome>> {
        self.scene.keep_changes(&mut outcome).await;
        let loose_ends = self.scene.ports.inbox.loose_ends();
        if !loose_ends.is_empty() {
            Arc::make_mut(&mut outcome).warnings.extend(loose_ends);
        }
        run.on_finished(&outcome);
        self.journal.note(Record::Finished { outcome: outcome.clone(), elapsed_ms: self.elapsed_ms() });
        self.journal.commit().await?;
        self.scene.leave_place(&outcome).await;
        self.scene.event(|| Event::Finished {
            status: outcome.status(),
            stop: outcome.stop,
            turns: outcome.turns,
            tool_calls: outcome.tool_calls,
            usage: outcome.usage,
        });
        Ok(outcome)
    }

    fn emit(&self, run: &mut Run) {
        for event in run.take_events() {
            self.scene.event(|| event);
        }
    }
}

impl DriverContext<'_> {
    /// Saves the changes of a task in its own worktree before the task ends.
    async fn keep_changes(&self, outcome: &mut Arc<Outcome>) {
        let DriverContext { ports, id, start, .. } = self;
        let Some(worktrees) = ports.worktrees.as_ref().filter(|_| start.apart_from.is_some()) else { return };
        let outcome = Arc::make_mut(outcome);
        match worktrees.keep(id).await {
            Ok(changed) => {
                if !changed.is_empty() {
                    let note = "what it changed is kept apart from the workspace until a person applies it";
                    outcome.warnings.push(note.to_owned());
                }
                outcome.changed_files = changed;
            }
            Err(e) => {
                let why = e.english();
                outcome.warnings.push(format!("its changes are in {}, but not kept: {why}", start.workspace))
            }
        }
    }

    /// A worktree in which nothing was changed is not needed any more.
    async fn leave_place(&self, outcome: &Outcome) {
        let Some(worktrees) = self.ports.worktrees.as_ref().filter(|_| self.start.apart_from.is_some())
        else {
            return;
        };
        if outcome.status() == OutcomeStatus::Completed && outcome.changed_files.is_empty() {
            // What is left behind takes room, and nothing else.
            let _ = worktrees.discard(&self.id).await;
        }
    }

    fn elapsed_ms(&self) -> u64 {
        let here = self.began.elapsed().saturating_sub(self.queued);
        let here = u64::try_from(here.as_millis()).unwrap_or(u64::MAX);
        self.elapsed_before_ms.saturating_add(here)
    }

    fn time_left(&self, run: &Run) -> Duration {
        Duration::from_millis(run.time_left_ms(self.elapsed_ms()))
    }

    /// Builds and sends an event; skips building it without observers.
    fn event(&self, event: impl FnOnce() -> Event) {
        if !self.ports.observers.is_empty() {
            self.ports.observers.event(&self.id, &event());
        }
    }

    fn payload(&self, payload: ObservedPayload<'_>) {
        self.ports.observers.payload(&self.id, payload);
    }
}

fn replied(ask: &ModelAsk, reply: &Reply) -> Event {
    let calls = reply.blocks.iter().filter(|block| block.as_call().is_some()).count() as u32;
    Event::Replied { turn: ask.turn, model: reply.model.clone(), usage: reply.usage, calls }
}
