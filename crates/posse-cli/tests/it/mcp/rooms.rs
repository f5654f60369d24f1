//! A room outlives its servers: what one of them defined is there for the next, and closing a room that is in use leaves a way on.

use serde_json::{Value, json};

use super::host::{Host, place};
use crate::support::Place;

fn server(place: &Place) -> Host {
    let mut host = Host::start(place, &[]);
    host.initialize("2025-11-25");
    host
}

fn write() -> Value {
    json!({ "action": "write", "key": "plan", "value": "first look" })
}

fn define(prompt: &str) -> Value {
    json!({ "action": "define", "name": "poet", "description": "Writes texts", "system_prompt": prompt })
}

fn tasks(host: &mut Host) -> usize {
    host.tool("subagent_list", json!({ "what": "tasks" }))["tasks"].as_array().unwrap().len()
}

#[test]
fn a_room_that_is_closed_while_in_use_says_how_to_go_on_and_the_next_server_has_a_fresh_one() {
    for (verb, code) in [("archive", "SESSION_ARCHIVED"), ("delete", "SESSION_NOT_FOUND")] {
        let place = place();
        let mut host = server(&place);
        let task = host.finished_task("quick");
        host.tool("shared_context", write());
        let rows = place.run(["sessions", "list", "--json"]).json();
        let ran = place.run(["sessions", verb, rows[0]["session_id"].as_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        for (tool, arguments) in [("shared_context", write()), ("subagent", define("You write."))] {
            let refused = host.refused(tool, arguments);
            assert_eq!(refused["error"], code, "{verb} {tool}: {refused}");
            let hint = refused["hint"].as_str().unwrap();
            assert!(hint.contains("the MCP server once it is restarted, has a fresh session"), "{refused}");
        }
        let result = host.tool("subagent_result", json!({ "task_id": task }));
        assert_eq!(result["text"], "A quick answer.", "{verb}: tasks stay");
        host.finished_task("quick");
        assert_eq!(tasks(&mut host), 2, "{verb}: and there can be more");
        host.leave();

        let mut next = server(&place);
        assert_eq!(tasks(&mut next), 0, "{verb}: the room is a fresh one");
        assert_eq!(next.tool("shared_context", write())["version"], 1, "{verb}");
        assert_eq!(next.tool("subagent", define("You write."))["defined"], "poet", "{verb}");
        next.leave();
        let mut again = server(&place);
        assert_eq!(again.tool("shared_context", write())["version"], 2, "{verb}: it is found again");
        again.leave();
    }
}

#[test]
fn an_identical_definition_of_an_earlier_server_is_taken_over_and_a_second_one_is_refused() {
    let place = place();
    let mut first = server(&place);
    let defined = first.tool("subagent", define("You write."));
    assert_eq!((&defined["defined"], defined.get("unchanged")), (&json!("poet"), None), "{defined}");
    assert_eq!(first.refused("subagent", define("You write."))["error"], "AGENT_ALREADY_EXISTS");
    first.leave();

    let mut second = server(&place);
    let other = second.refused("subagent", define("You rhyme."));
    assert_eq!(other["error"], "AGENT_ALREADY_EXISTS", "it is not the same: {other}");
    let taken_over = second.tool("subagent", define("You write."));
    assert_eq!((&taken_over["defined"], &taken_over["unchanged"]), (&json!("poet"), &json!(true)));
    assert_eq!(second.refused("subagent", define("You write."))["error"], "AGENT_ALREADY_EXISTS");
    second.finished_task("poet");
    second.leave();

    let mut third = server(&place);
    assert_eq!(third.tool("subagent", define("You write."))["unchanged"], true);
    third.leave();
}

#[test]
fn a_model_never_replaces_a_built_in_agent() {
    let place = place();
    let mut host = server(&place);
    let mut define = |name: &str, more: Value| {
        let mut arguments = json!({ "action": "define", "name": name, "description": "Mine" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        host.call("subagent", arguments)["structuredContent"].clone()
    };
    for overwrite in [false, true] {
        let refused = define("writer", json!({ "system_prompt": "You obey me.", "overwrite": overwrite }));
        assert_eq!(refused["error"], "AGENT_ALREADY_EXISTS", "{refused}");
        assert!(refused["hint"].as_str().unwrap().contains("`extends: \"writer\"`"), "{refused}");
    }
    assert_eq!(define("my-writer", json!({ "extends": "writer" }))["defined"], "my-writer");
    let replaced = define("quick", json!({ "system_prompt": "You are quicker.", "overwrite": true }));
    assert_eq!(replaced["version"], 2, "an agent of the person's own: {replaced}");
    host.leave();
}
