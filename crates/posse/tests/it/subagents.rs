//! Agents as tools of a program.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse::core::agent::ModelSettings;
use posse::core::journal::{Record, start_of};
use posse::core::message::{Message, ToolResult};
use posse::core::reply::{ModelFailure, Reply};
use posse::core::tool::{ToolEffect, ToolSpec};
use posse::models::scripted::ScriptedModel;
use posse::ports::{
    ApprovalDecision, Approver, BoxFuture, Delta, DeltaSink, JournalStore, Model, ModelRequest, ProposedCall,
    TaskRow, Tool, ToolInput, ToolOutput,
};
use posse::{
    Agent, AutoApprove, ErrorCode, Event, Outcome, OutcomeStatus, StopReason, SubAgent, TaskId, Thinking,
    TraceEvent,
};
use posse_testkit::memory::MemoryStore;

/// A request that a model got.
#[derive(Clone)]
struct Sent {
    system: String,
    messages: Vec<Message>,
    tools: Vec<ToolSpec>,
    settings: ModelSettings,
    output_tokens_max: u32,
}

impl Sent {
    fn tools(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

/// A script that keeps the requests it gets.
struct Spy {
    script: ScriptedModel,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Model for Spy {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        deltas: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        self.sent.lock().unwrap().push(Sent {
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools.to_vec(),
            settings: request.settings.clone(),
            output_tokens_max: request.output_tokens_max,
        });
        self.script.call(request, deltas)
    }
}

struct Stage {
    script: &'static str,
    /// Requests of subagents.
    sent: Arc<Mutex<Vec<Sent>>>,
    /// Requests of the lead.
    asked: Arc<Mutex<Vec<Sent>>>,
    store: Arc<MemoryStore>,
    written: Arc<AtomicUsize>,
    depth: u32,
}

struct Probe(ToolSpec, Arc<AtomicUsize>);

impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        if self.0.effect != ToolEffect::Pure {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
        Box::pin(std::future::ready(ToolOutput::text("done")))
    }
}

impl Stage {
    fn new(script: &'static str) -> Self {
        let (sent, asked, written) = (Arc::default(), Arc::default(), Arc::default());
        Self { script, sent, asked, store: Arc::new(MemoryStore::new()), written, depth: 3 }
    }

    fn model(&self, role: &str, sent: &Arc<Mutex<Vec<Sent>>>) -> Arc<dyn Model> {
        let script = ScriptedModel::parse("scripted:test", self.script, Some(role)).unwrap();
        Arc::new(Spy { script, sent: sent.clone() })
    }

    fn agent(&self, role: &str) -> SubAgent {
        SubAgent::new(self.model(role, &self.sent))
    }

    fn lead(&self, agents: Vec<SubAgent>) -> Agent {
        let probe = |name: &str, effect| {
            let (description, input_schema) = (String::new(), r#"{"type":"object"}"#.to_owned());
            Probe(ToolSpec { name: name.to_owned(), description, input_schema, effect }, self.written.clone())
        };
        let lead = Agent::with_model(self.model("lead", &self.asked))
            .unwrap()
            .system("You lead.")
            .tool(probe("read", ToolEffect::Pure))
            .tool(probe("write", ToolEffect::Unsafe))
            .max_depth(self.depth)
            .with_store(self.store.clone());
        agents.into_iter().fold(lead, Agent::subagent)
    }

    async fn run(&self, agents: Vec<SubAgent>) -> Arc<Outcome> {
        self.lead(agents).outcome("the task").await.unwrap()
    }

    /// The tasks of an agent, oldest first.
    async fn rows(&self, agent: &str) -> Vec<TaskRow> {
        let mut rows = self.store.tasks(100).await.unwrap();
        rows.retain(|row| row.agent == agent);
        rows.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
        rows
    }

    /// The results of the calls of an agent's newest task.
    async fn results(&self, agent: &str) -> Vec<ToolResult> {
        let row = self.rows(agent).await.pop().unwrap();
        let records = self.store.records(&row.id).await.unwrap();
        let results = records.into_iter().filter_map(|record| match record {
            Record::Done { result, .. } => Some(result),
            _ => None,
        });
        results.collect()
    }

    fn first(&self) -> Sent {
        self.sent.lock().unwrap().first().cloned().unwrap()
    }

    /// The same stage as a process finds it that starts after another one died at this write.
    async fn after_death(&self, writes: usize) -> (Self, TaskId) {
        let store = Arc::new(self.store.as_of(writes));
        let rows = store.tasks(100).await.unwrap();
        for row in rows.iter().filter(|row| row.state.is_running()) {
            store.claim_from(&row.id, row.epoch, "").await.unwrap();
        }
        let root = rows.iter().find(|row| row.parent.is_none()).unwrap().id.clone();
        (Self { store, ..Self::new(self.script) }, root)
    }
}

const ASK: &str = r#"
    lead:
      - calls: [{agent: {prompt: "Look at it."}}]
      - text: done
    child:
      - calls: [{write: {path: a}}]
      - text: It is fine.
    "#;

// R324 R327 R328 R334 R337 R341 R355 R356 R365 R369 R370
#[tokio::test]
async fn an_agent_has_its_defaults_and_returns_only_its_text() {
    let stage = Stage::new(ASK);
    assert_eq!(stage.run(vec![stage.agent("child")]).await.text, "done");
    let asked = stage.asked.lock().unwrap()[0].clone();
    let spec = asked.tools.iter().find(|tool| tool.name == "agent").unwrap();
    assert!(spec.description.starts_with("Spawn a sub-agent to handle a complex task autonomously."));
    assert!(spec.input_schema.contains("The task for the sub-agent to perform"));
    let results = stage.results("lead").await;
    assert_eq!((results[0].text.as_str(), results[0].is_error), ("It is fine.", false));
    let sent = stage.first();
    assert_eq!(sent.messages, [Message::User { text: "Look at it.".to_owned() }]);
    assert_eq!((sent.system.as_str(), sent.output_tokens_max), ("", 4096));
    // R348: nobody watches, so the reply is asked for in one piece.
    assert_eq!(sent.settings, ModelSettings { buffered: true, ..ModelSettings::default() });
    assert_eq!(sent.tools(), ["read", "agent", "write"], "it inherits all there is");
    assert_eq!(stage.written.load(Ordering::SeqCst), 1);
    let row = stage.rows("agent").await.pop().unwrap();
    let start = start_of(&stage.store.records(&row.id).await.unwrap()).unwrap();
    assert_eq!((start.agent.limits.turns_max, start.grant.depth()), (30, 2));
}

// R326 R329 R331 R332 R333 R336 R339 R351 R352 R357
#[tokio::test]
async fn what_is_set_is_what_the_model_gets() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{research: {prompt: "Look."}}, {research: {prompt: "Look.", system: "You are another."}}]
          - text: done
        child:
          - text: fine
        "#,
    );
    let agent = stage.agent("child").name("research").description("Looks.").system("You look.").max_turns(3);
    let agent = agent.max_tokens(1024).temperature(0.5).thinking(Thinking::Budget(2048));
    stage.run(vec![agent]).await;
    let described = |tool: &ToolSpec| tool.name == "research" && tool.description == "Looks.";
    assert!(stage.asked.lock().unwrap()[0].tools.iter().any(described));
    let sent = stage.sent.lock().unwrap().clone();
    assert_eq!((sent[0].system.as_str(), sent[1].system.as_str()), ("You look.", "You are another."));
    assert_eq!(sent[0].output_tokens_max, 1024);
    let settings = &sent[0].settings;
    assert_eq!((settings.temperature, settings.thinking_tokens), (Some(0.5), Some(2048)));
}

// R330
#[tokio::test]
async fn two_agents_of_one_name_are_an_error() {
    let stage = Stage::new(ASK);
    let agents = ["writer", "Writer"].map(|name| stage.agent("child").name(name));
    let e = stage.lead(agents.into()).ask("the task").await.unwrap_err();
    assert_eq!(e.code(), ErrorCode::DuplicateTool);
    assert!(stage.store.tasks(1).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_tool_that_the_caller_does_not_have_is_an_error_before_anything_is_asked() {
    let stage = Stage::new(ASK);
    let agent = stage.agent("child").tools_allow(["reed"]);
    let e = stage.lead(vec![agent]).ask("the task").await.unwrap_err();
    assert_eq!(e.code(), ErrorCode::InvalidTool);
    assert!(e.advice().unwrap().contains("did you mean `read`"), "{e:?}");
    assert!(stage.asked.lock().unwrap().is_empty());
}

// R340 R341 R342 R343 R362 R366
#[tokio::test]
async fn tools_are_only_taken_away_and_hidden_when_asked_for() {
    for (allow, filtered, shown) in [
        (vec!["Read", "subagent"], false, vec!["read", "agent", "write"]),
        (vec!["Read"], true, vec!["read"]),
        (vec![], true, vec![]),
    ] {
        let stage = Stage::new(ASK);
        let agent = stage.agent("child").tools_allow(allow).filter_tool_definitions(filtered);
        stage.run(vec![agent]).await;
        assert_eq!(stage.first().tools(), shown);
        assert_eq!(stage.written.load(Ordering::SeqCst), 0);
        let refused = &stage.results("agent").await[0];
        assert!(refused.text.starts_with("refused: the tool `write` is not granted"), "{}", refused.text);
    }
}

// R004 R358 R359 R360 R363 R364 R368
#[tokio::test]
async fn an_agent_of_an_agent_ends_at_the_depth() {
    let mut stage = Stage::new(
        r#"
        lead:
          - calls: [{deeper: {prompt: "Go on."}}]
          - text: done
        child:
          - calls: [{deeper: {prompt: "Go on."}}]
          - text: fine
        "#,
    );
    stage.depth = 2;
    stage.run(vec![stage.agent("child").name("deeper")]).await;
    let last = stage.results("deeper").await;
    let text = "Max sub-agent depth (2) reached. Cannot spawn further sub-agents.";
    assert_eq!((last[0].text.as_str(), last[0].is_error), (text, true));
    assert_eq!(stage.results("lead").await[0].text, "fine");
    assert_eq!(stage.store.tasks(10).await.unwrap().len(), 3);
}

const FIVE: &str = r#"
    lead:
      - calls:
          - agent: {prompt: one}
          - writer: {prompt: two}
          - agent: {prompt: three}
          - writer: {prompt: four}
          - agent: {prompt: five}
      - text: "{result:0} {result:1} {result:2} {result:3} {result:4}"
    child:
      - calls: [{read: {path: a}}]
        delay_ms: 500
      - text: fine
        delay_ms: 500
    "#;

// R319 R358
#[tokio::test(start_paused = true)]
async fn agents_that_are_called_in_one_reply_work_side_by_side() {
    let stage = Stage::new(FIVE);
    let began = tokio::time::Instant::now();
    let outcome = stage.run(vec![stage.agent("child"), stage.agent("child").name("writer")]).await;
    assert_eq!(outcome.text, "fine fine fine fine fine");
    let took = began.elapsed();
    assert!(took < Duration::from_millis(1_500), "five agents of a second each took {took:?}");
    let records = stage.store.records(&stage.rows("lead").await[0].id).await.unwrap();
    let intents = records.iter().filter(|record| matches!(record, Record::Intended { .. })).count();
    assert_eq!(intents, 5);
}

// R319
#[tokio::test(start_paused = true)]
async fn after_a_crash_each_agent_of_a_reply_goes_on_with_its_own_task() {
    let whole = Stage::new(FIVE);
    let agents = |stage: &Stage| vec![stage.agent("child"), stage.agent("child").name("writer")];
    assert_eq!(whole.run(agents(&whole)).await.text, "fine fine fine fine fine");
    for died_after in 2..whole.store.writes() {
        let (again, root) = whole.after_death(died_after).await;
        if !again.store.task(&root).await.unwrap().state.is_running() {
            continue;
        }
        let answer = again.lead(agents(&again)).resume(root).await.unwrap();
        assert_eq!(answer.text(), "fine fine fine fine fine", "write {died_after}");
        let rows = again.store.tasks(20).await.unwrap();
        assert_eq!(rows.len(), 6, "write {died_after}: no agent was begun twice");
        for row in rows.iter().filter(|row| row.parent.is_some()) {
            let records = again.store.records(&row.id).await.unwrap();
            let reads = records.iter().filter(|record| matches!(record, Record::Done { .. })).count();
            assert_eq!((row.state.wire(), reads), ("completed", 1), "write {died_after}: {}", row.id);
        }
    }
}

// R361 R371
#[tokio::test]
async fn a_failure_is_a_result_that_the_caller_can_act_on() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{agent: {}}]
          - calls: [{agent: {prompt: "Look."}}]
          - text: done
        child:
          - fail: {kind: unauthorised, message: the key is wrong}
        "#,
    );
    stage.run(vec![stage.agent("child")]).await;
    let results = stage.results("lead").await;
    assert_eq!((results[0].text.as_str(), results[0].mistake), ("prompt is required", true));
    assert!(results[1].text.starts_with("Sub-agent error: model_failed: "), "{}", results[1].text);
}

// R330
#[tokio::test]
async fn a_name_that_no_agent_can_have_is_an_error_before_anything_is_asked() {
    let stage = Stage::new(ASK);
    let e = stage.lead(vec![stage.agent("child").name("No_Name")]).ask("the task").await.unwrap_err();
    assert_eq!(e.code(), ErrorCode::InvalidAgentName);
}

// R367
// A26
#[tokio::test]
async fn a_system_prompt_of_the_model_is_bounded() {
    let script = r#"
        lead:
          - calls: [{agent: {prompt: "Look.", system: "LONG"}}]
          - text: done
        child:
          - text: fine
        "#;
    let stage = Stage::new(Box::leak(script.replace("LONG", &"x".repeat(20_000)).into_boxed_str()));
    stage.run(vec![stage.agent("child")]).await;
    let text = &stage.results("lead").await[0].text;
    assert!(text.starts_with("Sub-agent configuration error: PROMPT_TOO_LARGE: "), "{text}");
}

// R368
#[tokio::test(start_paused = true)]
async fn dropping_the_ask_cancels_it_with_its_agents() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{agent: {prompt: "Look."}}]
        child:
          - text: late
            delay_ms: 1000000
        "#,
    );
    let asked = stage.lead(vec![stage.agent("child")]).ask("the task");
    assert!(tokio::time::timeout(Duration::from_secs(10), asked).await.is_err());
    let ended = async {
        while stage.store.tasks(10).await.unwrap().iter().any(|row| row.state.is_running()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("both end");
    for agent in ["lead", "agent"] {
        assert_eq!(stage.rows(agent).await[0].state.wire(), "cancelled", "{agent}");
    }
}

// R346 R347 R349 R372
#[tokio::test]
async fn a_hook_sees_its_agent_once_and_may_panic() {
    let stage = Stage::new(ASK);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = seen.clone();
    let agent = stage.agent("child").trace_hook(move |trace| {
        let what = match trace {
            TraceEvent::Event(Event::Started { agent, .. }) => format!("started {agent}"),
            TraceEvent::Event(Event::Replied { turn, .. }) => format!("usage of turn {turn}"),
            TraceEvent::Event(Event::Finished { .. }) => "done".to_owned(),
            TraceEvent::Delta(Delta::ToolCall { name, .. }) => format!("call {name}"),
            TraceEvent::Delta(Delta::Text(text)) => format!("text {text}"),
            _ => return,
        };
        log.lock().unwrap().push(what);
        panic!("a crashing audit sink");
    });
    assert_eq!(stage.run(vec![agent]).await.text, "done");
    assert!(!stage.first().settings.buffered, "who watches sees it as it is written");
    let seen = seen.lock().unwrap();
    let text: String = seen.iter().filter_map(|what| what.strip_prefix("text ")).collect();
    assert_eq!(text, "It is fine.");
    let others: Vec<&str> =
        seen.iter().map(String::as_str).filter(|what| !what.starts_with("text ")).collect();
    assert_eq!(others, ["started agent", "call write", "usage of turn 1", "usage of turn 2", "done"]);
}

// R248 R325
#[tokio::test]
async fn every_part_of_an_agent_can_be_set_and_its_end_is_heard() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{research: {prompt: "Look."}}]
          - text: done
        child:
          - calls: [{read: {path: a}}]
          - calls: [{read: {path: b}}]
          - text: report
        "#,
    );
    let ended: Arc<Mutex<Vec<u32>>> = Arc::default();
    let heard = ended.clone();
    let agent = stage
        .agent("child")
        .name("research")
        .description("Looks.")
        .system("You look.")
        .max_turns(1)
        .max_tokens(1024)
        .temperature(0.5)
        .thinking(Thinking::Budget(2048))
        .tools_allow(["read"])
        .filter_tool_definitions(true)
        .approval_handler(AutoApprove)
        .trace_hook(move |trace| {
            if let TraceEvent::Event(Event::Finished { turns, .. }) = trace {
                heard.lock().unwrap().push(*turns);
            }
        });
    stage.run(vec![agent]).await;
    let sent = stage.first();
    assert_eq!((sent.system.as_str(), sent.tools()), ("You look.", vec!["read"]));
    assert_eq!((sent.output_tokens_max, sent.settings.thinking_tokens), (1024, Some(2048)));
    assert_eq!(*ended.lock().unwrap(), [1], "its one turn is its report");
}

/// Notes what its context says.
struct Peek(ToolSpec, Arc<Mutex<Vec<String>>>);

impl Tool for Peek {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        let context = input.context;
        let run = context.run.as_ref().expect("it is called by a run");
        let tools: Vec<&str> = run.tools.names().collect();
        let (depth, most) = (context.grant.depth(), context.grant.depth_max());
        let line = format!(
            "in {} at {depth} of {most} with {tools:?}, cancelled: {}",
            run.workspace,
            context.cancel.is_cancelled()
        );
        self.1.lock().unwrap().push(line);
        Box::pin(std::future::ready(ToolOutput::text("seen")))
    }
}

// R374
#[tokio::test]
async fn a_tool_knows_where_it_is_how_deep_and_with_what() {
    let mut stage = Stage::new(
        r#"
        lead:
          - calls: [{peek: {}}, {agent: {prompt: "Look."}}]
          - text: done
        child:
          - calls: [{peek: {}}]
          - text: fine
        "#,
    );
    stage.depth = 2;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (input_schema, effect) = (r#"{"type":"object"}"#.to_owned(), ToolEffect::Unsafe);
    let spec = ToolSpec { name: "peek".to_owned(), description: String::new(), input_schema, effect };
    let lead = stage.lead(vec![stage.agent("child")]).workspace("/").tool(Peek(spec, seen.clone()));
    lead.ask("the task").await.unwrap();
    let line = |depth: u32, tools: &str| format!("in / at {depth} of 2 with {tools}, cancelled: false");
    let lead = r#"["peek", "read", "subagent", "write"]"#;
    let child = r#"["ask_parent", "peek", "read", "report_progress", "subagent", "write"]"#;
    assert_eq!(*seen.lock().unwrap(), [line(2, lead), line(1, child)]);
}

/// Says no, and counts.
struct Refuses(AtomicUsize);

impl Approver for Refuses {
    fn approve<'a>(&'a self, call: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(ApprovalDecision::Denied(format!("nobody may {} today", call.tool))))
    }
}

// R344 R345
#[tokio::test]
async fn whoever_is_set_is_asked_for_this_agent_alone() {
    let script = r#"
        lead:
          - calls: [{write: {path: a}}, {careful: {prompt: "Write it."}}]
          - text: done
        careful:
          - calls: [{read: {path: a}}, {write: {path: a}}, {free: {prompt: "Write it."}}]
          - text: fine
        free:
          - calls: [{write: {path: a}}]
          - text: fine
        "#;
    let stage = Stage::new(script);
    let approver = Arc::new(Refuses(AtomicUsize::new(0)));
    let careful = stage.agent("careful").name("careful").approval_handler(approver.clone());
    let free = stage.agent("free").name("free").approval_handler(AutoApprove);
    stage.run(vec![careful, free]).await;
    let results = stage.results("careful").await;
    assert_eq!(results[0].text, "done", "looking needs no yes");
    assert!(results[1].is_error && results[1].text.ends_with("nobody may write today"), "{:?}", results[1]);
    // To run another agent is a call with an effect, and it was refused as well.
    assert!(results[2].text.ends_with("nobody may free today"), "{:?}", results[2]);
    assert_eq!(approver.0.load(Ordering::SeqCst), 2);
    assert_eq!(stage.written.load(Ordering::SeqCst), 1, "the caller's own");
    let replaced = Stage::new(script);
    let careful = replaced.agent("careful").name("careful").approval_handler(AutoApprove);
    let free = replaced.agent("free").name("free").approval_handler(approver);
    replaced.run(vec![careful, free]).await;
    assert_eq!(replaced.written.load(Ordering::SeqCst), 2, "the caller and the careful one");
}

/// Whenever the process dies, the next one goes on with the same agent and repeats nothing.
#[tokio::test]
async fn an_agent_goes_on_after_the_end_of_its_process() {
    let whole = Stage::new(ASK);
    assert_eq!(whole.run(vec![whole.agent("child")]).await.text, "done");
    for died_after in 2..whole.store.writes() {
        let (again, root) = whole.after_death(died_after).await;
        if !again.store.task(&root).await.unwrap().state.is_running() {
            continue;
        }
        let answer = again.lead(vec![again.agent("child")]).resume(root).await.unwrap();
        assert_eq!(answer.text(), "done", "write {died_after}");
        assert_eq!(again.store.tasks(10).await.unwrap().len(), 2, "write {died_after}");
        assert!(again.written.load(Ordering::SeqCst) <= 1, "write {died_after}");
        assert_eq!(again.results("lead").await[0].text, "It is fine.", "write {died_after}");
    }
}

#[tokio::test]
async fn a_question_of_an_agent_is_answered_by_the_program() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{agent: {prompt: "Look."}}]
          - text: "{result:0}"
        child:
          - calls: [{ask_parent: {question: "Which one?", options: [left, right]}}]
          - text: "{result:0}"
        "#,
    );
    let agent = stage.agent("child").question_handler(|question| async move {
        assert_eq!((question.text.as_str(), question.options.len()), ("Which one?", 2));
        "the left one".to_owned()
    });
    assert!(stage.run(vec![agent]).await.text.contains("the left one"));
    let silent = Stage::new(stage.script);
    silent.run(vec![silent.agent("child")]).await;
    let refused = &silent.results("agent").await[0];
    assert!(refused.is_error, "nobody answers: {}", refused.text);
}

#[tokio::test(start_paused = true)]
async fn agents_wait_for_a_place_on_the_board_of_their_caller() {
    let stage = Stage::new(FIVE);
    let lead = stage.lead(vec![stage.agent("child"), stage.agent("child").name("writer")]).max_concurrent(1);
    let began = tokio::time::Instant::now();
    assert_eq!(lead.ask("the task").await.unwrap().text(), "fine fine fine fine fine");
    assert!(began.elapsed() >= Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_agent_without_a_model_of_its_own_runs_on_that_of_its_caller() {
    let stage = Stage::new(
        r#"
        - calls: [{agent: {prompt: "Look."}}]
        - text: "{result:0}"
        "#,
    );
    let model = ScriptedModel::parse("scripted:test", stage.script, None).unwrap();
    let lead = Agent::with_model(Arc::new(model)).unwrap().subagent(SubAgent::inherit());
    let outcome = lead.outcome("the task").await.unwrap();
    assert_eq!(outcome.status(), OutcomeStatus::Completed, "{outcome:?}");
    assert_eq!(outcome.stop, StopReason::Answered);
}
