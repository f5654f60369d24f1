//! Login, the present principal and health.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::SET_COOKIE;
use http::{HeaderValue, StatusCode};
use posse_core::context::wire::utc;
use posse_core::{Error, ErrorCode};
use posse_messages::localized;

use crate::door::peer_name;
use crate::extract::{Caller, JsonBody, JsonReply};
use crate::problem::RouteResult;
use crate::server::PeerAddress;
use crate::state::{ApiParts, ApiState};
use crate::tokens::{BROWSER_MS, TokenEntry, TokenKind};
use crate::wire::{HealthView, LoginBody, PrincipalView};

/// Tells that the server answers.
#[utoipa::path(get, path = "/v1/health", tag = "server", security(()), responses((status = 200, body = HealthView)))]
pub async fn health() -> JsonReply<HealthView> {
    JsonReply(HealthView { status: "ok".to_owned() })
}

/// Shows the token of the request, and the server.
#[utoipa::path(get, path = "/v1/me", tag = "server", responses((status = 200, body = PrincipalView)))]
pub async fn me(State(api): State<ApiState>, Caller(caller): Caller) -> JsonReply<PrincipalView> {
    JsonReply(principal(&api, &caller))
}

/// Exchanges a single-use code for a cookie.
#[utoipa::path(post, path = "/v1/login", tag = "server", security(()), request_body = LoginBody,
    responses((status = 200, body = PrincipalView)))]
pub async fn login(
    State(api): State<ApiState>,
    Extension(PeerAddress(peer)): Extension<PeerAddress>,
    JsonBody(body): JsonBody<LoginBody>,
) -> RouteResult<Response> {
    let Some(issued) = api.tokens.file().exchange(&body.code)? else {
        if !api.failures.take(&peer_name(peer)) {
            return Err(Error::new(ErrorCode::RateLimited, localized!("http-too-many-failures")).into());
        }
        let wrong = Error::new(ErrorCode::Unauthenticated, localized!("http-code-unknown"));
        return Err(wrong.hint(localized!("http-code-unknown-hint")).into());
    };
    let mut response = JsonReply(principal(&api, &issued.entry)).into_response();
    set_cookie(&api, &mut response, &issued.secret, BROWSER_MS / 1000);
    Ok(response)
}

/// Revokes the token of the request, if it came in a cookie, and removes the cookie.
#[utoipa::path(post, path = "/v1/logout", tag = "server", responses((status = 204)))]
pub async fn logout(State(api): State<ApiState>, Caller(caller): Caller) -> RouteResult<Response> {
    if caller.kind == TokenKind::Browser {
        api.tokens.file().revoke(&caller.name)?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    set_cookie(&api, &mut response, "", 0);
    Ok(response)
}

fn set_cookie(api: &ApiParts, response: &mut Response, value: &str, seconds: u64) {
    let secure = if api.is_secure { "; Secure" } else { "" };
    let line =
        format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}", api.cookie);
    if let Ok(line) = HeaderValue::from_str(&line) {
        response.headers_mut().insert(SET_COOKIE, line);
    }
}

fn principal(api: &ApiParts, token: &TokenEntry) -> PrincipalView {
    PrincipalView {
        name: token.name.clone(),
        scopes: token.scopes.clone(),
        expires_at: token.expires_ms.map(utc),
        version: api.host.version().to_owned(),
        workspace: api.host.workspace().to_owned(),
        language: posse_messages::language().tag().to_owned(),
    }
}
