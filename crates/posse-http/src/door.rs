//! The way in: who addresses this server, with which token, for what. Every request passes here before any route.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    ALLOW, CONNECTION, CONTENT_TYPE, COOKIE, ETAG, HeaderName, IF_NONE_MATCH, ORIGIN, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use posse_net::door::{ConnectionPlace, HARMLESS, HostError, bearer};
use sha2::{Digest, Sha256};

use crate::problem;
use crate::state::ApiParts;
use crate::tokens::{TokenEntry, TokenKind};
use crate::wire::TokenScope;

/// Headers beside those of `HARMLESS`: no other page may embed or hold a window of this server.
const APART: [(HeaderName, &str); 3] = [
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("x-frame-options"), "DENY"),
];

/// Routes without a token, which hold no data. A test compares them with the list in `docs/http.md`.
pub fn is_public(method: &Method, path: &str) -> bool {
    let is_read = [Method::GET, Method::HEAD].contains(method);
    match path {
        "/v1/health" | "/v1/docs" | "/" => is_read,
        "/v1/login" => *method == Method::POST,
        _ => is_read && path.starts_with("/assets/"),
    }
}

/// Returns the scope that a request needs. A route that nobody thought of needs the widest.
pub fn scope_of(method: &Method, path: &str) -> TokenScope {
    let is_read = [Method::GET, Method::HEAD].contains(method);
    let of_task =
        || path.strip_prefix("/v1/tasks/").and_then(|rest| rest.split_once('/')).map(|(_, action)| action);
    match path {
        "/mcp" => TokenScope::Write,
        // Waiting and leaving change nothing of a task.
        "/v1/tasks/wait" | "/v1/logout" => TokenScope::Read,
        _ if is_read => TokenScope::Read,
        _ if path.starts_with("/v1/approvals/") => TokenScope::Approve,
        _ if matches!(of_task(), Some("messages" | "answer" | "cancel")) => TokenScope::Steer,
        _ => TokenScope::Write,
    }
}

/// Checks a request before its route: host, origin, token, connection, scope and rate.
pub fn enter(
    api: &ApiParts,
    request: &mut Request<Body>,
    peer: IpAddr,
    place: &ConnectionPlace,
) -> Result<(), Box<Response>> {
    let refused = |code, text: posse_messages::LocalizedText| {
        Box::new(last(problem::response(&Error::new(code, text))))
    };
    match api.guard.check_host(request) {
        Ok(()) => {}
        Err(HostError::Malformed) => {
            return Err(refused(ErrorCode::InvalidRequest, localized!("http-host-malformed")));
        }
        Err(HostError::Foreign) => {
            return Err(refused(ErrorCode::Forbidden, localized!("http-host-foreign")));
        }
    }
    if api.guard.check_origin(request.headers()).is_err() {
        return Err(refused(ErrorCode::Forbidden, localized!("http-origin-foreign")));
    }
    let path = request.uri().path();
    if is_public(request.method(), path) {
        return Ok(());
    }
    let Some((token, by_cookie)) = principal(api, request.headers()) else {
        // A valid token is always let in: nobody can lock out another program of the same machine.
        if !api.failures.take(&peer_name(peer)) {
            return Err(refused(ErrorCode::RateLimited, localized!("http-too-many-failures")));
        }
        let mut response = refused(ErrorCode::Unauthenticated, localized!("http-unauthenticated"));
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return Err(response);
    };
    if !place.admit() {
        return Err(refused(ErrorCode::StoreBusy, localized!("http-connections-used-up")));
    }
    let changes = ![Method::GET, Method::HEAD].contains(request.method());
    // Every browser sends the origin with a request that changes something.
    if by_cookie && changes && !request.headers().contains_key(ORIGIN) {
        return Err(refused(ErrorCode::Forbidden, localized!("http-origin-missing")));
    }
    let (scope, open) =
        (scope_of(request.method(), path), |code, text| Box::new(problem::response(&Error::new(code, text))));
    if !token.allows(scope) {
        let text = localized!("http-scope-missing", name = token.name, scope = scope.wire());
        return Err(open(ErrorCode::Forbidden, text));
    }
    if !api.requests.take(&token.name) {
        return Err(open(ErrorCode::RateLimited, localized!("http-too-many-requests")));
    }
    request.extensions_mut().insert(Arc::new(token));
    Ok(())
}

/// Finds the token of a request, and whether it came in a cookie. A wrong header is not made up for by a cookie.
fn principal(api: &ApiParts, headers: &HeaderMap) -> Option<(TokenEntry, bool)> {
    if headers.contains_key(http::header::AUTHORIZATION) {
        return Some((api.tokens.find(bearer(headers)?, TokenKind::Bearer)?, false));
    }
    let secret = cookie(headers, &api.cookie)?;
    Some((api.tokens.find(secret, TokenKind::Browser)?, true))
}

/// Returns the value of a cookie.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(of, _)| *of == name).map(|(_, value)| value)
}

/// Returns the name of a peer for limits. One peer owns a /64 of IPv6 addresses.
pub fn peer_name(peer: IpAddr) -> String {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// Marks a response as the last one of its connection.
fn last(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Completes a response: entity tag of JSON, and headers that keep browsers from misusing it.
pub async fn leave(response: Response, is_get: bool, known: Option<HeaderValue>) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind == "application/json");
    let mut response = match is_get && is_json && response.status() == StatusCode::OK {
        true => with_tag(response, known).await,
        false => response,
    };
    let headers = response.headers_mut();
    for (name, value) in HARMLESS.into_iter().chain(APART) {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

/// Adds the entity tag, or answers `304` if the client has this content.
async fn with_tag(response: Response, known: Option<HeaderValue>) -> Response {
    let (mut parts, body) = response.into_parts();
    // JSON responses are whole in memory already.
    let Ok(bytes) = body.collect().await.map(|body| body.to_bytes()) else {
        return Response::from_parts(parts, Body::empty());
    };
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(&bytes)[..16]));
    let is_known = known.as_ref().and_then(|known| known.to_str().ok()).is_some_and(|known| {
        known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*")
    });
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(ETAG, value);
    }
    if is_known {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// Returns the tags that a client has.
pub fn known_tags(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(IF_NONE_MATCH).cloned()
}

/// Answers a path without a route.
pub async fn no_route() -> Response {
    problem::response(&Error::new(ErrorCode::RouteNotFound, localized!("http-no-route")))
}

/// Answers a method that a route does not have. `Allow` is added by the router.
pub async fn no_method() -> Response {
    let mut response =
        problem::response(&Error::new(ErrorCode::MethodNotAllowed, localized!("http-no-method")));
    response.headers_mut().remove(ALLOW);
    response
}
