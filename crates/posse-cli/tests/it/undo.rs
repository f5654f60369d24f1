//! `posse tasks undo`: takes file changes back from the before-images of the journal.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::support::{Place, Ran};

/// Two turns that edit one file, and a new file in a new directory.
const EDITS: &str = r#"
- calls: [{read: {path: src/a.rs}}]
- calls: [{edit: {path: src/a.rs, old_string: "two\n", new_string: "2\n"}}]
- calls: [{edit: {path: src/a.rs, old_string: "2\n", new_string: "II\n"}}, {write: {path: docs/notes.md, content: "hello\n"}}]
- text: Done.
"#;
const BEFORE: &str = "one\ntwo\n";

fn edited() -> (Place, String) {
    let place = Place::new();
    place.write("workspace/src/a.rs", BEFORE);
    let model = place.script(EDITS);
    let task = task_of(&place.run(["run", "--json", "--model", &model, "Go"]));
    assert_eq!(content(&place, "src/a.rs"), "one\nII\n");
    (place, task)
}

fn task_of(ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.envelope()["task_id"].as_str().unwrap().to_owned()
}

fn content(place: &Place, path: &str) -> String {
    fs::read_to_string(place.workspace().join(path)).unwrap()
}

fn actions(ran: &Ran) -> Vec<(String, String, Value)> {
    let files = ran.json()[0]["files"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    files.iter().map(|file| (text(&file["path"]), text(&file["action"]), file["why"].clone())).collect()
}

#[test]
fn an_undo_restores_edited_files_removes_new_ones_and_does_nothing_the_second_time() {
    let (place, task) = edited();
    let path = place.workspace().join("src/a.rs");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let planned = place.run(["tasks", "undo", &task, "--dry-run"]);
    assert_eq!(planned.stdout, "would remove docs/notes.md\nwould restore src/a.rs\n", "{planned:?}");
    assert_eq!(content(&place, "src/a.rs"), "one\nII\n");

    let ran = place.run(["tasks", "undo", &task]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "removed docs/notes.md\nrestored src/a.rs\n"), "{ran:?}");
    assert_eq!(content(&place, "src/a.rs"), BEFORE);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!place.workspace().join("docs/notes.md").exists());

    let again = place.run(["tasks", "undo", &task]);
    let expected = "docs/notes.md is as it was before\nsrc/a.rs is as it was before\n";
    assert_eq!((again.code, again.stdout.as_str()), (0, expected), "{again:?}");
}

#[test]
fn a_file_that_changed_since_is_kept_and_named_and_the_others_are_taken_back() {
    let (place, task) = edited();
    place.write("workspace/src/a.rs", "mine\n");
    let ran = place.run(["tasks", "undo", &task]);
    let expected = "removed docs/notes.md\nkept src/a.rs: changed since by somebody else\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (3, expected), "{ran:?}");
    assert_eq!(content(&place, "src/a.rs"), "mine\n");
}

#[test]
fn an_undo_of_one_turn_leaves_the_turns_before_it_and_refuses_one_that_a_later_turn_built_on() {
    let (place, task) = edited();
    let ran = place.run(["tasks", "undo", &task, "--turn", "2", "--json"]);
    assert_eq!(actions(&ran), [("src/a.rs".into(), "keep".into(), json!("changed_since"))], "{ran:?}");
    let ran = place.run(["tasks", "undo", &task, "--turn", "3"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(content(&place, "src/a.rs"), "one\n2\n");
    assert!(!place.workspace().join("docs/notes.md").exists());
    let ran = place.run(["tasks", "undo", &task, "--turn", "2"]);
    assert_eq!((ran.code, content(&place, "src/a.rs").as_str()), (0, BEFORE), "{ran:?}");
    let none = place.run(["tasks", "undo", &task, "--turn", "9"]);
    assert!(none.code == 0 && none.stderr.contains("changed nothing"), "{none:?}");
}

#[test]
fn changes_by_commands_are_named_as_not_taken_back_and_a_removed_file_comes_back_if_its_image_is_kept() {
    let place = Place::new().unconfined();
    for name in ["sub/edited", "changed", "edited_first"] {
        place.write(&format!("workspace/{name}"), "old\n");
    }
    let model = place.script(
        r#"
- calls: [{read: {path: sub/edited}}, {read: {path: edited_first}}]
- calls: [{write: {path: sub/edited, content: "new\n"}}, {write: {path: edited_first, content: "new\n"}}]
- calls: [{bash: {command: 'rm -r sub; echo x > changed; echo x > edited_first; echo x > made'}}]
- text: Done.
"#,
    );
    let task = task_of(&place.run(["run", "--json", "--model", &model, "--allow", "bash", "Go"]));
    let ran = place.run(["tasks", "undo", &task, "--json"]);
    let expected = [
        ("changed".into(), "keep".into(), json!("command")),
        ("edited_first".into(), "keep".into(), json!("command_since")),
        ("made".into(), "keep".into(), json!("command_since")),
        ("sub/edited".into(), "restore".into(), Value::Null),
    ];
    assert_eq!((ran.code, actions(&ran)), (3, expected.to_vec()), "{ran:?}");
    assert_eq!(content(&place, "sub/edited"), "old\n");
}

#[test]
fn an_undo_touches_no_protected_name_and_follows_no_link() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[sandbox]\nunprotected = [\".env*\"]\n");
    place.write("workspace/a", "old\n");
    let model = place.script(
        r#"[{calls: [{read: {path: a}}]},
            {calls: [{write: {path: a, content: "new\n"}}, {write: {path: .env, content: "A=1\n"}}]}, {text: Done.}]"#,
    );
    let task = task_of(&place.run(["run", "--json", "--model", &model, "Go"]));
    let elsewhere = place.write("elsewhere", "new\n");
    fs::remove_file(place.workspace().join("a")).unwrap();
    symlink(&elsewhere, place.workspace().join("a")).unwrap();
    let ran = place.run(["tasks", "undo", &task, "--json"]);
    let expected =
        [(".env".into(), "keep".into(), json!("protected")), ("a".into(), "keep".into(), json!("refused"))];
    assert_eq!((ran.code, actions(&ran)), (3, expected.to_vec()), "{ran:?}");
    assert_eq!(
        (content(&place, ".env").as_str(), fs::read_to_string(elsewhere).unwrap().as_str()),
        ("A=1\n", "new\n")
    );
}

#[test]
fn an_undo_of_a_turn_includes_the_subagents_that_it_started() {
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
  - calls: [{write: {path: b, content: "b\n"}}]
  - text: Done.
helper:
  - calls: [{read: {path: a}}]
  - calls: [{write: {path: a, content: "2\n"}}]
  - text: Edited.
"#,
    );
    let task = task_of(&place.run(["run", "--json", "--model", "scripted:s.yaml#lead", "Go"]));
    let turn = place.run(["tasks", "undo", &task, "--turn", "2"]);
    assert_eq!(turn.stdout, "restored a\n", "{turn:?}");
    let whole = place.run(["tasks", "undo", &task]);
    assert_eq!(whole.stdout, "a is as it was before\nremoved b\n", "{whole:?}");
}

#[test]
fn the_last_message_of_a_conversation_is_taken_back_alone() {
    let place = Place::new();
    let first = place.script(r#"[{calls: [{write: {path: a, content: "1\n"}}]}, {text: Done.}, {calls: [{write: {path: b, content: "2\n"}}]}, {text: Done.}]"#);
    let mut chat = place.posse(["chat", "--model", &first]);
    let input = place.write("input", "one\ntwo\n/quit\n");
    chat.stdin(fs::File::open(input).unwrap());
    let ran = Ran::of(chat);
    assert_eq!(ran.code, 0, "{ran:?}");
    let task = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let ran = place.run(["tasks", "undo", &task, "--last"]);
    assert_eq!(ran.stdout, "removed b\n", "{ran:?}");
    assert_eq!(content(&place, "a"), "1\n");
}
