//! Live facts: what observers learn beside events, in the process that drives the tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::event::{Event, EventEntry};
use posse_core::fact::{LiveFact, QueuePlace};
use posse_core::id::TaskId;
use posse_runtime::follow::{TaskFeed, task_tree};
use posse_runtime::observe::Observers;
use posse_runtime::ports::{MessageStore, Observer, SteeringMessage};
use posse_testkit::memory::MemoryStore;

use crate::session::{agent, session};

/// Facts and the events around them, one line each.
#[derive(Default)]
pub struct FactLines {
    lines: Mutex<Vec<String>>,
    /// Sends a message to the session's own task at its first turn, as another process would.
    sends_to: Option<Arc<MemoryStore>>,
}

impl FactLines {
    fn push(&self, task: &TaskId, line: String) {
        self.lines.lock().unwrap().push(format!("{} {line}", task.short()));
    }

    /// Returns the lines of a task.
    pub fn of(&self, task: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let own = lines.iter().filter_map(|line| line.strip_prefix(task)?.strip_prefix(' '));
        own.map(str::to_owned).collect()
    }
}

impl Observer for FactLines {
    fn event(&self, EventEntry { task_id, event, .. }: &EventEntry) {
        match event {
            Event::Queued { after, .. } => self.push(task_id, format!("event queued {after:?}")),
            Event::Started { .. } | Event::Finished { .. } => {
                self.push(task_id, format!("event {}", event.kind()));
            }
            Event::TurnStarted { turn: 1, .. } if task_id.is_root() => {
                let (task, key, text) = (task_id.clone(), "first".to_owned(), "hurry".to_owned());
                let message = SteeringMessage { task, key, text, sent_ms: 0 };
                // The store in memory has it when the call returns.
                self.sends_to.iter().for_each(|store| drop(store.send_message(message.clone())));
            }
            _ => {}
        }
    }

    fn fact(&self, task: &TaskId, fact: &LiveFact) {
        let line = match fact {
            LiveFact::Task { agent, parent, title } => {
                let parent = parent.as_ref().map_or("nobody", TaskId::short);
                format!("task {agent} of {parent}: {title}")
            }
            LiveFact::Queued(QueuePlace { after, position, running, slots }) => {
                format!("queued {after:?} {position:?}, {running} of {slots}")
            }
            other => format!("{other:?}"),
        };
        self.push(task, line);
    }
}

async fn watch(script: &'static str, store: Arc<MemoryStore>, lines: FactLines) -> Arc<FactLines> {
    let lines = Arc::new(lines);
    session(script, store, Observers::new(vec![lines.clone()]))
        .run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new())
        .await
        .unwrap();
    lines
}

/// Five slots, two tasks that wait for one, and one that waits for others.
const QUEUE: &str = r#"
        boss:
          - calls:
              - subagent: {action: spawn, agent: helper, task: one}
              - subagent: {action: spawn, agent: helper, task: two}
              - subagent: {action: spawn, agent: helper, task: three}
              - subagent: {action: spawn, agent: helper, task: four}
              - subagent: {action: spawn, agent: helper, task: five}
              - subagent: {action: spawn, agent: helper, task: six, queue: true}
              - subagent: {action: spawn, agent: helper, task: seven, queue: true}
              - subagent: {action: spawn, agent: helper, task: eight, depends_on: [t_01, t_07]}
          - calls: [{subagent: {action: wait, mode: all}}]
            repeat_until: '"timed_out":false'
          - text: all done
        helper:
          - {text: found it, delay_ms: 3000}
        "#;

#[tokio::test(start_paused = true)]
async fn a_queued_task_says_what_it_waits_for_whenever_that_changes() {
    let lines = watch(QUEUE, Arc::default(), FactLines::default()).await;
    assert_eq!(lines.of("s1")[..2], ["task boss of nobody: the task", "event started"]);
    assert_eq!(
        lines.of("t_01"),
        ["task helper of s1: one", "event started", r#"Answer { line: "found it" }"#, "event finished"]
    );
    let sixth = lines.of("t_06");
    assert_eq!(
        sixth[..3],
        ["task helper of s1: six", "event queued []", "queued [] Some(1), 5 of 5"],
        "{sixth:#?}"
    );
    let seventh = lines.of("t_07");
    assert_eq!(seventh[2..4], ["queued [] Some(2), 5 of 5", "queued [] Some(1), 5 of 5"], "{seventh:#?}");
    let eighth = lines.of("t_08");
    assert_eq!(
        eighth[1..3],
        [r#"event queued ["t_01", "t_07"]"#, r#"queued ["t_01", "t_07"] None, 5 of 5"#],
        "{eighth:#?}"
    );
    assert!(eighth.contains(&r#"queued ["t_07"] None, 5 of 5"#.to_owned()), "{eighth:#?}");
    let started = eighth.iter().position(|line| line == "event started").unwrap();
    assert!(eighth[started..].iter().all(|line| !line.starts_with("queued")), "{eighth:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_is_told_with_its_options_and_again_when_it_is_over() {
    let lines = watch(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: talker, task: ask}}]
          - calls: [{subagent: {action: wait, mode: all}}]
          - calls: [{subagent: {action: answer, task_id: t_01, answer: left}}]
          - calls: [{subagent: {action: wait, mode: all}}]
            repeat_until: '"timed_out":false'
          - text: done
        talker:
          - calls: [{ask_parent: {question: "Which one?", options: [left, right]}}]
            delay_ms: 1000
          - text: went left
        "#,
        Arc::default(),
        FactLines::default(),
    )
    .await;
    let told = lines.of("t_01");
    let asked = r#"Question { id: 1, question: "Which one?", options: ["left", "right"] }"#;
    let at = told.iter().position(|line| line == asked).unwrap_or_else(|| panic!("{told:#?}"));
    assert_eq!(told[at + 1], "QuestionClosed { id: 1 }");
}

#[tokio::test(start_paused = true)]
async fn a_message_is_queued_and_then_delivered_or_too_late() {
    let store = Arc::new(MemoryStore::new());
    let lines = FactLines { sends_to: Some(store.clone()), ..FactLines::default() };
    let lines = watch(
        r#"
        boss:
          - {calls: [{subagent: {action: spawn, agent: helper, task: look}}], delay_ms: 3000}
          - {calls: [{subagent: {action: send, task_id: t_01, message: hurry}}], delay_ms: 1000}
          - calls: [{subagent: {action: wait, mode: all}}]
            repeat_until: '"timed_out":false'
          - text: done
        helper:
          - {text: looked, delay_ms: 9000}
        "#,
        store,
        lines,
    )
    .await;
    let steer = |task: &str| -> Vec<String> {
        let told = lines.of(task).into_iter().filter(|line| line.starts_with("Steer"));
        told.map(|line| line[line.find("receipt").unwrap()..].to_owned()).collect()
    };
    let own = steer("s1");
    // The beginning of a turn is told when it is in the journal, which is before or after its request is sent.
    assert!(
        own[1] == "receipt: Delivered, turn: Some(2) }" || own[1] == "receipt: Delivered, turn: Some(1) }"
    );
    assert_eq!((own.len(), own[0].as_str()), (2, "receipt: Queued, turn: None }"), "{own:?}");
    assert_eq!(steer("t_01"), ["receipt: Queued, turn: None }", "receipt: Missed, turn: None }"]);
}

#[tokio::test(start_paused = true)]
async fn another_process_learns_the_same_facts_from_the_store() {
    let store = Arc::new(MemoryStore::new());
    let live = Arc::new(FactLines::default());
    let run = tokio::spawn({
        let session = session(QUEUE, store.clone(), Observers::new(vec![live.clone()]));
        async move { session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await }
    });
    let (read, root) = (FactLines::default(), TaskId::root("s1"));
    let mut feed = TaskFeed::new(|_| true);
    tokio::time::sleep(Duration::from_secs(1)).await;
    feed.follow(&*store, &task_tree(&*store, &root).await.unwrap(), &read).await.unwrap();
    for task in ["s1", "t_01", "t_06", "t_07", "t_08"] {
        assert_eq!(read.of(task), live.of(task), "{task}");
    }
    assert_eq!(read.of("t_06").last().unwrap(), "queued [] Some(1), 5 of 5");
    run.await.unwrap().unwrap();
    feed.follow(&*store, &task_tree(&*store, &root).await.unwrap(), &read).await.unwrap();
    let ends = |lines: &FactLines| lines.of("t_06").split_off(lines.of("t_06").len() - 3);
    assert_eq!(ends(&read), ends(&live), "start, answer and end");
}

#[tokio::test(start_paused = true)]
async fn a_question_a_receipt_and_a_dead_process_are_read_from_the_store() {
    let store = Arc::new(MemoryStore::new());
    let script = r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: talker, task: ask}}]
          - calls: [{subagent: {action: send, task_id: t_01, message: hurry}}]
          - {text: done, delay_ms: 60000}
        talker:
          - calls: [{ask_parent: {question: "Which one?", options: [left], deadline_s: 30}}]
          - text: went left
        "#;
    let session = session(script, store.clone(), Observers::default());
    let run = tokio::spawn(async move {
        session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await
    });
    let (read, root) = (FactLines::default(), TaskId::root("s1"));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut feed = TaskFeed::new(|row| row.parent.is_some());
    let rows = task_tree(&*store, &root).await.unwrap();
    for _ in 0..2 {
        feed.follow(&*store, &rows, &read).await.unwrap();
    }
    let count = |task: &str, start: &str| read.of(task).iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("t_01", r#"Question { id: 1, question: "Which one?", options: ["left"] }"#), 1);
    assert_eq!(count("t_01", "Steer"), 1, "{:?}", read.of("t_01"));
    assert_eq!((count("s1", "Interrupted"), count("t_01", "Interrupted")), (1, 0));
    run.await.unwrap().unwrap();
    feed.follow(&*store, &task_tree(&*store, &root).await.unwrap(), &read).await.unwrap();
    assert_eq!(count("t_01", "QuestionClosed { id: 1 }"), 1, "{:?}", read.of("t_01"));
}
