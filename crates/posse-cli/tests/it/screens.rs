//! Whole screens of `posse run` in tmux, with models that do not answer before the test has looked.

use std::process::{Command, Output};

use crate::support::{Place, until};

/// A tmux server of its own with one window.
struct TmuxScreen {
    socket: String,
}

impl TmuxScreen {
    /// Runs `posse` in a window of this size; `None` where there is no tmux. Afterwards the window shows its exit code.
    fn start(place: &Place, columns: u16, rows: u16, args: &[&str]) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("skipped: there is no tmux");
            return None;
        }
        let words: Vec<String> = args.iter().map(|word| format!("'{word}'")).collect();
        let script = format!(
            "#!/bin/sh\ncd {}\nenv -i HOME={} POSSE_STATE={} PATH=\"$PATH\" TERM=\"$TERM\" TMUX=1 LANG=C.UTF-8 {} {}\n\
             echo \"exit $?\"\nexec sleep 600\n",
            place.workspace().display(),
            place.home().display(),
            place.state().display(),
            env!("CARGO_BIN_EXE_posse"),
            words.join(" "),
        );
        let script = place.write_program("go.sh", &script);
        let socket = format!("posse-{}-{columns}-{rows}", std::process::id());
        let screen = Self { socket };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let new = ["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows];
        screen.tmux(&[&new[..], &[script.to_str().unwrap()]].concat());
        Some(screen)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-L", &self.socket]).args(arguments).output().unwrap()
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Returns the rows of the screen with times left out, without the empty ones at its end.
    fn rows(&self) -> Vec<String> {
        self.capture(&[])
    }

    /// Returns every line that was ever shown, with lines that the window wrapped in one piece.
    fn history(&self) -> Vec<String> {
        self.capture(&["-S", "-", "-J"])
    }

    fn capture(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.tmux(&[&["capture-pane", "-p"], arguments].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        let mut rows: Vec<String> = text.lines().map(without_time).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Returns the number of lines that were scrolled away.
    fn scrolled(&self) -> usize {
        let output = self.tmux(&["display", "-p", "#{history_size}"]);
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }

    /// Waits until a row holds this text.
    fn sees(&self, text: &str) {
        until(text, || self.rows().iter().any(|row| row.contains(text)).then_some(()));
    }
}

impl Drop for TmuxScreen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Cuts the time at the end of a row: it depends on the machine.
fn without_time(row: &str) -> String {
    let row = row.trim_end();
    let last = row.rsplit(' ').next().unwrap_or_default();
    let is_time = last.len() > 1
        && last.ends_with('s')
        && last[..last.len() - 1].chars().all(|c| c.is_ascii_digit() || c == 'm');
    let row = if is_time { &row[..row.len() - last.len()] } else { row };
    row.trim_end().to_owned()
}

/// An orchestrator that spawns these tasks and waits for them; the answers of its workers take this long.
fn family(place: &Place, tasks: &[&str], delay_ms: u64) -> String {
    let calls: Vec<String> = tasks
        .iter()
        .map(|task| format!("{{subagent: {{action: spawn, agent: worker, task: \"{task}\", queue: true}}}}"))
        .collect();
    let script = format!(
        "boss:\n- {{text: \"I look at **all** of it.\", calls: [{}]}}\n\
         - {{calls: [subagent: {{action: wait, mode: all, timeout_ms: 30000}}], repeat_until: '\"timed_out\":false'}}\n\
         - text: All is fine.\n\
         worker:\n- {{text: I look., calls: [{{ls: {{}}}}]}}\n- {{text: Fine., delay_ms: {delay_ms}}}\n",
        calls.join(", ")
    );
    let model = place.script(&script);
    let agent = format!("---\nname: worker\ndescription: Works\nmodel: {model}#worker\n---\nYou work.\n");
    place.write("home/.config/posse/agents/worker.md", &agent);
    format!("{model}#boss")
}

const THREE: [&str; 3] = ["Token checks in src/auth", "Session expiry", "Tests for the gaps"];
/// Longer than any test.
const NEVER_MS: u64 = 3_600_000;

fn run<'a>(model: &'a str, task: &'a str) -> [&'a str; 6] {
    ["run", "--mode", "plan", "--model", model, task]
}

#[test]
fn three_subagents_at_four_widths() {
    let place = Place::new();
    let model = family(&place, &THREE, NEVER_MS);
    let screens = [
        (
            60,
            "
● root     Review the auth c…  waits for 3 subagen…  $0.000
├─ ● t_01  Token checks in s…  waiting for the mod…  $0.000
├─ ● t_02  Session expiry      waiting for the mod…  $0.000
└─ ● t_03  Tests for the gaps  waiting for the mod…  $0.000
  ↑↓ select   s steer   c cancel   q leave   ? keys",
        ),
        (
            80,
            "
● orchestrator    Review the auth code  waits for 3 subagents     $0.000
├─ ● worker t_01  Token checks in src…  waiting for the model     $0.000
├─ ● worker t_02  Session expiry        waiting for the model     $0.000
└─ ● worker t_03  Tests for the gaps    waiting for the model     $0.000
  ↑↓ select   s steer   c cancel   q leave   ? keys",
        ),
    ];
    for (columns, tree) in screens {
        let Some(screen) = TmuxScreen::start(&place, columns, 24, &run(&model, "Review the auth code"))
        else {
            return;
        };
        let live = || {
            let rows = screen.rows();
            let from = rows.iter().position(|row| row.starts_with('●'))?;
            (rows[from..].join("\n") == tree.trim()).then_some(rows)
        };
        let rows = until(&format!("{columns}: {tree}\n{:?}", screen.rows()), live);
        assert!(rows.contains(&"I look at all of it.".to_owned()), "{rows:?}");
    }
    for columns in [120, 200] {
        let Some(screen) = TmuxScreen::start(&place, columns, 24, &run(&model, "Review the auth code"))
        else {
            return;
        };
        screen.sees("turn 2/");
        let rows = screen.rows();
        let row = rows.iter().find(|row| row.contains("t_01")).unwrap();
        assert!(row.contains("Token checks in src/auth") && row.contains("waiting for the model"), "{row}");
        assert!(rows.iter().all(|row| row.chars().count() < usize::from(columns)), "{rows:?}");
    }
}

#[test]
fn twenty_subagents_do_not_fill_the_scrollback() {
    let place = Place::new();
    let tasks: Vec<String> = (1..=20).map(|n| format!("Check crate {n}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let model = family(&place, &tasks, 700);
    let Some(screen) = TmuxScreen::start(&place, 80, 12, &run(&model, "Check every crate")) else { return };
    screen.sees("more queued");
    screen.sees("completed");
    let scrolled = screen.scrolled();
    assert!(scrolled <= 2, "the tree was scrolled away {scrolled} times: {:?}", screen.history());
    screen.sees("exit 0");
    let history = screen.history();
    for line in ["I look at all of it.", "All is fine."] {
        assert_eq!(history.iter().filter(|row| *row == line).count(), 1, "{line}: {history:?}");
    }
    assert_eq!(history.iter().filter(|row| row.contains("● orchestrator")).count(), 0, "{history:?}");
}

#[test]
fn a_resize_keeps_every_line_once_and_one_tree() {
    let place = Place::new();
    let model = family(&place, &THREE, NEVER_MS);
    let Some(screen) = TmuxScreen::start(&place, 80, 20, &run(&model, "Review the auth code")) else {
        return;
    };
    screen.sees("t_03");
    for columns in [120, 60, 100] {
        screen.resize(columns, 20);
        until("the tree has the new width", || {
            let rows = screen.rows();
            let trees = rows.iter().filter(|row| row.contains("t_03")).count();
            let is_wide = rows.iter().any(|row| row.contains("● orchestrator")) == (columns > 60);
            (trees == 1 && is_wide).then_some(())
        });
    }
    let history = screen.history();
    assert_eq!(history.iter().filter(|row| *row == "I look at all of it.").count(), 1, "{history:?}");
}

#[test]
fn ctrl_c_leaves_a_tree_that_says_how_to_resume_it() {
    let place = Place::new();
    let model = family(&place, &THREE, NEVER_MS);
    let Some(screen) = TmuxScreen::start(&place, 80, 24, &run(&model, "Review the auth code")) else {
        return;
    };
    screen.sees("t_03");
    screen.press("C-c");
    screen.sees("exit 130");
    let rows = screen.rows();
    let from = rows.iter().position(|row| row.starts_with("‖ interrupted after")).unwrap();
    assert_eq!(
        rows[from + 1..from + 4].iter().filter(|row| row.contains("‖ worker t_0")).count(),
        3,
        "{rows:?}"
    );
    let root = place.tasks().into_iter().find(|row| row["parent"].is_null()).unwrap();
    let id = root["task_id"].as_str().unwrap();
    assert_eq!(
        (rows[from + 4].trim(), &root["status"]),
        (format!("resume: posse tasks resume {id}").as_str(), &"interrupted".into())
    );
    family(&place, &THREE, 0);
    assert_eq!(place.run(["tasks", "resume", id]).stdout, "All is fine.\n");
}

#[test]
fn a_task_that_is_left_goes_on_in_the_background_and_can_be_watched_again() {
    let place = Place::new();
    let model = family(&place, &THREE, 1_500);
    let Some(screen) = TmuxScreen::start(&place, 80, 24, &run(&model, "Review the auth code")) else {
        return;
    };
    screen.sees("t_03");
    screen.press("q");
    screen.sees("exit 0");
    let id = place.tasks().into_iter().find(|row| row["parent"].is_null()).unwrap()["task_id"]
        .as_str()
        .unwrap()
        .to_owned();
    screen.sees(&format!("{id} goes on: posse tasks watch {id}"));
    let watched = place.run(["tasks", "watch", &id]);
    assert_eq!((watched.code, watched.stdout.as_str()), (0, "All is fine.\n"), "{watched:?}");
}
