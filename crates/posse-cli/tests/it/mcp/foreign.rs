//! Programs that others wrote, against the real binary: the protocol's conformance suite and its inspector, and two hosts, each with a
//! model on the loopback. `cargo xtask test` installs them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::{LoopbackFormat, Say, results};
use serde_json::{Value, json};

use super::host::place;
use super::http::Served;
use crate::support::Place;

/// Where programs of npm are; `None`, and a word about it, if this one could not be installed.
fn programs(name: &str) -> Option<PathBuf> {
    let all = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/npm/node_modules/.bin");
    let found = all.join(name).exists().then_some(all);
    if found.is_none() {
        eprintln!("NOT TESTED: `{name}` is not installed; `cargo xtask test` installs it");
    }
    found
}

/// A program of npm with an environment of its own.
fn program(place: &Place, programs: &std::path::Path, name: &str) -> Command {
    let mut command = Command::new(programs.join(name));
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    command.env_clear().env("PATH", path).env("HOME", place.home()).env("POSSE_STATE", place.state());
    command.current_dir(place.workspace()).stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Those that need no tools or prompts of a certain name; all others are run against the fixture server of `posse-mcp`.
const GENERIC: [(&str, &str); 19] = [
    ("server-initialize", "2025-11-25"),
    ("server-session-lifecycle", "2025-11-25"),
    ("logging-set-level", "2025-11-25"),
    ("ping", "2025-11-25"),
    ("completion-complete", "2025-11-25"),
    ("tools-list", "2025-11-25"),
    ("server-sse-multiple-streams", "2025-11-25"),
    ("server-sse-polling", "2025-11-25"),
    ("resources-list", "2025-11-25"),
    ("resources-subscribe", "2025-11-25"),
    ("resources-unsubscribe", "2025-11-25"),
    ("prompts-list", "2025-11-25"),
    ("dns-rebinding-protection", "2025-11-25"),
    ("tools-list", "2026-07-28"),
    ("resources-list", "2026-07-28"),
    ("prompts-list", "2026-07-28"),
    ("sep-2164-resource-not-found", "2026-07-28"),
    ("caching", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
];

#[test]
fn the_conformance_suite_passes_on_the_product() {
    let Some(programs) = programs("conformance") else { return };
    let place = place();
    let served = Served::start(&place, &["--tools", "all"]);
    let proxy = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/proxy.mjs");
    let mut proxy = program(&place, &programs, "node")
        .args([proxy, &served.port.to_string(), &served.token])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let mut failed = Vec::new();
    for (scenario, version) in GENERIC {
        let mut suite = program(&place, &programs, "conformance");
        suite.args(["server", "--url", &url, "--scenario", scenario, "--spec-version", version]);
        let ran = suite.output().unwrap();
        if !ran.status.success() {
            failed.push(format!("{scenario} {version}: {}", text(&ran)));
        }
    }
    let _ = proxy.kill();
    let _ = proxy.wait();
    served.stop();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn the_inspector_lists_the_tools_and_calls_one() {
    let Some(programs) = programs("mcp-inspector") else { return };
    let place = place();
    let inspect = |more: &[&str]| {
        let mut inspector = program(&place, &programs, "mcp-inspector");
        inspector.args(["--cli", env!("CARGO_BIN_EXE_posse"), "mcp"]).args(more);
        let ran = inspector.output().unwrap();
        assert!(ran.status.success(), "{}", text(&ran));
        serde_json::from_slice::<Value>(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&ran)))
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert_eq!(listed["tools"].as_array().unwrap().len(), 5);
    let spawn = ["--tool-arg", "action=spawn", "--tool-arg", "agent=quick", "--tool-arg", "task=Answer"];
    let called = inspect(&[&["--method", "tools/call", "--tool-name", "subagent"][..], &spawn].concat());
    assert_eq!(called["structuredContent"]["task_id"], "t_01", "{called}");
}

/// A model that delegates two tasks side by side, waits, reads both and says what they said. What a host calls our tools is for it to
/// find out.
fn model(request: &Recorded) -> Answer {
    if LoopbackFormat::of(request).is_none() {
        return Answer::json(
            200,
            &json!({ "object": "list", "data": [{ "id": "mock-model", "object": "model" }] }),
        );
    }
    let body = request.json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["function"]["name"].as_str().or(tool["name"].as_str()));
    let named = |end: &str| names.clone().find(|name| name.ends_with(end)).map(str::to_owned);
    let (Some(spawn), Some(wait), Some(result)) =
        (named("subagent"), named("subagent_wait"), named("subagent_result"))
    else {
        return Say::text("A title").answer(request);
    };
    let task = |agent: &str| json!({ "action": "spawn", "agent": agent, "task": "Do what you do" });
    let read = |id: &str| json!({ "task_id": id });
    let told = results(request);
    let say = match told.len() {
        0 => Say::call("c1", &spawn, task("quick")).and_call("c2", &spawn, task("patient")),
        2 => Say::call("c3", &wait, json!({ "task_ids": ["t_01", "t_02"], "mode": "all", "timeout_s": 45 })),
        3 => Say::call("c4", &result, read("t_01")).and_call("c5", &result, read("t_02")),
        5 => Say::text(&format!("FIRST {} SECOND {}", told[3], told[4])),
        other => Say::text(&format!("unexpected: {other} results: {told:?}")),
    };
    say.answer(request)
}

/// Whether a host used both results.
fn used_both(said: &str) {
    let last = said.rfind("FIRST").map(|at| &said[at..]).unwrap_or_else(|| panic!("no answer: {said}"));
    for text in ["A quick answer.", "The gate is open."] {
        assert!(last.contains(text), "{text} is missing: {said}");
    }
}

async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// Both agents answer at once: the gate is open.
fn open_place() -> Place {
    let place = place();
    place.write("workspace/gate", "");
    place
}

fn both_are_in_the_store(place: &Place) {
    let tasks = place.tasks();
    let done = tasks.iter().filter(|task| task["status"] == "completed").count();
    assert_eq!((tasks.len(), done), (2, 2), "{tasks:#?}");
}

#[tokio::test]
async fn opencode_delegates_two_tasks_and_uses_both_results() {
    let Some(programs) = programs("opencode") else { return };
    let place = open_place();
    let server = Server::handler(model).await;
    let mock = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": { "baseURL": format!("{}/v1", server.url()), "apiKey": "x" },
        "models": { "mock-model": { "name": "mock", "tool_call": true } }
    });
    let command = [env!("CARGO_BIN_EXE_posse"), "mcp", "--allow", "wait_gate"];
    let config = json!({
        "provider": { "mock": mock }, "enabled_providers": ["mock"],
        "model": "mock/mock-model", "small_model": "mock/mock-model",
        "mcp": { "posse": { "type": "local", "command": command, "enabled": true } },
        "permission": "allow", "autoupdate": false, "share": "disabled"
    });
    place.write("workspace/opencode.json", &config.to_string());
    let mut host = program(&place, &programs, "opencode");
    for switch in ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        host.env(format!("OPENCODE_DISABLE_{switch}"), "1");
    }
    host.args(["run", "--format", "json", "--model", "mock/mock-model", "--", "Delegate twice"]);
    let ran = run(host).await;
    used_both(&text(&ran));
    both_are_in_the_store(&place);
}

#[tokio::test]
async fn copilot_delegates_two_tasks_and_uses_both_results() {
    let Some(programs) = programs("copilot") else { return };
    let place = open_place();
    let server = Server::handler(model).await;
    let config = json!({ "mcpServers": { "posse": {
        "type": "local", "command": env!("CARGO_BIN_EXE_posse"), "args": ["mcp", "--allow", "wait_gate"],
        "env": { "POSSE_STATE": place.state().display().to_string() }, "tools": ["*"]
    } } });
    let config = place.write("copilot.json", &config.to_string());
    let mut host = program(&place, &programs, "copilot");
    host.env("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", server.url()))
        .env("COPILOT_PROVIDER_TYPE", "openai")
        .env("COPILOT_PROVIDER_API_KEY", "x")
        .env("COPILOT_MODEL", "mock-model")
        .env("COPILOT_OFFLINE", "true");
    host.args(["--allow-all-tools", "--no-auto-update", "--disable-builtin-mcps", "--additional-mcp-config"]);
    host.arg(format!("@{}", config.display())).args(["-p", "Delegate twice"]);
    let ran = run(host).await;
    used_both(&text(&ran));
    both_are_in_the_store(&place);
}
