//! State of a task as stores and listings know it.

use std::fmt;

use crate::outcome::OutcomeStatus;

/// State of a task. It runs until a `Finished` record ends it; resuming makes it run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Not ended: queued, at work, or interrupted.
    Running,
    Ended(OutcomeStatus),
}

impl TaskState {
    /// Every state.
    pub const ALL: [TaskState; 5] = [
        TaskState::Running,
        TaskState::Ended(OutcomeStatus::Completed),
        TaskState::Ended(OutcomeStatus::Partial),
        TaskState::Ended(OutcomeStatus::Failed),
        TaskState::Ended(OutcomeStatus::Cancelled),
    ];

    /// Parses a wire name.
    pub fn parse(wire: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.wire() == wire)
    }

    /// Tells whether the task has not ended.
    pub fn is_running(self) -> bool {
        self == TaskState::Running
    }

    /// Returns the wire name of the state.
    pub fn wire(self) -> &'static str {
        match self {
            TaskState::Running => "running",
            TaskState::Ended(status) => status.wire(),
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.wire())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_read_back_from_its_wire_name() {
        for state in TaskState::ALL {
            assert_eq!(TaskState::parse(state.wire()), Some(state));
        }
        assert_eq!(TaskState::parse("interrupted"), None);
    }
}
