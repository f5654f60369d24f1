//! Random delegations on a paused clock: whatever an orchestrator does and however its children end, places do not leak, each
//! task ends once, nobody spends more than there is, and every result can be had.
//!
//! `POSSE_SCHEDULES` says how many (`cargo xtask simulate` plays 100,000), `POSSE_SEED` where to begin; a failure names its
//! seed.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use posse_core::agent::Agent;
use posse_core::board::{BoardLimits, OnLimit};
use posse_core::budget::BudgetCaps;
use posse_core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format};
use posse_core::event::Event;
use posse_core::grant::{Grant, Rights};
use posse_core::id::{AgentName, CallKey, TaskId};
use posse_core::journal::Record;
use posse_core::limits::Limits;
use posse_core::message::{Block, CallArguments, Message, ToolCall};
use posse_core::outcome::OutcomeStatus;
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::usage::Usage;
use posse_core::{Error, ErrorCode, Result};
use posse_runtime::budget::ModelTariff;
use posse_runtime::observe::{Observers, TraceEvent, TraceHook};
use posse_runtime::ports::{
    BoxFuture, DeltaSink, JournalStore, Model, ModelRequest, ModelResolver, OpenModel,
};
use posse_runtime::session::{
    Session, SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers,
};
use posse_runtime::toolbox::Toolbox;
use posse_testkit::memory::MemoryStore;
use serde_json::{Value, json};

/// Turns in which the orchestrator does something.
const DEEDS: u32 = 14;
const RULES: BoardLimits = BoardLimits { running_max: 3, open_max: 12, on_limit: OnLimit::Queue };
const TOKENS: BudgetCaps =
    BudgetCaps { input_tokens: Some(30_000), output_tokens: Some(4_000), cost_micros: None };

// R156, R311
#[test]
fn random_delegations_keep_what_is_promised() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (first, schedules) = (number("POSSE_SEED", 1), number("POSSE_SCHEDULES", 100));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut seen = Seen::default();
    for seed in first..first + schedules {
        if let Err(broken) = runtime.block_on(play(seed, &mut seen)) {
            panic!("POSSE_SEED={seed} POSSE_SCHEDULES=1: {broken}");
        }
    }
    eprintln!("{schedules} schedules from seed {first}: {seen:?}");
    if schedules >= 100 {
        let all = [seen.completed, seen.failed, seen.cancelled, seen.queued, seen.dependency, seen.collected];
        assert!(all.iter().all(|n| *n > 5), "every way for a task to end is among them: {seen:?}");
    }
}

#[derive(Debug, Default)]
struct Seen {
    completed: usize,
    failed: usize,
    cancelled: usize,
    queued: usize,
    dependency: usize,
    collected: usize,
}

async fn play(seed: u64, seen: &mut Seen) -> Result<(), String> {
    let store = Arc::new(MemoryStore::new());
    let crowd = Arc::new(Mutex::new(Crowd::default()));
    let watched = crowd.clone();
    let hook = TraceHook(move |task: &TaskId, trace: &TraceEvent<'_>| {
        if let TraceEvent::Event(event) = trace {
            watched.lock().unwrap().see(task, event);
        }
    });
    let session = SessionBuilder {
        id: "s".to_owned(),
        sources: SessionSources {
            owner: "test".to_owned(),
            lives: |_| false,
            store: store.clone(),
            models: Arc::new(Players { seed }),
            agents: Arc::new(vec![Arc::new(worker())]),
        },
        policy: SessionPolicy {
            caps: TOKENS,
            rules: RULES,
            ..SessionPolicy::new(Grant::root(["subagent", "shared_context"].map(str::to_owned), 1))
        },
        place: SessionPlace::new(".", Toolbox::default()),
        watchers: SessionWatchers {
            observers: Observers::new(vec![Arc::new(hook)]),
            ..SessionWatchers::default()
        },
    }
    .build()
    .unwrap();
    let boss = Agent {
        limits: Limits {
            turns_max: DEEDS + 4,
            output_tokens_per_call: 100,
            output_tokens_per_call_max: 100,
            wrap_up_tokens: 50,
            ..Limits::default()
        },
        ..Agent::new(AgentName::parse("boss").unwrap(), "test:boss", "")
    };
    let outcome =
        session.run(boss, "go".to_owned(), Vec::new(), Vec::new()).await.map_err(|e| e.to_string())?;
    let crowd = std::mem::take(&mut *crowd.lock().unwrap());
    check(&store, &session, &crowd, outcome.status(), seen).await
}

async fn check(
    store: &MemoryStore,
    session: &Session,
    crowd: &Crowd,
    status: OutcomeStatus,
    seen: &mut Seen,
) -> Result<(), String> {
    if crowd.most > RULES.running_max {
        return Err(format!("{} tasks at work at once", crowd.most));
    }
    if !crowd.at_work.is_empty() {
        return Err(format!("still at work at the end: {:?}", crowd.at_work));
    }
    let spent = session.spent();
    if spent.input_tokens > TOKENS.input_tokens.unwrap()
        || spent.output_tokens > TOKENS.output_tokens.unwrap()
    {
        return Err(format!("spent {spent:?} of {TOKENS:?}"));
    }
    let mut texts = BTreeMap::new();
    for row in store.tasks(1000).await.unwrap() {
        let records = store.records(&row.id).await.unwrap();
        let finished: Vec<_> = records.iter().filter(|record| record.kind() == "finished").collect();
        let [Record::Finished { outcome, .. }] = finished[..] else {
            return Err(format!("{} has {} ends", row.id, finished.len()));
        };
        if row.parent.is_none() {
            continue;
        }
        match outcome.status() {
            OutcomeStatus::Completed => {
                seen.completed += 1;
                texts.insert(row.id.short().to_owned(), outcome.text.clone());
            }
            OutcomeStatus::Cancelled => seen.cancelled += 1,
            OutcomeStatus::Failed | OutcomeStatus::Partial if outcome.stop.wire() == "dependency_failed" => {
                seen.dependency += 1
            }
            OutcomeStatus::Failed | OutcomeStatus::Partial => seen.failed += 1,
        }
    }
    if status == OutcomeStatus::Completed { delivered(store, &texts, seen).await } else { Ok(()) }
}

/// What the orchestrator was told: each result at most once by `collect`, always by `result`, and never another text.
async fn delivered(
    store: &MemoryStore,
    texts: &BTreeMap<String, String>,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut collected = HashSet::new();
    for record in store.records(&TaskId::root("s")).await.unwrap() {
        let Record::Done { result, .. } = record else { continue };
        let answer: Value = serde_json::from_str(&result.text).unwrap_or_default();
        let id = answer["task_id"].as_str().unwrap_or_default().to_owned();
        seen.queued += usize::from(answer["queued"] == true);
        let told = answer["result"].as_str().or(answer["text"].as_str());
        if let Some(told) = told {
            let right = texts.get(&id).map(String::as_str);
            if answer["status"] == "completed" && right != Some(told) {
                return Err(format!("{id} said {right:?} and {told:?} was told"));
            }
        }
        if answer["result"].is_string() && answer["note"].is_null() {
            seen.collected += 1;
            if !collected.insert(id.clone()) {
                return Err(format!("the result of {id} was given away twice"));
            }
        }
    }
    Ok(())
}

/// Who works at this moment.
#[derive(Default)]
struct Crowd {
    at_work: HashSet<TaskId>,
    most: usize,
}

impl Crowd {
    fn see(&mut self, task: &TaskId, event: &Event) {
        match event {
            Event::Started { agent, .. } if agent == "worker" => {
                self.at_work.insert(task.clone());
                self.most = self.most.max(self.at_work.len());
            }
            Event::Finished { .. } => {
                self.at_work.remove(task);
            }
            _ => {}
        }
    }
}

fn worker() -> Definition {
    let origin = DefinitionOrigin {
        path: String::new(),
        format: Format::Native,
        scope: DefinitionScope::User,
        hash: String::new(),
    };
    let mut worker =
        Definition::new(AgentName::parse("worker").unwrap(), origin, "works".to_owned(), String::new());
    worker.rights = Rights::only(["shared_context"]);
    worker
}

/// Plays everybody from one seed.
struct Players {
    seed: u64,
}

impl ModelResolver for Players {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        let is_boss = agent.name.as_str() == "boss";
        if !is_boss && agent.limits.turns_max == 0 {
            return Err(Error::new(ErrorCode::ModelUnknown, "no turns"));
        }
        let model = Arc::new(Player { seed: self.seed, is_boss, rng: Mutex::default() });
        Ok(OpenModel { model, tariff: ModelTariff::default() })
    }
}

struct Player {
    seed: u64,
    is_boss: bool,
    rng: Mutex<Option<Rng>>,
}

impl Model for Player {
    fn name(&self) -> &str {
        "test:player"
    }

    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        _: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(async move {
            let turn =
                request.messages.iter().filter(|m| matches!(m, Message::Assistant { .. })).count() as u32;
            let mut rng = self.rng(request.messages);
            let (wait, said) =
                if self.is_boss { boss(&mut rng, turn) } else { child(&mut rng, turn, request.messages) };
            self.keep(rng);
            tokio::time::sleep(Duration::from_millis(wait)).await;
            let blocks = match said {
                Said::Text(text) => vec![Block::Text { text, signature: None }],
                Said::Calls(calls) => calls.into_iter().map(call).collect(),
                Said::Failure => return Err(ModelFailure::new(FailureKind::InvalidRequest, "broken")),
            };
            // Never more than what was authorised.
            let output = u64::from(request.output_tokens_max).min(20);
            let usage = Usage { input: 50, output, ..Usage::default() };
            let (stop, model) = (ReplyStop::EndTurn, "test:player".to_owned());
            Ok(Reply { blocks, stop, usage, model, lost: Usage::default(), notes: Vec::new() })
        })
    }
}

impl Player {
    /// Everyone has their own: a child's begins with its task.
    fn rng(&self, messages: &[Message]) -> Rng {
        let mut kept = self.rng.lock().unwrap();
        kept.take().unwrap_or_else(|| {
            let task = match messages.first() {
                Some(Message::User { text }) => {
                    text.bytes().fold(7u64, |sum, b| sum.wrapping_mul(31).wrapping_add(b.into()))
                }
                _ => 0,
            };
            Rng::with_seed(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ task)
        })
    }

    fn keep(&self, rng: Rng) {
        *self.rng.lock().unwrap() = Some(rng);
    }
}

enum Said {
    Text(String),
    Calls(Vec<Value>),
    Failure,
}

fn call(arguments: Value) -> Block {
    let name = if arguments.get("key").is_some() { "shared_context" } else { "subagent" };
    Block::call(ToolCall {
        key: CallKey { turn: 0, index: 0 },
        id: String::new(),
        name: name.to_owned(),
        arguments: CallArguments::Object(arguments.to_string()),
        signature: None,
    })
}

/// Something an orchestrator could do, sensible or not; at the end it asks for every text there may be.
fn boss(rng: &mut Rng, turn: u32) -> (u64, Said) {
    if turn >= DEEDS {
        let ask = |n: u32| json!({ "action": "result", "task_id": format!("t_{n:02}") });
        let last = turn > DEEDS;
        return (
            0,
            if last { Said::Text("done".to_owned()) } else { Said::Calls((1..=12).map(ask).collect()) },
        );
    }
    let id = |rng: &mut Rng| format!("t_{:02}", rng.u32(1..=12));
    let deeds = (0..rng.usize(1..=3)).map(|n| match rng.u8(0..12) {
        0..=4 => {
            let depends_on: Vec<String> = (0..rng.usize(0..=1)).map(|_| format!("t_{:02}", rng.u32(1..=4))).collect();
            let priority = ["low", "normal", "high"][rng.usize(0..3)];
            let mut spawn = json!({ "action": "spawn", "agent": "worker", "task": format!("job {turn}.{n}"), "priority": priority });
            if rng.bool() {
                spawn["depends_on"] = json!(depends_on);
            }
            if rng.u8(0..4) == 0 {
                spawn["timeout_ms"] = json!(rng.u64(1..3_000));
            }
            if rng.u8(0..4) == 0 {
                spawn["max_output_tokens"] = json!(rng.u64(0..3_000));
            }
            if rng.u8(0..4) == 0 {
                spawn["queue"] = json!(rng.bool());
            }
            spawn
        }
        5 => json!({ "action": "cancel", "task_id": id(rng) }),
        6 => json!({ "action": "wait", "mode": if rng.bool() { "any" } else { "all" }, "timeout_ms": rng.u64(0..20_000) }),
        7 | 8 => json!({ "action": "collect", "task_id": id(rng) }),
        9 => json!({ "action": "send", "task_id": id(rng), "message": "hurry" }),
        10 => json!({ "action": "list_tasks" }),
        _ => json!({ "action": "status", "task_id": id(rng) }),
    });
    let deeds = deeds.collect();
    (rng.u64(0..2_000), Said::Calls(deeds))
}

fn child(rng: &mut Rng, turn: u32, messages: &[Message]) -> (u64, Said) {
    let wait = rng.u64(0..4_000);
    let task = match messages.first() {
        Some(Message::User { text }) => text.clone(),
        _ => String::new(),
    };
    let said = match rng.u8(0..10) {
        0 => Said::Failure,
        1..=3 if turn < 5 => {
            Said::Calls(vec![json!({ "action": "write", "key": format!("k{turn}"), "value": "x" })])
        }
        _ => Said::Text(format!("answer to {task}")),
    };
    (wait, said)
}
