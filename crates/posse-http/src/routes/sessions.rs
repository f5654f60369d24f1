//! Sessions and their shared context.

use axum::extract::State;
use posse_core::context::wire::{ContextRequest, utc};
use posse_core::context::{
    Audience, AudienceChange, ChangeResult, ContextChange, ContextKey, ContextSnapshot, OPERATOR,
    TOTAL_TOKENS_MAX, ValueHead, missing,
};
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use posse_runtime::context::{ContextCaller, change, now_ms};
use posse_runtime::ports::SessionRow;

use crate::extract::{JsonBody, JsonReply, PageBounds, Params, Segment, SegmentPair, invalid};
use crate::problem::RouteResult;
use crate::state::ApiState;
use crate::wire::{
    ContextHistory, ContextListing, ContextReceipt, ContextValue, ContextVersion, ContextWriteBody, ListPage,
    PageQuery, SessionView, SnapshotView,
};

/// Versions of a key that its history shows.
const VERSIONS_MAX: u32 = 100;

/// Lists sessions, newest first.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(PageQuery),
    responses((status = 200, body = ListPage<SessionView>)))]
pub async fn list(
    State(api): State<ApiState>,
    Params(query): Params<PageQuery>,
) -> RouteResult<JsonReply<ListPage<SessionView>>> {
    let bounds = PageBounds::read(query.cursor.as_deref(), query.limit)?;
    let limit = bounds.limit as usize;
    let mut found = api.store.session_page(bounds.before, bounds.limit + 1, now_ms()).await?;
    let next_cursor = (found.len() > limit).then(|| PageBounds::cursor(found[limit - 1].0));
    found.truncate(limit);
    Ok(JsonReply(ListPage { items: found.into_iter().map(|(_, row)| session(row)).collect(), next_cursor }))
}

fn session(row: SessionRow) -> SessionView {
    SessionView {
        session_id: row.id,
        title: row.title,
        workspace: row.workspace,
        archived: row.archived_ms.is_some(),
        tasks: row.tasks,
        keys: row.keys,
        total_size_tokens: row.tokens,
        limit_tokens: TOTAL_TOKENS_MAX,
        created_at: utc(row.created_ms),
        archived_at: row.archived_ms.map(utc),
    }
}

/// Shows a session.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = SessionView)))]
pub async fn show(State(api): State<ApiState>, Segment(id): Segment) -> RouteResult<JsonReply<SessionView>> {
    let found = api.store.session_named(&id, now_ms()).await?;
    let unknown = || Error::new(ErrorCode::SessionNotFound, localized!("http-no-session"));
    Ok(JsonReply(session(found.ok_or_else(unknown)?)))
}

/// Lists the keys of a session's shared context without their values.
#[utoipa::path(get, path = "/v1/sessions/{id}/context", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = ContextListing)))]
pub async fn context(
    State(api): State<ApiState>,
    Segment(id): Segment,
) -> RouteResult<JsonReply<ContextListing>> {
    let heads = api.store.context_keys(&id, now_ms()).await?;
    let snapshots = api.store.snapshots(&id).await?;
    Ok(JsonReply(ContextListing {
        session_id: id,
        total_size_tokens: heads.iter().map(|head| head.tokens).sum(),
        limit_tokens: TOTAL_TOKENS_MAX,
        keys: heads.into_iter().map(|head| value_view(head, None)).collect(),
        snapshots: snapshots.into_iter().map(snapshot_view).collect(),
    }))
}

fn value_view(head: ValueHead, value: Option<String>) -> ContextValue {
    let Audience { readable_by, writable_by } = head.audience;
    let everyone = Audience::default();
    let named = |who: Vec<String>| (who != everyone.readable_by).then_some(who);
    ContextValue {
        key: head.key.to_string(),
        version: head.version,
        size_tokens: head.tokens,
        written_by: head.written_by,
        written_at: utc(head.written_at_ms),
        previous_version: head.previous_version,
        expires_at: head.expires_at_ms.map(utc),
        readable_by: named(readable_by),
        writable_by: named(writable_by),
        value,
    }
}

fn snapshot_view(taken: ContextSnapshot) -> SnapshotView {
    SnapshotView {
        label: taken.label.to_string(),
        taken_by: taken.taken_by,
        taken_at: utc(taken.taken_at_ms),
        keys: taken.keys,
        total_size_tokens: taken.tokens,
    }
}

/// Shows a value of the shared context.
#[utoipa::path(get, path = "/v1/sessions/{id}/context/{key}", tag = "sessions",
    params(("id" = String, Path), ("key" = String, Path)), responses((status = 200, body = ContextValue)))]
pub async fn value(
    State(api): State<ApiState>,
    SegmentPair(id, key): SegmentPair,
) -> RouteResult<JsonReply<ContextValue>> {
    let key = ContextKey::parse(&key)?;
    let mut found = api.store.context_values(&id, std::slice::from_ref(&key), now_ms()).await?;
    let entry = found.pop().ok_or_else(|| missing(&key))?;
    Ok(JsonReply(value_view(entry.head, Some(entry.value))))
}

/// Writes a value of the shared context as the operator.
#[utoipa::path(put, path = "/v1/sessions/{id}/context/{key}", tag = "sessions",
    params(("id" = String, Path), ("key" = String, Path)), request_body = ContextWriteBody,
    responses((status = 200, body = ContextReceipt)))]
pub async fn write(
    State(api): State<ApiState>,
    SegmentPair(id, key): SegmentPair,
    JsonBody(body): JsonBody<ContextWriteBody>,
) -> RouteResult<JsonReply<ContextReceipt>> {
    if body.ttl_s == Some(0) {
        return Err(invalid("ttl_s: expected 1 or more"));
    }
    let (key, keep) = (ContextKey::parse(&key)?, AudienceChange::parse(None, None)?);
    let request = ContextRequest::write(key.clone(), body.value, body.expected_version, body.ttl_s, keep)?;
    let caller = ContextCaller { session: &id, participant: OPERATOR, idempotency_key: None };
    let answer = posse_runtime::context::perform(&*api.store, caller, request).await?;
    Ok(JsonReply(match answer {
        posse_core::context::wire::ContextAnswer::Changed(changed) => receipt(&key, changed),
        _ => receipt(&key, ChangeResult::Deleted { key: key.clone(), previous_version: 0 }),
    }))
}

fn receipt(key: &ContextKey, changed: ChangeResult) -> ContextReceipt {
    let key = key.to_string();
    match changed {
        ChangeResult::Written(head) => ContextReceipt {
            key,
            version: Some(head.version),
            previous_version: head.previous_version,
            warning: head.warning().map(|warning| warning.english().to_owned()),
        },
        ChangeResult::Deleted { previous_version, .. } => {
            ContextReceipt { key, version: None, previous_version: Some(previous_version), warning: None }
        }
        ChangeResult::SnapshotTaken(_) | ChangeResult::Restored { .. } => {
            ContextReceipt { key, version: None, previous_version: None, warning: None }
        }
    }
}

/// Deletes a value of the shared context.
#[utoipa::path(delete, path = "/v1/sessions/{id}/context/{key}", tag = "sessions",
    params(("id" = String, Path), ("key" = String, Path)), responses((status = 200, body = ContextReceipt)))]
pub async fn delete(
    State(api): State<ApiState>,
    SegmentPair(id, key): SegmentPair,
) -> RouteResult<JsonReply<ContextReceipt>> {
    let key = ContextKey::parse(&key)?;
    let caller = ContextCaller { session: &id, participant: OPERATOR, idempotency_key: None };
    let changed = change(&*api.store, caller, ContextChange::Delete(key.clone())).await?;
    Ok(JsonReply(receipt(&key, changed)))
}

/// Shows the history of a key, newest first.
#[utoipa::path(get, path = "/v1/sessions/{id}/context/{key}/history", tag = "sessions",
    params(("id" = String, Path), ("key" = String, Path)), responses((status = 200, body = ContextHistory)))]
pub async fn history(
    State(api): State<ApiState>,
    SegmentPair(id, key): SegmentPair,
) -> RouteResult<JsonReply<ContextHistory>> {
    let key = ContextKey::parse(&key)?;
    let past = api.store.context_history(&id, &key, VERSIONS_MAX).await?;
    let version = |line: posse_core::context::HistoryLine| ContextVersion {
        action: line.act.wire().to_owned(),
        entry: value_view(line.head, line.value),
    };
    Ok(JsonReply(ContextHistory { key: key.to_string(), versions: past.into_iter().map(version).collect() }))
}
