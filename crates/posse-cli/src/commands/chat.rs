//! `posse chat`: every line goes on with the same conversation. The conversation is a task like any other: it is in the
//! store, and can be taken up again.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_runtime::driver::Onward;
use posse_runtime::ports::Store;
use rustyline::error::ReadlineError;

use super::drive::Work;
use super::{run, tasks};
use crate::args::{ChatArgs, Global};
use crate::setup::{Setup, new_session_id};
use crate::terminal;

pub async fn run(global: &Global, args: ChatArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store: Arc<dyn Store> = setup.store()?;
    let (mut id, agent) = match &args.resume {
        Some(wanted) => {
            let row = tasks::find(&*store, wanted).await?;
            tasks::take_from_the_dead(&row)?;
            let start = tasks::start_of(&*store, &row.id).await?;
            (Some(row.id), start.agent)
        }
        None => (None, setup.orchestrator(&args.how)?),
    };
    let session_id = id.as_ref().map_or_else(new_session_id, |id| id.session().to_owned());
    let mut code = ExitCode::SUCCESS;
    terminal::note(&format!("{} · Ctrl-D ends · the conversation is `{session_id}`", agent.model));
    while let Some(line) = read_line().await? {
        // A room per message: Ctrl-C stops an answer, not the conversation.
        let room = run::room(&setup, &args.how, session_id.clone(), global.json, &line)?;
        room.models.open(&agent)?;
        let began = Instant::now();
        let work = match &id {
            Some(id) => Work::GoOn { id: id.clone(), onward: Onward::Message(line) },
            None => Work::Start { agent: Box::new(agent.clone()), task: line },
        };
        let task = id.get_or_insert_with(|| TaskId::root(&session_id)).clone();
        match room.work(work).await {
            Ok(outcome) => code = room.conclude(&task, &agent, &outcome, began),
            Err(e) => return Err(e),
        }
    }
    Ok(code)
}

/// The next message; `None` at the end of the input. Empty lines are passed over.
async fn read_line() -> Result<Option<String>> {
    let read = tokio::task::spawn_blocking(|| {
        let mut editor = rustyline::DefaultEditor::new()?;
        loop {
            match editor.readline("> ") {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => return Ok(Some(line)),
                Err(ReadlineError::Eof | ReadlineError::Interrupted) => return Ok(None),
                Err(e) => return Err(e),
            }
        }
    });
    let failed = |e: Box<dyn std::error::Error + Send + Sync>| {
        Error::new(ErrorCode::Io, "the next message cannot be read").caused_by(e)
    };
    read.await.map_err(|e| failed(e.into()))?.map_err(|e| failed(e.into()))
}
