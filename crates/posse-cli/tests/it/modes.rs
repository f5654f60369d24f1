//! Modes: how far a task goes without asking, who chooses that, and that nothing else does.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Place, Ran};
use crate::terminal::{Terminal, lines};

/// A task that looks, edits and runs a command.
const WORK: &str = "[{calls: [{ls: {}}, {write: {path: sub/a.txt, content: new}}, {bash: {command: echo ran > sub/b.txt}}]}, \
                    {text: Done.}]";

fn place() -> Place {
    let place = Place::new();
    place.write("workspace/sub/here", "");
    place
}

fn configure(place: &Place, text: &str) {
    place.write("home/.config/posse/config.toml", text);
}

/// Runs [`WORK`] with these arguments and nothing else.
fn work(place: &Place, flags: &[&str]) -> Ran {
    let model = place.script(WORK);
    let args = [&["run", "--model", &model][..], flags, &["Go"]].concat();
    Ran::of(place.posse_as_is(args))
}

/// Which of the two files [`WORK`] made. Takes them away again.
fn made(place: &Place) -> [bool; 2] {
    ["sub/a.txt", "sub/b.txt"].map(|file| std::fs::remove_file(place.workspace().join(file)).is_ok())
}

fn first_line(ran: &Ran) -> &str {
    ran.stderr.lines().next().unwrap_or_default()
}

const FALLBACK: &str = "plan · reads only · there is no terminal: --mode auto edits and runs commands";

#[test]
fn without_a_terminal_a_task_only_reads_and_the_first_line_says_so() {
    let place = place();
    let ran = work(&place, &[]);
    assert_eq!((ran.code, made(&place), first_line(&ran)), (0, [false, false], FALLBACK), "{ran:?}");
    assert!(
        ran.stderr.contains("refused: write,bash · left out by the mode `plan`; --mode ask or"),
        "{ran:?}"
    );
    let ran = work(&place, &["--json"]);
    assert_eq!((first_line(&ran), made(&place)), (FALLBACK, [false, false]));
    assert_eq!(ran.envelope()["mode"], "plan", "{ran:?}");
}

#[test]
fn a_mode_gives_what_its_line_says() {
    let place = place();
    let ran = work(&place, &["--mode", "auto"]);
    assert_eq!((ran.code, made(&place)), (0, [true, true]), "{ran:?}");
    let line = first_line(&ran);
    assert!(line.starts_with("auto · edits and commands run without asking · sandbox "), "{line}");
    assert!(line.contains(", no network"), "{line}");
    for plan in [&["--mode", "plan"][..], &["--read-only"]] {
        let ran = work(&place, plan);
        assert_eq!((first_line(&ran), made(&place)), ("plan · reads only", [false, false]), "{ran:?}");
    }
    // Nobody can be asked here, so what would be asked about is refused.
    let ran = work(&place, &["--mode", "ask", "--json"]);
    assert_eq!((made(&place), &ran.envelope()["mode"]), ([false, false], &json!("ask")), "{ran:?}");
    let asked: Vec<Value> =
        ran.json().into_iter().filter(|event| event["type"] == "approval_resolved").collect();
    assert_eq!(asked.len(), 2, "the edit and the command, not the look: {asked:?}");
    configure(&place, "[approvals]\nallow = [\"bash\"]\n");
    let ran = work(&place, &["--mode", "ask"]);
    assert_eq!(made(&place), [false, true], "what the operator lists is not asked about: {ran:?}");
    assert!(
        first_line(&ran).starts_with("ask · nobody is asked here: edits and commands are refused"),
        "{ran:?}"
    );
}

#[test]
fn the_user_chooses_the_mode_and_a_repository_does_not() {
    let place = place();
    configure(&place, "[session]\nmode = \"auto\"\n");
    assert_eq!((work(&place, &[]).code, made(&place)), (0, [true, true]));
    let ran = work(&place, &["--mode", "plan"]);
    assert_eq!(
        (first_line(&ran), made(&place)),
        ("plan · reads only", [false, false]),
        "the flag wins: {ran:?}"
    );
    configure(&place, "");
    for mode in ["auto", "plan"] {
        place.write("workspace/posse.toml", &format!("[session]\nmode = \"{mode}\"\n"));
        let refused = work(&place, &[]);
        assert_eq!((refused.code, made(&place)), (1, [false, false]), "{refused:?}");
        assert!(refused.stderr.contains("error[CONFIG_INVALID]") && refused.stderr.contains("session.mode"));
    }
}

#[test]
fn a_tool_that_is_allowed_by_name_is_an_order_to_work_and_contradicts_plan() {
    let place = place();
    let ran = work(&place, &["--allow", "bash"]);
    assert_eq!((ran.code, made(&place)), (0, [true, true]), "{ran:?}");
    assert!(first_line(&ran).starts_with("auto · "), "{ran:?}");
    let ran = work(&place, &["--allow", "fetch"]);
    assert_eq!(
        (first_line(&ran), made(&place)),
        (FALLBACK, [false, false]),
        "fetch changes nothing: {ran:?}"
    );
    configure(&place, "[session]\nmode = \"plan\"\n");
    for flags in [&["--allow", "bash"][..], &["--mode", "plan", "--allow", "bash"]] {
        let refused = work(&place, flags);
        assert!(
            refused.stderr.starts_with("error[INVALID_REQUEST]: `bash` changes something"),
            "{refused:?}"
        );
        assert_eq!((refused.code, made(&place)), (1, [false, false]));
    }
    let ran = work(&place, &["--mode", "auto", "--allow", "bash"]);
    assert_eq!((ran.code, made(&place)), (0, [true, true]), "{ran:?}");
}

// Rules that deny win over every mode.
#[test]
fn where_commands_are_denied_or_cannot_be_confined_a_task_has_none_and_the_line_says_why() {
    let place = place();
    configure(&place, "[grant]\ndeny = [\"bash\"]\n");
    let ran = work(&place, &["--mode", "auto"]);
    assert_eq!(made(&place), [true, false], "{ran:?}");
    assert_eq!(first_line(&ran), "auto · edits without asking · no commands: the configuration denies them");

    configure(&place, "[sandbox]\ntier = \"off\"\n");
    let ran = work(&place, &["--mode", "auto"]);
    assert_eq!(made(&place), [true, false], "{ran:?}");
    assert!(first_line(&ran).contains("no commands: `sandbox.tier` is `off`"), "{ran:?}");
    let ran = work(&place, &["--mode", "auto", "--allow", "bash"]);
    assert_eq!(made(&place), [true, true], "{ran:?}");
    assert!(first_line(&ran).ends_with("commands are not confined"), "{ran:?}");

    configure(&place, "[sandbox]\ntier = \"t2\"\n");
    let model = place.script(WORK);
    let mut command = place.posse_as_is(["run", "--mode", "auto", "--model", &model, "Go"]);
    command.env("PATH", place.root());
    let ran = Ran::of(command);
    assert_eq!(made(&place), [true, false], "{ran:?}");
    let line = "auto · edits without asking · no commands: nothing can confine them here; install bubblewrap";
    assert!(first_line(&ran).starts_with(line), "{ran:?}");
}

/// What a run shows whose standard input and error are a terminal.
fn at_terminal(place: &Place) -> String {
    let model = place.script(WORK);
    let terminal = Terminal::new(160);
    let mut command = place.posse_as_is(["run", "--model", &model, "Go"]);
    command.stdin(terminal.stdio()).stdout(Stdio::null()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let (_hand, shown, reader) = terminal.watch();
    child.wait().unwrap();
    reader.join().unwrap();
    let shown = shown.lock().unwrap().clone();
    lines(160, &shown).first().cloned().unwrap_or_default()
}

#[test]
fn at_a_terminal_a_task_works_without_asking_where_commands_are_confined() {
    let place = place();
    let line = at_terminal(&place);
    assert!(line.starts_with("auto · edits and commands run without asking · sandbox "), "{line}");
    assert_eq!(made(&place), [true, true]);
    configure(&place, "[sandbox]\ntier = \"off\"\n[approvals]\nmode = \"deny\"\n");
    let line = at_terminal(&place);
    assert!(line.starts_with("ask · nobody is asked here: "), "{line}");
    assert_eq!(made(&place), [false, false]);
}

/// A lead that delegates to `helper` and waits, and that agent with these lines in its file.
fn delegating(place: &Place, steps: &str, about: &str) -> String {
    let script = format!(
        "lead:\n- calls: [subagent: {{action: spawn, agent: helper, task: Do it}}]\n- calls: [subagent: {{action: wait}}]\n\
         - text: Done.\nhelper:\n{steps}- text: Over.\n"
    );
    let file = place.write("script.yaml", &script).display().to_string();
    let agent = format!(
        "---\nname: helper\ndescription: Helps\nmodel: scripted:{file}#helper\n{about}---\nYou help.\n"
    );
    place.write("home/.posse/agents/helper.md", &agent);
    format!("scripted:{file}#lead")
}

#[test]
fn a_subagent_has_the_mode_of_its_orchestrator() {
    let place = place();
    let steps = "- calls: [{write: {path: sub/a.txt, content: x}}, {bash: {command: echo > sub/b.txt}}]\n";
    let model = delegating(&place, steps, "approval: auto\n");
    for (mode, expected) in [("plan", [false, false]), ("ask", [false, false]), ("auto", [true, true])] {
        let ran = Ran::of(place.posse_as_is(["run", "--mode", mode, "--model", &model, "Go"]));
        assert_eq!((ran.code, made(&place)), (0, expected), "{mode}: {ran:?}");
    }
}

#[test]
fn the_line_of_a_task_that_may_only_look_follows_from_its_grant() {
    let place = place();
    let model = place.script("- fail: {kind: unauthorised, message: not now}\n- text: Done.\n");
    let agent = "---\nname: looker\ndescription: Looks\ntools: [read, grep, glob]\n---\nYou look.\n";
    place.write("home/.posse/agents/looker.md", agent);
    let line = "auto · no edits and no commands: the task was granted none";
    let ran =
        Ran::of(place.posse_as_is(["run", "--mode", "auto", "--agent", "looker", "--model", &model, "Go"]));
    assert_eq!(first_line(&ran), line, "{ran:?}");
    let model = place.script("- fail: {kind: unauthorised, message: not now}\n- text: Done.\n");
    let run = ["run", "--json", "--mode", "auto", "--agent", "looker", "--model", &model, "Go"];
    let id = id_of(&Ran::of(place.posse_as_is(run)));
    let ran = place.run(["tasks", "resume", &id]);
    assert_eq!(first_line(&ran), line, "{ran:?}");
}

fn id_of(ran: &Ran) -> String {
    ran.envelope()["task_id"].as_str().unwrap().to_owned()
}

fn regrants(place: &Place, id: &str) -> usize {
    place.journal(id).iter().filter(|record| record["record"] == "regranted").count()
}

// S14 Seen to fail with a `resume` that takes today's grant.
#[test]
fn a_task_keeps_its_mode_until_the_operator_chooses_another_which_is_journaled() {
    let place = place();
    let edit = |name: &str| format!("- calls: [write: {{path: sub/{name}, content: x}}]\n");
    let fail = "- fail: {kind: unauthorised, message: not now}\n";
    let steps = ["a.txt", "b.txt", "c.txt"].map(edit).join(fail);
    let model = place.script(&format!("{steps}- text: Done.\n"));
    let there = |name: &str| place.workspace().join("sub").join(name).exists();
    let run = ["run", "--json", "--mode", "plan", "--model", &model, "Go"];
    let id = id_of(&Ran::of(place.posse_as_is(run)));
    // A configuration that gives more does not change a task that was begun.
    configure(&place, "[session]\nmode = \"auto\"\n");
    let ran = place.run(["tasks", "resume", &id]);
    assert_eq!(
        (first_line(&ran), there("a.txt"), there("b.txt")),
        ("plan · reads only", false, false),
        "{ran:?}"
    );
    assert_eq!(regrants(&place, &id), 0);
    let ran = place.run(["tasks", "resume", &id, "--mode", "auto"]);
    assert!(first_line(&ran).starts_with("auto · "), "{ran:?}");
    assert_eq!((there("b.txt"), there("c.txt"), regrants(&place, &id)), (false, true, 1), "{ran:?}");
    let shown = place.run(["tasks", "show", &id]).stdout;
    assert!(shown.contains("!       mode changed to auto"), "{shown}");
}

/// Talks to a conversation, one line after the other.
fn chat(place: &Place, args: &[&str], said: &str) -> Ran {
    use std::io::Write;
    let mut command = place.posse_as_is([&["chat"][..], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
    Ran::from_output(child.wait_with_output().unwrap())
}

#[test]
fn a_conversation_changes_its_mode_for_the_messages_that_follow() {
    let place = place();
    let edit =
        |name: &str| format!("{{calls: [{{write: {{path: sub/{name}, content: x}}}}]}}, {{text: Over.}}");
    let steps = ["1", "2", "3", "4", "5"].map(edit).join(", ");
    let model = place.script(&format!("[{steps}]"));
    let there = || [1, 2, 3, 4, 5].map(|n| place.workspace().join(format!("sub/{n}")).exists());
    let said = "one\n/mode auto\ntwo\n/mode nothing\n/mode plan\nthree\n";
    let ran = chat(&place, &["--model", &model], said);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(there(), [false, true, false, false, false], "{ran:?}");
    assert!(ran.stderr.contains("the modes are `/mode plan`"), "{ran:?}");
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    assert_eq!(regrants(&place, &id), 2);
    // Whoever takes it up gets the mode that it had, or says another one.
    let ran = chat(&place, &["--resume", &id], "four\n");
    assert!(ran.code == 0 && ran.stderr.contains("plan · reads only\n"), "{ran:?}");
    let ran = chat(&place, &["--resume", &id, "--mode", "auto"], "five\n");
    assert_eq!((ran.code, there()), (0, [false, true, false, false, true]), "{ran:?}");
    assert_eq!(regrants(&place, &id), 3);
}

#[test]
fn a_subagent_gets_no_mode_of_its_own() {
    let place = place();
    let model = delegating(&place, "- fail: {kind: unauthorised, message: not now}\n", "");
    let ran = Ran::of(place.posse_as_is(["run", "--json", "--mode", "plan", "--model", &model, "Go"]));
    let child = format!("{}.t_01", id_of(&ran));
    let refused = place.run(["tasks", "resume", &child, "--mode", "auto"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("keeps the mode of its orchestrator"),
        "{refused:?}"
    );
}
