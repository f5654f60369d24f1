//! Everything an orchestrator can do with the tasks it delegated.

use std::sync::Arc;

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::message::ToolResult;
use posse_core::outcome::OutcomeStatus;
use posse_runtime::driver::ResumeMode;
use posse_runtime::observe::Observers;
use posse_runtime::ports::JournalStore;
use posse_testkit::memory::MemoryStore;
use serde_json::{Value, json};

use crate::session::{agent, play, results, session};

fn value(result: &ToolResult) -> Value {
    serde_json::from_str(&result.text).unwrap_or_else(|_| panic!("{}", result.text))
}

/// The answers to the calls of a script, as JSON.
async fn answers(script: &'static str) -> (Vec<Value>, Arc<MemoryStore>) {
    let (results, store) = play(script).await;
    (results.iter().map(value).collect(), store)
}

// R049, R118, R132, R154
#[tokio::test(start_paused = true)]
async fn tasks_wait_for_a_place_and_for_each_other() {
    let (answers, store) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1"}
              - subagent: {action: spawn, agent: helper, task: "2"}
              - subagent: {action: spawn, agent: helper, task: "3"}
              - subagent: {action: spawn, agent: helper, task: "4"}
              - subagent: {action: spawn, agent: helper, task: "5"}
              - subagent: {action: spawn, agent: helper, task: "6"}
              - subagent: {action: spawn, agent: helper, task: "7", queue: true, priority: high}
              - subagent: {action: spawn, agent: helper, task: "8", depends_on: [t_06]}
              - subagent: {action: spawn, agent: helper, task: "9", depends_on: [t_99]}
          - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
          - calls: [{subagent: {action: list_tasks}}]
          - text: done
        helper:
          - text: found it
            delay_ms: 4000
        "#,
    )
    .await;
    assert_eq!(answers[5]["error"], "MAX_TASKS_EXCEEDED");
    assert_eq!((&answers[6]["status"], &answers[6]["queued"]), (&json!("running"), &json!(true)));
    assert_eq!(answers[7]["queued"], json!(true));
    assert_eq!(answers[8]["error"], "TASK_NOT_FOUND");
    let waited = &answers[9];
    assert_eq!(waited["timed_out"], json!(false), "{waited}");
    assert_eq!(waited["finished"].as_array().unwrap().len(), 7, "{waited}");
    let tasks = answers[10]["tasks"].as_array().unwrap();
    assert!(tasks.iter().all(|task| task["status"] == "completed"), "{tasks:?}");
    assert_eq!(answers[6]["task_id"], "t_06", "the refused spawn took no number");
    let rows = store.tasks(100).await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.parent.is_some()).count(), 7);
}

#[tokio::test(start_paused = true)]
async fn what_depends_on_a_failure_fails_and_never_runs() {
    let (answers, store) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1", max_turns: 1}
              - subagent: {action: spawn, agent: helper, task: "2", depends_on: [t_01]}
              - subagent: {action: spawn, agent: helper, task: "3", depends_on: [t_02]}
          - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
          - calls: [{subagent: {action: collect, task_id: t_03}}]
          - calls: [{subagent: {action: spawn, agent: helper, task: "4", depends_on: [t_02]}}]
          - text: done
        helper:
          - calls: [{shared_context: {action: list_keys}}]
          - calls: [{shared_context: {action: list_keys}}]
        "#,
    )
    .await;
    let collected = &answers[4];
    assert_eq!(collected["status"], "failed");
    assert_eq!(collected["error"], "DEPENDENCY_FAILED: t_02 did not complete");
    assert_eq!(collected["reason"], "dependency_failed");
    assert_eq!((&answers[5]["status"], &answers[5]["task_id"]), (&json!("failed"), &json!("t_04")));
    let records = store.records(&TaskId::child("s1", 3)).await.unwrap();
    assert_eq!(records.iter().map(Record::kind).collect::<Vec<_>>(), ["started", "finished"]);
}

/// Also what never began, and what waited for that.
#[tokio::test(start_paused = true)]
async fn whatever_is_left_when_the_orchestrator_ends_is_written_down_as_ended() {
    let (_, store) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1"}
              - subagent: {action: spawn, agent: helper, task: "2"}
              - subagent: {action: spawn, agent: helper, task: "3"}
              - subagent: {action: spawn, agent: helper, task: "4"}
              - subagent: {action: spawn, agent: helper, task: "5"}
              - subagent: {action: spawn, agent: helper, task: "6", queue: true, priority: low}
              - subagent: {action: spawn, agent: helper, task: "7", depends_on: [t_06]}
              - subagent: {action: spawn, agent: helper, task: "8", depends_on: [t_07]}
              - subagent: {action: cancel, task_id: t_01}
              - subagent: {action: spawn, agent: helper, task: "9", queue: true, priority: high}
          - text: done
        helper:
          - text: late
            delay_ms: 100000
        "#,
    )
    .await;
    let rows = store.tasks(100).await.unwrap();
    let open: Vec<_> = rows.iter().filter(|row| row.state.is_running()).collect();
    assert!(open.is_empty(), "{open:?}");
}

// R151
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_gives_what_it_has() {
    let (answers, store) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: "1"}
              - subagent: {action: spawn, agent: helper, task: "2", depends_on: [t_01]}
              - subagent: {action: spawn, agent: helper, task: "3"}
          - calls: [{subagent: {action: wait, timeout_ms: 3000}}]
          - calls: [{subagent: {action: cancel, task_id: t_01}}]
          - calls: [{subagent: {action: wait, task_ids: [t_02], timeout_ms: 1000}}]
          - calls: [{subagent: {action: cancel, task_id: t_01}}]
          - text: done
        helper:
          - text: I have looked at half of it.
            calls: [{shared_context: {action: list_keys}}]
            delay_ms: 1000
          - text: late
            delay_ms: 100000
        "#,
    )
    .await;
    let cancelled = &answers[4];
    assert_eq!((&cancelled["status"], &cancelled["reason"]), (&json!("failed"), &json!("cancelled")));
    assert_eq!(cancelled["partial_result"], "I have looked at half of it.");
    assert_eq!(answers[5]["finished"][0]["reason"], "dependency_failed", "{}", answers[5]);
    assert_eq!(answers[6]["note"], "it had ended before the cancel");
    assert_eq!(store.task(&TaskId::child("s1", 1)).await.unwrap().state.wire(), "cancelled");
}

// R152
#[tokio::test(start_paused = true)]
async fn a_task_at_work_is_told_more_and_asks_back() {
    let (answers, store) = answers(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: talker, task: look}}]
          - calls: [{subagent: {action: send, task_id: t_01, message: "Leave out the tests."}}]
          - calls: [{subagent: {action: wait, timeout_ms: 20000}}]
          - calls: [{subagent: {action: answer, task_id: t_01, answer: "the second"}}]
          - calls: [{subagent: {action: wait, timeout_ms: 20000}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - text: done
        talker:
          - calls: [{report_progress: {message: "half way"}}]
            delay_ms: 2000
          - calls: [{ask_parent: {question: "Which one?", options: [first, second], deadline_s: 60}}]
            delay_ms: 1000
          - text: done as you said
        "#,
    )
    .await;
    assert_eq!(answers[1]["receipt"], "queued");
    let asking = &answers[2]["running"][0];
    assert_eq!(asking["question"]["text"], "Which one?", "{asking}");
    assert_eq!((&asking["report"], &asking["max_turns"]), (&json!("half way"), &json!(25)));
    assert_eq!(answers[3]["answered"], true);
    assert_eq!(answers[5]["result"], "done as you said");
    let records = store.records(&TaskId::child("s1", 1)).await.unwrap();
    let steered = records.iter().filter(|record| record.kind() == "steered").count();
    assert_eq!(steered, 1);
    let asked = records.iter().find_map(|record| match record {
        Record::Done { result, .. } if result.name == "ask_parent" => Some(result.text.clone()),
        _ => None,
    });
    assert_eq!(asked.as_deref(), Some("the second"));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_has_a_default() {
    let (answers, store) = answers(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: talker, task: look}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 45000}}]
            repeat_until: '"completed"'
          - text: done
        talker:
          - calls: [{ask_parent: {question: "Which one?", default: "the first", deadline_s: 5}}]
          - text: done
        "#,
    )
    .await;
    assert_eq!(answers.last().unwrap()["status"], "completed");
    let records = store.records(&TaskId::child("s1", 1)).await.unwrap();
    let text = format!("{records:?}");
    assert!(text.contains("no answer came within 5 s; go on with your default: the first"), "{text}");
}

/// Returns the recorded answer to the question of the first child.
async fn answer_of(script: &'static str) -> String {
    let (_, store) = answers(script).await;
    let records = store.records(&TaskId::child("s1", 1)).await.unwrap();
    let asked = records.iter().find_map(|record| match record {
        Record::Done { result, .. } if result.name == "ask_parent" => Some(result.text.clone()),
        _ => None,
    });
    asked.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_question_that_ends_early_says_why() {
    let cancelled = answer_of(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: talker, task: look}}]
          - calls: [{subagent: {action: wait, timeout_ms: 5000}}]
          - calls: [{subagent: {action: cancel, task_id: t_01}}]
          - calls: [{subagent: {action: wait, timeout_ms: 5000}}]
          - text: done
        talker:
          - calls: [{ask_parent: {question: "Which one?", default: "the first"}}]
          - text: done
        "#,
    );
    assert_eq!(cancelled.await, "nobody answered: this task was cancelled");
    let ended = answer_of(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: talker, task: look}}]
          - calls: [{subagent: {action: wait, timeout_ms: 5000}}]
          - text: done
        talker:
          - calls: [{ask_parent: {question: "Which one?", default: "the first"}}]
          - text: done
        "#,
    );
    assert_eq!(ended.await, "nobody answered: the parent ended or was cancelled");
}

// R112, R113, R115, R175
#[tokio::test(start_paused = true)]
async fn a_long_result_is_shortened_and_its_full_text_can_be_paged() {
    let long = "0123456789".repeat(500);
    let script = r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: talker, task: talk}}]
          - calls: [{subagent: {action: wait}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}]
          - calls: [{subagent: {action: result, task_id: t_01, limit: 100}}]
          - calls: [{subagent: {action: result, task_id: t_01, offset: 4990}}]
          - calls: [{subagent: {action: events, task_id: t_01}}]
          - calls: [{subagent: {action: events, task_id: t_01, since: 2}}]
          - calls: [{subagent: {action: events, task_id: t_01, since: "{result:6.0:/next}"}}]
          - text: done
        talker:
          - text: "LONG"
        "#;
    let (answers, _) = answers(Box::leak(script.replace("LONG", &long).into_boxed_str())).await;
    let collected = &answers[2];
    let result = collected["result"].as_str().unwrap();
    assert!(result.ends_with("[truncated — full response exceeded 1000 token limit]"));
    assert!(result.chars().count() <= 4000);
    assert_eq!(collected["full_result"], json!({ "action": "result", "task_id": "t_01" }));
    let page = &answers[3];
    assert_eq!((&page["next_offset"], &page["total_chars"]), (&json!(100), &json!(5000)));
    assert_eq!((&answers[4]["text"], &answers[4]["next_offset"]), (&json!("0123456789"), &Value::Null));
    let events = |answer: &Value| -> Vec<(u64, String)> {
        let events = answer["events"].as_array().unwrap().iter();
        let event =
            |event: &Value| (event["seq"].as_u64().unwrap(), event["type"].as_str().unwrap().to_owned());
        events.map(event).collect()
    };
    let told =
        [(0, "started"), (1, "turn"), (2, "replied"), (3, "finished")].map(|(seq, kind)| (seq, kind.into()));
    assert_eq!(events(&answers[5]), told);
    assert_eq!((events(&answers[6]), &answers[6]["next"]), (told[2..].to_vec(), &json!(4)));
    assert_eq!((events(&answers[7]), &answers[7]["next"]), (Vec::new(), &json!(4)));
    assert_eq!(answers[5]["events"][0]["task_id"], "s1.t_01");
    assert!(!answers[5].to_string().contains("0123456789"), "events carry no text");
}

// R153, R155
#[tokio::test(start_paused = true)]
async fn agents_inherit_and_are_defined_again_with_a_version() {
    let (answers, store) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: define, name: senior, description: d, extends: helper, system_prompt_append: "Be thorough.", max_turns: 15}
              - subagent: {action: define, name: senior, description: d, system_prompt: p}
              - subagent: {action: define, name: senior, description: again, system_prompt: p, overwrite: true}
              - subagent: {action: list_agents, query: again}
              - subagent: {action: fly}
              - subagent: {action: spawn, agent: helper}
          - text: done
        "#,
    )
    .await;
    assert_eq!(answers[0]["defined"], "senior");
    assert_eq!(answers[1]["error"], "AGENT_ALREADY_EXISTS");
    assert_eq!(answers[2]["version"], 2);
    assert_eq!(answers[3]["agents"].as_array().unwrap().len(), 1);
    assert_eq!(answers[4]["error"], "INVALID_ACTION");
    assert_eq!(answers[5]["error"], "INVALID_REQUEST");
    assert_eq!(results(&store).await.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn the_last_definition_of_an_agent_counts_after_a_restart() {
    const SCRIPT: &str = r#"
        boss:
          - calls:
              - subagent: {action: define, name: senior, description: first, system_prompt: p}
              - subagent: {action: define, name: senior, description: second, system_prompt: p, overwrite: true}
          - text: hello
          - calls:
              - subagent: {action: list_agents, query: senior}
              - subagent: {action: define, name: senior, description: third, system_prompt: p, overwrite: true}
          - text: done
        "#;
    let store = Arc::new(MemoryStore::new());
    let room = || session(SCRIPT, store.clone(), Observers::default());
    room().run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    room().resume(TaskId::root("s1"), ResumeMode::Message("and now?".to_owned())).await.unwrap();
    let answers: Vec<Value> = results(&store).await.iter().map(value).collect();
    let [.., listed, third] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(listed["agents"][0]["description"], "second", "{listed}");
    assert_eq!(third["version"], 3, "{third}");
}

#[tokio::test(start_paused = true)]
async fn a_hidden_agent_does_not_exist_for_a_model() {
    let (answers, _) = answers(
        r#"
        boss:
          - calls:
              - subagent: {action: list_agents}
              - subagent: {action: spawn, agent: ghost, task: "1"}
              - subagent: {action: spawn, agent: nobody, task: "1"}
              - subagent: {action: define, name: heir, extends: ghost}
          - text: done
        "#,
    )
    .await;
    assert!(!answers[0].to_string().contains("ghost"), "{}", answers[0]);
    assert_eq!(answers[1]["error"], "AGENT_NOT_FOUND", "{}", answers[1]);
    assert!(!answers[2].to_string().contains("ghost"), "{}", answers[2]);
    assert_eq!(answers[3]["error"], "AGENT_NOT_FOUND", "{}", answers[3]);
}

#[tokio::test(start_paused = true)]
async fn agents_are_listed_with_what_they_would_get_from_this_parent() {
    let script = "boss:\n  - calls: [{subagent: {action: list_agents}}]\n  - text: done\n";
    let (listed, _) = answers(script).await;
    let entry = |name: &str| {
        let agents = listed[0]["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["name"] == name).cloned()
    };
    let helper = entry("helper").unwrap();
    assert_eq!(helper["tools"], json!(["shared_context"]), "a child does not delegate here: {helper}");
    assert_eq!((&helper["model"], &helper["max_turns"]), (&json!("scripted:test"), &json!(25)));
    let picky = entry("picky").unwrap();
    assert_eq!(picky["model"], "scripted:test", "its own model does not exist: {picky}");
    assert_eq!(picky["tools"], json!(["shared_context"]), "{picky}");
    assert_eq!(entry("toolless"), None, "it could not be spawned");
    let diagnostic = &listed[0]["diagnostics"][0];
    let told = (&diagnostic["name"], &diagnostic["error"]);
    assert_eq!(told, (&json!("toolless"), &json!("INVALID_TOOL")), "{}", listed[0]);

    let store = Arc::new(MemoryStore::new());
    let boss = agent("boss", None);
    let tools = posse_core::pattern::ToolPattern::parse("Agent(talker)").unwrap();
    let boss = posse_core::agent::Agent {
        rights: posse_core::grant::Rights { tools: Some(tools), ..Default::default() },
        ..boss
    };
    let session = session(script, store.clone(), Observers::default());
    session.run(boss, "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    let listed = value(&results(&store).await[0]);
    let names: Vec<&str> =
        listed["agents"].as_array().unwrap().iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["talker"], "the others may not be asked: {listed}");
}

/// Whenever the process dies, the next one has the same agents, the same tasks and every result.
#[tokio::test(start_paused = true)]
async fn a_delegation_survives_the_end_of_its_process_at_any_write() {
    let script = r#"
        boss:
          - calls: [{subagent: {action: define, name: made, description: d, system_prompt: p, tools: [shared_context]}}]
          - calls: [{subagent: {action: spawn, agent: made, task: one}}, {subagent: {action: spawn, agent: made, task: two, depends_on: [t_01]}}]
          - calls: [{subagent: {action: wait, mode: all, timeout_ms: 40000}}]
          - calls: [{subagent: {action: collect, task_id: t_01}}, {subagent: {action: collect, task_id: t_02}}]
          - calls: [{subagent: {action: spawn, agent: made, task: three}}]
          - calls: [{subagent: {action: wait, task_ids: [t_03], timeout_ms: 40000}}]
          - text: done
        made:
          - text: found it
            delay_ms: 2000
        "#;
    let first = Arc::new(MemoryStore::new());
    let whole = session(script, first.clone(), Observers::default());
    assert_eq!(
        whole.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap().text,
        "done"
    );
    for died_after in 1..first.writes() {
        let store = Arc::new(first.as_of(died_after));
        let again = session(script, store.clone(), Observers::default());
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = again.resume(TaskId::root("s1"), onward).await.unwrap();
        assert_eq!(
            (outcome.text.as_str(), outcome.status()),
            ("done", OutcomeStatus::Completed),
            "write {died_after}"
        );
        assert!(outcome.in_doubt.is_empty(), "write {died_after}: a spawn made again gets its task");
        let rows = store.tasks(100).await.unwrap();
        let children: Vec<_> = rows.iter().filter(|row| row.parent.is_some()).collect();
        assert_eq!(children.len(), 3, "write {died_after}: no task twice");
        assert!(
            children.iter().all(|row| row.state.wire() == "completed"),
            "write {died_after}: {children:?}"
        );
        let collected = results(&store).await;
        let delivered =
            collected.iter().filter(|result| result.text.contains("\"result\":\"found it\"")).count();
        assert_eq!(delivered, 2, "write {died_after}: every result once");
    }
}
