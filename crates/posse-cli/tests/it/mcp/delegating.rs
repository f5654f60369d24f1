//! What a host and its tasks can delegate: how deep, how many, and who gets which result.

use serde_json::json;

use super::host::Host;
use crate::depth;

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
