//! Agents as tools of a program.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse::budget::{ModelTariff, TaskAccount};
use posse::core::ErrorCode;
use posse::core::agent::{Agent, ModelSettings};
use posse::core::budget::BudgetCaps;
use posse::core::event::Event;
use posse::core::grant::Grant;
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::{Record, TaskStart, start_of};
use posse::core::message::{Message, ToolResult};
use posse::core::outcome::{Outcome, OutcomeStatus, StopReason};
use posse::core::reply::{ModelFailure, Reply};
use posse::core::tool::{ToolEffect, ToolSpec};
use posse::driver::{DriverPorts, ResumeMode, StopTokens, resume, start};
use posse::inbox::TaskInbox;
use posse::models::scripted::ScriptedModel;
use posse::observe::{Observers, TraceEvent};
use posse::ports::{
    ApprovalDecision, Approver, AutoApprove, BoxFuture, Delta, DeltaSink, JournalStore, Model, ModelRequest,
    OpenModel, ProposedCall, Tool, ToolInput, ToolOutput,
};
use posse::toolbox::Toolbox;
use posse::{SubAgent, Thinking};
use posse_testkit::memory::MemoryStore;

/// What a model was asked with.
#[derive(Clone)]
struct Sent {
    system: String,
    messages: Vec<Message>,
    tools: Vec<String>,
    settings: ModelSettings,
    output_tokens_max: u32,
}

/// A script that keeps what it is asked.
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
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            settings: request.settings.clone(),
            output_tokens_max: request.output_tokens_max,
        });
        self.script.call(request, deltas)
    }
}

struct Stage {
    script: &'static str,
    sent: Arc<Mutex<Vec<Sent>>>,
    store: Arc<MemoryStore>,
    written: Arc<AtomicUsize>,
    stop: StopTokens,
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
        let store = Arc::new(MemoryStore::new());
        let (sent, written, stop) = (Arc::default(), Arc::default(), StopTokens::default());
        Self { script, sent, store, written, stop, depth: 3 }
    }

    fn agent(&self, role: &str) -> SubAgent {
        let script = ScriptedModel::parse("scripted:test", self.script, Some(role)).unwrap();
        SubAgent::new(Arc::new(Spy { script, sent: self.sent.clone() }))
    }

    fn ports(&self, agents: Vec<SubAgent>) -> DriverPorts {
        let probe = |name: &str, effect| -> Arc<dyn Tool> {
            let (description, input_schema) = (String::new(), r#"{"type":"object"}"#.to_owned());
            let spec = ToolSpec { name: name.to_owned(), description, input_schema, effect };
            Arc::new(Probe(spec, self.written.clone()))
        };
        let agents = agents.into_iter().map(|agent| Arc::new(agent) as Arc<dyn Tool>);
        let tools =
            [probe("read", ToolEffect::Pure), probe("write", ToolEffect::Unsafe)].into_iter().chain(agents);
        let lead = ScriptedModel::parse("scripted:test", self.script, Some("lead")).unwrap();
        DriverPorts {
            model: OpenModel { model: Arc::new(lead), tariff: ModelTariff::default() },
            tools: Toolbox::new(tools).unwrap(),
            store: self.store.clone(),
            observers: Observers::default(),
            budget: Arc::new(TaskAccount::root(BudgetCaps::default())),
            stop: self.stop.clone(),
            inbox: TaskInbox::default(),
            verifier: None,
            holders: Default::default(),
            worktrees: None,
        }
    }

    async fn run(&self, agents: Vec<SubAgent>) -> Arc<Outcome> {
        let ports = self.ports(agents);
        let lead = Agent::new(AgentName::parse("lead").unwrap(), "scripted:test", "You lead.");
        let names: Vec<String> = ports.tools.names().map(str::to_owned).collect();
        let task = TaskStart::new(lead, "the task", Grant::root(names, self.depth));
        start(&ports, TaskId::root("s1"), None, "test".to_owned(), task).await.unwrap()
    }

    /// The results of a task's calls.
    async fn results(&self, id: &str) -> Vec<ToolResult> {
        let records = self.store.records(&TaskId::from_store(id.to_owned())).await.unwrap();
        let results = records.into_iter().filter_map(|record| match record {
            Record::Done { result, .. } => Some(result),
            _ => None,
        });
        results.collect()
    }

    fn first(&self) -> Sent {
        self.sent.lock().unwrap().first().cloned().unwrap()
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
    let agent = stage.agent("child");
    let spec = agent.spec().clone();
    assert_eq!(spec.name, "agent");
    assert!(spec.description.starts_with("Spawn a sub-agent to handle a complex task autonomously."));
    assert!(spec.input_schema.contains("The task for the sub-agent to perform"));
    assert_eq!(stage.run(vec![agent]).await.text, "done");
    let results = stage.results("s1").await;
    assert_eq!((results[0].text.as_str(), results[0].is_error), ("It is fine.", false));
    let sent = stage.first();
    assert_eq!(sent.messages, [Message::User { text: "Look at it.".to_owned() }]);
    assert_eq!((sent.system.as_str(), sent.output_tokens_max), ("", 4096));
    // R348: nobody watches, so the reply is asked for in one piece.
    assert_eq!(sent.settings, ModelSettings { buffered: true, ..ModelSettings::default() });
    assert_eq!(sent.tools, ["read", "agent", "write"], "it inherits all there is");
    assert_eq!(stage.written.load(Ordering::SeqCst), 1);
    let start = start_of(&stage.store.records(&TaskId::from_store("s1.agent_1_0".to_owned())).await.unwrap());
    let start = start.unwrap();
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
    assert_eq!(agent.spec().description, "Looks.");
    stage.run(vec![agent]).await;
    let sent = stage.sent.lock().unwrap().clone();
    assert_eq!((sent[0].system.as_str(), sent[1].system.as_str()), ("You look.", "You are another."));
    assert_eq!(sent[0].output_tokens_max, 1024);
    let settings = &sent[0].settings;
    assert_eq!((settings.temperature, settings.thinking_tokens), (Some(0.5), Some(2048)));
}

// R330
#[test]
fn two_agents_of_one_name_are_an_error() {
    let stage = Stage::new(ASK);
    let tool = |name: &str| Arc::new(stage.agent("child").name(name)) as Arc<dyn Tool>;
    let e = Toolbox::new([tool("writer"), tool("Writer")]).err().unwrap();
    assert_eq!(e.code(), ErrorCode::DuplicateTool);
    assert!(Toolbox::new([tool("writer"), tool("research")]).is_ok());
}

// R340 R341 R342 R343 R362 R366
#[tokio::test]
async fn tools_are_only_taken_away_and_hidden_when_asked_for() {
    for (allow, filtered, shown) in [
        (vec!["Read", "subagent"], false, vec!["read", "agent", "write"]),
        (vec!["Read", "bash"], true, vec!["read"]),
        (vec![], true, vec![]),
    ] {
        let stage = Stage::new(ASK);
        let agent = stage.agent("child").tools_allow(allow).filter_tool_definitions(filtered);
        stage.run(vec![agent]).await;
        assert_eq!(stage.first().tools, shown);
        assert_eq!(stage.written.load(Ordering::SeqCst), 0);
        let refused = &stage.results("s1.agent_1_0").await[0];
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
    let last = stage.results("s1.deeper_1_0.deeper_1_0").await;
    let text = "Max sub-agent depth (2) reached. Cannot spawn further sub-agents.";
    assert_eq!((last[0].text.as_str(), last[0].is_error), (text, true));
    assert_eq!(stage.results("s1.deeper_1_0").await[0].text, "fine");
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
    let records = stage.store.records(&TaskId::root("s1")).await.unwrap();
    let intents = records.iter().filter(|record| matches!(record, Record::Intended { .. })).count();
    assert_eq!(intents, 5);
}

// R319
#[tokio::test(start_paused = true)]
async fn after_a_crash_each_agent_of_a_reply_goes_on_with_its_own_task() {
    let stage = Stage::new(FIVE);
    let agents = || vec![stage.agent("child"), stage.agent("child").name("writer")];
    let crashed = tokio::time::timeout(Duration::from_millis(750), stage.run(agents())).await;
    assert!(crashed.is_err(), "every agent has read, and none has answered");
    let (ports, onward) = (stage.ports(agents()), ResumeMode::Finish { turns_max: None, wall_ms_max: None });
    let names: Vec<String> = ports.tools.names().map(str::to_owned).collect();
    let grant = Grant::root(names, stage.depth);
    let outcome = resume(&ports, TaskId::root("s1"), "test", onward, &grant).await.unwrap();
    assert_eq!(
        (outcome.status(), outcome.text.as_str()),
        (OutcomeStatus::Completed, "fine fine fine fine fine")
    );
    let rows = stage.store.tasks(20).await.unwrap();
    assert_eq!(rows.len(), 6, "no agent was begun twice");
    for row in rows.iter().filter(|row| row.parent.is_some()) {
        let read = stage.results(row.id.as_str()).await.len();
        assert_eq!((row.state.wire(), read), ("completed", 1), "{}: what was read is not read again", row.id);
    }
}

// R361 R367 R371
#[tokio::test]
async fn what_goes_wrong_is_a_result_that_the_caller_can_act_on() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{agent: {}}]
          - calls: [{"No Name": {prompt: "Look."}}]
          - calls: [{agent: {prompt: "Look."}}]
          - text: done
        child:
          - fail: {kind: unauthorised, message: the key is wrong}
        "#,
    );
    stage.run(vec![stage.agent("child"), stage.agent("child").name("No_Name")]).await;
    let results = stage.results("s1").await;
    assert_eq!((results[0].text.as_str(), results[0].mistake), ("prompt is required", true));
    let wrong_name = "Sub-agent configuration error: INVALID_AGENT_NAME: `No_Name` is not an agent name";
    assert!(results[1].text.starts_with(wrong_name), "{}", results[1].text);
    assert!(results[2].text.starts_with("Sub-agent error: model_failed: "), "{}", results[2].text);
}

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
    let text = &stage.results("s1").await[0].text;
    assert!(text.starts_with("Sub-agent configuration error: PROMPT_TOO_LARGE: "), "{text}");
}

// R368
#[tokio::test(start_paused = true)]
async fn cancelling_the_caller_ends_the_agent() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{agent: {prompt: "Look."}}]
        child:
          - text: late
            delay_ms: 1000000
        "#,
    );
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        stage.stop.now.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.run(vec![stage.agent("child")]), cancel);
    assert_eq!(outcome.stop, StopReason::Cancelled);
    let child = TaskId::from_store("s1.agent_1_0".to_owned());
    assert_eq!(stage.store.task(&child).await.unwrap().state.wire(), "cancelled");
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
        .approval_handler(Arc::new(AutoApprove))
        .trace_hook(move |trace| {
            if let TraceEvent::Event(Event::Finished { turns, .. }) = trace {
                heard.lock().unwrap().push(*turns);
            }
        });
    stage.run(vec![agent]).await;
    let sent = stage.first();
    assert_eq!((sent.system.as_str(), sent.tools.as_slice()), ("You look.", &["read".to_owned()][..]));
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
        let nesting = context.nesting.as_ref().expect("it is called by a run");
        let tools: Vec<&str> = nesting.tools.names().collect();
        let (depth, most) = (nesting.grant.depth(), nesting.grant.depth_max());
        let line = format!(
            "{} in {} at {depth} of {most} with {tools:?}, cancelled: {}",
            context.task,
            nesting.workspace,
            context.cancel.is_cancelled()
        );
        self.1.lock().unwrap().push(line);
        Box::pin(std::future::ready(ToolOutput::text("seen")))
    }
}

// R374
#[tokio::test]
async fn a_tool_knows_where_it_is_how_deep_and_with_what() {
    let stage = Stage::new(
        r#"
        lead:
          - calls: [{peek: {}}, {agent: {prompt: "Look."}}]
          - text: done
        child:
          - calls: [{peek: {}}]
          - text: fine
        "#,
    );
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (input_schema, effect) = (r#"{"type":"object"}"#.to_owned(), ToolEffect::Unsafe);
    let spec = ToolSpec { name: "peek".to_owned(), description: String::new(), input_schema, effect };
    let mut ports = stage.ports(vec![stage.agent("child")]);
    ports.tools = ports.tools.with([Arc::new(Peek(spec, seen.clone())) as Arc<dyn Tool>]).unwrap();
    let lead = Agent::new(AgentName::parse("lead").unwrap(), "scripted:test", "You lead.");
    let names: Vec<String> = ports.tools.names().map(str::to_owned).collect();
    let task = TaskStart {
        workspace: "/work".to_owned(),
        ..TaskStart::new(lead, "the task", Grant::root(names, 2))
    };
    start(&ports, TaskId::root("s1"), None, "test".to_owned(), task).await.unwrap();
    let tools = r#"["peek", "read", "subagent", "write"]"#;
    let line =
        |task: &str, depth: u32| format!("{task} in /work at {depth} of 2 with {tools}, cancelled: false");
    assert_eq!(*seen.lock().unwrap(), [line("s1", 2), line("s1.agent_1_1", 1)]);
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
    let free = stage.agent("free").name("free").approval_handler(Arc::new(AutoApprove));
    stage.run(vec![careful, free]).await;
    let results = stage.results("s1.careful_1_1").await;
    assert_eq!(results[0].text, "done", "looking needs no yes");
    assert_eq!((results[1].text.as_str(), results[1].is_error), ("refused: nobody may write today", true));
    // To run another agent is a call with an effect, and it was refused as well.
    assert_eq!(results[2].text, "refused: nobody may free today");
    assert_eq!(approver.0.load(Ordering::SeqCst), 2);
    assert_eq!(stage.written.load(Ordering::SeqCst), 1, "the caller's own");
    let replaced = Stage::new(script);
    let careful = replaced.agent("careful").name("careful").approval_handler(Arc::new(AutoApprove));
    let free = replaced.agent("free").name("free").approval_handler(approver);
    replaced.run(vec![careful, free]).await;
    assert_eq!(replaced.written.load(Ordering::SeqCst), 2, "the caller and the careful one");
}

/// Whenever the process dies, the next one goes on with the same agent and repeats nothing.
#[tokio::test]
async fn an_agent_goes_on_after_the_end_of_its_process() {
    let whole = Stage::new(ASK);
    assert_eq!(whole.run(vec![whole.agent("child")]).await.text, "done");
    for died_after in 1..whole.store.writes() {
        let again = Stage { store: Arc::new(whole.store.as_of(died_after)), ..Stage::new(ASK) };
        let ports = again.ports(vec![again.agent("child")]);
        let grant = Grant::root(ports.tools.names().map(str::to_owned).collect::<Vec<_>>(), 3);
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = resume(&ports, TaskId::root("s1"), "second", onward, &grant).await.unwrap();
        assert_eq!(outcome.text, "done", "write {died_after}");
        assert_eq!(again.store.tasks(10).await.unwrap().len(), 2, "write {died_after}");
        assert!(again.written.load(Ordering::SeqCst) <= 1, "write {died_after}");
        assert_eq!(again.results("s1").await[0].text, "It is fine.", "write {died_after}");
    }
}
