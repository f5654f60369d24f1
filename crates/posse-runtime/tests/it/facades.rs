//! The other doors to the same tasks: `Agent`, `run_subagent`, and a launch without an action.

use std::sync::{Arc, Mutex};

use posse_core::approval::{ApprovalHandling, ApprovalPolicy, ApprovalScope, ApprovalState};
use posse_core::board::BoardLimits;
use posse_core::definition::{Definition, Format, ModelChoice};
use posse_core::grant::{Grant, GrantRule, Rights, RuleVerdict};
use posse_core::id::TaskId;
use posse_core::journal::{Record, start_of};
use posse_core::limits::Limits;
use posse_core::message::{Message, ToolResult};
use posse_core::outcome::{Outcome, OutcomeStatus, StopReason};
use posse_core::pattern::ToolPattern;
use posse_core::run::replay;
use posse_core::task::CONTEXT_PLACEHOLDER;
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::driver::{ResumeMode, StopTokens};
use posse_runtime::ports::{
    AgentLookup, ApprovalQuery, ApprovalStore, BoxFuture, JournalStore, Tool, ToolInput, ToolOutput,
};
use posse_runtime::session::facades::{Facade, SessionFacades, guidance};
use posse_runtime::session::{
    DEFAULT_LIMITS, Session, SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers,
};
use posse_runtime::toolbox::Toolbox;
use posse_testkit::memory::MemoryStore;
use serde_json::json;

use crate::approvals::{answer, question, say};
use crate::injection::CORPUS;
use crate::session::{Script, agent, definition, results};

/// Notes what it was called with.
struct Probe {
    spec: ToolSpec,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        self.calls.lock().unwrap().push(format!("{} {}", self.spec.name, input.arguments));
        Box::pin(std::future::ready(ToolOutput::text("done")))
    }
}

pub struct Room {
    pub session: Arc<Session>,
    pub store: Arc<MemoryStore>,
    calls: Arc<Mutex<Vec<String>>>,
    stop: StopTokens,
}

fn agents() -> Vec<Arc<Definition>> {
    let inherits = |name: &str| Definition { rights: Rights::default(), ..(*definition(name, &[])).clone() };
    let investigator = Definition {
        prompt: format!("Investigate {{{{task}}}}\n\n{CONTEXT_PLACEHOLDER}\n\n## Tools\n{{{{tools}}}}\n"),
        task_in: Some(posse_core::definition::TaskIn::System),
        ..inherits("investigator")
    };
    let mut slow = inherits("slow");
    slow.limits.wall_s = Some(20);
    let unknown = ModelChoice { candidates: vec!["unknown".to_owned()], ..ModelChoice::default() };
    let picky = Definition { model: unknown, ..inherits("picky") };
    let all =
        [definition("helper", &["read"]).as_ref().clone(), inherits("general"), investigator, slow, picky];
    all.into_iter().map(Arc::new).collect()
}

/// A definition whose time is a default, as in acai's files.
fn of_acai() -> Arc<Definition> {
    let mut acai = (*definition("acai", &["read"])).clone();
    acai.limits.wall_s = Some(20);
    acai.origin.format = Format::Acai;
    Arc::new(acai)
}

pub fn room(script: &'static str, facades: &[Facade], depth: u32, store: MemoryStore) -> Room {
    room_asking(script, facades, depth, store, ApprovalPolicy::default(), Rights::default())
}

fn room_ruled(script: &'static str, facades: &[Facade], depth: u32, rules: BoardLimits) -> Room {
    room_of(script, facades, depth, MemoryStore::new(), (ApprovalPolicy::default(), Rights::default()), rules)
}

fn room_asking(
    script: &'static str,
    facades: &[Facade],
    depth: u32,
    store: MemoryStore,
    policy: ApprovalPolicy,
    asks: Rights,
) -> Room {
    room_of(script, facades, depth, store, (policy, asks), DEFAULT_LIMITS)
}

fn room_of(
    script: &'static str,
    facades: &[Facade],
    depth: u32,
    store: MemoryStore,
    (policy, asks): (ApprovalPolicy, Rights),
    rules: BoardLimits,
) -> Room {
    let calls: Arc<Mutex<Vec<String>>> = Arc::default();
    let tool = |name: &str, effect| -> Arc<dyn Tool> {
        let (name, schema) = (name.to_owned(), r#"{"type":"object"}"#.to_owned());
        let spec = ToolSpec { name, description: String::new(), input_schema: schema, effect };
        Arc::new(Probe { spec, calls: calls.clone() })
    };
    let (store, stop) = (Arc::new(store), StopTokens::default());
    let mut agents = agents();
    agents.extend((depth > 1).then(|| definition("chief", &["subagent"])));
    agents.extend(script.contains("acai:").then(of_acai));
    let granted = ["read", "write", "subagent", "shared_context", "ask_parent", "report_progress"];
    let session = SessionBuilder {
        id: "s1".to_owned(),
        sources: SessionSources {
            owner: "test".to_owned(),
            lives: |_| false,
            store: store.clone(),
            models: Arc::new(Script(script)),
            agents: Arc::new(agents),
        },
        policy: SessionPolicy {
            rules,
            facades: facades.iter().copied().collect(),
            ..SessionPolicy::new(Grant::root(granted.map(str::to_owned), depth).keep(&asks))
        },
        place: SessionPlace::new(
            ".",
            Toolbox::new([tool("read", ToolEffect::Pure), tool("write", ToolEffect::Unsafe)])
                .unwrap()
                .with_approvals(policy),
        ),
        watchers: SessionWatchers { stop: stop.clone(), ..SessionWatchers::default() },
    }
    .build()
    .unwrap();
    Room { session, store, calls, stop }
}

impl Room {
    pub async fn run(&self) -> Arc<Outcome> {
        let boss = posse_core::agent::Agent {
            limits: Limits { turns_max: 200, ..Limits::default() },
            ..agent("boss", None)
        };
        self.session.run(boss, "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap()
    }

    async fn child(&self, number: u32) -> Vec<Record> {
        self.store.records(&TaskId::child("s1", number)).await.unwrap()
    }
}

/// The results of the orchestrator's calls.
async fn play(script: &'static str, facades: &[Facade]) -> (Vec<ToolResult>, Room) {
    let room = room(script, facades, 1, MemoryStore::new());
    assert_eq!(room.run().await.status(), OutcomeStatus::Completed);
    (results(&room.store).await, room)
}

fn spec(facades: &[Facade], name: &str) -> ToolSpec {
    let facades: SessionFacades = facades.iter().copied().collect();
    facades.specs(&agents()).into_iter().find(|spec| spec.name == name).unwrap()
}

// R032 R033 R034 R037 R038 R045
#[tokio::test(start_paused = true)]
async fn an_agent_is_waited_for_and_its_text_is_the_answer() {
    let (results, room) = play(
        r#"
        boss:
          - calls: [{Agent: {prompt: "Look at the parser.", type: helper}}]
          - calls: [{Agent: {prompt: "Look.", type: reviwer}}]
          - calls: [{Agent: {prompt: "Look."}}]
          - calls: [{Agent: {prompt: "Look.", type: helper, agent: general}}]
          - text: done
        helper:
          - text: The parser is fine.
            delay_ms: 4000
        "#,
        &[Facade::Agent],
    )
    .await;
    assert_eq!((results[0].text.as_str(), results[0].is_error), ("The parser is fine.", false));
    assert_eq!(
        (results[1].text.as_str(), results[1].is_error),
        ("Unknown subagent type: \"reviwer\". Available: general, helper, investigator, picky, slow", true)
    );
    assert!(results[2].text.contains("type"), "{}", results[2].text);
    assert!(results[3].mistake, "rules must see the agent that runs: {}", results[3].text);
    let start = start_of(&room.child(1).await).unwrap();
    assert_eq!((start.task.as_str(), start.agent.limits.wall_ms_max), ("Look at the parser.", 300_000));
    assert_eq!(start.agent.limits.turns_max, 100);
    let granted: Vec<&str> = room.session.tool_names().collect();
    assert!(granted.contains(&"subagent"), "the right is the one to delegate: {granted:?}");
}

// R028 R035
#[test]
fn the_description_lists_who_there_is() {
    let text = spec(&[Facade::Agent], "Agent").description;
    assert!(
        text.starts_with("Launch a new agent to handle complex, multi-step tasks autonomously.\n"),
        "{text}"
    );
    let list = "\n\nAvailable agent types:\n  general       - the general\n  helper        - the helper\n";
    assert!(text.contains(list), "{text}");
    let many: Vec<_> = (0..26).map(|n| definition(&format!("agent{n}"), &[])).collect();
    let facades: SessionFacades = [Facade::Agent].into_iter().collect();
    let text = facades.specs(&many).remove(0).description;
    assert!(text.contains("\n  agent0, agent1, ") && !text.contains("the agent0"), "{text}");
}

// R241 R246 R278 R281 R282 R284
#[test]
fn the_parameters_say_what_makes_a_good_task() {
    let schema = spec(&[Facade::RunSubagent], "run_subagent").input_schema;
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let parameters = &schema["properties"];
    assert_eq!(parameters.as_object().unwrap().len(), 3);
    let about = |name: &str| parameters[name]["description"].as_str().unwrap().to_owned();
    for part in ["1) What to investigate", "2) Where to look", "3) What to return"] {
        assert!(about("task").contains(part), "{part}");
    }
    assert!(about("context").starts_with("Relevant context from your current analysis: code snippets"));
    assert!(
        about("max_tool_calls")
            .contains("Increase for complex investigations, decrease for focused lookups.")
    );
    assert_eq!(parameters["max_tool_calls"]["default"], 8);
}

// R040 R048
#[tokio::test(start_paused = true)]
async fn an_agent_has_only_its_tools_and_falls_back_to_a_model_that_exists() {
    let (results, room) = play(
        r#"
        boss:
          - calls: [{Agent: {prompt: "Write it.", type: helper}}]
          - calls: [{Agent: {prompt: "Say it.", type: picky}}]
          - text: done
        helper:
          - calls: [{write: {path: a}}]
          - calls: [{read: {path: a}}]
          - text: could not
        picky:
          - text: said
        "#,
        &[Facade::Agent],
    )
    .await;
    assert_eq!(*room.calls.lock().unwrap(), [r#"read {"path":"a"}"#]);
    assert_eq!(results[0].text, "could not");
    assert!(results[1].text.starts_with("said\n\n[note: the model `unknown`"), "{}", results[1].text);
}

#[tokio::test(start_paused = true)]
async fn a_file_of_acai_obeys_the_timeout_of_the_call() {
    let (results, _) = play(
        r#"
        boss:
          - calls: [{Agent: {prompt: "Look.", type: acai}}, {Agent: {prompt: "Look.", type: acai, timeout: 60}}]
          - text: done
        acai:
          - text: never
            delay_ms: 1000000
        "#,
        &[Facade::Agent],
    )
    .await;
    assert_eq!(results[0].text, "Subagent \"acai\" timed out after 20s and was stopped.");
    assert_eq!(results[1].text, "Subagent \"acai\" timed out after 60s and was stopped.");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_for_an_agent_has_up_to_20000_tokens() {
    let call =
        |chars: usize| serde_json::json!({ "Agent": { "prompt": "x".repeat(chars), "type": "helper" } });
    let said = serde_json::json!([{ "text": "read" }]);
    let boss = serde_json::json!([{ "calls": [call(80_000), call(80_001)] }, { "text": "done" }]);
    let script = serde_json::json!({ "boss": boss, "helper": said }).to_string();
    let (results, _) = play(script.leak(), &[Facade::Agent]).await;
    assert_eq!(results[0].text, "read");
    assert!(results[1].is_error && results[1].text.contains("the limit is 20000"), "{}", results[1].text);
}

// R041 R047
#[tokio::test(start_paused = true)]
async fn time_is_over_when_the_agent_or_the_call_says() {
    let (results, _) = play(
        r#"
        boss:
          - calls: [{Agent: {prompt: "Look.", type: helper, timeout: 7}}]
          - calls: [{Agent: {prompt: "Look.", type: slow}}]
          - calls: [{Agent: {prompt: "Look.", type: slow, timeout: 60}}]
          - text: done
        helper:
          - text: Half of it.
            calls: [{read: {}}]
          - text: never
            delay_ms: 1000000
        slow:
          - text: never
            delay_ms: 1000000
        "#,
        &[Facade::Agent],
    )
    .await;
    let timed_out =
        "Subagent \"helper\" timed out after 7s and was stopped.\n\nWhat it had so far:\nHalf of it.";
    assert_eq!((results[0].text.as_str(), results[0].is_error), (timed_out, true));
    let slow = "Subagent \"slow\" timed out after 20s and was stopped.";
    assert_eq!(results[1].text, slow);
    assert_eq!(results[2].text, format!("{slow}\n\n[note: timeout_ms: 60000 was lowered to 20000]"));
}

// R041
#[tokio::test(start_paused = true)]
async fn who_is_cancelled_while_it_waits_takes_its_agent_along() {
    let script = r#"
        boss:
          - calls: [{Agent: {prompt: "Look.", type: helper}}]
        helper:
          - text: never
            delay_ms: 1000000
        "#;
    let room = room(script, &[Facade::Agent], 1, MemoryStore::new());
    let cancel = async {
        tokio::time::sleep(std::time::Duration::from_secs(30)).await;
        room.stop.now.cancel();
    };
    let (outcome, ()) = tokio::join!(room.run(), cancel);
    assert_eq!(outcome.stop, StopReason::Cancelled);
    assert_eq!(room.store.task(&TaskId::child("s1", 1)).await.unwrap().state.wire(), "cancelled");
}

// Seen to fail with the cancellation written down as the result of the calls: their tasks stayed cancelled.
#[tokio::test(start_paused = true)]
async fn whoever_waited_when_it_was_stopped_waits_again_for_the_same_tasks() {
    let script = r#"
        boss:
          - calls:
              - Agent: {prompt: "Look.", type: helper}
              - Agent: {prompt: "Look.", type: helper}
              - run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}
              - write: {path: a}
          - text: done
        helper:
          - {calls: [{read: {path: a}}], delay_ms: 20000}
          - {text: looked, delay_ms: 20000}
        investigator:
          - {calls: [{read: {path: a}}], delay_ms: 20000}
          - {text: <answer>yes</answer>, delay_ms: 20000}
        "#;
    let (facades, root) = ([Facade::Agent, Facade::RunSubagent], TaskId::root("s1"));
    for at_once in [true, false] {
        let first = room(script, &facades, 1, MemoryStore::new());
        let cancel = async {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            if at_once { first.stop.now.cancel() } else { first.stop.soon.cancel() }
        };
        let (outcome, ()) = tokio::join!(first.run(), cancel);
        assert_eq!(outcome.stop, StopReason::Cancelled);
        let stopped: Vec<TaskId> = (1..=3).map(|number| TaskId::child("s1", number)).collect();
        assert_eq!(first.session.stopped_with(&root).await.unwrap(), stopped, "at once: {at_once}");
        assert!(!first.calls.lock().unwrap().iter().any(|call| call.starts_with("write")));

        let again = room(script, &facades, 1, first.store.snapshot());
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = again.session.resume(root.clone(), onward).await.unwrap();
        assert_eq!((outcome.stop, outcome.text.as_str()), (StopReason::Answered, "done"));
        let results: Vec<String> =
            results(&again.store).await.into_iter().map(|result| result.text).collect();
        assert_eq!(results.len(), 4, "one for each call: {results:?}");
        assert_eq!(results[..2], ["looked", "looked"]);
        assert!(results[2].contains("yes"), "{results:?}");
        let writes = again.calls.lock().unwrap().iter().filter(|call| call.starts_with("write")).count();
        assert_eq!(writes, 1);
        let rows = again.store.tasks(9).await.unwrap();
        assert!(rows.len() == 4 && rows.iter().all(|row| row.state.wire() == "completed"), "{rows:?}");
        let records = again.store.records(&root).await.unwrap();
        assert!(!records.iter().any(|record| matches!(record, Record::Steered { .. })), "{records:?}");
        // What the journal says is what was sent.
        let effects = std::collections::BTreeMap::from([("write".to_owned(), ToolEffect::Unsafe)]);
        let replayed = replay(&records, effects, 0).unwrap();
        assert_eq!(posse_core::message::find_fault(replayed.run.messages()), None);
        let answers: Vec<&Message> = replayed.run.messages().iter().skip(2).collect();
        assert!(!format!("{answers:?}").contains("not run"), "{answers:?}");
    }
}

// A person who says something else instead does not wait for them.
#[tokio::test(start_paused = true)]
async fn whoever_says_something_else_leaves_stopped_tasks_as_they_are() {
    let script = r#"
        boss:
          - calls: [{Agent: {prompt: "Look.", type: helper}}]
          - text: done
        helper:
          - {text: looked, delay_ms: 20000}
        "#;
    let first = room(script, &[Facade::Agent], 1, MemoryStore::new());
    let cancel = async {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        first.stop.now.cancel();
    };
    let (_, ()) = tokio::join!(first.run(), cancel);
    let again = room(script, &[Facade::Agent], 1, first.store.snapshot());
    let more = ResumeMode::Message("Never mind.".to_owned());
    assert_eq!(again.session.resume(TaskId::root("s1"), more).await.unwrap().text, "done");
    let row = again.store.task(&TaskId::child("s1", 1)).await.unwrap();
    assert_eq!(row.state.wire(), "cancelled");
}

const GOOD: &str = "Find out how tokens are checked in src/auth. Return the lines.";

// R233 R234 R247 R255 R257 R258 R259 R267 R277 R284 R287 R304 R308 R314 R316 R317
#[tokio::test(start_paused = true)]
async fn an_investigation_returns_its_parts() {
    let (results, room) = play(
        r#"
        boss:
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines.", context: "jwt.rs is new"}}]
          - text: done
        investigator:
          - calls: [{read: {path: a}}, {write: {path: a}}, {subagent: {action: list_agents}}, {run_subagent: {task: x}}]
          - text: "Sure. <findings>a.rs:3</findings> <summary>It leaks.</summary> <answer>yes</answer>"
        "#,
        &[Facade::Subagent, Facade::RunSubagent],
    )
    .await;
    assert_eq!(
        results[0].text,
        "<findings>\na.rs:3\n</findings>\n\n<summary>\nIt leaks.\n</summary>\n\n<answer>\nyes\n</answer>\n\nTool calls made: 1"
    );
    // R256 R288 R309 R312: it only looks and cannot delegate.
    assert_eq!(*room.calls.lock().unwrap(), [r#"read {"path":"a"}"#]);
    let start = start_of(&room.child(1).await).unwrap();
    let limits = &start.agent.limits;
    assert_eq!((limits.tool_calls_max, limits.wall_ms_max), (8, 60_000));
    assert!(start.opening().0.contains("jwt.rs is new") && !start.opening().0.contains(CONTEXT_PLACEHOLDER));
    assert!(start.opening().0.contains(GOOD));
    // R268: the tools it has, and none to delegate with.
    assert!(start.opening().0.contains("## Tools\n- `read`\n"), "{}", start.opening().0);
    assert!(!start.opening().0.contains("subagent`"), "{}", start.opening().0);
    // It is driven like every run, and knows nothing of its caller's conversation.
    let records = room.child(1).await;
    assert!(matches!(records.last(), Some(Record::Finished { .. })));
    assert!(!format!("{records:?}").contains("the task"));
}

// R288 R309 R312 R318
#[tokio::test(start_paused = true)]
async fn an_investigation_delegates_nothing_even_where_depth_allows_it() {
    let script = r#"
        boss:
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - text: done
        investigator:
          - calls: [{subagent: {action: spawn, agent: helper, task: go}}, {Agent: {prompt: go, type: helper}}]
          - text: could not
        helper:
          - text: went
        "#;
    let facades = [Facade::Subagent, Facade::RunSubagent, Facade::Agent];
    let room = room(script, &facades, 3, MemoryStore::new());
    assert_eq!(room.run().await.status(), OutcomeStatus::Completed);
    assert_eq!(room.store.tasks(10).await.unwrap().len(), 2, "the orchestrator and the investigation");
}

// R004 R360
#[tokio::test(start_paused = true)]
async fn an_agent_that_lists_the_right_delegates_until_the_depth_is_used_up() {
    let script = r#"
        boss:
          - calls: [{Agent: {prompt: go, type: chief}}]
          - text: "{result:0}"
        chief:
          - calls: [{subagent: {action: list_agents}}, {Agent: {prompt: go, type: chief}}]
          - text: "{result:1}"
        "#;
    let room = room(script, &[Facade::Subagent, Facade::Agent], 2, MemoryStore::new());
    let outcome = room.run().await;
    let refused = "refused: Max sub-agent depth (2) reached. Cannot spawn further sub-agents.";
    let lacks = "\n\n[note: `chief` works without `subagent`, which its definition names: not granted here]";
    assert_eq!(outcome.text, format!("{refused}{lacks}"));
    assert_eq!(room.store.tasks(10).await.unwrap().len(), 3);
    let told =
        |records: &[Record]| start_of(records).unwrap().agent.system_prompt.contains("specialist agents");
    assert!(told(&room.child(1).await), "who can delegate is told to whom");
    assert!(!told(&room.child(2).await), "who cannot is not");
}

#[tokio::test(start_paused = true)]
async fn recursion_does_not_multiply_the_tasks_of_a_session() {
    let spawn = "- subagent: {action: spawn, agent: chief, task: go}\n              ".repeat(63);
    let script = format!(
        r#"
        boss:
          - calls:
              {spawn}
          - calls: [{{subagent: {{action: wait, mode: all, timeout_ms: 45000}}}}]
          - text: done
        chief:
          - calls: [{{subagent: {{action: spawn, agent: helper, task: go}}}}]
            delay_ms: 1000
          - text: done
            delay_ms: 5000
        helper:
          - text: went
            delay_ms: 1000
        "#
    );
    let script: &'static str = Box::leak(script.into_boxed_str());
    let rules = BoardLimits { running_max: 64, ..DEFAULT_LIMITS };
    let room = room_ruled(script, &[Facade::Subagent], 2, rules);
    let boss = posse_core::agent::Agent {
        limits: Limits { calls_per_turn_max: 64, ..Limits::default() },
        ..agent("boss", None)
    };
    let outcome = room.session.run(boss, "go".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    let rows = room.store.tasks(200).await.unwrap();
    assert_eq!(rows.len(), 1 + 64, "63 of the orchestrator, and one more of one of them");
    let mut refused = 0;
    for number in 1..=63 {
        let records = room.child(number).await;
        refused += usize::from(format!("{records:?}").contains("64 tasks are running in this session"));
    }
    assert_eq!(refused, 62);
}

// R278 R279 R280 R283 R286 R290 R293 R305
#[tokio::test(start_paused = true)]
async fn a_brief_task_is_refused_with_what_to_write() {
    let (results, room) = play(
        r#"
        boss:
          - calls:
              - run_subagent: {task: "Check the auth code"}
              - run_subagent: {task: "                                        "}
              - run_subagent: {task: "12345678901234567890123456789"}
              - run_subagent: {task: "Find out how tokens are checked in src/auth.", max_tool_calls: 16}
              - run_subagent: {task: "Find out how tokens are checked in src/auth.", max_tool_calls: 0}
              - run_subagent: {task: "123456789012345678901234567890", max_tool_calls: 15}
          - text: done
        investigator:
          - text: nothing
        "#,
        &[Facade::RunSubagent],
    )
    .await;
    let too_short =
        "Task too brief (30+ chars needed). Include: WHAT to investigate, WHERE to look, WHAT to return.";
    assert_eq!((results[0].text.as_str(), results[0].mistake), (too_short, true));
    assert_eq!(
        results[1].text,
        "Task too brief. Include: what to investigate, where to look, what to return."
    );
    assert_eq!(results[2].text, too_short);
    for result in &results[3..5] {
        assert!(result.mistake && result.text.contains("max_tool_calls"), "{}", result.text);
    }
    // R273: an answer without tags is all findings.
    assert_eq!(results[5].text, "<findings>\nnothing\n</findings>\n\nTool calls made: 0");
    assert_eq!(start_of(&room.child(1).await).unwrap().agent.limits.tool_calls_max, 15);
}

// R285 R289 R305 R306
#[tokio::test(start_paused = true)]
async fn a_session_has_five_investigations_also_after_a_restart() {
    let script = r#"
        boss:
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - text: done
        investigator:
          - text: found
        "#;
    let facades = [Facade::RunSubagent];
    let whole = room(script, &facades, 1, MemoryStore::new());
    whole.run().await;
    for died_after in 1..=whole.store.writes() {
        let again = match died_after == whole.store.writes() {
            true => Room { store: whole.store.clone(), ..room(script, &facades, 1, MemoryStore::new()) },
            false => room(script, &facades, 1, whole.store.as_of(died_after)),
        };
        if died_after < whole.store.writes() {
            let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
            again.session.resume(TaskId::root("s1"), onward).await.unwrap();
        }
        let results = results(&again.store).await;
        assert!(results[..5].iter().all(|result| !result.is_error), "write {died_after}");
        assert_eq!(
            results[5].text, "Maximum subagents (5) reached. Use direct tools for remaining investigations.",
            "write {died_after}"
        );
        let children =
            again.store.tasks(100).await.unwrap().iter().filter(|row| row.parent.is_some()).count();
        assert_eq!(children, 5, "write {died_after}");
    }
}

// R291 R292
#[tokio::test(start_paused = true)]
async fn an_investigation_that_fails_says_how() {
    let (results, _) = play(
        r#"
        boss:
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines.", max_tool_calls: 1}}]
          - text: done
        investigator:
          - calls: [{read: {}}]
          - text: late
            delay_ms: 1000000
        "#,
        &[Facade::RunSubagent],
    )
    .await;
    let timeout = "Subagent timed out after 60s. Break into smaller tasks.";
    assert_eq!((results[0].text.as_str(), results[0].is_error), (timeout, true));
    let (results, _) = play(
        r#"
        boss:
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines.", max_tool_calls: 1}}]
          - text: done
        investigator:
          - calls: [{read: {}}]
          - calls: [{read: {}}]
          - text: <summary>Half of it.</summary>
        "#,
        &[Facade::RunSubagent],
    )
    .await;
    let early =
        "Stopped early: the limit of tool calls was reached; what follows may be incomplete.\n\n<findings>";
    assert!(results[0].text.starts_with(early) && !results[0].is_error, "{}", results[0].text);
    let (results, _) = play(
        r#"
        boss:
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - text: done
        investigator:
          - fail: {kind: unauthorised, message: the key is wrong}
        "#,
        &[Facade::RunSubagent],
    )
    .await;
    assert!(results[0].text.starts_with("Subagent failed: Model API error: "), "{}", results[0].text);
}

// R376 R389 R414 R422 R423 R426 R437 R455
#[tokio::test(start_paused = true)]
async fn a_launch_answers_at_once_and_its_task_goes_on() {
    let (results, room) = play(
        r#"
        boss:
          - calls: [{subagent: {description: Test task, prompt: Do something interesting}}]
          - calls: [{subagent: {action: wait}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - text: done
        general:
          - calls: [{write: {path: a}}]
            delay_ms: 5000
          - text: could only look
        "#,
        &[Facade::Subagent],
    )
    .await;
    let text = &results[0].text;
    assert!(text.starts_with("Successfully launched subagent\n\nSuccessfully launched parallel task:\n- Task ID: t_01 (also subagent_"), "{text}");
    let rest = "\n- Description: Test task\n- Priority: normal\n- Write Permissions: No\n- Max Execution Time: 300s\n\nThe task is now running in parallel. You can continue with other work.";
    assert!(text.contains(rest), "{text}");
    assert!(results[2].text.contains("could only look"));
    // R380: without writePermissions nothing is written.
    assert!(room.calls.lock().unwrap().is_empty());
    let limits = start_of(&room.child(1).await).unwrap().agent.limits;
    // R383 R421
    assert_eq!((limits.wall_ms_max, limits.tool_calls_max, limits.turns_max), (300_000, 100, 100));
    // R419
    assert_eq!(limits.process_bytes_max, Some(512 * 1024 * 1024));
}

// R388 R438 R455: paths are held to, in each style.
#[tokio::test(start_paused = true)]
async fn a_launch_writes_only_where_it_may() {
    let (results, room) = play(
        r#"
        boss:
          - calls:
              - subagent: {_text: "<description>Fix the imports</description><prompt>Fix all of them now.</prompt><writePermissions>true</writePermissions><allowedWritePaths>src/**</allowedWritePaths><priority>high</priority><maxExecutionTime>20000</maxExecutionTime>"}
          - calls: [{subagent: {action: wait}}]
          - text: done
        general:
          - calls: [{write: {path: src/a}}, {write: {path: docs/a}}]
          - text: done
        "#,
        &[Facade::Subagent],
    )
    .await;
    assert!(
        results[0].text.contains("- Priority: high\n- Write Permissions: Yes\n- Max Execution Time: 20s")
    );
    assert_eq!(*room.calls.lock().unwrap(), [r#"write {"path":"src/a"}"#]);
}

// R397 R411 R440, and R393: what is wrong counts as a mistake.
#[tokio::test(start_paused = true)]
async fn a_launch_says_what_is_wrong_and_when_there_are_too_many() {
    let (results, _) = play(
        r#"
        boss:
          - calls: [{subagent: {description: ab, prompt: short, priority: urgent}}]
          - calls:
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
          - text: done
        general:
          - text: late
            delay_ms: 60000
        "#,
        &[Facade::Subagent],
    )
    .await;
    assert_eq!(
        (results[0].text.as_str(), results[0].mistake),
        (
            "Invalid parameters: Description must be at least 3 characters, Prompt must be at least 10 characters, \
             priority must be 'low', 'normal', or 'high'",
            true
        )
    );
    let limit = "Maximum concurrent tasks limit reached. Please wait for other tasks to complete.";
    assert_eq!((results[6].text.as_str(), results[6].is_error), (limit, true));
}

// R414 A29: the second name of a task is understood wherever the first is.
#[tokio::test(start_paused = true)]
async fn a_task_is_found_by_its_second_name() {
    let (results, _) = play(
        r#"
        boss:
          - calls: [{subagent: {description: Test task, prompt: Do something interesting}}]
          - text: done
        general:
          - text: done
        "#,
        &[Facade::Subagent],
    )
    .await;
    let alias = results[0].text.split("(also ").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    let script = r#"
        boss:
          - calls: [{subagent: {description: Test task, prompt: Do something interesting}}]
          - calls: [{subagent: {action: wait, task_ids: [ALIAS]}}]
          - calls: [{subagent: {action: spawn, agent: general, task: more, depends_on: [ALIAS]}}]
          - calls: [{subagent: {action: collect, task_id: ALIAS}}]
          - text: done
        general:
          - text: found it
        "#;
    let script = Box::leak(script.replace("ALIAS", alias).into_boxed_str());
    let (results, _) = play(script, &[Facade::Subagent]).await;
    assert!(results[2].text.contains("\"t_02\""), "{}", results[2].text);
    assert!(results[3].text.contains("found it"), "{}", results[3].text);
}

// R138 R139 R235
#[test]
fn the_guidance_lists_the_agents_that_are_there() {
    let guidance = |agents: &[Arc<Definition>]| guidance(&SessionFacades::default(), agents, &|_| true);
    let text = guidance(&agents());
    let head = "Available specialist agents (use subagent tool to delegate):\n\n  \
                general       - the general\n  helper        - the helper\n  investigator  - the investigator\n  \
                picky         - the picky\n  slow          - the slow\n\n\
                You may also define new agents at runtime using the define action if the available specialists don't match \
                the task at hand.\n\nWhen delegating to subagents:\n";
    assert!(text.starts_with(head), "{text}");
    // R140-R150
    for line in [
        "Write relevant context to shared_context BEFORE spawning",
        "one clear objective per delegation",
        "Reference shared context keys",
        "Collect results promptly",
        "Define new agents when no registered specialist fits",
        "Delegate what you can do in a single tool call",
        "Spawn several agents for the same task",
        "Pass raw data in the task string",
        "Assume that the subagent knows your conversation history",
        "overly broad system prompts",
        // R183 R184
        "narrow ones, with the few tools their task needs",
        "Let subagents ask each other for work through shared context: split the work yourself",
        "1. BEFORE spawning",
        "2. TASK STRING",
        "3. DURING execution",
        "4. AFTER collecting",
    ] {
        assert!(text.contains(line), "{line}");
    }
    let many: Vec<_> = (0..26).map(|n| definition(&format!("agent{n}"), &[])).collect();
    let text = guidance(&many);
    assert!(text.contains("26 agents: use list_agents with a query") && !text.contains("agent7"), "{text}");
}

// R294-R301, R315, R318
#[test]
fn the_guidance_speaks_only_of_the_doors_there_are() {
    let of = |facades: &[Facade]| guidance(&facades.iter().copied().collect(), &agents(), &|_| true);
    let text = of(&[Facade::RunSubagent]);
    assert!(text.starts_with("### run_subagent: Delegate Complex Investigations"));
    for line in [
        "The subagent has its own context, uses tools independently, and returns focused findings to you.",
        "When NOT to use",
        "Writing Effective Tasks",
        "JWT token handling",
        "UserService.updateProfile()",
        "\"Check the auth code\"",
        "\"Read src/utils/helper.ts\"",
        "max_tool_calls: 12",
        "fetchUserData()",
    ] {
        assert!(text.contains(line), "{line}");
    }
    assert!(!text.contains("Available specialist agents"));
    assert_eq!(of(&[Facade::SharedContext, Facade::Agent]), "");
    let alone = of(&[Facade::Subagent]);
    assert!(!alone.to_lowercase().contains("shared") && alone.contains("Do NOT:"), "{alone}");
}

#[tokio::test(start_paused = true)]
async fn only_who_can_delegate_is_told_how() {
    let script = "boss:\n  - text: done\n";
    for (depth, told) in [(1, true), (0, false)] {
        let room = room(script, &[Facade::Subagent], depth, MemoryStore::new());
        room.run().await;
        let start = start_of(&room.store.records(&TaskId::root("s1")).await.unwrap()).unwrap();
        assert_eq!(start.agent.system_prompt.contains("Available specialist agents"), told, "depth {depth}");
    }
}

// R429 R430 R431 R432 R433 R434 R435
#[test]
fn a_launch_is_described_only_where_that_is_asked_for() {
    let (usual, with) = (spec(&[Facade::Subagent], "subagent"), spec(&[Facade::Launch], "subagent"));
    for part in [
        "Launch a parallel autonomous task that runs independently without user interaction. The task executes concurrently",
        "IMPORTANT: Parallel tasks run independently and do not block your execution.",
        "maxExecutionTime: (optional) Maximum execution time in milliseconds (default: 300000, max: 300000)",
        "<description>Analyze authentication code</description>",
        "\"allowedWritePaths\": [\"src/**/*.ts\", \"src/**/*.tsx\"]",
        "\"description\": \"Analyze backend code\"",
        "File write operations require explicit permissions and paths",
    ] {
        assert!(with.description.contains(part) && !usual.description.contains(part), "{part}");
    }
    let schema: serde_json::Value = serde_json::from_str(&with.input_schema).unwrap();
    assert!(schema["properties"]["_text"].is_object() && schema["properties"]["action"].is_object());
    assert!(schema["required"].is_null(), "a launch has no action");
}

/// What models read is product text: a change of it is looked at. `UPDATE_PROMPTS=1` writes the file anew.
#[test]
fn what_models_read_is_as_it_was_agreed() {
    let facades: SessionFacades = Facade::ALL.iter().copied().collect();
    let mut text = guidance(&facades, &agents(), &|_| true);
    for spec in facades.specs(&agents()) {
        text += &format!("\n\n======== {} ========\n{}\n{}", spec.name, spec.description, spec.input_schema);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/prompts.txt");
    if std::env::var_os("UPDATE_PROMPTS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let agreed = std::fs::read_to_string(path).unwrap();
    let differs = text.lines().zip(agreed.lines()).find(|(now, before)| now != before);
    assert!(differs.is_none() && text.len() == agreed.len(), "{differs:?}");
}

#[test]
fn a_door_is_named_by_its_tool() {
    for facade in Facade::ALL {
        assert_eq!(Facade::parse(facade.wire()).unwrap(), *facade);
    }
    assert_eq!(Facade::parse("Run-Subagent").unwrap(), Facade::RunSubagent);
    assert!(Facade::parse("teleport").unwrap_err().advice().unwrap().contains("run_subagent"));
    let no_agents: Vec<Arc<Definition>> = Vec::new();
    assert!(
        no_agents.list().is_empty()
            && json!(SessionFacades::default().costs(&no_agents)).to_string().contains("guidance")
    );
}

// R261
#[tokio::test(start_paused = true)]
async fn what_a_person_says_next_begins_with_new_investigations() {
    let five: String =
        (0..5).map(|_| format!("          - calls: [{{run_subagent: {{task: \"{GOOD}\"}}}}]\n")).collect();
    let script = format!(
        "        boss:\n{five}          - text: first\n{five}          - text: second\n        investigator:\n          - text: found\n"
    );
    let room = room(Box::leak(script.into_boxed_str()), &[Facade::RunSubagent], 1, MemoryStore::new());
    assert_eq!(room.run().await.text, "first");
    let more = ResumeMode::Message("And the rest?".to_owned());
    let outcome = room.session.resume(TaskId::root("s1"), more).await.unwrap();
    let results = results(&room.store).await;
    assert_eq!((outcome.text.as_str(), results.len()), ("second", 10));
    assert!(results.iter().all(|result| !result.is_error), "{results:?}");
}

// R321
#[tokio::test(start_paused = true)]
async fn what_an_investigation_found_is_kept_where_there_is_a_shared_context() {
    let script = r#"
        boss:
          - calls: [{run_subagent: {task: "Find out how tokens are checked in src/auth. Return the lines."}}]
          - calls: [{shared_context: {action: read, key: findings_t_01}}]
          - text: done
        investigator:
          - text: "<findings>a.rs:3 and much more</findings> <summary>It leaks.</summary>"
        "#;
    let (told, _) = play(script, &[Facade::RunSubagent, Facade::SharedContext]).await;
    assert!(told[0].text.ends_with("\n\n[kept in shared context as `findings_t_01`]"), "{}", told[0].text);
    let kept: serde_json::Value = serde_json::from_str(&told[1].text).unwrap();
    assert_eq!(
        (&kept["value"], &kept["written_by"]),
        (&json!("It leaks."), &json!("subagent:investigator:t_01"))
    );
    let (told, _) = play(script, &[Facade::RunSubagent]).await;
    assert!(told[0].text.ends_with("Tool calls made: 0"), "{}", told[0].text);

    // Made again after a crash, it is kept once.
    let facades = [Facade::RunSubagent, Facade::SharedContext];
    let whole = room(script, &facades, 1, MemoryStore::new());
    whole.run().await;
    for died_after in 1..whole.store.writes() {
        let again = room(script, &facades, 1, whole.store.as_of(died_after));
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        again.session.resume(TaskId::root("s1"), onward).await.unwrap();
        let keys = again.session.context_keys().await.unwrap();
        assert_eq!((keys.len(), keys[0].version), (1, 1), "write {died_after}");
    }
}

// R425 R428 R441 R450 R451 R454
#[tokio::test(start_paused = true)]
async fn launched_tasks_give_their_places_back_and_waiting_calls_work_beside_them() {
    let (results, room) = play(
        r#"
        boss:
          - calls:
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Bad agent, prompt: Do something interesting, agent: nobody}
          - calls: [{Agent: {prompt: Say hello., type: helper}}]
          - calls: [{subagent: {action: list_tasks}}]
          - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
          - calls: [{subagent: {action: status, task_id: t_01}}]
          - calls:
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
              - subagent: {description: Test task, prompt: Do something interesting}
          - text: done
        general:
          - fail: {kind: unauthorised, message: the key is wrong}
            delay_ms: 5000
        helper:
          - text: hello
        "#,
        &[Facade::Subagent, Facade::Agent],
    )
    .await;
    let refused = "Failed to create parallel task: no agent is called `nobody`";
    assert!(results[4].is_error && results[4].text.starts_with(refused), "{}", results[4].text);
    assert_eq!(results[5].text, "hello", "one that is waited for, while four others run");
    let listed: serde_json::Value = serde_json::from_str(&results[6].text).unwrap();
    let running =
        listed["tasks"].as_array().unwrap().iter().filter(|task| task["status"] == "running").count();
    assert_eq!(running, 4, "{listed}");
    let ended: serde_json::Value = serde_json::from_str(&results[8].text).unwrap();
    assert_eq!(ended["status"], "failed");
    assert!(ended["error"].as_str().unwrap().starts_with("Model API error: "), "{ended}");
    assert!(
        results[9..14].iter().all(|result| result.text.starts_with("Successfully launched")),
        "{results:?}"
    );
    assert_eq!(room.store.tasks(100).await.unwrap().len(), 11);
}

// R335 R338 R350 R353 R354
#[test]
fn the_guide_has_numbers_to_begin_with() {
    let guide = include_str!("../../../../docs/delegation.md");
    for told in [
        "about 5 for one tight question, about 20 for research that spreads out, 50 and more",
        "about 1024 for short reasoning, about 4096 for a summary of research, 8192 and more",
        "some 20,000 tokens before it has done anything",
        "one provider counts 346",
        "142 of them are about 4500",
        "Give an agent that changes something (`edit`, `write`, `bash`) a `trace_hook`",
        "OpenAI ignores it and goes by effort",
        "Narrow specialists with few tools",
        "Children do not ask for children through shared context",
    ] {
        assert!(guide.contains(told), "{told}");
    }
}

/// A room where somebody is asked about calls of this tool.
fn asking(script: &'static str, tool: &str) -> Room {
    asking_through(script, tool, &[Facade::Launch], DEFAULT_LIMITS)
}

fn asking_through(script: &'static str, tool: &str, doors: &[Facade], rules: BoardLimits) -> Room {
    let rule = GrantRule { pattern: ToolPattern::tool(tool), verdict: RuleVerdict::Ask };
    let asks = Rights { rules: vec![rule], ..Rights::default() };
    room_of(script, doors, 1, MemoryStore::new(), (ApprovalPolicy::new(ApprovalHandling::Ask), asks), rules)
}

// R412 R413
#[tokio::test(start_paused = true)]
async fn a_launch_is_asked_about_with_what_matters_and_a_no_is_told_in_the_words_of_the_seed() {
    let room = asking(
        r#"
        boss:
          - calls: [{subagent: {description: Write the docs, prompt: "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789", writePermissions: true, allowedWritePaths: [docs/**], priority: high}}]
          - calls: [{subagent: {description: Look around, prompt: "Look at everything here."}}]
          - calls: [{subagent: {description: Look again, prompt: "Look at everything here."}}]
          - calls: [{subagent: {action: wait, mode: all}}]
          - text: done
        general:
          - text: looked
        "#,
        "subagent",
    );
    let answering = async {
        let first = question(&room.store).await;
        say(&room.store, &first, answer(&first, posse_core::approval::ApprovalVerdict::Deny)).await;
        let second = question(&room.store).await;
        let reason = Some("do it yourself".to_owned());
        let no = answer(&second, posse_core::approval::ApprovalVerdict::Deny);
        say(&room.store, &second, posse_core::approval::ApprovalAnswer { reason, ..no }).await;
        let third = question(&room.store).await;
        assert!(room.store.tasks(9).await.unwrap().len() == 1, "nothing is launched before the yes");
        say(&room.store, &third, answer(&third, posse_core::approval::ApprovalVerdict::Approve)).await;
        (first, second)
    };
    let (outcome, (first, second)) = tokio::join!(room.run(), answering);
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    let prompt = ["0123456789"; 10].join(" ");
    let expected = json!({
        "tool": "subagent", "description": "Write the docs", "prompt": format!("{}...", &prompt[..100]),
        "writePermissions": true, "priority": "high",
    });
    assert_eq!(first.request.shown, Some(expected));
    assert!(first.request.arguments.contains(&prompt), "the whole prompt is there");
    let expected = json!({
        "tool": "subagent", "description": "Look around", "prompt": "Look at everything here.",
        "writePermissions": false, "priority": "normal",
    });
    assert_eq!(second.request.shown, Some(expected));
    let results = results(&room.store).await;
    assert_eq!(results[0].text, "User denied subagent creation");
    assert_eq!(results[1].text, "User denied subagent creation: do it yourself");
    assert!(results[2].text.starts_with("Successfully launched subagent"), "{}", results[2].text);
    assert_eq!(room.store.tasks(9).await.unwrap().len(), 2);
}

// R410 R411
#[tokio::test(start_paused = true)]
async fn nobody_is_asked_about_a_launch_for_which_there_is_no_place() {
    let room = asking(
        r#"
        boss:
          - calls: [{subagent: {description: Look around, prompt: "Look at everything here."}}]
          - calls: [{subagent: {description: Look around, prompt: "Look at everything here."}}]
          - calls: [{subagent: {description: Look around, prompt: "Look at everything here."}}]
          - calls: [{subagent: {description: Look around, prompt: "Look at everything here."}}]
          - calls: [{subagent: {description: Look around, prompt: "Look at everything here."}}]
          - calls: [{subagent: {description: Look around, prompt: "Look at everything here."}}]
          - calls: [{subagent: {description: x, prompt: "too short"}}]
          - text: done
        general:
          - {text: looked, delay_ms: 3000}
        "#,
        "subagent",
    );
    let answering = async {
        let first = question(&room.store).await;
        let yes = answer(&first, posse_core::approval::ApprovalVerdict::Approve);
        say(
            &room.store,
            &first,
            posse_core::approval::ApprovalAnswer { scope: ApprovalScope::Session, ..yes },
        )
        .await;
    };
    let (outcome, ()) = tokio::join!(room.run(), answering);
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    let results = results(&room.store).await;
    let limit = "Maximum concurrent tasks limit reached. Please wait for other tasks to complete.";
    assert_eq!(results[5].text, limit);
    assert!(results[6].text.starts_with("Invalid parameters: "), "{}", results[6].text);
    // What cannot be launched is not even decided about.
    let records = room.store.records(&TaskId::root("s1")).await.unwrap();
    let resolved = records.iter().filter(|record| matches!(record, Record::Resolved { .. })).count();
    assert_eq!(resolved, 5);
}

// R410
// Seen to fail without `check_room`.
#[tokio::test(start_paused = true)]
async fn nobody_is_asked_through_any_door_when_there_is_no_place() {
    let spawn = "- calls: [{subagent: {action: spawn, agent: general, task: look}}]\n          ";
    for (door, refused) in [
        ("subagent: {action: spawn, agent: general, task: look}", "MAX_TASKS_EXCEEDED"),
        ("subagent: {action: spawn, agent: general}", "INVALID_REQUEST"),
        ("Agent: {type: general, prompt: look}", "5 tasks are running or not collected"),
        (
            "run_subagent: {task: \"Look at everything that is here, please.\"}",
            "5 tasks are running or not collected",
        ),
        ("run_subagent: {task: \"Look.\"}", "too brief"),
    ] {
        let script = format!(
            "\n        boss:\n          {}- calls: [{{{door}}}]\n          - text: done\n        general:\n          - {{text: looked, delay_ms: 3000}}\n        ",
            spawn.repeat(5)
        );
        let doors = [Facade::Subagent, Facade::Agent, Facade::RunSubagent];
        let rules = BoardLimits { open_max: 5, ..DEFAULT_LIMITS };
        let room = asking_through(script.leak(), "subagent", &doors, rules);
        let answering = async {
            let first = question(&room.store).await;
            let yes = answer(&first, posse_core::approval::ApprovalVerdict::Approve);
            say(
                &room.store,
                &first,
                posse_core::approval::ApprovalAnswer { scope: ApprovalScope::Session, ..yes },
            )
            .await;
        };
        let (outcome, ()) = tokio::join!(room.run(), answering);
        assert_eq!(outcome.status(), OutcomeStatus::Completed);
        let results = results(&room.store).await;
        assert!(results[5].text.contains(refused), "{door}: {}", results[5].text);
        let records = room.store.records(&TaskId::root("s1")).await.unwrap();
        let resolved = records.iter().filter(|record| matches!(record, Record::Resolved { .. })).count();
        assert_eq!(resolved, 5, "{door}");
    }
}

#[tokio::test(start_paused = true)]
async fn others_go_on_while_one_waits_and_its_status_says_so() {
    let room = asking(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: general, task: write}}, {subagent: {action: spawn, agent: helper, task: look}}]
          - calls: [{subagent: {action: wait, task_ids: [t_02]}}]
          - calls: [{subagent: {action: status, task_id: t_01}}]
          - calls: [{subagent: {action: wait, mode: all}}]
          - text: done
        general:
          - calls: [{write: {path: a}}]
          - text: wrote
        helper:
          - calls: [{read: {path: a}}]
          - text: looked
        "#,
        "write",
    );
    let answering = async {
        loop {
            let parked = question(&room.store).await;
            let told = results(&room.store).await;
            if told.len() < 4 {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
            return say(
                &room.store,
                &parked,
                answer(&parked, posse_core::approval::ApprovalVerdict::Approve),
            )
            .await;
        }
    };
    let (outcome, ()) = tokio::join!(room.run(), answering);
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    let results = results(&room.store).await;
    assert!(results[2].text.contains("\"status\":\"completed\""), "{}", results[2].text);
    let status: serde_json::Value = serde_json::from_str(&results[3].text).unwrap();
    assert_eq!(status["waiting_for_approval"], json!({ "id": "a1", "tool": "write" }));
    assert_eq!(status["activity"], "waiting for approval: write a");
    let calls = room.calls.lock().unwrap().clone();
    assert_eq!(calls, [r#"read {"path":"a"}"#, r#"write {"path":"a"}"#]);
    let parked = room.store.approvals(ApprovalQuery::Newest(9)).await.unwrap();
    assert_eq!(parked[0].request.path, [TaskId::root("s1")]);
    assert!(matches!(parked[0].state, ApprovalState::Answered(_)));
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_the_session_is_heard_by_those_who_wait_already() {
    let room = asking(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: general, task: write}}, {subagent: {action: spawn, agent: general, task: write}}]
          - calls: [{subagent: {action: wait, mode: all}}]
          - text: done
        general:
          - calls: [{write: {path: a}}]
          - text: wrote
        "#,
        "write",
    );
    let answering = async {
        let both = loop {
            let open = room.store.approvals(ApprovalQuery::Open).await.unwrap();
            if open.len() == 2 {
                break open;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let yes = answer(&both[1], posse_core::approval::ApprovalVerdict::Approve);
        say(
            &room.store,
            &both[1],
            posse_core::approval::ApprovalAnswer { scope: ApprovalScope::Session, ..yes },
        )
        .await;
    };
    let (outcome, ()) = tokio::join!(room.run(), answering);
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    assert_eq!(room.calls.lock().unwrap().len(), 2);
    let first = room.store.approval("a1").await.unwrap();
    assert_eq!(first.to_json()["answer"]["by"], "earlier answer a2");
}

// S15 G25 Seen to fail with nothing in `ANSWERS`.
#[tokio::test(start_paused = true)]
async fn what_a_child_answers_is_data_to_its_parent() {
    for text in CORPUS {
        let script = format!(
            r#"
            boss:
              - calls: [{{Agent: {{prompt: "Look at it.", type: helper}}}}]
              - calls: [{{subagent: {{action: spawn, agent: helper, task: "Look at it."}}}}]
              - calls: [{{subagent: {{action: wait, timeout_ms: 5000}}}}]
              - calls: [{{subagent: {{action: collect, task_id: t_02}}}}]
              - calls: [{{bash: {{command: id}}}}]
              - text: done
            helper:
              - text: {}
            "#,
            json!(text)
        );
        let (told, room) = play(script.leak(), &[Facade::Agent, Facade::Subagent]).await;
        let records = room.store.records(&TaskId::root("s1")).await.unwrap();
        let effects = ["Agent", "subagent"].map(|tool| (tool.to_owned(), ToolEffect::Idempotent));
        let run = replay(&records, effects.into_iter().collect::<std::collections::BTreeMap<_, _>>(), 0)
            .unwrap()
            .run;
        let heard = run.messages().iter().find_map(|message| match message {
            Message::Results { results } => Some(results[0].text.as_str()),
            Message::User { .. } | Message::Assistant { .. } => None,
        });
        let (heard, answer) = (heard.unwrap(), told[0].text.as_str());
        assert_eq!(heard, posse_core::provenance::marked("Agent", answer), "{text}");
        // In the other form it is a value of JSON, which it cannot end either.
        let collected: serde_json::Value = serde_json::from_str(&told[3].text).unwrap();
        assert_eq!(collected["result"].as_str().map(str::trim), Some(text.trim()), "{collected}");
        assert!(told[4].text.starts_with("there is no tool `bash`"), "{text}: {}", told[4].text);
        assert_eq!(room.store.tasks(9).await.unwrap().len(), 3, "{text}");
    }
}

/// The prompt of each reader against the tools that it is shown.
#[tokio::test(start_paused = true)]
async fn no_prompt_names_a_tool_that_its_reader_lacks() {
    let script = r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: look}}, {subagent: {action: spawn, agent: general, task: look}}]
          - calls: [{subagent: {action: wait, mode: all}}]
          - text: done
        helper:
          - text: looked
        general:
          - text: looked
        "#;
    let room =
        room(script, &[Facade::Subagent, Facade::SharedContext, Facade::RunSubagent], 1, MemoryStore::new());
    room.run().await;
    let prompt = |records: &[Record]| start_of(records).unwrap().agent.system_prompt.clone();
    let (helper, general) = (prompt(&room.child(1).await), prompt(&room.child(2).await));
    assert!(!helper.contains("shared context") && helper.contains("You are a subagent."), "{helper}");
    assert!(general.contains("Write detailed findings to shared context"), "{general}");
    let boss = prompt(&room.store.records(&TaskId::root("s1")).await.unwrap());
    assert!(boss.contains("→ use read") && boss.contains("shared_context"), "{boss}");
    assert!(!boss.contains("→ use grep") && !boss.contains("→ use ls"), "it has neither: {boss}");
    let alone: SessionFacades = [Facade::Subagent].into_iter().collect();
    assert!(alone.specs(&agents()).iter().all(|spec| !spec.description.contains("shared_context")));
    // A child that may delegate and has no shared context, in a session that has it.
    let both: SessionFacades = [Facade::Subagent, Facade::SharedContext].into_iter().collect();
    let offered = |tools: &[&str]| {
        let grant = Grant::root(tools.iter().map(|tool| (*tool).to_owned()), 1);
        let specs = both.offered(&agents(), &grant).unwrap();
        specs.into_iter().find(|spec| spec.name == "subagent").unwrap().description
    };
    assert!(!offered(&["subagent"]).contains("shared_context"));
    assert!(offered(&["subagent", "shared_context"]).contains("Put larger context into shared_context"));
}
