//! What a person at a terminal sees: the live tree, whatever the size of the window, and a conversation.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::{Place, Ran, Running, until};

/// A terminal without a person.
pub struct Terminal {
    hand: File,
    other_side: OwnedFd,
}

impl Terminal {
    pub fn new(columns: u16) -> Self {
        let (mut master, mut slave) = (-1, -1);
        let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let (name, modes) = (std::ptr::null_mut(), std::ptr::null());
        // SAFETY: the call writes two descriptors, which nobody else owns, and reads the size.
        let (hand, other_side) = unsafe {
            assert_eq!(libc::openpty(&mut master, &mut slave, name, modes, &size), 0);
            (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        Self { hand, other_side }
    }

    /// Types something before a program is there, and waits until the terminal has it.
    pub fn types(&mut self, text: &str) {
        self.hand.write_all(text.as_bytes()).unwrap();
        let mut echoed = vec![0; text.len()];
        self.hand.read_exact(&mut echoed).unwrap();
    }

    pub fn stdio(&self) -> Stdio {
        self.other_side.try_clone().unwrap().into()
    }

    /// Closes our copy of the program's side and collects what is shown until the program has closed its own.
    pub fn watch(self) -> (File, Arc<Mutex<String>>, std::thread::JoinHandle<()>) {
        drop(self.other_side);
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut eye, into) = (self.hand.try_clone().unwrap(), shown.clone());
        let reader = std::thread::spawn(move || {
            let mut rest = Vec::new();
            let mut bytes = [0; 4096];
            // The end of a terminal is an error.
            while let Ok(count @ 1..) = eye.read(&mut bytes) {
                rest.extend(&bytes[..count]);
                let whole = rest.len() - rest.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
                let text: Vec<u8> = rest.drain(..whole).collect();
                into.lock().unwrap().push_str(&String::from_utf8_lossy(&text));
            }
        });
        (self.hand, shown, reader)
    }
}

/// Runs a command with its standard error on a terminal.
pub fn on_terminal(columns: u16, mut command: Command) -> (Ran, String) {
    let terminal = Terminal::new(columns);
    let mut child = command.stdout(Stdio::piped()).stderr(terminal.stdio()).spawn().unwrap();
    // The command holds the program's side open too.
    drop(command);
    let (_hand, shown, reader) = terminal.watch();
    let mut stdout = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    let status = child.wait().unwrap();
    reader.join().unwrap();
    let shown = shown.lock().unwrap().clone();
    assert!(!shown.contains("panicked"), "{shown}");
    (Ran::from_output(Output { status, stdout, stderr: Vec::new() }), shown)
}

/// What a command shows when its standard output is a terminal too.
pub fn all_on_terminal(mut command: Command) -> String {
    let terminal = Terminal::new(100);
    let mut child = command.stdout(terminal.stdio()).stderr(terminal.stdio()).spawn().unwrap();
    drop(command);
    let (_hand, shown, reader) = terminal.watch();
    child.wait().unwrap();
    reader.join().unwrap();
    let shown = shown.lock().unwrap().clone();
    assert!(!shown.contains("panicked"), "{shown}");
    shown
}

/// A title that a terminal would take for its own.
const EVIL: &str = "\u{1b}]0;owned\u{7}";

// S27 Seen to fail with a `visible` that changes nothing.
#[test]
fn foreign_text_does_not_steer_a_terminal_and_is_unchanged_in_a_pipe() {
    let place = Place::new();
    place.write("workspace/a.txt", EVIL);
    place.write("workspace/.posse/tools/bad/tool.json", &format!("{{\"{}\": 1}}", "x\\u001b]0;owned\\u0007"));
    let evil = EVIL.replace('\u{1b}', "\\e").replace('\u{7}', "\\a");
    let model = place.script(&format!("[{{calls: [{{read: {{path: a.txt}}}}]}}, {{text: \"{evil}!\"}}]"));
    let run = || place.posse(["run", "--model", &model, "Go"]);
    let piped = Ran::of(run());
    assert_eq!(piped.stdout, format!("{EVIL}!\n"), "a program gets what the model said: {piped:?}");
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let result = place.run(["tasks", "show", &id, "--result", "1.0"]);
    assert!(result.stdout.contains(EVIL), "{result:?}");
    for command in [
        run(),
        place.posse(["tasks", "show", &id, "--result", "1.0"]),
        place.posse(["tasks", "show", &id]),
        place.posse(["doctor"]),
    ] {
        let shown = all_on_terminal(command);
        assert!(shown.contains("\\u{1b}]0;owned\\u{7}") && !shown.contains(EVIL), "{shown:?}");
    }
}

/// Everything that was ever on a terminal of this width: what was scrolled away, and the screen at the end.
pub fn lines(columns: u16, shown: &str) -> Vec<String> {
    let cells = |n| std::num::NonZeroU16::new(n).unwrap();
    let mut terminal = vt100::Parser::new(cells(24), cells(columns), 10_000);
    terminal.process(shown.as_bytes());
    let row = |row: String| row.trim_end().to_owned();
    let mut rows = Vec::new();
    for back in (1..=terminal.screen().scrollback_len()).rev() {
        terminal.screen_mut().set_scrollback(back);
        rows.extend(terminal.screen().rows(0, columns).next().map(row));
    }
    terminal.screen_mut().set_scrollback(0);
    rows.extend(terminal.screen().rows(0, columns).map(row));
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

#[test]
fn a_run_ends_with_one_line_for_each_task_and_the_answer_is_shown_once() {
    let place = Place::new();
    let (ran, shown) = on_terminal(100, place.posse(["demo"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("Root cause:") && !ran.stdout.contains('\u{1b}'), "{ran:?}");
    let lines = lines(100, &shown);
    let at = lines.iter().rposition(|line| line.contains("└─")).unwrap();
    let tree: Vec<Vec<&str>> =
        lines[at - 3..=at].iter().map(|line| line.split_whitespace().take(4).collect()).collect();
    assert_eq!(tree[0][..3], ["✓", "completed", "in"], "{lines:?}");
    assert_eq!(tree[1][..4], ["├─", "✓", "researcher", "t_01"]);
    assert_eq!(tree[2][..4], ["├─", "✓", "remediator", "t_02"]);
    assert_eq!(tree[3][..4], ["└─", "✓", "writer", "t_03"]);
    assert!(shown.contains("\u{1b}[32m✓"), "done is green");
    assert!(lines.iter().any(|line| line.starts_with("shared context: decisions_made v1")), "{lines:?}");
    let first = ran.stdout.lines().next().unwrap().split(' ').take(4).collect::<Vec<_>>().join(" ");
    assert_eq!(lines.iter().filter(|line| line.starts_with(&first)).count(), 1, "{lines:?}");
}

#[test]
fn a_terminal_that_is_too_small_or_dumb_gets_lines_as_a_pipe_does() {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha\n");
    let model = place.script("[{calls: [{read: {path: a.txt}}]}, {text: Done.}]");
    for (columns, term) in [(39, "xterm"), (80, "dumb")] {
        let mut command = place.posse(["run", "--model", &model, "Go"]);
        command.env("TERM", term);
        let (ran, shown) = on_terminal(columns, command);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
        assert!(!shown.contains('\u{1b}'), "no control sequences: {shown:?}");
        assert!(shown.contains("read a.txt") && shown.contains("completed"), "{shown:?}");
    }
}

#[test]
fn no_colors_are_used_where_they_are_not_wanted() {
    let place = Place::new();
    let model = place.script("[{text: 'A **bold** answer.', calls: [{ls: {}}]}, {text: Done.}]");
    let mut command = place.posse(["run", "--model", &model, "Go"]);
    command.env("NO_COLOR", "1");
    let (ran, shown) = on_terminal(80, command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let styles = shown.match_indices("\u{1b}[").filter(|(at, _)| {
        let rest = shown[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest.starts_with('m')
    });
    // The last one ends styles that others may have left.
    assert!(styles.count() <= 1, "{shown:?}");
    assert!(lines(80, &shown).contains(&"A **bold** answer.".to_owned()), "{shown:?}");
}

#[test]
fn a_conversation_at_a_terminal() {
    let place = Place::new();
    let model = place.script("[{text: Hello Ada.}, {text: Ada it is.}]");
    let terminal = Terminal::new(80);
    let mut command = place.posse(["chat", "--model", &model]);
    command.env("TERM", "xterm");
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut hand, shown, reader) = terminal.watch();
    let sees = |text: &str| until(text, || shown.lock().unwrap().contains(text).then_some(()));
    sees("? keys");
    hand.write_all(b"I am Ada.\r").unwrap();
    sees("Hello Ada.");
    hand.write_all(b"Who am I?\r").unwrap();
    sees("Ada it is.");
    until("a prompt", || shown.lock().unwrap().rsplit("Ada it is.").next()?.contains("> ").then_some(()));
    hand.write_all(b"\x04").unwrap();
    let status = child.wait().unwrap();
    reader.join().unwrap();
    assert_eq!(status.code(), Some(0), "{}", shown.lock().unwrap());
    assert_eq!(place.tasks().len(), 1);
}

#[test]
fn a_stopped_answer_stays_in_the_conversation_and_the_prompt_is_free() {
    let place = Place::new();
    let model = place.script("[{text: 'one two three four five six', word_ms: 700}, {text: Shorter.}]");
    let terminal = Terminal::new(80);
    let mut command = place.posse(["chat", "--model", &model]);
    command.env("TERM", "xterm");
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut hand, shown, reader) = terminal.watch();
    let sees = |text: &str| until(text, || shown.lock().unwrap().contains(text).then_some(()));
    sees("? keys");
    hand.write_all(b"Count\r").unwrap();
    sees("one two");
    hand.write_all(b"\x1b").unwrap();
    sees("stopped");
    hand.write_all(b"less\r").unwrap();
    sees("Shorter.");
    hand.write_all(b"\x04").unwrap();
    sees("is kept: posse chat --continue");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", shown.lock().unwrap());
    reader.join().unwrap();
    let history = std::fs::read_to_string(place.state().join("history")).unwrap();
    assert_eq!(history, "Count\nless\n");
}

#[test]
fn outside_of_tmux_an_approval_is_a_notification_of_the_desktop() {
    let place = Place::new();
    let model = place.script("[{calls: [{write: {path: a.txt, content: hello}}]}, {text: Done.}]");
    let terminal = Terminal::new(80);
    let mut command = place.posse(["run", "--mode", "ask", "--model", &model, "Write it"]);
    command.env("TERM", "xterm");
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut hand, shown, reader) = terminal.watch();
    let notice = "\u{7}\u{1b}]9;";
    let text = until("a notification", || {
        let shown = shown.lock().unwrap();
        let text = shown.split_once(notice)?.1.split_once('\u{7}')?.0.to_owned();
        Some(text)
    });
    assert!(text.ends_with("orchestrator waits for your approval of write"), "{text}");
    hand.write_all(b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    reader.join().unwrap();
}

#[test]
fn a_resumed_tree_counts_what_was_used_before() {
    let place = Place::new();
    let script =
        "[{calls: [{ls: {}}]}, {calls: [{ls: {}}, {glob: {pattern: a}}]}, {text: Done., delay_ms: 600000}]";
    let model = place.script(script);
    let mut running = Running::start(place.posse(["run", "--json", "--model", &model, "Go"]));
    let turn = running.until(|event| event["type"] == "turn" && event["turn"] == 3);
    let id = turn["task_id"].as_str().unwrap().to_owned();
    running.kill();
    place.script(&script.replace("600000", "1500"));
    let mut command = place.posse(["tasks", "resume", &id]);
    command.env("NO_COLOR", "1");
    let (ran, shown) = on_terminal(160, command);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
    assert!(shown.contains("turn 3/") && !shown.contains("turn 1/"), "{shown:?}");
    let lines = lines(160, &shown);
    assert!(
        lines.iter().any(|line| line.contains("completed in ") && line.contains(" · 3 turns · ")),
        "{lines:?}"
    );
}

#[test]
fn the_doctor_says_what_the_terminal_can_do_and_marks_only_what_it_looked_at() {
    let place = Place::new();
    let piped = place.run(["doctor"]).stdout;
    assert!(piped.contains("· terminal       none: output is lines\n"), "{piped}");
    let line = |command: Command| {
        let shown = lines(200, &all_on_terminal(command));
        shown.into_iter().find(|line| line.contains(" terminal ")).unwrap_or_default()
    };
    let mut usual = place.posse(["doctor"]);
    usual.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
    let usual = line(usual);
    assert!(usual.starts_with("✓ terminal       xterm-256color · 100×24 · "), "{usual}");
    assert!(usual.ends_with(" · UTF-8"), "{usual}");
    let mut plain = place.posse(["doctor"]);
    plain.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "xterm");
    let plain = line(plain);
    assert!(plain.contains("xterm · 100×") && plain.ends_with(" · no colors · ASCII marks"), "{plain}");
    // A tmux that is not there says nothing, so nothing is claimed about it.
    let mut inside = place.posse(["doctor"]);
    inside.env("TMUX", "/nowhere,1,0").env("PATH", "/nowhere");
    let inside = line(inside);
    assert!(inside.ends_with("tmux did not say how long Esc waits"), "{inside}");
}

#[test]
fn a_text_longer_than_the_terminal_goes_through_the_pager_of_the_person() {
    let place = Place::new();
    let text: String = (0..40).map(|n| format!("line {n}\\n")).collect();
    let model = place.script(&format!("[{{text: \"{text}\"}}]"));
    let id = place.run(["run", "--json", "--model", &model, "Go"]).envelope()["task_id"].clone();
    let id = id.as_str().unwrap();
    let (pager, seen) = (place.write("pager", "cat > \"$1\""), place.root().join("seen"));
    let shown = |args: &[&str], pager: &str| {
        let _ = std::fs::remove_file(&seen);
        let mut command = place.posse(args.iter().copied());
        command.env("PAGER", pager).env("TERM", "xterm");
        (all_on_terminal(command), std::fs::read_to_string(&seen).unwrap_or_default())
    };
    let pager = format!("sh {} {}", pager.display(), seen.display());
    let (screen, paged) = shown(&["tasks", "show", id, "--text"], &pager);
    assert!(paged.contains("line 39") && !screen.contains("line 39"), "{screen} {paged}");
    let (screen, paged) = shown(&["tasks", "show", id], &pager);
    assert!(
        paged.is_empty() && screen.contains("line 0 line 1 line 2"),
        "a story that fits: {screen} {paged}"
    );
    for none in ["cat", "", "/nowhere/less"] {
        let (screen, _) = shown(&["tasks", "show", id, "--text"], none);
        assert!(screen.contains("line 39"), "{none}: {screen}");
    }
    let mut piped = place.posse(["tasks", "show", id, "--text"]);
    piped.env("PAGER", &pager);
    assert!(Ran::of(piped).stdout.contains("line 39"), "never without a terminal");
}
