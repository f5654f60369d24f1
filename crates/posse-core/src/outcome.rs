//! How a run ended, with the text it has. Stopping is a value, not an error.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::CallKey;
use crate::usage::Usage;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub stop: StopReason,
    /// More about the reason: a provider's stop value, the limit that was met. Never prompt or result text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The answer, or the last text there was.
    pub text: String,
    pub turns: u32,
    pub tool_calls: u32,
    pub usage: Usage,
    /// The part of `usage` that replies took, by the model that gave them. The rest went into attempts without a reply.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answered_by: BTreeMap<String, Usage>,
    pub changed_files: Vec<String>,
    /// Calls whose effect may or may not have happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_doubt: Vec<Doubt>,
    /// Tools the model asked for and was not granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A call that may or may not have had its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    pub key: CallKey,
    pub tool: String,
    /// What the call was about, as in a progress line.
    pub about: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Answered,
    TurnsExhausted,
    ToolCallsExhausted,
    BudgetExhausted,
    ContextExhausted,
    /// The answer was cut off by the output limit, also after continuing.
    Truncated,
    DeadlinePassed,
    Stalled,
    Cancelled,
    ModelFailed,
    Refused,
    /// A task it depended on did not complete, so it never began.
    DependencyFailed,
}

/// What callers branch on. A run that stopped early is never `Completed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Completed,
    /// Stopped by a limit or a person, with work to show.
    Partial,
    Failed,
    Cancelled,
}

impl Outcome {
    pub fn status(&self) -> Status {
        match self.stop {
            StopReason::Answered if self.text.trim().is_empty() => Status::Failed,
            StopReason::Answered => Status::Completed,
            StopReason::Cancelled => Status::Cancelled,
            _ if self.text.trim().is_empty() => Status::Failed,
            StopReason::TurnsExhausted
            | StopReason::ToolCallsExhausted
            | StopReason::BudgetExhausted
            | StopReason::ContextExhausted
            | StopReason::Truncated
            | StopReason::DeadlinePassed => Status::Partial,
            StopReason::Stalled
            | StopReason::ModelFailed
            | StopReason::Refused
            | StopReason::DependencyFailed => Status::Failed,
        }
    }

    /// Of a task that never began.
    pub fn unstarted(stop: StopReason, detail: String) -> Self {
        Self {
            stop,
            detail: Some(detail),
            text: String::new(),
            turns: 0,
            tool_calls: 0,
            usage: Usage::default(),
            answered_by: BTreeMap::new(),
            changed_files: Vec::new(),
            in_doubt: Vec::new(),
            refused_tools: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl StopReason {
    pub fn wire(self) -> &'static str {
        match self {
            StopReason::Answered => "answered",
            StopReason::TurnsExhausted => "turns_exhausted",
            StopReason::ToolCallsExhausted => "tool_calls_exhausted",
            StopReason::BudgetExhausted => "budget_exhausted",
            StopReason::ContextExhausted => "context_exhausted",
            StopReason::Truncated => "truncated",
            StopReason::DeadlinePassed => "deadline_passed",
            StopReason::Stalled => "stalled",
            StopReason::Cancelled => "cancelled",
            StopReason::ModelFailed => "model_failed",
            StopReason::Refused => "refused",
            StopReason::DependencyFailed => "dependency_failed",
        }
    }
}

impl Status {
    pub fn wire(self) -> &'static str {
        match self {
            Status::Completed => "completed",
            Status::Partial => "partial",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}
