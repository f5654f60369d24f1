//! Answers of runs that completed.

use std::fmt;
use std::sync::Arc;

use posse_core::outcome::Outcome;
use posse_core::usage::dollars;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde::de::DeserializeOwned;

/// The answer of a run that completed. It prints as its text.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentAnswer {
    outcome: Arc<Outcome>,
}

impl AgentAnswer {
    /// Fails unless the run completed; [`Error::outcome`] then has the text and the usage there are.
    pub(crate) fn of(outcome: Arc<Outcome>) -> Result<Self> {
        Outcome::completed(outcome).map(|outcome| Self { outcome })
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.outcome.text
    }

    /// Returns the whole outcome: turns, tool calls, usage, changed files, warnings.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the cost of the run without its subagents; `None` if the price of a model is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.outcome.usage.cost_micros.map(dollars)
    }

    /// Reads the answer as the value that its schema describes.
    pub(crate) fn data<T: DeserializeOwned>(&self) -> Result<T> {
        let data = self.outcome.data.clone().unwrap_or_default();
        serde_json::from_value(data).map_err(|e| {
            Error::new(ErrorCode::TaskIncomplete, localized!("answer-not-typed", why = e)).caused_by(e)
        })
    }
}

impl fmt::Display for AgentAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl From<AgentAnswer> for String {
    fn from(answer: AgentAnswer) -> Self {
        answer.outcome.text.clone()
    }
}
