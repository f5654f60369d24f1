//! Actions on a task, whichever process drives it: messages, answers, cancel, resume, and its changes.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use posse_runtime::context::now_ms;
use posse_runtime::liveness::lives;
use posse_runtime::ports::{MessageReceipt, QuestionAnswer, SteeringMessage};
use posse_runtime::worker::{self, CancelEnd};
use tokio::time::Instant;

use crate::extract::{CallId, JsonBody, JsonReply, OptionalBody, TaskPath, invalid, json};
use crate::problem::RouteResult;
use crate::state::ApiState;
use crate::summary::{find, question_view};
use crate::wire::{
    AnswerBody, AnsweredQuestion, AppliedTask, ApplyBody, CancelReceipt, CancelledTask, DiscardedChanges,
    ListPage, MessageBody, MessageState, ResumeBody, ResumedTask, SentMessage, UndoBody, UndoneTask,
};

/// Time for a process to take a resumed task over.
const CLAIM_WAIT: Duration = Duration::from_secs(3);
const CLAIM_LOOK: Duration = Duration::from_millis(50);

/// Sends a steering message, which the task reads before its next turn.
#[utoipa::path(post, path = "/v1/tasks/{id}/messages", tag = "actions", request_body = MessageBody,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = SentMessage)))]
pub async fn send(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    CallId(key): CallId,
    JsonBody(body): JsonBody<MessageBody>,
) -> RouteResult<JsonReply<SentMessage>> {
    if body.text.trim().is_empty() {
        return Err(invalid("text: it is empty"));
    }
    let row = api.store.task(&id).await?;
    let message = SteeringMessage { task: id.clone(), key: key.clone(), text: body.text, sent_ms: now_ms() };
    let receipt = api.store.send_message(message).await?;
    if receipt == MessageReceipt::Full {
        return Err(Error::new(ErrorCode::InvalidRequest, localized!("messages-unread", id))
            .hint(localized!("messages-unread-hint"))
            .into());
    }
    let undriven = receipt == MessageReceipt::Queued && !lives(&row);
    Ok(JsonReply(sent(key, receipt, undriven)))
}

fn sent(key: String, receipt: MessageReceipt, undriven: bool) -> SentMessage {
    let (receipt, turn) = match receipt {
        MessageReceipt::Delivered { turn } => (MessageState::Delivered, Some(turn)),
        MessageReceipt::Queued => (MessageState::Queued, None),
        MessageReceipt::Missed | MessageReceipt::Full => (MessageState::Missed, None),
    };
    SentMessage { key, receipt, turn, undriven }
}

/// Lists the receipts of the newest messages, oldest first.
#[utoipa::path(get, path = "/v1/tasks/{id}/messages", tag = "actions", params(("id" = String, Path)),
    responses((status = 200, body = ListPage<SentMessage>)))]
pub async fn receipts(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
) -> RouteResult<JsonReply<ListPage<SentMessage>>> {
    let row = api.store.task(&id).await?;
    let receipts = api.store.receipts(&id).await?;
    let is_undriven = !lives(&row);
    let shown = |(key, receipt): (String, MessageReceipt)| {
        sent(key, receipt, is_undriven && receipt == MessageReceipt::Queued)
    };
    Ok(JsonReply(ListPage { items: receipts.into_iter().map(shown).collect(), next_cursor: None }))
}

/// Answers the open question of a task.
#[utoipa::path(post, path = "/v1/tasks/{id}/answer", tag = "actions", request_body = AnswerBody,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = AnsweredQuestion)))]
pub async fn answer(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    CallId(key): CallId,
    JsonBody(body): JsonBody<AnswerBody>,
) -> RouteResult<JsonReply<AnsweredQuestion>> {
    let answer = QuestionAnswer { task: id.clone(), key, text: body.answer };
    let answered = api.store.answer_question(answer).await?;
    Ok(JsonReply(AnsweredQuestion {
        task_id: id.to_string(),
        answered: answered.is_some(),
        question: answered.map(|answered| question_view(&id, &answered.question)),
    }))
}

/// Cancels a task and everything below it.
#[utoipa::path(post, path = "/v1/tasks/{id}/cancel", tag = "actions", params(("id" = String, Path)),
    responses((status = 200, body = CancelledTask)))]
pub async fn cancel(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
) -> RouteResult<JsonReply<CancelledTask>> {
    let row = api.store.task(&id).await?;
    let (_, end) = worker::cancel(&*api.store, row, api.host.sweep()).await?;
    let receipt = match end {
        CancelEnd::Cancelled => CancelReceipt::Cancelled,
        CancelEnd::HadEnded => CancelReceipt::HadEnded,
        CancelEnd::TooLate => CancelReceipt::TooLate,
        CancelEnd::NotYet => CancelReceipt::Requested,
    };
    api.hub.look_now().await;
    Ok(JsonReply(CancelledTask { receipt, task: find(&api, &id).await? }))
}

/// Continues a task in a process of its own.
#[utoipa::path(post, path = "/v1/tasks/{id}/resume", tag = "actions", request_body = Option<ResumeBody>,
    params(("id" = String, Path)), responses((status = 202, body = ResumedTask)))]
pub async fn resume(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    OptionalBody(more): OptionalBody<ResumeBody>,
) -> RouteResult<Response> {
    let is_positive = more.max_turns != Some(0)
        && more.timeout_s != Some(0)
        && more.max_cost_usd.is_none_or(|cost| cost.is_finite() && cost > 0.0);
    if !is_positive {
        return Err(invalid("a limit has to be positive"));
    }
    let before = api.store.task(&id).await?;
    api.host.resume(&before, more).await?;
    let deadline = Instant::now() + CLAIM_WAIT;
    let claimed = loop {
        if api.store.task(&id).await?.epoch > before.epoch {
            break true;
        }
        if Instant::now() >= deadline {
            break false;
        }
        tokio::time::sleep(CLAIM_LOOK).await;
    };
    api.hub.look_now().await;
    Ok(json(StatusCode::ACCEPTED, &ResumedTask { claimed, task: find(&api, &id).await? }))
}

/// Writes the changes of a task's worktree into the project.
#[utoipa::path(post, path = "/v1/tasks/{id}/apply", tag = "actions", request_body = Option<ApplyBody>,
    params(("id" = String, Path)), responses((status = 200, body = AppliedTask)))]
pub async fn apply(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    OptionalBody(how): OptionalBody<ApplyBody>,
) -> RouteResult<JsonReply<AppliedTask>> {
    let row = api.store.task(&id).await?;
    Ok(JsonReply(api.host.apply(&row, how).await?))
}

/// Removes a task's worktree with its changes.
#[utoipa::path(post, path = "/v1/tasks/{id}/discard", tag = "actions", params(("id" = String, Path)),
    responses((status = 200, body = DiscardedChanges)))]
pub async fn discard(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
) -> RouteResult<JsonReply<DiscardedChanges>> {
    let row = api.store.task(&id).await?;
    Ok(JsonReply(api.host.discard(&row).await?))
}

/// Takes the changes of a task back.
#[utoipa::path(post, path = "/v1/tasks/{id}/undo", tag = "actions", request_body = Option<UndoBody>,
    params(("id" = String, Path)), responses((status = 200, body = UndoneTask)))]
pub async fn undo(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    OptionalBody(span): OptionalBody<UndoBody>,
) -> RouteResult<JsonReply<UndoneTask>> {
    if span.turn == Some(0) {
        return Err(invalid("turn: expected 1 or more"));
    }
    let row = api.store.task(&id).await?;
    Ok(JsonReply(api.host.undo(&row, span).await?))
}
