//! Events of tasks as they are written, whichever process drives them.

use std::collections::{HashMap, HashSet};

use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::state::TaskState;

use crate::journal::read_events;
use crate::ports::{JournalStore, Observer, TaskFilter, TaskQuery, TaskRow};

/// Records read at a time: large ones stay within memory.
const PAGE: usize = 200;

/// Returns the task and everything below it, parents first.
pub async fn task_tree(store: &dyn JournalStore, id: &TaskId) -> Result<Vec<TaskRow>> {
    let mut rows = store.find_tasks(TaskQuery::of(TaskFilter::Session(id.session().to_owned()))).await?;
    // Newest first, and a parent is older than its children.
    rows.reverse();
    let mut within = HashSet::new();
    rows.retain(|row| {
        let belongs = row.id == *id || row.parent.as_ref().is_some_and(|parent| within.contains(parent));
        belongs && within.insert(row.id.clone())
    });
    Ok(rows)
}

/// Collects a task and its descendants depth first, oldest first.
pub async fn with_descendants(store: &dyn JournalStore, task: TaskRow) -> Result<Vec<TaskRow>> {
    let mut found = Vec::new();
    let mut open = vec![task];
    while let Some(next) = open.pop() {
        // Newest first, so that the oldest is popped next.
        open.extend(store.find_tasks(TaskQuery::of(TaskFilter::ChildrenOf(next.id.clone()))).await?);
        found.push(next);
    }
    Ok(found)
}

/// Positions up to which the events of tasks were shown.
#[derive(Default)]
pub struct EventCursors {
    next: HashMap<TaskId, u64>,
    ended: HashSet<TaskId>,
}

impl EventCursors {
    /// Shows the events of a task since the last call.
    pub async fn follow(
        &mut self,
        store: &dyn JournalStore,
        row: &TaskRow,
        observer: &dyn Observer,
    ) -> Result<()> {
        if self.ended.contains(&row.id) {
            return Ok(());
        }
        let next = self.next.entry(row.id.clone()).or_default();
        loop {
            let (events, after) = read_events(store, &row.id, *next, PAGE).await?;
            if after == *next {
                break;
            }
            *next = after;
            events.iter().for_each(|entry| observer.event(entry));
        }
        if let TaskState::Ended(_) = row.state {
            self.ended.insert(row.id.clone());
        }
        Ok(())
    }
}
