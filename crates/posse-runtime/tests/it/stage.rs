//! What these tests have in common: the only code that knows how a run is put together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::agent::{Agent, ModelSettings};
use posse_core::approval::ApprovalPolicy;
use posse_core::budget::BudgetCaps;
use posse_core::event::{Event, EventEntry};
use posse_core::grant::{Grant, GrantRule, Rights, RuleVerdict};
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::limits::Limits;
use posse_core::outcome::Outcome;
use posse_core::pattern::ToolPattern;
use posse_core::reply::{FailureKind, ModelFailure, Reply};
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_core::verify::{VerifyEnding, VerifyEvidence};
use posse_core::{Error, ErrorCode, Result};
use posse_models::scripted::ScriptedModel;
use posse_runtime::budget::{ModelTariff, TaskAccount};
use posse_runtime::driver::{DriverPorts, ResumeMode, StopTokens, resume, start};
use posse_runtime::inbox::TaskInbox;
use posse_runtime::observe::Observers;
use posse_runtime::ports::{
    Approver, BoxFuture, Delta, DeltaSink, JournalStore, Model, ModelRequest, Observer, OpenModel, Tool,
    ToolContext, ToolInput, ToolOutput, Verifier,
};
use posse_runtime::toolbox::Toolbox;
use posse_testkit::memory::MemoryStore;
use tokio::sync::Barrier;

/// What the tools of one test saw, over all processes it plays.
#[derive(Default)]
pub struct World {
    /// Effects by idempotency key.
    pub effects: Mutex<BTreeMap<String, u32>>,
    pub running: AtomicUsize,
    pub running_most: AtomicUsize,
    /// Effects that began without a durable intent.
    pub unannounced: Mutex<Vec<String>>,
    /// Commands that were run to verify something, in order.
    pub verified: Mutex<Vec<String>>,
}

pub struct Stage {
    pub world: Arc<World>,
    pub store: Arc<MemoryStore>,
    pub script: &'static str,
    pub task: &'static str,
    pub limits: Limits,
    pub caps: BudgetCaps,
    pub stop: StopTokens,
    pub seen: Arc<Seen>,
    pub more_observers: Vec<Arc<dyn Observer>>,
    pub together: Arc<Barrier>,
    pub schema: Option<&'static str>,
    pub verify: &'static [&'static str],
    pub verifies: bool,
    /// What the second process does not allow.
    pub denied_later: &'static [&'static str],
    /// What the task asks for, and what the second process lets it have.
    pub rights: Rights,
    pub rights_later: Rights,
    /// Tools that somebody has to be asked about, and what becomes of that.
    pub ask: &'static [&'static str],
    pub policy: ApprovalPolicy,
    pub approver: Option<Arc<dyn Approver>>,
    /// The first attempt at each model call fails and is repeated.
    pub retries: bool,
}

struct Retrying(ScriptedModel);

impl Model for Retrying {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        deltas: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, std::result::Result<Reply, ModelFailure>> {
        let (kind, status) = (FailureKind::Overloaded, Some(529));
        let wait = Duration::from_millis(500);
        deltas.delta(Delta::Restarted { kind, status, why: "overloaded", wait });
        self.0.call(request, deltas)
    }
}

/// Events as they were told, and their places in the journal.
#[derive(Default)]
pub struct Seen(pub Mutex<Vec<Event>>, Mutex<Vec<u64>>);

impl Observer for Seen {
    fn event(&self, entry: &EventEntry) {
        self.0.lock().unwrap().push(entry.event.clone());
        self.1.lock().unwrap().push(entry.seq);
    }
}

impl Stage {
    pub fn new(script: &'static str) -> Self {
        Self {
            world: Arc::default(),
            store: Arc::new(MemoryStore::new()),
            script,
            task: "the task",
            limits: Limits::default(),
            caps: BudgetCaps::default(),
            stop: StopTokens::default(),
            seen: Arc::default(),
            more_observers: Vec::new(),
            together: Arc::new(Barrier::new(2)),
            schema: None,
            verify: &[],
            verifies: true,
            denied_later: &[],
            rights: Rights::default(),
            rights_later: Rights::default(),
            ask: &[],
            policy: ApprovalPolicy::default(),
            approver: None,
            retries: false,
        }
    }

    pub async fn run(&self) -> Result<Arc<Outcome>> {
        let outcome = start(&self.ports(), id(), None, "first".to_owned(), self.task()).await;
        // What a process told that failed was possibly not written.
        if outcome.is_ok() {
            self.compare_events().await;
        }
        outcome
    }

    /// Asserts that observers were told what the journal says since they first watched, in its order.
    async fn compare_events(&self) {
        let told: Vec<(u64, Event)> = {
            let (seqs, events) = (self.seen.1.lock().unwrap(), self.seen.0.lock().unwrap());
            seqs.iter().copied().zip(events.iter().cloned()).collect()
        };
        let first = told.first().map_or(u64::MAX, |(seq, _)| *seq);
        let records = self.records().await;
        let journaled =
            (0..).zip(&records).filter_map(|(seq, record)| Some((seq, Event::from_record(record)?)));
        assert_eq!(told, journaled.filter(|(seq, _)| *seq >= first).collect::<Vec<_>>());
    }

    pub async fn go_on(&self, onward: ResumeMode) -> Result<Arc<Outcome>> {
        let denied: Vec<String> = self.denied_later.iter().map(|name| (*name).to_owned()).collect();
        let allowed = self.task().grant.without(&denied).keep(&self.rights_later);
        let outcome = resume(&self.ports(), id(), "second", onward, &allowed).await;
        // What a process told that failed was possibly not written.
        if outcome.is_ok() {
            self.compare_events().await;
        }
        outcome
    }

    /// The same world, as another process finds it.
    pub fn after_crash(&self, store: MemoryStore) -> Stage {
        Stage {
            world: self.world.clone(),
            store: Arc::new(store),
            limits: self.limits.clone(),
            together: self.together.clone(),
            schema: self.schema,
            verify: self.verify,
            ask: self.ask,
            policy: self.policy.clone(),
            ..Stage::new(self.script)
        }
    }

    pub async fn records(&self) -> Vec<Record> {
        self.store.records(&id()).await.unwrap()
    }

    fn task(&self) -> TaskStart {
        let name = AgentName::parse("worker").unwrap();
        let output_schema = self.schema.map(str::to_owned);
        let settings = ModelSettings { output_schema, ..ModelSettings::default() };
        let limits = self.limits.clone();
        let agent = Agent { limits, settings, ..Agent::new(name, "scripted:test", "You work.") };
        let mut names = self.ports().tools.names().map(str::to_owned).collect::<Vec<_>>();
        names.push("bash".to_owned());
        let verify = self.verify.iter().map(|command| (*command).to_owned()).collect();
        let rule = |tool: &&str| GrantRule { pattern: ToolPattern::tool(tool), verdict: RuleVerdict::Ask };
        let asks = Rights { rules: self.ask.iter().map(rule).collect(), ..Rights::default() };
        TaskStart {
            verify,
            ..TaskStart::new(agent, self.task, Grant::root(names, 0).keep(&self.rights).keep(&asks))
        }
    }

    fn ports(&self) -> DriverPorts {
        let observers =
            std::iter::once(self.seen.clone() as Arc<dyn Observer>).chain(self.more_observers.clone());
        let probe = Commands { world: self.world.clone(), store: self.store.clone() };
        let model = ScriptedModel::parse("scripted:test", self.script, None).unwrap();
        DriverPorts {
            verifier: self.verifies.then(|| Arc::new(probe) as Arc<dyn Verifier>),
            holders: Default::default(),
            worktrees: None,
            model: OpenModel {
                model: if self.retries { Arc::new(Retrying(model)) } else { Arc::new(model) },
                tariff: ModelTariff::default(),
            },
            tools: match &self.approver {
                Some(approver) => Toolbox::new(self.tools()).unwrap().approved_by(approver.clone()),
                None => Toolbox::new(self.tools()).unwrap().with_approvals(self.policy.clone()),
            },
            store: self.store.clone(),
            observers: Observers::new(observers.collect()),
            budget: Arc::new(TaskAccount::root(self.caps)),
            stop: self.stop.clone(),
            inbox: TaskInbox::default(),
        }
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |name: &str, effect, act| -> Arc<dyn Tool> {
            let spec = ToolSpec {
                name: name.to_owned(),
                description: name.to_owned(),
                input_schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.to_owned(),
                effect,
            };
            let (world, store, together) = (self.world.clone(), self.store.clone(), self.together.clone());
            Arc::new(Probe { spec, act, world, store, together })
        };
        vec![
            tool("look", ToolEffect::Pure, Act::Count),
            tool("put", ToolEffect::Idempotent, Act::Count),
            tool("fire", ToolEffect::Unsafe, Act::Count),
            tool("meet", ToolEffect::Pure, Act::Meet),
            tool("crash", ToolEffect::Pure, Act::Panic),
            tool("hang", ToolEffect::Unsafe, Act::HangUntilCancelled),
            tool("flood", ToolEffect::Pure, Act::Flood),
            tool("confide", ToolEffect::Pure, Act::Confide { is_error: false }),
            tool("fail", ToolEffect::Unsafe, Act::Confide { is_error: true }),
            tool("ignore", ToolEffect::Unsafe, Act::IgnoreEverything),
        ]
    }
}

pub fn id() -> TaskId {
    TaskId::root("s1")
}

enum Act {
    Count,
    /// Returns only when two calls of it run at the same time.
    Meet,
    Panic,
    HangUntilCancelled,
    Flood,
    IgnoreEverything,
    /// Returns `CANARY` after its first line.
    Confide {
        is_error: bool,
    },
}

struct Probe {
    spec: ToolSpec,
    act: Act,
    world: Arc<World>,
    store: Arc<MemoryStore>,
    together: Arc<Barrier>,
}

impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let running = self.world.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.world.running_most.fetch_max(running, Ordering::SeqCst);
            if self.spec.effect != ToolEffect::Pure && !self.announced(&input).await {
                self.world.unannounced.lock().unwrap().push(input.idempotency_key.to_owned());
            }
            *self.world.effects.lock().unwrap().entry(input.idempotency_key.to_owned()).or_default() += 1;
            let output = match self.act {
                Act::Count => ToolOutput::text(format!("did {}", self.spec.name)),
                Act::Meet => {
                    self.together.wait().await;
                    ToolOutput::text("met")
                }
                Act::Panic => panic!("out of cheese"),
                Act::HangUntilCancelled => {
                    input.context.cancel.cancelled().await;
                    ToolOutput::cut_off("cancelled")
                }
                Act::IgnoreEverything => std::future::pending().await,
                Act::Confide { is_error } => {
                    ToolOutput { is_error, ..ToolOutput::text("first line\nCANARY of a result") }
                }
                Act::Flood => ToolOutput::text("x".repeat(200_000)),
            };
            self.world.running.fetch_sub(1, Ordering::SeqCst);
            output
        })
    }
}

impl Probe {
    async fn announced(&self, input: &ToolInput<'_>) -> bool {
        let durable = self.store.snapshot().records(&input.context.task).await.unwrap_or_default();
        durable.iter().any(|record| matches!(record, Record::Intended { key, .. } if *key == input.key))
    }
}

pub fn code(result: Result<Arc<Outcome>>) -> ErrorCode {
    result.map_err(|e: Error| e.code()).expect_err("the run should have failed")
}

/// Runs no command: its name says what comes out of it.
struct Commands {
    world: Arc<World>,
    store: Arc<MemoryStore>,
}

impl Verifier for Commands {
    fn run<'a>(&'a self, command: &'a str, context: &'a ToolContext) -> BoxFuture<'a, VerifyEvidence> {
        Box::pin(async move {
            let durable = self.store.snapshot().records(&context.task).await.unwrap_or_default();
            let announced =
                matches!(durable.last(), Some(Record::Verifying { command: last, .. }) if last == command);
            if !announced {
                self.world.unannounced.lock().unwrap().push(command.to_owned());
            }
            let before = {
                let mut verified = self.world.verified.lock().unwrap();
                verified.push(command.to_owned());
                verified.iter().filter(|other| *other == command).count() - 1
            };
            let ending = match command {
                "pass" => VerifyEnding::Exited(0),
                "fail once" if before > 0 => VerifyEnding::Exited(0),
                "hang" => {
                    context.cancel.cancelled().await;
                    VerifyEnding::Stopped("cancelled".to_owned())
                }
                "ignore" => std::future::pending().await,
                "crash" => panic!("out of cheese"),
                _ => VerifyEnding::Exited(1),
            };
            let output =
                if command == "flood" { "x".repeat(100_000) } else { format!("output of {command}\n") };
            VerifyEvidence { command: command.to_owned(), ending, duration_ms: 7, output }
        })
    }
}
