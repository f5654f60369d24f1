//! `posse tasks list`: tasks of this project, newest first, with their subagents folded.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use posse_console::lists::tasks::{row_cells, row_json, status, task_columns, took_ms};
use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::lookup::find_session;
use posse_runtime::ports::{ApprovalQuery, ApprovalStore, JournalStore, TaskFilter, TaskQuery, TaskRow};
use posse_store::{ListedRow, SqliteStore, TaskListing};
use posse_terminal::table::TextTable;
use serde_json::json;

use crate::args::{GlobalArgs, ListArgs, ListOrder};
use crate::retention::millis;
use crate::setup::{self, PROCESS, ProjectScope};
use crate::{lists, terminal};

pub async fn run(global: &GlobalArgs, filter: &ListArgs) -> Result<ExitCode> {
    let store = setup::store_to_read(global)?;
    let scope =
        if filter.all || filter.session.is_some() { None } else { Some(ProjectScope::here(PROCESS)?) };
    let mut found = listed(&store, filter, scope.as_ref(), global.json).await?;
    let has_more = found.len() > filter.limit as usize;
    found.truncate(filter.limit as usize);
    let waiting = store.approvals(ApprovalQuery::Open).await?;
    let approval_of = |row: &TaskRow| {
        waiting.iter().find(|parked| parked.request.task == row.id).map(|parked| parked.id.as_str())
    };
    if global.json {
        for Listed { task, tree } in &found {
            let mut value = row_json(&task.row, tree);
            value["workspace"] = json!(task.workspace);
            if let Some(approval) = approval_of(&task.row) {
                value["waiting_for_approval"] = json!(approval);
            }
            terminal::out(&value.to_string());
        }
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        terminal::note(&nothing(&store, filter, scope.as_ref()).await?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::new(task_columns(filter.all));
    for Listed { task, tree } in &found {
        let place = filter.all.then(|| lists::short_path(Path::new(&task.workspace)));
        table.row(row_cells(&task.row, tree, place));
        if !unfolds(filter)
            && let Some(folded) = folded(&store, &task.row.id, tree).await?
        {
            table.remark(folded);
        }
        if let Some(approval) = approval_of(&task.row) {
            table.remark(say!("task-waits-for-approval", approval));
        }
    }
    lists::print(&table);
    terminal::note(&footer(filter, scope.as_ref(), found.len(), has_more));
    Ok(ExitCode::SUCCESS)
}

/// A listed task with what its tree spent.
struct Listed {
    task: ListedRow,
    tree: SpendingTotal,
}

/// Tells whether subagents are rows of their own.
fn unfolds(filter: &ListArgs) -> bool {
    filter.children || filter.session.is_some()
}

/// Finds one task more than the limit, if there are as many.
async fn listed(
    store: &SqliteStore,
    filter: &ListArgs,
    scope: Option<&ProjectScope>,
    json: bool,
) -> Result<Vec<Listed>> {
    let wanted = filter.status.as_deref();
    // The store calls them all running; owner and process tell them apart.
    let is_open = matches!(wanted, Some("running" | "interrupted" | "queued"));
    let limit_max =
        if is_open || filter.sort != ListOrder::Newest { u32::MAX } else { filter.limit.saturating_add(1) };
    let query = TaskListing {
        session: match &filter.session {
            Some(wanted) => Some(find_session(store, wanted).await?),
            None => None,
        },
        workspaces: match scope {
            Some(scope) => Some(scope.workspaces(store).await?),
            None => None,
        },
        state: if is_open { Some(TaskState::Running) } else { wanted.and_then(TaskState::parse) },
        since_ms: filter.since.map_or(0, |span| now_ms().saturating_sub(millis(span))),
        // A program gets every task; `parent` tells the tree.
        is_root: !json && !unfolds(filter),
        limit_max,
    };
    let mut tasks = store.listing(query).await?;
    tasks.retain(|task| wanted.is_none_or(|wanted| status(&task.row) == wanted));
    if filter.sort == ListOrder::Newest {
        tasks.truncate(filter.limit as usize + 1);
    }
    let trees = store.tree_totals(tasks.iter().map(|task| task.row.id.clone()).collect()).await?;
    let mut found: Vec<Listed> =
        tasks.into_iter().zip(trees).map(|(task, tree)| Listed { task, tree }).collect();
    match filter.sort {
        ListOrder::Newest => {}
        ListOrder::Cost => found.sort_by_key(|listed| Reverse(listed.tree.cost_micros)),
        ListOrder::Took => found.sort_by_key(|listed| Reverse(took_ms(&listed.task.row))),
        ListOrder::Updated => found.sort_by_key(|listed| Reverse(listed.task.row.updated_ms)),
    }
    found.truncate(filter.limit as usize + 1);
    Ok(found)
}

/// Counts the subagents of a task by state: `2 subagents: 1 completed, 1 partial`.
async fn folded(store: &SqliteStore, id: &TaskId, tree: &SpendingTotal) -> Result<Option<String>> {
    if tree.tasks <= 1 {
        return Ok(None);
    }
    let mut states: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (state, n) in store.states_below(id).await? {
        *states.entry(state.wire()).or_default() += n;
    }
    if let Some(running) = states.remove("running") {
        // Few tasks are open at any time, so their rows are cheap.
        let open = store.find_tasks(TaskQuery::running(TaskFilter::Session(id.session().to_owned()))).await?;
        let below =
            open.iter().filter(|row| row.id != *id).take(usize::try_from(running).unwrap_or(usize::MAX));
        for row in below {
            *states.entry(status(row)).or_default() += 1;
        }
    }
    let total: u64 = states.values().sum();
    let states: Vec<String> = states.iter().map(|(state, n)| format!("{n} {state}")).collect();
    Ok(Some(format!("{}: {}", say!("many-subagents", n = total), states.join(", "))))
}

/// Says why the list is empty, and what to type.
async fn nothing(store: &SqliteStore, filter: &ListArgs, scope: Option<&ProjectScope>) -> Result<String> {
    let is_narrowed = filter.session.is_some() || filter.status.is_some() || filter.since.is_some();
    Ok(match scope {
        _ if store.count().await? == 0 => say!("no-tasks-yet"),
        Some(scope) if !is_narrowed => say!("no-tasks-here", place = scope.shown()),
        _ => say!("no-task-like-that"),
    })
}

/// Says what is shown, and the flags that show more.
fn footer(filter: &ListArgs, scope: Option<&ProjectScope>, shown: usize, has_more: bool) -> String {
    let tasks = say!("many-tasks", n = shown);
    let mut parts = vec![match scope {
        Some(scope) => say!("tasks-of-project", tasks, place = scope.shown()),
        None => tasks,
    }];
    let mut offer = |is_used: bool, flag: &str| {
        if !is_used {
            parts.push(flag.to_owned());
        }
    };
    offer(!has_more, &format!("--limit {}", filter.limit.saturating_mul(2)));
    offer(filter.all || filter.session.is_some(), "--all");
    offer(filter.since.is_some(), "--since 7d");
    offer(filter.status.is_some(), "--status failed");
    offer(unfolds(filter), "--children");
    parts.join(" · ")
}
