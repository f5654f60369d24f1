//! Delegation through the `subagent` and `shared_context` tools.

use std::sync::{Arc, Mutex};

use posse_core::agent::Agent;
use posse_core::definition::{
    AgentMode, AnswerRules, Definition, DefinitionOrigin, DefinitionScope, Format, ModelChoice, TaskIn,
};
use posse_core::event::Event;
use posse_core::grant::{Grant, Rights};
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::Record;
use posse_core::limits::Limits;
use posse_core::message::ToolResult;
use posse_core::outcome::OutcomeStatus;
use posse_core::{Error, ErrorCode, Result};
use posse_models::scripted::ScriptedModel;
use posse_runtime::budget::ModelTariff;
use posse_runtime::driver::ResumeMode;
use posse_runtime::observe::{Observers, TraceEvent, TraceHook};
use posse_runtime::ports::{JournalStore, ModelResolver, OpenModel, TaskRow};
use posse_runtime::session::{
    Session, SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers,
};
use posse_runtime::toolbox::Toolbox;
use posse_testkit::memory::MemoryStore;
use serde_json::{Value, json};

pub struct Script(pub &'static str);

impl ModelResolver for Script {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        let model = ScriptedModel::parse("scripted:test", self.0, Some(agent.name.as_str()))?;
        Ok(OpenModel { model: Arc::new(model), tariff: ModelTariff::default() })
    }

    fn resolve(&self, reference: &str) -> Result<String> {
        match reference {
            "unknown" => Err(Error::new(ErrorCode::ModelUnknown, "there is no such model")),
            known => Ok(known.to_owned()),
        }
    }
}

pub fn agent(name: &str, tools: Option<&[&str]>) -> Agent {
    let (name, prompt) = (AgentName::parse(name).unwrap(), format!("You are the {name}."));
    Agent {
        rights: tools.map_or_else(Rights::default, |tools| Rights::only(tools.iter().copied())),
        limits: Limits { turns_max: 31, ..Limits::default() },
        ..Agent::new(name, "scripted:test", prompt)
    }
}

pub fn definition(name: &str, tools: &[&str]) -> Arc<Definition> {
    let origin = DefinitionOrigin {
        path: String::new(),
        format: Format::Native,
        scope: DefinitionScope::User,
        hash: String::new(),
    };
    let (description, prompt) = (format!("the {name}"), format!("You are the {name}."));
    let mut definition = Definition::new(AgentName::parse(name).unwrap(), origin, description, prompt);
    definition.rights = Rights::only(tools.iter().copied());
    Arc::new(definition)
}

pub fn session(script: &'static str, store: Arc<MemoryStore>, observers: Observers) -> Arc<Session> {
    session_where(|_| false, script, store, observers)
}

pub fn session_where(
    lives: fn(&TaskRow) -> bool,
    script: &'static str,
    store: Arc<MemoryStore>,
    observers: Observers,
) -> Arc<Session> {
    session_of("test", lives, script, store, observers)
}

/// As the process with this name has it.
pub fn session_of(
    owner: &str,
    lives: fn(&TaskRow) -> bool,
    script: &'static str,
    store: Arc<MemoryStore>,
    observers: Observers,
) -> Arc<Session> {
    SessionBuilder {
        id: "s1".to_owned(),
        sources: SessionSources {
            owner: owner.to_owned(),
            lives,
            store,
            models: Arc::new(Script(script)),
            agents: Arc::new(vec![
                definition("helper", &["shared_context"]),
                definition("delegator", &["shared_context", "subagent"]),
                Arc::new(Definition {
                    model: ModelChoice { candidates: vec!["unknown".to_owned()], ..ModelChoice::default() },
                    task_in: Some(TaskIn::System),
                    prompt: "Do this: {{task}}!".to_owned(),
                    ..(*definition("picky", &["shared_context", "nowhere"])).clone()
                }),
                definition("toolless", &["nowhere"]),
                definition("scribe", &["shared_context", "write", "bash"]),
                definition("talker", &["ask_parent", "report_progress"]),
                Arc::new(Definition {
                    answer: AnswerRules { verify: vec!["cargo test".to_owned()], ..AnswerRules::default() },
                    ..(*definition("verified", &["shared_context"])).clone()
                }),
                Arc::new(Definition {
                    mode: AgentMode { hidden: true, ..AgentMode::default() },
                    ..(*definition("ghost", &["shared_context"])).clone()
                }),
            ]),
        },
        policy: SessionPolicy::new(Grant::root(
            ["subagent", "shared_context", "ask_parent", "report_progress"].map(str::to_owned),
            1,
        )),
        place: SessionPlace::new(".", Toolbox::default()),
        watchers: SessionWatchers { observers, ..SessionWatchers::default() },
    }
    .build()
    .unwrap()
}

/// Plays a script and returns the orchestrator's tool results in order.
pub async fn play(script: &'static str) -> (Vec<ToolResult>, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let session = session(script, store.clone(), Observers::default());
    let outcome =
        session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    (results(&store).await, store)
}

pub async fn results(store: &MemoryStore) -> Vec<ToolResult> {
    results_of(store, &TaskId::root("s1")).await
}

/// In the order of the calls.
pub async fn results_of(store: &MemoryStore, task: &TaskId) -> Vec<ToolResult> {
    let records = store.records(task).await.unwrap();
    let results = records.into_iter().filter_map(|record| match record {
        Record::Done { result, .. } => Some(result),
        _ => None,
    });
    let mut results: Vec<ToolResult> = results.collect();
    results.sort_by_key(|result| result.key);
    results
}

#[tokio::test]
async fn whoever_may_not_use_bash_gets_no_commands_run_by_delegating() {
    let (results, store) = play(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: verified, task: look}}]
          - text: done
        "#,
    )
    .await;
    assert!(results[0].is_error && results[0].text.contains("INVALID_REQUEST"), "{}", results[0].text);
    assert!(
        results[0].text.contains("the result cannot be verified with `cargo test`"),
        "{}",
        results[0].text
    );
    assert_eq!(store.tasks(10).await.unwrap().len(), 1, "no task was begun");
}

// R094, R098, R106, R130, R170
#[tokio::test(start_paused = true)]
async fn a_task_is_spawned_polled_and_collected_once() {
    let (results, store) = play(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"completed"'
            delay_ms: 1000
          - calls: [{subagent: {action: collect, task_id: t_01}}, {subagent: {action: collect, task_id: t_01}}]
          - calls: [{shared_context: {action: read, key: found}}]
          - text: done
        helper:
          - calls: [{shared_context: {action: write, key: found, value: gold}}]
            delay_ms: 1500
          - text: found it
        "#,
    )
    .await;
    assert_eq!(results[0].text, r#"{"agent":"helper","status":"running","task_id":"t_01"}"#);
    assert!(results[1].text.contains("TASK_NOT_READY"), "{}", results[1].text);
    let collected = &results[results.len() - 3].text;
    assert_eq!(
        *collected,
        r#"{"agent":"helper","result":"found it","status":"completed","task_id":"t_01","turns_used":2}"#
    );
    assert!(results[results.len() - 2].text.contains("TASK_NOT_FOUND"));
    let read = &results[results.len() - 1].text;
    assert!(
        read.contains(r#""value":"gold""#) && read.contains(r#""written_by":"subagent:helper:t_01""#),
        "{read}"
    );
    let Some(Record::Started(start)) =
        store.records(&TaskId::child("s1", 1)).await.unwrap().into_iter().next()
    else {
        panic!()
    };
    assert!(start.agent.system_prompt.contains("You are a subagent. Keep your final response concise"));
    assert_eq!(
        start.grant.tools().collect::<Vec<_>>(),
        ["shared_context"],
        "a subagent never gets `subagent`"
    );
}

// R117, R118, R127, R128, R132-R134
#[tokio::test(start_paused = true)]
async fn the_sixth_running_task_is_refused_and_errors_say_what_to_do() {
    let (results, _) = play(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1"}
              - subagent: {action: spawn, agent: helper, task: "2"}
              - subagent: {action: spawn, agent: helper, task: "3"}
              - subagent: {action: spawn, agent: helper, task: "4"}
              - subagent: {action: spawn, agent: helper, task: "5"}
              - subagent: {action: spawn, agent: helper, task: "6"}
              - subagent: {action: spawn, agent: nobody, task: x}
              - subagent: {action: define, name: helper, description: d, system_prompt: p}
              - subagent: {action: define, name: Bad Name, description: d, system_prompt: p}
              - subagent: {action: define, name: new, description: d, system_prompt: p, tools: [teleport]}
              - shared_context: {action: write, key: Bad-Key, value: x}
              - shared_context: {action: read, key: nothing}
          - text: done
        helper:
          - text: late
            delay_ms: 100000
        "#,
    )
    .await;
    let codes = [
        "MAX_TASKS_EXCEEDED",
        "AGENT_NOT_FOUND",
        "AGENT_ALREADY_EXISTS",
        "INVALID_AGENT_NAME",
        "INVALID_TOOL",
        "INVALID_KEY",
        "KEY_NOT_FOUND",
    ];
    for (result, code) in results[5..].iter().zip(codes) {
        assert!(
            result.is_error && result.text.contains(&format!("\"error\":\"{code}\"")),
            "{code}: {}",
            result.text
        );
        assert!(result.text.contains("\"hint\""), "{}", result.text);
    }
}

// R185
#[tokio::test(start_paused = true)]
async fn polls_answer_at_once_and_are_no_circle_and_wait_ms_waits_for_the_end() {
    let polls = "          - calls: [{subagent: {action: status, task_id: t_01}}]\n".repeat(12)
        + &"          - calls: [{subagent: {action: collect, task_id: t_01}}]\n".repeat(12);
    let script = format!(
        r#"
        boss:
          - calls: [{{subagent: {{action: spawn, agent: helper, task: look}}}}]
{polls}
          - calls: [{{subagent: {{action: status, task_id: t_01, wait_ms: 1000}}}}]
          - calls: [{{subagent: {{action: collect, task_id: t_01, wait_ms: 1000}}}}]
          - calls: [{{subagent: {{action: collect, task_id: t_01, wait_ms: 45000}}}}]
          - text: done
        helper:
          - text: found it
            delay_ms: 40000
        "#
    );
    let (results, _) = play(script.leak()).await;
    let answers: Vec<Value> =
        results.iter().map(|result| serde_json::from_str(&result.text).unwrap()).collect();
    for answer in &answers[1..13] {
        let told = (&answer["status"], &answer["elapsed_s"], &answer["retry_after_ms"]);
        assert_eq!(told, (&json!("running"), &json!(0), &json!(2000)), "{answer}");
    }
    for answer in &answers[13..25] {
        let told = (&answer["error"], &answer["retry_after_ms"]);
        assert_eq!(told, (&json!("TASK_NOT_READY"), &json!(2000)), "{answer}");
        assert!(answer["message"].as_str().unwrap().ends_with("in 0 s"), "{answer}");
    }
    assert_eq!(answers[25]["elapsed_s"], 1, "{}", answers[25]);
    assert!(answers[26]["message"].as_str().unwrap().ends_with("in 2 s"), "{}", answers[26]);
    assert_eq!(answers[27]["result"], "found it", "{}", answers[27]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_longer_than_any_call_gets_is_lowered_and_that_is_said() {
    let (results, _) = play(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
          - calls: [{subagent: {action: wait, timeout_ms: 60000}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 45001}}]
          - calls: [{subagent: {action: wait, timeout_ms: 45000}}]
          - calls: [{subagent: {action: collect, task_id: t_01, wait_ms: 50000}}]
          - text: done
        helper:
          - {text: looked, delay_ms: 130000}
        "#,
    )
    .await;
    let answers: Vec<Value> =
        results.iter().map(|result| serde_json::from_str(&result.text).unwrap()).collect();
    assert_eq!(answers[1]["warnings"], json!(["timeout_ms: 60000 was lowered to 45000"]), "{}", answers[1]);
    assert_eq!(
        (&answers[1]["timed_out"], &answers[1]["running"][0]["elapsed_s"]),
        (&json!(true), &json!(45))
    );
    assert_eq!(answers[2]["warnings"], json!(["wait_ms: 45001 was lowered to 45000"]), "{}", answers[2]);
    assert_eq!(answers[3]["warnings"], Value::Null, "{}", answers[3]);
    assert_eq!(answers[4]["warnings"], json!(["wait_ms: 50000 was lowered to 45000"]), "{}", answers[4]);
}

/// What had to be done differently is said in the task's own warnings; a list of tools that names nothing is an error.
// R048, R053
#[tokio::test(start_paused = true)]
async fn a_definition_is_fitted_to_what_there_is_and_that_is_said() {
    let (results, store) = play(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: toolless, task: look}}, {subagent: {action: spawn, agent: picky, task: "look {{task}}"}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - text: done
        picky:
          - text: found it
        "#,
    )
    .await;
    assert!(
        results[0].is_error && results[0].text.contains("none of the tools of `toolless` exists"),
        "{}",
        results[0].text
    );
    let records = store.records(&TaskId::child("s1", 1)).await.unwrap();
    let (Some(Record::Started(start)), Some(Record::Finished { outcome, .. })) =
        (records.first(), records.last())
    else {
        panic!("{records:?}");
    };
    assert_eq!(start.agent.model, "scripted:test");
    assert!(outcome.warnings[0].contains("do not exist here: nowhere"), "{:?}", outcome.warnings);
    assert!(
        outcome.warnings[1].contains("the model `unknown` of `picky` cannot be used"),
        "{:?}",
        outcome.warnings
    );
    let (system, first) = start.opening();
    assert!(system.starts_with("Do this: look {{task}}!\n"), "{system}");
    assert_eq!(first, "Begin.");
}

#[tokio::test(start_paused = true)]
async fn a_child_nobody_waited_for_is_ended_written_down_and_reported() {
    let child = TaskId::child("s1", 1);
    let ended = Arc::new(Mutex::new(Vec::new()));
    let (log, of) = (ended.clone(), child.clone());
    let hook = TraceHook(move |task: &TaskId, trace: &TraceEvent<'_>| {
        if let (true, TraceEvent::Event(Event::Finished { status, .. })) = (*task == of, trace) {
            log.lock().unwrap().push(*status);
        }
    });
    let script = "{boss: [{calls: [{subagent: {action: spawn, agent: helper, task: look}}]}, {text: bye}], helper: [{text: late, delay_ms: 100000}]}";
    let store = Arc::new(MemoryStore::new());
    let session = session(script, store.clone(), Observers::new(vec![Arc::new(hook)]));
    let outcome =
        session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    assert_eq!(store.task(&child).await.unwrap().state.wire(), "cancelled");
    assert_eq!(*ended.lock().unwrap(), [OutcomeStatus::Cancelled]);
    let warning = "t_01 was still running when its orchestrator ended, and was cancelled";
    assert_eq!(outcome.warnings, [warning]);
}

#[tokio::test(start_paused = true)]
async fn children_outlive_the_process_of_their_orchestrator() {
    let script = r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: one}}, {subagent: {action: spawn, agent: helper, task: two}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls: [{subagent: {action: collect, task_id: t_01}}, {subagent: {action: collect, task_id: t_02}}]
          - text: done
        helper:
          - text: found it
            delay_ms: 2000
        "#;
    let first = Arc::new(MemoryStore::new());
    let outcome = session(script, first.clone(), Observers::default())
        .run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new())
        .await;
    assert_eq!(outcome.unwrap().text, "done");
    for died_after in 1..=first.writes() {
        let store = Arc::new(first.as_of(died_after));
        let session = session(script, store.clone(), Observers::default());
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = session.resume(TaskId::root("s1"), onward).await.unwrap();
        assert_eq!(outcome.text, "done", "write {died_after}");
        let spawned = store.tasks(100).await.unwrap().iter().filter(|row| row.parent.is_some()).count();
        let mut used = outcome.usage;
        for row in store.tasks(100).await.unwrap().iter().filter(|row| row.parent.is_some()) {
            if let Some(Record::Finished { outcome, .. }) = store.records(&row.id).await.unwrap().last() {
                used.add(&outcome.usage);
            }
        }
        // A task that was answered already is not charged again.
        if died_after < first.writes() {
            let spent = (session.spent().input_tokens, session.spent().output_tokens);
            assert_eq!(spent, (used.input, used.output), "write {died_after}: each token once");
        }
        let doubted = outcome.in_doubt.len();
        assert!(spawned + doubted >= 2, "write {died_after}: {spawned} children, {doubted} in doubt");
    }
}

#[tokio::test(start_paused = true)]
async fn many_results_that_were_not_collected_are_one_warning() {
    let script = r#"
        boss:
          - calls:
              - {subagent: {action: spawn, agent: helper, task: one}}
              - {subagent: {action: spawn, agent: helper, task: two}}
              - {subagent: {action: spawn, agent: helper, task: three}}
          - calls: [{subagent: {action: wait, mode: all}}]
          - calls: [{subagent: {action: collect, task_id: t_02}}]
          - text: done
        helper:
          - text: found it
    "#;
    let outcome = session(script, Arc::new(MemoryStore::new()), Observers::default())
        .run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new())
        .await
        .unwrap();
    let folded =
        "the results of 2 tasks were not collected; `posse tasks show` has them (completed: t_01, t_03)";
    assert_eq!(outcome.warnings, [folded]);
}

/// Whatever the process dies of, an end is announced once in the conversation, and a call that told of it needs no announcement.
#[tokio::test(start_paused = true)]
async fn an_end_is_announced_once_also_over_a_crash() {
    let script = r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: one}}]
          - calls: [{shared_context: {action: list_keys}}]
            delay_ms: 5000
          - calls: [{subagent: {action: spawn, agent: helper, task: two}}]
          - calls: [{subagent: {action: wait, task_ids: [t_02]}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - text: done
        helper:
          - text: found it
            delay_ms: 2000
        "#;
    let first = Arc::new(MemoryStore::new());
    let outcome = session(script, first.clone(), Observers::default())
        .run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new())
        .await
        .unwrap();
    let left =
        "t_02 (helper) ended as completed, and its result was not collected; `posse tasks show` has it";
    assert_eq!((outcome.text.as_str(), outcome.warnings.as_slice()), ("done", [left.to_owned()].as_slice()));
    for died_after in 1..=first.writes() {
        let store = Arc::new(first.as_of(died_after));
        let session = session(script, store.clone(), Observers::default());
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = session.resume(TaskId::root("s1"), onward).await.unwrap();
        assert_eq!(
            (outcome.text.as_str(), outcome.warnings.as_slice()),
            ("done", [left.to_owned()].as_slice())
        );
        let records = store.records(&TaskId::root("s1")).await.unwrap();
        let said = records.iter().filter_map(|record| match record {
            Record::Steered { key, text, .. } => {
                Some((key.as_str(), text.starts_with("Task t_01 (helper) has ended")))
            }
            _ => None,
        });
        assert_eq!(said.collect::<Vec<_>>(), [("ended/t_01", true)], "write {died_after}");
    }
}
