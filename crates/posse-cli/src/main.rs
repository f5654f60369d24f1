//! The binary `posse`: flags, configuration, composition, terminal. The only crate that reads the environment, the
//! home directory or configuration files.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod complete;
mod help;
mod lists;
mod material;
mod render;
mod retention;
mod setup;
mod signals;
mod terminal;
mod wire;

use std::ffi::OsString;
use std::process::ExitCode;

use posse_messages::{Language, say, speak};
use posse_setup::{config, config_edit, keys, mode, worktrees};
use posse_terminal::columns;
use rustix::process::DumpableBehavior;

fn main() -> ExitCode {
    let mut raw = std::env::args_os().skip(1);
    if raw.next().is_some_and(|first| first == posse_sandbox::supervisor::ARGUMENT) {
        posse_sandbox::supervisor::supervise_main(raw);
    }
    hide_environment();
    posse_sandbox::process::ignore_file_size_signal();
    choose_language();
    let words: Vec<OsString> = std::env::args_os().collect();
    let args = match help::parse(&words) {
        Ok(args) => args,
        Err(e) => help::fail(&e, &words),
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

/// Hides `/proc/<pid>/environ` from commands of agents, which run as the same user.
fn hide_environment() {
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
