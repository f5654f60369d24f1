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
mod refusals;
pub mod review;
mod run;
mod servers;
mod sessions;
mod tasks;
mod trust;
mod worker;

use std::process::ExitCode;

use clap::CommandFactory;
use posse_core::outcome::Status;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

pub use worker::in_background;

use crate::args::{Args, Command, LeasesArgs, LeasesCommand, TasksCommand};
use crate::terminal;

pub fn dispatch(args: Args) -> Result<ExitCode> {
    let Args { global, command } = args;
    match command {
        Command::Completions { shell } => {
            // Not straight to standard output: the generator panics when that is closed.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "posse", &mut script);
            terminal::out(String::from_utf8_lossy(&script).trim_end());
            Ok(ExitCode::SUCCESS)
        }
        Command::Init => init::run(&global),
        Command::Agents(command) => agents::run(&global, command),
        Command::Trust(args) => trust::run(&global, &args),
        Command::Doctor => block_on(doctor::run(&global)),
        Command::Demo => block_on(demo::run(&global)),
        Command::Run(args) => block_on(run::run(&global, args)),
        Command::Review(args) => block_on(review::run(&global, args)),
        Command::Chat(args) => block_on(chat::run(&global, args)),
        Command::Tasks(TasksCommand::List(filter)) => block_on(tasks::list(&global, &filter)),
        Command::Tasks(TasksCommand::Watch { task }) => block_on(tasks::watch(&global, &task)),
        Command::Tasks(TasksCommand::Cancel { task }) => block_on(tasks::cancel(&global, &task)),
        Command::Tasks(TasksCommand::Diff { task }) => block_on(tasks::diff(&global, &task)),
        Command::Tasks(TasksCommand::Apply { task, protected }) => {
            block_on(tasks::apply(&global, &task, protected))
        }
        Command::Tasks(TasksCommand::Delete { tasks, force }) => block_on(gc::delete(&global, &tasks, force)),
        Command::Gc(args) => block_on(gc::run(&global, &args)),
        Command::Tasks(TasksCommand::Discard { task }) => block_on(tasks::discard(&global, &task)),
        Command::Leases(LeasesArgs { command: None }) => block_on(leases::list(&global)),
        Command::Leases(LeasesArgs { command: Some(LeasesCommand::Release { task, force }) }) => {
            block_on(leases::release(&global, &task, force))
        }
        Command::Worker(args) => block_on(worker::run(&global, &args)),
        Command::Mcp(args) => block_on(mcp::run(&global, args)),
        Command::Tasks(TasksCommand::Show { task, result }) => {
            block_on(tasks::show(&global, &task, result.as_deref()))
        }
        Command::Tasks(TasksCommand::Export { task, out, tree }) => {
            block_on(export::run(&global, &task, out.as_deref(), tree))
        }
        Command::Cost(args) => block_on(cost::run(&global, &args)),
        Command::Servers(args) => block_on(servers::run(&global, args.command)),
        Command::Approvals(command) => block_on(approvals::run(&global, command)),
        Command::Context(args) => block_on(context::run(&global, args)),
        Command::Sessions(command) => block_on(sessions::run(&global, command)),
        Command::Tasks(TasksCommand::Resume { task, more }) => block_on(tasks::resume(&global, &task, &more)),
    }
}

/// Agents wait for models nearly all of the time, so one thread drives them all; blocking work has its own.
fn block_on(command: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Error::new(ErrorCode::Io, say!("runtime-not-started")).caused_by(e))?;
    let result = runtime.block_on(command);
    // A search that is still running must not hold up the exit.
    runtime.shutdown_background();
    result
}

fn exit_code(status: Status) -> ExitCode {
    ExitCode::from(match status {
        Status::Completed => 0,
        Status::Failed => 1,
        Status::Partial => 3,
        Status::Cancelled => 130,
    })
}
