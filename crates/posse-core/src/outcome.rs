//! How a run ended, with the text it has. Stopping is a value, not an error.

use std::fmt;
use std::sync::Arc;

use posse_messages::localized;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::{Error, ErrorCode, Result};
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

wire_enum! {
    /// Reasons why a run ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum StopReason {
        Answered = "answered",
        TurnsExhausted = "turns_exhausted",
        ToolCallsExhausted = "tool_calls_exhausted",
        BudgetExhausted = "budget_exhausted",
        ContextExhausted = "context_exhausted",
        /// The answer was cut off by the output limit, also after continuing.
        Truncated = "truncated",
        DeadlinePassed = "deadline_passed",
        Stalled = "stalled",
        Cancelled = "cancelled",
        ModelFailed = "model_failed",
        Refused = "refused",
        /// A task it depended on did not complete, so it never began.
        DependencyFailed = "dependency_failed",
        /// The answer does not satisfy the output schema, also after a repair.
        OutputInvalid = "output_invalid",
        /// A command that checks the result failed, also after the model could correct it, or could not be run.
        VerifyFailed = "verify_failed",
    }
}

wire_enum! {
    /// Status that callers branch on. A run that stopped early is never `Completed`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum OutcomeStatus {
        Completed = "completed",
        /// Stopped by a limit or a person, with work to show.
        Partial = "partial",
        Failed = "failed",
        Cancelled = "cancelled",
    }
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

    /// Returns why the run did not complete, in the words of requirements R172 to R174; `None` if it did.
    pub fn failure(&self) -> Option<String> {
        let detail = || self.detail.as_deref().unwrap_or(self.stop.explanation());
        match self.stop {
            StopReason::Answered if self.status() == OutcomeStatus::Completed => None,
            StopReason::Answered | StopReason::TurnsExhausted => Some(self.stop.explanation().to_owned()),
            StopReason::ModelFailed => Some(format!("Model API error: {}", detail())),
            // Every call failed for too long; a single error is a result that the model acts on.
            StopReason::Stalled => Some(format!("Tool execution error in turn {}: {}", self.turns, detail())),
            StopReason::DependencyFailed => Some(format!("DEPENDENCY_FAILED: {}", detail())),
            other => Some(format!("{}: {}", other.wire(), detail())),
        }
    }

    /// Fails unless the run completed. The error has the outcome ([`Error::outcome`]).
    pub fn completed(outcome: Arc<Self>) -> Result<Arc<Self>> {
        let Some(why) = outcome.failure().filter(|_| outcome.status() != OutcomeStatus::Completed) else {
            return Ok(outcome);
        };
        let text = localized!("run-incomplete", why);
        Err(Error::new(outcome.stop.error_code(), text).caused_by(IncompleteRun(outcome)))
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

/// The source of an error about a run that did not complete.
#[derive(Debug)]
pub(crate) struct IncompleteRun(pub Arc<Outcome>);

impl fmt::Display for IncompleteRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.stop.wire())
    }
}

impl std::error::Error for IncompleteRun {}

impl StopReason {
    /// Returns the code of the error for a run that ended this way without completing.
    fn error_code(self) -> ErrorCode {
        match self {
            StopReason::BudgetExhausted => ErrorCode::BudgetExceeded,
            StopReason::Cancelled => ErrorCode::TaskCancelled,
            StopReason::DependencyFailed => ErrorCode::DependencyFailed,
            StopReason::ModelFailed => ErrorCode::ModelFailed,
            StopReason::Answered
            | StopReason::TurnsExhausted
            | StopReason::ToolCallsExhausted
            | StopReason::ContextExhausted
            | StopReason::Truncated
            | StopReason::DeadlinePassed
            | StopReason::Stalled
            | StopReason::Refused
            | StopReason::OutputInvalid
            | StopReason::VerifyFailed => ErrorCode::TaskIncomplete,
        }
    }

    /// Explains to a model why a run ended that gave no detail.
    fn explanation(self) -> &'static str {
        match self {
            StopReason::Answered => "The final response was empty",
            StopReason::TurnsExhausted => "Max turns exceeded without producing a final response",
            StopReason::ToolCallsExhausted => "it made as many tool calls as it may",
            StopReason::BudgetExhausted => "its budget is used up",
            StopReason::ContextExhausted => "the model's window is full",
            StopReason::Truncated => "its answer was cut off by the output limit",
            StopReason::DeadlinePassed => "its time is over",
            StopReason::Stalled => "none of its calls came to anything",
            StopReason::Cancelled => "it was told to end before it had answered",
            StopReason::ModelFailed => "the model could not be asked",
            StopReason::Refused => "the model refused to answer",
            StopReason::DependencyFailed => "a task that it depends on did not complete",
            StopReason::OutputInvalid => "its answer does not fit the output schema",
            StopReason::VerifyFailed => "a command that checks its result failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_failed_always_says_why() {
        for stop in StopReason::ALL.iter().copied() {
            let outcome = Outcome { detail: None, ..Outcome::unstarted(stop, String::new()) };
            let told = outcome.failure().unwrap();
            assert!(told.split_whitespace().count() >= 4 && !told.contains("no details"), "{told}");
        }
    }

    #[test]
    fn a_run_that_did_not_complete_is_an_error_with_its_outcome() {
        let failed = Outcome::unstarted(StopReason::ModelFailed, "unauthorised: the key is wrong".to_owned());
        let error = Outcome::completed(Arc::new(failed)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ModelFailed);
        assert!(error.message().contains("unauthorised: the key is wrong"), "{error}");
        assert_eq!(error.clone().outcome().map(|outcome| outcome.stop), Some(StopReason::ModelFailed));
        let answered =
            Outcome { text: "42".to_owned(), ..Outcome::unstarted(StopReason::Answered, String::new()) };
        assert_eq!(Outcome::completed(Arc::new(answered)).unwrap().text, "42");
    }
}
