//! Limits of a host's delegations: depth, number of tasks, money.

use serde_json::{Value, json};

use super::host::{Host, place};
use crate::depth;
use crate::support::Place;

fn of(action: &str, id: &str) -> Value {
    json!({ "action": action, "task_id": id })
}

fn host(place: &Place, args: &[&str]) -> Host {
    let mut host = Host::start(place, args);
    host.initialize("2025-11-25");
    host
}

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

// R108 R110 R111 R129
#[test]
fn a_result_is_collected_once_and_status_cancel_and_collect_agree_about_it() {
    let place = place();
    let mut first = host(&place, &[]);
    let id = first.finished_task("quick");
    // Reading changes nothing about it.
    assert_eq!(first.tool("subagent_result", json!({ "task_id": id }))["text"], "A quick answer.");
    assert_eq!(first.tool("subagent", of("status", &id))["status"], "completed");
    assert_eq!(first.tool("subagent", of("collect", &id))["result"], "A quick answer.");
    let gone = |host: &mut Host| {
        for action in ["collect", "status", "cancel"] {
            let refused = host.refused("subagent", of(action, &id));
            assert_eq!(refused["error"], "TASK_NOT_FOUND", "{action}: {refused}");
            assert!(refused["hint"].as_str().unwrap().starts_with("already_collected"), "{refused}");
        }
        let page = host.tool("subagent_result", json!({ "task_id": id, "offset": 2, "limit": 5 }));
        assert_eq!((&page["text"], &page["next_offset"]), (&json!("quick"), &json!(7)), "{page}");
        let listed = host.tool("subagent_list", json!({ "what": "tasks" }));
        assert_eq!(listed["tasks"][0]["collected"], true, "{listed}");
    };
    gone(&mut first);
    // Nor does another process of the same room have it, or the next one.
    let mut second = host(&place, &[]);
    gone(&mut second);
    let other = second.finished_task("quick");
    assert_eq!(first.tool("subagent", of("status", &other))["status"], "completed");
    assert_eq!(second.tool("subagent", of("collect", &other))["result"], "A quick answer.");
    assert_eq!(first.refused("subagent", of("status", &other))["error"], "TASK_NOT_FOUND");
    first.leave();
    second.leave();
}

#[test]
fn collectors_that_race_over_two_connections_get_one_result() {
    let place = place();
    let mut hosts = [host(&place, &[]), host(&place, &[])];
    let id = hosts[0].finished_task("quick");
    let mut asked = Vec::new();
    for _ in 0..10 {
        for (at, host) in hosts.iter_mut().enumerate() {
            let arguments = of("collect", &id);
            asked.push((at, host.send("tools/call", json!({ "name": "subagent", "arguments": arguments }))));
        }
    }
    let answers = asked.into_iter().map(|(at, call)| hosts[at].answer(call)["result"].clone());
    let (won, lost): (Vec<Value>, Vec<Value>) = answers.partition(|answer| answer["isError"] != true);
    assert_eq!(won.len(), 1, "{won:?}");
    assert_eq!(won[0]["structuredContent"]["result"], "A quick answer.");
    assert!(lost.iter().all(|answer| answer["structuredContent"]["error"] == "TASK_NOT_FOUND"), "{lost:?}");
    for host in hosts {
        host.leave();
    }
}

#[test]
fn a_request_that_is_sent_again_gets_the_answer_that_was_lost() {
    let place = place();
    let mut first = host(&place, &[]);
    // The same id on the same connection.
    let spawn =
        json!({ "name": "subagent", "arguments": { "action": "spawn", "agent": "quick", "task": "Answer" } });
    let call = first.send("tools/call", spawn.clone());
    let spawned = first.answer(call);
    let call = first.send_again("tools/call", spawn);
    assert_eq!(first.answer(call)["result"], spawned["result"]);
    first.tool("subagent", json!({ "action": "status", "task_id": "t_01", "wait_ms": 45_000 }));
    let collect = json!({ "name": "subagent", "arguments": of("collect", "t_01") });
    let call = first.send("tools/call", collect.clone());
    let collected = first.answer(call);
    assert_eq!(collected["result"]["structuredContent"]["result"], "A quick answer.");
    let call = first.send_again("tools/call", collect);
    assert_eq!(first.answer(call)["result"], collected["result"]);
    // A request that has a name, also after a restart.
    let named = |arguments: Value, name: &str| json!({ "name": "subagent", "arguments": arguments, "_meta": { "posse/request_id": name } });
    let spawn = json!({ "action": "spawn", "agent": "quick", "task": "Answer" });
    let spawned = first.ask("tools/call", named(spawn.clone(), "spawn-1"));
    assert_eq!(spawned["structuredContent"]["task_id"], "t_02", "{spawned}");
    first.tool("subagent", json!({ "action": "status", "task_id": "t_02", "wait_ms": 45_000 }));
    let collected = first.ask("tools/call", named(of("collect", "t_02"), "collect-1"));
    assert_eq!(collected["structuredContent"]["result"], "A quick answer.", "{collected}");
    first.leave();
    let mut second = host(&place, &[]);
    assert_eq!(second.ask("tools/call", named(of("collect", "t_02"), "collect-1")), collected);
    let again = second.ask("tools/call", named(spawn, "spawn-1"));
    assert_eq!(again["structuredContent"]["task_id"], "t_02", "{again}");
    let refused = second.ask("tools/call", named(of("collect", "t_02"), "collect-2"));
    assert_eq!(refused["structuredContent"]["error"], "TASK_NOT_FOUND", "{refused}");
    second.leave();
}

#[test]
fn a_wait_without_ids_waits_for_the_next_end_that_it_has_not_reported() {
    let place = place();
    let mut host = host(&place, &["--allow", "wait_gate"]);
    let ended = |told: &Value| -> Vec<String> {
        let ids = told["finished"].as_array().unwrap().iter().map(|task| task["task_id"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    };
    for agent in ["patient", "quick"] {
        host.tool("subagent", json!({ "action": "spawn", "agent": agent, "task": "Answer" }));
    }
    assert_eq!(ended(&host.tool("subagent_wait", json!({ "timeout_s": 45 }))), ["t_02"]);
    let still = host.tool("subagent_wait", json!({ "timeout_s": 0 }));
    assert_eq!((ended(&still), &still["timed_out"]), (vec![], &json!(true)), "{still}");
    assert_eq!(still["running"][0]["task_id"], "t_01", "{still}");
    place.write("workspace/gate", "");
    assert_eq!(ended(&host.tool("subagent_wait", json!({ "timeout_s": 45 }))), ["t_01"]);
    let nothing = host.tool("subagent_wait", json!({}));
    assert_eq!((ended(&nothing), &nothing["timed_out"]), (vec![], &json!(false)), "{nothing}");
    assert!(nothing["note"].as_str().unwrap().contains("nothing is running"), "{nothing}");
    assert_eq!(ended(&host.tool("subagent_wait", json!({ "task_ids": ["t_02"] }))), ["t_02"]);
    host.leave();
}

/// Well above what one process was ever limited to.
#[test]
fn one_process_spawns_and_collects_as_many_tasks_as_come_one_after_another() {
    let place = place();
    let mut host = host(&place, &[]);
    let most: u32 = std::env::var("POSSE_TEST_TASKS").ok().and_then(|most| most.parse().ok()).unwrap_or(400);
    for number in 1..=most {
        let id = host.finished_task("quick");
        assert_eq!(id, format!("t_{number:02}"));
        assert_eq!(host.tool("subagent", of("collect", &id))["result"], "A quick answer.", "{id}");
    }
    host.leave();
}

#[test]
fn the_limit_on_open_tasks_is_a_setting_that_its_error_names_and_reading_or_collecting_makes_room() {
    let place = limited("[session]\nmax_open_tasks = 2\n");
    let mut host = host(&place, &[]);
    let spawn = json!({ "action": "spawn", "agent": "quick", "task": "Answer" });
    for id in ["t_01", "t_02"] {
        assert_eq!(host.finished_task("quick"), id);
    }
    for _ in 0..3 {
        let refused = host.refused("subagent", spawn.clone());
        assert_eq!(refused["error"], "MAX_TASKS_EXCEEDED", "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("`[session] max_open_tasks`"), "{refused}");
    }
    host.tool("subagent", of("collect", "t_01"));
    assert_eq!(host.finished_task("quick"), "t_03", "a refused spawn takes no id");
    host.refused("subagent", spawn.clone());
    host.tool("subagent_result", json!({ "task_id": "t_02" }));
    assert_eq!(host.finished_task("quick"), "t_04");
    host.leave();
}
