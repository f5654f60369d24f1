//! `posse sessions`: list sessions; archive or delete their shared context.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use posse_console::lists::sessions::{session_json, session_table};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::lookup::{find_session, newest_session};
use posse_runtime::ports::{ContextStore, JournalStore, SessionRow, TaskFilter, TaskQuery};
use serde_json::json;

use crate::args::{GlobalArgs, SessionsCommand};
use crate::setup::{self, PROCESS, ProjectScope, in_project};
use crate::{lists, terminal};

pub async fn run(global: &GlobalArgs, command: SessionsCommand) -> Result<ExitCode> {
    if let SessionsCommand::List { limit, all } = command {
        return list(&*setup::store_to_read(global)?, limit, all, global.json).await;
    }
    let store = setup::store(global)?;
    let (session, done) = match command {
        SessionsCommand::List { .. } => return Ok(ExitCode::SUCCESS),
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

async fn list(store: &dyn ContextStore, limit: u32, all: bool, json: bool) -> Result<ExitCode> {
    let scope = if all { None } else { Some(ProjectScope::here(PROCESS)?) };
    let rows = match &scope {
        None => store.sessions(limit, now_ms()).await?,
        Some(scope) => sessions_of(store, scope, limit as usize).await?,
    };
    if json {
        rows.iter().for_each(|row| terminal::out(&session_json(row).to_string()));
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        terminal::note(&match &scope {
            Some(scope) if !store.sessions(1, now_ms()).await?.is_empty() => {
                say!("no-sessions-of-project", place = scope.shown())
            }
            _ => say!("no-sessions-yet"),
        });
        return Ok(ExitCode::SUCCESS);
    }
    lists::print(&session_table(&rows));
    let sessions = say!("many-sessions", n = rows.len());
    terminal::note(&match &scope {
        Some(scope) => format!("{} · --all", say!("sessions-of-project", sessions, place = scope.shown())),
        None => sessions,
    });
    Ok(ExitCode::SUCCESS)
}

/// Lists the newest sessions of a project.
async fn sessions_of(
    store: &dyn ContextStore,
    scope: &ProjectScope,
    limit: usize,
) -> Result<Vec<SessionRow>> {
    // Cached by workspace: finding its project needs the file system.
    let mut known: HashMap<String, bool> = HashMap::new();
    // They are nearly always among the first, and counting the contents of all sessions is slow.
    for most in [64, 4_096, u32::MAX] {
        let rows = store.sessions(most, now_ms()).await?;
        let is_all = (rows.len() as u64) < u64::from(most);
        let mut is_here = |workspace: &str| match known.get(workspace) {
            Some(is_here) => *is_here,
            None => *known.entry(workspace.to_owned()).or_insert(scope.contains(workspace)),
        };
        let here: Vec<SessionRow> =
            rows.into_iter().filter(|row| is_here(&row.workspace)).take(limit).collect();
        if is_all || here.len() == limit {
            return Ok(here);
        }
    }
    Ok(Vec::new())
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
