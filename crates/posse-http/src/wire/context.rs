//! Sessions, shared context and agents.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    pub session_id: String,
    /// Title of the session's own task; empty without one.
    pub title: String,
    pub workspace: String,
    pub archived: bool,
    pub tasks: u64,
    /// Keys of the shared context, and their size.
    pub keys: u64,
    pub total_size_tokens: u64,
    pub limit_tokens: u64,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub archived_at: Option<String>,
}

/// A value of the shared context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextValue {
    pub key: String,
    pub version: u64,
    pub size_tokens: u64,
    /// `operator`, `orchestrator`, or `subagent:<agent>:<task>`.
    pub written_by: String,
    #[schema(format = DateTime)]
    pub written_at: String,
    pub previous_version: Option<u64>,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Participants that may read it; `null` is everyone.
    pub readable_by: Option<Vec<String>>,
    pub writable_by: Option<Vec<String>>,
    /// `null` in lists, and for versions that are no longer kept.
    pub value: Option<String>,
}

/// A line of a key's history, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextVersion {
    /// `written` or `deleted`.
    pub action: String,
    #[serde(flatten)]
    pub entry: ContextValue,
}

/// The keys of a session's shared context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextListing {
    pub session_id: String,
    pub keys: Vec<ContextValue>,
    pub total_size_tokens: u64,
    pub limit_tokens: u64,
    pub snapshots: Vec<SnapshotView>,
}

/// A snapshot of a shared context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SnapshotView {
    pub label: String,
    pub taken_by: String,
    #[schema(format = DateTime)]
    pub taken_at: String,
    pub keys: u64,
    pub total_size_tokens: u64,
}

/// The history of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextHistory {
    pub key: String,
    pub versions: Vec<ContextVersion>,
}

/// A value to write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextWriteBody {
    pub value: String,
    /// Version that the writer saw; 0 for a new key. `VERSION_CONFLICT` if it moved on.
    #[serde(default)]
    pub expected_version: Option<u64>,
    /// Seconds until the value ends.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub ttl_s: Option<u64>,
}

/// Receipt of a change of the shared context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextReceipt {
    pub key: String,
    /// `null` after a delete.
    pub version: Option<u64>,
    pub previous_version: Option<u64>,
    pub warning: Option<String>,
}

/// Words to look for.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct AgentQuery {
    /// Words of the name or description.
    #[param(max_length = 200)]
    pub q: Option<String>,
}

/// An agent that tasks can be given to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentSummary {
    pub name: String,
    pub description: String,
    /// `ready`, or why it cannot be used, such as `not_trusted`.
    pub state: String,
    /// Resolved `provider:model`; `null` for an agent that cannot be used.
    pub model: Option<String>,
    pub max_turns: Option<u32>,
    pub tools: Vec<String>,
    /// File that defines it, or `built-in`.
    pub source: String,
    /// Findings of the doctor: errors and warnings.
    pub remarks: Vec<AgentRemark>,
}

/// A finding about an agent's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentRemark {
    /// `error`, `warning` or `note`.
    pub severity: String,
    pub line: Option<u32>,
    pub text: String,
    pub hint: Option<String>,
}

/// An agent with its prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentDetail {
    pub agent: AgentSummary,
    pub system_prompt: String,
    /// Everything that `posse agents show --json` prints.
    #[schema(value_type = Object)]
    pub report: Value,
}

/// The agents of this server's project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentPage {
    pub items: Vec<AgentSummary>,
    /// Directory whose agents these are.
    pub workspace: String,
}
