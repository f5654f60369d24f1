//! `model: host`: tasks on the model of the host that delegates them.

use serde_json::{Value, json};

use super::host::{Host, discover_meta, place};
use crate::support::{Place, until};

fn lending_place() -> Place {
    let place = place();
    let text = "---\nname: guest\ndescription: Thinks with the host\nmodel: host\ntools: read\n---\nYou are guest.\n";
    place.write("home/.config/posse/agents/guest.md", text);
    place.write("workspace/notes.txt", "the word is heron\n");
    place
}

fn connect(place: &Place, sampling: Value) -> Host {
    let mut host = Host::start(place, &[]);
    host.initialize_with("2025-11-25", json!({ "sampling": sampling }));
    host
}

fn spawn(host: &mut Host) {
    let spawn = json!({ "action": "spawn", "agent": "guest", "task": "Find the word" });
    assert_eq!(host.tool("subagent", spawn)["task_id"], "t_01");
}

/// What the host's model is asked next.
fn asked(host: &mut Host) -> Value {
    host.until(|message| message["method"] == "sampling/createMessage")
}

fn say(host: &mut Host, asked: &Value, stop: &str, content: Value) {
    let answer = json!({ "role": "assistant", "model": "lent-1", "stopReason": stop, "content": content });
    host.reply(&asked["id"], answer);
}

fn say_text(host: &mut Host, asked: &Value, text: &str) {
    say(host, asked, "endTurn", json!({ "type": "text", "text": text }));
}

fn finished(host: &mut Host) -> Value {
    let waited = host.tool("subagent_wait", json!({ "task_ids": ["t_01"], "timeout_s": 45 }));
    assert_eq!(waited["finished"][0]["status"], "completed", "{waited}");
    host.tool("subagent_result", json!({ "task_id": "t_01" }))
}

#[test]
fn a_host_that_only_passes_text_on_is_enough_for_an_agent_with_tools() {
    let place = lending_place();
    let mut host = connect(&place, json!({}));
    spawn(&mut host);
    let first = asked(&mut host);
    let params = &first["params"];
    assert!(params.get("tools").is_none() && params["maxTokens"].as_u64().unwrap() > 0, "{params:#}");
    let system = params["systemPrompt"].as_str().unwrap();
    assert!(system.starts_with("You are guest.") && system.contains("### read\n"), "{system}");
    assert!(!system.contains("### write\n"), "only what its grant has: {system}");
    say_text(&mut host, &first, "I look.\n\n<read>\n<path>notes.txt</path>\n</read>");
    let second = asked(&mut host);
    let messages = second["params"]["messages"].as_array().unwrap();
    let result = messages[2]["content"]["text"].as_str().unwrap();
    assert!(result.starts_with("<tool_result tool=\"read\">\n") && result.contains("heron"), "{result}");
    say_text(&mut host, &second, "The word is heron.");
    assert_eq!(finished(&mut host)["text"], "The word is heron.");
    host.leave();
    let task = place.tasks().pop().unwrap();
    let exported = place.run(["tasks", "export", task["task_id"].as_str().unwrap()]).stdout;
    assert!(task["input_tokens"].as_u64() > Some(100), "{task:#}");
    assert!(exported.contains("\"estimated\":true") && exported.contains("host:lent-1"), "{exported}");
}

#[test]
fn a_host_that_passes_tools_on_gets_them() {
    let place = lending_place();
    let mut host = connect(&place, json!({ "tools": {} }));
    spawn(&mut host);
    let first = asked(&mut host);
    let tools = first["params"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "read"), "{first:#}");
    let call = json!([{ "type": "tool_use", "id": "a", "name": "read", "input": { "path": "notes.txt" } }]);
    say(&mut host, &first, "toolUse", call);
    let second = asked(&mut host);
    let result = &second["params"]["messages"][2]["content"][0];
    assert_eq!((&result["type"], &result["toolUseId"]), (&json!("tool_result"), &json!("a")), "{second:#}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("heron"), "{result}");
    say_text(&mut host, &second, "The word is heron.");
    assert_eq!(finished(&mut host)["text"], "The word is heron.");
    host.leave();
}

#[test]
fn where_no_host_lends_its_model_that_is_said_with_what_to_do() {
    let place = lending_place();
    let arguments = json!({ "action": "spawn", "agent": "guest", "task": "Find the word" });
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    let refused = host.call("subagent", arguments.clone());
    assert_eq!(refused["structuredContent"]["error"], "HOST_MODEL_UNAVAILABLE", "{refused}");
    assert!(refused["structuredContent"]["hint"].as_str().unwrap().contains("sampling"), "{refused}");
    host.leave();
    // The newest protocol has no way to ask.
    let mut host = Host::start(&place, &[]);
    let call = json!({ "name": "subagent", "arguments": arguments, "_meta": discover_meta() });
    let refused = host.ask("tools/call", call);
    assert_eq!(refused["structuredContent"]["error"], "HOST_MODEL_UNAVAILABLE", "{refused}");
    host.leave();
    let ran = place.run(["run", "--model", "host", "Find the word"]);
    assert!(ran.code == 1 && ran.stderr.contains("HOST_MODEL_UNAVAILABLE"), "{ran:?}");
    assert!(place.tasks().is_empty(), "nothing was begun");
}

#[test]
fn a_no_of_the_host_ends_the_task_and_a_cancelled_task_asks_for_nothing_more() {
    let place = lending_place();
    let mut host = connect(&place, json!({}));
    spawn(&mut host);
    let first = asked(&mut host);
    let error = json!({ "code": -1, "message": "User rejected sampling request" });
    host.write(json!({ "jsonrpc": "2.0", "id": first["id"], "error": error }).to_string().as_bytes());
    let waited = host.tool("subagent_wait", json!({ "task_ids": ["t_01"], "timeout_s": 45 }));
    let ended = &waited["finished"][0];
    assert_eq!(ended["status"], "failed", "{waited}");
    assert!(ended["error"].as_str().unwrap().contains("User rejected sampling request"), "{waited}");
    host.tool("subagent", json!({ "action": "spawn", "agent": "guest", "task": "Find another word" }));
    let second = asked(&mut host);
    let ended = host.tool("subagent", json!({ "action": "cancel", "task_id": "t_02" }));
    assert_eq!(ended["reason"], "cancelled", "{ended}");
    let told = host.until(|message| message["method"] == "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], second["id"]);
    host.leave();
}

/// Nobody but a host can go on with such a task: it waits for the next one.
#[test]
fn a_task_whose_host_goes_away_waits_for_the_next_one_that_lends_its_model() {
    let place = lending_place();
    let mut host = connect(&place, json!({}));
    spawn(&mut host);
    asked(&mut host);
    host.close_input();
    assert!(host.ends().success());
    until("nobody drives it", || (place.tasks()[0]["status"] == "interrupted").then_some(()));
    let ran = place.run(["worker", "--local", "--until-idle"]);
    assert!(ran.code == 1 && ran.stdout.contains("HOST_MODEL_UNAVAILABLE"), "{ran:?}");
    assert_eq!(place.tasks()[0]["status"], "interrupted");
    let mut later = connect(&place, json!({}));
    let again = asked(&mut later);
    say_text(&mut later, &again, "The word is heron.");
    assert_eq!(finished(&mut later)["text"], "The word is heron.");
    later.leave();
}
