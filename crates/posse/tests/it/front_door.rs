//! The library as a program uses it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse::models::providers::{ModelSource, ModelsConfig, ProviderConfig, RecordingMode};
use posse::models::scripted::ScriptedModel;
use posse::ports::{JournalStore, Model};
use posse::prelude::*;
use posse::{ErrorCode, OutcomeStatus, StopReason, TaskRequest};
use posse_testkit::memory::MemoryStore;
use posse_testkit::server::{Answer, Server};
use posse_testkit::wire::Say;
use serde_json::json;

/// Providers whose API is this server; the key comes from a variable, as for every program.
fn source(server: &Server) -> Arc<ModelSource> {
    let provider = ProviderConfig { base_url: Some(server.url().to_owned()), ..ProviderConfig::default() };
    let providers = [("openai".to_owned(), provider)].into_iter().collect();
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "key".to_owned());
    let config = ModelsConfig { providers, ..ModelsConfig::default() };
    Arc::new(ModelSource::new(config, Arc::new(env), RecordingMode::None).unwrap())
}

fn scripted(script: &str, role: Option<&str>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::parse("scripted:test", script, role).unwrap())
}

fn agent(script: &str) -> Agent {
    Agent::with_model(scripted(script, None)).unwrap()
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// First summand.
    a: i64,
    b: i64,
}

#[tokio::test]
async fn a_closure_is_a_tool_with_the_schema_of_its_arguments() {
    let server = Server::script([
        Answer::json(
            200,
            &Say::call("1", "add", json!({"a": 2, "b": 40}))
                .json(posse_testkit::wire::LoopbackFormat::OpenAiChat),
        ),
        Answer::json(200, &Say::text("It is 42.").json(posse_testkit::wire::LoopbackFormat::OpenAiChat)),
    ])
    .await;
    let answer = Agent::on_source(source(&server), "openai:gpt-5")
        .unwrap()
        .tool(tool("add", "Add two integers.", |Add { a, b }| async move { Ok(a + b) }))
        .ask("What is 2 + 40?")
        .await
        .unwrap();
    assert_eq!((answer.text(), answer.outcome().turns), ("It is 42.", 2));
    assert!(answer.cost_usd().is_some_and(|usd| usd > 0.0), "the price is that of `posse run`");
    let first = server.requests()[0].json();
    let function = &first["tools"][0]["function"];
    assert_eq!((&function["name"], &function["description"]), (&json!("add"), &json!("Add two integers.")));
    assert_eq!(function["parameters"]["properties"]["a"]["description"], "First summand.");
    assert_eq!(function["parameters"]["required"], json!(["a", "b"]));
    let second = server.requests()[1].json();
    assert!(second["messages"].to_string().contains("42"), "{second}");
}

#[tokio::test]
async fn an_error_of_a_tool_reaches_the_model() {
    let script = r#"
        - calls: [{parse: {a: 1, b: 2}}, {parse: {a: one}}]
        - text: "{result:0} / {result:1}"
        "#;
    let parse = tool("parse", "Parses.", |Add { a, .. }| async move {
        let text = if a == 1 { "none" } else { "1" };
        Ok(text.parse::<i64>()?)
    });
    let answer = agent(script).tool(parse).ask("the task").await.unwrap();
    assert!(answer.text().contains("invalid digit found in string"), "{answer}");
    assert!(answer.text().contains("the arguments do not fit the tool's schema"), "{answer}");
}

#[tokio::test]
async fn a_wrong_key_is_an_error_that_says_so() {
    let refusal = json!({"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}});
    let server = Server::script([Answer::json(401, &refusal)]).await;
    let e = Agent::on_source(source(&server), "openai:gpt-5").unwrap().ask("Hello").await.unwrap_err();
    assert_eq!(e.code(), ErrorCode::ModelFailed);
    assert!(e.to_string().contains("Incorrect API key provided"), "{e}");
    assert_eq!(e.outcome().unwrap().stop, StopReason::ModelFailed);
}

#[tokio::test]
async fn a_missing_key_and_an_unknown_provider_are_errors_before_anything_runs() {
    let source =
        Arc::new(ModelSource::new(ModelsConfig::default(), Arc::new(|_| None), RecordingMode::None).unwrap());
    let e = Agent::on_source(source.clone(), "openai:gpt-5").err().unwrap();
    assert_eq!(e.code(), ErrorCode::ModelNotConfigured);
    let e = Agent::on_source(source, "opnai:gpt-5").err().unwrap();
    assert_eq!(e.code(), ErrorCode::ModelUnknown);
}

#[tokio::test]
async fn a_call_that_is_refused_for_its_rate_is_made_again() {
    let busy = Answer::json(429, &json!({"error": {"message": "slow down"}})).header("retry-after-ms", "10");
    let text = Answer::json(200, &Say::text("Hello.").json(posse_testkit::wire::LoopbackFormat::OpenAiChat));
    let server = Server::script([busy, text]).await;
    let answer = Agent::on_source(source(&server), "openai:gpt-5").unwrap().ask("Hello").await.unwrap();
    assert_eq!((answer.text(), server.requests().len()), ("Hello.", 2));
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Sum {
    value: i64,
}

#[tokio::test]
async fn an_answer_is_a_value_of_the_type_that_was_asked_for() {
    let sum: Sum = agent("- text: '{\"value\": 42}'").ask_as("Add.").await.unwrap();
    assert_eq!(sum, Sum { value: 42 });
    let script = "- text: no value\n- text: still none\n";
    let e = agent(script).ask_as::<Sum>("Add.").await.unwrap_err();
    assert_eq!(e.outcome().unwrap().stop, StopReason::OutputInvalid);
}

#[tokio::test]
async fn a_run_that_stops_early_is_an_error_with_its_text_and_an_outcome_without_one() {
    let script = "- calls: [{add: {a: 1, b: 2}}]\n- text: so far\n";
    let limited =
        || agent(script).tool(tool("add", "Adds.", |Add { a, b }| async move { Ok(a + b) })).max_turns(2);
    let e = limited().ask("Add.").await.unwrap_err();
    assert_eq!((e.code(), e.outcome().unwrap().text.as_str()), (ErrorCode::TaskIncomplete, "so far"));
    let outcome = limited().outcome("Add.").await.unwrap();
    assert_eq!((outcome.status(), outcome.stop), (OutcomeStatus::Partial, StopReason::TurnsExhausted));
}

#[tokio::test]
async fn a_stream_shows_text_and_events_and_then_the_answer() {
    let mut run = agent("- text: one two three").stream("Count.");
    let (mut text, mut finished) = (String::new(), 0);
    while let Some(event) = run.next().await {
        match event.unwrap() {
            StreamEvent::Text(piece) => text.push_str(&piece),
            StreamEvent::Event(entry) if matches!(entry.event, Event::Finished { .. }) => finished += 1,
            _ => {}
        }
    }
    assert_eq!((text.as_str(), finished), ("one two three", 1));
    assert_eq!(run.finish().await.unwrap().text(), "one two three");
}

#[tokio::test]
async fn a_stream_that_cannot_start_has_one_error() {
    let broken = agent("- text: x").name("No Name");
    let mut run = broken.stream("Count.");
    assert_eq!(run.next().await.unwrap().unwrap_err().code(), ErrorCode::InvalidAgentName);
    assert!(run.next().await.is_none());
    assert!(run.finish().await.is_err());
}

/// Waits until no task of the store is running.
async fn settled(store: &MemoryStore) {
    let ended = async {
        while store.tasks(10).await.unwrap().iter().any(|row| row.state.is_running()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("every task ends");
}

#[tokio::test]
async fn dropping_a_stream_cancels_its_run() {
    let store = Arc::new(MemoryStore::new());
    let slow = agent("- text: late\n  delay_ms: 600000\n").with_store(store.clone());
    let mut run = slow.stream("Wait.");
    while let Some(event) = run.next().await {
        if matches!(event.unwrap(), StreamEvent::Event(entry) if matches!(entry.event, Event::TurnStarted { .. }))
        {
            break;
        }
    }
    drop(run);
    settled(&store).await;
    assert_eq!(store.tasks(1).await.unwrap()[0].state.wire(), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn two_subagents_of_a_second_and_a_half_take_less_than_two() {
    let script = r#"
        lead:
          - calls: [{left: {prompt: "Look."}}, {right: {prompt: "Look."}}]
          - text: "{result:0} {result:1}"
        side:
          - text: seen
            delay_ms: 1500
        "#;
    let side = |name: &str| SubAgent::new(scripted(script, Some("side"))).name(name);
    let lead = Agent::with_model(scripted(script, Some("lead"))).unwrap();
    let began = tokio::time::Instant::now();
    let answer = lead.subagent(side("left")).subagent(side("right")).ask("Look.").await.unwrap();
    assert_eq!(answer.text(), "seen seen");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_budget_holds_for_subagents_too() {
    let script = r#"
        lead:
          - calls: [{helper: {prompt: "Look."}}]
          - text: "{result:0}"
        helper:
          - text: seen
        "#;
    let source = |role: &str| Agent::with_model(scripted(script, Some(role))).unwrap();
    let helper = SubAgent::new(scripted(script, Some("helper"))).name("helper");
    let e = source("lead").subagent(helper).max_input_tokens(40).ask("Look.").await.unwrap_err();
    assert_eq!(e.code(), ErrorCode::BudgetExceeded, "{e}");
}

#[tokio::test]
async fn an_approver_decides_about_calls_with_an_effect_and_no_others() {
    let script = r#"
        - calls: [{look: {a: 1, b: 2}}, {change: {a: 1, b: 2}}]
        - text: "{result:0} / {result:1}"
        "#;
    struct No(Mutex<Vec<String>>);
    impl Approver for No {
        fn approve<'a>(
            &'a self,
            call: posse::ProposedCall<'a>,
        ) -> posse::ports::BoxFuture<'a, ApprovalDecision> {
            self.0.lock().unwrap().push(call.tool.to_owned());
            Box::pin(std::future::ready(ApprovalDecision::Denied("not today".to_owned())))
        }
    }
    let asked = Arc::new(No(Mutex::default()));
    let add = |name: &str| tool(name, "Adds.", |Add { a, b }| async move { Ok(a + b) });
    let agent =
        agent(script).tool(add("look").read_only()).tool(add("change")).approval_handler(asked.clone());
    assert_eq!(agent.ask("Go.").await.unwrap().text(), "3 / refused: not today");
    assert_eq!(*asked.0.lock().unwrap(), ["change"]);
}

#[tokio::test]
async fn a_session_spawns_tasks_that_can_be_awaited_steered_and_cancelled() {
    let script = "- text: found\n  delay_ms: 30\n";
    let session = Session::of(agent(script).max_concurrent(2))
        .agent("researcher", "Looks things up.", "You look things up.")
        .start()
        .await
        .unwrap();
    let mut handles = Vec::new();
    for number in 0..5 {
        handles.push(session.spawn("researcher", format!("Find {number}")).await.unwrap());
    }
    let queued = handles[4].status().await.unwrap();
    assert!(queued.state().is_running());
    assert!(handles[3].cancel().await.is_ok());
    let e = handles.remove(3).await.unwrap_err();
    assert_eq!(e.code(), ErrorCode::TaskCancelled);
    for handle in handles {
        assert_eq!(handle.await.unwrap().text(), "found");
    }
    let e = session.spawn("reseacher", "Find").await.err().unwrap();
    assert_eq!(e.code(), ErrorCode::AgentNotFound);
    assert_eq!(session.tasks().await.unwrap().len(), 5);
}

#[tokio::test]
async fn dropping_a_handle_leaves_its_task_and_dropping_the_session_cancels_tasks_in_memory() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let note = tool("note", "Notes.", move |Add { .. }| {
        let count = count.clone();
        async move { Ok(count.fetch_add(1, Ordering::SeqCst)) }
    });
    let script = "- calls: [{note: {a: 1, b: 2}}]\n- text: done\n  delay_ms: 600000\n";
    let watched: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = watched.clone();
    let lead = agent(script).tool(note).on_event(move |entry| {
        if let Event::Finished { .. } = &entry.event {
            seen.lock().unwrap().push(format!("{:?}", entry.event));
        }
    });
    let session = Session::of(lead).agent("worker", "Works.", "You work.").start().await.unwrap();
    drop(session.spawn("worker", "Go.").await.unwrap());
    let wait_for = |what: Box<dyn Fn() -> bool>| async move {
        let reached = async {
            while !what() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reached).await.expect("it happens")
    };
    let noted = ran.clone();
    wait_for(Box::new(move || noted.load(Ordering::SeqCst) == 1)).await;
    drop(session);
    let ended = watched.clone();
    wait_for(Box::new(move || ended.lock().unwrap().iter().any(|event| event.contains("Cancelled")))).await;
}

#[tokio::test]
async fn a_stored_session_that_is_dropped_goes_on_in_the_next_one_of_its_name() {
    let store = Arc::new(MemoryStore::new());
    let ran = Arc::new(AtomicUsize::new(0));
    let open = |delay_ms: u32| {
        let count = ran.clone();
        let note = tool("note", "Notes.", move |Add { .. }| {
            let count = count.clone();
            async move { Ok(count.fetch_add(1, Ordering::SeqCst)) }
        });
        let script = format!("- calls: [{{note: {{a: 1, b: 2}}}}]\n- text: done\n  delay_ms: {delay_ms}\n");
        let lead = agent(&script).tool(note).with_store(store.clone());
        Session::of(lead).name("nightly").agent("worker", "Works.", "You work.").start()
    };
    let session = open(600_000).await.unwrap();
    let id = session.spawn("worker", "Go.").await.unwrap().id().to_owned();
    while ran.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    drop(session);
    let let_go = async {
        while !store.tasks(1).await.unwrap()[0].owner.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), let_go).await.expect("nobody owns the task");
    let again = open(0).await.unwrap();
    let report = again.tasks().await.unwrap().remove(0);
    assert_eq!(again.task(&report.id).await.unwrap().id(), id);
    assert_eq!(again.task(&id).await.unwrap().await.unwrap().text(), "done");
    assert_eq!(ran.load(Ordering::SeqCst), 1, "the finished call is not repeated");
}

#[tokio::test]
async fn a_stored_run_is_listed_as_interrupted_and_resumed_with_the_agent() {
    let directory = tempfile::tempdir().unwrap();
    let open = |script: &str| agent(script).store(directory.path());
    assert_eq!(open("- text: done").ask("Go.").await.unwrap().text(), "done");
    assert!(open("- text: done").interrupted().await.unwrap().is_empty(), "a run that ended is not listed");
    let store = posse::store::SqliteStore::open(directory.path().join("posse.db")).unwrap();
    // A process that dies leaves a running row of an owner that is gone.
    let died = {
        let slow = open("- text: late\n  delay_ms: 600000\n");
        let mut run = slow.stream("Go on.");
        while let Some(event) = run.next().await {
            if matches!(event.unwrap(), StreamEvent::Event(entry) if matches!(entry.event, Event::TurnStarted { .. }))
            {
                break;
            }
        }
        let row = store.tasks(1).await.unwrap().remove(0);
        store.claim_from(&row.id, row.epoch, "").await.unwrap();
        row.id
    };
    let agent = open("- text: resumed");
    assert_eq!(agent.interrupted().await.unwrap(), std::slice::from_ref(&died));
    assert_eq!(agent.resume(died).await.unwrap().text(), "resumed");
}

#[tokio::test]
async fn a_request_has_every_option_of_a_spawn() {
    let session = Session::of(agent("- text: found\n  delay_ms: 20\n"))
        .agent("researcher", "Looks.", "You look.")
        .start()
        .await
        .unwrap();
    let first = session.spawn("researcher", "First").await.unwrap();
    let (agent, task) = ("researcher".to_owned(), "Second".to_owned());
    let mut request = TaskRequest { agent, task, ..TaskRequest::default() };
    request.terms.depends_on = vec![first.id().to_owned()];
    let second = session.spawn_request(request).await.unwrap();
    assert_eq!(second.await.unwrap().text(), "found");
    assert!(!first.status().await.unwrap().state().is_running(), "it ended before");
}
