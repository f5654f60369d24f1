//! Shared context and sessions at the terminal.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Place, Ran, Running};

const SCRIPT: &str = "
- calls:
    - shared_context: {action: write, key: plan, value: first look}
    - shared_context: {action: write, key: notes, value: \"one\\ntwo\"}
- text: Planned.
- calls: [{shared_context: {action: read_batch, keys: [plan, notes]}}]
- text: Read.
";

/// A place with one session that has two keys.
fn place() -> (Place, String) {
    let place = Place::new();
    let model = place.script(SCRIPT);
    let ran = place.run(["run", "--json", "--model", &model, "Plan it"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    (place, id)
}

fn one(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut lines = ran.json();
    assert_eq!(lines.len(), 1, "{ran:?}");
    lines.remove(0)
}

fn stdin(place: &Place, args: &[&str], text: &str) -> Ran {
    let mut command = place.posse(args.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Ran::from_output(child.wait_with_output().unwrap())
}

// R230
#[test]
fn a_person_sees_everything_there_is_and_how_much_room_is_left() {
    let (place, id) = place();
    let listed = place.run(["context", "list"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let words: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0][..6], ["notes", "v1", "2", "of", "1000", "tokens"]);
    assert_eq!((words.len(), words[1][0], *words[1].last().unwrap()), (2, "plan", "orchestrator"));
    assert_eq!(listed.stderr, format!("session {id} · 2 keys · 5 of 10000 tokens\n"));

    let json = one(&place.run(["context", "list", "--json", "--session", &id[..4]]));
    assert_eq!((&json["session_id"], &json["total_size_tokens"]), (&json!(id), &json!(5)));
    assert_eq!(json["keys"][1]["value_size_tokens"], 3);

    let read = place.run(["context", "read", "notes"]);
    assert_eq!((read.code, read.stdout.as_str()), (0, "one\ntwo\n"), "a value can be piped");
    assert!(read.stderr.starts_with("notes v1 · 2 tokens · orchestrator · 20"), "{read:?}");
    let all = place.run(["context", "read"]);
    assert!(all.stdout.contains("\n  one\n  two\n") && all.stdout.contains("\n  first look\n"), "{all:?}");
    let batch = place.run(["context", "read", "plan", "nothing", "--json"]);
    assert_eq!((batch.code, &batch.json()[0]["not_found"]), (1, &json!(["nothing"])));
    assert_eq!(one(&place.run(["context", "read", "plan", "--json"]))["value"], "first look");
}

#[test]
fn a_person_writes_as_operator_and_agents_see_it() {
    let (place, id) = place();
    let wrote = place.run(["context", "write", "plan", "second look", "--expect", "1"]);
    assert_eq!((wrote.code, wrote.stdout.as_str()), (0, ""), "{wrote:?}");
    assert!(wrote.stderr.starts_with("wrote plan v2 · 3 tokens · operator · "), "{wrote:?}");
    assert!(wrote.stderr.ends_with("· 2 keys · 5 of 10000 tokens\n"), "{wrote:?}");
    let late = place.run(["context", "write", "plan", "mine", "--expect", "1", "--json"]);
    assert_eq!((late.code, &late.json()[0]["code"]), (1, &json!("VERSION_CONFLICT")));
    assert!(late.stderr.contains("`plan` has version 2 now, written by operator"), "{late:?}");
    assert_eq!(stdin(&place, &["context", "write", "notes", "-", "--ttl", "600"], "three\nfour\n").code, 0);
    let notes = one(&place.run(["context", "read", "notes", "--json"]));
    assert_eq!((&notes["value"], &notes["version"]), (&json!("three\nfour"), &json!(2)));
    assert!(notes["expires_at"].is_string(), "{notes}");

    let mut chat = place.posse(["chat", "--resume", &id]);
    chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = chat.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"Look again\n").unwrap();
    let ran = Ran::from_output(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Read.\n"), "{ran:?}");
    assert!(!ran.stderr.contains("outlive"), "{ran:?}");
    let result = place.run(["tasks", "show", &id, "--result", "3.0"]).stdout;
    let result: Value = serde_json::from_str(&result).unwrap();
    let seen = &result["entries"][0];
    assert_eq!((&seen["value"], &seen["written_by"]), (&json!("second look"), &json!("operator")));
}

#[test]
fn a_deleted_key_keeps_its_history_and_a_snapshot_brings_it_back() {
    let (place, _) = place();
    assert_eq!(place.run(["context", "snapshot"]).stdout, "");
    let taken = one(&place.run(["context", "snapshot", "before", "--json"]));
    assert_eq!(
        (&taken["label"], &taken["keys"], &taken["taken_by"]),
        (&json!("before"), &json!(2), &json!("operator"))
    );
    let deleted = one(&place.run(["context", "delete", "plan", "--json"]));
    assert_eq!((&deleted["deleted"], &deleted["previous_version"]), (&json!("plan"), &json!(1)));
    let missing = place.run(["context", "read", "plan"]);
    let said =
        "error[KEY_NOT_FOUND]: there is no key `plan`\n  hint: `posse context list` shows what there is\n";
    assert_eq!((missing.code, missing.stderr.as_str()), (1, said));
    let history = one(&place.run(["context", "history", "plan", "--json"]));
    let lines: Vec<_> = history["versions"].as_array().unwrap().iter().map(|line| &line["action"]).collect();
    assert_eq!(lines, ["delete", "write"]);
    let plain = place.run(["context", "history", "plan", "--versions", "1"]);
    assert!(plain.stdout.starts_with("delete plan v1 · 3 tokens · operator · "), "{plain:?}");

    assert!(place.run(["context", "snapshot"]).stdout.starts_with("before  "));
    let shown = place.run(["context", "snapshot", "before", "--show"]);
    assert!(shown.stdout.contains("first look"), "{shown:?}");
    let restored = one(&place.run(["context", "snapshot", "before", "--restore", "--json"]));
    assert_eq!((&restored["written"], &restored["deleted"]), (&json!(1), &json!(0)));
    let plan = one(&place.run(["context", "read", "plan", "--json"]));
    assert_eq!((&plan["version"], &plan["previous_version"]), (&json!(1), &json!(1)));
    let unknown = place.run(["context", "snapshot", "never", "--restore"]);
    assert!(unknown.stderr.starts_with("error[KEY_NOT_FOUND]: there is no snapshot `never`"), "{unknown:?}");
    let again = place.run(["context", "snapshot", "before"]);
    assert!(again.stderr.starts_with("error[INVALID_REQUEST]: there is a snapshot `before`"), "{again:?}");
}

// R228
#[test]
fn a_session_is_listed_archived_and_deleted() {
    let (place, id) = place();
    let rows = place.run(["sessions", "list", "--json"]).json();
    let expected = json!({
        "session_id": id,
        "state": "open",
        "title": "Plan it",
        "tasks": 1,
        "keys": 2,
        "total_size_tokens": 5,
        "limit_tokens": 10_000,
        "created_at": rows[0]["created_at"],
        "archived_at": null,
    });
    assert_eq!(rows, [expected]);
    let plain = place.run(["sessions", "list"]);
    let row: Vec<&str> = plain.stdout.lines().nth(1).unwrap().split_whitespace().collect();
    let numbers = &row[row.len() - 4..];
    assert_eq!(
        (&row[..2], &numbers[..3]),
        (&[id.as_str(), "open"][..], &["1", "2", "5/10000"][..]),
        "{plain:?}"
    );

    assert_eq!(one(&place.run(["sessions", "archive", &id[..5], "--json"]))["state"], "archived");
    let refused = place.run(["context", "write", "plan", "x"]);
    assert!(refused.code == 1 && refused.stderr.starts_with("error[SESSION_ARCHIVED]: "), "{refused:?}");
    assert_eq!(place.run(["context", "read", "plan"]).stdout, "first look\n");
    assert!(place.run(["sessions", "list"]).stdout.contains("  archived  "));

    assert_eq!(place.run(["sessions", "delete", &id]).code, 0);
    let gone = place.run(["context", "list", "--session", &id]);
    let said = format!("error[SESSION_NOT_FOUND]: no session is called `{id}`\n");
    assert!(gone.code == 1 && gone.stderr.starts_with(&said), "{gone:?}");
    assert_eq!(place.run(["sessions", "list"]).stdout, "");
    assert!(place.run(["context", "list"]).stderr.contains("there are no sessions"));
    assert_eq!(place.tasks().len(), 1, "its tasks stay");
    assert!(place.journal(&id).len() > 3);
}

#[test]
fn the_newest_session_is_meant_unless_another_is_named() {
    let (place, first) = place();
    let model = place.script("- text: Nothing.");
    let second = place.run(["run", "--json", "--model", &model, "Second"]).envelope()["task_id"].clone();
    let listed = |args: &[&str]| one(&place.run(args.iter().copied()))["session_id"].clone();
    assert_eq!(listed(&["context", "list", "--json"]), second);
    assert_eq!(listed(&["context", "list", "--json", "--session", &first]), json!(first));
    let unknown = place.run(["context", "--session", "", "list"]);
    assert!(unknown.stderr.starts_with("error[SESSION_NOT_FOUND]: no session is called ``"), "{unknown:?}");
    let wrong = place.run(["context", "write", "Bad-Key", "x"]);
    assert!(wrong.stderr.starts_with("error[INVALID_KEY]: `Bad-Key` is not a key"), "{wrong:?}");
}

#[test]
fn a_session_that_works_sees_a_persons_write_at_once_and_is_not_deleted_under_it() {
    let place = Place::new();
    let model = place.script(
        "
- calls: [{shared_context: {action: write, key: question, value: may I?}}]
# The clock makes every result new: the same results eight times over would end the run as stalled.
- calls: [{shared_context: {action: read, key: answer}}, {bash: {command: date +%s%N}}]
  repeat_until: yes you may
  delay_ms: 20
  repeat_max: 100000
- text: Thanks.
",
    );
    let flags = ["run", "--json", "--allow", "bash", "--max-turns", "9000", "--model", &model, "Ask"];
    let mut running = Running::start(place.posse(flags));
    running.until(|event| event["type"] == "turn" && event["turn"] == 2);
    assert_eq!(place.run(["context", "read", "question"]).stdout, "may I?\n");
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let refused = place.run(["sessions", "delete", &id]);
    assert!(refused.code == 1 && refused.stderr.contains("is being driven by process"), "{refused:?}");
    assert_eq!(place.run(["context", "write", "answer", "yes you may"]).code, 0);
    let ran = running.end();
    assert_eq!((ran.code, &ran.envelope()["text"]), (0, &json!("Thanks.")));
}

// R219 R224
#[test]
fn a_person_says_for_whom_a_key_is_and_waits_for_one() {
    let (place, _) = place();
    let wrote =
        place.run(["context", "write", "plan", "mine", "--writable-by", "subagent:writer:*,subagent:a:t_01"]);
    assert!(
        wrote.stderr.contains("· readable by * · writable by subagent:writer:*, subagent:a:t_01"),
        "{wrote:?}"
    );
    let read = one(&place.run(["context", "read", "plan", "--json"]));
    assert_eq!(read["writable_by"], json!(["subagent:writer:*", "subagent:a:t_01"]));
    assert_eq!(place.run(["context", "write", "plan", "again"]).code, 0, "the operator always may");
    let bad = place.run(["context", "write", "plan", "x", "--readable-by", "no body"]);
    assert!(bad.code == 1 && bad.stderr.contains("error[INVALID_REQUEST]"), "{bad:?}");

    let waiting = Running::start(place.posse(["context", "wait", "decision", "--json"]));
    // Whichever comes first, a wait that began later ends at its own time; so it is written until it is heard.
    let heard = std::thread::scope(|scope| {
        let ended = scope.spawn(|| waiting.end());
        while !ended.is_finished() {
            assert_eq!(place.run(["context", "write", "decision", "Revert"]).code, 0);
        }
        ended.join().unwrap()
    });
    assert_eq!((heard.code, &heard.json()[0]["written"][0]["key"]), (0, &json!("decision")), "{heard:?}");
    let late = place.run(["context", "wait", "decision", "--timeout", "1"]);
    assert_eq!((late.code, late.stdout.as_str()), (1, ""), "{late:?}");
    assert_eq!(late.stderr, "the time is over: nothing was written or deleted\n");
}

#[test]
fn without_a_session_commands_act_on_the_newest_of_this_project() {
    let (place, here) = place();
    let elsewhere = place.root().join("elsewhere");
    let nowhere = place.root().join("nowhere");
    for directory in [&elsewhere, &nowhere, &place.workspace().join("below")] {
        std::fs::create_dir(directory).unwrap();
    }
    std::fs::create_dir(place.workspace().join(".git")).unwrap();
    let model = place.script(SCRIPT);
    let within = |directory: &std::path::Path, args: &[&str]| {
        let mut command = place.posse(args.iter().copied());
        command.current_dir(directory);
        Ran::of(command)
    };
    let newer = within(&elsewhere, &["run", "--json", "--model", &model, "Plan it"]);
    let newer = newer.envelope()["task_id"].as_str().unwrap().to_owned();
    let below = place.workspace().join("below");
    let written = within(&below, &["context", "write", "mine", "by hand"]);
    assert_eq!(written.code, 0, "{written:?}");
    let read = |session: &str| place.run(["context", "read", "mine", "--session", session]);
    assert_eq!(read(&here).stdout, "by hand\n");
    assert_eq!(read(&newer).code, 1, "the other project has nothing of it");
    assert!(within(&elsewhere, &["context", "list"]).stderr.contains(&newer));
    let none = within(&nowhere, &["context", "write", "mine", "lost"]);
    assert!(none.code == 1 && none.stderr.contains("SESSION_NOT_FOUND"), "{none:?}");
    assert!(
        none.stderr.contains("no session of this project") && none.stderr.contains("--session"),
        "{none:?}"
    );
    let named = within(&nowhere, &["context", "read", "mine", "--session", &here]);
    assert_eq!(named.stdout, "by hand\n");
}
