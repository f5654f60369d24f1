//! `posse` in other languages: people read their own, models read English, codes and field names never change.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::mcp::host::Host;
use crate::support::{Place, Ran};
use crate::worktrees;

const GERMAN: &[(&str, &str)] = &[("LANG", "de_DE.UTF-8")];

fn spoken(args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let place = Place::new();
    let mut command = place.posse(args.iter().copied());
    command.envs(environment.iter().copied());
    Ran::of(command)
}

/// An error that begins in the runtime: no agent has this name.
const UNKNOWN: &[&str] = &["run", "--model", "scripted:x.yaml", "--agent", "nobody", "task"];

// R448
#[test]
fn an_error_is_told_in_the_language_of_the_flag_or_of_the_environment_and_keeps_its_code() {
    let said = |args: &[&str], environment: &[(&str, &str)]| {
        let args: Vec<&str> = args.iter().chain(UNKNOWN).copied().collect();
        let ran = spoken(&args, environment);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("[AGENT_NOT_FOUND]"), "{ran:?}");
        ran.stderr
    };
    assert!(said(&[], &[]).contains("no agent is called `nobody`"));
    assert!(said(&["--lang", "de"], &[]).contains("kein Agent heißt `nobody`"));
    assert!(said(&["--lang=es"], &[("LANG", "ja_JP.UTF-8")]).contains("ningún agente se llama `nobody`"));
    assert!(said(&[], &[("LANG", "ja_JP.UTF-8")]).contains("`nobody` という名前のエージェントはありません"));
    assert!(
        said(&[], &[("LC_ALL", "zh_CN.UTF-8"), ("LANG", "de_DE")]).contains("没有名为 `nobody` 的智能体")
    );
    assert!(
        said(&[], &[("POSSE_LANG", "fr"), ("LC_ALL", "C")]).contains("aucun agent ne s'appelle `nobody`")
    );
}

#[test]
fn a_language_that_is_not_there_is_told_once_and_english_is_spoken() {
    let args: Vec<&str> = ["--lang", "tlh"].iter().chain(UNKNOWN).copied().collect();
    let ran = spoken(&args, &[]);
    let warning = "warning: there is no language `tlh`; there are: en, de, es, fr, ja, zh\n";
    assert_eq!(ran.stderr.matches(warning).count(), 1, "{ran:?}");
    assert!(ran.stderr.contains("no agent is called"), "{ran:?}");
    let ran = spoken(UNKNOWN, &[("LANG", "tlh")]);
    assert!(!ran.stderr.contains("language"), "a system's locale is no mistake: {ran:?}");
}

#[test]
fn json_keeps_its_names_and_codes() {
    let keys = |language: &str| {
        let args: Vec<&str> = ["--json", "--lang", language].iter().chain(UNKNOWN).copied().collect();
        let ran = spoken(&args, &[]);
        let error = ran.json().pop().unwrap();
        assert_eq!(error["code"], "AGENT_NOT_FOUND", "{ran:?}");
        let keys: Vec<String> = error.as_object().unwrap().keys().cloned().collect();
        (keys, error["message"].as_str().unwrap().to_owned())
    };
    let (english, german) = (keys("en"), keys("de"));
    assert_eq!(english.0, german.0);
    assert_ne!(english.1, german.1);
}

#[test]
fn help_and_wrong_usage_are_told_in_the_language_too() {
    let help = spoken(&["--lang", "de", "tasks", "list", "--help"], &[]);
    assert_eq!(help.code, 0, "{help:?}");
    for part in [
        "Aufgaben auflisten, die neuesten zuerst",
        "Aufruf: posse tasks list",
        "Optionen:",
        "Höchstzahl der gezeigten",
    ] {
        assert!(help.stdout.contains(part), "{part}: {help:?}");
    }
    let english = spoken(&["tasks", "list", "--help"], &[]);
    assert!(english.stdout.contains("List tasks, newest first\n\nUsage: posse tasks list"), "{english:?}");
    let wrong = spoken(&["--lang", "de", "tasks", "list", "--frm"], &[]);
    assert_eq!(
        (wrong.code, wrong.stderr.contains("Fehler[INVALID_REQUEST]: es gibt kein Argument `--frm`")),
        (2, true),
        "{wrong:?}"
    );
    let json = spoken(&["--json", "--lang", "de", "tasks", "list", "--limit", "0"], &[]);
    assert_eq!(json.json()[0]["code"], "INVALID_REQUEST", "{json:?}");
}

/// Everything an orchestrator can get wrong, and the acceptance scenario: define, spawn, wait, collect, shared context.
const CONVERSATION: &str = r#"
orchestrator:
- calls: [subagent: {action: list_agents}]
- calls: [subagent: {action: fly}]
- calls: [subagent: {action: spawn, agent: nobody, task: Look}]
- calls: [subagent: {action: spawn, agent: broken, task: Look}]
- calls: [subagent: {action: spawn, agent: worker}]
- calls: [subagent: {action: define, name: "Not A Name", description: d, system_prompt: p}]
- calls: [subagent: {action: define, name: helper, description: d, system_prompt: p, tools: [hammer]}]
- calls: [subagent: {action: define, name: helper, description: d, system_prompt: p, model: "nowhere:x"}]
- calls: [subagent: {action: define, name: helper, description: d, system_prompt: p, model: "scripted:SCRIPT#worker"}]
- calls: [subagent: {action: define, name: helper, description: d, system_prompt: p}]
- calls: [subagent: {action: spawn, agent: helper, task: Look, isolation: worktree}]
- calls: [subagent: {action: spawn, agent: helper, task: Look, write_paths: ["../x"]}]
- calls: [subagent: {action: spawn, agent: helper, task: Look, verify: ["cargo test"]}]
- calls: [subagent: {action: spawn, agent: helper, task: Look, output_schema: {type: 7}}]
- calls: [subagent: {action: spawn, agent: helper, task: Look}]
- calls: [subagent: {action: wait, task_ids: [t_01]}]
- calls: [subagent: {action: collect, task_id: t_01}]
- calls: [subagent: {action: collect, task_id: t_01}]
- calls: [subagent: {action: status, task_id: t_99}]
- calls: [subagent: {action: cancel, task_id: t_01}]
- calls: [subagent: {action: send, task_id: t_01, message: more}]
- calls: [subagent: {action: spawn, agent: helper, task: Fail, model: x}]
- calls: [subagent: {description: "x", prompt: "y"}]
- calls: [subagent: {description: "Look around", prompt: "Look around in the directory."}]
- calls: [shared_context: {action: fly}]
- calls: [shared_context: {action: read, key: missing}]
- calls: [shared_context: {action: read, key: "No Key"}]
- calls: [shared_context: {action: write, key: a, value: b, expected_version: 9}]
- calls: [shared_context: {action: write, key: a, value: b, ttl_s: 0}]
- calls: [shared_context: {action: delete, key: missing}]
- calls: [read: {path: missing.txt}]
- calls: [read: {path: /etc/passwd}]
- calls: [edit: {path: notes.txt, old_string: nothing, new_string: something}]
- calls: [read: {path: notes.txt}]
- calls: [edit: {path: notes.txt, old_string: nothing, new_string: something}]
- calls: [write: {path: new.txt, content: hello}]
- calls: [grep: {pattern: "("}]
- calls: [glob: {pattern: "**/*.none"}]
- calls: [list: {path: "."}]
- calls: [bash: {command: "true"}]
- calls: [hammer: {}]
- text: Done.
worker:
- text: |-
    LONG
"#;

fn with_conversation() -> (Place, String) {
    let place = Place::new();
    place.write("workspace/notes.txt", "some notes\n");
    place.write(
        "home/.config/posse/agents/broken.md",
        "---\nname: broken\ndescription: d\ntools: 7\n---\nx\n",
    );
    let path = place.root().join("script.yaml").display().to_string();
    let long = "A long finding. ".repeat(400);
    let script = CONVERSATION.replace("SCRIPT", &path).replace("LONG", &long);
    place.write("script.yaml", &script);
    let model = format!("scripted:{path}");
    let agent = format!("---\nname: worker\ndescription: Works\nmodel: {model}#worker\n---\nYou work.\n");
    place.write("home/.config/posse/agents/worker.md", &agent);
    (place, model)
}

/// Removes the parts that differ between two runs in one language: places, times, ids.
fn timeless(place: &Place, text: &str) -> String {
    let text = text.replace(&place.root().display().to_string(), "PLACE");
    let is_moving = |word: &str| word.chars().filter(char::is_ascii_digit).count() >= 6;
    let words = text.split_inclusive([' ', '"', '\n', '(', ')', ',']);
    words.filter(|word| !is_moving(word)).collect()
}

// R443 R444 R445 are for people; what a model reads is English.
#[test]
fn a_conversation_is_the_same_in_every_locale() {
    let conversation = |environment: &[(&str, &str)]| {
        let (place, model) = with_conversation();
        let model = format!("{model}#orchestrator");
        let mut command = place.posse(["run", "--json", "--model", &model, "Try everything"]);
        command.envs(environment.iter().copied());
        let ran = Ran::of(command);
        assert_eq!(ran.code, 0, "{ran:?}");
        let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
        let records = place.journal(&id);
        let results = records.iter().filter_map(|record| record["result"]["text"].as_str());
        results.map(|text| timeless(&place, text)).collect::<Vec<_>>()
    };
    let (english, german) = (conversation(&[]), conversation(GERMAN));
    assert!(english.len() > 30, "{english:#?}");
    for (ours, theirs) in english.iter().zip(&german) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(english.len(), german.len());
}

/// Results of every task of a store. Those of a task under way depend on the instant and are left out.
fn results(place: &Place, state: &str) -> BTreeSet<String> {
    let run = |args: &[&str]| place.run(["--state", state, "--json"].iter().chain(args).copied()).json();
    let mut found = BTreeSet::new();
    for row in run(&["tasks", "list", "--all"]) {
        let id = row["task_id"].as_str().unwrap();
        let records = run(&["tasks", "show", id]);
        let texts = records.iter().filter_map(|record| record["result"]["text"].as_str());
        found.extend(texts.filter(|text| !text.contains("\"running\"")).map(|text| timeless(place, text)));
    }
    found
}

#[test]
fn the_acceptance_scenario_is_the_same_in_every_locale() {
    let scenario = |environment: &[(&str, &str)]| {
        let place = Place::new();
        let mut command = place.posse(["demo"]);
        command.envs(environment.iter().copied());
        let ran = Ran::of(command);
        assert_eq!(ran.code, 0, "{ran:?}");
        let state = place.state().join("demo").display().to_string();
        (results(&place, &state), ran)
    };
    let ((english, for_english), (german, for_germans)) = (scenario(&[]), scenario(GERMAN));
    assert!(english.len() > 20, "{english:#?}");
    assert_eq!(english, german);
    assert_eq!(for_english.stdout, for_germans.stdout, "the answer is the model's");
    assert!(for_english.stderr.contains("with its subagents"), "{for_english:?}");
    assert!(for_germans.stderr.contains("mit ihren Subagenten"), "people read German: {for_germans:?}");
}

/// The scenario as a host plays it, and everything that a host can get wrong.
fn host_calls() -> Vec<(&'static str, Value)> {
    let wait = |id: &str| ("subagent_wait", json!({ "task_ids": [id], "timeout_s": 45 }));
    let subagent = |arguments: Value| ("subagent", arguments);
    let context = |arguments: Value| ("shared_context", arguments);
    vec![
        context(json!({ "action": "write", "key": "problem_summary", "value": "Throughput dropped." })),
        subagent(json!({ "action": "list_agents" })),
        subagent(json!({ "action": "spawn", "agent": "researcher", "task": "Investigate problem_summary." })),
        wait("t_01"),
        subagent(json!({ "action": "status", "task_id": "t_01" })),
        subagent(json!({ "action": "collect", "task_id": "t_01" })),
        context(json!({ "action": "read", "key": "findings_summary" })),
        context(json!({ "action": "delete", "key": "open_questions" })),
        subagent(json!({
            "action": "define", "name": "remediator", "description": "Fixes", "system_prompt": "You fix.",
            "tools": ["shared_context", "subagent"], "max_turns": 15, "model": "scripted:SCRIPT#remediator",
        })),
        subagent(json!({ "action": "spawn", "agent": "remediator", "task": "Revert." })),
        wait("t_02"),
        subagent(json!({ "action": "collect", "task_id": "t_02" })),
        subagent(json!({ "action": "spawn", "agent": "tireless", "task": "Look.", "max_turns": 2 })),
        wait("t_03"),
        ("subagent_result", json!({ "task_id": "t_03" })),
        subagent(json!({ "action": "spawn", "agent": "tireless", "task": "Look.", "max_output_tokens": 10 })),
        wait("t_04"),
        subagent(json!({ "action": "collect", "task_id": "t_04" })),
        subagent(json!({ "action": "collect", "task_id": "t_01" })),
        subagent(json!({ "action": "status", "task_id": "t_99" })),
        subagent(json!({ "action": "cancel", "task_id": "t_01" })),
        subagent(json!({ "action": "send", "task_id": "t_01", "message": "more" })),
        subagent(json!({ "action": "fly" })),
        subagent(json!({ "action": "spawn", "agent": "nobody", "task": "Look" })),
        subagent(json!({ "action": "spawn", "agent": "broken", "task": "Look" })),
        subagent(json!({ "action": "spawn", "agent": "researcher" })),
        subagent(json!({ "action": "spawn", "agent": "researcher", "task": "word ".repeat(5_000) })),
        subagent(json!({ "action": "spawn", "agent": "researcher", "task": "x", "write_paths": ["a"] })),
        subagent(json!({ "action": "spawn", "agent": "researcher", "task": "x", "isolation": "worktree" })),
        subagent(json!({ "action": "spawn", "agent": "researcher", "task": "x", "verify": ["cargo test"] })),
        subagent(json!({ "action": "spawn", "agent": "researcher", "task": "x", "depends_on": ["t_88"] })),
        subagent(
            json!({ "action": "define", "name": "Not A Name", "description": "d", "system_prompt": "p" }),
        ),
        subagent(
            json!({ "action": "define", "name": "remediator", "description": "d", "system_prompt": "p" }),
        ),
        subagent(
            json!({ "action": "define", "name": "b", "description": "d", "system_prompt": "p", "tools": ["hammer"] }),
        ),
        subagent(
            json!({ "action": "define", "name": "b", "description": "d", "system_prompt": "p", "model": "nowhere:x" }),
        ),
        subagent(json!({ "description": "x", "prompt": "y" })),
        context(json!({ "action": "fly" })),
        context(json!({ "action": "read", "key": "missing" })),
        context(json!({ "action": "read", "key": "No Key" })),
        context(json!({ "action": "write", "key": "a", "value": "b", "expected_version": 9 })),
        ("subagent_result", json!({ "task_id": "t_99" })),
        ("subagent_list", json!({})),
    ]
}

#[test]
fn a_host_is_answered_in_english_in_every_locale() {
    let script = "researcher:\n- calls: [shared_context: {action: write, key: findings_summary, value: pool}]\n\
                  - calls: [shared_context: {action: write, key: open_questions, value: Intended?}]\n- text: Found.\n\
                  remediator:\n- text: Fixed.\n\
                  tireless:\n- calls: [glob: {pattern: '*.a'}]\n- calls: [glob: {pattern: '*.b'}]\n- text: Never.\n";
    let conversation = |environment: &[(&str, &str)]| {
        let place = Place::new();
        let model = place.script(script);
        for name in ["researcher", "tireless"] {
            let agent =
                format!("---\nname: {name}\ndescription: Works\nmodel: {model}#{name}\n---\nYou work.\n");
            place.write(&format!("home/.config/posse/agents/{name}.md"), &agent);
        }
        place.write("home/.config/posse/agents/broken.md", "---\nname: broken\ntools: 7\n---\nx\n");
        let model = format!("{model}#researcher");
        let mut host = Host::start_with(&place, &["--model", &model], environment);
        let mut said = vec![host.initialize("2025-11-25"), host.ask("tools/list", json!({}))];
        let script = place.root().join("script.yaml").display().to_string();
        for (tool, arguments) in host_calls() {
            let arguments = arguments.to_string().replace("SCRIPT", &script);
            said.push(host.call(tool, serde_json::from_str(&arguments).unwrap()));
        }
        host.leave();
        said.iter().map(|answer| timeless(&place, &answer.to_string())).collect::<Vec<_>>()
    };
    let (english, german) = (conversation(&[]), conversation(GERMAN));
    for (ours, theirs) in english.iter().zip(&german) {
        assert_eq!(ours, theirs);
    }
    let all = english.join("\n");
    for expected in ["Found.", "Fixed.", "Max turns exceeded", "output tokens, 10 are left", "KEY_NOT_FOUND"]
    {
        assert!(all.contains(expected), "{expected}: {all}");
    }
}

#[test]
fn a_warning_with_an_outcome_is_english_because_a_caller_may_be_a_model() {
    let place = worktrees::place().unconfined();
    // The changes of the task cannot be kept without its worktree.
    let model = place.script("- calls: [bash: {command: 'rm -rf \"$(dirname \"$PWD\")\"'}]\n- text: Done.\n");
    let mut command = place.posse([
        "run",
        "--json",
        "--isolation",
        "worktree",
        "--allow",
        "bash",
        "--model",
        &model,
        "Do it",
    ]);
    command.envs(GERMAN.iter().copied());
    let ran = Ran::of(command);
    let warnings = ran.envelope()["warnings"].to_string();
    assert!(warnings.contains("but not kept: IO: the worktree of"), "{ran:?}");
}
