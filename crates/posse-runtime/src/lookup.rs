//! Tasks and sessions by what a person types: an id, the beginning of one, or the short id of a child.

use std::collections::HashMap;
use std::path::Path;

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::text::{nearest, prefix};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

use crate::context::now_ms;
use crate::ports::{ContextStore, JournalStore, SessionRow, Store, TaskFilter, TaskQuery, TaskRow};

/// Maximum number of matches for an id prefix.
const ALIKE_MAX: u32 = 1_000;

/// Finds a task by id, id prefix, or the short id of a child in the newest session of this project. `is_here` tells if a
/// workspace belongs to the project.
pub async fn find_task(store: &dyn Store, wanted: &str, is_here: impl Fn(&Path) -> bool) -> Result<TaskRow> {
    match store.task(&TaskId::from_store(wanted.to_owned())).await {
        Err(e) if e.code() == ErrorCode::TaskNotFound => {}
        found => return found,
    }
    if let Some(row) = find_child(store, wanted, is_here).await? {
        return Ok(row);
    }
    let rows = match wanted {
        "" => Vec::new(),
        _ => {
            let alike = TaskQuery::of(TaskFilter::Prefix(wanted.to_owned()));
            store.find_tasks(TaskQuery { limit: ALIKE_MAX, ..alike }).await?
        }
    };
    let not_found = |text: LocalizedText, hint| Err(Error::new(ErrorCode::TaskNotFound, text).hint(hint));
    let sessions: Vec<&TaskRow> = rows.iter().filter(|row| row.parent.is_none()).collect();
    match (sessions.as_slice(), rows.as_slice()) {
        ([row], _) => Ok((*row).clone()),
        ([], [row]) => Ok(row.clone()),
        ([], []) => {
            let near = near(store, wanted).await?.map(|name| localized!("did-you-mean", name));
            let hint = LocalizedText::join(near.iter().chain([&localized!("tasks-list-hint")]), " ");
            not_found(localized!("task-unknown", task = prefix(wanted, 80)), hint)
        }
        _ => not_found(localized!("tasks-alike", wanted), localized!("give-more-of-id")),
    }
}

/// Finds the newest task whose id begins nearly like this.
async fn near(store: &dyn Store, wanted: &str) -> Result<Option<TaskId>> {
    const NEWEST_MAX: u32 = 200;
    // Shorter beginnings are near to everything.
    const LETTERS_MIN: usize = 4;
    if wanted.len() < LETTERS_MIN {
        return Ok(None);
    }
    let rows = store.find_tasks(TaskQuery { limit: NEWEST_MAX, ..TaskQuery::default() }).await?;
    let roots: Vec<&TaskRow> = rows.iter().filter(|row| row.parent.is_none()).collect();
    let beginning = |row: &&TaskRow| prefix(row.id.as_str(), wanted.len()).to_owned();
    let beginnings: Vec<String> = roots.iter().map(beginning).collect();
    let found = nearest(wanted, beginnings.iter().map(String::as_str));
    let at = found.and_then(|found| beginnings.iter().position(|beginning| beginning == found));
    Ok(at.map(|at| roots[at].id.clone()))
}

/// Finds a child by its short id, in the newest session of this project that has one.
async fn find_child(
    store: &dyn Store,
    short: &str,
    is_here: impl Fn(&Path) -> bool,
) -> Result<Option<TaskRow>> {
    let rows = store.find_tasks(TaskQuery::of(TaskFilter::Short(short.to_owned()))).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let has_one = |session: &SessionRow| rows.iter().any(|row| row.id.session() == session.id);
    let session = newest_session(store, is_here, has_one).await?;
    // Rows are sorted newest first.
    Ok(rows.into_iter().find(|row| session.as_deref() == Some(row.id.session())))
}

/// Finds the newest matching session whose workspace `is_here`.
pub async fn newest_session(
    store: &(impl ContextStore + ?Sized),
    is_here: impl Fn(&Path) -> bool,
    fits: impl Fn(&SessionRow) -> bool,
) -> Result<Option<String>> {
    // Cached by workspace: finding its project needs the file system.
    let mut known: HashMap<String, bool> = HashMap::new();
    // The session is nearly always among the first, and counting the contents of all sessions is slow.
    for limit in [64, 4_096, u32::MAX] {
        let rows = store.sessions(limit, now_ms()).await?;
        let is_all = (rows.len() as u64) < u64::from(limit);
        for row in rows {
            let is_here = known
                .entry(row.workspace.clone())
                .or_insert_with(|| !row.workspace.is_empty() && is_here(Path::new(&row.workspace)));
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

/// Tells if a task belongs to the project, by the workspace that it was started in.
pub async fn is_of_project(
    store: &(impl JournalStore + ?Sized),
    row: &TaskRow,
    is_here: impl Fn(&Path) -> bool,
) -> Result<bool> {
    let first = store.records_from(&row.id, 0, 1).await?;
    Ok(match first.first().map(|stored| &stored.record) {
        Some(Record::Started(start)) => is_here(Path::new(start.origin())),
        _ => false,
    })
}

/// Finds a session by id or id prefix.
pub async fn find_session(store: &dyn ContextStore, wanted: &str) -> Result<String> {
    let rows = store.sessions(u32::MAX, now_ms()).await?;
    if let Some(row) = rows.iter().find(|row| row.id == wanted) {
        return Ok(row.id.clone());
    }
    let shown = prefix(wanted, 80).escape_default();
    let mut beginning = rows.iter().filter(|row| !wanted.is_empty() && row.id.starts_with(wanted));
    let (text, hint) = match (beginning.next(), beginning.next()) {
        (Some(row), None) => return Ok(row.id.clone()),
        (None, _) => {
            let near = nearest(wanted, rows.iter().map(|row| row.id.as_str()));
            let near = near.map(|name| localized!("did-you-mean", name));
            let hint = LocalizedText::join(near.iter().chain([&localized!("session-unknown-hint")]), " ");
            (localized!("session-unknown", shown), hint)
        }
        (Some(_), Some(_)) => (localized!("sessions-alike", shown), localized!("give-more-of-id")),
    };
    Err(Error::new(ErrorCode::SessionNotFound, text).hint(hint))
}
