//! Lists and details of tasks, spawn and wait.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::journal::{Record, start_of};
use posse_core::mode::WorkMode;
use posse_core::outcome::OutcomeStatus;
use posse_core::state::TaskState;
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use posse_runtime::delegation::DelegationRequest;
use posse_runtime::follow::task_tree;
use posse_runtime::ports::{CatalogTask, StoredRecord, TaskPageQuery};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::extract::{
    CallId, JsonBody, JsonReply, PageBounds, Params, TaskPath, bounded, instant, invalid, json,
};
use crate::feed::{OwnerLooks, StandingFacts};
use crate::problem::RouteResult;
use crate::progress::TaskProgress;
use crate::state::{ApiParts, ApiState};
use crate::summary::{bounds_view, find, group_of, outcome_view, status_of, summaries};
use crate::wire::{
    FailedCall, ListPage, OverviewGroup, PageQuery, SpawnBody, SpawnedTask, TaskDetail, TaskListQuery,
    TaskSpec, TaskStatus, TaskSummary, WaitBody, WaitQuery, WaitedTasks,
};

/// Longest wait of one request.
const WAIT_MS_MAX: u64 = 45_000;
const WAIT_MS_USUAL: u64 = 30_000;
/// Tasks that one wait is for.
const WAITED_MAX: usize = 100;
/// Failed calls that a detail shows.
const FAILED_MAX: usize = 100;
/// Task of a spawn without an agent.
const GENERAL: &str = posse_core::task::GENERAL;

/// Lists tasks, newest first.
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(TaskListQuery),
    responses((status = 200, body = ListPage<TaskSummary>)))]
pub async fn list(
    State(api): State<ApiState>,
    Params(query): Params<TaskListQuery>,
) -> RouteResult<JsonReply<ListPage<TaskSummary>>> {
    let bounds = PageBounds::read(query.cursor.as_deref(), query.limit)?;
    let limit = bounds.limit as usize;
    let mut found = matching(&api, &query, bounds).await?;
    let next_cursor = (found.len() > limit).then(|| PageBounds::cursor(found[limit - 1].number));
    found.truncate(limit);
    Ok(JsonReply(ListPage { items: summaries(&api, found).await?, next_cursor }))
}

/// Finds the tasks of a page, and one more if there is one.
async fn matching(
    api: &ApiParts,
    query: &TaskListQuery,
    bounds: PageBounds,
) -> RouteResult<Vec<CatalogTask>> {
    let words = bounded("q", query.q.as_deref(), 200)?.unwrap_or_default().to_lowercase();
    let ended = |status| Some(TaskState::Ended(status));
    let state = match (query.status, query.group) {
        (Some(TaskStatus::Queued | TaskStatus::Running | TaskStatus::Interrupted), _)
        | (None, Some(OverviewGroup::NeedsInput | OverviewGroup::Working)) => Some(TaskState::Running),
        (Some(TaskStatus::Completed), _) => ended(OutcomeStatus::Completed),
        (Some(TaskStatus::Partial), _) => ended(OutcomeStatus::Partial),
        (Some(TaskStatus::Failed), _) => ended(OutcomeStatus::Failed),
        (Some(TaskStatus::Cancelled), _) => ended(OutcomeStatus::Cancelled),
        (None, Some(OverviewGroup::Completed) | None) => None,
    };
    let mut page = TaskPageQuery {
        before: bounds.before,
        session: bounded("session", query.session.as_deref(), 100)?.map(str::to_owned),
        workspace: bounded("workspace", query.workspace.as_deref(), 500)?.map(str::to_owned),
        agent: bounded("agent", query.agent.as_deref(), 200)?.map(str::to_owned),
        parent: bounded("parent", query.parent.as_deref(), 200)?.map(|id| TaskId::from_store(id.to_owned())),
        is_root: query.roots.unwrap_or_default(),
        state,
        has_ended: query.group == Some(OverviewGroup::Completed),
        since_ms: instant("since", query.since.as_deref())?,
        words: words.split_whitespace().map(str::to_owned).collect(),
        limit: bounds.limit + 1,
    };
    api.hub.look_now().await;
    // The store knows neither processes nor open decisions; of running tasks there are few.
    let is_refined = state == Some(TaskState::Running);
    if is_refined {
        page.limit = u32::MAX;
    }
    let mut found = api.store.task_page(page).await?;
    if is_refined {
        let (facts, mut owners) = (api.hub.facts(), OwnerLooks::default());
        found.retain(|task| fits(task, query, &facts, &mut owners));
        found.truncate(bounds.limit as usize + 1);
    }
    Ok(found)
}

fn fits(task: &CatalogTask, query: &TaskListQuery, facts: &StandingFacts, owners: &mut OwnerLooks) -> bool {
    let mut status = || status_of(&task.row, owners.lives(&task.row));
    query.group.is_none_or(|group| group_of(&task.row, facts) == group)
        && query.status.is_none_or(|wanted| status() == wanted)
}

/// Starts a task of the server's project, or queues it.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", request_body = SpawnBody,
    params(("Idempotency-Key" = Option<String>, Header)),
    responses((status = 201, body = SpawnedTask, headers(("Location" = String)))))]
pub async fn spawn(
    State(api): State<ApiState>,
    CallId(key): CallId,
    JsonBody(body): JsonBody<SpawnBody>,
) -> RouteResult<Response> {
    let mut fields: Map<String, Value> = match serde_json::to_value(&body) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    fields.insert("action".to_owned(), "spawn".into());
    fields.entry("agent").or_insert_with(|| GENERAL.into());
    // The one reader of delegation requests, with its bounds and hints.
    let DelegationRequest::Spawn(request) = DelegationRequest::read(fields)? else {
        return Err(Error::new(ErrorCode::Internal, localized!("http-invalid", what = "action")).into());
    };
    let hosted = api.host.session().await?;
    let receipt = hosted.spawn(*request, &key).await?;
    let spawned = SpawnedTask {
        task_id: receipt.id.to_string(),
        agent: receipt.agent.to_string(),
        queued: receipt.queued,
        failure: receipt.failure,
        warnings: receipt.notes,
    };
    let mut response = json(StatusCode::CREATED, &spawned);
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/tasks/{}", spawned.task_id)) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

/// Waits until one or all of these tasks have ended, or one needs a person.
#[utoipa::path(post, path = "/v1/tasks/wait", tag = "tasks", request_body = WaitBody,
    responses((status = 200, body = WaitedTasks)))]
pub async fn wait(
    State(api): State<ApiState>,
    JsonBody(body): JsonBody<WaitBody>,
) -> RouteResult<JsonReply<WaitedTasks>> {
    if !(1..=WAITED_MAX).contains(&body.task_ids.len()) {
        return Err(invalid(format_args!("task_ids: expected 1 to {WAITED_MAX}")));
    }
    let timeout = wait_of("timeout_ms", body.timeout_ms.unwrap_or(WAIT_MS_USUAL))?;
    let ids: Vec<TaskId> = body.task_ids.into_iter().map(TaskId::from_store).collect();
    let (found, timed_out) = settled(&api, &ids, body.all, timeout).await?;
    let (ended, running) = found.into_iter().partition(|task| task.group == OverviewGroup::Completed);
    Ok(JsonReply(WaitedTasks { ended, running, timed_out }))
}

fn wait_of(name: &str, millis: u64) -> RouteResult<Duration> {
    if millis > WAIT_MS_MAX {
        return Err(invalid(format_args!("{name}: at most {WAIT_MS_MAX}")));
    }
    Ok(Duration::from_millis(millis))
}

/// Waits until enough tasks have settled, and tells whether the time was over before.
async fn settled(
    api: &ApiParts,
    ids: &[TaskId],
    all: bool,
    timeout: Duration,
) -> RouteResult<(Vec<TaskSummary>, bool)> {
    let deadline = Instant::now() + timeout;
    let mut news = api.hub.follow();
    loop {
        api.hub.look_now().await;
        news.mark_unchanged();
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.push(api.store.catalog_task(id).await?);
        }
        let facts = api.hub.facts();
        let groups: Vec<OverviewGroup> = found.iter().map(|task| group_of(&task.row, &facts)).collect();
        let ended = groups.iter().filter(|group| **group == OverviewGroup::Completed).count();
        let needed = if all { ids.len() } else { 1 };
        let is_enough = ended >= needed || groups.contains(&OverviewGroup::NeedsInput);
        if is_enough || Instant::now() >= deadline || api.ending.is_cancelled() {
            return Ok((summaries(api, found).await?, !is_enough));
        }
        tokio::select! {
            _ = news.changed() => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = api.ending.cancelled() => {}
        }
    }
}

/// Shows a task with its request and its result.
#[utoipa::path(get, path = "/v1/tasks/{id}", tag = "tasks", params(("id" = String, Path), WaitQuery),
    responses((status = 200, body = TaskDetail)))]
pub async fn show(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    Params(query): Params<WaitQuery>,
) -> RouteResult<JsonReply<TaskDetail>> {
    let wait = wait_of("wait_ms", query.wait_ms.unwrap_or_default())?;
    settled(&api, std::slice::from_ref(&id), false, wait).await?;
    Ok(JsonReply(detail(&api, &id).await?))
}

/// Reads everything about a task.
pub async fn detail(api: &ApiParts, id: &TaskId) -> RouteResult<TaskDetail> {
    let stored = api.store.records_from(id, 0, usize::MAX).await?;
    let mut task = find(api, id).await?;
    let mut progress = TaskProgress::default();
    progress.follow(&stored);
    task.model = task.model.or(progress.model.clone());
    task.context = task.context.or(progress.context);
    task.turns_max = task.turns_max.or(progress.turns_max);
    let failed_calls = failed_calls(&stored);
    let records: Vec<Record> = stored.into_iter().map(|stored| stored.record).collect();
    let start = start_of(&records)?;
    let outcome = records.iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome_view(outcome)),
        _ => None,
    });
    let is_over = task.group == OverviewGroup::Completed;
    let request = TaskSpec {
        task: start.task.clone(),
        model: start.agent.model.clone(),
        mode: WorkMode::of(&start.grant).wire().to_owned(),
        tools: start.grant.tools().map(str::to_owned).collect(),
        sandbox: start.grant.sandbox().wire().to_owned(),
        directory: start.workspace.clone(),
        worktree: start.apart_from.is_some(),
        write_paths: start.write_lease.clone(),
        depends_on: start.terms.depends_on.clone(),
        verify: start.verify.clone(),
        detached: start.link.detached,
        turns_max: start.agent.limits.turns_max,
        tool_calls_max: start.agent.limits.tool_calls_max,
        wall_ms_max: start.agent.limits.wall_ms_max,
        caps: bounds_view(&start.caps),
        notes: start.notes.clone(),
    };
    let descendants = descendants(api, id).await?;
    Ok(TaskDetail { task, request, descendants, failed_calls, outcome: outcome.filter(|_| is_over) })
}

async fn descendants(api: &ApiParts, id: &TaskId) -> RouteResult<BTreeMap<String, u64>> {
    let (rows, mut owners) = (task_tree(&*api.store, id).await?, OwnerLooks::default());
    let mut counts = BTreeMap::new();
    for row in rows.iter().filter(|row| row.id != *id) {
        let lives = row.state.is_running() && owners.lives(row);
        let status = serde_json::to_value(status_of(row, lives)).unwrap_or_default();
        *counts.entry(status.as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    Ok(counts)
}

fn failed_calls(stored: &[StoredRecord]) -> Vec<FailedCall> {
    let failed = |record: &Record| match Event::from_record(record)? {
        Event::ToolFinished { key, tool, is_error: true, why, .. } => {
            Some(FailedCall { call: key.to_string(), tool, why, refused: false })
        }
        Event::ToolRefused { key, tool, why } => {
            Some(FailedCall { call: key.to_string(), tool, why: Some(why), refused: true })
        }
        _ => None,
    };
    let mut calls: Vec<FailedCall> = stored.iter().filter_map(|stored| failed(&stored.record)).collect();
    calls.drain(..calls.len().saturating_sub(FAILED_MAX));
    calls
}

/// Lists a task and everything below it, parents first.
#[utoipa::path(get, path = "/v1/tasks/{id}/tree", tag = "tasks", params(("id" = String, Path), PageQuery),
    responses((status = 200, body = ListPage<TaskSummary>)))]
pub async fn tree(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    Params(query): Params<PageQuery>,
) -> RouteResult<JsonReply<ListPage<TaskSummary>>> {
    let bounds = PageBounds::read(query.cursor.as_deref(), query.limit)?;
    let top = api.store.catalog_task(&id).await?;
    api.hub.look_now().await;
    let of_session =
        TaskPageQuery { session: Some(id.session().to_owned()), limit: u32::MAX, ..TaskPageQuery::default() };
    let mut tasks = api.store.task_page(of_session).await?;
    // Newest first, and a parent is older than its children.
    tasks.reverse();
    let mut within = HashSet::from([top.row.id.clone()]);
    tasks.retain(|task| {
        let row = &task.row;
        row.id == id
            || (row.parent.as_ref().is_some_and(|parent| within.contains(parent))
                && within.insert(row.id.clone()))
    });
    let from = bounds.before.map_or(0, |after| tasks.partition_point(|task| task.number <= after));
    let page: Vec<CatalogTask> = tasks.iter().skip(from).take(bounds.limit as usize).cloned().collect();
    let has_more = from + page.len() < tasks.len();
    let next_cursor = page.last().filter(|_| has_more).map(|last| PageBounds::cursor(last.number));
    Ok(JsonReply(ListPage { items: summaries(&api, page).await?, next_cursor }))
}
