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
        _ => call(&format!("s{turn}"), json!({"action": "status", "task_id": "t_01"})),
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
