//! The binary `posse`: flags, configuration, wiring, terminal. The only member that reads the environment, the home
//! directory or configuration files.

mod agents;
mod args;
mod commands;
mod config;
mod desk;
mod envelope;
mod models;
mod owner;
mod render;
mod setup;
mod telemetry;
mod terminal;
mod wire;

use std::process::ExitCode;

use clap::Parser;
use posse_core::{Error, ErrorCode};

fn main() -> ExitCode {
    let mut raw = std::env::args_os().skip(1);
    if raw.next().is_some_and(|first| first == posse_tools::supervisor::ARGUMENT) {
        posse_tools::supervisor::supervise_main(raw);
    }
    hide_environment();
    let args = match args::Args::try_parse() {
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
            ExitCode::FAILURE
        }
    }
}

/// Help and version end here too, with 0. The flags could not be parsed, so `--json` is looked for among the words.
fn wrong_usage(e: &clap::Error) -> ! {
    if e.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let said = e.to_string();
        let said = said.lines().next().unwrap_or_default();
        let error = Error::new(ErrorCode::InvalidRequest, said.strip_prefix("error: ").unwrap_or(said));
        terminal::out(&wire::error(&error.hint("`posse --help` shows what there is")).to_string());
    }
    e.exit()
}

/// Commands that agents run belong to the same user and could read the keys in `/proc/<pid>/environ` otherwise.
fn hide_environment() {
    // SAFETY: sets one flag of this process and takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}
