//! Stopping: by a person, by the system, by a limit, by a pipe that nobody reads any more.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Place, Ran, Running, processes_of, until};

/// Waits for a file, so that the test decides when the step ends.
const STEP: &str = "
- text: One step.
  calls:
    - bash: {command: 'touch begun; until [ -e go ]; do sleep 0.01; done; touch ended'}
- text: Two steps.
  calls: [{ls: {}}]
- text: Done.
";

/// Never ends by itself, and hides two children.
const STUCK: &str = "
- text: This takes long.
  calls:
    - bash: {command: 'setsid sleep 400 & (sleep 400 &) ; touch begun; sleep 400'}
- text: Done.
";

const SLOW_MODEL: &str = "
- text: I look first.
  calls: [{ls: {}}]
- {text: Done., delay_ms: 600000}
";

fn run(place: &Place, script: &str) -> Running {
    let model = place.script(script);
    Running::start(place.posse(["run", "--json", "--allow", "bash", "--model", &model, "Do it"]))
}

fn begun(place: &Place, running: &mut Running) -> String {
    let started = running.until(|event| event["type"] == "started");
    let file = place.workspace().join("begun");
    until("the command began", || file.exists().then_some(()));
    started["task_id"].as_str().unwrap().to_owned()
}

fn essence(ran: &Ran) -> (i32, Value, Value, Value) {
    let envelope = ran.envelope();
    (ran.code, envelope["status"].clone(), envelope["reason"].clone(), envelope["text"].clone())
}

/// Goes on with the task and expects it to be done.
fn goes_on(place: &Place, id: &str) -> Value {
    let ran = place.run(["tasks", "resume", id, "--json"]);
    assert_eq!(essence(&ran), (0, json!("completed"), json!("answered"), json!("Done.")), "{ran:?}");
    ran.envelope()
}

/// Expects a run that Ctrl-C interrupted, with this text.
fn is_interrupted(place: &Place, ran: &Ran, id: &str, text: &str) {
    let said = ran.json().pop().unwrap();
    assert_eq!(
        (ran.code, &said["type"], &said["code"]),
        (130, &json!("error"), &json!("INTERRUPTED")),
        "{ran:?}"
    );
    assert_eq!(said["text"], text, "{ran:?}");
    assert!(said["hint"].as_str().unwrap().contains(&format!("posse tasks resume {id}")), "{said}");
    assert!(states(place).iter().all(|state| state == "interrupted"), "{:?}", states(place));
}

#[test]
fn one_ctrl_c_stops_a_command_and_everything_it_started() {
    let place = Place::new().unconfined();
    let mut running = run(&place, STUCK);
    let id = begun(&place, &mut running);
    assert!(processes_of(&id).len() >= 3, "{:?}", processes_of(&id));
    running.press_ctrl_c();
    is_interrupted(&place, &running.end(), &id, "This takes long.");
    until("no process is left", || processes_of(&id).is_empty().then_some(()));
    let envelope = goes_on(&place, &id);
    assert_eq!(envelope["in_doubt"], json!(["1.0"]), "as after a kill");
}

#[test]
fn one_ctrl_c_cuts_off_a_model_that_does_not_answer() {
    let place = Place::new().unconfined();
    let mut running = run(&place, SLOW_MODEL);
    let turn = running.until(|event| event["type"] == "turn" && event["turn"] == 2);
    let id = turn["task_id"].as_str().unwrap().to_owned();
    running.press_ctrl_c();
    is_interrupted(&place, &running.end(), &id, "I look first.");
    place.script(&SLOW_MODEL.replace("600000", "0"));
    let envelope = goes_on(&place, &id);
    assert_eq!(envelope["turns"], 2);
}

#[test]
fn what_there_is_goes_to_standard_output_and_the_way_on_to_standard_error() {
    let place = Place::new().unconfined();
    let model = place.script(SLOW_MODEL);
    let running = Running::start(place.posse(["run", "--model", &model, "Do it"]));
    let id = until("the second turn", || {
        let row = place.tasks().pop()?;
        (row["turns"] == 1).then(|| row["task_id"].as_str().unwrap().to_owned())
    });
    running.press_ctrl_c();
    let ran = running.end();
    assert_eq!((ran.code, ran.stdout.as_str()), (130, "I look first.\n"), "{ran:?}");
    let last = ran.stderr.lines().last().unwrap();
    assert_eq!(
        last,
        format!("interrupted; posse tasks resume {id} continues it with everything it delegated")
    );
}

#[test]
fn sighup_and_sigterm_interrupt_a_task_and_do_not_cancel_it() {
    for (signal, name, code) in [(libc::SIGTERM, "SIGTERM", 143), (libc::SIGHUP, "SIGHUP", 129)] {
        let place = Place::new().unconfined();
        let mut running = run(&place, STUCK);
        let id = begun(&place, &mut running);
        running.signal(signal);
        let ran = running.end();
        let said = ran.json().pop().unwrap();
        assert_eq!((ran.code, &said["type"], &said["code"]), (code, &json!("error"), &json!("INTERRUPTED")));
        assert!(said["message"].as_str().unwrap().starts_with(name), "{said}");
        assert!(said["hint"].as_str().unwrap().contains(&format!("posse tasks resume {id}")), "{said}");
        assert_eq!(place.tasks()[0]["status"], "interrupted");
        let records = place.journal(&id);
        let ends = records
            .iter()
            .filter(|record| ["cancelled", "finished"].contains(&record["record"].as_str().unwrap()));
        assert_eq!(ends.count(), 0, "{records:?}");
        let envelope = goes_on(&place, &id);
        assert_eq!(envelope["in_doubt"], json!(["1.0"]), "as after a kill");
        assert_eq!(processes_of(&id), Vec::<String>::new());
    }
}

#[test]
fn a_run_under_nohup_goes_on_when_its_terminal_is_closed() {
    use std::os::unix::process::CommandExt;
    let place = Place::new().unconfined();
    let model = place.script(STEP);
    let mut command = place.posse(["run", "--json", "--allow", "bash", "--model", &model, "Do it"]);
    // SAFETY: one call that is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut running = Running::start(command);
    begun(&place, &mut running);
    running.signal(libc::SIGHUP);
    place.write("workspace/go", "");
    assert_eq!(essence(&running.end()), (0, json!("completed"), json!("answered"), json!("Done.")));
}

/// An orchestrator that waits for two children, of which each waits for a file.
const FAMILY: &str = "
boss:
- calls:
    - subagent: {action: spawn, agent: worker, task: first}
    - subagent: {action: spawn, agent: worker, task: second}
- calls: [subagent: {action: wait, mode: all, timeout_ms: 30000}]
  repeat_until: '\"timed_out\":false'
- calls:
    - subagent: {action: collect, task_id: '{result:1.0:/task_id}'}
    - subagent: {action: collect, task_id: '{result:1.1:/task_id}'}
- text: Done.
worker:
- calls: [bash: {command: 'touch begun-$POSSE_TASK; until [ -e go ]; do sleep 0.01; done'}]
- text: I am done.
";

/// Begins a script in which `boss` delegates, with these arguments before the task.
fn family(place: &Place, script: &str, args: &[&str]) -> Running {
    let model = place.script(script);
    let agent = format!("---\nname: worker\ndescription: Works\nmodel: {model}#worker\n---\nYou work.\n");
    place.write("home/.config/posse/agents/worker.md", &agent);
    let model = format!("{model}#boss");
    let common = ["--allow", "bash", "--model", &model, "Delegate"];
    Running::start(place.posse(["run"].iter().chain(args).chain(&common).copied()))
}

/// Waits until these children work, and returns the id of their orchestrator.
fn children_begun(place: &Place, children: &[&str]) -> String {
    let root = || {
        let tasks = place.tasks();
        let row = tasks.iter().find(|row| row["parent"].is_null())?;
        Some(row["task_id"].as_str().unwrap().to_owned())
    };
    let id = until("the run is in the store", root);
    for child in children {
        let file = place.workspace().join(format!("begun-{id}.{child}"));
        until("the child works", || file.exists().then_some(()));
    }
    id
}

/// States of all tasks, the newest first.
fn states(place: &Place) -> Vec<Value> {
    place.tasks().iter().map(|row| row["status"].clone()).collect()
}

#[test]
fn closing_the_terminal_leaves_the_whole_tree_to_be_resumed() {
    let place = Place::new().unconfined();
    let running = family(&place, FAMILY, &["--json"]);
    let id = children_begun(&place, &["t_01", "t_02"]);
    running.signal(libc::SIGHUP);
    assert_eq!(running.end().code, 129);
    assert_eq!(states(&place), ["interrupted", "interrupted", "interrupted"]);
    place.write("workspace/go", "");
    goes_on(&place, &id);
    assert_eq!(states(&place), ["completed", "completed", "completed"]);
}

#[test]
fn a_tree_that_ctrl_c_interrupted_goes_on_as_a_whole() {
    let place = Place::new().unconfined();
    let running = family(&place, FAMILY, &["--json"]);
    let id = children_begun(&place, &["t_01", "t_02"]);
    running.press_ctrl_c();
    is_interrupted(&place, &running.end(), &id, "");
    assert_eq!(states(&place).len(), 3);
    place.write("workspace/go", "");
    goes_on(&place, &id);
    assert_eq!(states(&place), ["completed", "completed", "completed"]);
}

fn cancel(place: &Place, id: &str) {
    let ran = place.run(["tasks", "cancel", id]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn children_cancelled_with_their_orchestrator_are_named_and_go_on_with_it() {
    let place = Place::new().unconfined();
    let running = family(&place, FAMILY, &[]);
    let id = children_begun(&place, &["t_01", "t_02"]);
    cancel(&place, &id);
    let ran = running.end();
    assert_eq!(ran.code, 130, "{ran:?}");
    let hint = "\n  it also continues what was stopped with it: t_01, t_02\n";
    assert!(ran.stderr.contains(hint), "{ran:?}");
    assert_eq!(states(&place), ["cancelled", "cancelled", "cancelled"]);

    let envelope = goes_on(&place, &id);
    assert_eq!(envelope["resumes_with"], json!([]));
    assert_eq!(states(&place), ["completed", "completed", "completed"]);
    let told =
        |record: &&Value| record["text"].as_str().is_some_and(|text| text.contains("go on now: t_01, t_02"));
    assert_eq!(place.journal(&id).iter().filter(told).count(), 1, "the orchestrator knows");

    // Its answer is there: nothing goes on when somebody asks for it again.
    let before = place.journal(&format!("{id}.t_01")).len();
    goes_on(&place, &id);
    assert_eq!(place.journal(&format!("{id}.t_01")).len(), before);
}

/// The second task waits for the first.
const DEPENDENT: &str = "
boss:
- calls: [subagent: {action: spawn, agent: worker, task: first}]
- calls: [subagent: {action: spawn, agent: worker, task: second, depends_on: [t_01]}]
- calls: [subagent: {action: wait, mode: all, timeout_ms: 30000}]
  repeat_until: '\"timed_out\":false'
- text: Done.
worker:
- calls: [bash: {command: 'touch begun-$POSSE_TASK; until [ -e go ]; do sleep 0.01; done'}]
- text: I am done.
";

#[test]
fn a_task_that_waited_for_a_stopped_one_goes_on_too() {
    let place = Place::new().unconfined();
    let mut running = family(&place, DEPENDENT, &["--json"]);
    running.until(|event| event["type"] == "turn" && event["turn"] == 3);
    let id = children_begun(&place, &["t_01"]);
    cancel(&place, &id);
    let ran = running.end();
    let children = json!([format!("{id}.t_01"), format!("{id}.t_02")]);
    assert_eq!((ran.code, &ran.envelope()["resumes_with"]), (130, &children), "{ran:?}");
    assert_eq!(states(&place), ["cancelled", "cancelled", "cancelled"]);
    place.write("workspace/go", "");
    goes_on(&place, &id);
    assert_eq!(states(&place), ["completed", "completed", "completed"]);
}

#[test]
fn a_child_that_somebody_cancelled_stays_cancelled_when_its_orchestrator_goes_on() {
    let place = Place::new().unconfined();
    let running = family(&place, FAMILY, &["--json"]);
    let id = children_begun(&place, &["t_01", "t_02"]);
    assert_eq!(place.run(["tasks", "cancel", &format!("{id}.t_01")]).code, 0);
    cancel(&place, &id);
    let ran = running.end();
    assert_eq!(ran.envelope()["resumes_with"], json!([format!("{id}.t_02")]), "{ran:?}");
    goes_on(&place, &id);
    assert_eq!(states(&place), ["completed", "cancelled", "completed"]);
}

#[test]
fn a_cancelled_tree_of_a_dead_process_goes_on_as_a_whole() {
    let place = Place::new().unconfined();
    let running = family(&place, FAMILY, &["--json"]);
    let id = children_begun(&place, &["t_01", "t_02"]);
    running.kill();
    assert_eq!(place.run(["tasks", "cancel", &id]).code, 0);
    assert_eq!(states(&place), ["cancelled", "cancelled", "cancelled"]);
    goes_on(&place, &id);
    assert_eq!(states(&place), ["completed", "completed", "completed"]);
}

/// Turns, tool calls, input and output tokens: of an envelope or of the event that ends a task.
fn counters(value: &Value) -> [Value; 4] {
    let usage = &value["usage"];
    [&value["turns"], &value["tool_calls"], &usage["input_tokens"], &usage["output_tokens"]].map(Value::clone)
}

/// Asserts that what the store says about a task is what its envelope says.
fn store_agrees(place: &Place, id: &str, envelope: &Value) {
    let [turns, tool_calls, input, output] = counters(envelope);
    let shown = place.run(["tasks", "show", id, "--json"]).json().remove(0);
    let listed = place.tasks().into_iter().find(|row| row["task_id"] == id).unwrap();
    for row in [&shown, &listed] {
        assert_eq!(
            (&row["turns"], &row["input_tokens"], &row["output_tokens"]),
            (&turns, &input, &output),
            "{row} {envelope}"
        );
    }
    assert_eq!(shown["tool_calls"], tool_calls, "{shown} {envelope}");
    let text = place.run(["tasks", "show", id]).stdout;
    let first = text.lines().next().unwrap();
    assert!(first.contains(&format!(" · {turns} turns · {tool_calls} tools · ")), "{first}");
}

#[test]
fn counters_agree_everywhere_before_and_after_a_resume() {
    let stops: [fn(&Place, &str, &Running); 3] = [
        |place, id, _| cancel(place, id),
        |_, _, running| running.press_ctrl_c(),
        |_, _, running| running.signal(libc::SIGTERM),
    ];
    for stop in stops {
        let place = Place::new().unconfined();
        let script = FAMILY.replace(
            "- text: Done.",
            "- calls: [{ls: {}}, {nothing: {}}]\n- {text: Done., delay_ms: 600000}",
        );
        place.write("workspace/go", "");
        let mut running = family(&place, &script, &["--json"]);
        let last = running.until(|event| event["type"] == "turn" && event["turn"] == 5);
        let id = last["task_id"].as_str().unwrap().to_owned();
        stop(&place, &id, &running);
        let ran = running.end();
        let ended = ran.json().pop().unwrap();
        if ended["type"] == "result" {
            store_agrees(&place, &id, &ended);
        }
        place.script(&script.replace("600000", "0"));
        let ran = place.run(["tasks", "resume", &id, "--json"]);
        let envelope = ran.envelope();
        assert_eq!((ran.code, &envelope["text"]), (0, &json!("Done.")), "{ran:?}");
        let events = ran.json();
        let finished =
            events.iter().find(|event| event["type"] == "finished" && event["task_id"] == id.as_str());
        assert_eq!(counters(finished.unwrap()), counters(&envelope));
        store_agrees(&place, &id, &envelope);
    }
}

#[test]
fn a_detached_run_continues_in_the_background_and_leaves_other_tasks_alone() {
    let place = Place::new().unconfined();
    // One that was interrupted before, and that nobody asked to resume.
    let mut other = run(&place, STUCK);
    let interrupted = begun(&place, &mut other);
    other.kill();
    std::fs::remove_file(place.workspace().join("begun")).unwrap();

    let model = place.script(STEP);
    let ran = place.run(["run", "--detach", "--allow", "bash", "--model", &model, "Do it"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.stdout.trim().to_owned();
    assert!(ran.stderr.contains(&format!("posse tasks watch {id}")), "{ran:?}");
    let file = place.workspace().join("begun");
    until("the command began", || file.exists().then_some(()));
    let status =
        |id: &str| place.tasks().into_iter().find(|row| row["task_id"] == id).unwrap()["status"].clone();
    assert_eq!(status(&id), "running");
    place.write("workspace/go", "");
    let watched = place.run(["tasks", "watch", &id]);
    assert_eq!((watched.code, status(&id)), (0, json!("completed")), "{watched:?}");
    assert_eq!(status(&interrupted), "interrupted");

    let json = place.run(["run", "-d", "--json", "--model", &model, "Again"]);
    let said = json.json();
    assert_eq!((said.len(), &said[0]["type"]), (1, &json!("detached")), "{json:?}");
    assert_eq!(place.run(["tasks", "cancel", said[0]["task_id"].as_str().unwrap()]).code, 0);
}

#[test]
fn a_detached_run_that_cannot_start_says_so_and_leaves_no_task() {
    let place = Place::new();
    let ran = place.run(["run", "--detach", "--model", "nobody:x", "Do it"]);
    assert!(ran.code == 1 && ran.stderr.starts_with("error[MODEL_UNKNOWN]"), "{ran:?}");
    assert_eq!(place.tasks(), Vec::<Value>::new());
}

#[test]
fn a_killed_process_leaves_nothing_running_once_its_task_goes_on() {
    let place = Place::new().unconfined();
    let mut running = run(&place, STUCK);
    let id = begun(&place, &mut running);
    running.kill();
    let envelope = goes_on(&place, &id);
    assert_eq!(envelope["in_doubt"], json!(["1.0"]));
    assert_eq!(processes_of(&id), Vec::<String>::new());
}

#[test]
fn a_turn_limit_gives_a_report_and_can_be_raised() {
    let place = Place::new().unconfined();
    let model = place.script(
        "
- {text: Look one., calls: [{ls: {}}]}
- {text: Look two., calls: [{glob: {pattern: a}}, {glob: {pattern: b}}]}
- text: Two looks so far.
- {text: Look three., calls: [{glob: {pattern: c}}]}
- text: Done.
",
    );
    let ran = place.run(["run", "--json", "--model", &model, "--max-turns", "3", "Do it"]);
    assert_eq!(
        essence(&ran),
        (3, json!("partial"), json!("turns_exhausted"), json!("Two looks so far.")),
        "{ran:?}"
    );
    let envelope = ran.envelope();
    assert_eq!((&envelope["turns"], &envelope["tool_calls"]), (&json!(3), &json!(3)));
    let id = envelope["task_id"].as_str().unwrap();
    let ran = place.run(["tasks", "resume", id, "--max-turns", "10", "--json"]);
    assert_eq!(essence(&ran), (0, json!("completed"), json!("answered"), json!("Done.")), "{ran:?}");
    assert_eq!(ran.envelope()["tool_calls"], 4);

    let ran = place.run(["run", "--model", &model, "--max-turns", "3", "Do it"]);
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let what_to_do =
        format!("  continue: posse tasks resume {id} --max-turns 6      full text: posse tasks show {id}\n");
    assert!(ran.stderr.contains("partial · turn limit (3) reached"), "{ran:?}");
    assert!(ran.stderr.contains(&what_to_do), "{ran:?}");
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "Two looks so far.\n"));
}

/// Reads one line of the output and closes the pipe, as `head -1` does.
fn first_line(mut command: Command) -> (String, Ran) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let status = child.wait().unwrap();
    (line, Ran::from_output(std::process::Output { status, stdout: Vec::new(), stderr: stderr.into() }))
}

#[test]
fn a_pipe_that_is_closed_early_ends_nothing() {
    let place = Place::new().unconfined();
    let model = place.script("[{calls: [{ls: {}}], delay_ms: 20}, {text: Done., delay_ms: 20}]");
    for args in [&["run", "--json", "--model", &model, "Do it"][..], &["run", "--model", &model, "Do it"]] {
        let (_, ran) = first_line(place.posse(args.iter().copied()));
        assert_eq!(ran.code, 0, "{ran:?}");
        let row = place.tasks().remove(0);
        assert_eq!((&row["status"], &row["turns"]), (&json!("completed"), &json!(2)));
    }
    for args in [&["tasks", "list"][..], &["doctor"], &["--help"], &["completions", "bash"]] {
        let (line, ran) = first_line(place.posse(args.iter().copied()));
        // A list ends with a line on standard error that says what is shown.
        let said = ran.stderr.lines().filter(|line| !line.contains("--all")).count();
        assert!(!line.is_empty() && said == 0, "{args:?}: {ran:?}");
    }
    // One that takes nothing at all is another matter: what was asked for is lost, and that is said once.
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let mut command = place.posse(["completions", shell]);
        command.stdout(std::fs::File::create("/dev/full").unwrap());
        let ran = Ran::of(command);
        assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{shell}: {ran:?}");
        assert!(ran.stderr.contains("standard output cannot be written"), "{shell}: {ran:?}");
    }
}

#[test]
fn no_terminal_is_needed() {
    let place = Place::new().unconfined();
    let model = place.script("- text: Done.");
    let posse = place.posse(["run", "--model", &model, "-"]);
    // A new session has no controlling terminal.
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(posse.get_program()).args(posse.get_args());
    command.current_dir(place.workspace()).env_clear().env("HOME", place.home());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let task = place.write("task.txt", "Do it");
    command.stdin(std::fs::File::open(task).unwrap());
    let ran = Ran::of(command);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'), "no control sequences in a pipe: {ran:?}");
}

#[test]
fn a_task_that_met_its_deadline_goes_on_with_more_time() {
    let place = Place::new().unconfined();
    place.write("workspace/a.txt", "alpha\n");
    let model = place.script("[{calls: [{read: {path: a.txt}}]}, {text: Done., delay_ms: 600000}]");
    let ran = place.run(["run", "--model", &model, "--timeout", "1", "Go"]);
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    assert_ne!(ran.code, 0, "{ran:?}");
    let advice = format!("  continue: posse tasks resume {id} --timeout 2 ");
    assert!(ran.stderr.contains("deadline passed") && ran.stderr.contains(&advice), "{ran:?}");
    let refused = place.run(["tasks", "resume", &id]);
    assert!(refused.code == 1 && refused.stderr.contains("give it more: --timeout 2"), "{refused:?}");
    place.script("[{calls: [{read: {path: a.txt}}]}, {text: Done.}]");
    let ran = place.run(["tasks", "resume", &id, "--timeout", "60"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
}
