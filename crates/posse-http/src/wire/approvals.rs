//! Approvals, questions and leases.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// State of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    Open,
    Approved,
    Denied,
    /// The task no longer waits for an answer.
    Closed,
}

/// Approvals to list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct ApprovalListQuery {
    /// State; all states unless given. `open` lists oldest first, anything else newest first.
    pub status: Option<ApprovalStatus>,
    /// Id of the task that asks, whole.
    #[param(max_length = 200)]
    pub task: Option<String>,
    /// `next_cursor` of the page before.
    #[param(max_length = 200)]
    pub cursor: Option<String>,
    /// Items of the page, 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A call that waits for approval, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalView {
    pub approval: String,
    pub status: ApprovalStatus,
    pub task_id: String,
    pub session_id: String,
    /// Ancestors of the task, the session's own task first.
    pub path: Vec<String>,
    pub agent: String,
    /// Turn and position of the call, such as `3.0`.
    pub call: String,
    pub tool: String,
    /// Canonical JSON, whole: exactly the bytes that the tool gets.
    pub arguments: String,
    /// Hash of everything that decides what is executed. An answer repeats it.
    pub hash: String,
    /// The rule that asks.
    pub why: String,
    /// Patterns that an answer for more than this call covers.
    pub covers: Vec<String>,
    /// The tool's own description of the call, such as a diff.
    #[schema(value_type = Option<Object>)]
    pub shown: Option<Value>,
    #[schema(format = DateTime)]
    pub asked_at: String,
    #[schema(format = DateTime)]
    pub deadline_at: String,
    /// Verdict without an answer in time: `approve` or `deny`.
    pub default: ApprovalChoice,
    /// Why the question is closed.
    pub closed: Option<String>,
    pub answer: Option<GivenAnswer>,
}

/// A yes or a no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalChoice {
    Approve,
    Deny,
}

/// Calls that an answer covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerScope {
    /// This call and no other.
    #[default]
    Once,
    /// Every call of this task that the same rules ask about.
    Task,
    /// The same, and in the tasks below it.
    Subtree,
    Session,
}

/// The answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GivenAnswer {
    pub scope: AnswerScope,
    pub reason: Option<String>,
    /// A person's or token's name, `deadline`, `policy`, or the earlier answer that covers the call.
    pub by: String,
    #[schema(format = DateTime)]
    pub answered_at: String,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// An answer to exactly the call that was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAnswerBody {
    pub verdict: ApprovalChoice,
    /// `hash` of the approval that the person saw.
    pub hash: String,
    #[serde(default)]
    pub scope: AnswerScope,
    /// The model reads it.
    #[serde(default)]
    pub reason: Option<String>,
    /// Seconds after which the answer covers no further call.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub expires_s: Option<u64>,
}

/// A write lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    pub task_id: String,
    pub agent: String,
    pub state: LeaseState,
    pub workspace: String,
    /// Globs.
    pub paths: Vec<String>,
    #[schema(format = DateTime)]
    pub acquired_at: String,
    #[schema(format = DateTime)]
    pub expires_at: String,
    pub process: String,
    pub epoch: u64,
    pub token: u64,
}

/// State of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    Held,
    /// Its process is alive but has stopped sending heartbeats.
    Expired,
    /// Its process is gone.
    Dead,
}

/// Choice of a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReleaseBody {
    /// Also takes a lease away whose holder is alive.
    pub force: bool,
}
