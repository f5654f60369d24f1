//! A terminal emulator at the other end of a pseudo terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use posse_console::ConsoleIo;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Emulator that shows what is written and answers questions for the cursor.
pub struct PtyScreen {
    hand: File,
    side: OwnedFd,
    seen: Arc<Mutex<SeenOutput>>,
}

struct SeenOutput {
    terminal: vt100::Parser,
    bytes: String,
    answers: bool,
}

fn cells(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

impl PtyScreen {
    /// Opens a terminal of this size; `answers` tells whether it says where its cursor is.
    pub fn new(columns: u16, rows: u16, answers: bool) -> Self {
        let hand = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&hand).unwrap();
        unlockpt(&hand).unwrap();
        let name = ptsname(&hand, Vec::new()).unwrap();
        let side = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let terminal = vt100::Parser::new(cells(rows), cells(columns), 1_000);
        let seen = Arc::new(Mutex::new(SeenOutput { terminal, bytes: String::new(), answers }));
        let screen = Self { hand: File::from(hand), side, seen };
        screen.set_size(columns, rows);
        screen.watch();
        screen
    }

    fn watch(&self) {
        let (mut hand, seen) = (self.hand.try_clone().unwrap(), self.seen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = hand.read(&mut bytes) {
                let mut seen = seen.lock().unwrap();
                seen.terminal.process(&bytes[..count]);
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                seen.bytes.push_str(&text);
                if text.contains("\x1b[6n") && seen.answers {
                    let (row, column) = seen.terminal.screen().cursor_position();
                    write!(hand, "\x1b[{};{}R", row + 1, column + 1).unwrap();
                }
            }
        });
    }

    fn set_size(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.side, size).unwrap();
    }

    /// Changes the size as a window does.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.seen.lock().unwrap().terminal.screen_mut().set_size(cells(rows), cells(columns));
        self.set_size(columns, rows);
        // The pseudo terminal is nobody's controlling terminal, so nobody else sends the signal.
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::WINCH).unwrap();
    }

    pub fn io(&self) -> ConsoleIo {
        ConsoleIo::new(Some(self.side.try_clone().unwrap()), self.side.try_clone().unwrap())
    }

    pub fn types(&mut self, text: &str) {
        self.hand.write_all(text.as_bytes()).unwrap();
    }

    /// Tells whether typed keys would be shown by the terminal itself.
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.side).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Returns everything that was written.
    pub fn bytes(&self) -> String {
        self.seen.lock().unwrap().bytes.clone()
    }

    /// Returns the rows of the screen, without those that are empty at its end.
    pub fn rows(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let screen = seen.terminal.screen();
        let mut rows: Vec<String> =
            screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Waits until the screen shows exactly these rows.
    pub async fn shows(&self, expected: &[&str]) {
        self.until(&format!("{expected:?}"), || self.rows() == expected).await;
    }

    /// Waits until something holds.
    pub async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "{what}\n{:?}\n{:?}", self.rows(), self.bytes());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
