//! Hosts end their servers by closing the input, with SIGINT, with SIGTERM or not at all. What is at work goes on, or is found again.

use serde_json::{Value, json};

use super::host::{Host, place};
use crate::support::{Place, processes_of, until};

fn spawn_patient(host: &mut Host) {
    host.initialize("2025-11-25");
    host.tool("subagent", json!({ "action": "spawn", "agent": "patient", "task": "Wait" }));
    until("it is at the gate", || {
        let listed = host.tool("subagent_list", json!({ "what": "tasks" }));
        listed["tasks"][0]["activity"].as_str().is_some_and(|doing| doing.contains("wait_gate")).then_some(())
    });
}

/// The task's row, once it has ended.
fn ended(place: &Place) -> Value {
    until("the task ends", || {
        let task = place.tasks().pop().unwrap();
        (task["status"] != "running" && task["status"] != "interrupted").then_some(task)
    })
}

fn end_with(host: &mut Host, how: Option<i32>) {
    match how {
        Some(signal) => host.signal(signal),
        None => host.close_input(),
    }
    assert!(host.ends().success(), "{how:?}");
}

#[test]
fn what_is_at_work_goes_on_when_the_host_has_gone() {
    for how in [None, Some(libc::SIGINT), Some(libc::SIGTERM)] {
        let place = place();
        let mut host = Host::start(&place, &["--allow", "wait_gate"]);
        spawn_patient(&mut host);
        end_with(&mut host, how);
        place.write("workspace/gate", "");
        assert_eq!(ended(&place)["status"], "completed", "{how:?}");
        let mut later = Host::start(&place, &[]);
        later.initialize("2025-11-25");
        let result = later.tool("subagent_result", json!({ "task_id": "t_01" }));
        assert_eq!(result["text"], "The gate is open.", "{how:?}");
        later.leave();
    }
}

/// The next host of this directory can come before the task is done: it follows what the worker drives.
#[test]
fn a_host_that_comes_back_early_waits_for_what_goes_on_elsewhere_and_can_end_it() {
    let place = place();
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    spawn_patient(&mut host);
    host.tool("subagent", json!({ "action": "spawn", "agent": "patient", "task": "Wait too" }));
    let after = json!({ "action": "spawn", "agent": "quick", "task": "After", "depends_on": ["t_01"] });
    host.tool("subagent", after);
    end_with(&mut host, None);
    let mut later = Host::start(&place, &["--allow", "wait_gate"]);
    later.initialize("2025-11-25");
    let listed = later.tool("subagent_list", json!({ "what": "tasks" }));
    let running = listed["tasks"].as_array().unwrap().iter().filter(|task| task["status"] == "running");
    assert_eq!(running.count(), 3, "{listed}");
    later.tool("subagent", json!({ "action": "cancel", "task_id": "t_02" }));
    let waited = later.tool("subagent_wait", json!({ "task_ids": ["t_02"], "timeout_s": 45 }));
    assert_eq!(waited["finished"][0]["reason"], "cancelled", "{waited}");
    place.write("workspace/gate", "");
    let waited =
        later.tool("subagent_wait", json!({ "task_ids": ["t_01", "t_03"], "mode": "all", "timeout_s": 45 }));
    let states: Vec<&Value> =
        waited["finished"].as_array().unwrap().iter().map(|task| &task["status"]).collect();
    assert_eq!(states, ["completed", "completed"], "{waited}");
    later.leave();
}

/// kill -9 in the middle, as a host does that has no patience.
#[test]
fn a_server_that_was_killed_loses_nothing() {
    let place = place();
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    spawn_patient(&mut host);
    host.signal(libc::SIGKILL);
    assert!(!host.ends().success());
    let mut later = Host::start(&place, &["--allow", "wait_gate"]);
    later.initialize("2025-11-25");
    let listed = later.tool("subagent_list", json!({ "what": "tasks" }));
    assert_eq!(
        (&listed["tasks"][0]["task_id"], &listed["tasks"][0]["status"]),
        (&json!("t_01"), &json!("running"))
    );
    place.write("workspace/gate", "");
    let waited = later.tool("subagent_wait", json!({ "task_ids": ["t_01"], "timeout_s": 45 }));
    assert_eq!(waited["finished"][0]["status"], "completed", "{waited}");
    assert_eq!(later.tool("subagent_result", json!({ "task_id": "t_01" }))["text"], "The gate is open.");
    later.leave();
}

#[test]
fn tasks_can_be_ended_with_the_server_or_left_as_they_are() {
    let place = place();
    let mut host = Host::start(&place, &["--allow", "wait_gate", "--on-exit", "cancel"]);
    spawn_patient(&mut host);
    let task = place.tasks().pop().unwrap()["task_id"].as_str().unwrap().to_owned();
    end_with(&mut host, None);
    assert_eq!(place.tasks().pop().unwrap()["status"], "cancelled");
    until("nothing of it is left", || processes_of(&task).is_empty().then_some(()));

    let place = super::host::place();
    let config = std::fs::read_to_string(place.home().join(".config/posse/config.toml")).unwrap();
    place.write("home/.config/posse/config.toml", &format!("{config}[mcp]\non_exit = \"leave\"\n"));
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    spawn_patient(&mut host);
    end_with(&mut host, Some(libc::SIGTERM));
    assert_eq!(place.tasks().pop().unwrap()["status"], "interrupted", "nobody drives it");
    place.write("workspace/gate", "");
    let ran = place.run(["worker", "--local", "--until-idle"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ended(&place)["status"], "completed");
}
