//! Change detection for notifications: new agents and tasks, progress and ends of tasks. It polls once a
//! second, because other processes change the state too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use posse_runtime::session::HostedTask;

use super::resources::{AGENTS, ResourceAddress, TASKS, TranscriptPart};

/// The polling interval.
pub const LOOK: Duration = Duration::from_secs(1);

/// A snapshot of agents and tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenResources {
    agents: Vec<String>,
    /// Status and turn count of each task, by ID.
    tasks: BTreeMap<String, (String, u64)>,
}

/// The difference between two snapshots.
#[derive(Debug, Default, PartialEq)]
pub struct ResourceChanges {
    pub prompts_listed: bool,
    pub resources_listed: bool,
    pub updated: BTreeSet<String>,
    /// Tasks that have ended, with their status.
    pub ended: Vec<(String, String)>,
}

impl SeenResources {
    /// Takes a snapshot.
    pub fn new(agents: Vec<String>, tasks: &[HostedTask]) -> Self {
        let of = |task: &HostedTask| {
            let status = task.status["status"].as_str().unwrap_or_default().to_owned();
            (task.id.short().to_owned(), (status, task.status["turns_used"].as_u64().unwrap_or(0)))
        };
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
            if state.0 != "running" && before.is_none_or(|before| before.0 == "running") {
                changes.resources_listed = true;
                changes.updated.insert(ResourceAddress::of(id, TranscriptPart::Result));
                changes.ended.push((id.clone(), state.0.clone()));
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(agents: &[&str], tasks: &[(&str, &str, u64)]) -> SeenResources {
        SeenResources {
            agents: agents.iter().map(|name| (*name).to_owned()).collect(),
            tasks: tasks
                .iter()
                .map(|(id, status, turns)| ((*id).to_owned(), ((*status).to_owned(), *turns)))
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
        assert_eq!(after.ended, [("t_01".to_owned(), "failed".to_owned())]);
        assert!(
            after.updated.contains("posse://tasks/t_01/result") && after.updated.contains("posse://agents")
        );
        assert!(!after.updated.contains("posse://tasks/t_03/result"));
    }
}
