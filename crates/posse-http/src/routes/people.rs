//! Decisions of people: approvals, questions and leases.

use axum::extract::State;
use posse_core::approval::{
    ApprovalAnswer, ApprovalRequest, ApprovalScope, ApprovalState, ApprovalVerdict, DecidedBy, ParkedCall,
};
use posse_core::context::wire::utc;
use posse_core::id::TaskId;
use posse_core::lease::Lease;
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use posse_runtime::context::now_ms;
use posse_runtime::liveness::{lives, pid};
use posse_runtime::ports::{ApprovalPageQuery, ApprovalQuery, TaskRow};

use crate::extract::{
    Caller, JsonBody, JsonReply, OptionalBody, PageBounds, Params, Segment, TaskPath, bounded, invalid,
};
use crate::problem::RouteResult;
use crate::state::{ApiParts, ApiState};
use crate::summary::question_view;
use crate::wire::{
    AnswerScope, ApprovalAnswerBody, ApprovalChoice, ApprovalListQuery, ApprovalStatus, ApprovalView,
    GivenAnswer, LeaseState, LeaseView, ListPage, OpenQuestion, ReleaseBody,
};

/// Lists approvals: open ones oldest first, others newest first.
#[utoipa::path(get, path = "/v1/approvals", tag = "people", params(ApprovalListQuery),
    responses((status = 200, body = ListPage<ApprovalView>)))]
pub async fn approvals(
    State(api): State<ApiState>,
    Params(query): Params<ApprovalListQuery>,
) -> RouteResult<JsonReply<ListPage<ApprovalView>>> {
    let bounds = PageBounds::read(query.cursor.as_deref(), query.limit)?;
    let task = bounded("task", query.task.as_deref(), 200)?.map(|id| TaskId::from_store(id.to_owned()));
    if query.status == Some(ApprovalStatus::Open) {
        let mut open = api.store.approvals(ApprovalQuery::Open).await?;
        open.retain(|parked| task.as_ref().is_none_or(|task| parked.request.task == *task));
        // The cursor is the number of calls before the page.
        let from = bounds.before.unwrap_or_default();
        let next = from.saturating_add(u64::from(bounds.limit));
        let skipped = usize::try_from(from).unwrap_or(usize::MAX);
        let items = open.iter().skip(skipped).take(bounds.limit as usize).map(view).collect();
        let next_cursor = (next < open.len() as u64).then(|| PageBounds::cursor(next));
        return Ok(JsonReply(ListPage { items, next_cursor }));
    }
    let state = query.status.and_then(|status| serde_json::to_value(status).ok());
    let state = state.and_then(|state| state.as_str().map(str::to_owned));
    let page = ApprovalPageQuery { before: bounds.before, task, state, limit: bounds.limit + 1 };
    let mut found = api.store.approval_page(page).await?;
    let limit = bounds.limit as usize;
    let next_cursor = (found.len() > limit).then(|| PageBounds::cursor(found[limit - 1].0));
    found.truncate(limit);
    Ok(JsonReply(ListPage { items: found.iter().map(|(_, parked)| view(parked)).collect(), next_cursor }))
}

/// Shows an approval exactly as the call would be executed.
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "people", params(("id" = String, Path)),
    responses((status = 200, body = ApprovalView)))]
pub async fn approval(
    State(api): State<ApiState>,
    Segment(id): Segment,
) -> RouteResult<JsonReply<ApprovalView>> {
    Ok(JsonReply(view(&api.store.approval(&id).await?)))
}

/// Answers an approval. The name of the token is recorded as the person who decided.
#[utoipa::path(post, path = "/v1/approvals/{id}", tag = "people", params(("id" = String, Path)),
    request_body = ApprovalAnswerBody, responses((status = 200, body = ApprovalView)))]
pub async fn decide(
    State(api): State<ApiState>,
    Segment(id): Segment,
    Caller(caller): Caller,
    JsonBody(body): JsonBody<ApprovalAnswerBody>,
) -> RouteResult<JsonReply<ApprovalView>> {
    if body.expires_s == Some(0) {
        return Err(invalid("expires_s: expected 1 or more"));
    }
    let now = now_ms();
    let verdict = match body.verdict {
        ApprovalChoice::Approve => ApprovalVerdict::Approve,
        ApprovalChoice::Deny => ApprovalVerdict::Deny,
    };
    let scope = match body.scope {
        AnswerScope::Once => ApprovalScope::Once,
        AnswerScope::Task => ApprovalScope::Task,
        AnswerScope::Subtree => ApprovalScope::Subtree,
        AnswerScope::Session => ApprovalScope::Session,
    };
    let answer = ApprovalAnswer {
        scope,
        reason: body.reason,
        expires_ms: body.expires_s.map(|seconds| now.saturating_add(seconds.saturating_mul(1000))),
        ..ApprovalAnswer::new(verdict, DecidedBy::Person(caller.name.clone()), now)
    };
    let answered = match api.store.answer(&id, &body.hash, answer.clone()).await {
        Err(e) if e.code() == ErrorCode::ApprovalClosed => {
            let known = api.store.approval(&id).await?;
            // The same answer again: the first response may have been lost.
            let is_repeated = matches!(&known.state, ApprovalState::Answered(first)
                if first.verdict == answer.verdict && first.scope == answer.scope && first.by == answer.by);
            if !is_repeated {
                return Err(e.into());
            }
            known
        }
        answered => answered?,
    };
    api.hub.look_now().await;
    Ok(JsonReply(view(&answered)))
}

/// Shows an approval.
fn view(parked: &ParkedCall) -> ApprovalView {
    let ApprovalRequest { task, key, agent, path, tool, arguments, hash, why, covers, shown, .. } =
        &parked.request;
    let (status, closed, answer) = match &parked.state {
        ApprovalState::Open => (ApprovalStatus::Open, None, None),
        ApprovalState::Closed(why) => (ApprovalStatus::Closed, Some(why.clone()), None),
        ApprovalState::Answered(answer) => {
            let status = match answer.verdict {
                ApprovalVerdict::Approve => ApprovalStatus::Approved,
                ApprovalVerdict::Deny => ApprovalStatus::Denied,
            };
            (status, None, Some(given(answer)))
        }
    };
    ApprovalView {
        approval: parked.id.clone(),
        status,
        task_id: task.to_string(),
        session_id: task.session().to_owned(),
        path: path.iter().map(TaskId::to_string).collect(),
        agent: agent.clone(),
        call: key.to_string(),
        tool: tool.clone(),
        arguments: arguments.clone(),
        hash: hash.clone(),
        why: why.clone(),
        covers: covers.clone(),
        shown: shown.clone(),
        asked_at: utc(parked.request.asked_ms),
        deadline_at: utc(parked.request.deadline_ms),
        default: match parked.request.on_deadline {
            ApprovalVerdict::Approve => ApprovalChoice::Approve,
            ApprovalVerdict::Deny => ApprovalChoice::Deny,
        },
        closed,
        answer,
    }
}

fn given(answer: &ApprovalAnswer) -> GivenAnswer {
    GivenAnswer {
        scope: match answer.scope {
            ApprovalScope::Once => AnswerScope::Once,
            ApprovalScope::Task => AnswerScope::Task,
            ApprovalScope::Subtree => AnswerScope::Subtree,
            ApprovalScope::Session => AnswerScope::Session,
        },
        reason: answer.reason.clone(),
        by: answer.by.to_string(),
        answered_at: utc(answer.at_ms),
        expires_at: answer.expires_ms.map(utc),
    }
}

/// Lists the open questions of all tasks, oldest first.
#[utoipa::path(get, path = "/v1/questions", tag = "people",
    responses((status = 200, body = ListPage<OpenQuestion>)))]
pub async fn questions(State(api): State<ApiState>) -> RouteResult<JsonReply<ListPage<OpenQuestion>>> {
    let open = api.store.open_questions().await?;
    let items = open.iter().map(|(task, question)| question_view(task, question)).collect();
    Ok(JsonReply(ListPage { items, next_cursor: None }))
}

/// Lists write leases, oldest first.
#[utoipa::path(get, path = "/v1/leases", tag = "people", responses((status = 200, body = ListPage<LeaseView>)))]
pub async fn leases(State(api): State<ApiState>) -> RouteResult<JsonReply<ListPage<LeaseView>>> {
    let mut items = Vec::new();
    for lease in api.store.leases().await? {
        // Its task may have ended and been deleted meanwhile.
        if let Ok(row) = api.store.task(&lease.task).await {
            items.push(lease_view(&api, &lease, &row));
        }
    }
    Ok(JsonReply(ListPage { items, next_cursor: None }))
}

fn lease_view(api: &ApiParts, lease: &Lease, row: &TaskRow) -> LeaseView {
    let silence_max = api.host.lease_ms();
    let state = match lives(row) {
        false => LeaseState::Dead,
        true if lease.is_expired(now_ms(), silence_max) => LeaseState::Expired,
        true => LeaseState::Held,
    };
    LeaseView {
        task_id: lease.task.to_string(),
        agent: row.agent.clone(),
        state,
        workspace: lease.places.workspace.clone(),
        paths: lease.places.paths.clone(),
        acquired_at: utc(lease.since_ms),
        expires_at: utc(lease.expires_ms(silence_max)),
        process: pid(row).to_owned(),
        epoch: lease.epoch,
        token: lease.token,
    }
}

/// Releases the lease of a dead holder, with `force` of any.
#[utoipa::path(post, path = "/v1/leases/{task}/release", tag = "people", params(("task" = String, Path)),
    request_body = Option<ReleaseBody>, responses((status = 200, body = LeaseView)))]
pub async fn release(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    OptionalBody(body): OptionalBody<ReleaseBody>,
) -> RouteResult<JsonReply<LeaseView>> {
    let row = api.store.task(&id).await?;
    let held = api.store.leases().await?.into_iter().find(|lease| lease.task == id);
    let none = || Error::new(ErrorCode::InvalidRequest, localized!("http-no-lease", id = row.id));
    let lease = held.ok_or_else(none)?;
    let shown = lease_view(&api, &lease, &row);
    if shown.state == LeaseState::Held && !body.force {
        return Err(Error::new(ErrorCode::LeaseHeld, localized!("http-lease-in-use", id = row.id))
            .hint(localized!("http-lease-in-use-hint"))
            .into());
    }
    api.store.end_lease(&lease.task, lease.token).await?;
    Ok(JsonReply(shown))
}
