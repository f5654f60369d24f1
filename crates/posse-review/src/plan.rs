//! The plan of a review, kept with its task.

use std::path::PathBuf;

use posse_core::journal::TaskStart;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::output::extract;
use posse_git::content_below;
use posse_git::diff::FileDiff;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cut::CutFile;
use crate::findings::{FindingSeverity, ReviewFindings};
use crate::report::{ReportForm, ReviewGate, ReviewReport};

/// Key of a review plan in a task's delivery.
const DELIVERY: &str = "review";

/// Plan of a review, stored with its task so that a resumed review ends the same way: the compared changes, what of
/// them the model was shown, and where the report goes.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReviewPlan {
    #[serde(flatten)]
    pub target: ReviewTarget,
    pub files: Vec<FileDiff>,
    pub cut: Vec<CutFile>,
    pub notes: Vec<String>,
}

/// Destination of the findings, and the work tree that they are about.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReviewTarget {
    pub form: ReportForm,
    /// File of the report, absolute; standard output without one.
    pub output: Option<PathBuf>,
    pub fail_on: Option<FindingSeverity>,
    pub fail_on_unplaced: bool,
    pub root: PathBuf,
}

impl ReviewTarget {
    /// Returns the threshold beyond which the review fails.
    pub fn gate(&self) -> Option<ReviewGate> {
        self.fail_on.map(|at_least| ReviewGate { at_least, unplaced: self.fail_on_unplaced })
    }
}

impl ReviewPlan {
    /// Reads the plan of a task that is a review.
    pub fn of(start: &TaskStart) -> Option<Self> {
        Self::deserialize(start.delivery.as_ref()?.get(DELIVERY)?).ok()
    }

    /// Returns the plan as a task keeps it.
    pub fn to_delivery(&self) -> Value {
        json!({ DELIVERY: self })
    }

    /// Reads the findings of the answer.
    pub fn found(&self, outcome: &Outcome) -> Option<ReviewFindings> {
        outcome.data.as_ref().and_then(|data| self.read(data)).or_else(|| self.read_text(&outcome.text))
    }

    /// Reads the findings of the last readable reply of a review that stopped early.
    pub fn found_in(&self, replies: &[String]) -> Option<ReviewFindings> {
        // An earlier reply without findings says nothing about later ones.
        let has_some = |found: &ReviewFindings| !found.findings.is_empty();
        replies.iter().rev().find_map(|reply| self.read_text(reply).filter(has_some))
    }

    fn read_text(&self, text: &str) -> Option<ReviewFindings> {
        self.read(&extract(text).ok()?.value).filter(ReviewFindings::is_readable)
    }

    fn read(&self, answer: &Value) -> Option<ReviewFindings> {
        ReviewFindings::read(answer, &self.files, |file| content_below(&self.target.root, file))
    }

    /// Returns the report of a review that ended with this status.
    pub fn report<'a>(
        &'a self,
        found: Option<&'a ReviewFindings>,
        status: OutcomeStatus,
    ) -> ReviewReport<'a> {
        let Self { files, cut, notes, target } = self;
        ReviewReport { files, cut, notes, found, gate: target.gate(), status, run: None }
    }

    /// Returns the report of a review without changes.
    pub fn nothing(&self) -> String {
        let summary = "There are no changes to review.".to_owned();
        let found = ReviewFindings { summary, ..ReviewFindings::default() };
        self.target.form.render(&self.report(Some(&found), OutcomeStatus::Completed))
    }
}

impl ReviewFindings {
    /// Returns the status of the review: a failed run with a readable answer is partial.
    pub fn status(found: Option<&Self>, outcome: &Outcome) -> OutcomeStatus {
        match (outcome.status(), found) {
            (OutcomeStatus::Completed, None) => OutcomeStatus::Failed,
            (OutcomeStatus::Failed, Some(_)) => OutcomeStatus::Partial,
            (status, _) => status,
        }
    }
}
