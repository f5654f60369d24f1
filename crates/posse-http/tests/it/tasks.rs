//! Lists, details and results of tasks.

use std::collections::BTreeSet;

use posse_core::event::Event;
use posse_core::id::CallKey;
use posse_core::journal::Record;
use posse_core::outcome::StopReason;
use posse_runtime::ports::{JournalStore, MessageStore, NewQuestion, NewTask};
use posse_testkit::store_suite::{finished, new_task, replied, started};
use serde_json::Value;

use crate::support::Place;

fn ids(answered: &Value) -> Vec<String> {
    let items = answered["items"].as_array().unwrap().iter();
    items.map(|item| item["task_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_list_is_paged_without_gaps_while_tasks_begin() {
    let place = Place::start().await;
    for n in 0..25 {
        place.task(&format!("s{n}"), None).await;
    }
    let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = place.get(&format!("/v1/tasks?limit=10{cursor}")).await.json();
        seen.extend(ids(&page));
        pages += 1;
        place.task(&format!("later{pages}"), None).await;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let expected: Vec<String> = (0..25).rev().map(|n| format!("s{n}")).collect();
    assert_eq!((seen, pages), (expected, 3));
}

#[tokio::test]
async fn filters_find_what_they_name() {
    let place = Place::start().await;
    let parent = place.task("s1", None).await;
    let child = place.task("s1.t_01", Some("s1")).await;
    let other = place.task("s2", None).await;
    place.end(&child, "done").await;
    place.append(&other, &[finished(StopReason::Cancelled, "")]).await;
    let interrupted = NewTask { owner: "1:1:gone".to_owned(), ..new_task("s3") };
    place.store.create(interrupted).await.unwrap();
    place.store.claim(&"s3".to_owned().into(), "1:1").await.unwrap();
    let queued = NewTask { owner: String::new(), ..new_task("s4") };
    place.store.create(queued).await.unwrap();
    let question = NewQuestion {
        task: parent.clone(),
        key: "q".to_owned(),
        text: "Which?".to_owned(),
        options: vec!["a".to_owned()],
        asked_ms: 1,
    };
    place.store.ask_question(question).await.unwrap();
    for (query, expected) in [
        ("", vec!["s4", "s3", "s2", "s1.t_01", "s1"]),
        ("roots=true", vec!["s4", "s3", "s2", "s1"]),
        ("session=s1", vec!["s1.t_01", "s1"]),
        ("parent=s1", vec!["s1.t_01"]),
        ("status=running", vec!["s1"]),
        ("status=interrupted", vec!["s3"]),
        ("status=queued", vec!["s4"]),
        ("status=cancelled", vec!["s2"]),
        ("group=needs_input", vec!["s1"]),
        ("group=working", vec!["s4", "s3"]),
        ("group=completed", vec!["s2", "s1.t_01"]),
        ("group=completed&status=completed", vec!["s1.t_01"]),
        ("q=S2%20do", vec!["s2"]),
        ("agent=nobody", vec![]),
        ("since=2100-01-01T00:00:00Z", vec![]),
        ("workspace=.", vec!["s4", "s3", "s2", "s1.t_01", "s1"]),
        ("workspace=/else", vec![]),
    ] {
        let answered = place.get(&format!("/v1/tasks?{query}")).await;
        assert_eq!(answered.status, 200, "{query}: {answered:?}");
        assert_eq!(ids(&answered.json()), expected, "{query}");
    }
    let list = place.get("/v1/tasks?group=needs_input").await.json();
    assert_eq!(list["items"][0]["question"]["question"], "Which?");
    assert_eq!(list["items"][0]["activity"]["kind"], "question");
    assert_eq!(list["items"][0]["tree"]["tasks"], 2);
    let s3 = &place.get("/v1/tasks?status=interrupted").await.json()["items"][0];
    assert_eq!((&s3["activity"]["kind"], &s3["driver"]), (&"interrupted".into(), &Value::Null));
    for wrong in ["status=x", "limit=0", "limit=501", "cursor=x", "since=yesterday", "roots=1"] {
        let answered = place.get(&format!("/v1/tasks?{wrong}")).await;
        assert_eq!((answered.status, answered.code().as_str()), (400, "INVALID_REQUEST"), "{wrong}");
    }
}

#[tokio::test]
async fn an_unchanged_answer_is_not_sent_again() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    place.end(&task, "done").await;
    let bearer = format!("Bearer {}", place.all);
    for path in ["/v1/tasks", "/v1/tasks/s1", "/v1/usage", "/v1/openapi.json"] {
        let first = place.get(path).await;
        let tag = first.header("etag").unwrap().to_owned();
        let headers = [("Authorization", bearer.as_str()), ("If-None-Match", tag.as_str())];
        let again = place.send("GET", path, &headers, "").await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
    }
    let tag = place.get("/v1/tasks").await.header("etag").unwrap().to_owned();
    place.task("s2", None).await;
    let headers = [("Authorization", bearer.as_str()), ("If-None-Match", tag.as_str())];
    assert_eq!(place.send("GET", "/v1/tasks", &headers, "").await.status, 200);
}

#[tokio::test]
async fn the_activity_follows_the_journal() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let doing = || async { place.get("/v1/tasks/s1").await.json()["task"]["activity"].clone() };
    assert_eq!(doing().await["kind"], "model");
    let key = CallKey { turn: 1, index: 0 };
    let observed = |event| Record::Observed { event };
    let call = |key| observed(Event::ToolStarted { key, tool: "read".into(), summary: "src/a.rs".into() });
    place.append(&task, &[replied("", 1_000, 1), call(key), call(CallKey { index: 1, ..key })]).await;
    assert_eq!((&doing().await["kind"], &doing().await["summary"]), (&"tool".into(), &"src/a.rs".into()));
    let asked = Event::ApprovalRequested {
        key: CallKey { index: 2, ..key },
        approval: "a1".into(),
        tool: "bash".into(),
        summary: "rm x".into(),
        why: "a rule".into(),
        deadline_ms: 4_000_000_000_000,
    };
    place.append(&task, &[observed(asked)]).await;
    let now = doing().await;
    assert_eq!((&now["kind"], &now["tool"]), (&"approval".into(), &"bash".into()), "a person comes first");
    assert_eq!(now["until"], "2096-10-02T07:06:40.000Z");
    let detail = place.get("/v1/tasks/s1").await.json();
    assert_eq!(detail["task"]["context"]["used_tokens"], 1_000);
    assert_eq!((&detail["request"]["task"], &detail["outcome"]), (&"Do s1".into(), &Value::Null));
    place.append(&task, &[finished(StopReason::BudgetExhausted, "so far")]).await;
    let detail = place.get("/v1/tasks/s1").await.json();
    assert_eq!((&detail["task"]["status"], &detail["task"]["activity"]), (&"partial".into(), &Value::Null));
    assert_eq!(
        (&detail["outcome"]["reason"], &detail["outcome"]["text"]),
        (&"budget_exhausted".into(), &"so far".into())
    );
}

#[tokio::test]
async fn results_are_paged_and_wait_for_the_end() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    for path in ["/v1/tasks/s1/result", "/v1/tasks/none/result"] {
        let answered = place.get(path).await;
        let expected = if path.contains("none") { (404, "TASK_NOT_FOUND") } else { (409, "TASK_NOT_READY") };
        assert_eq!((answered.status, answered.code().as_str()), expected);
    }
    let text = "äbc".repeat(3_000);
    let (waited, ()) = tokio::join!(place.get("/v1/tasks/s1?wait_ms=20000"), place.end(&task, &text));
    assert_eq!(waited.json()["task"]["status"], "completed", "the wait saw the end");
    let (mut read, mut offset) = (String::new(), 0);
    loop {
        let page = place.get(&format!("/v1/tasks/s1/result?offset={offset}&limit=4000")).await.json();
        read.push_str(page["text"].as_str().unwrap());
        assert_eq!(page["total_chars"], 9_000);
        match page["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(read, text);
    assert_eq!(place.ask("POST", "/v1/tasks/s1/collect", None).await.json()["outcome"]["text_chars"], 9_000);
    let events = place.get("/v1/tasks/s1/events?limit=2").await.json();
    assert_eq!((&events["next"], &events["at_end"]), (&2.into(), &false.into()));
    let kinds: Vec<&str> =
        events["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["started", "turn"]);
    let rest = place.get("/v1/tasks/s1/events?since=2").await.json();
    assert_eq!((rest["events"].as_array().unwrap().len(), &rest["at_end"]), (2, &true.into()));
    let transcript = place.get("/v1/tasks/s1/transcript?limit=2").await.json();
    assert_eq!((transcript["items"].as_array().unwrap().len(), &transcript["total"]), (2, &5.into()));
    let cursor = transcript["next_cursor"].as_str().unwrap();
    let rest = place.get(&format!("/v1/tasks/s1/transcript?cursor={cursor}")).await.json();
    let lengths: Vec<usize> =
        rest["items"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap().len()).collect();
    assert_eq!(lengths, [10_000, 15_000, 16_000]);
    assert_eq!(rest["items"][2]["cut"], serde_json::json!(["text"]));
}

#[tokio::test]
async fn a_tree_has_everything_below_a_task_and_its_budget() {
    let place = Place::start().await;
    place.task("s1", None).await;
    place.task("s1.t_01", Some("s1")).await;
    place.task("s1.t_02", Some("s1")).await;
    place.task("s1.t_03", Some("s1.t_01")).await;
    place.task("s2", None).await;
    assert_eq!(ids(&place.get("/v1/tasks/s1/tree").await.json()), ["s1", "s1.t_01", "s1.t_02", "s1.t_03"]);
    let below: BTreeSet<String> =
        ids(&place.get("/v1/tasks/s1.t_01/tree").await.json()).into_iter().collect();
    assert_eq!(below, BTreeSet::from(["s1.t_01".to_owned(), "s1.t_03".to_owned()]));
    let page = place.get("/v1/tasks/s1/tree?limit=3").await.json();
    let cursor = page["next_cursor"].as_str().unwrap();
    assert_eq!(
        ids(&place.get(&format!("/v1/tasks/s1/tree?limit=3&cursor={cursor}")).await.json()),
        ["s1.t_03"]
    );
    let detail = place.get("/v1/tasks/s1").await.json();
    assert_eq!(detail["descendants"], serde_json::json!({ "running": 3 }));
    let budget = place.get("/v1/tasks/s1/budget").await.json();
    assert_eq!(budget["nodes"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_budget_shows_what_children_hold() {
    let place = Place::start().await;
    let capped = |id: &str, parent: Option<&str>, tokens: u64| {
        let mut record = started("do");
        if let Record::Started(start) = &mut record {
            std::sync::Arc::make_mut(start).caps.input_tokens = Some(tokens);
        }
        NewTask { parent: parent.map(|id| id.to_owned().into()), records: vec![record], ..new_task(id) }
    };
    place.store.create(capped("s1", None, 1_000)).await.unwrap();
    place.task("s1.t_01", Some("s1")).await;
    place.store.create(capped("s1.t_02", Some("s1.t_01"), 300)).await.unwrap();
    // A reply of 100 tokens, and one that was lost before it.
    place.append(&"s1.t_02".to_owned().into(), &[replied("", 100, 0)]).await;
    let budget = place.get("/v1/tasks/s1/budget").await.json();
    let node = |at: usize, field: &str| budget["nodes"][at][field]["input_tokens"].clone();
    assert_eq!(
        (node(0, "spent"), node(0, "reserved"), node(0, "left")),
        (101.into(), 199.into(), 700.into())
    );
    assert_eq!(
        (node(1, "caps"), node(1, "reserved"), node(1, "left")),
        (Value::Null, 199.into(), Value::Null)
    );
    assert_eq!((node(2, "spent"), node(2, "left")), (101.into(), 199.into()));
}
