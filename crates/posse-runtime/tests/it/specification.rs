//! The `subagent` tool answers as `docs/requirements.md` says (R078 to R188): the words, the numbers and the codes.

use std::sync::Arc;
use std::time::Duration;

use posse_core::id::TaskId;
use posse_core::journal::{Record, TaskStart};
use posse_core::message::ToolResult;
use posse_runtime::ports::JournalStore;
use posse_testkit::memory::MemoryStore;
use serde_json::{Value, json};

use crate::session::play;

/// Plays a script; the orchestrator's results as JSON.
async fn answers(script: impl Into<String>) -> (Vec<Value>, Arc<MemoryStore>) {
    let (results, store) = play(Box::leak(script.into().into_boxed_str())).await;
    (results.iter().map(value).collect(), store)
}

fn value(result: &ToolResult) -> Value {
    serde_json::from_str(&result.text).unwrap_or_else(|_| panic!("{}", result.text))
}

/// One turn with these calls of `subagent`, and an answer; whoever is spawned has nothing to say.
fn one_turn(calls: &[Value]) -> String {
    let calls: Vec<Value> = calls.iter().map(|call| json!({ "subagent": call })).collect();
    let said = json!([{ "text": "nothing" }]);
    json!({ "boss": [{ "calls": calls }, { "text": "done" }], "helper": said, "made": said, "picky": said })
        .to_string()
}

fn define(name: &str, system_prompt: &str) -> Value {
    json!({ "action": "define", "name": name, "description": "d", "system_prompt": system_prompt })
}

async fn start_of(store: &MemoryStore, number: u32) -> TaskStart {
    let records = store.records(&TaskId::child("s1", number)).await.unwrap();
    match records.into_iter().next() {
        Some(Record::Started(start)) => (*start).clone(),
        other => panic!("{other:?}"),
    }
}

// R056, R058-R065, R080-R082, R084, R085, R088, R090-R092, R119
#[tokio::test(start_paused = true)]
async fn agents_are_listed_with_their_defaults_whether_registered_or_defined() {
    let with = |name: &str, field: &str, value: Value| {
        let mut call = define(name, "You fix.");
        call[field] = value;
        call
    };
    let (answers, _) = answers(one_turn(&[
        with("remediator", "tools", json!(["shared_context", "subagent"])),
        with("tireless", "max_turns", json!(99)),
        with("other", "model", json!("scripted:other")),
        json!({ "action": "list_agents" }),
    ]))
    .await;
    let removed = "`subagent` was removed from `tools`: subagents may not delegate here (max_depth is 1)";
    let defined = json!({ "defined": "remediator", "description": "d", "warnings": [removed] });
    assert_eq!(answers[0], defined);
    let clamped = "max_turns: 99 was clamped to 25; it can be 1 to 25";
    assert_eq!(answers[1]["warnings"], json!([clamped]));
    assert_eq!(answers[2], json!({ "defined": "other", "description": "d" }));
    let agents = answers[3]["agents"].as_array().unwrap();
    let listed = |name: &str, model: &str, turns: u32, tools: Value| {
        let expected =
            json!({ "name": name, "description": "d", "model": model, "max_turns": turns, "tools": tools });
        assert!(agents.contains(&expected), "{expected} in {agents:?}");
    };
    listed("remediator", "scripted:test", 10, json!(["shared_context"]));
    listed("tireless", "scripted:test", 25, json!([]));
    listed("other", "scripted:other", 10, json!([]));
    let helper = agents.iter().find(|agent| agent["name"] == "helper").expect("a registered agent is listed");
    assert_eq!(helper["description"], "the helper");
}

// R059, R086, R087, R089, R123-R126, R128, R133-R136
#[tokio::test(start_paused = true)]
async fn a_definition_that_cannot_be_is_refused_with_its_code() {
    let without = |field: &str| {
        let mut call = define("new", "p");
        call.as_object_mut().unwrap().remove(field);
        call
    };
    let mut armed = define("new", "p");
    armed["tools"] = json!(["teleport"]);
    let cases = [
        (define("helper", "p"), "AGENT_ALREADY_EXISTS"),
        (define("made", "p"), ""),
        (define("made", "p"), "AGENT_ALREADY_EXISTS"),
        (define(&"a".repeat(64), "p"), ""),
        (define("a_b-9", "p"), ""),
        (define(&"a".repeat(65), "p"), "INVALID_AGENT_NAME"),
        (define("Upper", "p"), "INVALID_AGENT_NAME"),
        (define("a.b", "p"), "INVALID_AGENT_NAME"),
        (define("", "p"), "INVALID_AGENT_NAME"),
        (without("description"), "INVALID_REQUEST"),
        (without("system_prompt"), "INVALID_REQUEST"),
        (armed, "INVALID_TOOL"),
        (define("largest", &"x".repeat(16_000)), ""),
        (define("larger", &"x".repeat(16_001)), "PROMPT_TOO_LARGE"),
    ];
    let calls: Vec<Value> = cases.iter().map(|(call, _)| call.clone()).collect();
    let (answers, _) = answers(one_turn(&calls)).await;
    assert_eq!(answers.len(), cases.len());
    for (answer, (call, code)) in answers.iter().zip(cases) {
        assert_eq!(answer["error"].as_str().unwrap_or_default(), code, "{call}: {answer}");
        let told = answer["message"].as_str().is_some_and(|message| !message.is_empty());
        assert_eq!(told, !code.is_empty(), "{answer}");
    }
}

// R093-R095, R116, R127, R131, R136
#[tokio::test(start_paused = true)]
async fn a_task_has_a_known_agent_and_at_most_1000_tokens() {
    let spawn = |agent: &str, task: &str| json!({ "action": "spawn", "agent": agent, "task": task });
    let (answers, _) = answers(one_turn(&[
        spawn("nobody", "look"),
        spawn("helper", &"x".repeat(4_001)),
        spawn("helper", &"x".repeat(4_000)),
    ]))
    .await;
    assert_eq!(answers[0]["error"], "AGENT_NOT_FOUND");
    assert_eq!(answers[1]["error"], "TASK_TOO_LARGE");
    assert!(answers.iter().take(2).all(|answer| answer["message"].is_string()), "{answers:?}");
    let task = answers[2]["task_id"].clone();
    assert!(task.as_str().unwrap().starts_with("t_0"), "{task}");
    assert_eq!(answers[2], json!({ "task_id": task, "agent": "helper", "status": "running" }));
}

// R067, R068, R070, R073, R076, R079, R100-R102, R104-R106, R108-R111, R120, R129, R130, R137, R160, R165
#[tokio::test(start_paused = true)]
async fn a_task_is_followed_while_it_runs_and_is_gone_once_it_was_collected() {
    let (answers, _) = answers(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"turns_used":1'
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 45000}}]
            repeat_until: '"completed"'
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - calls: [{subagent: {action: status, task_id: t_01}}, {subagent: {action: collect, task_id: t_01}}]
          - calls: [{subagent: {action: status, task_id: t_77}}, {subagent: {action: collect, task_id: t_77}}]
          - text: done
        helper:
          - calls: [{shared_context: {action: list_keys}}]
            delay_ms: 1000
          - text: found it
            delay_ms: 60000
        "#,
    )
    .await;
    assert_eq!(answers[0], json!({ "task_id": "t_01", "agent": "helper", "status": "running" }));
    let running = answers.iter().find(|answer| answer["turns_used"] == 1).unwrap();
    assert_eq!((&running["status"], &running["agent"]), (&json!("running"), &json!("helper")), "{running}");
    let early = answers.iter().find(|answer| answer["error"] == "TASK_NOT_READY").unwrap();
    assert!(early["hint"].as_str().unwrap().contains("later"), "{early}");
    let [.., completed, collected, a, b, c, d] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(
        *completed,
        json!({ "task_id": "t_01", "agent": "helper", "status": "completed", "turns_used": 2 })
    );
    let result = json!({ "task_id": "t_01", "agent": "helper", "status": "completed", "result": "found it", "turns_used": 2 });
    assert_eq!(*collected, result);
    for gone in [a, b, c, d] {
        assert_eq!(gone["error"], "TASK_NOT_FOUND");
    }
}

// R070-R072, R103, R107, R121, R159, R161, R172, R173, R176
#[tokio::test(start_paused = true)]
async fn a_failed_task_says_why_in_the_words_of_the_specification_and_is_collected() {
    let (answers, _) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: one, max_turns: 2}
              - subagent: {action: spawn, agent: talker, task: two}
          - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
          - calls: [{subagent: {action: status, task_id: t_01}}, {subagent: {action: status, task_id: t_02}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}, {subagent: {action: collect, task_id: t_02}}]
          - text: done
        helper:
          - calls: [{shared_context: {action: list_keys}}]
          - calls: [{shared_context: {action: list_keys}}]
          - calls: [{shared_context: {action: list_keys}}]
        talker:
          - fail: {kind: invalid_request, message: no such thing}
        "#,
    )
    .await;
    let [.., status_1, status_2, collected_1, collected_2] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    let exhausted = "Max turns exceeded without producing a final response";
    assert_eq!((&status_1["status"], &status_1["error"]), (&json!("failed"), &json!(exhausted)));
    assert_eq!((&collected_1["error"], &collected_1["result"]), (&json!(exhausted), &Value::Null));
    assert!(collected_1["turns_used"].as_u64().unwrap() >= 2, "{collected_1}");
    for failed in [status_2, collected_2] {
        let error = failed["error"].as_str().unwrap();
        assert!(error.starts_with("Model API error: ") && error.contains("no such thing"), "{error}");
        assert_eq!(failed["status"], "failed");
    }
    assert_eq!((&collected_2["result"], &collected_2["agent"]), (&Value::Null, &json!("talker")));
}

// R011, R061, R069, R090, R096, R114, R166, R167
#[tokio::test(start_paused = true)]
async fn every_subagent_has_the_suffix_and_its_task_as_the_user_message() {
    const CONCISE: &str = "You are a subagent. Keep your final response concise (under 1000 tokens).";
    const SHARED: &str =
        "Write detailed findings to shared context rather than including them in your response.";
    const RETURNED: &str = "Your response will be returned to the orchestrator as a summary of your work.";
    let spawn = |agent: &str| json!({ "action": "spawn", "agent": agent, "task": "look at it" });
    let calls = [define("made", "You are made."), spawn("helper"), spawn("made"), spawn("picky")];
    let (_, store) = answers(one_turn(&calls)).await;
    for (number, prompt) in [(1, "You are the helper."), (2, "You are made."), (3, "Do this: look at it!")] {
        let start = start_of(&store, number).await;
        assert_eq!(start.agent.model, "scripted:test", "whoever names no model has its parent's");
        let (system, message) = start.opening();
        let words: Vec<&str> = system.split_whitespace().collect();
        // Whoever has no shared context is not told to write there.
        let suffix =
            if number == 2 { [CONCISE, RETURNED].join(" ") } else { [CONCISE, SHARED, RETURNED].join(" ") };
        assert_eq!(words.join(" "), format!("{prompt} {suffix}"));
        // An agent whose prompt has a place for the task gets it there and not twice.
        assert_eq!(message, if number == 3 { "Begin." } else { "look at it" });
    }
}

// R066, R097, R122, R158
#[tokio::test(start_paused = true)]
async fn a_child_has_its_own_tools_and_cannot_delegate() {
    let (answers, store) = answers(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: delegator, task: look}}]
          - calls: [{subagent: {action: wait}}]
          - text: done
        delegator:
          - calls: [{subagent: {action: spawn, agent: delegator, task: look}}, {report_progress: {message: half}}]
          - text: alone
        "#,
    )
    .await;
    let lacks = "`delegator` works without `subagent`, which its definition names: not granted here";
    assert_eq!(answers[0]["warnings"], json!([lacks]), "what is taken away is told");
    let start = start_of(&store, 1).await;
    assert_eq!(start.grant.tools().collect::<Vec<_>>(), ["shared_context"]);
    let records = store.records(&TaskId::child("s1", 1)).await.unwrap();
    let results = records.iter().filter_map(|record| match record {
        Record::Done { result, .. } => Some((result.name.as_str(), result.is_error)),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [("subagent", true), ("report_progress", true)]);
    assert_eq!(store.tasks(10).await.unwrap().len(), 2, "nobody was spawned below the child");
}

// R052, R079, R099, R164, R236, R313, R319, R449
#[tokio::test(start_paused = true)]
async fn five_tasks_take_as_long_as_one() {
    let began = tokio::time::Instant::now();
    let (answers, _) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1"}
              - subagent: {action: spawn, agent: helper, task: "2"}
              - subagent: {action: spawn, agent: helper, task: "3"}
              - subagent: {action: spawn, agent: helper, task: "4"}
              - subagent: {action: spawn, agent: helper, task: "5"}
          - calls: [{shared_context: {action: write, key: meanwhile, value: worked}}]
          - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
          - text: done
        helper:
          - text: found it
            delay_ms: 20000
        "#,
    )
    .await;
    assert_eq!(answers.last().unwrap()["finished"].as_array().unwrap().len(), 5);
    let took = began.elapsed();
    assert!((Duration::from_secs(20)..Duration::from_secs(30)).contains(&took), "{took:?}");
}

// R156, R317
#[tokio::test(start_paused = true)]
async fn a_task_keeps_to_the_tokens_it_was_given() {
    let (answers, _) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1", max_output_tokens: 10}
              - subagent: {action: spawn, agent: helper, task: "2", max_input_tokens: 1}
          - calls: [{subagent: {action: wait, mode: all}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}, {subagent: {action: collect, task_id: t_02}}]
          - text: done
        helper:
          - text: found it
        "#,
    )
    .await;
    for collected in &answers[3..] {
        assert_eq!(
            (&collected["status"], &collected["turns_used"]),
            (&json!("failed"), &json!(0)),
            "{collected}"
        );
        assert!(collected["reason"].as_str().unwrap().contains("budget"), "{collected}");
    }
}

// R182
#[tokio::test(start_paused = true)]
async fn tasks_that_nobody_collects_stay_tracked_and_are_mentioned() {
    let five = r#"
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1"}
              - subagent: {action: spawn, agent: helper, task: "2"}
              - subagent: {action: spawn, agent: helper, task: "3"}
              - subagent: {action: spawn, agent: helper, task: "4"}
              - subagent: {action: spawn, agent: helper, task: "5"}
          - calls: [{subagent: {action: wait, mode: all}}]"#;
    let (answers, _) = answers(format!(
        "\n        boss:{five}{five}
          - calls: [{{subagent: {{action: spawn, agent: helper, task: more}}}}]
          - calls: [{{subagent: {{action: list_tasks}}}}]
          - text: done
        helper:
          - text: found it
        "
    ))
    .await;
    let [.., spawned, listed] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(spawned["warnings"], json!(["10 finished tasks are not collected"]));
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 11);
}

// R180, R181
#[test]
fn the_description_advises_against_needless_and_bloated_delegation() {
    let told = include_str!("../../prompts/subagent_tool.md");
    for advice in [
        "Do not delegate what one tool call can do.",
        "Put larger context into shared_context and name the key in the task.",
    ] {
        assert!(told.contains(advice), "{advice}");
    }
}

/// The incident of the specification: one agent finds out, the orchestrator decides, two others act side by side.
// R054, R055, R057, R078, R187, R188
#[tokio::test(start_paused = true)]
async fn the_example_of_the_specification_can_be_played() {
    // R186
    let (answers, _) = answers(
        r#"
        boss:
          - calls:
              - shared_context: {action: write, key: problem_summary, value: Throughput dropped}
              - shared_context: {action: write, key: scope, value: Read only}
          - calls: [{subagent: {action: list_agents}}]
          - calls: [{subagent: {action: spawn, agent: helper, task: "Look into problem_summary, write findings_summary"}}]
          - calls: [{subagent: {action: status, task_id: t_01}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - calls: [{shared_context: {action: read, key: findings_summary}}, {shared_context: {action: read, key: open_questions}}]
          - calls:
              - shared_context: {action: write, key: decisions_made, value: Revert}
              - shared_context: {action: delete, key: open_questions}
              - subagent: {action: define, name: remediator, description: Carries out decisions, system_prompt: You repair., tools: [shared_context], max_turns: 15}
          - calls:
              - subagent: {action: spawn, agent: remediator, task: Carry out decisions_made}
              - subagent: {action: spawn, agent: picky, task: Write the report}
          - calls: [{subagent: {action: status, task_id: t_02, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls: [{subagent: {action: status, task_id: t_03, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls: [{subagent: {action: collect, task_id: t_02}}, {subagent: {action: collect, task_id: t_03}}]
          - calls: [{shared_context: {action: read, key: incident_report}}, {shared_context: {action: read, key: remediation_status}}]
          - text: done
        helper:
          - calls: [{shared_context: {action: read, key: problem_summary}}]
            delay_ms: 2000
          - calls:
              - shared_context: {action: write, key: findings_summary, value: The pool is small}
              - shared_context: {action: write, key: open_questions, value: Was it meant?}
          - text: The pool was made smaller.
        remediator:
          - calls: [{shared_context: {action: read, key: decisions_made}}]
          - calls: [{shared_context: {action: write, key: remediation_status, value: "{result:0:/value}ed"}}]
          - text: Done as decided.
        picky:
          - calls: [{shared_context: {action: read, key: findings_summary}}]
          - calls: [{shared_context: {action: write, key: incident_report, value: "{result:0:/value}"}}]
          - text: Written.
        "#,
    )
    .await;
    let results: Vec<&Value> =
        answers.iter().map(|answer| &answer["result"]).filter(|text| text.is_string()).collect();
    assert_eq!(results, ["The pool was made smaller.", "Done as decided.", "Written."]);
    let by_key = |key: &str| {
        let found = answers.iter().find(|answer| answer["key"] == key && answer["value"].is_string());
        found.map(|answer| (answer["value"].clone(), answer["written_by"].clone()))
    };
    assert_eq!(by_key("findings_summary"), Some((json!("The pool is small"), json!("subagent:helper:t_01"))));
    assert_eq!(by_key("open_questions").unwrap().0, "Was it meant?");
    assert_eq!(by_key("incident_report"), Some((json!("The pool is small"), json!("subagent:picky:t_03"))));
    assert_eq!(by_key("remediation_status"), Some((json!("Reverted"), json!("subagent:remediator:t_02"))));
}

// R077
#[tokio::test(start_paused = true)]
async fn whoever_looks_waits_and_collects_says_nothing_to_the_task() {
    let (_, store) = answers(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
          - calls: [{subagent: {action: status, task_id: t_01}}, {subagent: {action: events, task_id: t_01}}]
          - calls: [{subagent: {action: wait}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - text: done
        helper:
          - calls: [{shared_context: {action: list_keys}}]
            delay_ms: 1000
          - text: found it
        "#,
    )
    .await;
    let records = store.records(&TaskId::child("s1", 1)).await.unwrap();
    let replayed = posse_core::run::replay(&records, std::collections::BTreeMap::new(), 0).unwrap();
    let said: Vec<&posse_core::message::Message> = replayed
        .run
        .messages()
        .iter()
        .filter(|message| matches!(message, posse_core::message::Message::User { .. }))
        .collect();
    assert_eq!(said, [&posse_core::message::Message::User { text: "look".to_owned() }]);
}

// R174
#[tokio::test(start_paused = true)]
async fn a_task_whose_calls_all_go_wrong_fails_with_the_turn_and_the_reason() {
    let (answers, _) = answers(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
          - calls: [{subagent: {action: wait}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - text: done
        helper:
          - calls: [{teleport: {}}]
          - calls: [{teleport: {a: 1}}]
          - calls: [{teleport: {a: 2}}]
          - calls: [{teleport: {a: 3}}]
          - calls: [{teleport: {a: 4}}]
          - text: never said
        "#,
    )
    .await;
    let collected = answers.last().unwrap();
    assert_eq!(
        (&collected["status"], &collected["error"]),
        (
            &json!("failed"),
            &json!("Tool execution error in turn 5: 5 turns in a row had only wrong tool calls")
        )
    );
}
