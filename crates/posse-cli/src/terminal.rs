//! Writing for people and pipes. A closed pipe ends nothing: the task goes on and stays in the store.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use posse_core::Error;
use posse_core::text::visible;
use posse_messages::say;

/// Standard output is one for the whole process, and so is whether it took everything.
static FAILED: AtomicBool = AtomicBool::new(false);

/// To standard output: what can be piped.
pub fn out(text: &str) {
    // Listings that nobody reads to the end are not an error.
    if let Err(e) = try_out(text)
        && e.kind() != io::ErrorKind::BrokenPipe
        && !FAILED.swap(true, Ordering::Relaxed)
    {
        note(&say!("stdout-failed", why = e));
    }
}

/// Whether something was lost on its way to standard output, for another reason than a reader that has gone away.
pub fn output_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

fn try_out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}

/// Standard output could not take the answer, for another reason than a reader that has gone away.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum OutputDelivery {
    Done,
    Failed,
}

/// Prints an answer: unchanged for a program, and for a person without characters that steer the terminal.
pub fn deliver(text: &str) -> OutputDelivery {
    let shown = if io::stdout().is_terminal() { visible(text) } else { text.into() };
    match try_out(&shown) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            note(&say!("answer-not-written", why = e));
            OutputDelivery::Failed
        }
        Ok(()) | Err(_) => OutputDelivery::Done,
    }
}

/// Text of a model, a tool or a file to standard output: unchanged for a program, and for a person without characters
/// that steer the terminal.
pub fn out_foreign(text: &str) {
    if io::stdout().is_terminal() {
        out(&visible(text));
    } else {
        out(text);
    }
}

/// To standard error: everything else.
pub fn note(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.write_all(b"\n"));
}

/// What is left out because of it, with what can be done about it.
pub fn warn(problem: &Error) {
    note(&say!("warning", text = visible(problem.message())));
    if let Some(hint) = problem.advice() {
        note(&format!("  {}", say!("error-hint", hint = visible(hint))));
    }
}

pub fn error(error: &Error) {
    note(&format!("{}[{}]: {}", say!("state-error"), error.code(), visible(error.message())));
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        note(&format!("  {}", say!("error-because", cause = visible(&cause.to_string()))));
        source = cause.source();
    }
    if let Some(hint) = error.advice() {
        note(&format!("  {}", say!("error-hint", hint = visible(hint))));
    }
}

pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether somebody can read what is shown and answer.
pub fn is_attended() -> bool {
    io::stdin().is_terminal() && stderr_is_terminal()
}

/// Forgets what was typed and not read yet, also half a line.
pub fn discard_typed() {
    // SAFETY: takes a descriptor and a constant. Where there is no terminal it fails, and there is nothing to forget.
    let _ = unsafe { libc::tcflush(libc::STDIN_FILENO, libc::TCIFLUSH) };
}

/// Columns of the terminal, 80 if it does not say.
pub fn width() -> usize {
    size().0
}

/// Columns and rows of the terminal, 80 by 24 if it does not say.
pub fn size() -> (usize, usize) {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one winsize to the pointer it is given.
    let answered = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &mut size) } == 0;
    let or = |told: u16, usual: usize| if answered && told > 0 { usize::from(told) } else { usual };
    (or(size.ws_col, 80), or(size.ws_row, 24))
}

pub fn colours() -> bool {
    stderr_is_terminal() && colours_are_wanted()
}

fn colours_are_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A line of a unified diff in the colors that people know, unless they want none.
pub fn diff_line(line: &str) -> String {
    diff_piece(line, line)
}

/// A piece of a line of a unified diff, in the color of the line.
pub fn diff_piece(line: &str, piece: &str) -> String {
    let colour = match line.as_bytes() {
        _ if !colours_are_wanted() => return piece.to_owned(),
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
        [b'+', ..] => "32",
        [b'-', ..] => "31",
        [b'@', b'@', ..] => "36",
        _ => return piece.to_owned(),
    };
    format!("\x1b[{colour}m{piece}\x1b[0m")
}
