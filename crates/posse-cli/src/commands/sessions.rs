//! `posse sessions`: list sessions; archive or delete their shared context.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use posse_core::context::TOTAL_TOKENS_MAX;
use posse_core::context::wire::utc;
use posse_core::text::{prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{ContextStore, JournalStore, SessionRow, TaskFilter, TaskQuery};
use serde_json::{Value, json};

use super::tasks::age;
use crate::args::{GlobalArgs, SessionsCommand};
use crate::columns::{PaddedCell, cut};
use crate::projects::project_of;
use crate::render::{CountedNoun, many};
use crate::setup::Setup;
use crate::terminal;

pub async fn run(global: &GlobalArgs, command: SessionsCommand) -> Result<ExitCode> {
    let store = Setup::load(global)?.store()?;
    let (session, done) = match command {
        SessionsCommand::List { limit } => return list(&*store, limit, global.json).await,
        SessionsCommand::Archive { session } => {
            let id = find(&*store, &session).await?;
            store.archive_session(&id, now_ms()).await?;
            (id, "archived")
        }
        SessionsCommand::Delete { session } => {
            let id = find(&*store, &session).await?;
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
    if let Some(session) = newest_where(store, directory, |_| true).await? {
        return Ok(session);
    }
    let (text, hint) = match store.sessions(1, now_ms()).await?.is_empty() {
        true => (say!("no-sessions-here"), say!("run-starts-one")),
        false => (say!("session-none-of-project"), say!("session-none-of-project-hint")),
    };
    Err(Error::new(ErrorCode::SessionNotFound, text).hint(hint))
}

/// Finds the newest matching session of the project that contains `directory`.
pub async fn newest_where(
    store: &dyn ContextStore,
    directory: &Path,
    fits: impl Fn(&SessionRow) -> bool,
) -> Result<Option<String>> {
    let here = project_of(directory);
    // Cached by workspace: finding its project needs the file system.
    let mut known: HashMap<String, bool> = HashMap::new();
    // Nearly always among the first, and counting the contents of all sessions is slow.
    for limit in [64, 4_096, u32::MAX] {
        let rows = store.sessions(limit, now_ms()).await?;
        let is_all = (rows.len() as u64) < u64::from(limit);
        for row in rows {
            let is_here = known.entry(row.workspace.clone()).or_insert_with(|| {
                !row.workspace.is_empty() && project_of(Path::new(&row.workspace)) == here
            });
            if *is_here && fits(&row) {
                return Ok(Some(row.id));
            }
        }
        if is_all {
            break;
        }
    }
    Ok(None)
}

/// Finds a session by id or id prefix.
pub async fn find(store: &dyn ContextStore, wanted: &str) -> Result<String> {
    let not_found = |text: String, hint: &str| Err(Error::new(ErrorCode::SessionNotFound, text).hint(hint));
    let rows = store.sessions(u32::MAX, now_ms()).await?;
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
            PaddedCell(state_word(&row)),
            PaddedCell(many(row.tasks, CountedNoun::Task)),
            PaddedCell(many(row.keys, CountedNoun::Key)),
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
