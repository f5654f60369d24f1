//! Event streams.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};
use posse_core::id::TaskId;

use crate::extract::{Caller, Params, TaskPath, bounded, invalid};
use crate::feed::{StreamPosition, StreamScope, StreamStart, TaskWatcher};
use crate::problem::RouteResult;
use crate::state::{ApiParts, ApiState};
use crate::tokens::TokenEntry;
use crate::wire::{StreamQuery, TaskStreamQuery};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Streams the events of all tasks.
#[utoipa::path(get, path = "/v1/stream", tag = "streams",
    params(StreamQuery, ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
pub async fn all(
    State(api): State<ApiState>,
    Caller(caller): Caller,
    Params(query): Params<StreamQuery>,
    headers: HeaderMap,
) -> RouteResult<Response> {
    let session = bounded("session", query.session.as_deref(), 100)?;
    let scope = match (bounded("tree", query.tree.as_deref(), 200)?, session) {
        (Some(top), _) => {
            let top = TaskId::from_store(top.to_owned());
            StreamScope::Tree(api.store.task(&top).await?.id)
        }
        (None, Some(session)) => StreamScope::Session(session.to_owned()),
        (None, None) => StreamScope::All,
    };
    let after = last_id(&headers)?.or(bounded("after", query.after.as_deref(), 60)?);
    let start = match after {
        None => StreamStart::Now,
        Some(id) => StreamStart::After(StreamPosition::parse(id).ok_or_else(|| invalid("Last-Event-ID"))?),
    };
    stream(&api, caller, scope, start).await
}

/// Streams the events of one task.
#[utoipa::path(get, path = "/v1/tasks/{id}/stream", tag = "streams",
    params(("id" = String, Path), TaskStreamQuery, ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
pub async fn one(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    Caller(caller): Caller,
    Params(query): Params<TaskStreamQuery>,
    headers: HeaderMap,
) -> RouteResult<Response> {
    let row = api.store.task(&id).await?;
    let next = match last_id(&headers)? {
        Some(id) => {
            let seq: u64 = id.parse().map_err(|_| invalid("Last-Event-ID"))?;
            seq.saturating_add(1)
        }
        None => query.since.unwrap_or_default(),
    };
    stream(&api, caller, StreamScope::Task(row.id), StreamStart::Record(next)).await
}

fn last_id(headers: &HeaderMap) -> RouteResult<Option<&str>> {
    let Some(id) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let id = id.to_str().map_err(|_| invalid("Last-Event-ID"))?;
    Ok((!id.is_empty()).then_some(id))
}

async fn stream(
    api: &Arc<ApiParts>,
    caller: Arc<TokenEntry>,
    scope: StreamScope,
    start: StreamStart,
) -> RouteResult<Response> {
    let shared = api.clone();
    let is_allowed = Box::new(move || shared.tokens.is_valid(&caller));
    let watcher = TaskWatcher::new(api.hub.clone(), scope, start, api.ending.clone(), is_allowed).await?;
    // Pulled by the connection: a slow client takes its next lines when it has room for them.
    let chunks = unfold(watcher, |mut watcher| async move {
        let chunk = watcher.next().await?;
        Some((Ok::<Bytes, Infallible>(chunk), watcher))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies that buffer would hold events back.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}
