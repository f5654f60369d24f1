//! Parts of requests, and JSON responses. Everything that is wrong with a request is a problem with a code.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Limited};
use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::{ApiProblem, RouteResult};
use crate::tokens::TokenEntry;
use crate::wire::{PAGE_MAX, PAGE_USUAL};

/// Largest body of a request: far above any task text.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Longest idempotency key.
const KEY_BYTES_MAX: usize = 200;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Creates the error for a value that is malformed.
pub fn invalid(what: impl std::fmt::Display) -> ApiProblem {
    Error::new(ErrorCode::InvalidRequest, localized!("http-invalid", what)).into()
}

/// The token that a request was made with. The door has checked it.
pub struct Caller(pub Arc<TokenEntry>);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let found = parts.extensions.get::<Arc<TokenEntry>>().cloned();
        let missing = || Error::new(ErrorCode::Unauthenticated, localized!("http-unauthenticated"));
        Ok(Self(found.ok_or_else(missing)?))
    }
}

/// A segment of the path.
pub struct Segment(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let mut segments = segments(parts, state).await?;
        Ok(Self(segments.next().unwrap_or_default()))
    }
}

/// Two segments of the path.
pub struct SegmentPair(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for SegmentPair {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let mut segments = segments(parts, state).await?;
        Ok(Self(segments.next().unwrap_or_default(), segments.next().unwrap_or_default()))
    }
}

/// The id of a task in the path.
pub struct TaskPath(pub TaskId);

impl<S: Send + Sync> FromRequestParts<S> for TaskPath {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Segment(id) = Segment::from_request_parts(parts, state).await?;
        Ok(Self(TaskId::from_store(id)))
    }
}

async fn segments<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> RouteResult<impl Iterator<Item = String> + use<S>> {
    let params = RawPathParams::from_request_parts(parts, state).await.map_err(invalid)?;
    let segments: Vec<String> = params.iter().map(|(_, value)| value.to_owned()).collect();
    Ok(segments.into_iter())
}

/// Parameters of the query.
pub struct Params<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let Query(query) = Query::<T>::try_from_uri(&parts.uri).map_err(|e| invalid(e.body_text()))?;
        Ok(Self(query))
    }
}

/// A body in JSON.
pub struct JsonBody<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let is_json = content_type(request.headers()).is_some_and(|kind| kind == "application/json");
        let bytes = read(request.into_body()).await?;
        if !is_json {
            return Err(Error::new(ErrorCode::UnsupportedMediaType, localized!("http-not-json")).into());
        }
        Ok(Self(serde_json::from_slice(&bytes).map_err(invalid)?))
    }
}

/// A body in JSON that may be left out.
pub struct OptionalBody<T>(pub T);

impl<S: Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let kind = content_type(request.headers());
        let bytes = read(request.into_body()).await?;
        match kind.as_deref() {
            None if bytes.is_empty() => Ok(Self(T::default())),
            Some("application/json") => Ok(Self(serde_json::from_slice(&bytes).map_err(invalid)?)),
            _ => Err(Error::new(ErrorCode::UnsupportedMediaType, localized!("http-not-json")).into()),
        }
    }
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

async fn read(body: Body) -> RouteResult<bytes::Bytes> {
    let most = BODY_BYTES_MAX;
    match Limited::new(body, most).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(e) if e.is::<http_body_util::LengthLimitError>() => {
            Err(Error::new(ErrorCode::RequestTooLarge, localized!("http-too-large", most)).into())
        }
        Err(e) => Err(invalid(e)),
    }
}

/// The idempotency key of a request, apart from those of other tokens and programs.
pub struct CallId(pub String);

impl<S: Sync> FromRequestParts<S> for CallId {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Caller(caller) = Caller::from_request_parts(parts, state).await?;
        let given = match parts.headers.get(IDEMPOTENCY_KEY) {
            None => crate::tokens::random_name()?,
            Some(key) => {
                let is_legal = |key: &&str| {
                    (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic())
                };
                let key = key.to_str().ok().filter(is_legal);
                key.ok_or_else(|| invalid("Idempotency-Key"))?.to_owned()
            }
        };
        Ok(Self(format!("http/{}/{given}", caller.name)))
    }
}

/// Limit and position of a page.
pub struct PageBounds {
    /// Number before which the page begins.
    pub before: Option<u64>,
    pub limit: u32,
}

impl PageBounds {
    /// Checks `cursor` and `limit`.
    pub fn read(cursor: Option<&str>, limit: Option<u32>) -> RouteResult<Self> {
        let before = match cursor {
            None => None,
            Some(cursor) => {
                let number = cursor.strip_prefix('c').and_then(|number| u64::from_str_radix(number, 36).ok());
                Some(number.filter(|_| cursor.len() <= 20).ok_or_else(|| invalid("cursor"))?)
            }
        };
        let limit = limit.unwrap_or(PAGE_USUAL);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(invalid(format_args!("limit: expected 1 to {PAGE_MAX}")));
        }
        Ok(Self { before, limit })
    }

    /// Returns the cursor of the page after this number.
    pub fn cursor(number: u64) -> String {
        let (mut rest, mut digits) = (number, Vec::new());
        loop {
            digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        format!("c{}", digits.iter().rev().collect::<String>())
    }
}

/// Refuses a text that is longer than the contract says.
pub fn bounded<'a>(name: &str, text: Option<&'a str>, chars_max: usize) -> RouteResult<Option<&'a str>> {
    match text {
        Some(text) if text.chars().count() > chars_max => {
            Err(invalid(format_args!("{name}: at most {chars_max} characters")))
        }
        text => Ok(text),
    }
}

/// Parses an RFC 3339 instant; 0 for none.
pub fn instant(name: &str, text: Option<&str>) -> RouteResult<u64> {
    let Some(text) = text else { return Ok(0) };
    parse_instant(text).ok_or_else(|| invalid(format_args!("{name}: expected 2026-02-18T09:30:00Z")))
}

fn parse_instant(text: &str) -> Option<u64> {
    let text = text.to_ascii_uppercase();
    let (date, time) = text.split_once(['T', ' '])?;
    let end = time.find(['Z', '+', '-'])?;
    let (time, zone) = time.split_at(end);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    if date.len() != 10 || time.len() != 8 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let seconds = posse_core::context::wire::from_utc(&format!("{date}T{time}.000Z"))?;
    let minutes = match zone {
        "Z" => 0,
        zone => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
            (hours * 60 + minutes) * if zone.starts_with('-') { -1 } else { 1 }
        }
    };
    seconds.checked_add(millis)?.checked_add_signed(-minutes * 60_000)
}

/// A response in JSON.
pub struct JsonReply<T>(pub T);

impl<T: Serialize> IntoResponse for JsonReply<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}

/// Builds a response in JSON.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            *response.status_mut() = status;
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(e) => {
            let failed = Error::new(ErrorCode::Internal, localized!("http-invalid", what = &e)).caused_by(e);
            crate::problem::response(&failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_number() {
        for number in [0, 1, 35, 36, 123_456_789, u64::MAX] {
            let bounds = PageBounds::read(Some(&PageBounds::cursor(number)), None).unwrap();
            assert_eq!((bounds.before, bounds.limit), (Some(number), PAGE_USUAL));
        }
        for wrong in ["", "c", "1", "c!", "czzzzzzzzzzzzzzzzzzzzz", "c-1"] {
            assert!(PageBounds::read(Some(wrong), None).is_err(), "{wrong}");
        }
        assert!(PageBounds::read(None, Some(0)).is_err() && PageBounds::read(None, Some(501)).is_err());
    }

    #[test]
    fn instants_of_every_zone_are_read() {
        let noon = parse_instant("2026-02-18T12:00:00Z").unwrap();
        assert_eq!(parse_instant("2026-02-18t13:00:00.5+01:00"), Some(noon + 500));
        assert_eq!(parse_instant("2026-02-18 09:30:00.123456-02:30"), Some(noon + 123));
        for wrong in
            ["", "2026-02-18", "2026-02-18T12:00:00", "2026-02-18T12:00Z", "x", "2026-02-18T12:00:00.xZ"]
        {
            assert_eq!(parse_instant(wrong), None, "{wrong}");
        }
    }
}
