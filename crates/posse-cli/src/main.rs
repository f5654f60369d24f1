//! The binary `posse`: flags, configuration, wiring, terminal. The only member that reads the environment, the home
//! directory or configuration files.

mod agents;
mod args;
mod columns;
mod commands;
mod config;
mod desk;
mod edits;
mod envelope;
mod help;
mod language;
mod material;
mod models;
mod owner;
mod projects;
mod render;
mod retention;
mod servers;
mod setup;
mod signals;
mod sizes;
mod spans;
mod telemetry;
mod terminal;
mod wire;
mod worktrees;

use std::process::ExitCode;

use posse_core::{Error, ErrorCode};
use posse_messages::say;

fn main() -> ExitCode {
    let mut raw = std::env::args_os().skip(1);
    if raw.next().is_some_and(|first| first == posse_tools::supervisor::ARGUMENT) {
        posse_tools::supervisor::supervise_main(raw);
    }
    hide_environment();
    ignore_file_size_signal();
    language::choose();
    let args = match help::parse() {
        Ok(args) => args,
        Err(e) => wrong_usage(&e),
    };
    let json = args.global.json;
    match commands::dispatch(args) {
        Ok(_) if terminal::output_failed() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(e) => {
            terminal::error(&e);
            if json {
                terminal::out(&wire::error(&e).to_string());
            }
            signals::exit_code().unwrap_or(ExitCode::FAILURE)
        }
    }
}

/// Help and version end here too, with 0. The flags could not be parsed, so `--json` is looked for among the words.
fn wrong_usage(e: &clap::Error) -> ! {
    let complaint = help::complaint(e);
    if e.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let said = e.to_string();
        let said = said.lines().next().unwrap_or_default();
        let said = complaint.clone().unwrap_or_else(|| said.trim_start_matches("error: ").to_owned());
        let error = Error::new(ErrorCode::InvalidRequest, said);
        terminal::out(&wire::error(&error.hint(say!("help-hint"))).to_string());
    }
    let Some(complaint) = complaint else { e.exit() };
    terminal::note(&say!("error-label", problem = complaint));
    terminal::note(&format!("  {}", say!("error-hint", hint = say!("help-hint"))));
    std::process::exit(e.exit_code())
}

/// A write beyond the limit on the size of files is an error that can be told, not the end of the process.
fn ignore_file_size_signal() {
    // SAFETY: sets how one signal is handled and takes no pointers.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Commands that agents run belong to the same user and could read the keys in `/proc/<pid>/environ` otherwise.
fn hide_environment() {
    // SAFETY: sets one flag of this process and takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}
