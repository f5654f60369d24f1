//! A line that is typed and not shown, such as a key.

use std::io::{self, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios};

/// Longest text that is typed at a hidden prompt.
const HIDDEN_BYTES_MAX: usize = 4096;

/// Asks on standard error and reads a line that is not shown, only a dot per character; `None` if it was broken off with Ctrl-C or Ctrl-D.
pub fn read_hidden(question: &str) -> Option<String> {
    prompt(question);
    let hidden = HiddenInput::begin()?;
    let mut typed: Vec<u8> = Vec::new();
    let mut byte = [0];
    let read = loop {
        match io::stdin().lock().read(&mut byte) {
            Ok(0) | Err(_) => break None,
            Ok(_) => {}
        }
        match byte[0] {
            b'\r' | b'\n' => break Some(()),
            // Ctrl-C, and Ctrl-D in an empty line.
            3 => break None,
            4 if typed.is_empty() => break None,
            8 | 127 => {
                let shown = String::from_utf8_lossy(&typed).chars().count();
                while typed.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
                if shown > 0 {
                    prompt("\u{8} \u{8}");
                }
            }
            // Ctrl-U clears the line.
            21 => {
                let shown = String::from_utf8_lossy(&typed).chars().count();
                typed.clear();
                prompt(&"\u{8} \u{8}".repeat(shown));
            }
            control if control < 32 => {}
            letter if typed.len() < HIDDEN_BYTES_MAX => {
                typed.push(letter);
                if letter & 0xC0 != 0x80 {
                    prompt("•");
                }
            }
            _ => {}
        }
    };
    drop(hidden);
    prompt("\n");
    read.and_then(|()| String::from_utf8(typed).ok())
}

/// Terminal that shows nothing of what is typed. Dropping it restores the modes.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> Option<Self> {
        let before = rustix::termios::tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        // Signals are off too: Ctrl-C must not end the process before the modes are restored.
        hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, &hidden).ok()?;
        Some(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        let _ = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

fn prompt(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
