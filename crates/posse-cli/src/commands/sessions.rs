//! `posse sessions`: list sessions; archive or delete their shared context.

use std::path::Path;
use std::process::ExitCode;

use posse_core::context::TOTAL_TOKENS_MAX;
use posse_core::context::wire::utc;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::lookup::{find_session, newest_session};
use posse_runtime::ports::{ContextStore, JournalStore, SessionRow, TaskFilter, TaskQuery};
use serde_json::{Value, json};

use super::tasks::age;
use crate::args::{GlobalArgs, SessionsCommand};
use crate::columns::{PaddedCell, cut};
use crate::setup::{Setup, in_project};
use crate::terminal;

pub async fn run(global: &GlobalArgs, command: SessionsCommand) -> Result<ExitCode> {
    let store = Setup::load(global)?.store()?;
    let (session, done) = match command {
        SessionsCommand::List { limit } => return list(&*store, limit, global.json).await,
        SessionsCommand::Archive { session } => {
            let id = find_session(&*store, &session).await?;
            store.archive_session(&id, now_ms()).await?;
            (id, "archived")
        }
        SessionsCommand::Delete { session } => {
            let id = find_session(&*store, &session).await?;
            refuse_if_under_way(&*store, &id).await?;
            store.delete_session(&id, now_ms()).await?;
            (id, "deleted")
        }
    };
    if global.json {
        terminal::out(&json!({ "session_id": session, "state": done }).to_string());
    } else if done == "deleted" {
        terminal::note(&say!("session-deleted-told", session));
    } else {
        terminal::note(&say!("session-archived-told", session));
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the newest session of the project that contains `directory`.
pub async fn newest(store: &dyn ContextStore, directory: &Path) -> Result<String> {
    if let Some(session) = newest_session(store, in_project(directory), |_| true).await? {
        return Ok(session);
    }
    let (text, hint) = match store.sessions(1, now_ms()).await?.is_empty() {
        true => (say!("no-sessions-here"), say!("run-starts-one")),
        false => (say!("session-none-of-project"), say!("session-none-of-project-hint")),
    };
    Err(Error::new(ErrorCode::SessionNotFound, text).hint(hint))
}

async fn list(store: &dyn ContextStore, limit: u32, json: bool) -> Result<ExitCode> {
    let rows = store.sessions(limit, now_ms()).await?;
    if rows.is_empty() && !json {
        terminal::note(&say!("no-sessions-yet"));
    }
    for row in rows {
        if json {
            terminal::out(&row_json(&row).to_string());
            continue;
        }
        let title = row.title.lines().next().unwrap_or_default();
        terminal::out(&format!(
            "{:<10} {:<8} {:>8} {:>8} {:>21}  {:>5}  {}",
            row.id,
            PaddedCell(state_word(&row)),
            PaddedCell(say!("many-tasks", n = row.tasks)),
            PaddedCell(say!("many-keys", n = row.keys)),
            PaddedCell(say!("tokens-of", tokens = row.tokens, most = TOTAL_TOKENS_MAX)),
            PaddedCell(age(row.created_ms)),
            cut(&visible(title), 60)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn state_word(row: &SessionRow) -> String {
    if row.archived_ms.is_some() { say!("state-archived") } else { say!("state-open") }
}

fn state(row: &SessionRow) -> &'static str {
    if row.archived_ms.is_some() { "archived" } else { "open" }
}

fn row_json(row: &SessionRow) -> Value {
    json!({
        "session_id": row.id,
        "state": state(row),
        "title": row.title,
        "tasks": row.tasks,
        "keys": row.keys,
        "total_size_tokens": row.tokens,
        "limit_tokens": TOTAL_TOKENS_MAX,
        "created_at": utc(row.created_ms),
        "archived_at": row.archived_ms.map(utc),
    })
}

/// Refuses while a living process drives a task of the session.
async fn refuse_if_under_way(store: &dyn JournalStore, session: &str) -> Result<()> {
    let running = TaskQuery::running(TaskFilter::Session(session.to_owned()));
    let rows = store.find_tasks(running).await?;
    match rows.iter().find(|row| owner::lives(row)) {
        Some(row) => {
            let text = say!("task-is-driven", task = row.id, process = owner::pid(row));
            Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("task-is-driven-hint")))
        }
        None => Ok(()),
    }
}
