//! Errors as RFC 9457 problems.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error (`application/problem+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemView {
    /// `urn:posse:error:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// Reason phrase of the HTTP status.
    pub title: String,
    pub status: u16,
    /// The message: what happened this time.
    pub detail: String,
    /// Stable code to branch on, from `docs/errors.md`.
    pub code: String,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Time after which a repetition may succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}
