//! Revisions of the decision rules. A journal is replayed under the rules it was written with, so that a task of an
//! earlier version is resumed with the same calls and conversation.

use serde::{Deserialize, Serialize};

/// Revision of the rules by which a run decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionRules {
    /// Journals that name no revision: the wrap-up came on top of `turns_max`, and a paused reply was no turn.
    #[default]
    V1,
    /// `turns_max` counts every answered request.
    V2,
}

impl DecisionRules {
    /// The revision for new tasks.
    pub const LATEST: Self = Self::V2;

    /// Returns the requests that may be answered under a limit of `turns_max`.
    pub(super) fn requests_max(self, turns_max: u32) -> u32 {
        match self {
            Self::V1 => turns_max.saturating_add(1),
            Self::V2 => turns_max,
        }
    }

    /// Tells whether a reply that the provider paused counts as a turn.
    pub(super) fn counts_pauses(self) -> bool {
        self != Self::V1
    }
}
