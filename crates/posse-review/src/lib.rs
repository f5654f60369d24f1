//! Code review: the changes of a work tree become a request to a reviewer, its answer becomes findings that point to lines, and
//! the findings become a report in Markdown, JSON or SARIF. The caller runs the reviewer and prints the report.

#![forbid(unsafe_code)]

mod cut;
mod findings;
mod plan;
mod report;
mod request;

pub use cut::{CutFile, FittedDiff};
pub use findings::{
    DropReason, DroppedFinding, FindingLocation, FindingSeverity, GraveFindings, LineAnchor, ReviewFinding,
    ReviewFindings,
};
pub use plan::{ReviewPlan, ReviewTarget};
pub use report::{ReportForm, ReviewGate, ReviewReport};
pub use request::{ReviewRequest, reviewer};
