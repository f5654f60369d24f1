//! Output for people and pipes. A closed pipe ends nothing: the task continues and stays in the store.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{Local, TimeZone};
use posse_console::{ConsoleIo, ConsoleOptions, NoticeForm};
use posse_core::Error;
use posse_core::text::visible;
use posse_messages::say;
use posse_terminal::pager;
use posse_terminal::rows::TreeLayout;
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::Value;
use tokio::signal::unix::SignalKind;

use posse_setup::config::SymbolChoice;

/// True once a write to standard output has failed.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Prints to standard output.
pub fn out(text: &str) {
    // A reader that stops early is no error.
    if let Err(e) = try_out(text)
        && e.kind() != io::ErrorKind::BrokenPipe
        && !FAILED.swap(true, Ordering::Relaxed)
    {
        note(&say!("stdout-failed", why = e));
    }
}

/// Tells if output was lost for another reason than a closed pipe.
pub fn output_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

fn try_out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}

/// Prints an answer: unchanged for a program, without control characters at a terminal. If that fails, so does the
/// command; a closed pipe counts as done.
pub fn deliver(text: &str) {
    let shown = if io::stdout().is_terminal() { visible(text) } else { text.into() };
    if let Err(e) = try_out(&shown)
        && e.kind() != io::ErrorKind::BrokenPipe
    {
        FAILED.store(true, Ordering::Relaxed);
        note(&say!("answer-not-written", why = e));
    }
}

/// Prints a text for people, without control characters, or the value for programs.
pub fn show(json: bool, text: &str, value: &Value) {
    if json { out(&value.to_string()) } else { out(&visible(text)) }
}

/// Prints text of a model, a tool or a file: unchanged for a program, without control characters at a terminal.
pub fn out_foreign(text: &str) {
    if io::stdout().is_terminal() {
        out(&visible(text));
    } else {
        out(text);
    }
}

/// Prints text of a model, a tool or a file as [`out_foreign`] does, through a pager if it is longer than the terminal.
pub fn page_text(text: &str) {
    if io::stdout().is_terminal() { page(&visible(text)) } else { out(text) }
}

/// Prints a text, through a pager if it is longer than the terminal.
pub fn page(text: &str) {
    let is_shown = pager(text).is_some_and(|command| {
        // Ctrl-C is for the pager.
        let _held = crate::signals::receiver(SignalKind::interrupt());
        pager::show(&command, variable("LESS").is_some(), &format!("{text}\n")).is_ok()
    });
    if !is_shown {
        out(text);
    }
}

/// Returns the command line of the pager, if one is wanted here and the text needs one.
fn pager(text: &str) -> Option<String> {
    let is_dumb = variable("TERM").is_some_and(|name| name == "dumb");
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 1)?;
    let columns = usize::from(size.ws_col.max(1));
    let rows: usize = text.lines().map(|line| line.chars().count().div_ceil(columns).max(1)).sum();
    if is_dumb || !io::stdout().is_terminal() || rows < usize::from(size.ws_row) {
        return None;
    }
    match std::env::var("PAGER") {
        // Set to nothing, or to a program that is no pager: none is wanted.
        Ok(named) => Some(named).filter(|named| !matches!(named.trim(), "" | "cat")),
        Err(_) => Some("less".to_owned()),
    }
}

/// The terminal of this process.
pub struct TerminalFacts {
    pub name: String,
    pub columns: u16,
    pub rows: u16,
    /// A screen fits; below that size output is lines.
    pub has_room: bool,
    pub is_colored: bool,
    pub is_utf8: bool,
}

/// Looks at the terminal; `None` if a person reads no output here.
pub fn facts() -> Option<TerminalFacts> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    let (columns, rows) = (size.ws_col, size.ws_row);
    Some(TerminalFacts {
        name: variable("TERM").unwrap_or_else(|| "?".to_owned()),
        columns,
        rows,
        has_room: TreeLayout::has_room(columns.into(), rows.into()),
        is_colored: colours_are_wanted() && variable("TERM").is_none_or(|name| name != "dumb"),
        is_utf8: symbols() == SymbolSet::Unicode,
    })
}

/// Tells whether this terminal is a pane of tmux.
pub fn is_in_tmux() -> bool {
    variable("TMUX").is_some()
}

/// Prints to standard error.
pub fn note(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.write_all(b"\n"));
}

/// Prints a remark to standard error; at a terminal it is wrapped between words.
pub fn remark(text: &str) {
    let width = if stderr_is_terminal() { width().saturating_sub(1) } else { usize::MAX };
    for line in text.lines().flat_map(|line| StyledLine::plain(line).wrap_words(width, "  ")) {
        note(&line.text());
    }
}

/// Prints a question to standard error, without a line end.
pub fn prompt(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Prints a warning with its hint.
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

/// Tells whether a terminal shows any output of this process.
pub fn is_shown() -> bool {
    io::stdout().is_terminal() || stderr_is_terminal()
}

pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Returns the terminal that a screen can use: not a dumb one, large enough, and not that of a job in the background.
pub fn screen() -> Option<ConsoleIo> {
    let is_dumb = variable("TERM").is_some_and(|name| name == "dumb");
    let io = ConsoleIo::of_process().ok().flatten().filter(|_| !is_dumb)?;
    let size = io.size();
    TreeLayout::has_room(size.columns, size.rows).then_some(io)
}

/// Tells if a person can answer at this terminal.
pub fn is_attended() -> bool {
    screen().is_some_and(|io| io.has_input())
}

/// Tells whether a person reads all output here and types, so that the whole screen can be used.
pub fn has_full_screen() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && screen().is_some()
}

/// Returns the looks of a screen: colors, characters, and how it calls for attention.
pub fn looks() -> ConsoleOptions {
    ConsoleOptions {
        palette: if colours_are_wanted() { StylePalette::Ansi } else { StylePalette::Plain },
        symbols: symbols(),
        has_paste: true,
        notice: if is_in_tmux() { NoticeForm::Bell } else { NoticeForm::BellAndText },
    }
}

/// Formats a time as the clock on the wall shows it, such as `14:02:31`.
pub fn clock(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at_ms| Local.timestamp_millis_opt(at_ms).single());
    at.map(|at| at.format("%H:%M:%S").to_string()).unwrap_or_default()
}

/// The person's choice of characters, for every screen and list of this process.
static CHOICE: OnceLock<SymbolChoice> = OnceLock::new();

/// Takes the person's choice of characters.
pub fn choose_symbols(choice: SymbolChoice) {
    // The first choice counts; there is one per process.
    let _ = CHOICE.set(choice);
}

/// Returns the characters for marks, branches and ellipses.
pub fn symbols() -> SymbolSet {
    match CHOICE.get().copied().unwrap_or_default() {
        SymbolChoice::Auto => safe_symbols(),
        SymbolChoice::Unicode => SymbolSet::Unicode,
        SymbolChoice::Ascii => SymbolSet::Ascii,
    }
}

/// ASCII where the locale is not UTF-8, and where box drawing may be two columns wide or missing.
fn safe_symbols() -> SymbolSet {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    let is_utf8 = locale.is_empty() || locale.contains("utf");
    let is_wide = ["ja", "zh", "ko"].iter().any(|language| locale.starts_with(language));
    let is_console = variable("TERM").is_some_and(|name| name == "linux");
    if is_utf8 && !is_wide && !is_console { SymbolSet::Unicode } else { SymbolSet::Ascii }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Tells whether something can be read within this time, be it the end of the input.
pub fn is_readable(input: impl AsFd, time: Duration) -> bool {
    let mut wanted = [PollFd::new(&input, PollFlags::IN)];
    let time = Timespec::try_from(time).ok();
    rustix::event::poll(&mut wanted, time.as_ref()).is_ok_and(|ready| ready > 0)
}

/// Returns the columns of the terminal, 80 if unknown.
pub fn width() -> usize {
    let told = rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| size.ws_col);
    told.filter(|columns| *columns > 0).map_or(80, usize::from)
}

pub fn colours() -> bool {
    stderr_is_terminal() && colours_are_wanted()
}

/// Tells whether the user has not turned colors off.
pub fn colours_are_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Colors a line of a unified diff, unless colors are off.
pub fn diff_line(line: &str) -> String {
    let colour = match line.as_bytes() {
        _ if !colours_are_wanted() => return line.to_owned(),
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
        [b'+', ..] => "32",
        [b'-', ..] => "31",
        [b'@', b'@', ..] => "36",
        _ => return line.to_owned(),
    };
    format!("\x1b[{colour}m{line}\x1b[0m")
}
