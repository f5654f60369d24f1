//! Login, the present principal and health.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Right of a token. Every token may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Sees everything, changes nothing.
    Read,
    /// Answers approvals.
    Approve,
    /// Sends messages, answers questions, cancels.
    Steer,
    /// Starts and resumes tasks, applies, discards and undoes changes, writes shared context, releases leases, speaks MCP.
    Write,
}

impl TokenScope {
    /// Every scope, the narrowest first.
    pub const ALL: [TokenScope; 4] =
        [TokenScope::Read, TokenScope::Approve, TokenScope::Steer, TokenScope::Write];

    /// Returns the wire name of the scope.
    pub fn wire(self) -> &'static str {
        match self {
            TokenScope::Read => "read",
            TokenScope::Approve => "approve",
            TokenScope::Steer => "steer",
            TokenScope::Write => "write",
        }
    }

    /// Parses a wire name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.wire() == word)
    }
}

/// A single-use code from the fragment of a login link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    #[schema(min_length = 1, max_length = 200)]
    pub code: String,
}

/// The token that a request was made with, and the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PrincipalView {
    /// Name of the token.
    pub name: String,
    pub scopes: Vec<TokenScope>,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Directory that the server was started in: spawned tasks work here.
    pub workspace: String,
    /// Language of the server's messages, such as `en`.
    pub language: String,
}

/// Health of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthView {
    /// `ok`.
    pub status: String,
}
