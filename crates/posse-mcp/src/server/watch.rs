//! Change detection for notifications: new agents and tasks, progress and ends of tasks. It polls once a
//! second, because other processes change the state too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use posse_core::state::TaskState;
use posse_runtime::delegation::TaskReport;

use super::resources::{AGENTS, ResourceAddress, TASKS, TranscriptPart};

/// The polling interval.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A snapshot of agents and tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenResources {
    agents: Vec<String>,
    /// State and turn count of each task, by ID.
    tasks: BTreeMap<String, (TaskState, u32)>,
}

/// The difference between two snapshots.
#[derive(Debug, Default, PartialEq)]
pub struct ResourceChanges {
    pub prompts_listed: bool,
    pub resources_listed: bool,
    pub updated: BTreeSet<String>,
    /// Tasks that have ended, with their state.
    pub ended: Vec<(String, TaskState)>,
}

impl SeenResources {
    /// Takes a snapshot.
    pub fn new(agents: Vec<String>, tasks: &[TaskReport]) -> Self {
        let of = |task: &TaskReport| (task.id.short().to_owned(), (task.state(), task.turns));
        Self { agents, tasks: tasks.iter().map(of).collect() }
    }

    /// Returns the changes from this snapshot to `now`.
    pub fn compare(&self, now: &SeenResources) -> ResourceChanges {
        let mut changes = ResourceChanges::default();
        if self.agents != now.agents {
            changes.prompts_listed = true;
            changes.updated.insert(AGENTS.to_owned());
        }
        for (id, state) in &now.tasks {
            let before = self.tasks.get(id);
            if before == Some(state) {
                continue;
            }
            changes.updated.insert(TASKS.to_owned());
            changes.updated.insert(ResourceAddress::of(id, TranscriptPart::Transcript));
            changes.resources_listed |= before.is_none();
            if !state.0.is_running() && before.is_none_or(|before| before.0.is_running()) {
                changes.resources_listed = true;
                changes.updated.insert(ResourceAddress::of(id, TranscriptPart::Result));
                changes.ended.push((id.clone(), state.0));
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use posse_core::outcome::OutcomeStatus;

    use super::*;

    fn seen(agents: &[&str], tasks: &[(&str, &str, u32)]) -> SeenResources {
        SeenResources {
            agents: agents.iter().map(|name| (*name).to_owned()).collect(),
            tasks: tasks
                .iter()
                .map(|(id, state, turns)| ((*id).to_owned(), (TaskState::parse(state).unwrap(), *turns)))
                .collect(),
        }
    }

    #[test]
    fn what_changed_is_told_and_nothing_else() {
        let before = seen(&["writer"], &[("t_01", "running", 1), ("t_02", "completed", 3)]);
        assert_eq!(before.compare(&before), ResourceChanges::default());
        let later = before.compare(&seen(&["writer"], &[("t_01", "running", 2), ("t_02", "completed", 3)]));
        assert!(!later.resources_listed && !later.prompts_listed && later.ended.is_empty());
        assert_eq!(
            later.updated.iter().map(String::as_str).collect::<Vec<_>>(),
            ["posse://tasks", "posse://tasks/t_01/transcript"]
        );
        let after = before.compare(&seen(
            &["reader", "writer"],
            &[("t_01", "failed", 2), ("t_02", "completed", 3), ("t_03", "running", 0)],
        ));
        assert!(after.resources_listed && after.prompts_listed);
        assert_eq!(after.ended, [("t_01".to_owned(), TaskState::Ended(OutcomeStatus::Failed))]);
        assert!(
            after.updated.contains("posse://tasks/t_01/result") && after.updated.contains("posse://agents")
        );
        assert!(!after.updated.contains("posse://tasks/t_03/result"));
    }
}
