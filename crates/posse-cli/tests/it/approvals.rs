//! Calls that wait for a person's yes: answered from another process, at the terminal, or by nobody.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::support::{Place, Ran, Running, until};
use crate::terminal::Terminal;

const ASKS: &str = "[approvals]\nask = [\"write\"]\n";

/// A place whose user wants to be asked about writing, and a model that writes.
fn place(config: &str) -> (Place, String) {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", config);
    let script = "[{calls: [{write: {path: a.txt, content: \"hello\\n\"}}]}, {text: Done.}]";
    let model = place.script(script);
    (place, model)
}

fn start(place: &Place, model: &str) -> Running {
    start_with(place, model, &[])
}

fn start_with(place: &Place, model: &str, args: &[&str]) -> Running {
    let run = ["run", "--json", "--approvals", "ask", "--model", model, "Write it"];
    Running::start(place.posse(run.into_iter().chain(args.iter().copied())))
}

fn is_asked(event: &Value) -> bool {
    event["type"] == "approval_requested"
}

fn written(place: &Place) -> Option<String> {
    fs::read_to_string(place.workspace().join("a.txt")).ok()
}

fn list(place: &Place) -> Vec<Value> {
    let ran = place.run(["approvals", "list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

// G23 Seen to fail without `check_hash`: an answer to something else counts.
#[test]
fn what_one_process_asks_another_answers() {
    let (place, model) = place(ASKS);
    let mut running = start(&place, &model);
    let event = running.until(is_asked);
    assert_eq!((&event["approval"], &event["tool"]), (&json!("a1"), &json!("write")));
    let waiting = list(&place);
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0]["arguments"], "{\"content\":\"hello\\n\",\"path\":\"a.txt\"}");
    assert_eq!((&waiting[0]["status"], &waiting[0]["agent"]), (&json!("open"), &json!("orchestrator")));
    assert_eq!(place.tasks()[0]["waiting_for_approval"], "a1");
    let shown = place.run(["approvals", "show", "a1"]);
    for part in [
        "orchestrator wants to call `write`",
        "  | +hello\n",
        "  path: a.txt\n",
        "open · denied automatically in 10 min (2",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    let hash = waiting[0]["hash"].as_str().unwrap();
    assert!(shown.stdout.contains(&format!("sha256 {hash}")), "{shown:?}");
    let wrong = place.run(["approvals", "approve", "a1", "--hash", "0000", "--json"]);
    assert_eq!((wrong.code, &wrong.json()[0]["code"]), (1, &json!("APPROVAL_MISMATCH")), "{wrong:?}");
    assert_eq!(written(&place), None, "nothing happens before the yes");
    let yes = place.run(["approvals", "approve", "a1", "--hash", &hash[..12], "--reason", "fine", "--json"]);
    assert_eq!((yes.code, &yes.json()[0]["status"]), (0, &json!("approved")), "{yes:?}");
    let resolved = running.until(|event| event["type"] == "approval_resolved");
    assert_eq!((&resolved["approved"], &resolved["by"]), (&json!(true), &json!("operator")));
    let ran = running.end();
    assert_eq!((ran.code, written(&place).as_deref()), (0, Some("hello\n")), "{ran:?}");
    let late = place.run(["approvals", "deny", "a1", "--json"]);
    assert_eq!((late.code, &late.json()[0]["code"]), (1, &json!("APPROVAL_CLOSED")), "{late:?}");
    let unknown = place.run(["approvals", "show", "a9", "--json"]);
    assert_eq!(unknown.json()[0]["code"], "APPROVAL_NOT_FOUND");
    assert!(list(&place).is_empty());
    let past = place.run(["approvals", "list", "--newest", "5"]);
    assert!(past.stdout.contains("\na1  approved  "), "{past:?}");
}

#[test]
fn a_no_from_another_process_reaches_the_model() {
    let (place, model) = place(ASKS);
    let mut running = start(&place, &model);
    running.until(is_asked);
    assert_eq!(place.run(["approvals", "deny", "a1", "--reason", "wrong file"]).code, 0);
    let ran = running.end();
    assert_eq!((ran.code, written(&place)), (0, None), "{ran:?}");
    let task = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let result = place.run(["tasks", "show", &task, "--result", "1.0"]);
    assert_eq!(result.stdout, "refused: a person said no: wrong file\n");
    let shown = place.run(["tasks", "show", &task]);
    assert!(shown.stdout.contains("-- [1.0] denied by operator (a1)"), "{shown:?}");
}

/// Killed while it waits. The answer comes while nobody drives the task, or after somebody took it up.
// G23 Seen to fail when `park_again` asks anew about what was answered.
#[test]
fn a_question_outlives_its_process() {
    for answered_before in [true, false] {
        // The worker itself would ask nobody: what waits already goes on waiting all the same.
        let (place, model) = place(ASKS);
        let mut running = start(&place, &model);
        running.until(is_asked);
        running.kill();
        assert_eq!(list(&place).len(), 1, "it still waits");
        let approve = || {
            let ran = place.run(["approvals", "approve", "a1"]);
            assert_eq!(ran.code, 0, "{ran:?}");
        };
        if answered_before {
            approve();
        }
        let worker = Running::start(place.posse(["worker", "--local", "--until-idle", "--json"]));
        if !answered_before {
            let task = || place.tasks()[0].clone();
            until("the worker has it", || (task()["status"] == "running").then_some(()));
            assert_eq!((written(&place), &task()["waiting_for_approval"]), (None, &json!("a1")));
            approve();
        }
        let ran = worker.end();
        assert_eq!((ran.code, written(&place).as_deref()), (0, Some("hello\n")), "{ran:?}");
        let task = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
        let journal = place.journal(&task);
        let count = |kind: &str| journal.iter().filter(|record| record["record"] == kind).count();
        assert_eq!((count("intended"), count("resolved"), count("done")), (1, 1, 1));
        assert_eq!(place.run(["approvals", "list", "--newest", "9", "--json"]).json().len(), 1);
    }
}

// T16
#[test]
fn where_nobody_sits_nobody_is_waited_for() {
    let (place, model) = place(ASKS);
    let ran = place.run(["run", "--json", "--model", &model, "Write it"]);
    let envelope = ran.envelope();
    assert_eq!((ran.code, written(&place)), (0, None), "{ran:?}");
    let warning = "`write` needs a person's yes and was refused; nobody was asked";
    assert_eq!(envelope["warnings"], json!([warning]));
    assert!(ran.json().iter().any(|event| event["type"] == "approval_resolved" && event["by"] == "policy"));
    let (place, model) = self::place(&format!("{ASKS}mode = \"allow-listed\"\nallow = [\"write(*.txt)\"]\n"));
    let ran = place.run(["run", "--model", &model, "Write it"]);
    assert_eq!(written(&place).as_deref(), Some("hello\n"), "{ran:?}");
    assert!(
        ran.stderr.contains("warning: `write` was allowed by `approvals.allow`; nobody was asked"),
        "{ran:?}"
    );
    let (place, model) = self::place(&format!("{ASKS}mode = \"ask\"\ndeadline_s = 1\n"));
    let ran = place.run(["run", "--model", &model, "Write it"]);
    assert_eq!((ran.code, written(&place)), (0, None), "{ran:?}");
    assert!(ran.stderr.contains("warning: nobody answered in time about `write`; it was refused"), "{ran:?}");
}

#[test]
fn a_project_may_ask_for_more_and_decide_nothing() {
    let (place, model) = place("");
    place.write("workspace/posse.toml", ASKS);
    let ran = place.run(["run", "--model", &model, "Write it"]);
    assert_eq!((ran.code, written(&place)), (0, None), "{ran:?}");
    for key in ["mode = \"allow-listed\"", "default = \"approve\"", "allow = [\"*\"]", "deadline_s = 9"] {
        place.write("workspace/posse.toml", &format!("[approvals]\n{key}\n"));
        let ran = place.run(["run", "--model", &model, "Write it"]);
        let name = key.split(' ').next().unwrap();
        assert!(ran.stderr.contains(&format!("`approvals.{name}` cannot be set by a project")), "{ran:?}");
    }
    place.write("home/.config/posse/config.toml", "[approvals]\nask = [\"wri te\"]\n");
    place.write("workspace/posse.toml", "");
    let ran = place.run(["run", "--model", &model, "Write it"]);
    assert!(ran.stderr.contains("error[CONFIG_INVALID]: `approvals.ask`: `wri te` names no tool"), "{ran:?}");
}

#[test]
fn a_wrong_spelling_does_not_silently_ask_about_nothing() {
    for (key, entry, wrong) in
        [("ask", "bsh", "bsh"), ("ask", "wrte(docs/**)", "wrte"), ("allow", "bsh*", "bsh*")]
    {
        let (place, model) = place(&format!("[approvals]\n{key} = [\"{entry}\"]\n"));
        let expected = format!("error[CONFIG_INVALID]: `approvals.{key}`: there is no tool `{wrong}`\n");
        let ran = place.run(["run", "--model", &model, "Write it"]);
        assert!(ran.code == 1 && ran.stderr.starts_with(&expected), "{ran:?}");
        assert!(ran.stderr.contains("there are: read, edit, write"), "{ran:?}");
        let meant = match wrong {
            "bsh" => Some("bash"),
            "wrte" => Some("write"),
            _ => None,
        };
        let said = meant.is_none_or(|name| ran.stderr.contains(&format!("did you mean `{name}`?")));
        assert!(said && written(&place).is_none(), "{ran:?}");
        let doctor = place.run(["doctor"]);
        assert!(doctor.stdout.contains(&format!("there is no tool `{wrong}`")), "{doctor:?}");
    }
    let fine =
        "[approvals]\nask = [\"mcp__*\", \"mcp__github__push\", \"Agent(a, b)\", \"ba*\"]\nallow = [\"*\"]\n";
    let (place, model) = place(fine);
    let ran = place.run(["run", "--model", &model, "Write it"]);
    assert_eq!((ran.code, written(&place).as_deref()), (0, Some("hello\n")), "{ran:?}");
}

/// Answers at a terminal: what is typed after what is seen.
fn talk(place: &Place, args: &[&str], typed: &[(&str, &str)]) -> (i32, String) {
    let terminal = Terminal::new(100);
    let mut command = place.posse(args.iter().copied());
    command.env("TERM", "xterm");
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut hand, shown, reader) = terminal.watch();
    let mut from = 0;
    for (sees, types) in typed {
        from = until(sees, || {
            let shown = shown.lock().unwrap();
            shown[from..].find(sees).map(|at| from + at + sees.len())
        });
        hand.write_all(format!("{types}\r").as_bytes()).unwrap();
    }
    let status = child.wait().unwrap();
    reader.join().unwrap();
    let shown = shown.lock().unwrap().clone();
    assert!(!shown.contains("panicked"), "{shown}");
    (status.code().unwrap(), shown)
}

/// An added line of a diff, as a terminal gets it.
fn added(line: &str) -> String {
    format!("  | \u{1b}[32m+{line}\u{1b}[0m\r\n")
}

/// A place where every call of these tools is asked about, and a model that makes one.
fn asking(ask: &str, call: &str) -> (Place, String) {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", &format!("[approvals]\nask = [{ask}]\n"));
    let model = place.script(&format!("[{{calls: [{call}]}}, {{text: Done.}}]"));
    (place, model)
}

/// The first call that waits, as `posse approvals show` and `posse approvals list` tell it.
fn told(place: &Place, model: &str) -> (String, String) {
    let mut running = start_with(place, model, &["--allow", "bash"]);
    running.until(is_asked);
    let [shown, listed] = ["show a1", "list"].map(|what| {
        let ran = place.run(["approvals"].into_iter().chain(what.split(' ')));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    });
    assert_eq!(place.run(["approvals", "deny", "a1"]).code, 0);
    running.end();
    (shown, listed)
}

#[test]
fn approving_a_write_shows_the_path_and_then_a_unified_diff() {
    let write = "{write: {path: a.txt, content: \"one\\n2\\nthree\\n\"}}";
    let (place, model) = asking("\"write\", \"edit\"", write);
    place.write("workspace/a.txt", "one\ntwo\nthree\n");
    let diff = "  path: a.txt\n  diff:\n  | --- a/a.txt\n  | +++ b/a.txt\n  | @@ -1,3 +1,3 @@\n  |  one\n  | -two\n  | +2\n  |  three\n";
    let (shown, listed) = told(&place, &model);
    assert!(shown.contains(diff) && !shown.contains("content:"), "{shown}");
    assert!(listed.contains("  write  a.txt  "), "{listed}");
    let edit = "[{calls: [{edit: {path: a.txt, old_string: two, new_string: \"2\"}}]}, {text: Done.}]";
    let model = place.script(edit);
    let mut running = start(&place, &model);
    running.until(is_asked);
    let shown = place.run(["approvals", "show", "a2"]).stdout;
    assert!(shown.contains(diff) && !shown.contains("_string:"), "{shown}");
    assert_eq!(place.run(["approvals", "deny", "a2"]).code, 0);
    running.end();
}

#[test]
fn approving_a_command_shows_the_command_first() {
    let bash = "{bash: {command: \"echo a\\necho b\", description: Says it, timeout_ms: 9000}}";
    let (place, model) = asking("\"bash\"", bash);
    let (shown, listed) = told(&place, &model);
    let arguments: Vec<&str> = shown.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(arguments[..3], ["  command:", "  | echo a", "  | echo b"], "{shown}");
    assert!(listed.contains("  bash  echo a echo b  "), "{listed}");
}

/// Without a diff the whole content is there, and so is the path: a file that holds a key has no diff, which the store would keep.
#[test]
fn content_never_stands_before_the_path() {
    let key = format!("sk-ant-api03-{}", "Ab1".repeat(30));
    let (place, model) = asking("\"write\"", "{write: {path: z.txt, content: \"one\\n+two\\n\"}}");
    place.write("workspace/z.txt", &format!("key = {key}\n"));
    let (shown, listed) = told(&place, &model);
    let lines = "  path: z.txt\n  content:\n  | one\n  | +two\n";
    assert!(shown.contains(lines) && !shown.contains("diff"), "{shown}");
    let kept = place.run(["approvals", "list", "--newest", "9", "--json"]).stdout;
    assert!(!format!("{shown}{listed}{kept}").contains(&key), "{kept}");
}

#[test]
fn lines_of_other_arguments_are_not_colored_as_a_diff() {
    let (place, model) = asking("\"bash\"", "{bash: {command: \"true\\n+a\\n-b\"}}");
    let run = ["run", "--allow", "bash", "--model", &model, "Do it"];
    let (_, shown) = talk(&place, &run, &[(CHOICES, "n"), ("(Enter for no reason): ", "")]);
    assert!(shown.contains("  | +a\r\n  | -b\r\n"), "{shown}");
}

#[test]
fn the_time_left_to_answer_is_in_words_at_the_prompt_and_in_the_list() {
    let (place, model) = place(ASKS);
    let (_, listed) = told(&place, &model);
    assert!(listed.contains("denied automatically in 10 min"), "{listed}");
    let run = ["run", "--model", &model, "Write it"];
    let (_, shown) = talk(&place, &run, &[(CHOICES, "n"), ("(Enter for no reason): ", "")]);
    assert!(shown.contains("denied automatically in 10 min\r\n"), "{shown}");
    let (place, model) = self::place(&format!("{ASKS}default = \"approve\"\ndeadline_s = 7200\n"));
    let (_, listed) = told(&place, &model);
    assert!(listed.contains("approved automatically in 2 h"), "{listed}");
}

const CHOICES: &str = "[v]iew everything, then Enter: ";

// G29 S28 Seen to fail when whatever is typed counts as a yes.
#[test]
fn whoever_sits_at_the_terminal_is_asked_there() {
    let (place, model) = place(ASKS);
    let run = ["run", "--model", &model, "Write it"];
    let (code, shown) = talk(&place, &run, &[(CHOICES, "what?"), (CHOICES, "y")]);
    assert_eq!((code, written(&place).as_deref()), (0, Some("hello\n")), "{shown}");
    let hello = added("hello");
    for part in ["orchestrator wants to call `write`", hello.as_str(), "  path: a.txt", "y, t, s, n or v"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    fs::remove_file(place.workspace().join("a.txt")).unwrap();
    let (_, shown) = talk(&place, &run, &[(CHOICES, "n"), ("(Enter for no reason): ", "not this file")]);
    assert_eq!(written(&place), None, "{shown}");
    assert!(shown.contains("write refused: a person said no: not this file"), "{shown}");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let (place, model) = place(ASKS);
    let terminal = Terminal::new(100);
    let mut command = place.posse(["run", "--model", &model, "Write it"]);
    command.env("TERM", "xterm");
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let (mut hand, shown, reader) = terminal.watch();
    let sees = |text: &str| until(text, || shown.lock().unwrap().contains(text).then_some(()));
    hand.write_all(b"y\ry").unwrap();
    sees("y\r\ny");
    let mut child = command.spawn().unwrap();
    drop(command);
    sees(CHOICES);
    hand.write_all(b"n\r").unwrap();
    sees("(Enter for no reason): ");
    hand.write_all(b"not this file\r").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap();
    assert_eq!(written(&place), None);
    assert!(shown.lock().unwrap().contains("write refused: a person said no: not this file"));
}

#[test]
fn a_long_call_is_shown_page_by_page_and_whole_and_nothing_hides_in_it() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", ASKS);
    let mut lines: Vec<String> = (1..=60).map(|n| format!("line {n}")).collect();
    lines[41] = "evil \\e[2K \\u202e rm".to_owned();
    let content = lines.join("\\n");
    let script = format!(
        "[{{calls: [{{write: {{path: a.txt, content: \"{content}\"}}}}, {{write: {{path: b.txt, content: x}}}}]}}, {{text: Done.}}]"
    );
    let model = place.script(&script);
    let (code, shown) = talk(
        &place,
        &["run", "--model", &model, "Write it"],
        &[
            // S28 A yes to what was not shown does not count. Seen to fail without `is_seen`.
            (CHOICES, "y"),
            (CHOICES, "v"),
            ("Enter goes on, q ends --", "q"),
            (CHOICES, "s"),
            (CHOICES, "v"),
            ("Enter goes on, q ends --", ""),
            ("Enter goes on, q ends --", ""),
            ("Enter goes on, q ends --", ""),
            (CHOICES, "t"),
        ],
    );
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("more lines; v shows everything)"), "{shown}");
    assert_eq!(shown.matches("not everything was shown yet").count(), 2, "{shown}");
    for n in (1..=60).filter(|n| *n != 42) {
        assert!(shown.contains(&added(&format!("line {n}"))), "{n}: {shown}");
    }
    assert!(shown.contains(&added("evil \\u{1b}[2K \\u{202e} rm")), "{shown}");
    assert!(!shown.contains("\u{1b}[2K") && !shown.contains('\u{202e}'), "{shown}");
    assert!(place.workspace().join("b.txt").exists(), "the answer was for the task: {shown}");
    assert_eq!(place.run(["approvals", "list", "--newest", "9", "--json"]).json().len(), 1);
}

#[test]
fn a_question_that_is_answered_elsewhere_is_taken_back() {
    let (place, model) = place(ASKS);
    let terminal = Terminal::new(100);
    let mut command = place.posse(["chat", "--model", &model]);
    command.env("TERM", "xterm");
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut hand, shown, reader) = terminal.watch();
    let sees = |text: &str| until(text, || shown.lock().unwrap().contains(text).then_some(()));
    sees("/quit or Ctrl-D");
    hand.write_all(b"Write it\r").unwrap();
    sees(CHOICES);
    // Half an answer to a question that is gone is not the beginning of the next message.
    hand.write_all(b"half").unwrap();
    sees("then Enter: half");
    assert_eq!(place.run(["approvals", "approve", "a1"]).code, 0);
    sees("a1 is approved");
    sees("Done.");
    until("a prompt", || shown.lock().unwrap().rsplit("Done.").next()?.contains("> ").then_some(()));
    hand.write_all(b"\x04").unwrap();
    let status = until("the end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    reader.join().unwrap();
    assert_eq!(written(&place).as_deref(), Some("hello\n"));
}

#[test]
fn questions_can_be_followed_and_answered_from_another_terminal() {
    let (place, model) = place(ASKS);
    let mut watching = Running::start(place.posse(["approvals", "watch", "--json"]));
    let mut running = start(&place, &model);
    running.until(is_asked);
    let asked = watching.until(|line| line["approval"] == "a1");
    assert_eq!((&asked["status"], &asked["tool"]), (&json!("open"), &json!("write")));
    let terminal = Terminal::new(100);
    let mut command = place.posse(["approvals", "watch"]);
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut hand, shown, reader) = terminal.watch();
    until("a question", || shown.lock().unwrap().contains(CHOICES).then_some(()));
    hand.write_all(b"y\r").unwrap();
    let ran: Ran = running.end();
    assert_eq!((ran.code, written(&place).as_deref()), (0, Some("hello\n")), "{ran:?}");
    let answered = watching.until(|line| line["status"] == "approved");
    assert_eq!(answered["answer"]["by"], "operator");
    watching.kill();
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
}
