//! Processes of tools when a supervisor or a driver is killed: what is in doubt is said, and only leftovers are ended.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::support::{Place, Ran, Running, supervisors_of, until};

/// A tool of the user's own that leaves a line and then never ends.
fn place_with_tool(effect: &str) -> (Place, String) {
    let place = Place::new();
    place.write("workspace/effects.txt", "");
    let manifest = json!({
        "name": "append", "description": "Appends a line", "command": ["./run.sh"], "effect": effect,
        "input_schema": { "type": "object", "properties": {} },
    });
    place.write("home/.config/posse/tools/append/tool.json", &manifest.to_string());
    place.write_program(
        "home/.config/posse/tools/append/run.sh",
        "#!/bin/sh\necho \"$POSSE_IDEMPOTENCY_KEY\" >> effects.txt\nexec sleep 600\n",
    );
    let model = place.script("- calls: [append: {}]\n- text: I have seen it.\n");
    (place, model)
}

fn kill(pid: i32) {
    // SAFETY: a plain system call. The process is waited for by its parent, which waits for its report first.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

/// Runs the tool, kills its supervisor when the effect has happened, and returns the end of the run.
fn run_and_lose_supervisor(place: &Place, model: &str) -> (Ran, String) {
    let mut running =
        Running::start(place.posse(["run", "--json", "--allow", "append", "--model", model, "Append"]));
    let task = running.until(|event| event["type"] == "tool_started")["task_id"].as_str().unwrap().to_owned();
    until("the effect has happened", || {
        let effects = std::fs::read_to_string(place.workspace().join("effects.txt")).unwrap();
        (!effects.is_empty()).then_some(())
    });
    kill(supervisors_of(&[&task]).pop().expect("the call is under way"));
    (running.end(), task)
}

fn result_of(place: &Place, task: &str) -> Value {
    let done = place.journal(task).into_iter().find(|record| record["record"] == "done");
    done.expect("every call has a result")["result"].clone()
}

// G3 Seen to fail with `ToolOutput::error` for `NotRun::Lost`.
#[test]
fn a_call_whose_supervisor_was_lost_is_in_doubt_in_journal_result_and_envelope() {
    for effect in ["unsafe", "idempotent"] {
        let (place, model) = place_with_tool(effect);
        let (ran, task) = run_and_lose_supervisor(&place, &model);
        assert_eq!(ran.code, 0, "{ran:?}");
        let result = result_of(&place, &task);
        assert_eq!(
            (&result["in_doubt"], &result["is_error"]),
            (&json!(true), &json!(true)),
            "{effect}: {result}"
        );
        let text = result["text"].as_str().unwrap();
        assert!(text.starts_with("the supervisor of the command was lost"), "{text}");
        assert_eq!(ran.envelope()["in_doubt"], json!(["1.0"]), "{effect}");
        let finished = ran.json().into_iter().find(|event| event["type"] == "tool_finished").unwrap();
        assert_eq!(finished["in_doubt"], true, "{finished}");
    }
}

// G3
#[test]
fn a_pure_call_whose_supervisor_was_lost_is_an_error_and_not_in_doubt() {
    let (place, model) = place_with_tool("pure");
    let (ran, task) = run_and_lose_supervisor(&place, &model);
    assert_eq!((ran.code, &ran.envelope()["in_doubt"]), (0, &json!([])), "{ran:?}");
    let result = result_of(&place, &task);
    assert_eq!((&result["in_doubt"], &result["is_error"]), (&Value::Null, &json!(true)), "{result}");
}

/// A process that looks like one of a task's command, started by the driver of this epoch.
fn process_of(task: &str, epoch: &str) -> Child {
    let mut command = Command::new("sleep");
    command.arg("600").env("POSSE_TASK", task).env("POSSE_EPOCH", epoch).process_group(0);
    command.spawn().unwrap()
}

fn lives(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_none()
}

// G9 Seen to fail without the epoch in `sweep`.
#[test]
fn adoption_ends_what_the_dead_owner_left_and_nothing_of_a_later_owner() {
    let script = |delay_ms: u64| {
        format!(
            "boss:\n- calls: [subagent: {{action: spawn, agent: helper, task: help}}]\n\
             - calls: [subagent: {{action: wait, mode: all, timeout_ms: 45000}}]\n- text: Done.\n\
             helper:\n- delay_ms: {delay_ms}\n  text: I helped.\n"
        )
    };
    let place = Place::new();
    let model = place.script(&script(600_000));
    let agent = format!("---\nname: helper\ndescription: Helps\nmodel: {model}#helper\n---\nYou help.\n");
    place.write("home/.config/posse/agents/helper.md", &agent);
    let mut running =
        Running::start(place.posse(["run", "--json", "--model", &format!("{model}#boss"), "Delegate"]));
    running.until(|event| event["type"] == "turn" && event["turn"] == 2);
    let tasks = place.tasks();
    running.kill();
    place.script(&script(0));
    let ids: Vec<&str> = tasks.iter().map(|row| row["task_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{tasks:?}");
    // The dead owner had epoch 1. A later owner may be at work on a sibling when this one is adopted.
    let mut left: Vec<Child> = ids.iter().map(|id| process_of(id, "1")).collect();
    let mut later: Vec<Child> = ids.iter().map(|id| process_of(id, "1000")).collect();
    let ran = place.run(["worker", "--local", "--until-idle"]);
    let (left_live, later_live): (Vec<bool>, Vec<bool>) =
        (left.iter_mut().map(lives).collect(), later.iter_mut().map(lives).collect());
    for child in left.iter_mut().chain(&mut later) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!((ran.code, left_live, later_live), (0, vec![false; 2], vec![true; 2]), "{ran:?}");
}
