//! Help: the command line with texts in the language of the process, and its man pages.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use posse_core::Result;
use posse_mcp::files::unwritable;
use posse_messages::say;
use posse_terminal::help::{complaint, with_texts};

use crate::args::{CliArgs, HelpArgs};
use crate::{terminal, wire};

/// Parses the command line. Only a mistake or a question pays for texts: it is parsed again with them.
pub fn parse(words: &[OsString]) -> Result<CliArgs, clap::Error> {
    CliArgs::try_parse_from(words).or_else(|_| {
        let matches = command().try_get_matches_from(words)?;
        CliArgs::from_arg_matches(&matches)
    })
}

/// Returns the whole command line with its texts.
pub fn command() -> Command {
    with_texts(CliArgs::command())
}

/// Shows the help of a command, or writes the man pages.
pub fn run(args: &HelpArgs) -> Result<ExitCode> {
    if let Some(directory) = &args.man {
        return write_man_pages(directory);
    }
    let words = std::iter::once("posse").chain(args.topic.iter().map(String::as_str)).chain(["--help"]);
    let words: Vec<OsString> = words.map(OsString::from).collect();
    match parse(&words) {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(e) => fail(&e, &words),
    }
}

/// Prints the help of `posse` itself to standard error, for a command line that asks for nothing.
pub fn show_short() {
    terminal::note(command().render_help().to_string().trim_end());
}

fn write_man_pages(directory: &Path) -> Result<ExitCode> {
    let failed = |e: std::io::Error| unwritable(directory).caused_by(e).hint(say!("check-writable-here"));
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(command().disable_help_subcommand(true), directory).map_err(failed)?;
    terminal::note(&say!("man-pages-written", directory = directory.display()));
    Ok(ExitCode::SUCCESS)
}

/// Prints a usage error, help or version, and exits. The flags were not parsed, so `--json` is searched among the
/// words.
pub fn fail(e: &clap::Error, words: &[OsString]) -> ! {
    let Some(error) = complaint(e, words, &CliArgs::command()) else { e.exit() };
    terminal::error(&error);
    if words.iter().any(|word| word == "--json") {
        terminal::out(&wire::error(&error).to_string());
    }
    std::process::exit(e.exit_code())
}
