//! Reasons of waits, in the words of rows and lines.

use posse_core::event::{Event, WaitCause};
use posse_core::fact::QueuePlace;
use posse_core::reply::FailureKind;
use posse_messages::say;

use super::model::cell;

/// Formats the reason of a retry in a few words; the provider's own only where no word of ours fits.
fn retry_cause(kind: FailureKind, status: Option<u16>, why: &str) -> String {
    match (kind, status) {
        (FailureKind::RateLimited, _) => say!("task-row-rate-limited"),
        (_, Some(status)) => say!("task-row-http-status", status),
        (FailureKind::Stalled, None) => say!("task-row-no-progress"),
        (FailureKind::Connection, None) => say!("task-row-connection"),
        (FailureKind::Protocol, None) => say!("task-row-bad-reply"),
        (
            FailureKind::Overloaded
            | FailureKind::QuotaExhausted
            | FailureKind::Certificate
            | FailureKind::Unauthorised
            | FailureKind::UnknownModel
            | FailureKind::ContextTooLong
            | FailureKind::InvalidRequest
            | FailureKind::Cancelled
            | FailureKind::BudgetSpent,
            None,
        ) => cell(why),
    }
}

/// A wait that an event announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedWait {
    /// Milliseconds until the next attempt, counted from the event; `None` if that is open.
    pub retry_ms: Option<u64>,
    /// The provider takes no more calls for now, from any task.
    pub is_rate_limit: bool,
    why: String,
}

impl AnnouncedWait {
    /// Reads the wait that an event announces; `None` if it announces none.
    pub fn of(event: &Event) -> Option<Self> {
        let is_rate_limit = matches!(
            event,
            Event::ModelRetry { kind: FailureKind::RateLimited, wait_ms: 1.., .. }
                | Event::Waiting { why: WaitCause::RateLimited, .. }
        );
        let (retry_ms, why) = match event {
            // Another model is asked at once.
            Event::ModelRetry { why, wait_ms: 0, .. } => (None, cell(why)),
            Event::ModelRetry { kind, status, why, wait_ms } => {
                (Some(*wait_ms), retry_cause(*kind, *status, why))
            }
            Event::Waiting { why: WaitCause::RateLimited, retry_ms, .. } => {
                (*retry_ms, say!("task-row-rate-limited"))
            }
            Event::Waiting { why: WaitCause::Lease, paths, .. } => {
                (None, say!("task-row-lease", paths = cell(&paths.join(", "))))
            }
            _ => return None,
        };
        Some(Self { retry_ms, is_rate_limit, why })
    }

    /// Formats the wait with this much of it left.
    pub fn text(&self, left_ms: u64) -> String {
        match self.retry_ms {
            Some(_) => say!("task-row-retry", seconds = left_ms.div_ceil(1_000), why = self.why.as_str()),
            None => self.why.clone(),
        }
    }
}

/// Formats why a task has not started.
pub fn queue_text(place: &QueuePlace) -> String {
    match place {
        QueuePlace { after, .. } if !after.is_empty() => {
            say!("task-row-queued-after", tasks = cell(&after.join(", ")))
        }
        QueuePlace { position: Some(place), running, slots, .. } => {
            say!("task-row-queued-place", place, running, slots)
        }
        _ => say!("task-row-queued"),
    }
}

/// Formats a question to the person in charge.
pub fn question_text(question: &str) -> String {
    say!("task-row-question", question = cell(question))
}
