//! The binary `posse`: flags, configuration, wiring, terminal. The only member that reads the environment, the home
//! directory or configuration files.

mod args;
mod commands;
mod config;
mod envelope;
mod models;
mod render;
mod setup;
mod terminal;
mod wire;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let mut raw = std::env::args_os().skip(1);
    if raw.next().is_some_and(|first| first == posse_tools::supervisor::ARGUMENT) {
        posse_tools::supervisor::supervise_main(raw);
    }
    hide_environment();
    let args = args::Args::parse();
    match commands::dispatch(args) {
        Ok(code) => code,
        Err(e) => {
            terminal::error(&e);
            ExitCode::FAILURE
        }
    }
}

/// Commands that agents run belong to the same user and could read the keys in `/proc/<pid>/environ` otherwise.
fn hide_environment() {
    // SAFETY: sets one flag of this process and takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}
