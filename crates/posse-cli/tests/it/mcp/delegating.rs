//! Limits of a host's delegations: depth, number of tasks, money.

use serde_json::{Value, json};

use super::host::{Host, place};
use crate::depth;
use crate::support::Place;

// R004 R360
#[test]
fn a_task_of_a_host_delegates_as_deep_as_the_session_allows() {
    let (place, model) = depth::place("max_depth = 3\n");
    let mut host = Host::start(&place, &["--model", &format!("{model}#lead")]);
    host.initialize("2025-11-25");
    let spawn = json!({ "action": "spawn", "agent": "first", "task": "Ask the next one." });
    assert_eq!(host.tool("subagent", spawn)["task_id"], "t_01");
    let ended = host.tool("subagent_wait", json!({ "task_ids": ["t_01"], "timeout_s": 45 }));
    assert_eq!(ended["finished"][0]["status"], "completed", "{ended}");
    let text = host.tool("subagent", json!({ "action": "collect", "task_id": "t_01" }))["result"].to_string();
    assert!(text.starts_with("\"first heard: second heard: third was told: "), "{text}");
    assert!(text.contains("Max sub-agent depth (3) reached. Cannot spawn further sub-agents."), "{text}");
    host.leave();
    let mut ids: Vec<String> =
        place.tasks().iter().map(|row| row["task_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    let ends: Vec<&str> = ids.iter().map(|id| id.rsplit('.').next().unwrap()).collect();
    assert_eq!(ends, ["t_01", "t_02", "t_03"], "{ids:?}");
}

/// Settings beside those of [`place`].
fn limited(settings: &str) -> Place {
    let place = place();
    let path = place.home().join(".config/posse/config.toml");
    let text = format!("{}{settings}", std::fs::read_to_string(&path).unwrap());
    std::fs::write(path, text).unwrap();
    place
}

fn spawn(host: &mut Host) -> Value {
    host.call("subagent", json!({ "action": "spawn", "agent": "quick", "task": "Answer" }))
}

fn id_of(spawned: &Value) -> String {
    spawned["structuredContent"]["task_id"].as_str().unwrap_or_else(|| panic!("{spawned}")).to_owned()
}

fn wait_for(host: &mut Host, id: &str) {
    let ended = host.tool("subagent_wait", json!({ "task_ids": [id], "timeout_s": 45 }));
    assert_eq!(ended["finished"][0]["status"], "completed", "{ended}");
}

#[test]
fn a_session_has_no_ceiling_on_tasks_that_were_collected_or_read() {
    const OPEN_MAX: usize = 4;
    let place = limited(&format!("[session]\nmax_open_tasks = {OPEN_MAX}\n"));
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    for number in 0..10 * OPEN_MAX {
        let id = id_of(&spawn(&mut host));
        wait_for(&mut host, &id);
        match number % 2 {
            0 => drop(host.tool("subagent", json!({ "action": "collect", "task_id": id }))),
            _ => drop(host.tool("subagent_result", json!({ "task_id": id }))),
        }
    }
    host.leave();
}

#[test]
fn the_limit_on_open_tasks_names_its_setting_and_collecting_makes_room() {
    let place = limited("[session]\nmax_open_tasks = 2\n");
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    let ids = [id_of(&spawn(&mut host)), id_of(&spawn(&mut host))];
    ids.iter().for_each(|id| wait_for(&mut host, id));
    let refused = spawn(&mut host)["structuredContent"].clone();
    assert_eq!(refused["error"], "MAX_TASKS_EXCEEDED", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("`[session] max_open_tasks`"), "{refused}");
    host.tool("subagent", json!({ "action": "collect", "task_id": ids[0] }));
    id_of(&spawn(&mut host));
    host.leave();
}

/// The price of a token in and of one out, in dollars per million.
const PRICES: &str = "[prices.\"scripted:*\"]\ninput = 1.0\noutput = 10.0\n";

// R156
#[test]
fn a_task_may_ask_for_more_money_than_its_session_has_and_gets_no_more() {
    let place = limited(&format!("[limits]\nmax_cost_usd = 0.5\n{PRICES}"));
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    host.initialize("2025-11-25");
    let ask = |dollars: f64| json!({ "action": "spawn", "agent": "patient", "task": "Wait", "max_cost_usd": dollars });
    for _ in 0..2 {
        let spawned = host.tool("subagent", ask(5.0));
        assert_eq!(spawned["status"], "running", "{spawned}");
    }
    // A part of what the session has is set aside for the task alone.
    host.tool("subagent", ask(0.3));
    let refused = host.call("subagent", ask(0.3))["structuredContent"].clone();
    assert_eq!(refused["error"], "BUDGET_EXCEEDED", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("its budget of up to $0.3000 cannot be reserved: $0."), "{message}");
}
