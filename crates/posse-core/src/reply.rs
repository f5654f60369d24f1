//! What comes back from a model: a whole reply, or a failure that says whether asking again can help.

use serde::{Deserialize, Serialize};

use crate::message::Block;
use crate::usage::Usage;

/// The complete reply of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub blocks: Vec<Block>,
    pub stop: ReplyStop,
    pub usage: Usage,
    /// The model that answered, as `provider:model`; differs from the one asked when a fallback stepped in.
    pub model: String,
    /// Possible consumption of failed attempts: the provider may have worked although no answer came.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub lost: Usage,
    /// Facts for the people watching: a fallback, a missing end marker, an estimated usage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Why the model stopped. `Run` looks at the calls first: providers say `EndTurn` with calls pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum ReplyStop {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
    /// The provider paused a long turn and wants the same conversation again.
    Paused,
    ContextFull,
    /// A value we do not know; kept to be shown.
    Other(String),
}

/// A failed model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFailure {
    pub kind: FailureKind,
    /// For people: bounded, without keys, prompts or results.
    pub message: String,
    pub status: Option<u16>,
    /// Wait the provider asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Possible consumption of this and earlier failed attempts.
    #[serde(default)]
    pub lost: Usage,
}

wire_enum! {
    /// Kinds of failures, by what the caller can do about them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FailureKind {
        /// 429: too many requests now.
        RateLimited = "rate_limited",
        /// 429 or 402 that means money or quota is gone. Waiting does not help.
        QuotaExhausted = "quota",
        /// 5xx, 529: the provider cannot serve now.
        Overloaded = "overloaded",
        /// DNS, TLS, refused, reset, cut in the middle.
        Connection = "connection",
        /// The server's certificate is not valid, or not trusted here.
        Certificate = "certificate",
        /// No bytes, or no progress, for too long.
        Stalled = "stalled",
        /// 401, 403.
        Unauthorised = "unauthorised",
        /// 404 for the model, or a provider's own words for it.
        UnknownModel = "unknown_model",
        /// The conversation does not fit the model's window.
        ContextTooLong = "context_exhausted",
        /// 400: sending the same again cannot help.
        InvalidRequest = "invalid_request",
        /// The answer breaks the provider's own protocol (not JSON, over a cap, an error event of unknown type).
        Protocol = "protocol",
        /// The run was cancelled or ran out of time while the call was under way.
        Cancelled = "cancelled",
        /// An attempt failed, and the budget does not allow another one.
        BudgetSpent = "budget",
    }
}

impl FailureKind {
    /// Asking the same model the same thing again may work.
    pub fn is_retryable(self) -> bool {
        match self {
            FailureKind::RateLimited
            | FailureKind::Overloaded
            | FailureKind::Connection
            | FailureKind::Stalled
            | FailureKind::Protocol => true,
            FailureKind::QuotaExhausted
            | FailureKind::Certificate
            | FailureKind::Unauthorised
            | FailureKind::UnknownModel
            | FailureKind::ContextTooLong
            | FailureKind::InvalidRequest
            | FailureKind::Cancelled
            | FailureKind::BudgetSpent => false,
        }
    }
}

impl ModelFailure {
    /// Creates a failure without retry advice and consumption.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after_ms: None, lost: Usage::default() }
    }
}

impl std::fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            Some(status) => write!(f, "{} (HTTP {status}): {}", self.kind.wire(), self.message),
            None => write!(f, "{}: {}", self.kind.wire(), self.message),
        }
    }
}

impl std::error::Error for ModelFailure {}
