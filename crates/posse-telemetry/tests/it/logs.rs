//! Log tests: lines say who did what and how it ended, and contain no text unless requested.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use posse_core::limits::Limits;
use posse_telemetry::log::{EventLog, JsonLog, LogFilter, PayloadPolicy, open};
use serde_json::{Value, json};

use crate::stage::{DELEGATION, play};

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the delegation; returns the log as text and as lines without times and sizes.
async fn log(filter: &str, payloads: PayloadPolicy) -> (String, Vec<Value>) {
    let memory = Memory::default();
    let lines = JsonLog::new(LogFilter::parse(filter).unwrap(), memory.clone(), |e| panic!("{e}"));
    let logging = tracing::subscriber::set_default(lines);
    play(DELEGATION, Limits::default(), vec![Arc::new(EventLog::new(payloads))]).await;
    drop(logging);
    let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
    let parse = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let time = line["time"].as_str().unwrap();
        assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");
        for name in ["time", "target", "duration_ms", "timestamp_ms", "bytes", "session_id"] {
            let removed = line.as_object_mut().unwrap().remove(name);
            assert!(name != "session_id" || removed == Some(json!("s1")), "{removed:?}");
        }
        line
    };
    let lines = text.lines().map(parse).collect();
    (text, lines)
}

fn only<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

// R177
#[tokio::test(start_paused = true)]
async fn spawn_status_and_collect_are_logged_with_who_and_how_far() {
    let (_, lines) = log("", PayloadPolicy::Never).await;
    let mut delegations = only(&lines, "subagent");
    delegations.dedup();
    let action = |call: &str, action: &str, more: Value| {
        let mut line = json!({
            "level": "info", "event": "subagent", "task_id": "s1.t_01", "agent": "helper",
            "caller_task_id": "s1", "call": call, "action": action,
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    assert_eq!(*delegations[0], action("2.0", "spawn", json!({ "status": "running" })));
    assert_eq!(
        *delegations[1],
        action("3.0", "status", json!({ "status": "running", "turns_used": 0 })),
        "{delegations:#?}"
    );
    let [.., known, collected, unknown] = delegations.as_slice() else { panic!("{delegations:#?}") };
    assert_eq!((&known["status"], &known["turns_used"]), (&json!("completed"), &json!(2)));
    let call = collected["call"].as_str().unwrap();
    assert_eq!(**collected, action(call, "collect", json!({ "status": "completed", "turns_used": 2 })));
    let refused = json!({
        "level": "info", "event": "subagent", "task_id": "s1.t_09", "caller_task_id": "s1",
        "call": unknown["call"], "action": "collect", "error": "TASK_NOT_FOUND",
    });
    assert_eq!(**unknown, refused);
}

// R178
#[tokio::test(start_paused = true)]
async fn tool_calls_of_subagents_are_logged_like_those_of_the_orchestrator() {
    let (_, lines) = log("", PayloadPolicy::Never).await;
    let calls = only(&lines, "tool_finished");
    let written = |task: &str, agent: &str| {
        json!({
            "level": "info", "event": "tool_finished", "task_id": task, "agent": agent,
            "tool": "shared_context", "call": "1.0", "turn": 1, "is_error": false,
        })
    };
    assert!(calls.contains(&&written("s1", "boss")), "{calls:#?}");
    assert!(calls.contains(&&written("s1.t_01", "helper")), "{calls:#?}");
    let finished = only(&lines, "finished");
    let told: Vec<_> =
        finished.iter().map(|line| (&line["task_id"], &line["status"], &line["turns_used"])).collect();
    assert_eq!(told[0], (&json!("s1.t_01"), &json!("completed"), &json!(2)));
    assert!(told[1].0 == "s1" && finished[1]["output_tokens"].as_u64() > Some(0), "{finished:#?}");
}

// R179
#[tokio::test(start_paused = true)]
async fn no_text_is_logged_unless_payloads_are_asked_for() {
    for filter in ["", "trace"] {
        let (text, lines) = log(filter, PayloadPolicy::Never).await;
        let refused = only(&lines, "tool_refused");
        // An unknown tool is logged nearly as the model named it, so that readers can find it.
        let tools: Vec<&Value> = refused.iter().map(|line| &line["tool"]).collect();
        assert_eq!(tools, [&json!("SECRET_tool")]);
        assert_eq!(text.matches("SECRET").count(), 1, "{text}");
    }
    let (text, lines) = log("", PayloadPolicy::InFull).await;
    for secret in [
        "SECRET task",
        "SECRET prompt",
        "SECRET plan",
        "SECRET value",
        "SECRET child task",
        "SECRET prompt of the helper",
        "SECRET result",
        "SECRET answer",
    ] {
        assert!(text.contains(secret), "{secret}: {text}");
    }
    let task = &only(&lines, "task_text")[0]["payload"];
    assert_eq!(task["task"], "SECRET task");
    // The delegation instructions follow it.
    assert!(task["system"].as_str().unwrap().starts_with("SECRET prompt\n\n"), "{task}");
}

// R229
#[tokio::test(start_paused = true)]
async fn every_write_and_delete_of_shared_context_is_logged_without_its_value() {
    let (_, lines) = log("", PayloadPolicy::Never).await;
    let change = |action: &str, key: &str, by: &str, size: u64| {
        json!({
            "level": "info", "event": "shared_context", "action": action, "key": key, "written_by": by, "version": 1,
            "value_size_tokens": size, "message": "shared context changed",
        })
    };
    let expected = [
        change("write", "plan", "orchestrator", 3),
        change("write", "found", "subagent:helper:t_01", 3),
        change("delete", "plan", "orchestrator", 0),
    ];
    assert_eq!(only(&lines, "shared_context"), expected.iter().collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_level_decides_how_much_is_logged() {
    let events = async |filter| {
        let (_, lines) = log(filter, PayloadPolicy::Never).await;
        let mut events: Vec<String> =
            lines.iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect();
        events.sort_unstable();
        events.dedup();
        events
    };
    assert_eq!(events("warn").await, ["tool_refused"]);
    let usual =
        ["finished", "replied", "shared_context", "started", "subagent", "tool_finished", "tool_refused"];
    assert_eq!(events("info").await, usual);
    assert!(events("debug").await.contains(&"turn".to_owned()));
    assert_eq!(events("off").await, [""; 0]);
}

#[test]
fn a_log_is_for_its_owner_and_is_appended_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    open(&path).unwrap().write_all(b"one\n").unwrap();
    open(&path).unwrap().write_all(b"two\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_writing_is_said_once_and_stops_nothing() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let lines = JsonLog::new(LogFilter::default(), Full, move |e| heard.lock().unwrap().push(e.kind()));
    let logging = tracing::subscriber::set_default(lines);
    let (outcome, _) =
        play(DELEGATION, Limits::default(), vec![Arc::new(EventLog::new(PayloadPolicy::Never))]).await;
    drop(logging);
    assert_eq!(
        (outcome.text.as_str(), &*said.lock().unwrap()),
        ("SECRET answer", &vec![io::ErrorKind::StorageFull])
    );
}
