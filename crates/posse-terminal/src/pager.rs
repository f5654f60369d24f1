//! A pager: a program that shows a text one screen at a time.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Settings of `less` for those who have none: leave at once if it fits, keep colors, do not clear the screen.
const LESS: &str = "FRX";

/// Shows a text with this command line, such as `less -R`, and waits until the person leaves.
///
/// `has_settings` tells that `less` has settings of its own in the environment.
pub fn show(command: &str, has_settings: bool, text: &str) -> io::Result<()> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if !has_settings {
        command.env("LESS", LESS);
    }
    let mut pager = command.spawn()?;
    if let Some(mut input) = pager.stdin.take() {
        // Someone who has seen enough leaves early.
        let _ = input.write_all(text.as_bytes());
    }
    pager.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_gets_the_text_and_the_usual_settings_and_a_missing_one_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let (script, seen) = (directory.path().join("pager"), directory.path().join("seen"));
        std::fs::write(&script, format!("(cat; echo $LESS) > {}", seen.display())).unwrap();
        show(&format!("sh {}", script.display()), false, "text\n").unwrap();
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), "text\nFRX\n");
        assert_eq!(show("posse-no-such-pager", true, "").unwrap_err().kind(), io::ErrorKind::NotFound);
        // It leaves before the text ends.
        show("true", true, &"x".repeat(1 << 20)).unwrap();
    }
}
