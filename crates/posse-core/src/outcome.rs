//! How a run ended, with the text it has. Stopping is a value, not an error.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::id::CallKey;
use crate::sections::{self, AnswerSections};
use crate::usage::{ByModel, Usage};
use crate::verify::VerifyEvidence;

/// The end of a run, with the text there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub stop: StopReason,
    /// More about the reason: a provider's stop value, the limit that was met. Never prompt or result text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The answer, or the last text there was.
    pub text: String,
    /// The parts of the text, where it marks any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<AnswerSections>,
    /// The answer as a value that satisfies the output schema of its agent. `Some(null)` is such a value too.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub data: Option<Value>,
    /// Violations of the output schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schema_errors: Vec<String>,
    /// Results of the last verification, one per command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<VerifyEvidence>,
    pub turns: u32,
    pub tool_calls: u32,
    pub usage: Usage,
    /// The part of `usage` that replies took, by the model that gave them. The rest went into attempts without a reply.
    #[serde(default, skip_serializing_if = "ByModel::is_empty")]
    pub answered_by: ByModel,
    pub changed_files: Vec<String>,
    /// Calls whose effect may or may not have happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_doubt: Vec<InDoubtCall>,
    /// Tools the model asked for and was not granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A call that may or may not have had its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InDoubtCall {
    pub key: CallKey,
    pub tool: String,
    /// Subject of the call, as in a progress line.
    pub about: String,
}

/// Reasons why a run ended.
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
    /// The answer does not satisfy the output schema, also after a repair.
    OutputInvalid,
    /// A command that checks the result failed, also after the model could correct it, or could not be run.
    VerifyFailed,
}

/// Status that callers branch on. A run that stopped early is never `Completed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    Completed,
    /// Stopped by a limit or a person, with work to show.
    Partial,
    Failed,
    Cancelled,
}

impl Outcome {
    /// Derives the status from the stop reason and the text.
    pub fn status(&self) -> OutcomeStatus {
        match self.stop {
            StopReason::Answered if self.text.trim().is_empty() => OutcomeStatus::Failed,
            StopReason::Answered => OutcomeStatus::Completed,
            StopReason::Cancelled => OutcomeStatus::Cancelled,
            _ if self.text.trim().is_empty() => OutcomeStatus::Failed,
            StopReason::TurnsExhausted
            | StopReason::ToolCallsExhausted
            | StopReason::BudgetExhausted
            | StopReason::ContextExhausted
            | StopReason::Truncated
            | StopReason::DeadlinePassed => OutcomeStatus::Partial,
            StopReason::Stalled
            | StopReason::ModelFailed
            | StopReason::Refused
            | StopReason::OutputInvalid
            | StopReason::VerifyFailed
            | StopReason::DependencyFailed => OutcomeStatus::Failed,
        }
    }

    /// Creates the outcome of a task that never began.
    pub fn unstarted(stop: StopReason, detail: String) -> Self {
        Self {
            stop,
            detail: Some(detail),
            text: String::new(),
            turns: 0,
            tool_calls: 0,
            usage: Usage::default(),
            answered_by: ByModel::default(),
            changed_files: Vec::new(),
            in_doubt: Vec::new(),
            refused_tools: Vec::new(),
            warnings: Vec::new(),
            sections: None,
            data: None,
            schema_errors: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// The parts of the text; without marks all of it is findings.
    pub fn sections(&self) -> AnswerSections {
        self.sections.clone().unwrap_or_else(|| sections::of(&self.text))
    }

    /// The first line that says something, bounded: what a list shows.
    pub fn preview(&self) -> String {
        const CHARS: usize = 200;
        let line = self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        match line.char_indices().nth(CHARS) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line.to_owned(),
        }
    }
}

/// A field that is there and `null` is not a field that is missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl StopReason {
    /// Returns the wire name of the stop reason.
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
            StopReason::OutputInvalid => "output_invalid",
            StopReason::VerifyFailed => "verify_failed",
        }
    }
}

impl OutcomeStatus {
    /// Returns the wire name of the status.
    pub fn wire(self) -> &'static str {
        match self {
            OutcomeStatus::Completed => "completed",
            OutcomeStatus::Partial => "partial",
            OutcomeStatus::Failed => "failed",
            OutcomeStatus::Cancelled => "cancelled",
        }
    }
}
