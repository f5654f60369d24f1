//! Several delegations in one reply run side by side, each with its own intent, and each goes on with its own task.

use serde_json::{Value, json};

use crate::mcp::host;
use crate::support::{Place, Ran, Running};

const CHILDREN: usize = 5;

/// An orchestrator that asks five agents in one reply; none of them ends before the gate is open.
fn place() -> (Place, String) {
    let place = host::place();
    let model = place.script(
        r#"
lead:
  - calls:
      - Agent: {prompt: one, type: patient}
      - Agent: {prompt: two, type: patient}
      - run_subagent: {task: "Find out whether the gate is open and return what you saw."}
      - Agent: {prompt: four, type: patient}
      - run_subagent: {task: "Find out who stands at the gate and return what you saw."}
  - text: "{result:0} {result:1} {result:3}"
patient:
  - calls: [wait_gate: {}]
  - text: The gate is open.
"#,
    );
    for name in ["patient", "investigator"] {
        let text = format!("---\nname: {name}\ndescription: Waits\nmodel: {model}#patient\n---\nYou wait.\n");
        place.write(&format!("home/.config/posse/agents/{name}.md"), &text);
    }
    place.write("home/.config/posse/config.toml", "[session]\ntools = [\"agent\", \"run_subagent\"]\n");
    (place, format!("{model}#lead"))
}

/// Waits until every child is inside its tool call.
fn all_at_the_gate(running: &mut Running) -> String {
    let mut at_gate = std::collections::BTreeSet::new();
    while at_gate.len() < CHILDREN {
        let started = running.until(|event| event["type"] == "tool_started" && event["tool"] == "wait_gate");
        at_gate.insert(started["task_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned());
    }
    at_gate.pop_first().unwrap().split('.').next().unwrap().to_owned()
}

fn kinds(journal: &[Value]) -> Vec<&str> {
    journal.iter().filter_map(|record| record["record"].as_str()).collect()
}

// R319 R313 R049
#[test]
fn delegations_of_one_reply_run_side_by_side_each_with_its_own_intent() {
    let (place, model) = place();
    let command = place.posse(["run", "--json", "--allow", "wait_gate", "--model", &model, "Ask them all"]);
    let mut running = Running::start(command);
    let id = all_at_the_gate(&mut running);
    place.write("workspace/gate", "");
    let ran = running.end();
    assert_eq!(
        ran.envelope()["text"],
        json!("The gate is open. The gate is open. The gate is open."),
        "{ran:?}"
    );
    let journal = place.journal(&id);
    let of_calls: Vec<&str> =
        kinds(&journal).into_iter().filter(|kind| ["intended", "done"].contains(kind)).collect();
    assert_eq!(of_calls, [["intended"; CHILDREN], ["done"; CHILDREN]].concat(), "{journal:#?}");
}

// R319
#[test]
fn after_a_crash_each_delegation_of_a_reply_goes_on_with_its_own_task() {
    let (place, model) = place();
    let command = place.posse(["run", "--json", "--allow", "wait_gate", "--model", &model, "Ask them all"]);
    let mut running = Running::start(command);
    let id = all_at_the_gate(&mut running);
    running.kill();
    place.write("workspace/gate", "");
    let ran: Ran = place.run(["tasks", "resume", &id, "--json"]);
    assert_eq!(
        ran.envelope()["text"],
        json!("The gate is open. The gate is open. The gate is open."),
        "{ran:?}"
    );
    let rows = place.tasks();
    assert_eq!(rows.len(), 1 + CHILDREN, "no task was begun twice: {rows:?}");
    assert!(rows.iter().all(|row| row["status"] == "completed"), "{rows:?}");
}

#[test]
fn more_delegations_than_places_wait_their_turn_and_none_is_refused() {
    let (place, model) = place();
    let settings = "[session]\ntools = [\"agent\", \"run_subagent\"]\nmax_running = 2\n";
    place.write("home/.config/posse/config.toml", settings);
    place.write("workspace/gate", "");
    let ran = place.run(["run", "--json", "--allow", "wait_gate", "--model", &model, "Ask them all"]);
    assert_eq!(
        ran.envelope()["text"],
        json!("The gate is open. The gate is open. The gate is open."),
        "{ran:?}"
    );
    assert_eq!(place.tasks().len(), 1 + CHILDREN);
}

// R319
#[test]
fn delegations_of_one_reply_that_write_the_same_paths_wait_for_each_other() {
    let place = Place::new();
    let model = place.script(
        r#"
lead:
  - calls:
      - Agent: {prompt: one, type: author}
      - Agent: {prompt: two, type: author}
      - Agent: {prompt: three, type: author}
  - text: "{result:0} {result:1} {result:2}"
author:
  - calls: [write: {path: src/a.txt, content: text}]
    delay_ms: 300
  - text: Written.
"#,
    );
    let agent = format!(
        "---\nname: author\ndescription: Writes\nmodel: {model}#author\ntools: [write]\nwrite_paths: [\"src/**\"]\n---\nYou write.\n"
    );
    place.write("home/.config/posse/agents/author.md", &agent);
    place.write("home/.config/posse/config.toml", "[session]\ntools = [\"agent\"]\n");
    let ran = place.run(["run", "--json", "--model", &format!("{model}#lead"), "Ask them all"]);
    assert_eq!(ran.envelope()["text"], json!("Written. Written. Written."), "{ran:?}");
}
