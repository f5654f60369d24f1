//! Calls that wait for a person's yes: answered from another process, at the terminal, or by nobody.

use std::fs::{self, File};
use std::io::Write;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
fn the_call_of_a_task_is_approved_by_the_id_of_the_task() {
    let (place, model) = place(ASKS);
    let mut running = start(&place, &model);
    let event = running.until(is_asked);
    let task = event["task_id"].as_str().unwrap();
    assert!(place.run(["approvals", "show", task]).stdout.contains("path: a.txt"));
    let yes = place.run(["tasks", "approve", task, "--json"]);
    assert_eq!((yes.code, &yes.json()[0]["status"]), (0, &json!("approved")), "{yes:?}");
    let ran = running.end();
    assert_eq!((ran.code, written(&place).as_deref()), (0, Some("hello\n")), "{ran:?}");
    let late = place.run(["tasks", "approve", task]);
    assert!(late.code == 1 && late.stderr.contains("waits for no approval"), "{late:?}");
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
    assert!(shown.stdout.contains("(denied by operator)"), "{shown:?}");
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

/// A program at a terminal with a person.
struct Conversation {
    child: Child,
    hand: File,
    shown: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
    /// Length of what was seen already.
    seen: usize,
}

impl Conversation {
    fn start(place: &Place, args: &[&str]) -> Self {
        Self::start_on(Terminal::new(100), place, args)
    }

    fn start_on(terminal: Terminal, place: &Place, args: &[&str]) -> Self {
        let mut command = place.posse(args.iter().copied());
        command.env("TERM", "xterm");
        command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
        let child = command.spawn().unwrap();
        drop(command);
        let (hand, shown, reader) = terminal.watch();
        Self { child, hand, shown, reader, seen: 0 }
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    fn finds(&mut self, text: &str) -> bool {
        let found = self.shown()[self.seen..].find(text);
        self.seen += found.map_or(0, |at| at + text.len());
        found.is_some()
    }

    fn sees(&mut self, text: &str) {
        until(text, || self.finds(text).then_some(()));
    }

    fn types(&mut self, text: &str) {
        self.hand.write_all(text.as_bytes()).unwrap();
    }

    /// Presses a key until something is seen: keys count only a moment after a question is shown.
    fn presses(&mut self, key: &str, then_sees: &str) {
        let mut pressed: Option<Instant> = None;
        until(then_sees, || {
            if pressed.is_none_or(|at| at.elapsed() > Duration::from_secs(2)) {
                self.types(key);
                pressed = Some(Instant::now());
            }
            self.finds(then_sees).then_some(())
        });
    }

    fn end(mut self) -> (i32, String) {
        let status = until("the end", || self.child.try_wait().unwrap());
        self.reader.join().unwrap();
        let shown = self.shown.lock().unwrap().clone();
        assert!(!shown.contains("panicked"), "{shown}");
        (status.code().unwrap(), shown)
    }
}

/// Denies the call that a run asks about.
fn denied(place: &Place, args: &[&str], reason: &str) -> String {
    let mut talk = Conversation::start(place, args);
    talk.sees(CHOICES);
    talk.presses("n", WHY);
    talk.types(&format!("{reason}\r"));
    talk.end().1
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
    let shown = denied(&place, &["run", "--allow", "bash", "--model", &model, "Do it"], "");
    assert!(shown.contains("\n  | +a\u{1b}[K") && shown.contains("\n  | -b\u{1b}[K"), "{shown:?}");
}

#[test]
fn the_time_left_to_answer_is_at_the_question_and_in_the_list() {
    let (place, model) = place(ASKS);
    let (_, listed) = told(&place, &model);
    assert!(listed.contains("denied automatically in 10 min"), "{listed}");
    let shown = denied(&place, &["run", "--model", &model, "Write it"], "");
    assert!(shown.contains("  denied by itself in "), "{shown}");
    let (place, model) = self::place(&format!("{ASKS}default = \"approve\"\ndeadline_s = 7200\n"));
    let (_, listed) = told(&place, &model);
    assert!(listed.contains("approved automatically in 2 h"), "{listed}");
}

const CHOICES: &str = "y once   t this task   s session   n no, say why";
const WHY: &str = "why? (Enter without a reason)";
const APPROVED: &str = "approved once: write a.txt";

// G29 S28 Seen to fail when any key counts as a yes.
#[test]
fn whoever_sits_at_the_terminal_is_asked_there() {
    let (place, model) = place(ASKS);
    let run = ["run", "--model", &model, "Write it"];
    let mut talk = Conversation::start(&place, &run);
    talk.sees(CHOICES);
    talk.types("x\r1");
    talk.presses("y", APPROVED);
    let (code, shown) = talk.end();
    assert_eq!((code, written(&place).as_deref()), (0, Some("hello\n")), "{shown}");
    for part in ["orchestrator wants to write a.txt", "+1 −0", "\u{1b}[32m+  1  hello\u{1b}[0m"] {
        assert!(shown.contains(part), "{part}: {shown:?}");
    }
    fs::remove_file(place.workspace().join("a.txt")).unwrap();
    let shown = denied(&place, &run, "not this file");
    assert_eq!(written(&place), None, "{shown}");
    assert!(shown.contains("because: not this file"), "{shown}");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let (place, model) = place(ASKS);
    let mut terminal = Terminal::new(100);
    terminal.types("y\ry");
    let mut talk = Conversation::start_on(terminal, &place, &["run", "--model", &model, "Write it"]);
    talk.sees(CHOICES);
    talk.presses("n", WHY);
    talk.types("not this file\r");
    let (code, shown) = talk.end();
    assert_eq!((code, written(&place)), (0, None));
    assert!(shown.contains("because: not this file"), "{shown}");
}

#[test]
fn a_long_call_is_printed_whole_before_a_yes_counts_and_nothing_hides_in_it() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", ASKS);
    let mut lines: Vec<String> = (1..=60).map(|n| format!("line {n}")).collect();
    lines[41] = "evil \\e[2K \\u202e rm".to_owned();
    let content = lines.join("\\n");
    let script = format!(
        "[{{calls: [{{write: {{path: a.txt, content: \"{content}\"}}}}, {{write: {{path: b.txt, content: x}}}}]}}, {{text: Done.}}]"
    );
    let model = place.script(&script);
    let mut talk = Conversation::start(&place, &["run", "--model", &model, "Write it"]);
    talk.sees("more lines: d shows them");
    // S28 A yes to what was not shown does not count. Seen to fail without `CallView`.
    talk.presses("y", "the whole call is printed above");
    assert_eq!(written(&place), None);
    talk.presses("t", "approved for this task: write a.txt");
    let (code, shown) = talk.end();
    assert_eq!(code, 0, "{shown}");
    for n in (1..=60).filter(|n| *n != 42) {
        assert!(shown.contains(&format!("+ {n:>2}  line {n}\u{1b}[0m")), "{n}: {shown:?}");
    }
    assert!(shown.contains("evil \\u{1b}[2K \\u{202e} rm"), "{shown}");
    assert!(!shown.contains("\u{1b}[2K") && !shown.contains('\u{202e}'), "{shown}");
    assert!(place.workspace().join("b.txt").exists(), "the answer was for the task: {shown}");
    assert_eq!(place.run(["approvals", "list", "--newest", "9", "--json"]).json().len(), 1);
}

#[test]
fn a_question_that_is_answered_elsewhere_is_taken_back() {
    let (place, model) = place(ASKS);
    let mut talk = Conversation::start(&place, &["run", "--model", &model, "Write it"]);
    talk.sees(CHOICES);
    assert_eq!(place.run(["approvals", "approve", "a1"]).code, 0);
    talk.sees("write: approved by operator");
    talk.sees("Done.");
    let (code, shown) = talk.end();
    assert_eq!((code, written(&place).as_deref()), (0, Some("hello\n")), "{shown}");
}

#[test]
fn a_question_can_be_put_off_and_asked_for_again() {
    let (place, model) = place(ASKS);
    let mut talk = Conversation::start(&place, &["run", "--model", &model, "Write it"]);
    talk.sees(CHOICES);
    talk.presses("\u{1b}", "  a answer");
    talk.presses("a", CHOICES);
    talk.presses("y", APPROVED);
    let (code, shown) = talk.end();
    assert_eq!((code, written(&place).as_deref()), (0, Some("hello\n")), "{shown}");
}

#[test]
fn questions_can_be_followed_and_answered_from_another_terminal() {
    let (place, model) = place(ASKS);
    let mut watching = Running::start(place.posse(["approvals", "watch", "--json"]));
    let mut running = start(&place, &model);
    running.until(is_asked);
    let asked = watching.until(|line| line["approval"] == "a1");
    assert_eq!((&asked["status"], &asked["tool"]), (&json!("open"), &json!("write")));
    let mut talk = Conversation::start(&place, &["approvals", "watch"]);
    talk.sees(CHOICES);
    talk.presses("y", APPROVED);
    let ran: Ran = running.end();
    assert_eq!((ran.code, written(&place).as_deref()), (0, Some("hello\n")), "{ran:?}");
    let answered = watching.until(|line| line["status"] == "approved");
    assert_eq!(answered["answer"]["by"], "operator");
    watching.kill();
    talk.child.kill().unwrap();
    talk.child.wait().unwrap();
}
