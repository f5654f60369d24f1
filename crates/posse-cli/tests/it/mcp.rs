//! `posse mcp` as a host uses it: the real binary over pipes, with a scripted model behind its agents.

mod delegating;
mod ending;
mod foreign;
pub mod host;
mod http;
mod reading;
mod rooms;
mod rough;
mod sampling;
mod strangers;
mod wording;
mod writing;

use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};

use self::host::{Host, discover_meta, place};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A host asks for the version it knows best; the newest has no handshake.
#[test]
fn every_version_of_the_protocol_is_spoken() {
    let place = place();
    for version in LEGACY {
        let mut host = Host::start(&place, &[]);
        let told = host.initialize(version);
        assert_eq!(told["protocolVersion"], version);
        assert_eq!(told["serverInfo"]["name"], "posse");
        let instructions = told["instructions"].as_str().unwrap();
        assert!(instructions.chars().count() <= 2_000, "{}", instructions.chars().count());
        assert!(instructions.contains("quick"), "it names the agents there are: {instructions}");
        assert_eq!(host.ask("ping", json!({})), json!({}));
        assert_eq!(host.ask("tools/list", json!({}))["tools"].as_array().unwrap().len(), 5);
        host.leave();
    }
    let mut host = Host::start(&place, &[]);
    let told = host.ask("server/discover", json!({ "_meta": discover_meta() }));
    let versions = told["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{told}");
    let tools = host.ask("tools/list", json!({ "_meta": discover_meta() }));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 5, "{tools}");
    let spawn = json!({ "action": "spawn", "agent": "quick", "task": "Say something" });
    let called =
        host.ask("tools/call", json!({ "name": "subagent", "arguments": spawn, "_meta": discover_meta() }));
    assert_eq!(called["structuredContent"]["task_id"], "t_01", "{called}");
    host.leave();
}

/// What hosts do to tools is measured: names are cut and joined with the server's, descriptions shortened, schemas with a choice at the
/// top dropped, and without annotations every call is asked about.
#[test]
fn every_tool_that_is_offered_survives_what_hosts_do_to_it() {
    let place = place();
    let mut host = Host::start(&place, &["--tools", "all"]);
    host.initialize("2025-11-25");
    let tools = host.ask("tools/list", json!({}));
    let tools = tools["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["subagent", "subagent_wait", "subagent_result", "subagent_list", "shared_context", "run_subagent"]
    );
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(name.len() <= 40 && !tool["title"].as_str().unwrap().is_empty());
        let description = tool["description"].as_str().unwrap();
        let point = description.split(['.', ';', ':']).next().unwrap();
        assert!(point.chars().count() <= 150, "{name}: {point}");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name}: {hint}");
        }
        let looks = ["subagent_wait", "subagent_result", "subagent_list", "run_subagent"].contains(&name);
        assert_eq!(tool["annotations"]["readOnlyHint"], looks, "{name}");
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert_eq!(schema["type"], "object", "{name}");
            assert!(jsonschema::validator_for(schema).is_ok(), "{name}: {schema}");
            for choice in ["anyOf", "oneOf", "allOf", "not"] {
                assert!(schema.get(choice).is_none(), "{name}: {choice} at the top");
            }
        }
    }
    // The whole list is put into every request of a host's model.
    let usual: usize = tools[..5].iter().map(|tool| tool.to_string().len() / 4).sum();
    assert!(usual < 4_000, "{usual} tokens");
    host.leave();
}

#[test]
fn two_tasks_run_side_by_side_and_both_results_come_back() {
    let place = place();
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    host.initialize("2025-06-18");
    let began = Instant::now();
    let first = host.tool("subagent", json!({ "action": "spawn", "agent": "patient", "task": "Wait" }));
    let second = host.tool("subagent", json!({ "action": "spawn", "agent": "quick", "task": "Answer" }));
    assert_eq!((&first["task_id"], &second["task_id"]), (&json!("t_01"), &json!("t_02")));
    assert!(began.elapsed() < Duration::from_secs(20), "spawning waits for nobody: {:?}", began.elapsed());
    let waited = host.tool("subagent_wait", json!({ "task_ids": ["t_02"] }));
    assert_eq!(waited["finished"][0]["task_id"], "t_02", "{waited}");
    let early = host.call("subagent_result", json!({ "task_id": "t_01" }));
    assert!(early["isError"] == true, "{early}");
    assert_eq!(early["structuredContent"]["error"], "TASK_NOT_READY", "{early}");
    let still = host.tool("subagent_wait", json!({ "mode": "all", "timeout_s": 0 }));
    assert_eq!(
        (&still["timed_out"], &still["running"][0]["task_id"]),
        (&json!(true), &json!("t_01")),
        "{still}"
    );
    place.write("workspace/gate", "");
    let both = host.tool("subagent_wait", json!({ "task_ids": ["t_01", "t_02"], "mode": "all" }));
    assert_eq!(both["finished"].as_array().unwrap().len(), 2, "{both}");
    for (task, text) in [("t_01", "The gate is open."), ("t_02", "A quick answer.")] {
        let result = host.tool("subagent_result", json!({ "task_id": task }));
        assert_eq!((&result["text"], &result["status"]), (&json!(text), &json!("completed")), "{result}");
    }
    host.leave();
    // Whoever comes to this directory later finds them.
    let mut later = Host::start(&place, &[]);
    later.initialize("2025-11-25");
    let listed = later.tool("subagent_list", json!({ "what": "tasks" }));
    let seen: Vec<(&str, &str)> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (task["task_id"].as_str().unwrap(), task["status"].as_str().unwrap()))
        .collect();
    assert_eq!(seen, [("t_01", "completed"), ("t_02", "completed")]);
    assert_eq!(later.tool("subagent_result", json!({ "task_id": "t_02" }))["text"], "A quick answer.");
    let collected = later.tool("subagent", json!({ "action": "collect", "task_id": "t_01" }));
    assert_eq!(collected["result"], "The gate is open.", "it was read and not collected");
    let third = later.tool("subagent", json!({ "action": "spawn", "agent": "quick", "task": "Again" }));
    assert_eq!(third["task_id"], "t_03");
    let waited = later.tool("subagent_wait", json!({}));
    assert_eq!(
        waited["finished"].as_array().map(Vec::len),
        Some(1),
        "what was read before is not told again: {waited}"
    );
    later.leave();
    // Another room of the same directory is another session.
    let mut elsewhere = Host::start(&place, &["--room", "second"]);
    elsewhere.initialize("2025-11-25");
    assert_eq!(elsewhere.tool("subagent_list", json!({ "what": "tasks" }))["tasks"], json!([]));
    elsewhere.leave();
}

#[test]
fn two_hosts_in_one_directory_share_their_tasks_and_no_number_is_given_twice() {
    let place = place();
    let mut hosts = [Host::start(&place, &[]), Host::start(&place, &[])];
    for host in &mut hosts {
        host.initialize("2025-11-25");
    }
    let mut open = Vec::new();
    for round in 0..4 {
        for (at, host) in hosts.iter_mut().enumerate() {
            let task = format!("Answer {round}");
            let spawn = json!({ "action": "spawn", "agent": "quick", "task": task, "queue": true });
            open.push((at, host.send("tools/call", json!({ "name": "subagent", "arguments": spawn }))));
        }
    }
    let mut ids: Vec<String> = open
        .into_iter()
        .map(|(at, id)| {
            let answer = hosts[at].answer(id);
            answer["result"]["structuredContent"]["task_id"]
                .as_str()
                .unwrap_or_else(|| panic!("{answer}"))
                .to_owned()
        })
        .collect();
    ids.sort();
    assert_eq!(ids, ["t_01", "t_02", "t_03", "t_04", "t_05", "t_06", "t_07", "t_08"]);
    for host in &mut hosts {
        let waited = host.tool("subagent_wait", json!({ "task_ids": ids, "mode": "all", "timeout_s": 45 }));
        assert_eq!(waited["finished"].as_array().unwrap().len(), 8, "{waited}");
    }
    for host in hosts {
        host.leave();
    }
}

#[test]
fn agents_that_a_host_defines_are_there_when_it_comes_back() {
    let place = place();
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    let define = json!({ "action": "define", "name": "poet", "description": "Writes", "extends": "quick" });
    assert_eq!(host.tool("subagent", define)["defined"], "poet");
    host.leave();
    let mut later = Host::start(&place, &[]);
    later.initialize("2025-11-25");
    let listed = later.tool("subagent_list", json!({ "what": "agents" }));
    let names = listed["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap());
    assert!(names.clone().any(|name| name == "poet"), "{listed}");
    let spawned = later.tool("subagent", json!({ "action": "spawn", "agent": "poet", "task": "Write" }));
    let waited = later.tool("subagent_wait", json!({ "task_ids": [spawned["task_id"]] }));
    assert_eq!(waited["finished"][0]["status"], "completed", "{waited}");
    later.leave();
    // Another room has none of it.
    let mut other = Host::start(&place, &["--room", "other"]);
    other.initialize("2025-11-25");
    let listed = other.tool("subagent_list", json!({ "what": "agents", "query": "poet" }));
    assert_eq!(listed["agents"], json!([]), "{listed}");
    other.leave();
}

#[test]
fn a_host_without_any_model_is_told_what_is_missing_and_not_left_without_a_server() {
    let place = crate::support::Place::new();
    let mut host = Host::start(&place, &["--read-only"]);
    host.initialize("2025-11-25");
    let refused =
        host.call("subagent", json!({ "action": "spawn", "agent": "general", "task": "Look around" }));
    assert_eq!(refused["structuredContent"]["error"], "MODEL_NOT_CONFIGURED", "{refused}");
    assert!(refused["structuredContent"]["hint"].as_str().unwrap().contains("API_KEY"), "{refused}");
    host.leave();
}

/// Keys come from the configuration too: most hosts keep the environment to themselves.
#[test]
fn a_key_in_a_file_is_enough() {
    let place = crate::support::Place::new();
    let key = place.write("home/key", "sk-test");
    let config = format!(
        "[providers.openai]\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_file = \"{}\"\n",
        key.display()
    );
    place.write("home/.config/posse/config.toml", &config);
    let mut host = Host::start(&place, &["--read-only"]);
    host.initialize("2025-11-25");
    let listed = host.tool("subagent_list", json!({ "what": "agents" }));
    let model = listed["agents"][0]["model"].as_str().unwrap();
    assert!(model.starts_with("openai:"), "{listed}");
    host.leave();
}

#[test]
fn what_is_cancelled_ends_and_a_late_cancel_harms_nobody() {
    let place = place();
    let model = place.script("- delay_ms: 600000\n  text: Never.\n");
    let mut host = Host::start(&place, &["--tools", "all", "--model", &model]);
    host.initialize("2025-11-25");
    let task = "Find out where the tests of this repository are and report them";
    let call = host.send("tools/call", json!({ "name": "run_subagent", "arguments": { "task": task } }));
    host.until_task("running");
    host.notify("notifications/cancelled", json!({ "requestId": call, "reason": "enough" }));
    let listed = host.until_task("failed");
    assert_eq!(listed["tasks"][0]["reason"], "cancelled", "{listed}");
    // A cancelled wait ends the wait and nothing else.
    host.tool("subagent", json!({ "action": "spawn", "agent": "general", "task": "Wait for ever" }));
    let wait = host.send("tools/call", json!({ "name": "subagent_wait", "arguments": {} }));
    host.notify("notifications/cancelled", json!({ "requestId": wait }));
    for late in [json!(call), json!(wait), json!(99_999), json!("never")] {
        host.notify("notifications/cancelled", json!({ "requestId": late }));
    }
    let listed = host.tool("subagent_list", json!({ "what": "tasks" }));
    assert_eq!(listed["tasks"][1]["status"], "running", "{listed}");
    let ended = host.tool("subagent", json!({ "action": "cancel", "task_id": "t_02" }));
    assert_eq!(ended["reason"], "cancelled", "{ended}");
    host.leave();
}

/// The strictest host gives up a call after 60 seconds, whatever it hears.
#[test]
fn no_call_lasts_longer_than_hosts_wait_and_what_goes_on_is_named() {
    let place = place();
    let model = place.script("- delay_ms: 600000\n  text: Never.\n");
    let mut host = Host::start(&place, &["--tools", "all", "--model", &model]);
    host.initialize("2025-11-25");
    let began = Instant::now();
    let task = "Find out where the tests of this repository are and report them";
    let waits = json!({ "action": "wait", "keys": ["never"], "timeout_s": 300 });
    let call = host.send("tools/call", json!({ "name": "shared_context", "arguments": waits }));
    let told = host.tool("run_subagent", json!({ "task": task }));
    assert_eq!(told["note"], "still running: call subagent_wait with t_01", "{told}");
    host.answer(call);
    let took = began.elapsed();
    assert!(took > Duration::from_secs(40) && took < Duration::from_secs(60), "{took:?}");
    let listed = host.tool("subagent_list", json!({ "what": "tasks" }));
    assert_eq!(listed["tasks"][0]["status"], "running", "nobody ended it: {listed}");
    host.tool("subagent", json!({ "action": "cancel", "task_id": "t_01" }));
    host.leave();
}

/// A host that counts the time since the last sign hears one at least every 15 seconds.
#[test]
fn whoever_waits_with_a_token_hears_how_far_it_is() {
    let place = place();
    let mut host = Host::start(&place, &["--allow", "wait_gate"]);
    host.initialize("2025-11-25");
    host.tool("subagent", json!({ "action": "spawn", "agent": "patient", "task": "Wait" }));
    let began = Instant::now();
    let arguments = json!({ "task_ids": ["t_01"], "timeout_s": 45 });
    let meta = json!({ "progressToken": "how-far" });
    let call =
        host.send("tools/call", json!({ "name": "subagent_wait", "arguments": arguments, "_meta": meta }));
    let told = host.until(|message| message["method"] == "notifications/progress");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(told["params"]["progressToken"], "how-far");
    assert!(told["params"]["message"].as_str().unwrap().contains("t_01 patient"), "{told}");
    place.write("workspace/gate", "");
    let answer = host.answer(call);
    assert_eq!(answer["result"]["structuredContent"]["finished"][0]["status"], "completed", "{answer}");
    host.leave();
}

/// The official SDK's own client, over pipes.
#[tokio::test]
async fn the_client_of_the_official_sdk_delegates() {
    let place = place();
    let mut command = tokio::process::Command::from(place.posse(["mcp"]));
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).kill_on_drop(true).spawn().unwrap();
    let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let client = ().serve(pipes).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 5);
    let call = |name: &'static str, arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap();
        client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments))
    };
    let spawn = json!({ "action": "spawn", "agent": "quick", "task": "Answer" });
    let spawned = call("subagent", spawn).await.unwrap();
    let id = spawned.structured_content.unwrap()["task_id"].clone();
    call("subagent_wait", json!({ "task_ids": [id] })).await.unwrap();
    let result = call("subagent_result", json!({ "task_id": id })).await.unwrap();
    assert_eq!(result.structured_content.unwrap()["text"], "A quick answer.");
    client.cancel().await.unwrap();
    assert!(child.wait().await.unwrap().success());
}

/// A command that an agent runs, and that starts another Posse.
#[test]
fn a_posse_inside_a_posse_learns_how_deep_it_may_go() {
    let place = place();
    for (depth, fine) in [("0", false), ("nonsense", false), ("1", true)] {
        let mut command = place.posse(["run", "--json", "Hello"]);
        command.env("POSSE_DEPTH", depth);
        let ran = crate::support::Ran::of(command);
        assert_eq!(ran.code == 0, fine, "{depth}: {ran:?}");
        assert!(fine || ran.stderr.contains("may not delegate"), "{ran:?}");
    }
    // What a task may do is in the environment of what it starts.
    let script = "boss:\n- calls: [bash: {command: 'echo depth=$POSSE_DEPTH cost=$POSSE_COST_LEFT_MICROS'}]\n- text: '{result:0}'\n";
    let model = place.script(script);
    let prices = format!("[prices.\"{model}#boss\"]\ninput = 1.0\noutput = 1.0\n");
    place.write("home/.config/posse/config.toml", &prices);
    let ran = place.run(["run", "--json", "--allow", "bash", "--model", &format!("{model}#boss"), "Hello"]);
    let told = ran.envelope()["text"].as_str().unwrap_or_default().to_owned();
    assert!(told.contains("depth=1 cost="), "{ran:?}");
}

#[test]
fn the_doctor_starts_the_server_as_a_host_does() {
    let good = place();
    let ran = good.run(["mcp", "doctor"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("subagent_wait") && ran.stdout.contains("patient"), "{ran:?}");
    let bare = crate::support::Place::new();
    let mut command = bare.posse(["mcp", "doctor"]);
    // A key that hosts do not pass on.
    command.env("OPENAI_API_KEY", "sk-test");
    let ran = crate::support::Ran::of(command);
    assert!(ran.code == 1 && ran.stderr.contains("api_key_file"), "{ran:?}");
}

#[test]
fn install_writes_what_a_host_reads_and_keeps_what_is_there() {
    let place = place();
    let printed = place.run(["mcp", "install", "--host", "claude-code"]);
    let value: Value = serde_json::from_str(&printed.stdout).unwrap();
    let program = value["mcpServers"]["posse"]["command"].as_str().unwrap();
    assert!(std::path::Path::new(program).is_absolute());
    place.write("workspace/.mcp.json", "{\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } }\n}\n");
    for _ in 0..2 {
        let ran = place.run(["mcp", "install", "--host", "claude-code", "--write"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = std::fs::read_to_string(place.workspace().join(".mcp.json")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["mcpServers"].as_object().unwrap().len(), 2, "{text}");
    }
    // As a host starts what it reads there.
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    host.leave();
    place.write("workspace/opencode.json", "{ broken");
    let ran = place.run(["mcp", "install", "--host", "opencode", "--write"]);
    assert!(ran.code == 1 && ran.stderr.contains("without --write"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(place.workspace().join("opencode.json")).unwrap(), "{ broken");
}

#[test]
fn after_install_the_doctor_succeeds_with_a_key_that_was_only_in_the_environment() {
    use std::os::unix::fs::PermissionsExt;

    use crate::support::{Place, Ran};
    let place = Place::new();
    let posse = |args: &[&str], key: bool| {
        let mut command = place.posse(args.iter().copied());
        if key {
            command.env("ANTHROPIC_API_KEY", "canary-key");
            command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/gateway");
        }
        Ran::of(command)
    };
    let installed = posse(&["mcp", "install", "--host", "claude-code", "--write", "--store-key"], true);
    let file = place.home().join(".config/posse/keys/anthropic");
    assert!(installed.code == 0 && installed.stderr.contains(file.to_str().unwrap()), "{installed:?}");
    assert!(!format!("{installed:?}").contains("canary-key"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "canary-key\n");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // The doctor starts the server without that variable in any case.
    for key in [true, false] {
        let doctor = posse(&["mcp", "doctor"], key);
        assert_eq!(doctor.code, 0, "{doctor:?}");
    }
    let doctor = posse(&["doctor"], false);
    assert!(!doctor.stdout.contains(".mcp.json"), "a file of ours needs no trust: {doctor:?}");
    assert!(doctor.stdout.contains(file.to_str().unwrap()), "it names the source of the key: {doctor:?}");
    // A second time there is nothing to do.
    let config = std::fs::read_to_string(place.home().join(".config/posse/config.toml")).unwrap();
    assert!(
        config.contains("base_url = \"http://127.0.0.1:9/gateway\""),
        "the key goes nowhere else: {config}"
    );
    posse(&["mcp", "install", "--host", "claude-code", "--write", "--store-key"], true);
    assert_eq!(std::fs::read_to_string(place.home().join(".config/posse/config.toml")).unwrap(), config);
}

#[test]
fn install_stores_no_key_if_told_so() {
    use crate::support::{Place, Ran};
    let place = Place::new();
    let mut command = place.posse(["mcp", "install", "--host", "claude-code", "--write", "--no-key"]);
    command.env("ANTHROPIC_API_KEY", "canary-key");
    assert_eq!(Ran::of(command).code, 0);
    assert_eq!(place.files_with("canary-key"), Vec::<std::path::PathBuf>::new());
}
