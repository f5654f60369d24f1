//! Event streams: complete, in order, resumable, and independent of each other.

use std::time::Duration;

use posse_core::event::Event;
use posse_core::journal::Record;
use posse_runtime::ports::{MessageStore, NewQuestion};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;

use crate::support::Place;

/// One frame of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
struct Frame {
    id: Option<String>,
    event: Option<String>,
    data: Value,
}

/// An open stream.
struct Watch {
    reader: BufReader<TcpStream>,
    /// Decoded text that has no whole frame yet.
    text: String,
}

impl Watch {
    async fn open(place: &Place, path: &str, last: Option<&str>) -> Self {
        let bearer = format!("Bearer {}", place.all);
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        let mut reader = place.open("GET", path, &headers, "").await;
        let mut head = String::new();
        while reader.read_line(&mut head).await.unwrap() > 2 {}
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        let mut watch = Self { reader, text: String::new() };
        // The stream has begun once it says when to come back.
        while !watch.text.contains("retry: 1000\n\n") {
            assert!(watch.chunk().await);
        }
        watch.text = watch.text.replace("retry: 1000\n\n", "");
        watch
    }

    /// Reads one chunk of the body; returns false at its end.
    async fn chunk(&mut self) -> bool {
        let mut size = String::new();
        let read = tokio::time::timeout(Duration::from_secs(30), self.reader.read_line(&mut size)).await;
        if read.expect("the stream goes on").unwrap_or(0) == 0 {
            return false;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes).await.unwrap();
        self.text.push_str(std::str::from_utf8(&bytes[..size]).unwrap());
        size > 0
    }

    /// Returns the next frame; `None` at the end. Comments are passed over.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let mut read = Frame::default();
                for line in frame.lines() {
                    match line.split_once(": ") {
                        Some(("id", id)) => read.id = Some(id.to_owned()),
                        Some(("event", event)) => read.event = Some(event.to_owned()),
                        Some(("data", data)) => read.data = serde_json::from_str(data).unwrap(),
                        _ => {}
                    }
                }
                self.text = rest.to_owned();
                if read != Frame::default() {
                    return Some(read);
                }
                continue;
            }
            if !self.chunk().await {
                return None;
            }
        }
    }

    /// Reads until this many events have come, and returns the frames with an id.
    async fn events(&mut self, count: usize) -> Vec<Frame> {
        let mut found = Vec::new();
        while found.len() < count {
            let frame = self.next().await.expect("the stream goes on");
            if frame.id.is_some() {
                found.push(frame);
            }
        }
        found
    }
}

fn note(n: usize) -> Record {
    Record::Observed { event: Event::Noted { note: format!("note {n}") } }
}

fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.data["type"].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn a_task_is_followed_from_its_start_to_its_end() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let mut watch = Watch::open(&place, "/v1/tasks/s1/stream", None).await;
    assert_eq!(kinds(&watch.events(2).await), ["started", "turn"]);
    place.append(&task, &[note(1)]).await;
    assert_eq!(watch.events(1).await[0].data["note"], "note 1");
    place.end(&task, "The answer\nand more").await;
    let mut rest = Vec::new();
    while let Some(frame) = watch.next().await {
        rest.push(frame);
    }
    assert_eq!(kinds(&rest), ["replied", "answer", "finished", ""]);
    assert_eq!(rest[3].event.as_deref(), Some("end"));
    assert_eq!(rest[1].data["line"], "The answer");
    // The same after the end, and from the middle.
    let mut late = Watch::open(&place, "/v1/tasks/s1/stream?since=1", None).await;
    let mut again = Vec::new();
    while let Some(frame) = late.next().await {
        again.push(frame);
    }
    assert_eq!(kinds(&again), ["turn", "note", "replied", "answer", "finished", ""]);
    let mut resumed = Watch::open(&place, "/v1/tasks/s1/stream", again[1].id.as_deref()).await;
    assert_eq!(kinds(&resumed.events(1).await), ["replied"]);
}

#[tokio::test]
async fn a_client_that_comes_back_misses_nothing_and_gets_nothing_twice() {
    let place = Place::start().await;
    let (one, two) = (place.task("s1", None).await, place.task("s2", None).await);
    let mut watch = Watch::open(&place, "/v1/stream", None).await;
    place.append(&one, &[note(0), note(1)]).await;
    place.append(&two, &[note(2)]).await;
    let first = watch.events(3).await;
    // Each cut of the stream, as if the connection had broken there.
    place.append(&one, &[note(3)]).await;
    for (at, cut) in first.iter().enumerate() {
        let mut resumed = Watch::open(&place, "/v1/stream", cut.id.as_deref()).await;
        let rest = resumed.events(3 - at).await;
        let notes: Vec<&str> = rest.iter().map(|frame| frame.data["note"].as_str().unwrap()).collect();
        assert_eq!(notes, ["note 1", "note 2", "note 3"][at..], "after {:?}", cut.id);
    }
    // A position that this store never had.
    let mut lost = Watch::open(&place, "/v1/stream", Some("99999.0")).await;
    assert_eq!(lost.next().await.unwrap().event.as_deref(), Some("reset"));
    place.append(&two, &[note(4)]).await;
    assert_eq!(lost.events(1).await[0].data["note"], "note 4");
    for wrong in ["x", "1", "1.2.3", "-1.0", "1.+2"] {
        let bearer = format!("Bearer {}", place.all);
        let headers = [("Authorization", bearer.as_str()), ("Last-Event-ID", wrong)];
        assert_eq!(place.send("GET", "/v1/stream", &headers, "").await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn a_stream_of_a_tree_has_its_tasks_alone_and_new_ones_too() {
    let place = Place::start().await;
    place.task("s1", None).await;
    let child = place.task("s1.t_01", Some("s1")).await;
    let (other, beside) = (place.task("s2", None).await, place.task("s1.t_02", Some("s1")).await);
    let mut tree = Watch::open(&place, "/v1/stream?tree=s1.t_01", None).await;
    let mut session = Watch::open(&place, "/v1/stream?session=s1", None).await;
    place.append(&other, &[note(0)]).await;
    place.append(&beside, &[note(1)]).await;
    let below = place.task("s1.t_03", Some("s1.t_01")).await;
    place.append(&child, &[note(2)]).await;
    place.append(&below, &[note(3)]).await;
    let of_tree = tree.events(4).await;
    let tasks: Vec<&str> = of_tree.iter().map(|frame| frame.data["task_id"].as_str().unwrap()).collect();
    assert_eq!(tasks, ["s1.t_03", "s1.t_03", "s1.t_01", "s1.t_03"]);
    assert_eq!(session.events(1).await[0].data["note"], "note 1");
    assert_eq!(place.get("/v1/stream?tree=none").await.code(), "TASK_NOT_FOUND");
}

#[tokio::test]
async fn live_facts_are_told_to_those_who_come_and_when_they_change() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let question = NewQuestion {
        task: task.clone(),
        key: "q".to_owned(),
        text: "Which?".to_owned(),
        options: Vec::new(),
        asked_ms: 1,
    };
    place.store.ask_question(question).await.unwrap();
    let mut watch = Watch::open(&place, "/v1/stream", None).await;
    let asked = watch.next().await.unwrap();
    assert_eq!((asked.data["type"].as_str(), asked.id), (Some("question"), None));
    place.ask("POST", "/v1/tasks/s1/answer", Some(serde_json::json!({ "answer": "a" }))).await;
    assert_eq!(watch.next().await.unwrap().data["type"], "question_closed");
    place.ask("POST", "/v1/tasks/s1/messages", Some(serde_json::json!({ "text": "x" }))).await;
    let sent = watch.next().await.unwrap().data;
    assert_eq!((&sent["type"], &sent["receipt"]), (&"steer".into(), &"queued".into()));
    let steered =
        Record::Steered { text: "x".into(), key: sent["key"].as_str().unwrap().into(), elapsed_ms: 1 };
    place.append(&task, &[steered]).await;
    assert_eq!(watch.next().await.unwrap().data["receipt"], "delivered");
}

/// Smaller numbers of what `cargo xtask watchers` does with 500 watchers and 1,000 tasks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_watchers_get_every_event_in_order_and_a_slow_one_harms_nobody() {
    const WATCHERS: usize = 20;
    const TASKS: usize = 20;
    const NOTES: usize = 30;
    let place = Place::start().await;
    let mut tasks = Vec::new();
    for n in 0..TASKS {
        tasks.push(place.task(&format!("s{n}"), None).await);
    }
    let mut watches = Vec::new();
    for _ in 0..WATCHERS {
        watches.push(Watch::open(&place, "/v1/stream", None).await);
    }
    // It does not read until the others are done.
    let mut slow = Watch::open(&place, "/v1/stream", None).await;
    let readers: Vec<_> = watches
        .into_iter()
        .map(|mut watch| tokio::spawn(async move { watch.events(TASKS * NOTES).await }))
        .collect();
    for n in 0..NOTES {
        for task in &tasks {
            place.append(task, &[note(n)]).await;
        }
    }
    let check = |frames: Vec<Frame>| {
        let mut next = std::collections::HashMap::new();
        for frame in frames {
            let task = frame.data["task_id"].as_str().unwrap().to_owned();
            let expected = next.entry(task).or_insert(0);
            assert_eq!(frame.data["note"], format!("note {expected}"));
            *expected += 1;
        }
        assert!(next.len() == TASKS && next.values().all(|seen| *seen == NOTES), "{next:?}");
    };
    for reader in readers {
        check(reader.await.unwrap());
    }
    check(slow.events(TASKS * NOTES).await);
}

#[tokio::test]
async fn a_revoked_token_ends_its_streams() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let mut watch = Watch::open(&place, "/v1/stream", None).await;
    place.tokens.revoke("all").unwrap();
    place.append(&task, &[note(1)]).await;
    while let Some(frame) = watch.next().await {
        assert_eq!(frame.data["type"], "note", "what was on its way may come");
    }
}
