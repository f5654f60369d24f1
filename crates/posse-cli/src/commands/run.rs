//! `posse run`: one task, from the question to the answer.

use std::io::Read;
use std::process::ExitCode;
use std::time::Instant;

use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};

use super::drive::{Parts, Room, Work};
use crate::args::{Global, How, RunArgs};
use crate::setup::{Setup, new_session_id};
use crate::terminal;

/// A task is read by a model; more than this belongs into a file that the model can read.
const TASK_BYTES_MAX: u64 = 1 << 20;

pub async fn run(global: &Global, args: RunArgs) -> Result<ExitCode> {
    let task = task_text(args.task)?;
    let setup = Setup::load(global)?;
    let agent = setup.orchestrator(&args.how)?;
    let session_id = new_session_id();
    let room = room(&setup, &args.how, session_id.clone(), global.json, &task)?;
    // An unusable model is an error of the request, not the outcome of a task.
    let open = room.models.open(&agent)?;
    if setup.caps(&args.how).cost_micros.is_some() && open.price.is_none() {
        return Err(no_price(&agent.model));
    }
    let began = Instant::now();
    let id = TaskId::root(&session_id);
    let outcome = room.work(Work::Start { agent: agent.clone(), task }).await?;
    Ok(room.conclude(&id, &agent, &outcome, began))
}

/// A room as the configuration and the flags describe it.
pub fn room(setup: &Setup, how: &How, session_id: String, json: bool, title: &str) -> Result<Room> {
    let found = setup.tools()?;
    for problem in &found.problems {
        terminal::note(&format!("warning: {}", visible(problem.message())));
    }
    Room::new(Parts {
        session_id,
        workspace: setup.workspace.display().to_string(),
        store: setup.store()?,
        models: setup.models(how)?,
        grant: setup.grant(how, &found)?,
        tools: found.tools,
        agents: setup.agents(how)?,
        caps: setup.caps(how),
        json,
        title: title.to_owned(),
    })
}

fn task_text(argument: String) -> Result<String> {
    let mut task = argument;
    if task == "-" {
        task = String::new();
        let read = std::io::stdin().lock().take(TASK_BYTES_MAX).read_to_string(&mut task);
        read.map_err(|e| {
            Error::new(ErrorCode::InvalidRequest, "the task cannot be read from standard input").caused_by(e)
        })?;
    }
    if task.trim().is_empty() {
        return Err(Error::new(ErrorCode::InvalidRequest, "the task is empty")
            .hint("say what to do: posse run \"Why is the login test flaky?\""));
    }
    Ok(task)
}

/// A limit that cannot be kept is refused, not ignored.
fn no_price(model: &str) -> Error {
    let text = format!("the price of `{model}` is not known, so a cost limit cannot be kept");
    let hint = format!(
        "add `[prices.\"{model}\"]` with `input` and `output` in USD per million tokens to your configuration"
    );
    Error::new(ErrorCode::InvalidRequest, text).hint(hint)
}
