//! Transcripts of whole tasks.

use std::sync::Arc;

use posse_core::agent::Agent;
use posse_core::grant::Grant;
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::limits::Limits;
use posse_core::state::TaskState;
use posse_runtime::ports::{JournalStore, TaskRow};
use posse_telemetry::transcript;
use serde_json::{Value, json};

use crate::stage::play;

/// Returns the lines without the values that differ between runs.
async fn transcript(script: &'static str, limits: Limits) -> Vec<Value> {
    let (_, store) = play(script, limits, Vec::new()).await;
    let id = TaskId::root("s1");
    let row = store.task(&id).await.unwrap();
    let mut lines = transcript::lines(&row, row.state.wire(), &store.records(&id).await.unwrap()).unwrap();
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        assert_eq!(line.remove("task_id"), Some(json!("s1")));
        line.remove("elapsed_ms");
        line.remove("created_at");
        line.remove("updated_at");
    }
    lines
}

fn usage(input: u64, output: u64) -> Value {
    json!({
        "input_tokens": input, "output_tokens": output, "cache_read_tokens": 0, "cache_write_tokens": 0,
        "reasoning_tokens": 0, "estimated": false, "cost_usd": null,
    })
}

#[tokio::test(start_paused = true)]
async fn a_transcript_has_the_whole_conversation_in_order() {
    let script = r#"
    boss:
      - {thinking: hm, text: I write., usage: {input: 10, output: 2}, calls: [{shared_context: {action: write, key: k, value: v}}, {nowhere: {}}]}
      - {text: Written., usage: {input: 20, output: 3}}
    "#;
    let lines = transcript(script, Limits::default()).await;
    let written = lines[4]["text"].clone();
    let system = lines[1]["text"].clone();
    assert!(system.as_str().unwrap().starts_with("SECRET prompt\n\n"), "{system}");
    assert!(written.as_str().unwrap().contains(r#""version":1"#), "{written}");
    let expected = json!([
        {
            "type": "task", "transcript": 1, "session_id": "s1", "parent": null, "agent": "boss",
            "model": "scripted:test", "workspace": "/somewhere", "tools": ["shared_context", "subagent"],
            "task": "SECRET task", "status": "completed",
        },
        { "type": "message", "role": "system", "text": system },
        { "type": "message", "role": "user", "text": "SECRET task" },
        {
            "type": "message", "role": "assistant", "turn": 1, "model": "scripted:test", "text": "I write.",
            "thinking": "hm", "usage": usage(10, 2), "tool_calls": [
                { "call": "1.0", "name": "shared_context", "arguments": { "action": "write", "key": "k", "value": "v" } },
                { "call": "1.1", "name": "nowhere", "arguments": {} },
            ],
        },
        {
            "type": "message", "role": "tool", "turn": 1, "call": "1.0", "name": "shared_context", "text": written,
            "full_text": null, "is_error": false, "in_doubt": false, "changed_files": [],
        },
        {
            "type": "message", "role": "tool", "turn": 1, "call": "1.1", "name": "nowhere", "text": lines[5]["text"],
            "full_text": null, "is_error": true, "in_doubt": false, "changed_files": [],
        },
        {
            "type": "message", "role": "assistant", "turn": 2, "model": "scripted:test", "text": "Written.",
            "thinking": null, "usage": usage(20, 3), "tool_calls": [],
        },
        {
            "type": "outcome", "status": "completed", "reason": "answered", "detail": null, "text": "Written.",
            "turns": 2, "tool_calls": 1, "usage": usage(30, 5), "changed_files": [], "in_doubt": [],
            "refused_tools": lines[7]["refused_tools"], "warnings": [],
        },
    ]);
    assert_eq!(Value::from(lines), expected);
}

#[tokio::test(start_paused = true)]
async fn what_a_run_says_of_its_own_accord_and_what_went_wrong_are_in_it() {
    let script = r#"
    boss:
      - {calls: [{shared_context: {action: list_keys}}]}
      - {text: A report.}
    "#;
    let lines = transcript(script, Limits { turns_max: 2, ..Limits::default() }).await;
    let roles: Vec<String> =
        lines.iter().map(|line| line["role"].as_str().unwrap_or("-").to_owned()).collect();
    assert_eq!(roles, ["-", "system", "user", "assistant", "tool", "user", "assistant", "-"]);
    assert!(lines[5]["text"].as_str().unwrap().contains("This is the last of your 2 turns."), "{lines:#?}");
    assert_eq!((&lines[7]["status"], &lines[7]["reason"]), (&json!("partial"), &json!("turns_exhausted")));

    let lines = transcript("boss: [{fail: {kind: unauthorised, message: no key}}]", Limits::default()).await;
    let failed = json!({
        "type": "event", "event": "model_failed", "kind": "unauthorised", "message": lines[3]["message"],
        "usage": usage(0, 0), "said": "",
    });
    assert_eq!(lines[3], failed);
    assert_eq!((&lines[4]["type"], &lines[4]["status"]), (&json!("outcome"), &json!("failed")));
}

#[test]
fn what_happened_to_a_task_from_outside_is_in_it() {
    let agent = Agent::new(AgentName::parse("boss").unwrap(), "scripted:test", "Be good.");
    let start = TaskStart::new(agent, "Go", Grant::root(["bash".to_owned()], 0));
    let (elapsed_ms, epoch, lost_tokens) = (5, 2, 7);
    let records = [
        Record::Started(Arc::new(start)),
        Record::Steered { text: "Faster".to_owned(), key: "k".to_owned(), elapsed_ms },
        Record::Resumed {
            epoch,
            turns_max: None,
            wall_ms_max: None,
            lost_tokens,
            lost_cost_micros: None,
            elapsed_ms,
        },
        Record::Withdrawn { tools: vec!["bash".to_owned()], left: None, elapsed_ms },
        Record::BudgetSpent { shortfall: "no money".to_owned(), input_excess: 0, elapsed_ms },
        Record::Cancelled { elapsed_ms, with_parent: false },
        Record::Said {
            text: "Go on".to_owned(),
            epoch: 3,
            lost_tokens: 0,
            lost_cost_micros: None,
            elapsed_ms,
        },
    ];
    let row = TaskRow {
        id: TaskId::child("s1", 1),
        parent: Some(TaskId::root("s1")),
        agent: "boss".to_owned(),
        title: "Go".to_owned(),
        state: TaskState::Running,
        owner: String::new(),
        epoch: 3,
        created_ms: 0,
        updated_ms: 1_771_407_000_123,
        seen_ms: 0,
        cancel_requested: false,
        total: Default::default(),
        delivery: Default::default(),
    };
    let lines = transcript::lines(&row, "interrupted", &records).unwrap();
    let event = |event: &str, more: Value| {
        let mut line = json!({ "type": "event", "event": event, "task_id": "s1.t_01", "elapsed_ms": 5 });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let header = &lines[0];
    assert_eq!((&header["status"], &header["parent"]), (&json!("interrupted"), &json!("s1")));
    assert_eq!(
        (&header["created_at"], &header["updated_at"]),
        (&json!("1970-01-01T00:00:00.000Z"), &json!("2026-02-18T09:30:00.123Z"))
    );
    let user = |line: &Value| line["text"].as_str().filter(|_| line["role"] == "user").map(str::to_owned);
    let said: Vec<String> = lines.iter().filter_map(user).collect();
    assert_eq!(
        (said[0].as_str(), said[1].as_str(), said.last().unwrap().as_str()),
        ("Go", "Faster", "Go on")
    );
    let events: Vec<&Value> = lines.iter().filter(|line| line["type"] == "event").collect();
    let expected = [
        event("resumed", json!({ "epoch": 2, "lost_tokens": 7 })),
        event("withdrawn", json!({ "tools": ["bash"] })),
        event("budget_spent", json!({ "message": "no money" })),
        event("cancelled", json!({})),
    ];
    assert_eq!(events, expected.iter().collect::<Vec<_>>());
}
