//! Messages to tasks, and answers to their questions, from whichever process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::outcome::StopReason;
use posse_runtime::driver::ResumeMode;
use posse_runtime::observe::{Observers, TraceEvent, TraceHook};
use posse_runtime::ports::{JournalStore, MessageReceipt, MessageStore, SteeringMessage, TaskRow};
use posse_runtime::session::HostSession;
use posse_testkit::memory::MemoryStore;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::session::{agent, results_of, session, session_of};

fn message(task: TaskId) -> SteeringMessage {
    SteeringMessage { task, key: "person".to_owned(), text: "Look at the tests too".to_owned(), sent_ms: 1 }
}

/// An observer that is another process: it sends a message when one of these tasks begins its first turn.
fn sender(store: &Arc<MemoryStore>, tasks: &'static [&'static str]) -> Observers {
    let store = store.clone();
    let hook = TraceHook(move |task: &TaskId, event: &TraceEvent<'_>| {
        if let TraceEvent::Event(Event::TurnStarted { turn: 1, .. }) = event
            && tasks.contains(&task.as_str())
        {
            // The store in memory has it when the call returns.
            drop(store.send_message(message(task.clone())));
        }
    });
    Observers::new(vec![Arc::new(hook)])
}

async fn steered(store: &MemoryStore, task: &TaskId) -> Vec<String> {
    let records = store.records(task).await.unwrap();
    let said = records.into_iter().filter_map(|record| match record {
        Record::Steered { key, text, .. } if key == "person" => Some(text),
        _ => None,
    });
    said.collect()
}

const SLOW: &str = r#"
    boss:
      - {calls: [{shared_context: {action: list_keys}}], delay_ms: 3000}
      - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - text: done
    helper:
      - {calls: [{shared_context: {action: list_keys}}], delay_ms: 3000}
      - {text: looked, delay_ms: 3000}
    "#;

#[tokio::test(start_paused = true)]
async fn a_message_of_another_process_reaches_any_task_before_its_next_turn() {
    let store = Arc::new(MemoryStore::new());
    let (root, child) = (TaskId::root("s1"), TaskId::child("s1", 1));
    session(SLOW, store.clone(), sender(&store, &["s1", "s1.t_01"]))
        .run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new())
        .await
        .unwrap();
    for task in [root, child] {
        assert_eq!(steered(&store, &task).await, ["Look at the tests too"], "{task}");
        let receipt = store.send_message(message(task.clone())).await.unwrap();
        // The beginning of a turn is told when it is in the journal, which is before or after its request is sent.
        assert!(matches!(receipt, MessageReceipt::Delivered { turn: 1 | 2 }), "{task}: {receipt:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_outlives_the_process_that_had_to_deliver_it() {
    let (first, root) = (Arc::new(MemoryStore::new()), TaskId::root("s1"));
    session(SLOW, first.clone(), sender(&first, &["s1"]))
        .run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new())
        .await
        .unwrap();
    let mut survived = 0;
    for died_after in 1..=first.writes() {
        let store = Arc::new(first.as_of(died_after));
        let was_read = steered(&store, &root).await.len();
        let waits = store.queued_messages("s1").await.unwrap().len();
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        session(SLOW, store.clone(), Observers::default()).resume(root.clone(), onward).await.unwrap();
        assert_eq!(steered(&store, &root).await.len(), was_read + waits, "write {died_after}");
        survived += waits;
    }
    assert!(survived > 0);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_a_stop_left_unread_is_missed_and_not_delivered() {
    let (store, root) = (Arc::new(MemoryStore::new()), TaskId::root("s1"));
    let session = session(SLOW, store.clone(), sender(&store, &["s1"]));
    let stopping = async {
        // The first call is under way, and the message is in the inbox.
        tokio::time::sleep(Duration::from_millis(2_900)).await;
        session.stop().now.cancel();
    };
    let running = session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new());
    let (outcome, ()) = tokio::join!(running, stopping);
    assert_eq!(outcome.unwrap().stop, StopReason::Cancelled);
    assert_eq!(steered(&store, &root).await, [""; 0]);
    assert_eq!(store.send_message(message(root)).await.unwrap(), MessageReceipt::Missed);
}

const TALKER: &str = r#"
    talker:
      - calls: [{ask_parent: {question: "Which one?", options: [left, right], deadline_s: 600}}]
      - {text: gone there, delay_ms: 3000}
    "#;

/// Both processes live.
fn lives(row: &TaskRow) -> bool {
    !row.owner.is_empty()
}

async fn host(owner: &str, store: &Arc<MemoryStore>) -> HostSession {
    let session = session_of(owner, lives, TALKER, store.clone(), Observers::default());
    session.host(agent("host", None), None).await.unwrap()
}

async fn call(hosted: &HostSession, arguments: Value) -> Value {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let key = format!("call/{}", CALLS.fetch_add(1, Ordering::Relaxed));
    call_as(hosted, arguments, &key).await
}

async fn call_as(hosted: &HostSession, arguments: Value, key: &str) -> Value {
    let (fields, cancel) = (arguments.as_object().unwrap().clone(), CancellationToken::new());
    let reply = hosted.subagent(fields, hosted.call(key, &cancel)).await;
    hosted.print(reply).object.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_question_is_seen_and_answered_in_another_process() {
    let store = Arc::new(MemoryStore::new());
    let (driver, other) = (host("driver", &store).await, host("other", &store).await);
    call(&driver, json!({ "action": "spawn", "agent": "talker", "task": "go" })).await;
    let wait = json!({ "action": "wait", "task_ids": ["t_01"], "timeout_ms": 45000 });
    let asks = call(&other, wait.clone()).await;
    let question = json!({ "id": 1, "text": "Which one?", "options": ["left", "right"] });
    assert_eq!(asks["running"][0]["question"], question, "{asks}");
    let send = json!({ "action": "send", "task_id": "t_01", "message": "Look at the tests too" });
    assert_eq!(call_as(&other, send.clone(), "person").await["receipt"], "queued");
    let answer = json!({ "action": "answer", "task_id": "t_01", "answer": "left" });
    assert_eq!(call_as(&other, answer.clone(), "answer").await["answered"], true);
    assert_eq!(call_as(&other, answer, "answer").await["answered"], true, "the same call again");
    let late = json!({ "action": "answer", "task_id": "t_01", "answer": "right" });
    assert_eq!(call(&driver, late).await["answered"], false, "it was answered before");
    let ended = call(&other, wait).await;
    assert_eq!(ended["finished"][0]["status"], "completed", "{ended}");
    let child = TaskId::child("s1", 1);
    assert_eq!(results_of(&store, &child).await[0].text, "left");
    assert_eq!(steered(&store, &child).await, ["Look at the tests too"]);
    let delivered = call_as(&driver, send, "person").await;
    assert_eq!((&delivered["receipt"], &delivered["turn"]), (&json!("delivered"), &json!(2)), "{delivered}");
}
