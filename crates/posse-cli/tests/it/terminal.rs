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

/// The text without control sequences, each line as it was drawn.
pub fn lines(shown: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut characters = shown.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                // `ESC [` parameters letter
                characters.by_ref().skip(1).find(char::is_ascii_alphabetic);
            }
            '\r' => {}
            other => plain.push(other),
        }
    }
    plain.lines().map(str::to_owned).collect()
}

#[test]
fn the_tree_ends_with_one_line_for_each_task() {
    let place = Place::new();
    let (ran, shown) = on_terminal(100, place.posse(["demo"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("Root cause:") && !ran.stdout.contains('\u{1b}'), "{ran:?}");
    let lines = lines(&shown);
    let at = lines.iter().rposition(|line| line.contains("└─")).unwrap();
    let tree: Vec<Vec<&str>> =
        lines[at - 3..=at].iter().map(|line| line.split_whitespace().take(5).collect()).collect();
    assert_eq!(tree[0][..2], ["✓", "orchestrator"]);
    assert_eq!(tree[1], ["├─", "✓", "researcher", "t_01", "7"]);
    assert_eq!(tree[2], ["├─", "✓", "remediator", "t_02", "8"]);
    assert_eq!(tree[3], ["└─", "✓", "writer", "t_03", "3"]);
    assert!(shown.contains("\u{1b}[32m✓"), "done is green");
    assert!(lines.iter().any(|line| line.starts_with("shared context: decisions_made v1")), "{lines:?}");
}

#[test]
fn no_line_of_the_tree_is_wider_than_the_window() {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha\n");
    let model =
        place.script("[{calls: [{read: {path: a.txt}}], delay_ms: 150}, {text: Done., delay_ms: 150}]");
    for columns in [40, 12, 1] {
        let task = "A task with a name that is longer than any of these windows is wide 日本語";
        let mut command = place.posse(["run", "--model", &model, task]);
        command.env("NO_COLOR", "1");
        let (ran, shown) = on_terminal(columns, command);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
        assert!(!shown.contains("\u{1b}[3"), "no colours: {shown:?}");
        let tree = lines(&shown);
        let tree =
            tree.iter().filter(|line| ["◐", "◓", "◑", "◒", "✓"].iter().any(|mark| line.contains(mark)));
        for line in tree {
            assert!(line.chars().count() < usize::from(columns), "{columns}: {line}");
        }
    }
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
    sees("/quit or Ctrl-D");
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
fn a_resumed_tree_counts_what_was_used_before() {
    let place = Place::new();
    let script =
        "[{calls: [{ls: {}}]}, {calls: [{ls: {}}, {glob: {pattern: a}}]}, {text: Done., delay_ms: 600000}]";
    let model = place.script(script);
    let mut running = Running::start(place.posse(["run", "--json", "--model", &model, "Go"]));
    let turn = running.until(|event| event["type"] == "turn" && event["turn"] == 3);
    let id = turn["task_id"].as_str().unwrap().to_owned();
    running.kill();
    place.script(&script.replace("600000", "300"));
    let mut command = place.posse(["tasks", "resume", &id]);
    command.env("NO_COLOR", "1");
    let (ran, shown) = on_terminal(160, command);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
    let shown = lines(&shown);
    let has_zero =
        |line: &&String| line.contains("0/") || line.contains(" 0 tokens") || line.contains(" 0 tools");
    assert_eq!(shown.iter().find(has_zero), None, "{shown:?}");
    let under_way = |line: &String| line.contains("turn 3/") && line.contains(" 3 tools ");
    assert!(shown.iter().any(under_way), "{shown:?}");
    let row = shown.iter().rfind(|line| line.starts_with("✓ ")).unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    let summary = shown.iter().rfind(|line| line.starts_with(&format!("{id} · completed"))).unwrap();
    let counters =
        format!(" · {} · {} · {} · ", row[2..4].join(" "), row[4..6].join(" "), row[6..8].join(" "));
    assert!(
        counters.starts_with(" · 3 turns · 3 tools · ") && summary.contains(&counters),
        "{row:?}: {summary}"
    );
    let listed = place.run(["tasks", "list"]).stdout;
    assert!(listed.contains("  3  ") && listed.contains(row[6]), "{listed} {row:?}");
}
