//! What tasks of hosts may write: nothing, unless a person said so where the server is started.

use serde_json::{Value, json};

use super::host::{Host, place};
use crate::support::Place;

const SCRIPT: &str = "
coder:
- calls: [write: {path: out/a.txt, content: one}, write: {path: b.txt, content: two}]
- text: Done.
";

fn coding_place(mcp: &str) -> Place {
    let place = place();
    let model = place.script(SCRIPT);
    let text = format!(
        "---\nname: coder\ndescription: Writes\nmodel: {model}#coder\ntools: read, write, bash\n---\nYou write.\n"
    );
    place.write("home/.config/posse/agents/coder.md", &text);
    place.write("home/.config/posse/config.toml", &format!("model = \"{model}#coder\"\n{mcp}"));
    place
}

/// Lets the coder work on a server with these flags. Returns what delegating said, and which of the two files there are.
fn code(place: &Place, flags: &[&str]) -> (Value, [bool; 2]) {
    let mut host = Host::start(place, flags);
    host.initialize("2025-11-25");
    let spawned = host.tool("subagent", json!({ "action": "spawn", "agent": "coder", "task": "Write" }));
    let waited = host.tool("subagent_wait", json!({ "task_ids": [spawned["task_id"]], "timeout_s": 45 }));
    assert_eq!(waited["finished"][0]["status"], "completed", "{waited}");
    host.leave();
    (spawned, ["out/a.txt", "b.txt"].map(|file| place.workspace().join(file).exists()))
}

#[test]
fn without_a_word_of_a_person_nothing_is_written_and_the_flag_is_named() {
    let place = coding_place("");
    let (spawned, written) = code(&place, &[]);
    assert_eq!(written, [false, false]);
    let warnings = spawned["warnings"][0].as_str().unwrap();
    assert!(warnings.contains("`coder` works without `write`, `bash`"), "{spawned}");
    assert!(warnings.contains("--write PATHS"), "{spawned}");
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    let listed = host.tool("subagent_list", json!({ "what": "agents", "query": "coder" }));
    assert_eq!(listed["agents"][0]["tools"], json!(["read"]), "{listed}");
    let task = json!({ "action": "spawn", "agent": "coder", "task": "Write", "write_paths": ["src/**"] });
    let refused = host.call("subagent", task);
    assert_eq!(refused["structuredContent"]["error"], "ACCESS_DENIED", "{refused}");
    assert!(refused["structuredContent"]["hint"].as_str().unwrap().contains("--write PATHS"), "{refused}");
    host.leave();
}

#[test]
fn what_a_person_names_is_written_and_nothing_else() {
    for (mcp, flags, expected) in [
        ("", &["--write", "out/**"][..], [true, false]),
        ("", &["--write", "**"], [true, true]),
        ("", &["--allow", "write"], [true, true]),
        ("", &["--allow", "write", "--write", "out"], [true, false]),
        ("[mcp]\nwrite = [\"out/**\"]\n", &[], [true, false]),
        ("[mcp]\nwrite = [\"**\"]\n", &["--write", "out/**"], [true, false]),
        ("[mcp]\nwrite = [\"**\"]\n", &["--read-only"], [false, false]),
        ("[grant]\nallow = [\"write\"]\n", &[], [true, true]),
    ] {
        let place = coding_place(mcp);
        assert_eq!(code(&place, flags).1, expected, "{mcp} {flags:?}");
    }
    let ran = coding_place("").run(["mcp", "--write", "../outside"]);
    assert!(ran.code == 1 && ran.stderr.contains("../outside"), "{ran:?}");
}

#[test]
fn install_and_doctor_say_which_rights_tasks_get() {
    let place = coding_place("");
    let ran = place.run(["mcp", "install", "--host", "claude-code"]);
    assert!(ran.stderr.contains("--write PATHS"), "{ran:?}");
    let ran = place.run(["mcp", "doctor"]);
    assert!(ran.code == 0 && ran.stdout.contains("may look and not write"), "{ran:?}");
    let ran = coding_place("[mcp]\nwrite = [\"src/**\", \"docs\"]\n").run(["mcp", "doctor"]);
    assert!(ran.code == 0 && ran.stdout.contains("tasks may write: src/**, docs"), "{ran:?}");
    assert!(ran.stdout.contains("tools of tasks: ") && ran.stdout.contains("write"), "{ran:?}");
}

/// `destructiveHint` and `openWorldHint` of the tools that start tasks: `subagent`, then `run_subagent`.
fn hints(place: &Place, flags: &[&str]) -> [[Value; 2]; 2] {
    let mut host = Host::start(place, &[&["--tools", "all"], flags].concat());
    host.initialize("2025-11-25");
    let listed = host.ask("tools/list", json!({}));
    host.leave();
    let tools = listed["tools"].as_array().unwrap();
    ["subagent", "run_subagent"].map(|name| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        ["destructiveHint", "openWorldHint"].map(|hint| tool["annotations"][hint].clone())
    })
}

/// Hosts run a tool unasked that is neither destructive nor open to the world.
#[test]
fn a_host_is_told_that_delegating_is_harmless_exactly_while_tasks_only_look() {
    const OFFLINE: &str = "[network]\nhosts = []\n";
    const SERVER: &str = "[mcp.servers.tester]\ncommand = \"false\"\n";
    let (harmless, writes, goes_out) =
        ([[false, false]; 2], [[true, true], [false, false]], [[false, true], [false, true]]);
    for (config, flags, expected) in [
        ("", &[][..], harmless),
        ("", &["--allow", "fetch"], goes_out),
        ("", &["--allow", "wait_gate"], goes_out),
        (OFFLINE, &["--allow", "fetch,wait_gate"], harmless),
        ("", &["--write", "out/**"], writes),
        ("", &["--allow", "write"], writes),
        ("", &["--allow", "bash"], writes),
        ("[mcp]\nwrite = [\"out/**\"]\n", &[], writes),
        ("[mcp]\nwrite = [\"**\"]\n", &["--read-only"], harmless),
        ("[grant]\nallow = [\"edit\"]\n", &[], writes),
        (SERVER, &[], harmless),
        (SERVER, &["--allow", "mcp__tester"], [[true, true], [false, true]]),
        (&format!("{SERVER}[grant]\nallow = [\"mcp__tester\"]\n"), &["--read-only"], goes_out),
    ] {
        let expected = expected.map(|hints| hints.map(Value::from));
        assert_eq!(hints(&coding_place(config), flags), expected, "{config} {flags:?}");
    }
}
