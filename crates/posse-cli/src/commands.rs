//! One module per command.

mod agents;
mod approvals;
mod chat;
mod config;
mod context;
mod cost;
mod demo;
mod doctor;
mod drive;
mod export;
mod first_run;
mod gc;
mod init;
mod leases;
mod mcp;
mod models;
pub mod review;
mod run;
mod serve;
mod servers;
mod sessions;
mod tasks;
mod tokens;
mod top;
mod trust;
mod worker;

use std::process::ExitCode;

use posse_core::outcome::OutcomeStatus;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

pub use worker::in_background;

use crate::args::{CliArgs, CliCommand, GlobalArgs};
use crate::setup::user_config_dir;
use crate::{complete, help, terminal};
use posse_setup::config::SymbolChoice;

/// Exit code of a command line that cannot be used, as clap has it.
const USAGE_CODE: u8 = 2;

pub fn dispatch(CliArgs { global, command }: CliArgs) -> Result<ExitCode> {
    if terminal::is_shown() {
        terminal::choose_symbols(config_looks(&global));
    }
    let Some(command) = command else {
        if first_run::is_interactive() {
            return block_on(first_run::start(&global));
        }
        help::show_short();
        return Ok(ExitCode::from(USAGE_CODE));
    };
    match command {
        CliCommand::Completions { shell } => Ok(complete::script(shell)),
        CliCommand::Complete(args) => complete::run(&global, args),
        CliCommand::Help(args) => help::run(&args),
        CliCommand::Init => init::run(&global),
        CliCommand::Agents(command) => agents::run(&global, command),
        CliCommand::Trust(args) => trust::run(&global, &args),
        CliCommand::Doctor(args) => block_on(doctor::run(&global, &args)),
        CliCommand::Setup(args) => block_on(first_run::run(&global, args)),
        CliCommand::Models(args) => block_on(models::run(&global, args)),
        CliCommand::Config(command) => config::run(&global, command),
        CliCommand::Demo => block_on(demo::run(&global)),
        CliCommand::Run(args) => block_on(run::run(&global, args)),
        CliCommand::Review(args) => block_on(review::run(&global, args)),
        CliCommand::Chat(args) => block_on(chat::run(&global, args)),
        CliCommand::Tasks(command) => block_on(tasks::run(&global, command)),
        CliCommand::Top(args) => block_on(top::run(&global, &args)),
        CliCommand::Gc(args) => block_on(gc::run(&global, &args)),
        CliCommand::Leases(args) => block_on(leases::run(&global, args)),
        CliCommand::Worker(args) => block_on(worker::run(&global, &args)),
        CliCommand::Mcp(args) => block_on(mcp::run(&global, args)),
        CliCommand::Serve(args) => block_on(serve::run(&global, args)),
        CliCommand::Tokens(command) => tokens::run(&global, command),
        CliCommand::Cost(args) => block_on(cost::run(&global, &args)),
        CliCommand::Servers(args) => block_on(servers::run(&global, args.command)),
        CliCommand::Approvals(command) => block_on(approvals::run(&global, command)),
        CliCommand::Context(args) => block_on(context::run(&global, args)),
        CliCommand::Sessions(command) => block_on(sessions::run(&global, command)),
    }
}

/// Reads the person's choice of characters.
fn config_looks(global: &GlobalArgs) -> SymbolChoice {
    posse_setup::config::looks(global.config.as_deref(), user_config_dir().as_deref()).symbols
}

/// Runs a command on a single-threaded runtime. Agents mostly wait for models, so one thread drives them all;
/// blocking work has its own threads.
fn block_on(command: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Error::new(ErrorCode::Io, say!("runtime-not-started")).caused_by(e))?;
    let result = runtime.block_on(command);
    // A search that is still running must not hold up the exit.
    runtime.shutdown_background();
    result
}

fn exit_code(status: OutcomeStatus) -> ExitCode {
    ExitCode::from(match status {
        OutcomeStatus::Completed => 0,
        OutcomeStatus::Failed => 1,
        OutcomeStatus::Partial => 3,
        OutcomeStatus::Cancelled => 130,
    })
}
