//! The event vocabulary: what is told is what the journal says, and neither has texts.

use std::sync::{Arc, Mutex};

use posse_core::event::{Event, EventEntry};
use posse_core::id::CallKey;
use posse_runtime::driver::ResumeMode;
use posse_runtime::ports::{JournalStore, Observer};

use crate::stage::{Stage, id};

/// Lines as `--json` prints them.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Observer for Lines {
    fn event(&self, entry: &EventEntry) {
        self.0.lock().unwrap().push(entry.to_line());
    }
}

const CONFIDING: &str = r#"
    - text: CANARY of a reply
      thinking: CANARY of a thought
      calls: [{confide: {content: CANARY of an argument, path: src/a.rs}}, {confide: {n: 2}}, {nothing: {content: CANARY}}]
    - calls: [{fail: {content: CANARY of an argument}}]
    - text: CANARY of an answer
    - text: CANARY of another answer
"#;

#[tokio::test]
async fn no_event_has_a_text_of_task_reply_or_result() {
    let lines = Arc::new(Lines::default());
    let mut stage = Stage { task: "CANARY of a task", verify: &["fail"], ..Stage::new(CONFIDING) };
    stage.more_observers.push(lines.clone());
    stage.run().await.unwrap();
    stage.go_on(ResumeMode::Message("CANARY of a message".to_owned())).await.unwrap();
    let records = stage.store.records(&id()).await.unwrap();
    let journal: String =
        records.iter().map(|record| String::from_utf8_lossy(&record.encode()).into_owned()).collect();
    for text in ["task", "reply", "thought", "argument", "result", "answer", "message"] {
        assert!(
            journal.contains(&format!("CANARY of a {text}"))
                || journal.contains(&format!("CANARY of an {text}"))
        );
    }
    let told = lines.0.lock().unwrap().clone();
    let read =
        records.iter().filter_map(Event::from_record).map(|event| serde_json::to_string(&event).unwrap());
    for line in told.iter().cloned().chain(read) {
        assert!(!line.contains("CANARY"), "{line}");
    }
    let all = told.concat();
    // The exceptions, so that the test looks at something.
    for kept in [
        "\"summary\":\"src/a.rs\"",
        "\"why\":\"first line\"",
        "\"type\":\"tool_refused\"",
        "\"type\":\"verified\"",
    ] {
        assert!(all.contains(kept), "{kept} in {all}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_run_side_by_side_are_told_when_they_end() {
    let stage = Stage::new("[{calls: [{meet: {}}, {look: {}}, {meet: {}}]}, {text: done}]");
    stage.run().await.unwrap();
    let events = stage.seen.0.lock().unwrap();
    let calls: Vec<(&str, CallKey)> = events
        .iter()
        .filter_map(|event| match event {
            Event::ToolStarted { key, .. } | Event::ToolFinished { key, .. } => Some((event.kind(), *key)),
            _ => None,
        })
        .collect();
    let key = |index| CallKey { turn: 1, index };
    let (began, ended) = ("tool_started", "tool_finished");
    assert_eq!(calls[..4], [(began, key(0)), (began, key(1)), (began, key(2)), (ended, key(1))]);
    assert_eq!(calls.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_journaled_before_the_reply_that_it_leads_to() {
    let stage = Stage { retries: true, ..Stage::new("[{text: done}]") };
    stage.run().await.unwrap();
    let kinds: Vec<&str> = stage.seen.0.lock().unwrap().iter().map(Event::kind).collect();
    assert_eq!(kinds, ["started", "turn", "model_retry", "replied", "finished"]);
}
