//! A shell in a tmux window: what a person at a real terminal types and sees.

use std::process::{Command, Output};

use crate::support::{Place, until};

/// A tmux server of one test, with one window that runs a shell in the workspace.
pub struct TmuxScreen {
    socket: String,
}

impl TmuxScreen {
    /// Opens a window of this size; `None` where tmux is not installed, which `cargo xtask test` reports.
    pub fn open(place: &Place, columns: u16, rows: u16) -> Option<Self> {
        Self::open_with(place, columns, rows, &[])
    }

    /// Opens a window whose shell has these variables as well.
    pub fn open_with(place: &Place, columns: u16, rows: u16, variables: &[&str]) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("skipped: there is no tmux");
            return None;
        }
        let programs = place.root().join("programs");
        if std::fs::create_dir(&programs).is_ok() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_posse"), programs.join("posse")).unwrap();
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let socket = place.root().join(format!("tmux-{columns}-{rows}")).display().to_string();
        let screen = Self { socket };
        let environment = [
            format!("HOME={}", place.home().display()),
            format!("POSSE_STATE={}", place.state().display()),
            format!("PATH={}:{path}", programs.display()),
            "TERM=screen-256color".to_owned(),
            "TMUX=1".to_owned(),
            "LANG=C.UTF-8".to_owned(),
            "PS1=$ ".to_owned(),
        ];
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let workspace = place.workspace().display().to_string();
        let mut new = vec!["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows];
        new.extend(["-c", workspace.as_str(), "env", "-i"]);
        new.extend(environment.iter().map(String::as_str));
        new.extend(variables);
        new.extend(["bash", "--norc", "--noprofile"]);
        screen.tmux(&new);
        screen.sees("$");
        Some(screen)
    }

    pub fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.ask(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-S", &self.socket]).args(arguments).output().unwrap()
    }

    /// Types a command line and Enter.
    pub fn line(&self, text: &str) {
        self.types(text);
        self.press("Enter");
    }

    /// Runs `posse` on a cleared screen; its exit code is shown at the end.
    pub fn runs(&self, arguments: &str) {
        self.line(&format!("clear; posse {arguments}; echo exit $?"));
    }

    pub fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Presses a key until something is seen: some keys count only a moment after a question is shown.
    pub fn presses_until(&self, key: &str, text: &str) {
        until(&format!("{text} after {key}"), || {
            self.press(key);
            std::thread::park_timeout(std::time::Duration::from_millis(50));
            self.has(text).then_some(())
        });
    }

    /// Pastes a text as a terminal does, in brackets.
    pub fn pastes(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Returns the rows of the screen with times left out, without the empty ones at its end.
    pub fn rows(&self) -> Vec<String> {
        self.capture(&[])
    }

    /// Returns every line that was ever shown, with lines that the window wrapped in one piece.
    pub fn history(&self) -> Vec<String> {
        self.capture(&["-S", "-", "-J"])
    }

    fn capture(&self, arguments: &[&str]) -> Vec<String> {
        let text = self.tmux(&[&["capture-pane", "-p"], arguments].concat());
        let mut rows: Vec<String> = text.lines().map(timeless).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Returns the number of lines that were scrolled away.
    pub fn scrolled(&self) -> usize {
        self.tmux(&["display", "-p", "#{history_size}"]).trim().parse().unwrap()
    }

    /// Tells whether a row holds this text.
    pub fn has(&self, text: &str) -> bool {
        self.rows().iter().any(|row| row.contains(text))
    }

    /// Waits until a row holds this text; returns the screen.
    pub fn sees(&self, text: &str) -> String {
        let mut seen = String::new();
        let found = self.waits(|rows| {
            seen = rows.join("\n");
            seen.contains(text)
        });
        assert!(found, "`{text}` never appeared:\n{seen}");
        seen
    }

    /// Waits until the whole screen is this text; the line that says mode and sandbox is left out, for it depends on the
    /// machine.
    pub fn shows(&self, expected: &str) {
        let expected = expected.trim_matches('\n');
        let mut shown = String::new();
        let found = self.waits(|rows| {
            let is_mode =
                |row: &&String| ["auto · ", "ask · ", "plan · "].iter().any(|mode| row.starts_with(mode));
            let rows: Vec<&str> = rows.iter().filter(|row| !is_mode(row)).map(String::as_str).collect();
            shown = rows.join("\n").trim_matches('\n').to_owned();
            shown == expected
        });
        assert!(found, "expected:\n{expected}\n\nshown:\n{shown}\n");
    }

    fn waits(&self, mut is_right: impl FnMut(&[String]) -> bool) -> bool {
        let deadline = std::time::Instant::now() + crate::support::PATIENCE;
        loop {
            if is_right(&self.rows()) {
                return true;
            }
            if std::time::Instant::now() > deadline {
                return false;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
    }

    /// Waits until the bell has rung in the window, which nobody looks at.
    pub fn hears_the_bell(&self) {
        until("the bell", || {
            (self.tmux(&["display", "-p", "#{window_bell_flag}"]).trim() == "1").then_some(())
        });
    }

    /// Returns the process that the shell runs.
    pub fn child(&self) -> i32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let children = format!("/proc/{0}/task/{0}/children", shell.trim());
        let children = std::fs::read_to_string(children).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Tells whether a full-screen view has the terminal.
    pub fn is_full_screen(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }
}

impl Drop for TmuxScreen {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

/// Replaces the times of a row, which depend on the machine: elapsed times at its end vanish, others become `#s`.
fn timeless(row: &str) -> String {
    let row = row.trim_end();
    let is_time = |word: &str| {
        let digits = word.strip_suffix('s').unwrap_or_default().replacen('m', "", 1);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    };
    let mut out = String::new();
    for word in row.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let text = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        out.push_str(if is_time(text) { "#s" } else { text });
        out.push_str(&word[text.len()..]);
    }
    out.trim_end_matches("#s").trim_end().to_owned()
}
