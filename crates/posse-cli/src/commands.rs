//! One module per command.

mod agents;
mod approvals;
mod chat;
mod context;
mod cost;
mod demo;
mod doctor;
mod drive;
mod export;
mod gc;
mod init;
mod leases;
mod mcp;
pub mod review;
mod run;
mod servers;
mod sessions;
mod tasks;
mod trust;
mod worker;

use std::process::ExitCode;

use clap::CommandFactory;
use posse_core::outcome::OutcomeStatus;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

pub use worker::in_background;

use crate::args::{CliArgs, CliCommand, LeasesArgs, LeasesCommand, TasksCommand};
use crate::terminal;

pub fn dispatch(args: CliArgs) -> Result<ExitCode> {
    let CliArgs { global, command } = args;
    match command {
        CliCommand::Completions { shell } => {
            // Into a buffer first: the generator panics when standard output is closed.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut CliArgs::command(), "posse", &mut script);
            terminal::out(String::from_utf8_lossy(&script).trim_end());
            Ok(ExitCode::SUCCESS)
        }
        CliCommand::Init => init::run(&global),
        CliCommand::Agents(command) => agents::run(&global, command),
        CliCommand::Trust(args) => trust::run(&global, &args),
        CliCommand::Doctor => block_on(doctor::run(&global)),
        CliCommand::Demo => block_on(demo::run(&global)),
        CliCommand::Run(args) => block_on(run::run(&global, args)),
        CliCommand::Review(args) => block_on(review::run(&global, args)),
        CliCommand::Chat(args) => block_on(chat::run(&global, args)),
        CliCommand::Tasks(TasksCommand::List(filter)) => block_on(tasks::list(&global, &filter)),
        CliCommand::Tasks(TasksCommand::Watch { task }) => block_on(tasks::watch(&global, &task)),
        CliCommand::Tasks(TasksCommand::Cancel { task }) => block_on(tasks::cancel(&global, &task)),
        CliCommand::Tasks(TasksCommand::Send { task, message }) => {
            block_on(tasks::send(&global, &task, message))
        }
        CliCommand::Tasks(TasksCommand::Answer { task, answer }) => {
            block_on(tasks::answer(&global, &task, answer))
        }
        CliCommand::Tasks(TasksCommand::Diff { task }) => block_on(tasks::diff(&global, &task)),
        CliCommand::Tasks(TasksCommand::Apply { task, protected }) => {
            block_on(tasks::apply(&global, &task, protected))
        }
        CliCommand::Tasks(TasksCommand::Delete { tasks, force }) => {
            block_on(gc::delete(&global, &tasks, force))
        }
        CliCommand::Gc(args) => block_on(gc::run(&global, &args)),
        CliCommand::Tasks(TasksCommand::Discard { task }) => block_on(tasks::discard(&global, &task)),
        CliCommand::Leases(LeasesArgs { command: None }) => block_on(leases::list(&global)),
        CliCommand::Leases(LeasesArgs { command: Some(LeasesCommand::Release { task, force }) }) => {
            block_on(leases::release(&global, &task, force))
        }
        CliCommand::Worker(args) => block_on(worker::run(&global, &args)),
        CliCommand::Mcp(args) => block_on(mcp::run(&global, args)),
        CliCommand::Tasks(TasksCommand::Show { task, result }) => {
            block_on(tasks::show(&global, &task, result.as_deref()))
        }
        CliCommand::Tasks(TasksCommand::Export { task, out, tree }) => {
            block_on(export::run(&global, &task, out.as_deref(), tree))
        }
        CliCommand::Cost(args) => block_on(cost::run(&global, &args)),
        CliCommand::Servers(args) => block_on(servers::run(&global, args.command)),
        CliCommand::Approvals(command) => block_on(approvals::run(&global, command)),
        CliCommand::Context(args) => block_on(context::run(&global, args)),
        CliCommand::Sessions(command) => block_on(sessions::run(&global, command)),
        CliCommand::Tasks(TasksCommand::Resume { task, more }) => {
            block_on(tasks::resume(&global, &task, &more))
        }
    }
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
