//! A session whose orchestrator is a program outside: it comes and goes, and what it delegated and defined stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use posse_core::ErrorCode;
use posse_core::id::TaskId;
use posse_runtime::observe::Observers;
use posse_runtime::ports::{ContextStore, JournalStore, TaskRow};
use posse_runtime::session::HostSession;
use posse_testkit::memory::MemoryStore;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::session::{agent, session_of};

const SCRIPT: &str = r#"
    helper:
      - {text: looked, delay_ms: 20000}
    poet:
      - text: a poem
    scribe:
      - text: read
    "#;

/// A task without an owner is driven by nobody; the processes of a test all live.
fn lives(row: &TaskRow) -> bool {
    !row.owner.is_empty()
}

async fn host(owner: &str, store: &Arc<MemoryStore>) -> HostSession {
    let session = session_of(owner, lives, SCRIPT, store.clone(), Observers::default());
    session.host(agent("host", None), Some("use --write".to_owned())).await.unwrap()
}

/// One call, with a key of its own.
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

fn spawn(agent: &str) -> Value {
    json!({ "action": "spawn", "agent": agent, "task": "look" })
}

fn define(prompt: &str, overwrite: bool) -> Value {
    json!({ "action": "define", "name": "poet", "description": "writes", "system_prompt": prompt,
        "overwrite": overwrite })
}

async fn wait(hosted: &HostSession, id: &str) -> Value {
    let waited = call(hosted, json!({ "action": "wait", "task_ids": [id], "timeout_ms": 45000 })).await;
    waited["finished"][0].clone()
}

async fn agents(hosted: &HostSession) -> Vec<String> {
    let listed = call(hosted, json!({ "action": "list_agents" })).await;
    let names = listed["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_sees_the_same_tasks_and_agents() {
    let store = Arc::new(MemoryStore::new());
    let first = host("first", &store).await;
    assert_eq!(call(&first, spawn("helper")).await["task_id"], "t_01");
    assert_eq!(wait(&first, "t_01").await["status"], "completed");
    assert_eq!(call(&first, define("You write.", false)).await["defined"], "poet");
    let seen = first.tasks().await.unwrap();
    drop(first);
    let second = host("second", &store).await;
    let again: Vec<_> = second.tasks().await.unwrap();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0], seen[0]);
    let result = call(&second, json!({ "action": "result", "task_id": "t_01" })).await;
    assert_eq!(result["text"], "looked", "{result}");
    // Seen to fail when what was brought back is said to be collected: nobody has collected it.
    let collected = async || {
        let listed = call(&second, json!({ "action": "list_tasks" })).await;
        listed["tasks"][0]["collected"].clone()
    };
    assert_eq!(collected().await, Value::Null);
    assert_eq!(call(&second, json!({ "action": "collect", "task_id": "t_01" })).await["result"], "looked");
    assert_eq!(collected().await, json!(true));
    assert!(agents(&second).await.contains(&"poet".to_owned()));
    // It is the same agent: it is taken over once, it works, and it is made again as its next version.
    assert_eq!(call(&second, define("You rhyme.", false)).await["error"], "AGENT_ALREADY_EXISTS");
    let taken_over = call_as(&second, define("You write.", false), "take over").await;
    assert_eq!((&taken_over["defined"], &taken_over["unchanged"]), (&json!("poet"), &json!(true)));
    assert_eq!(call_as(&second, define("You write.", false), "take over").await, taken_over);
    assert_eq!(call(&second, define("You write.", false)).await["error"], "AGENT_ALREADY_EXISTS");
    assert_eq!(call(&second, define("You write well.", true)).await["version"], 2);
    assert_eq!(call(&second, spawn("poet")).await["task_id"], "t_02");
    assert_eq!(wait(&second, "t_02").await["status"], "completed");
    let third = host("third", &store).await;
    assert_eq!(call(&third, define("You write best.", true)).await["version"], 3);
    assert_eq!(call(&second, define("You do not.", true)).await["version"], 4, "what others made is known");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_be_kept_was_not_defined() {
    let store = Arc::new(MemoryStore::new());
    let hosted = host("first", &store).await;
    store.archive_session("s1", 1).await.unwrap();
    let refused = call(&hosted, define("You write.", false)).await;
    assert_eq!(refused["error"], "SESSION_ARCHIVED", "{refused}");
    assert!(!agents(&hosted).await.contains(&"poet".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn several_hosts_share_their_tasks_and_no_number_is_given_twice() {
    let store = Arc::new(MemoryStore::new());
    let (first, second) = (host("first", &store).await, host("second", &store).await);
    assert_eq!(call(&first, spawn("helper")).await["task_id"], "t_01");
    assert_eq!(call(&second, spawn("helper")).await["task_id"], "t_02");
    assert_eq!(call_as(&first, spawn("helper"), "same").await["task_id"], "t_03");
    assert_eq!(call_as(&first, spawn("helper"), "same").await["task_id"], "t_03", "a call made again");
    assert_eq!(first.begun_by("same"), Some(TaskId::child("s1", 3)));
    assert_eq!(wait(&second, "t_01").await["status"], "completed", "it is driven by the other one");
    assert_eq!(store.task(&TaskId::child("s1", 1)).await.unwrap().epoch, 1);
    assert_eq!((first.tasks().await.unwrap().len(), second.tasks().await.unwrap().len()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_writing_in_vain_is_told_what_a_person_can_do() {
    let store = Arc::new(MemoryStore::new());
    let hosted = host("first", &store).await;
    let mut writes = spawn("helper");
    writes["write_paths"] = json!(["src/**"]);
    let refused = call(&hosted, writes).await;
    assert_eq!((&refused["error"], &refused["hint"]), (&json!("ACCESS_DENIED"), &json!("use --write")));
    assert_eq!(hosted.tasks().await.unwrap(), [], "nothing was begun");
    let spawned = call(&hosted, spawn("scribe")).await;
    let warning = json!("`scribe` works without `write`, `bash`, which its definition names: use --write");
    assert!(spawned["warnings"].as_array().unwrap().contains(&warning), "{spawned}");
    assert_eq!(call(&hosted, spawn("helper")).await.get("warnings"), None);
}

/// The specification has one call too many refused; whoever means to wait says so.
#[tokio::test(start_paused = true)]
async fn a_host_that_delegates_too_much_at_once_is_told_how_to_queue() {
    let store = Arc::new(MemoryStore::new());
    let hosted = host("first", &store).await;
    for _ in 0..5 {
        assert_eq!(call(&hosted, spawn("helper")).await["status"], "running");
    }
    let refused = call(&hosted, spawn("helper")).await;
    assert_eq!(refused["error"], "MAX_TASKS_EXCEEDED");
    assert!(refused["hint"].as_str().unwrap().contains("`queue: true`"), "{refused}");
    let mut queued = spawn("helper");
    queued["queue"] = json!(true);
    let queued = call(&hosted, queued).await;
    assert_eq!(queued["queued"], true, "{queued}");
    assert_eq!(wait(&hosted, queued["task_id"].as_str().unwrap()).await["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn what_is_let_go_of_goes_on_with_whoever_comes_next() {
    let store = Arc::new(MemoryStore::new());
    let first = host("first", &store).await;
    call(&first, spawn("helper")).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let id = TaskId::child("s1", 1);
    assert_eq!(first.unfinished(), std::slice::from_ref(&id));
    assert_eq!(first.release_tasks().await.unwrap(), std::slice::from_ref(&id));
    let row = store.task(&id).await.unwrap();
    assert_eq!((row.state.wire(), row.owner.as_str()), ("running", ""), "nobody drives it");
    let second = host("second", &store).await;
    assert_eq!(wait(&second, "t_01").await["status"], "completed");
    let row = store.task(&id).await.unwrap();
    assert_eq!((row.state.wire(), row.owner.as_str()), ("completed", "second"));
    assert_eq!(first.release_tasks().await.unwrap(), [], "what has ended is nobody's");
}

#[tokio::test(start_paused = true)]
async fn a_task_ends_when_a_host_says_so_here_or_elsewhere() {
    let store = Arc::new(MemoryStore::new());
    let (first, second) = (host("first", &store).await, host("second", &store).await);
    for _ in 0..4 {
        call(&first, spawn("helper")).await;
    }
    let began = Instant::now();
    let ended = call(&first, json!({ "action": "cancel", "task_id": "t_01" })).await;
    assert_eq!((&ended["status"], &ended["reason"]), (&json!("failed"), &json!("cancelled")), "{ended}");
    let ended = call(&second, json!({ "action": "cancel", "task_id": "t_02" })).await;
    assert_eq!(ended["reason"], "cancelled", "{ended}");
    store.request_cancel(&TaskId::child("s1", 3)).await.unwrap();
    assert_eq!(wait(&second, "t_03").await["reason"], "cancelled");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    first.cancel_all().await;
    for number in 1..=4 {
        assert_eq!(
            store.task(&TaskId::child("s1", number)).await.unwrap().state.wire(),
            "cancelled",
            "{number}"
        );
    }
    assert_eq!(first.row("t_09").await.unwrap_err().code(), ErrorCode::TaskNotFound);
}

fn collect(id: &str) -> Value {
    json!({ "action": "collect", "task_id": id })
}

// R110, R111
#[tokio::test(start_paused = true)]
async fn a_hundred_collectors_in_two_processes_get_one_result() {
    let store = Arc::new(MemoryStore::new());
    let (first, second) = (Arc::new(host("first", &store).await), Arc::new(host("second", &store).await));
    call(&first, spawn("helper")).await;
    assert_eq!(wait(&second, "t_01").await["status"], "completed");
    assert_eq!(wait(&first, "t_01").await["status"], "completed");
    let mut collectors = tokio::task::JoinSet::new();
    for number in 0..100 {
        let hosted = if number % 2 == 0 { first.clone() } else { second.clone() };
        collectors.spawn(async move { call(&hosted, collect("t_01")).await });
    }
    let (won, lost): (Vec<Value>, Vec<Value>) =
        collectors.join_all().await.into_iter().partition(|answer| answer.get("error").is_none());
    assert_eq!((won.len(), &won[0]["result"]), (1, &json!("looked")), "{won:?}");
    for answer in lost {
        assert_eq!(answer["error"], "TASK_NOT_FOUND", "{answer}");
        assert!(answer["hint"].as_str().unwrap().starts_with("already_collected"), "{answer}");
    }
    for hosted in [&first, &second] {
        for action in ["status", "cancel", "collect"] {
            let answer = call(hosted, json!({ "action": action, "task_id": "t_01" })).await;
            assert_eq!(answer["error"], "TASK_NOT_FOUND", "{action}: {answer}");
        }
        let result = call(hosted, json!({ "action": "result", "task_id": "t_01" })).await;
        assert_eq!(result["text"], "looked");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_made_again_gets_the_same_answer_also_from_the_next_process() {
    let store = Arc::new(MemoryStore::new());
    let first = host("first", &store).await;
    call(&first, spawn("helper")).await;
    wait(&first, "t_01").await;
    let answer = call_as(&first, collect("t_01"), "request").await;
    assert_eq!(answer["result"], "looked", "{answer}");
    assert_eq!(call_as(&first, collect("t_01"), "request").await, answer);
    let second = host("second", &store).await;
    assert_eq!(call_as(&second, collect("t_01"), "request").await, answer);
    assert_eq!(call_as(&second, collect("t_01"), "another").await["error"], "TASK_NOT_FOUND");
    let both = [call_as(&second, spawn("helper"), "spawn"), call_as(&second, spawn("helper"), "spawn")];
    let [one, two] = <[_; 2]>::try_from(futures_of(both).await).unwrap();
    assert_eq!((&one["task_id"], &two["task_id"]), (&json!("t_02"), &json!("t_02")), "they are one request");
}

async fn futures_of<F: Future<Output = Value>>(both: [F; 2]) -> Vec<Value> {
    let [one, two] = both;
    let (one, two) = tokio::join!(one, two);
    vec![one, two]
}

#[tokio::test(start_paused = true)]
async fn a_status_is_told_at_once_and_waits_only_if_it_is_asked_to() {
    let store = Arc::new(MemoryStore::new());
    let hosted = host("first", &store).await;
    call(&hosted, spawn("helper")).await;
    let began = Instant::now();
    for action in ["status", "collect", "status", "collect"] {
        let answer = call(&hosted, json!({ "action": action, "task_id": "t_01" })).await;
        assert_eq!(answer["retry_after_ms"], 2_000, "{answer}");
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    let waited = call(&hosted, json!({ "action": "status", "task_id": "t_01", "wait_ms": 3_000 })).await;
    assert_eq!((&waited["status"], began.elapsed()), (&json!("running"), Duration::from_secs(3)));
    let waited = call(&hosted, json!({ "action": "collect", "task_id": "t_01", "wait_ms": 40_000 })).await;
    assert_eq!((&waited["result"], began.elapsed()), (&json!("looked"), Duration::from_secs(20)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_ids_names_each_end_once_and_the_next_process_what_nobody_was_told() {
    let store = Arc::new(MemoryStore::new());
    let first = host("first", &store).await;
    let next = async |hosted: &HostSession| {
        let waited = call(hosted, json!({ "action": "wait", "timeout_ms": 45_000 })).await;
        let ids = waited["finished"].as_array().unwrap().iter().map(|task| task["task_id"].as_str().unwrap());
        (ids.map(str::to_owned).collect::<Vec<_>>(), waited["note"].is_string())
    };
    call(&first, spawn("helper")).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    call(&first, spawn("helper")).await;
    assert_eq!(next(&first).await, (vec!["t_01".to_owned()], false));
    assert_eq!(next(&first).await, (vec!["t_02".to_owned()], false));
    let began = Instant::now();
    assert_eq!(next(&first).await, (vec![], true), "there is nothing to wait for");
    assert_eq!(began.elapsed(), Duration::ZERO);
    call(&first, spawn("helper")).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    drop(first);
    let second = host("second", &store).await;
    assert_eq!(next(&second).await, (vec!["t_03".to_owned()], false), "the others were told before");
    assert_eq!(call(&second, collect("t_01")).await["result"], "looked");
}
