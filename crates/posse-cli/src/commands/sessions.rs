//! `posse sessions`: which there are, and the end of their shared context.

use std::process::ExitCode;

use posse_core::context::TOTAL_TOKENS_MAX;
use posse_core::text::{prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{ContextStore, SessionRow, Store, TaskQuery, Which};
use serde_json::{Value, json};

use super::tasks::age;
use crate::args::{Global, SessionsCommand};
use crate::columns::{Cell, cut};
use crate::owner;
use crate::render::{Thing, many};
use crate::setup::Setup;
use crate::terminal;

pub async fn run(global: &Global, command: SessionsCommand) -> Result<ExitCode> {
    let store = Setup::load(global)?.store()?;
    let (session, done) = match command {
        SessionsCommand::List { limit } => return list(&*store, limit, global.json).await,
        SessionsCommand::Archive { session } => {
            let id = find(&*store, Some(&session)).await?;
            store.archive_session(&id, now_ms()).await?;
            (id, "archived")
        }
        SessionsCommand::Delete { session } => {
            let id = find(&*store, Some(&session)).await?;
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

/// A session by its id or the beginning of it; the newest if none is named.
pub async fn find(store: &dyn ContextStore, wanted: Option<&str>) -> Result<String> {
    let not_found = |text: String, hint: &str| Err(Error::new(ErrorCode::SessionNotFound, text).hint(hint));
    let limit = if wanted.is_some() { u32::MAX } else { 1 };
    let rows = store.sessions(limit, now_ms()).await?;
    let Some(wanted) = wanted else {
        return match rows.into_iter().next() {
            Some(row) => Ok(row.id),
            None => not_found(say!("no-sessions-here"), &say!("run-starts-one")),
        };
    };
    if let Some(row) = rows.iter().find(|row| row.id == wanted) {
        return Ok(row.id.clone());
    }
    let shown = prefix(wanted, 80).escape_default();
    let mut beginning = rows.iter().filter(|row| !wanted.is_empty() && row.id.starts_with(wanted));
    match (beginning.next(), beginning.next()) {
        (Some(row), None) => Ok(row.id.clone()),
        (None, _) => not_found(say!("session-unknown", shown), &say!("session-unknown-hint")),
        (Some(_), Some(_)) => not_found(say!("sessions-alike", shown), &say!("give-more-of-id")),
    }
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
            Cell(state_word(&row)),
            Cell(many(row.tasks, Thing::Task)),
            Cell(many(row.keys, Thing::Key)),
            Cell(say!("tokens-of", tokens = row.tokens, most = TOTAL_TOKENS_MAX)),
            Cell(age(row.created_ms)),
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
        "created_ms": row.created_ms,
        "archived_ms": row.archived_ms,
    })
}

/// What agents are working with is not taken from under them.
async fn refuse_if_under_way(store: &dyn Store, session: &str) -> Result<()> {
    let (of, status) = (Which::Session(session.to_owned()), Some("running".to_owned()));
    let rows = store.find_tasks(TaskQuery { status, ..TaskQuery::of(of) }).await?;
    match rows.iter().find(|row| owner::lives(row)) {
        Some(row) => {
            let text = say!("task-is-driven", task = row.id, process = owner::pid(row));
            Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("task-is-driven-hint")))
        }
        None => Ok(()),
    }
}
