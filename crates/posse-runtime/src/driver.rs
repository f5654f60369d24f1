//! The agent loop, shared by the orchestrator and every subagent. It performs the steps that `Run` decides and journals
//! their results; it decides nothing itself.

mod approval;
mod calls;
mod judge;
mod resume;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::Result;
use posse_core::board::Urgency;
use posse_core::event::{Event, EventEntry};
use posse_core::fact::{LiveFact, SteerReceipt, answer_line};
use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::limits::Limits;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::reply::{FailureKind, ModelFailure, Reply};
use posse_core::run::{ModelAsk, Run, RunStep};
use posse_core::text::estimate_tokens;
use posse_core::tokens::tokens_at_most;
use posse_core::tool::ToolSpec;
use posse_core::usage::Usage;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{BudgetHold, CallPayment, TaskAccount};
use crate::images::ImageLedger;
use crate::inbox::TaskInbox;
use crate::journal::first_events;
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
    /// Saves the changes of tasks that run in their own worktree.
    pub worktrees: Option<Arc<dyn WorktreeSource>>,
}

/// The run that makes a tool call, as the tool sees it.
pub struct CallingRun {
    pub limits: Limits,
    pub workspace: String,
    pub tools: Toolbox,
    pub budget: Arc<TaskAccount>,
    pub journal: TaskJournal,
}

impl CallingRun {
    fn of(ports: &DriverPorts, start: &TaskStart, journal: TaskJournal) -> Self {
        Self {
            limits: start.agent.limits.clone(),
            workspace: start.workspace.clone(),
            tools: ports.tools.clone(),
            budget: ports.budget.clone(),
            journal,
        }
    }
}

/// Two ways to stop a run. A child gets a child of both: stopping a parent stops the tree, stopping a child leaves its
/// siblings alone.
#[derive(Clone, Default)]
pub struct StopTokens {
    /// Finish the current step, then stop with the text so far.
    pub soon: CancellationToken,
    /// Abort the current step.
    pub now: CancellationToken,
    /// The parent's `soon` and `now` tokens.
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

    /// Returns whether the parent was stopped too.
    pub(crate) fn is_from_above(&self) -> bool {
        self.above.iter().flatten().any(CancellationToken::is_cancelled)
    }
}

/// Creates a task and drives it to its end.
pub async fn start(
    ports: &DriverPorts,
    id: TaskId,
    parent: Option<TaskId>,
    owner: String,
    start: TaskStart,
) -> Result<Arc<Outcome>> {
    let start = Arc::new(start);
    let mut beginning = PreparedRun::for_task(ports, &start);
    let records = beginning.reserve_and_record(ports, &start);
    let (events, next) = (first_events(&id, &records), records.len() as u64);
    let above = parent.clone();
    create(&*ports.store, &ports.holders, id.clone(), parent, owner, &start, records).await?;
    tell_created(ports, &id, above.as_ref(), &start, &events);
    run_created(ports, id, start, beginning, next).await
}

/// Returns the first records of a task that does not start at once.
pub(crate) fn queued_records(start: &TaskStart) -> Vec<Record> {
    vec![Record::Started(Arc::new(TaskStart { queued: true, ..start.clone() }))]
}

/// Notifies observers of the events in a new task's first records.
pub(crate) fn tell_created(
    ports: &DriverPorts,
    id: &TaskId,
    parent: Option<&TaskId>,
    start: &TaskStart,
    events: &[EventEntry],
) {
    ports.observers.fact(id, &task_fact(parent, start));
    for entry in events {
        if let Event::Started { .. } = entry.event {
            ports.observers.payload(id, ObservedPayload::Start(start));
        }
        ports.observers.event(entry);
    }
}

/// Creates the fact that introduces a task to observers.
pub fn task_fact(parent: Option<&TaskId>, start: &TaskStart) -> LiveFact {
    LiveFact::Task {
        agent: start.agent.name.to_string(),
        parent: parent.cloned(),
        title: start.title().to_owned(),
    }
}

/// A task ready for its first step.
pub struct PreparedRun {
    system: String,
    offered: Vec<ToolSpec>,
    run: Box<Run>,
    /// Budget reserved for the first request, if that was announced with the task.
    held: Option<BudgetHold>,
    /// Observers were notified of `Event::Started`.
    start_event_sent: bool,
}

impl PreparedRun {
    /// Prepares a run whose first request is not announced: its `Asked` record is not in the journal.
    pub fn for_task(ports: &DriverPorts, start: &TaskStart) -> Self {
        let offered = ports.tools.offered(&start.grant);
        let (system, _) = start.opening();
        let fixed = fixed_tokens(&system, &offered);
        let run = Box::new(Run::new(start, ports.tools.effects(), fixed));
        Self { system, offered, run, held: None, start_event_sent: false }
    }

    /// Returns the records of a task that starts at once, and reserves the cost of its first request. The request is among
    /// the records (announced) only if the budget covers it.
    pub fn reserve_and_record(&mut self, ports: &DriverPorts, start: &Arc<TaskStart>) -> Vec<Record> {
        self.start_event_sent = true;
        let mut records = vec![Record::Started(start.clone())];
        records.extend(self.run.take_events().into_iter().map(|event| Record::Observed { event }));
        // A task with a write lease waits for it first, so its first request is not recorded yet.
        if start.write_lease.is_empty()
            && let RunStep::CallModel(ask) = self.run.next_step(0)
        {
            let need = ask.need(self.run.limits());
            self.held = BudgetHold::open(&ports.budget, &ports.model.tariff, &need).ok();
            records.extend(self.held.as_ref().map(|_| ask.announced(self.run.limits(), 0)));
        }
        records
    }
}

/// Stores the task row, its first records and, unless it waits for one, its lease, in one transaction.
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
    let lease = match leases::write_paths_of(start)? {
        Some(paths) if !start.terms.lease => Some(holders.request(store, &id, paths).await?),
        _ => None,
    };
    store.create(NewTask { id, parent, agent, owner, records, lease }).await
}

/// Drives a task that this process has just created with `next` records.
pub async fn run_created(
    ports: &DriverPorts,
    id: TaskId,
    start: Arc<TaskStart>,
    beginning: PreparedRun,
    next: u64,
) -> Result<Arc<Outcome>> {
    let journal = TaskJournal::new(ports.store.clone(), ports.observers.clone(), id.clone(), 1, next);
    let PreparedRun { system, offered, run, held, start_event_sent } = beginning;
    if !start_event_sent {
        ports.observers.payload(&id, ObservedPayload::Start(&start));
        journal.observe(Event::started(&start));
    }
    leases::wait(ports, &id, &journal, &start).await?;
    let mut driver = RunDriver::new(ports, id, start, (system, offered), journal, 0);
    if held.is_some() {
        driver.context.journal.set_announced();
    }
    driver.held = held;
    drive(ports, driver, run).await
}

/// Tokens of the next request of a task, by what takes them. The parts are estimates that add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextUse {
    pub system: u64,
    pub tools: u64,
    pub messages: u64,
    pub results: u64,
    /// The model's window, if known.
    pub window: Option<u64>,
}

impl ContextUse {
    /// Measures the next request of a run.
    fn of(ports: &DriverPorts, start: &TaskStart, run: &Run) -> Self {
        let tools = ports.tools.offered(&start.grant);
        let tools =
            tools.iter().flat_map(|spec: &ToolSpec| [&spec.name, &spec.description, &spec.input_schema]);
        let size = run.conversation_size();
        let estimated = Self {
            system: estimate_tokens(&start.opening().0),
            tools: tools.map(|text| estimate_tokens(text)).sum(),
            messages: size.messages,
            results: size.results,
            window: run.limits().context_window,
        };
        // Before the first reply nothing was counted.
        if run.turns() == 0 { estimated } else { estimated.scaled_to(size.request) }
    }

    /// Returns all tokens.
    pub fn total(&self) -> u64 {
        self.system + self.tools + self.messages + self.results
    }

    /// Returns the share of the window that some tokens take, in percent; `None` without a known window.
    pub fn percent(&self, tokens: u64) -> Option<u64> {
        let window = self.window.filter(|window| *window > 0)?;
        Some(tokens.saturating_mul(100).div_ceil(window))
    }

    /// Stretches the parts until they add up to a whole that was counted.
    fn scaled_to(self, whole: u64) -> Self {
        let estimated = self.total().max(1);
        let scaled = |part: u64| u64::try_from(u128::from(part) * u128::from(whole) / u128::from(estimated));
        let [system, tools, results] =
            [self.system, self.tools, self.results].map(|part| scaled(part).unwrap_or(part));
        // The largest part of a long conversation takes what rounding left.
        let messages = whole.saturating_sub(system + tools + results);
        Self { system, tools, messages, results, ..self }
    }
}

/// Measures the first request of a task that has not started.
pub(crate) fn opening_context(ports: &DriverPorts, start: &TaskStart) -> ContextUse {
    ContextUse::of(ports, start, &Run::new(start, ports.tools.effects(), 0))
}

/// Upper bound of the fixed tokens per request: system prompt and tool specs.
fn fixed_tokens(system: &str, offered: &[ToolSpec]) -> u64 {
    let tools = offered.iter().map(|spec| {
        let texts = [&spec.name, &spec.description, &spec.input_schema];
        texts.into_iter().map(tokens_at_most).sum::<u64>()
    });
    tokens_at_most(system).saturating_add(tools.sum())
}

pub use crate::journal::{TaskJournal, read_events};
pub(crate) use resume::{ResumeGrant, context_use, resume_claimed, resume_with};
pub use resume::{ResumeMode, end_cancelled, resume};

/// The agent loop. The run is boxed: values held across an await are copied each time the future moves.
async fn drive(ports: &DriverPorts, mut driver: RunDriver<'_>, mut run: Box<Run>) -> Result<Arc<Outcome>> {
    loop {
        driver.journal_events(&mut run);
        // A message that no model will see any more is missed, not delivered.
        match ports.stop.is_requested() {
            true => driver.cancel(&mut run),
            false => driver.drain_inbox(&mut run),
        }
        match run.next_step(driver.elapsed_ms()) {
            RunStep::CallModel(ask) => driver.ask(&mut run, ask).await?,
            // Boxed: this future is large, and a task waits for its model most of the time.
            RunStep::CallTools(calls) => Box::pin(driver.call_tools(&mut run, calls)).await?,
            RunStep::Check(value) => driver.check(&mut run, &value),
            RunStep::Verify(command) => Box::pin(driver.verify(&mut run, command)).await?,
            RunStep::Finish(outcome) => return driver.finish(&mut run, outcome).await,
        }
    }
}

/// State of a run while this process drives it.
struct RunDriver<'a> {
    context: DriverContext<'a>,
    memo: ModelMemo,
    /// Budget reserved for the request that was announced with the task.
    held: Option<BudgetHold>,
    /// Delegating calls that were stopped with the run. They are repeated on resume.
    stopped: Vec<CallKey>,
}

/// Shared part of the driver, which concurrent calls borrow together.
struct DriverContext<'a> {
    ports: &'a DriverPorts,
    id: TaskId,
    start: Arc<TaskStart>,
    journal: TaskJournal,
    system: String,
    offered: Vec<ToolSpec>,
    grant: Arc<Grant>,
    run: Arc<CallingRun>,
    began: Instant,
    /// Time used before this process took over.
    elapsed_before_ms: u64,
    /// Time that model calls waited for the rate limit. Not counted against the time limit.
    rate_limit_wait: Duration,
    images: Arc<ImageLedger>,
    /// `bash` was withdrawn from the task, so its verification commands are not run either.
    commands_withdrawn: bool,
}

impl<'a> RunDriver<'a> {
    fn new(
        ports: &'a DriverPorts,
        id: TaskId,
        start: Arc<TaskStart>,
        (system, offered): (String, Vec<ToolSpec>),
        journal: TaskJournal,
        elapsed_before_ms: u64,
    ) -> Self {
        let run = Arc::new(CallingRun::of(ports, &start, journal.clone()));
        let grant = Arc::new(start.grant.clone());
        let context = DriverContext {
            ports,
            id,
            start,
            journal,
            system,
            offered,
            grant,
            run,
            began: Instant::now(),
            elapsed_before_ms,
            rate_limit_wait: Duration::ZERO,
            images: Arc::default(),
            commands_withdrawn: false,
        };
        Self { context, memo: ModelMemo::default(), held: None, stopped: Vec::new() }
    }

    fn elapsed_ms(&self) -> u64 {
        self.context.elapsed_ms()
    }

    /// Makes one model call: reserve budget, journal the request, call, settle, journal the reply, pass it to `Run`.
    async fn ask(&mut self, run: &mut Run, ask: ModelAsk) -> Result<()> {
        let DriverPorts { budget, model, .. } = self.context.ports;
        let tariff = &*model.tariff.after(run.answered_by());
        let need = ask.need(run.limits());
        let time_left = self.context.time_left(run);
        let held = self.held.take().filter(|_| self.context.journal.is_announced());
        let payment = match CallPayment::open(budget, tariff, &need, time_left, held) {
            Ok(payment) => payment,
            Err(missing) => {
                let (shortfall, input_excess) = (missing.to_string(), missing.input_excess);
                run.on_budget_spent(&shortfall, input_excess);
                let elapsed_ms = self.elapsed_ms();
                self.context.journal.note(Record::BudgetSpent { shortfall, input_excess, elapsed_ms });
                return Ok(());
            }
        };
        let announced = self.context.journal.announce(ask.announced(run.limits(), self.elapsed_ms()));
        if let Err(e) = self.context.journal.commit().await {
            payment.settle(None, &Usage::default());
            return Err(e);
        }
        debug_assert_eq!(posse_core::message::find_fault(run.messages()), None);
        self.context.journal.tell(announced);
        let (answer, said) = self.call_model(run, &ask, &payment).await;
        self.context.rate_limit_wait += payment.queued();
        let elapsed_ms = self.elapsed_ms();
        match answer {
            Ok(mut reply) => {
                reply.usage = tariff.priced(&reply.model, reply.usage);
                reply.lost = payment.priced_lost(reply.lost);
                payment.settle(Some((&reply.model, &reply.usage)), &reply.lost);
                reply.notes.extend(payment.overrun(&reply.usage));
                self.context.payload(ObservedPayload::Reply { turn: ask.turn, reply: &reply });
                self.context.journal.note(Record::Replied {
                    turn: ask.turn,
                    reply: reply.clone(),
                    elapsed_ms,
                });
                run.on_reply(reply);
            }
            Err(mut failure) => {
                failure.lost = payment.priced_lost(failure.lost);
                payment.settle(None, &failure.lost);
                run.on_cut_off(&said);
                run.on_failure(&failure);
                self.context.journal.note(Record::Unanswered { failure, said, elapsed_ms });
            }
        }
        Ok(())
    }

    /// Calls the model. The text is what was written until the call was cut off.
    async fn call_model(
        &mut self,
        run: &Run,
        ask: &ModelAsk,
        payment: &CallPayment<'_>,
    ) -> (Result<Reply, ModelFailure>, String) {
        let urgency = match self.context.id.is_root() {
            true => Urgency::Interactive,
            false => Urgency::Background(self.context.start.terms.priority),
        };
        let request = ModelRequest {
            system: &self.context.system,
            messages: run.messages(),
            tools: &self.context.offered,
            tool_use: if ask.with_tools { ToolUse::Auto } else { ToolUse::Forbidden },
            output_tokens_max: payment.output_tokens(),
            settings: &self.context.start.agent.settings,
            answered_by: run.answered_by(),
            unanswered: run.unanswered(),
            generation: run.generation(),
            memo: &mut self.memo,
            allowance: payment,
            urgency,
        };
        let deltas = TaskDeltas {
            observers: &self.context.ports.observers,
            task: &self.context.id,
            journal: &self.context.journal,
            said: Mutex::default(),
        };
        let call = PanicGuard(self.context.ports.model.model.call(request, &deltas));
        // Read before `select!` drops the call: without an attempt in progress it costs nothing more.
        let cancelled = async {
            self.context.ports.stop.now.cancelled().await;
            payment.is_idle()
        };
        let timed_out = async {
            payment.out_of_time().await;
            payment.is_idle()
        };
        let cut_off = |why: &str, is_idle: bool| {
            let mut lost = payment.charged();
            if !is_idle {
                lost.add(&Usage { input: ask.estimate, estimated: true, ..Usage::default() });
            }
            let failure = ModelFailure { lost, ..ModelFailure::new(FailureKind::Cancelled, why) };
            (Err(failure), deltas.take_said())
        };
        tokio::select! {
            biased;
            is_idle = cancelled => cut_off("the run was cancelled", is_idle),
            is_idle = timed_out => cut_off("the run's time is over", is_idle),
            answer = call => (answer.unwrap_or_else(|panic| {
                Err(ModelFailure::new(FailureKind::InvalidRequest, format!("internal_error: the model client crashed ({panic})")))
            }), String::new()),
        }
    }

    /// Moves steering messages into the next request.
    fn drain_inbox(&mut self, run: &mut Run) {
        let Some(turn) = run.turn_to_ask() else { return };
        for message in self.context.ports.inbox.take() {
            run.on_steer(&message.text);
            self.context.payload(ObservedPayload::Message(&message.text));
            if message.is_sent {
                self.context.steer(&message.key, SteerReceipt::Delivered, Some(turn));
            }
            let (text, key) = (message.text, message.key);
            self.context.journal.note(Record::Steered { text, key, elapsed_ms: self.elapsed_ms() });
        }
    }

    fn cancel(&mut self, run: &mut Run) {
        if !run.is_finished() {
            run.on_cancel(&self.stopped);
            let with_parent = !self.context.id.is_root() && self.context.ports.stop.is_from_above();
            self.context.journal.note(Record::Cancelled { elapsed_ms: self.elapsed_ms(), with_parent });
        }
    }

    /// Ends the run. The outcome is durable before observers are notified.
    async fn finish(self, run: &mut Run, mut outcome: Arc<Outcome>) -> Result<Arc<Outcome>> {
        self.context.keep_changes(&mut outcome).await;
        let unfinished_children_warnings = self.context.ports.inbox.unfinished_children_warnings();
        if !unfinished_children_warnings.is_empty() {
            Arc::make_mut(&mut outcome).warnings.extend(unfinished_children_warnings);
        }
        run.on_finished(&outcome);
        let finished = Record::Finished { outcome: outcome.clone(), elapsed_ms: self.elapsed_ms() };
        let finished = self.context.journal.hold(finished);
        self.context.journal.commit().await?;
        self.context.discard_unchanged_worktree(&outcome).await;
        for key in self.context.ports.inbox.unread() {
            self.context.steer(&key, SteerReceipt::Missed, None);
        }
        if let Some(line) = answer_line(&outcome.text) {
            self.context.fact(&LiveFact::Answer { line });
        }
        self.context.journal.tell(finished);
        Ok(outcome)
    }

    /// Journals the run's events and notifies observers.
    fn journal_events(&self, run: &mut Run) {
        for event in run.take_events() {
            self.context.journal.observe(event);
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

    /// Removes a worktree without changes.
    async fn discard_unchanged_worktree(&self, outcome: &Outcome) {
        let Some(worktrees) = self.ports.worktrees.as_ref().filter(|_| self.start.apart_from.is_some())
        else {
            return;
        };
        if outcome.status() == OutcomeStatus::Completed && outcome.changed_files.is_empty() {
            // Failure is harmless: only disk space is lost.
            let _ = worktrees.discard(&self.id).await;
        }
    }

    fn elapsed_ms(&self) -> u64 {
        let here = self.began.elapsed().saturating_sub(self.rate_limit_wait);
        let here = u64::try_from(here.as_millis()).unwrap_or(u64::MAX);
        self.elapsed_before_ms.saturating_add(here)
    }

    fn time_left(&self, run: &Run) -> Duration {
        Duration::from_millis(run.time_left_ms(self.elapsed_ms()))
    }

    fn steer(&self, key: &str, receipt: SteerReceipt, turn: Option<u32>) {
        self.fact(&LiveFact::Steer { key: key.to_owned(), receipt, turn });
    }

    fn fact(&self, fact: &LiveFact) {
        self.ports.observers.fact(&self.id, fact);
    }

    fn payload(&self, payload: ObservedPayload<'_>) {
        self.ports.observers.payload(&self.id, payload);
    }
}
