//! Changed files: named when it happens and in the summary, and shown by `posse tasks diff`.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Place, Ran};
use crate::terminal::{lines, on_terminal};

/// Two edits of one file and a new one, with a call that fails between them.
const EDITS: &str = r#"
- calls: [{read: {path: src/a.rs}}]
- calls: [{edit: {path: src/a.rs, old_string: "two\n", new_string: "2\nand more\n"}}]
- calls: [{edit: {path: src/a.rs, old_string: nowhere, new_string: x}}]
- calls: [{edit: {path: src/a.rs, old_string: "and more\n", new_string: "and\nmore\n"}}, {write: {path: notes.md, content: "hello\n"}}]
- text: Done.
"#;

fn place() -> (Place, String) {
    let place = Place::new();
    place.write("workspace/src/a.rs", "one\ntwo\nthree\n");
    let model = place.script(EDITS);
    (place, model)
}

const A: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,5 @@\n one\n-two\n+2\n+and\n+more\n three\n";
const NOTES: &str = "--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1 @@\n+hello\n";

fn task_of(ran: &Ran) -> String {
    ran.envelope()["task_id"].as_str().unwrap().to_owned()
}

#[test]
fn every_changed_file_is_named_with_its_counts_when_it_happens_and_in_the_summary() {
    let (place, model) = place();
    let ran = place.run(["run", "--model", &model, "Go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for line in [" changed: src/a.rs +2 −1\n", " changed: src/a.rs +2 −1\n", " changed: notes.md +1 (new)\n"]
    {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let summary =
        ran.stderr.split("changed 2 files: posse tasks diff ").nth(1).unwrap_or_else(|| panic!("{ran:?}"));
    let named: Vec<&str> = summary.lines().skip(1).take(2).collect();
    assert_eq!(named, ["  notes.md +1 (new)", "  src/a.rs +3 −1"], "{ran:?}");
}

#[test]
fn events_and_the_envelope_name_changed_files_with_their_counts() {
    let (place, model) = place();
    let ran = place.run(["run", "--json", "--model", &model, "Go"]);
    let change = |path: &str, change: &str, added: u64, removed: u64| json!({ "path": path, "change": change, "added": added, "removed": removed });
    let finished = ran.json().into_iter().filter(|event| event["type"] == "tool_finished");
    let named: Vec<Value> = finished.flat_map(|event| event["changed"].as_array().unwrap().clone()).collect();
    let expected = [
        change("src/a.rs", "modified", 2, 1),
        change("src/a.rs", "modified", 2, 1),
        change("notes.md", "created", 1, 0),
    ];
    assert_eq!(named, expected);
    let with_gap = |mut value: Value| {
        value["gap"] = Value::Null;
        value
    };
    let expected = [change("notes.md", "created", 1, 0), change("src/a.rs", "modified", 3, 1)].map(with_gap);
    assert_eq!(ran.envelope()["changes"], json!(expected));
}

#[test]
fn failed_calls_and_changed_files_leave_a_line_on_a_terminal_as_in_a_pipe() {
    let (place, model) = place();
    let (ran, shown) = on_terminal(100, place.posse(["run", "--model", &model, "Go"]));
    assert_eq!(ran.code, 0, "{shown}");
    let shown = lines(100, &shown).join("\n");
    let files = "2 files changed: notes.md +1 new · src/a.rs +3 −1";
    for line in ["edit failed after ", "changed: src/a.rs +2 −1", "changed: notes.md +1 (new)", files] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn the_diff_of_in_place_edits_is_a_patch_of_what_the_task_did() {
    let (place, model) = place();
    let task = task_of(&place.run(["run", "--json", "--model", &model, "Go"]));
    let expected = format!("{NOTES}{A}");
    let shown = place.run(["tasks", "diff", &task]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, expected.as_str()));
    // Beside the patch, so that it can be applied.
    let by: Vec<&str> = shown.stderr.lines().collect();
    assert!(by[0].starts_with("notes.md  +1 (new)  ") && by[0].contains(" orchestrator, turn "), "{shown:?}");
    assert!(
        by[1].starts_with("src/a.rs  +3 −1     ") && by[1].contains(" orchestrator, turns "),
        "{shown:?}"
    );
    // What somebody else did since is not the task's.
    place.write("workspace/src/a.rs", "something else\n");
    fs::remove_file(place.workspace().join("notes.md")).unwrap();
    assert_eq!(place.run(["tasks", "diff", &task]).stdout, expected);
    let value = &place.run(["tasks", "diff", &task, "--json"]).json()[0];
    assert_eq!((&value["diff"], value["changes"].as_array().unwrap().len()), (&json!(expected), 2));

    place.write("workspace/src/a.rs", "one\ntwo\nthree\n");
    let patch = place.write("patch", &shown.stdout);
    let applied =
        Command::new("git").arg("apply").arg(patch).current_dir(place.workspace()).status().unwrap();
    assert!(applied.success());
    assert_eq!(fs::read_to_string(place.workspace().join("src/a.rs")).unwrap(), "one\n2\nand\nmore\nthree\n");
}

#[test]
fn a_task_that_changed_nothing_in_the_end_says_so() {
    let place = Place::new();
    place.write("workspace/a", "1\n");
    let model = place.script(
        r#"[{calls: [{read: {path: a}}]}, {calls: [{write: {path: a, content: "2\n"}}]},
            {calls: [{write: {path: a, content: "1\n"}}]}, {text: Done.}]"#,
    );
    let task = task_of(&place.run(["run", "--json", "--model", &model, "Go"]));
    let shown = place.run(["tasks", "diff", &task]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, ""));
    assert!(shown.stderr.contains("changed nothing"), "{shown:?}");
}

#[test]
fn files_that_a_command_changed_are_named_and_the_diff_says_what_is_not_kept() {
    let place = Place::new().unconfined();
    for name in ["changed", "removed", "kept", "target/ignored"] {
        place.write(&format!("workspace/{name}"), "old\n");
    }
    place.write("workspace/.gitignore", "target\n");
    let model = place.script(
        "[{calls: [{bash: {command: 'echo new > changed; rm removed; echo made > made; echo x > target/ignored; exit 3'}}]}, {text: Done.}]",
    );
    let ran = place.run(["run", "--model", &model, "--allow", "bash", "Go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains(" changed: changed, made (new), removed (deleted)\n"), "{ran:?}");
    assert!(
        ran.stderr.contains("  changed · changed by a command; what it was before is not kept\n"),
        "{ran:?}"
    );
    let summary = ran.stderr.split("changed 3 files").nth(1).unwrap();
    assert!(!summary.contains("ignored"), "{ran:?}");
    let task = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let shown = place.run(["tasks", "diff", &task]);
    assert_eq!(shown.stdout, "--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+made\n", "{shown:?}");
    for name in ["changed", "removed"] {
        let line = format!("{name}: changed by a command; what it was before is not kept\n");
        assert!(shown.stderr.contains(&line), "{shown:?}");
    }
}

#[test]
fn a_diff_that_begins_after_a_command_says_so() {
    let place = Place::new().unconfined();
    place.write("workspace/a", "1\n");
    let model = place.script(
        r#"[{calls: [{bash: {command: 'echo 2 > a'}}, {read: {path: a}}]}, {calls: [{write: {path: a, content: "3\n"}}]}, {text: Done.}]"#,
    );
    let task = task_of(&place.run(["run", "--json", "--model", &model, "--allow", "bash", "Go"]));
    let shown = place.run(["tasks", "diff", &task]);
    assert_eq!(shown.stdout, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-2\n+3\n", "{shown:?}");
    let note = "a: changed by a command first; the diff begins after that\n";
    assert!(shown.stderr.ends_with(note) && shown.stderr.contains(" orchestrator, turns 1–2\n"), "{shown:?}");
}

#[test]
fn the_journal_never_gets_the_earlier_content_of_secret_files() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[sandbox]\nunprotected = [\".env*\"]\n");
    let key = ["ghp", &"a1B2".repeat(9)].join("_");
    place.write("workspace/config.py", &format!("token = \"{key}\"\nold = 1\n"));
    place.write("workspace/.env", "PASSWORD=hunter2hunter2\n");
    let model = place.script(
        r#"[{calls: [{read: {path: config.py}}, {ls: {}}]},
            {calls: [{edit: {path: config.py, old_string: "old = 1", new_string: "new = 1"}}]},
            {calls: [{grep: {pattern: NOTHING, path: .env}}]},
            {text: Done.}]"#,
    );
    let ran = place.run(["run", "--json", "--model", &model, "Go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let changes = &ran.envelope()["changes"];
    let expected =
        json!([{ "path": "config.py", "change": "modified", "added": 1, "removed": 1, "gap": "secret" }]);
    assert_eq!(*changes, expected);
    assert_eq!(place.files_with(&key), [place.workspace().join("config.py")]);
    let shown = place.run(["tasks", "diff", &task_of(&ran)]);
    assert!(
        shown.stderr.contains("config.py: what it was before is not kept: it holds a key\n"),
        "{shown:?}"
    );

    // Whoever knows what is in there can overwrite it where the operator opened the name.
    let model = place.script(
        r#"[{calls: [{read: {path: .env}}]}, {calls: [{write: {path: .env, content: "PASSWORD=\n"}}]}, {text: Done.}]"#,
    );
    let ran = place.run(["run", "--json", "--model", &model, "Go"]);
    let saved: Vec<Value> =
        place.journal(&task_of(&ran)).into_iter().filter(|record| record["record"] == "saved").collect();
    assert_eq!(saved[0]["image"]["before"], json!({ "withheld": "protected" }), "{saved:?} {ran:?}");
}

#[test]
fn the_edits_of_subagents_are_in_the_summary_and_in_the_diff_of_the_tree() {
    let place = Place::new();
    place.write("workspace/a", "1\n");
    place.write(
        "workspace/s.yaml",
        r#"
lead:
  - calls: [{subagent: {action: define, name: helper, description: Edits, system_prompt: You edit., tools: [read, write], model: "scripted:s.yaml#helper"}}]
  - calls: [{subagent: {action: spawn, agent: helper, task: Edit a}}]
  - calls: [{subagent: {action: status, task_id: "{result:2.0:/task_id}"}}]
    repeat_until: '"completed"'
  - calls: [{read: {path: a}}]
  - calls: [{write: {path: a, content: "3\n"}}]
  - text: Done.
helper:
  - calls: [{read: {path: a}}]
  - calls: [{write: {path: a, content: "2\n"}}, {write: {path: b, content: "b\n"}}]
  - text: Edited.
"#,
    );
    let ran = place.run(["run", "--json", "--model", "scripted:s.yaml#lead", "Go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let named: Vec<(&str, u64)> = ran.envelope()["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (if change["path"] == "a" { "a" } else { "b" }, change["added"].as_u64().unwrap()))
        .collect();
    assert_eq!(named, [("a", 1), ("b", 1)], "{ran:?}");
    let task = task_of(&ran);
    let whole = place.run(["tasks", "diff", &task]);
    let by: Vec<&str> = whole.stderr.lines().collect();
    let authors = "a  +1 −1     t_01 helper, turn 2; ";
    assert!(by[0].starts_with(authors) && by[0].contains(" orchestrator, turn "), "{by:?}");
    assert_eq!(by[1], "b  +1 (new)  t_01 helper, turn 2");
    let value = &place.run(["tasks", "diff", &task, "--json"]).json()[0];
    let author = json!({ "task_id": format!("{task}.t_01"), "agent": "helper", "turns": [2] });
    assert_eq!(value["changes"][1]["by"], json!([author]));
    let whole = whole.stdout;
    assert!(whole.contains("-1\n+3\n") && whole.contains("+b\n"), "{whole}");
    let child = place.run(["tasks", "diff", "t_01"]).stdout;
    assert!(child.contains("-1\n+2\n") && child.contains("+b\n"), "{child}");
}
