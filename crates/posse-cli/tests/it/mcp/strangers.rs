//! A host whose Posse uses servers of its own that nobody asked yet: it is answered all the same.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;

use super::host::{Host, place};
use crate::support::{Place, processes_of, until};

/// Says nothing before the file `gate` is there.
const SERVER: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
until [ -e gate ]; do sleep 0.05; done
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"server/discover"'*) answer '"error":{"code":-32601,"message":"no"}' ;;
    *'"method":"initialize"'*)
      answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer '"result":{"tools":[{"name":"tell","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) answer '"result":{"content":[{"type":"text","text":"late but here"}]}' ;;
  esac
done
"#;

/// A place whose agents may use a server that takes as long as it likes.
fn place_with_a_stranger() -> Place {
    let place = place();
    let program = place.write("server/run.sh", SERVER);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let model = place.script("quick:\n- calls: [mcp__slow__tell: {}]\n- text: It was told.\n");
    let config = format!(
        "model = \"{model}#quick\"\n[grant]\nallow = [\"mcp__slow\"]\n[mcp.servers.slow]\ncommand = \"{}\"\nstartup_timeout_s = 200\n",
        program.display()
    );
    place.write("home/.config/posse/config.toml", &config);
    let agent = format!("---\nname: quick\ndescription: Asks\nmodel: {model}#quick\n---\nYou ask.\n");
    place.write("home/.config/posse/agents/quick.md", &agent);
    place
}

fn at_work(place: &Place) -> Vec<String> {
    let program = place.root().join("server/run.sh").display().to_string();
    processes_of("mcp-slow").into_iter().filter(|process| process.contains(&program)).collect()
}

fn greeted(place: &Place) -> Host {
    let began = Instant::now();
    let mut host = Host::start(place, &[]);
    host.initialize("2025-11-25");
    assert_eq!(host.ask("tools/list", json!({}))["tools"].as_array().unwrap().len(), 5);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    host
}

// Seen to wait for the server with a head start of any length.
#[test]
fn a_host_is_answered_before_a_server_that_nobody_knows_and_its_tools_are_there_when_they_are_needed() {
    let place = place_with_a_stranger();
    let mut host = greeted(&place);
    let spawn = json!({ "action": "spawn", "agent": "quick", "task": "Ask it" });
    let id = host.send("tools/call", json!({ "name": "subagent", "arguments": spawn }));
    assert_eq!(host.ask("ping", json!({})), json!({}), "others are answered while that waits");
    place.write("workspace/gate", "");
    let begun = host.answer(id);
    assert_eq!(begun["result"]["structuredContent"]["task_id"], "t_01", "{begun}");
    host.until_task("completed");
    let transcript = host.ask("resources/read", json!({ "uri": "posse://tasks/t_01/transcript" }));
    assert!(transcript.to_string().contains("late but here"), "{transcript}");
    host.leave();
}

#[test]
fn a_host_that_goes_does_not_wait_for_a_server_and_leaves_nothing_of_it() {
    let place = place_with_a_stranger();
    let host = greeted(&place);
    until("the server is started", || (!at_work(&place).is_empty()).then_some(()));
    host.leave();
    until("it is gone", || at_work(&place).is_empty().then_some(()));
}
