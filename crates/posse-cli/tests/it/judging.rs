//! What the envelope says of an answer, and answers that have to be verified or to be JSON.

use serde_json::json;

use crate::support::{Place, Ran, Running, processes_of, until};

/// Runs a task with `bash` allowed to whoever asks for the check.
fn run(place: &Place, script: &str, more: &[&str]) -> Ran {
    let model = place.script(script);
    let mut args = vec!["run", "--model", &model, "--allow", "bash"];
    args.extend(more);
    args.push("Go");
    place.run(args)
}

const FIXED_LATER: &str =
    "[{text: Done.}, {calls: [{write: {path: made, content: x}}]}, {text: Really done.}]";

#[test]
fn the_envelope_has_the_parts_of_the_answer_and_a_preview() {
    let place = Place::new();
    let tagged = "[{text: \"I looked.\\n<findings>a.rs:1</findings><summary>Short.</summary>\"}]";
    let envelope = run(&place, tagged, &["--json"]).envelope();
    assert_eq!(envelope["sections"], json!({ "findings": "a.rs:1", "summary": "Short.", "answer": null }));
    assert_eq!(envelope["preview"], "I looked.");
    assert_eq!((&envelope["data"], &envelope["evidence"]), (&json!(null), &json!([])));
    let envelope = run(&place, "[{text: All of it.}]", &["--json"]).envelope();
    assert_eq!(envelope["sections"]["findings"], "All of it.");
}

#[test]
fn a_failed_check_is_corrected_by_the_model_and_both_are_in_the_journal() {
    let place = Place::new();
    let ran = run(&place, FIXED_LATER, &["--json", "--verify", "true", "--verify", "cat made"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let envelope = ran.envelope();
    assert_eq!((&envelope["status"], &envelope["text"]), (&json!("completed"), &json!("Really done.")));
    let last = &envelope["evidence"][1];
    assert_eq!((&last["command"], &last["passed"]), (&json!("cat made"), &json!(true)));
    assert_eq!((&last["exit_code"], &last["output"]), (&json!(0), &json!("x")));
    let events: Vec<_> = ran.json().into_iter().filter(|event| event["type"] == "verified").collect();
    assert_eq!(events.iter().map(|event| &event["passed"]).collect::<Vec<_>>(), [true, false, true, true]);
    let task = envelope["task_id"].as_str().unwrap();
    let shown = place.run(["tasks", "show", task]).stdout;
    assert!(shown.contains("✗       verify: cat made · exit code 1 · cat: "), "{shown}");
    assert!(shown.contains("✓       verify: cat made · exit code 0 · x"), "{shown}");
}

#[test]
fn a_check_that_keeps_failing_fails_the_task_and_is_shown() {
    let place = Place::new();
    let script = "[{text: Done.}, {text: Done again.}]";
    let ran = run(&place, script, &["--verify", "echo it is red; exit 3"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("failed · verify failed (`echo it is red; exit 3`: exit code 3)"), "{ran:?}");
    assert!(
        ran.stderr.contains("verify failed: echo it is red; exit 3 · exit code 3\n  it is red"),
        "{ran:?}"
    );
    assert_eq!(ran.stdout, "Done again.\n", "the text is kept");
}

#[test]
fn a_result_that_needed_no_tools_comes_with_a_warning() {
    let place = Place::new();
    let envelope = run(&place, "[{text: Done.}]", &["--json", "--verify", "true"]).envelope();
    assert_eq!(envelope["status"], "completed");
    assert!(
        envelope["warnings"][0].as_str().unwrap().starts_with("nothing was done with tools"),
        "{envelope}"
    );
}

#[test]
fn a_check_needs_bash() {
    let place = Place::new().unconfined();
    let model = place.script("[{text: Done.}]");
    let ran = place.run(["run", "--json", "--model", &model, "--verify", "touch made", "Go"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let error = ran.json().pop().unwrap();
    assert_eq!((&error["type"], &error["code"]), (&json!("error"), &json!("INVALID_REQUEST")));
    assert!(error["hint"].as_str().unwrap().contains("--allow bash"), "{error}");
    assert!(place.tasks().is_empty() && !place.workspace().join("made").exists());
}

#[test]
fn a_definition_says_what_is_verified_and_the_form_of_the_answer() {
    let place = Place::new();
    place.write(
        "home/.posse/agents/counter.md",
        "---\nname: counter\ndescription: Counts\ntools: Read\nverify: test -e made\n\
         output_schema: {type: object, required: [n], properties: {n: {type: integer}}}\n---\nYou count.",
    );
    let shown = place.run(["agents", "show", "counter"]);
    assert!(shown.stdout.contains("verify       test -e made"), "{shown:?}");
    place.write("workspace/made", "");
    let script = "[{calls: [{read: {path: made}}]}, {text: Three.}, {text: 'It is {\"n\": 3}.'}]";
    let envelope = run(&place, script, &["--json", "--agent", "counter"]).envelope();
    assert_eq!(
        (&envelope["status"], &envelope["data"]),
        (&json!("completed"), &json!({ "n": 3 })),
        "{envelope}"
    );
    assert_eq!(
        envelope["warnings"],
        json!(["the JSON of the answer stood inside other text, and was taken out"])
    );
    assert_eq!(envelope["evidence"][0]["command"], "test -e made");
    let ran = run(&place, "[{text: Three.}, {text: '{\"n\": \"three\"}'}]", &["--agent", "counter"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("failed · output invalid"), "{ran:?}");
    assert!(ran.stderr.contains("does not satisfy the schema: /n: \"three\" is not of type"), "{ran:?}");
}

#[test]
fn a_check_whose_process_was_killed_is_made_again() {
    let place = Place::new().unconfined();
    let model = place.script("[{text: Done.}]");
    let check = "if [ -e begun ]; then echo again; else touch begun; sleep 1000; fi";
    let args = ["run", "--json", "--model", &model, "--allow", "bash", "--verify", check, "Go"];
    let mut running = Running::start(place.posse(args));
    let task = running.until(|event| event["type"] == "verifying")["task_id"].as_str().unwrap().to_owned();
    until("the check begins", || place.workspace().join("begun").exists().then_some(()));
    running.kill();
    let ran = place.run(["tasks", "resume", "--json", &task]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.envelope()["evidence"][0]["output"], "again");
    let records = place.journal(&task);
    let kinds = |kind: &str| records.iter().filter(|record| record["record"] == kind).count();
    assert_eq!((kinds("replied"), kinds("verifying"), kinds("verified")), (1, 2, 1));
    until("nothing is left of it", || processes_of(&task).is_empty().then_some(()));
}

#[test]
fn a_task_that_goes_on_where_bash_is_denied_is_not_verified() {
    let place = Place::new();
    let ran =
        run(&place, "[{text: Done.}, {text: Again.}, {text: Third.}]", &["--json", "--verify", "false"]);
    let task = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    place.write("home/.config/posse/config.toml", "[grant]\ndeny = [\"bash\"]\n");
    let ran = place.run(["tasks", "resume", "--json", &task]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let envelope = ran.envelope();
    assert_eq!(envelope["reason"], "verify_failed");
    assert!(envelope["evidence"][0]["ending"].as_str().unwrap().starts_with("not run:"), "{envelope}");
}
