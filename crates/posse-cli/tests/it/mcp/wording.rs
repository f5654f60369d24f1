//! What a host is told about its arguments: nothing that it says is dropped, and every error names its field.

use serde_json::{Value, json};

use super::host::{Host, place};
use crate::support::Place;

fn started(place: &Place) -> Host {
    let mut host = Host::start(place, &[]);
    host.initialize("2025-11-25");
    host
}

fn define(more: Value) -> Value {
    let mut call = json!({
        "action": "define", "name": "poet", "description": "Writes texts", "system_prompt": "You write.",
    });
    for (name, value) in more.as_object().unwrap() {
        call[name] = value.clone();
    }
    call
}

#[test]
fn an_error_names_the_field_what_was_expected_and_what_was_found() {
    let place = place();
    let mut host = started(&place);
    let spawn = |more: &str, value: Value| json!({ "action": "spawn", "agent": "quick", "task": "Look", more: value });
    for (arguments, message) in [
        (define(json!({ "max_turns": "ten" })), "max_turns: expected an integer from 1 to 25, found \"ten\""),
        (define(json!({ "tools": "read" })), "tools: expected a list of strings, found \"read\""),
        (define(json!({ "system_prompt": "  " })), "system_prompt: it is empty"),
        (define(json!({ "description": "" })), "description: it is empty"),
        (
            define(json!({ "description": "x".repeat(1_025) })),
            "description: it has 1025 characters, the limit is 1024",
        ),
        (spawn("max_turns", json!(0)), "max_turns: expected an integer of 1 or more, found 0"),
        (spawn("max_cost_usd", json!("cheap")), "max_cost_usd: expected a number above 0, found \"cheap\""),
        (spawn("isolation", json!("vm")), "isolation: expected one of none, worktree, found \"vm\""),
        (spawn("verify", json!(["true", 1])), "verify[1]: expected a string, found 1"),
        (spawn("output_schema", json!([])), "output_schema: expected an object, found a list"),
        (spawn("task", json!(" \n")), "task: it is empty"),
        (json!({ "action": "spawn", "agent": "quick" }), "`spawn` needs `task`"),
        (json!({ "action": "status", "task_id": 7 }), "task_id: expected a string, found 7"),
    ] {
        let told = host.refused("subagent", arguments.clone());
        assert_eq!(
            (&told["error"], &told["message"]),
            (&json!("INVALID_REQUEST"), &json!(message)),
            "{arguments}"
        );
    }
    let long = host.refused("subagent", spawn("task", json!("x".repeat(4_001))));
    assert_eq!(long["error"], "TASK_TOO_LARGE", "{long}");
    let long = host.refused("subagent", define(json!({ "system_prompt": "x".repeat(16_001) })));
    assert_eq!(long["error"], "PROMPT_TOO_LARGE", "{long}");
    for (arguments, message) in [
        (
            json!({ "action": "write", "key": "a", "value": "b", "ttl_s": "soon" }),
            "ttl_s: expected an integer of 0 or more, found \"soon\"",
        ),
        (json!({ "action": "write", "key": "a", "value": ["b"] }), "value: expected a string, found a list"),
        (json!({ "action": "read" }), "`read` needs `key`"),
    ] {
        let told = host.refused("shared_context", arguments.clone());
        assert_eq!(
            (&told["error"], &told["message"]),
            (&json!("INVALID_REQUEST"), &json!(message)),
            "{arguments}"
        );
    }
    let wait = host.refused("subagent_wait", json!({ "timeout_s": "long" }));
    assert_eq!(wait["message"], "timeout_s: expected an integer from 0 to 45, found \"long\"");
    let list = host.refused("subagent_list", json!({ "what": "all" }));
    assert_eq!(list["message"], "what: expected one of agents, tasks, found \"all\"");
    host.leave();
}

#[test]
fn a_field_that_nobody_knows_is_refused_and_the_one_that_was_meant_is_suggested() {
    let place = place();
    let mut host = started(&place);
    let spawn = json!({ "action": "spawn", "agent": "quick", "task": "Look", "depend_on": ["t_01"] });
    let told = host.refused("subagent", spawn);
    assert_eq!(
        (&told["error"], &told["message"]),
        (&json!("INVALID_REQUEST"), &json!("`spawn` does not take `depend_on`"))
    );
    assert!(told["hint"].as_str().unwrap().starts_with("did you mean `depends_on`? "), "{told}");
    let told =
        host.refused("shared_context", json!({ "action": "write", "key": "a", "value": "b", "ttl": 5 }));
    assert!(told["hint"].as_str().unwrap().contains("ttl_s"), "{told}");
    let told = host.refused("subagent_result", json!({ "task_id": "t_01", "page": 2 }));
    assert_eq!(told["message"], "`subagent_result` does not take `page`");
    let told = host.refused("subagent", json!({ "action": "lunch" }));
    assert_eq!(told["error"], "INVALID_ACTION");
    for action in [
        "list_agents",
        "define",
        "spawn",
        "status",
        "wait",
        "collect",
        "result",
        "cancel",
        "send",
        "answer",
        "list_tasks",
        "events",
    ] {
        assert!(told["hint"].as_str().unwrap().contains(action), "{action}: {told}");
    }
    let told = host.refused("shared_context", json!({ "action": "get" }));
    assert_eq!(told["error"], "INVALID_ACTION");
    assert!(told["hint"].as_str().unwrap().contains("list_keys, read, read_batch"), "{told}");
    assert_eq!(host.tool("subagent", define(json!({})))["defined"], "poet");
    let told = host.refused("subagent", json!({ "action": "spawn", "agent": "poett", "task": "Write" }));
    assert_eq!(told["error"], "AGENT_NOT_FOUND");
    assert!(told["hint"].as_str().unwrap().contains("did you mean `poet`?"), "{told}");
    host.leave();
}

#[test]
fn what_is_clamped_or_taken_away_is_told_in_warnings() {
    let place = place();
    let mut host = started(&place);
    let defined = host
        .tool("subagent", define(json!({ "max_turns": 1_000_000, "tools": ["read", "subagent", "write"] })));
    let warnings = defined["warnings"].to_string();
    for part in [
        "max_turns: 1000000 was clamped to 25",
        "`subagent` was removed from `tools`",
        "works without `write`",
    ] {
        assert!(warnings.contains(part), "{part}: {defined}");
    }
    let spawn = json!({ "action": "spawn", "agent": "quick", "task": "Look", "max_turns": 1_000, "max_tool_calls": 1_000_000 });
    let spawned = host.tool("subagent", spawn);
    let told = json!(["max_turns: 1000 was lowered to 25", "max_tool_calls: 1000000 was lowered to 1000"]);
    assert_eq!(spawned["warnings"], told, "{spawned}");
    assert_eq!(
        host.tool("subagent", json!({ "action": "spawn", "agent": "quick", "task": "Look" })).get("warnings"),
        None
    );
    host.leave();
}

#[test]
fn a_launch_honors_what_a_spawn_takes() {
    let place = place();
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    host.initialize("2025-11-25");
    // Some hosts fill in every field of the schema.
    let first = json!({
        "action": null, "agent": "patient", "description": "Wait for it", "prompt": "Wait for the gate.", "max_turns": 3,
    });
    let launched = host.call("subagent", first)["structuredContent"]["text"].to_string();
    assert!(launched.contains("Successfully launched subagent") && launched.contains("t_01"), "{launched}");
    let second = json!({
        "agent": "quick", "description": "Answer after it", "prompt": "Say something short.", "depends_on": ["t_01"],
        "max_tool_calls": 500,
    });
    let launched = host.call("subagent", second)["structuredContent"]["text"].to_string();
    assert!(launched.contains("The task is queued"), "{launched}");
    assert!(launched.contains("Warning: max_tool_calls: 500 was lowered to 100"), "{launched}");
    let running = host.tool("subagent", json!({ "action": "status", "task_id": "t_01" }));
    assert_eq!(running["max_turns"], 3, "{running}");
    let waiting = host.tool("subagent", json!({ "action": "status", "task_id": "t_02" }));
    assert_eq!(waiting["queued"], true, "{waiting}");
    let unknown =
        json!({ "description": "Answer it", "prompt": "Say something short.", "on_conflit": "wait" });
    let refused = host.refused("subagent", unknown)["text"].to_string();
    assert!(refused.contains("does not take `on_conflit` (did you mean `on_conflict`?"), "{refused}");
    place.write("workspace/gate", "");
    let ended = host.tool("subagent_wait", json!({ "task_ids": ["t_02"], "timeout_s": 45 }));
    assert_eq!(ended["finished"][0]["status"], "completed", "{ended}");
    host.leave();
}

// R218
#[test]
fn a_key_of_shared_context_may_carry_a_namespace() {
    let place = place();
    let mut host = started(&place);
    let write = json!({ "action": "write", "key": "inv:findings_summary", "value": "Three places." });
    assert_eq!(host.tool("shared_context", write)["key"], "inv:findings_summary");
    let read = json!({ "action": "read", "key": "inv:findings_summary" });
    assert_eq!(host.tool("shared_context", read.clone())["value"], "Three places.");
    let told = host.refused("shared_context", json!({ "action": "read", "key": "inv:a:b" }));
    assert_eq!(told["error"], "INVALID_KEY", "{told}");
    host.leave();
}

#[test]
fn a_broken_agent_file_is_in_the_diagnostics_with_its_error_and_in_no_list() {
    let place = place();
    let mut host = started(&place);
    let listed = host.tool("subagent", json!({ "action": "list_agents" }));
    assert_eq!(listed.get("diagnostics"), None, "absent where nothing is broken: {listed}");
    host.leave();
    place.write("home/.config/posse/agents/broken.md", "---\nname: broken\n---\nYou break.\n");
    let mut host = started(&place);
    let listed = host.tool("subagent", json!({ "action": "list_agents" }));
    let diagnostic = &listed["diagnostics"][0];
    assert_eq!(
        (&diagnostic["name"], &diagnostic["error"]),
        (&json!("broken"), &json!("AGENT_INVALID")),
        "{listed}"
    );
    assert!(diagnostic["path"].as_str().unwrap().ends_with("broken.md") && diagnostic["message"].is_string());
    let names: Vec<&str> =
        listed["agents"].as_array().unwrap().iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert!(names.contains(&"quick") && !names.contains(&"broken"), "{names:?}");
    let asked = host.refused("subagent", json!({ "action": "spawn", "agent": "broken", "task": "Break" }));
    assert_eq!((&asked["error"], &asked["message"]), (&diagnostic["error"], &diagnostic["message"]));
    host.leave();
}
