//! Actions on tasks, through rows that whatever process drives them reads.

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_runtime::ports::{ApprovalStore, JournalStore, MessageStore, NewQuestion, NewTask, ResultDelivery};
use posse_testkit::approval_suite;
use posse_testkit::store_suite::new_task;
use serde_json::{Value, json};

use crate::support::Place;

#[tokio::test]
async fn a_message_is_queued_once_and_its_receipt_follows_it() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let bearer = format!("Bearer {}", place.all);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Idempotency-Key", "one"),
    ];
    let send = || async {
        place.send("POST", "/v1/tasks/s1/messages", &headers, r#"{"text":"Look here"}"#).await.json()
    };
    let first = send().await;
    assert_eq!((&first["receipt"], &first["undriven"]), (&"queued".into(), &false.into()));
    assert_eq!(send().await, first, "the same key is the same message");
    let queued = place.store.queued_messages("s1").await.unwrap();
    assert_eq!(queued.len(), 1);
    let key = first["key"].as_str().unwrap();
    assert_eq!(key, "http/all/one");
    place.ask("POST", "/v1/tasks/s1/messages", Some(json!({ "text": "And here" }))).await;
    assert_eq!(place.store.queued_messages("s1").await.unwrap().len(), 2, "without a key each counts");
    let steered = Record::Steered { text: "Look here".into(), key: key.to_owned(), elapsed_ms: 1 };
    place.append(&task, &[steered]).await;
    let receipts = place.get("/v1/tasks/s1/messages").await.json();
    assert_eq!(
        (&receipts["items"][0]["receipt"], &receipts["items"][0]["turn"]),
        (&"delivered".into(), &1.into())
    );
    place.end(&task, "done").await;
    assert_eq!(send().await["receipt"], "delivered");
    let late = place.ask("POST", "/v1/tasks/s1/messages", Some(json!({ "text": "Too late" }))).await;
    assert_eq!(late.json()["receipt"], "missed");
    for (body, path) in [
        (json!({ "text": " " }), "/v1/tasks/s1/messages"),
        (json!({ "text": "x", "y": 1 }), "/v1/tasks/s1/messages"),
    ] {
        assert_eq!(place.ask("POST", path, Some(body)).await.status, 400);
    }
    assert_eq!(
        place.ask("POST", "/v1/tasks/no/messages", Some(json!({ "text": "x" }))).await.code(),
        "TASK_NOT_FOUND"
    );
}

#[tokio::test]
async fn a_question_is_answered_for_another_process() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let (key, text) = ("q".to_owned(), "Which branch?".to_owned());
    let question = NewQuestion { task: task.clone(), key, text, options: Vec::new(), asked_ms: 1 };
    place.store.ask_question(question.clone()).await.unwrap();
    let open = place.get("/v1/questions").await.json();
    assert_eq!(
        open["items"][0],
        json!({ "task_id": "s1", "id": 1, "question": "Which branch?", "options": [] })
    );
    let answered = place.ask("POST", "/v1/tasks/s1/answer", Some(json!({ "answer": "main" }))).await.json();
    assert_eq!((&answered["answered"], &answered["question"]["id"]), (&true.into(), &1.into()));
    let known = place.store.ask_question(question).await.unwrap();
    assert_eq!(known.state, posse_runtime::ports::QuestionState::Answered("main".into()));
    let again = place.ask("POST", "/v1/tasks/s1/answer", Some(json!({ "answer": "main" }))).await.json();
    assert_eq!((&again["answered"], &again["question"]), (&false.into(), &Value::Null));
}

#[tokio::test]
async fn an_approval_is_given_to_exactly_the_call_that_was_shown() {
    let place = Place::start().await;
    place.task("s1", None).await;
    let request =
        posse_core::approval::ApprovalRequest { deadline_ms: u64::MAX, ..approval_suite::request("s1", 1) };
    let parked = place.store.park(request).await.unwrap();
    let path = format!("/v1/approvals/{}", parked.id);
    let shown = place.get(&path).await.json();
    assert_eq!(
        (&shown["status"], &shown["tool"], &shown["default"]),
        (&"open".into(), &"bash".into(), &"deny".into())
    );
    assert_eq!(shown["arguments"], parked.request.arguments, "byte for byte");
    let answer = |verdict: &str, hash: &str, scope: &str| {
        let body = json!({ "verdict": verdict, "hash": hash, "scope": scope, "reason": "fine" });
        let (place, path) = (&place, path.clone());
        async move { place.ask("POST", &path, Some(body)).await }
    };
    assert_eq!(answer("approve", "another", "once").await.code(), "APPROVAL_MISMATCH");
    let given = answer("approve", &parked.request.hash, "task").await.json();
    assert_eq!(
        (&given["status"], &given["answer"]["by"], &given["answer"]["scope"]),
        (&"approved".into(), &"all".into(), &"task".into())
    );
    assert_eq!(answer("approve", &parked.request.hash, "task").await.json(), given, "the same answer again");
    assert_eq!(answer("deny", &parked.request.hash, "task").await.code(), "APPROVAL_CLOSED");
    assert_eq!(place.get("/v1/approvals/a99").await.code(), "APPROVAL_NOT_FOUND");
    let history = place.get("/v1/approvals?status=approved").await.json();
    assert_eq!(history["items"].as_array().unwrap().len(), 1);
    assert_eq!(place.get("/v1/approvals?status=open").await.json()["items"], json!([]));
}

#[tokio::test]
async fn approvals_are_paged() {
    let place = Place::start().await;
    place.task("s1", None).await;
    for turn in 1..=5 {
        let request = posse_core::approval::ApprovalRequest {
            deadline_ms: u64::MAX,
            ..approval_suite::request("s1", turn)
        };
        place.store.park(request).await.unwrap();
    }
    for (status, expected) in
        [("status=open&", ["a1", "a2", "a3", "a4", "a5"]), ("", ["a5", "a4", "a3", "a2", "a1"])]
    {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = place.get(&format!("/v1/approvals?{status}limit=2{cursor}")).await.json();
            let items = page["items"].as_array().unwrap().iter();
            seen.extend(items.map(|item| item["approval"].as_str().unwrap().to_owned()));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn a_cancel_reaches_the_process_that_drives_and_ends_what_nobody_drives() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let (cancelled, ()) = tokio::join!(place.ask("POST", "/v1/tasks/s1/cancel", None), async {
        // What a driver does: it finds the request, and ends.
        while place.store.cancel_requests().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        place
            .append(
                &task,
                &[posse_testkit::store_suite::finished(posse_core::outcome::StopReason::Cancelled, "")],
            )
            .await;
    });
    assert_eq!(cancelled.json()["receipt"], "cancelled", "{cancelled:?}");
    assert_eq!(place.ask("POST", "/v1/tasks/s1/cancel", None).await.json()["receipt"], "had_ended");
    place.store.create(NewTask { owner: "1:1".to_owned(), ..new_task("s2") }).await.unwrap();
    let ended = place.ask("POST", "/v1/tasks/s2/cancel", None).await.json();
    assert_eq!((&ended["receipt"], &ended["task"]["status"]), (&"cancelled".into(), &"cancelled".into()));
}

#[tokio::test]
async fn a_result_is_collected_for_its_host() {
    let place = Place::start().await;
    let task = place.task("s1.t_01", Some("s1")).await;
    assert_eq!(place.ask("POST", "/v1/tasks/s1.t_01/collect", None).await.code(), "TASK_NOT_READY");
    place.end(&task, "done").await;
    assert_eq!(place.ask("POST", "/v1/tasks/s1.t_01/collect", None).await.json()["outcome"]["text"], "done");
    let row = place.store.task(&task).await.unwrap();
    assert!(matches!(row.delivery, ResultDelivery::Collected { by } if by.starts_with("http/all/")));
}

#[tokio::test]
async fn waits_end_with_one_or_all() {
    let place = Place::start().await;
    let (one, _two) = (place.task("s1", None).await, place.task("s2", None).await);
    place.end(&one, "done").await;
    let wait = |all: bool| {
        let body = json!({ "task_ids": ["s1", "s2"], "all": all, "timeout_ms": 1 });
        let place = &place;
        async move { place.ask("POST", "/v1/tasks/wait", Some(body)).await.json() }
    };
    let any = wait(false).await;
    assert_eq!(
        (&any["timed_out"], &any["ended"][0]["task_id"], &any["running"][0]["task_id"]),
        (&false.into(), &"s1".into(), &"s2".into())
    );
    assert_eq!(wait(true).await["timed_out"], true);
    for wrong in [json!({ "task_ids": [] }), json!({ "task_ids": ["s1"], "timeout_ms": 50_000 }), json!({})] {
        assert_eq!(place.ask("POST", "/v1/tasks/wait", Some(wrong)).await.status, 400);
    }
}

#[tokio::test]
async fn shared_context_is_read_written_and_remembered() {
    let place = Place::start().await;
    place.task("s1", None).await;
    let path = "/v1/sessions/s1/context/plan";
    assert_eq!(place.get(path).await.code(), "KEY_NOT_FOUND");
    let write = |value: &str, expected: Option<u64>| {
        let body = json!({ "value": value, "expected_version": expected });
        let place = &place;
        async move { place.ask("PUT", path, Some(body)).await }
    };
    assert_eq!(write("first", Some(0)).await.json()["version"], 1);
    assert_eq!(write("second", Some(0)).await.code(), "VERSION_CONFLICT");
    assert_eq!(write("second", Some(1)).await.json()["version"], 2);
    let value = place.get(path).await.json();
    assert_eq!(
        (&value["value"], &value["written_by"], &value["readable_by"]),
        (&"second".into(), &"operator".into(), &Value::Null)
    );
    let keys = place.get("/v1/sessions/s1/context").await.json();
    assert_eq!((&keys["keys"][0]["key"], &keys["keys"][0]["value"]), (&"plan".into(), &Value::Null));
    assert_eq!(place.ask("DELETE", path, None).await.status, 200);
    let history = place.get(&format!("{path}/history")).await.json();
    let acts: Vec<&str> =
        history["versions"].as_array().unwrap().iter().map(|line| line["action"].as_str().unwrap()).collect();
    assert_eq!(acts.len(), 3);
    assert_eq!(history["versions"][1]["value"], "second");
    assert_eq!(place.get("/v1/sessions/none/context").await.code(), "SESSION_NOT_FOUND");
    assert_eq!(place.get("/v1/sessions/none").await.code(), "SESSION_NOT_FOUND");
    assert_eq!(place.get("/v1/sessions/s1/context/Not-A-Key").await.code(), "INVALID_KEY");
    let session = place.get("/v1/sessions/s1").await.json();
    assert_eq!((&session["tasks"], &session["title"]), (&1.into(), &"Do s1".into()));
    assert_eq!(place.get("/v1/sessions").await.json()["items"][0], session);
}

#[tokio::test]
async fn leases_of_dead_holders_are_released_and_others_only_by_force() {
    let place = Place::start().await;
    let lease = Some(posse_testkit::store_suite::wants(&["src/**"], posse_runtime::context::now_ms()));
    let owner = posse_runtime::liveness::owner();
    place.store.create(NewTask { owner, lease, ..new_task("s1") }).await.unwrap();
    let shown = place.get("/v1/leases").await.json();
    assert_eq!(
        (&shown["items"][0]["task_id"], &shown["items"][0]["paths"][0]),
        (&"s1".into(), &"src/**".into())
    );
    assert_eq!(place.ask("POST", "/v1/leases/s1/release", None).await.code(), "LEASE_HELD");
    assert_eq!(place.ask("POST", "/v1/leases/s1/release", Some(json!({ "force": true }))).await.status, 200);
    assert_eq!(place.get("/v1/leases").await.json()["items"], json!([]));
    assert_eq!(place.ask("POST", "/v1/leases/s1/release", None).await.status, 400);
}

#[tokio::test]
async fn spending_is_summed_by_every_key() {
    let place = Place::start().await;
    let task: TaskId = place.task("s1", None).await;
    place.append(&task, &[posse_testkit::store_suite::priced(100, Some(2_000_000))]).await;
    for by in ["agent", "model", "day", "workspace", "tree"] {
        let report = place.get(&format!("/v1/usage?by={by}")).await.json();
        assert_eq!(
            (&report["by"], &report["total"]["spending"]["cost_usd"]),
            (&by.into(), &2.0.into()),
            "{report}"
        );
        assert_eq!(report["items"].as_array().unwrap().len(), 1);
    }
    let agents = place.get("/v1/agents?q=cook").await.json();
    assert_eq!(agents["items"].as_array().unwrap().len(), 1);
    assert_eq!(place.get("/v1/agents/nobody").await.code(), "AGENT_NOT_FOUND");
}
