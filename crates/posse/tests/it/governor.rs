//! Many tasks of one key against a provider that takes only so many calls at once. Time is paused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse::budget::ModelTariff;
use posse::core::Result;
use posse::core::agent::{Agent, ModelSettings};
use posse::core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format as FileFormat};
use posse::core::grant::{Grant, Rights};
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::Record;
use posse::core::limits::Limits;
use posse::core::outcome::{OutcomeStatus, StopReason};
use posse::driver::start;
use posse::models::governor::RateGovernor;
use posse::ports::{JournalStore, ModelResolver, OpenModel};
use posse::session::{
    DEFAULT_LIMITS, SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers,
};
use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::{LoopbackFormat, Say, results, turn};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::faults::limits;
use crate::stage::Stage;

const FORMAT: LoopbackFormat = LoopbackFormat::OpenAiChat;
const CHILDREN: usize = 16;
/// One less than a worker may take: it answers before its wrap-up.
const TURNS: usize = 24;
const QUOTA: usize = 4;
const CALL: Duration = Duration::from_millis(100);

/// Takes `QUOTA` calls at once and refuses the others.
#[derive(Default)]
struct Provider {
    under_way_until: Mutex<Vec<Instant>>,
    refused: Mutex<usize>,
}

impl Provider {
    fn answer(&self, request: &Recorded) -> Answer {
        let now = Instant::now();
        let mut under_way = self.under_way_until.lock().unwrap();
        under_way.retain(|until| *until > now);
        if under_way.len() >= QUOTA {
            *self.refused.lock().unwrap() += 1;
            let body = json!({"error": {"type": "rate_limit_exceeded", "message": "not now"}});
            return Answer::json(429, &body).header("retry-after-ms", "20");
        }
        under_way.push(now + CALL);
        self.say(request).answer(request).gap(0, CALL)
    }

    fn say(&self, request: &Recorded) -> Say {
        let turn = turn(request);
        match request.json()["model"].as_str() {
            Some("boss") if turn == 0 => {
                let spawn = |i| json!({"action": "spawn", "agent": "worker", "task": format!("part {i}")});
                let first = Say::call("c0", "subagent", spawn(0));
                (1..CHILDREN).fold(first, |say, i| say.and_call(&format!("c{i}"), "subagent", spawn(i)))
            }
            Some("boss") if turn == 1 || results(request).last().unwrap().contains("\"timed_out\":true") => {
                Say::call("w", "subagent", json!({"action": "wait", "mode": "all"}))
            }
            Some("boss") => Say::text(results(request).last().unwrap()),
            _ if turn + 1 < TURNS => Say::call("l", "look", json!({"n": turn})),
            _ => Say::text("done"),
        }
    }
}

/// One model per agent, named like it, all with one key.
struct OneKey {
    stage: Stage,
    url: String,
}

impl ModelResolver for OneKey {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        let model = self.stage.model(agent.name.as_str(), &self.url);
        Ok(OpenModel { model, tariff: ModelTariff::default() })
    }
}

fn worker() -> Arc<Definition> {
    let origin = DefinitionOrigin {
        path: String::new(),
        format: FileFormat::Native,
        scope: DefinitionScope::User,
        hash: String::new(),
    };
    let name = AgentName::parse("worker").unwrap();
    let mut worker = Definition::new(name, origin, "works".to_owned(), "You work.".to_owned());
    worker.rights = Rights::only(["look"]);
    Arc::new(worker)
}

// R310: a provider on the loopback that speaks a real one's bytes, many children, refusals and waits.
#[tokio::test(start_paused = true)]
async fn sixteen_children_share_a_quota_of_four_and_are_hardly_ever_refused() {
    let provider = Arc::new(Provider::default());
    let answering = provider.clone();
    let server = Server::handler(move |request| answering.answer(request)).await;
    let stage = Stage::new(FORMAT);
    let place = SessionPlace::new(".", stage.tools());
    let session = SessionBuilder {
        id: "s1".to_owned(),
        sources: SessionSources {
            owner: "test".to_owned(),
            lives: |_| false,
            store: stage.store.clone(),
            models: Arc::new(OneKey { stage, url: server.url().to_owned() }),
            agents: Arc::new(vec![worker()]),
        },
        policy: SessionPolicy {
            rules: posse::core::board::BoardLimits { running_max: CHILDREN, ..DEFAULT_LIMITS },
            ..SessionPolicy::new(Grant::root(["look", "subagent"].map(str::to_owned), 1))
        },
        place,
        watchers: SessionWatchers::default(),
    }
    .build()
    .unwrap();
    let boss = Agent {
        settings: ModelSettings { buffered: true, ..ModelSettings::default() },
        limits: Limits { turns_max: 40, ..Limits::default() },
        ..Agent::new(AgentName::parse("boss").unwrap(), "test:boss", "You delegate.")
    };
    let began = Instant::now();
    let outcome = session.run(boss, "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    assert_eq!(outcome.status(), OutcomeStatus::Completed, "{outcome:?}");
    let told: serde_json::Value = serde_json::from_str(&outcome.text).unwrap();
    let finished = told["finished"].as_array().unwrap();
    assert_eq!(finished.len(), CHILDREN);
    assert!(finished.iter().all(|task| task["status"] == "completed"), "{finished:?}");
    let (refused, all) = (*provider.refused.lock().unwrap(), server.requests().len());
    assert!(refused > 0, "the quota was met");
    assert!(refused * 20 < all, "{refused} of {all} requests were refused");
    // With four places at work all the time the calls take ten seconds.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Answers after half a minute; tells when it was asked.
async fn slow(asked: Arc<Notify>) -> Server {
    Server::handler(move |request| {
        asked.notify_one();
        Say::text("ok").answer(request).gap(0, Duration::from_secs(30))
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn time_in_the_queue_is_not_the_tasks_time() {
    let asked = Arc::new(Notify::new());
    let server = slow(asked.clone()).await;
    let first = Stage { governor: RateGovernor::new(1), ..Stage::new(FORMAT) };
    let tight = Limits { wall_ms_max: 40_000, ..limits() };
    let second = Stage { limits: tight, ..first.clone() };
    let (before, model) = (first.clone(), first.model("m", server.url()));
    let holder = tokio::spawn(async move { before.start("first", model).await });
    asked.notified().await;
    let began = Instant::now();
    let outcome = second.start("second", second.model("m", server.url())).await;
    assert_eq!((outcome.status(), outcome.text.as_str()), (OutcomeStatus::Completed, "ok"), "{outcome:?}");
    assert_eq!(holder.await.unwrap().status(), OutcomeStatus::Completed);
    assert!(began.elapsed() > Duration::from_secs(55), "it waited for its turn: {:?}", began.elapsed());
    let records = first.store.records(&TaskId::root("second")).await.unwrap();
    let Some(Record::Finished { elapsed_ms, .. }) = records.last() else { panic!("{records:?}") };
    assert!((29_000..32_000).contains(elapsed_ms), "{elapsed_ms}");
}

#[tokio::test(start_paused = true)]
async fn after_the_queue_the_tasks_time_goes_on() {
    let asked = Arc::new(Notify::new());
    let server = slow(asked.clone()).await;
    let first = Stage { governor: RateGovernor::new(1), ..Stage::new(FORMAT) };
    let tight = Limits { wall_ms_max: 10_000, ..limits() };
    let second = Stage { limits: tight, ..first.clone() };
    let (before, model) = (first.clone(), first.model("m", server.url()));
    let holder = tokio::spawn(async move { before.start("first", model).await });
    asked.notified().await;
    let began = Instant::now();
    let outcome = second.start("second", second.model("m", server.url())).await;
    assert_eq!(outcome.stop, StopReason::DeadlinePassed, "{outcome:?}");
    let waited = began.elapsed().as_secs();
    assert!((39..=41).contains(&waited), "30 s for its turn and 10 s of its own: {waited}");
    holder.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_cancelled_in_the_queue_ends_at_once_and_has_cost_nothing() {
    let asked = Arc::new(Notify::new());
    let server = slow(asked.clone()).await;
    let first = Stage { governor: RateGovernor::new(1), ..Stage::new(FORMAT) };
    let (before, model) = (first.clone(), first.model("m", server.url()));
    let holder = tokio::spawn(async move { before.start("first", model).await });
    asked.notified().await;
    let ports = first.ports(first.model("m", server.url()));
    let stop = ports.stop.clone();
    let began = Instant::now();
    let task = start(&ports, TaskId::root("second"), None, "test".to_owned(), first.task());
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.now.cancel();
    };
    let (outcome, ()) = tokio::join!(task, cancel);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stop, outcome.usage.total()), (StopReason::Cancelled, 0));
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    holder.await.unwrap();
    assert_eq!(server.requests().len(), 1, "it was never asked");
}
