//! `posse tasks watch`: follows a task and everything below it, whoever drives it: on a full screen, or as lines until it ends.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use posse_console::top::TopScope;
use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::state::TaskState;
use posse_messages::say;
use posse_runtime::follow::{TaskFeed, task_tree};
use posse_runtime::liveness as owner;
use posse_runtime::lookup::is_of_project;
use posse_runtime::ports::{JournalStore, Observer, TaskFilter, TaskQuery};
use posse_store::SqliteStore;

use super::find;
use crate::args::GlobalArgs;
use crate::commands::{exit_code, top};
use crate::render::{json_lines, plain_lines};
use crate::setup::{self, in_project};
use crate::terminal;

/// Poll interval: shorter is not noticed, and polling costs next to nothing.
const LOOK: Duration = Duration::from_millis(250);

pub async fn run(global: &GlobalArgs, wanted: Option<&str>) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let task = match wanted {
        Some(wanted) => Some(find(&*store, wanted).await?.id),
        None => None,
    };
    match task {
        Some(task) if top::has_screen(global) => watch_task(global, &store, task).await,
        Some(task) => follow_task(global, &store, &task).await,
        None if top::has_screen(global) => top::open(global, store, TopScope::Project).await,
        None => {
            let is_here = in_project(&std::env::current_dir().unwrap_or_default());
            follow_running(global, &store, is_here).await
        }
    }
}

/// Shows a task on a full screen. If it has ended by then, its answer and its exit code are those of the run.
async fn watch_task(global: &GlobalArgs, store: &Arc<SqliteStore>, task: TaskId) -> Result<ExitCode> {
    let left = top::open(global, store.clone(), TopScope::Tree(task.clone())).await?;
    match store.task(&task).await?.state {
        TaskState::Ended(status) if left == ExitCode::SUCCESS => {
            print_answer(store, &task).await?;
            Ok(exit_code(status))
        }
        TaskState::Ended(_) | TaskState::Running => Ok(left),
    }
}

/// Prints the events of a task and of everything below it until the task ends; returns its exit code.
pub async fn follow_task(global: &GlobalArgs, store: &SqliteStore, id: &TaskId) -> Result<ExitCode> {
    let lines = plain_lines();
    let json = json_lines();
    let observer: &dyn Observer = if global.json { &json } else { &lines };
    let (mut feed, mut told) = (TaskFeed::new(owner::lives), String::new());
    loop {
        // The rows before the records: whatever is written in between is then part of the records.
        let rows = task_tree(store, id).await?;
        feed.follow(store, &rows, observer).await?;
        let Some(row) = rows.first() else { return Ok(ExitCode::FAILURE) };
        // The exit code of the run itself, so that a script can wait for a task.
        if let TaskState::Ended(status) = row.state {
            if !global.json {
                print_answer(store, id).await?;
            }
            return Ok(exit_code(status));
        }
        if !owner::lives(row) && told != row.owner {
            terminal::note(&say!("nobody-drives", id));
            told.clone_from(&row.owner);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Prints the events of all tasks that run now, and of those that start meanwhile, until none runs.
pub async fn follow_running(
    global: &GlobalArgs,
    store: &SqliteStore,
    is_here: impl Fn(&Path) -> bool,
) -> Result<ExitCode> {
    let lines = plain_lines();
    let json = json_lines();
    let observer: &dyn Observer = if global.json { &json } else { &lines };
    let mut feed = TaskFeed::new(owner::lives);
    let mut open: HashSet<TaskId> = HashSet::new();
    loop {
        let mut running = HashSet::new();
        for row in store.find_tasks(TaskQuery::running(TaskFilter::All)).await? {
            let is_wanted = open.contains(&row.id) || is_of_project(store, &row, &is_here).await?;
            if owner::lives(&row) && is_wanted {
                feed.follow(store, std::slice::from_ref(&row), observer).await?;
                running.insert(row.id);
            }
        }
        for ended in open.difference(&running) {
            let row = store.task(ended).await?;
            feed.follow(store, &[row], observer).await?;
        }
        if running.is_empty() {
            if open.is_empty() && !global.json {
                terminal::note(&say!("nothing-runs"));
            }
            return Ok(ExitCode::SUCCESS);
        }
        open = running;
        tokio::time::sleep(LOOK).await;
    }
}

async fn print_answer(store: &SqliteStore, id: &TaskId) -> Result<()> {
    let records = store.records(id).await?;
    let outcome = records.iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome),
        _ => None,
    });
    if let Some(outcome) = outcome.filter(|outcome| !outcome.text.is_empty()) {
        terminal::out_foreign(&outcome.text);
    }
    Ok(())
}
