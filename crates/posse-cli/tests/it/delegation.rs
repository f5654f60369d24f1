//! A delegation as a real model does it: over the wire, with a child that takes its time.

use std::time::Duration;

use posse_testkit::server::{Recorded, Server};
use posse_testkit::wire::{self, Say};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

const MODEL: &str = "anthropic:claude-sonnet-4-5";

fn call(id: &str, arguments: Value) -> Say {
    Say::call(id, "subagent", arguments)
}

/// The first message of a conversation says whose it is.
fn task(request: &Recorded) -> String {
    request.json()["messages"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Asks again and again until the child is done.
fn orchestrator(request: &Recorded) -> Say {
    let turn = wire::turn(request);
    let last = wire::results(request).pop().unwrap_or_default();
    match turn {
        0 => call("a", json!({"action": "spawn", "agent": "general", "task": "child: look at a.txt"})),
        _ if last.contains("\"result\"") => Say::text(&format!("The child says: {last}")),
        _ if last.contains("completed") => {
            call(&format!("c{turn}"), json!({"action": "collect", "task_id": "t_01"}))
        }
        _ => call(&format!("s{turn}"), json!({"action": "status", "task_id": "t_01", "wait_ms": 5000})),
    }
}

fn child(request: &Recorded) -> Say {
    match wire::turn(request) {
        0 => Say::call("r", "read", json!({"path": "a.txt"})),
        _ => Say::text("It says alpha."),
    }
}

// R001, R054, R055, R157
#[tokio::test]
async fn an_orchestrator_waits_for_a_child_and_takes_over_its_result() {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha\n");
    let server = Server::handler(|request| {
        if task(request).starts_with("child") {
            return child(request).answer(request).gap(0, Duration::from_millis(200));
        }
        orchestrator(request).answer(request).gap(0, Duration::from_millis(150))
    })
    .await;
    let mut command = place.posse(["run", "--json", "--model", MODEL, "Delegate it"]);
    command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "canary-key");
    let ran = Ran::beside(command).await;
    let envelope = ran.envelope();
    assert_eq!((ran.code, &envelope["status"]), (0, &json!("completed")), "{ran:?}");
    assert!(envelope["text"].as_str().unwrap().contains("It says alpha."), "{envelope}");
    let rows = place.tasks();
    let statuses: Vec<&Value> = rows.iter().map(|row| &row["status"]).collect();
    assert_eq!(statuses, ["completed", "completed"], "{rows:?}");
    let parents: Vec<&Value> = rows.iter().map(|row| &row["parent"]).collect();
    assert!(parents.contains(&&envelope["task_id"]), "{rows:?}");
}

/// Delegates with `first`, looks around until it hears that the task has ended, and answers without asking about it.
async fn run_and_listen(place: &Place, first: Value, args: &[&str]) -> (Ran, Vec<Recorded>) {
    let server = Server::handler(move |request| {
        let turn = wire::turn(request);
        let say = match turn {
            _ if task(request).starts_with("child") => Say::text("The gate is made of oak."),
            0 => call("a", first.clone()),
            _ if told(request).is_some() => Say::text("I have heard."),
            _ => Say::call(&format!("g{turn}"), "glob", json!({"pattern": format!("*.{turn}")})),
        };
        say.answer(request).gap(0, Duration::from_millis(50))
    })
    .await;
    let model = ["run", "--model", MODEL, "--max-turns", "100"];
    let mut command = place.posse(model.iter().chain(args).copied().chain(["Delegate it"]));
    command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "canary-key");
    (Ran::beside(command).await, server.requests())
}

/// What a request tells about the end of a task.
fn told(request: &Recorded) -> Option<String> {
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    let texts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let mut ends =
        texts.filter_map(|block| block["text"].as_str()).filter(|text| text.contains("has ended:"));
    let end = ends.next()?.to_owned();
    assert_eq!(ends.next(), None, "an end is announced once");
    Some(end)
}

// R424 R425
#[tokio::test]
async fn the_result_of_a_launched_task_reaches_its_parent_before_its_next_turn() {
    let place = Place::new();
    let launch = json!({"description": "Look at the gate", "prompt": "child: say what the gate is made of"});
    let (ran, requests) = run_and_listen(&place, launch, &["--json"]).await;
    let envelope = ran.envelope();
    assert_eq!(
        (&envelope["status"], &envelope["text"]),
        (&json!("completed"), &json!("I have heard.")),
        "{ran:?}"
    );
    let ends: Vec<String> = requests.iter().filter_map(told).collect();
    let told = "Task t_01 (general) has ended: completed.\n<data from=\"general t_01\">\nThe gate is made of oak.\n</data>";
    assert_eq!(ends, [told], "{ran:?}");
    assert_eq!(envelope["warnings"], json!([]), "nothing of it was left: {envelope}");
}

#[tokio::test]
async fn a_run_does_not_end_without_a_word_about_a_result_that_nobody_collected() {
    let place = Place::new();
    let spawn = json!({"action": "spawn", "agent": "general", "task": "child: say what the gate is made of"});
    let (ran, requests) = run_and_listen(&place, spawn.clone(), &["--json"]).await;
    let ends: Vec<String> = requests.iter().filter_map(told).collect();
    let how =
        "`subagent` with action collect and task_id t_01 gives its result, action result its full text.";
    assert!(
        ends.len() == 1 && ends[0].contains("The gate is made of oak.") && ends[0].ends_with(how),
        "{ends:?}"
    );
    let envelope = ran.envelope();
    let warning =
        "t_01 (general) ended as completed, and its result was not collected; `posse tasks show` has it";
    assert_eq!(
        (&envelope["status"], &envelope["warnings"]),
        (&json!("completed"), &json!([warning])),
        "{ran:?}"
    );
    let (ran, _) = run_and_listen(&Place::new(), spawn, &[]).await;
    assert!(ran.stderr.contains(warning), "{ran:?}");
}

#[tokio::test]
async fn a_run_does_not_end_without_a_word_about_a_child_that_still_runs() {
    let place = Place::new();
    let server = Server::handler(|request| match wire::turn(request) {
        _ if task(request).starts_with("child") => {
            Say::text("Late.").answer(request).gap(0, Duration::from_secs(600))
        }
        0 => call("a", json!({"action": "spawn", "agent": "general", "task": "child: wait"})).answer(request),
        _ => Say::text("That is all.").answer(request),
    })
    .await;
    let mut command = place.posse(["run", "--json", "--model", MODEL, "Delegate it"]);
    command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "canary-key");
    let envelope = Ran::beside(command).await.envelope();
    let warning = "t_01 was still running when its orchestrator ended, and was cancelled";
    assert_eq!(
        (&envelope["status"], &envelope["warnings"]),
        (&json!("completed"), &json!([warning])),
        "{envelope}"
    );
}
