//! Errors as responses.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use posse_core::{Error, ErrorCode};

use crate::wire::ProblemView;

/// Time after which a client repeats a request that was too early.
const RETRY_MS: u64 = 2_000;

/// An error on its way to a client.
#[derive(Debug)]
pub struct ApiProblem(pub Box<Error>);

impl From<Error> for ApiProblem {
    fn from(error: Error) -> Self {
        Self(Box::new(error))
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        response(&self.0)
    }
}

/// Result of a route.
pub type RouteResult<T> = Result<T, ApiProblem>;

/// Returns the HTTP status of an error.
pub fn status_of(code: ErrorCode) -> StatusCode {
    use ErrorCode as Code;
    match code {
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::RouteNotFound
        | Code::AgentNotFound
        | Code::ApprovalNotFound
        | Code::TaskNotFound
        | Code::KeyNotFound
        | Code::SessionNotFound => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::InvalidRequest
        | Code::InvalidAction
        | Code::InvalidAgentName
        | Code::InvalidKey
        | Code::InvalidTool => StatusCode::BAD_REQUEST,
        Code::AgentAlreadyExists
        | Code::ApprovalClosed
        | Code::ApprovalMismatch
        | Code::TaskCancelled
        | Code::TaskIncomplete
        | Code::TaskNotReady
        | Code::TaskNotResumable
        | Code::LeaseConflict
        | Code::LeaseHeld
        | Code::MergeConflict
        | Code::VersionConflict
        | Code::SessionArchived
        | Code::Interrupted
        | Code::OwnerLost => StatusCode::CONFLICT,
        Code::AgentInvalid
        | Code::AgentNotTrusted
        | Code::PromptTooLarge
        | Code::TaskTooLarge
        | Code::DependencyFailed
        | Code::MaxTasksExceeded
        | Code::IsolationUnavailable
        | Code::McpServerUnavailable
        | Code::McpSignInFailed
        | Code::McpSignInRequired
        | Code::ValueTooLarge
        | Code::ContextFull
        | Code::AccessDenied
        | Code::BudgetExceeded
        | Code::ConfigInvalid
        | Code::ConfigUnreadable
        | Code::HostModelUnavailable
        | Code::ModelFailed
        | Code::ModelNotConfigured
        | Code::ModelUnknown
        | Code::ScriptInvalid
        | Code::ToolInvalid
        | Code::DuplicateTool => StatusCode::UNPROCESSABLE_ENTITY,
        Code::StoreUnavailable | Code::StoreBusy | Code::DiskFull => StatusCode::SERVICE_UNAVAILABLE,
        Code::StoreCorrupt | Code::StoreNewer | Code::JournalInvalid | Code::Io | Code::Internal => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// Describes an error for a client.
pub fn describe(error: &Error) -> ProblemView {
    let status = status_of(error.code());
    let is_early =
        [ErrorCode::TaskNotReady, ErrorCode::StoreBusy, ErrorCode::RateLimited].contains(&error.code());
    ProblemView {
        kind: format!("urn:posse:error:{}", error.code().wire()),
        title: status.canonical_reason().unwrap_or_default().to_owned(),
        status: status.as_u16(),
        detail: error.message().english().to_owned(),
        code: error.code().wire().to_owned(),
        hint: error.advice().map(|hint| hint.english().to_owned()),
        retry_after_ms: is_early.then_some(RETRY_MS),
    }
}

/// Builds the response to an error.
pub fn response(error: &Error) -> Response {
    let problem = describe(error);
    let text = serde_json::to_vec(&problem).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status_of(error.code());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if problem.retry_after_ms.is_some() {
        headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_MS.div_ceil(1000)));
    }
    response
}
