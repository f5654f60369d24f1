//! The binary `posse`: flags, configuration, composition, terminal. The only crate that reads the environment, the
//! home directory or configuration files.

#![forbid(unsafe_code)]

mod approval_prompt;
mod args;
mod columns;
mod commands;
mod config;
mod help;
mod lists;
mod material;
mod mode;
mod models;
mod render;
mod retention;
mod setup;
mod signals;
mod terminal;
mod wire;
mod worktrees;

use std::process::ExitCode;

use posse_core::{Error, ErrorCode};
use posse_messages::{Language, say, speak};
use rustix::process::DumpableBehavior;

fn main() -> ExitCode {
    let mut raw = std::env::args_os().skip(1);
    if raw.next().is_some_and(|first| first == posse_sandbox::supervisor::ARGUMENT) {
        posse_sandbox::supervisor::supervise_main(raw);
    }
    hide_environment();
    posse_sandbox::process::ignore_file_size_signal();
    choose_language();
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

/// Chooses the language before the command line is parsed, because help and usage errors are texts too.
fn choose_language() {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (language, unknown) = Language::decide(std::env::args_os().skip(1), variable);
    speak(language);
    if let Some(unknown) = unknown {
        let names = Language::ALL.map(Language::tag).join(", ");
        terminal::note(&say!("language-unknown", unknown, names));
    }
}

/// Prints a usage error, help or version, and exits. The flags were not parsed, so `--json` is searched among the
/// arguments.
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

/// Hides `/proc/<pid>/environ` from commands of agents, which run as the same user.
fn hide_environment() {
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
