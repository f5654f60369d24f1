//! `posse top` in a real terminal: tmux shows what a person would see.

use crate::support::{Place, Running, until};
use crate::tmux::TmuxScreen;

/// A running task that waits for the approval of a write, then for a slow model.
fn asking(place: &Place) -> Running {
    place.write("home/.config/posse/config.toml", "[approvals]\nask = [\"write\"]\n");
    let model = place.script(
        "[{calls: [{write: {path: a.txt, content: \"hello\\n\"}}]}, {calls: [{ls: {}}], delay_ms: 1500}, \
         {text: Slow., delay_ms: 600000}]",
    );
    let run =
        ["run", "--json", "--mode", "auto", "--approvals", "ask", "--model", &model, "Write the greeting"];
    let mut running = Running::start(place.posse(run));
    running.until(|event| event["type"] == "approval_requested");
    running
}

#[test]
fn top_answers_steers_and_cancels_a_task_of_another_process() {
    let place = Place::new();
    let Some(window) = TmuxScreen::open(&place, 120, 30) else { return };
    let running = asking(&place);
    window.runs("top");
    let screen = window.sees("NEEDS INPUT 1");
    assert!(screen.contains("approve: Write a") && screen.contains("1 runn"), "{screen}");
    window.sees("> Write the greeting");
    window.press("a");
    let screen = window.sees("wants to write a.txt");
    assert!(screen.contains("+  1  hello"), "{screen}");
    // Keys count after half a second, so it is pressed until it counts.
    until("approved", || {
        window.press("y");
        window.has("WORKING 1").then_some(())
    });
    until("written", || place.workspace().join("a.txt").exists().then_some(()));
    window.press("s");
    window.sees("message to ");
    window.types("be brief");
    window.press("Enter");
    window.sees("read it at turn");
    window.sees("> be brief");
    window.press("2");
    window.sees("+  1  hello");
    window.press("c");
    window.sees("y yes   n no");
    window.press("y");
    window.sees("is cancelled");
    let screen = window.sees("1 cancelled");
    assert!(screen.contains("COMPLETED 0"), "{screen}");
    window.press("q");
    let screen = window.sees("exit 0");
    assert!(!screen.contains("COMPLETED"), "the screen is as it was: {screen}");
    assert!(!window.is_full_screen());
    assert_eq!(running.end().code, 130);
}

#[test]
fn top_at_80_columns_opens_a_pane_over_the_list_and_survives_a_resize() {
    let place = Place::new();
    let Some(window) = TmuxScreen::open(&place, 80, 24) else { return };
    let model = place.script("[{calls: [{ls: {}}]}, {text: Root cause is the pool.}]");
    assert_eq!(place.run(["run", "--model", &model, "Why is it slow?"]).code, 0);
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    window.runs(&format!("tasks watch {id}"));
    window.sees("COMPLETED 1");
    window.press("Enter");
    let screen = window.sees("Root cause is the pool.");
    assert!(!screen.contains("COMPLETED 1"), "{screen}");
    window.resize(120, 30);
    until("both panes", || {
        let screen = window.rows().join("\n");
        (screen.contains("COMPLETED 1") && screen.contains("Root cause is the pool.")).then_some(())
    });
    window.press("C-c");
    let screen = window.sees("exit 0");
    assert!(screen.contains("Root cause is the pool."), "the answer is printed: {screen}");
}

#[test]
fn a_signal_and_a_stopped_job_leave_a_clean_screen() {
    let place = Place::new();
    let Some(window) = TmuxScreen::open(&place, 80, 24) else { return };
    let model = place.script("[{text: Done.}]");
    assert_eq!(place.run(["run", "--model", &model, "A small task"]).code, 0);
    window.runs("top");
    window.sees("COMPLETED 1");
    window.press("C-z");
    window.sees("Stopped");
    window.types("fg");
    window.press("Enter");
    window.sees("COMPLETED 1");
    let child = window.child();
    // SAFETY: a plain system call; the process is the only child of the shell.
    assert_eq!(unsafe { libc::kill(child, libc::SIGTERM) }, 0);
    until("the screen is as it was", || (!window.is_full_screen()).then_some(()));
    window.types("echo co''de=$?");
    window.press("Enter");
    window.sees("code=143");
}

#[test]
fn without_a_terminal_top_prints_lines() {
    let place = Place::new();
    let ran = place.run(["top"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "no task of this project is running\n"), "{ran:?}");
    let model = place.script("[{calls: [{ls: {}}]}, {text: Done., delay_ms: 1000}]");
    let mut running = Running::start(place.posse(["run", "--json", "--model", &model, "Go"]));
    running.until(|event| event["type"] == "turn" && event["turn"] == 2);
    let ran = place.run(["top", "--json"]);
    assert_eq!(running.end().code, 0);
    // Live lines have no place in the journal.
    let events = ran.json();
    let journaled = events.iter().filter(|event| event["seq"].is_u64());
    let kinds: Vec<String> = journaled.map(|event| event["type"].to_string()).collect();
    assert!(kinds.first().is_some_and(|kind| kind == "\"started\""), "{ran:?}");
    assert!(kinds.last().is_some_and(|kind| kind == "\"finished\""), "{ran:?}");
}
