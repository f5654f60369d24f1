//! What a host can do beside calling tools: read, watch, pick a prompt, complete a name, follow a task, ask its person.

use serde_json::{Value, json};

use super::host::{Host, discover_meta, place};
use crate::support::Place;

fn spawn(host: &mut Host, agent: &str) {
    host.tool("subagent", json!({ "action": "spawn", "agent": agent, "task": "Do it" }));
}

fn read(host: &mut Host, uri: &str) -> String {
    let read = host.ask("resources/read", json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["uri"], uri);
    read["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn results_and_transcripts_can_be_read_and_watched() {
    let place = place();
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    host.initialize("2025-11-25");
    let agents: Value = serde_json::from_str(&read(&mut host, "posse://agents")).unwrap();
    assert!(agents["agents"].as_array().unwrap().iter().any(|agent| agent["name"] == "patient"), "{agents}");
    host.ask("logging/setLevel", json!({ "level": "info" }));
    host.ask("resources/subscribe", json!({ "uri": "posse://tasks/t_01/result" }));
    spawn(&mut host, "patient");
    host.until(|message| message["method"] == "notifications/resources/list_changed");
    place.write("workspace/gate", "");
    let updated = host.until(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "posse://tasks/t_01/result");
    let logged = host.until(|message| message["method"] == "notifications/message");
    assert_eq!(logged["params"]["data"], json!({ "task_id": "t_01", "status": "completed" }));
    assert_eq!(read(&mut host, "posse://tasks/t_01/result"), "The gate is open.");
    let transcript = read(&mut host, "posse://tasks/t_01/transcript");
    assert!(transcript.lines().count() > 2 && transcript.contains("wait_gate"), "{transcript}");
    let listed = host.ask("resources/list", json!({}));
    let uris: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(
        uris,
        ["posse://agents", "posse://tasks", "posse://tasks/t_01/result", "posse://tasks/t_01/transcript"]
    );
    let templates = host.ask("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "posse://tasks/{task_id}/result");
    for wrong in ["posse://tasks/t_99/result", "file:///etc/passwd"] {
        let id = host.send("resources/read", json!({ "uri": wrong }));
        assert_eq!(host.answer(id)["error"]["code"], -32002, "{wrong}");
    }
    host.leave();
}

#[test]
fn there_is_a_prompt_for_each_agent_and_names_are_completed() {
    let place = place();
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    spawn(&mut host, "quick");
    let listed = host.ask("prompts/list", json!({}));
    let names: Vec<&str> =
        listed["prompts"].as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert!(
        names.starts_with(&["delegate"]) && names.contains(&"quick") && names.contains(&"researcher"),
        "{names:?}"
    );
    let got = host.ask("prompts/get", json!({ "name": "quick", "arguments": { "task": "Count the tests" } }));
    let text = got["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("`quick`") && text.contains("Count the tests"), "{text}");
    for wrong in [json!({ "name": "nobody", "arguments": { "task": "x" } }), json!({ "name": "quick" })] {
        let id = host.send("prompts/get", wrong);
        assert_eq!(host.answer(id)["error"]["code"], -32602);
    }
    let complete = |host: &mut Host, reference: Value, name: &str, value: &str| {
        let argument = json!({ "name": name, "value": value });
        host.ask("completion/complete", json!({ "ref": reference, "argument": argument }))["completion"]["values"].clone()
    };
    let prompt = json!({ "type": "ref/prompt", "name": "delegate" });
    assert_eq!(complete(&mut host, prompt, "agent", "qu"), json!(["quick"]));
    let template = json!({ "type": "ref/resource", "uri": "posse://tasks/{task_id}/result" });
    assert_eq!(complete(&mut host, template, "task_id", "t_"), json!(["t_01"]));
    host.leave();
}

/// SEP-2663: a client that follows tasks by itself is not kept waiting.
#[test]
fn a_client_that_follows_tasks_gets_one() {
    let place = place();
    let mut host = Host::start(&place, &["--tools", "all"]);
    let mut meta = discover_meta();
    meta["io.modelcontextprotocol/clientCapabilities"]["extensions"] =
        json!({ "io.modelcontextprotocol/tasks": {} });
    let arguments = json!({ "task": "Find out where the tests of this repository are and report" });
    let call = json!({ "name": "run_subagent", "arguments": arguments, "_meta": meta });
    let begun = host.ask("tools/call", call);
    assert_eq!((&begun["resultType"], &begun["taskId"]), (&json!("task"), &json!("t_01")), "{begun}");
    let done = crate::support::until("it is done", || {
        let got = host.ask("tasks/get", json!({ "taskId": "t_01", "_meta": meta }));
        (got["status"] != "working").then_some(got)
    });
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["structuredContent"]["text"], "A quick answer.", "{done}");
    host.ask("tasks/cancel", json!({ "taskId": "t_01", "_meta": meta }));
    let unknown = host.send("tasks/get", json!({ "taskId": "t_99", "_meta": meta }));
    assert_eq!(host.answer(unknown)["error"]["code"], -32602);
    let undeclared = host.send("tasks/get", json!({ "taskId": "t_01", "_meta": discover_meta() }));
    assert_eq!(host.answer(undeclared)["error"]["code"], -32021);
    host.leave();
}

/// A host that can show a form: what it is asked, and what becomes of the answer.
fn initialize_with_forms(host: &mut Host) {
    let client = json!({ "name": "test", "version": "1" });
    let capabilities = json!({ "elicitation": {} });
    host.ask(
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client }),
    );
    host.notify("notifications/initialized", json!({}));
}

fn asking_place() -> Place {
    let place = place();
    let model = place.script(
        "asker:\n- calls: [ask_parent: {question: Which colour?, options: [red, blue], deadline_s: 300}]\n\
         - text: '{result:0}'\nwriter:\n- calls: [write: {path: notes/a.txt, content: hello}]\n- text: Written.\n",
    );
    for name in ["asker", "writer"] {
        let text =
            format!("---\nname: {name}\ndescription: {name}\nmodel: {model}#{name}\n---\nYou are {name}.\n");
        place.write(&format!("home/.config/posse/agents/{name}.md"), &text);
    }
    let config = format!("model = \"{model}#asker\"\n[approvals]\nmode = \"ask\"\nask = [\"write\"]\n");
    place.write("home/.config/posse/config.toml", &config);
    place
}

#[test]
fn the_person_in_front_of_the_host_is_asked_and_answers() {
    let place = asking_place();
    let mut host = Host::start(&place, &["--write", "notes/**"]);
    initialize_with_forms(&mut host);
    spawn(&mut host, "asker");
    let asked = host.until(|message| message["method"] == "elicitation/create");
    assert!(asked["params"]["message"].as_str().unwrap().contains("Which colour?"), "{asked}");
    assert_eq!(asked["params"]["requestedSchema"]["properties"]["answer"]["enum"], json!(["red", "blue"]));
    host.reply(&asked["id"], json!({ "action": "accept", "content": { "answer": "blue" } }));
    // A wait would be over at once while the answer is on its way.
    host.until_task("completed");
    assert_eq!(host.tool("subagent_result", json!({ "task_id": "t_01" }))["text"], "blue");
    for (decision, written) in [("allow once", true), ("deny", false)] {
        let _ = std::fs::remove_dir_all(place.workspace().join("notes"));
        spawn(&mut host, "writer");
        let asked = host.until(|message| message["method"] == "elicitation/create");
        let shown = asked["params"]["message"].as_str().unwrap();
        assert!(shown.contains("write") && shown.contains("notes/a.txt"), "{shown}");
        host.reply(&asked["id"], json!({ "action": "accept", "content": { "decision": decision } }));
        host.tool("subagent_wait", json!({ "timeout_s": 45 }));
        assert_eq!(place.workspace().join("notes/a.txt").exists(), written, "{decision}");
    }
    host.leave();
}

/// Headless hosts cancel or decline at once; then nothing was said, and the question can be answered otherwise.
#[test]
fn a_host_that_declines_has_said_nothing() {
    let place = asking_place();
    let mut host = Host::start(&place, &[]);
    initialize_with_forms(&mut host);
    spawn(&mut host, "asker");
    let asked = host.until(|message| message["method"] == "elicitation/create");
    host.reply(&asked["id"], json!({ "action": "decline" }));
    let waited = host.tool("subagent_wait", json!({ "task_ids": ["t_01"], "timeout_s": 45 }));
    assert_eq!(waited["running"][0]["question"]["text"], "Which colour?", "{waited}");
    host.tool("subagent", json!({ "action": "answer", "task_id": "t_01", "answer": "green" }));
    let waited = host.tool("subagent_wait", json!({ "task_ids": ["t_01"], "timeout_s": 45 }));
    assert_eq!(waited["finished"][0]["status"], "completed", "{waited}");
    host.leave();
}
