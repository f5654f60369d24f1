//! Reports on a task for its parent, while it runs and when it has ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use posse_core::grant::SandboxTier;
use posse_core::id::{AgentName, TaskId};
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::provenance::marked;
use posse_core::state::TaskState;
use posse_core::text::{estimate_tokens, prefix};
use posse_core::usage::Usage;

use crate::ports::ParentQuestion;
use crate::session::task::{Done, LiveTask, TaskProgress, TaskStage};

/// Longest result in an answer; the full text stays in the store.
const RESULT_TOKENS_MAX: u64 = 1_000;
/// Limit on the preview of an announced result.
const PREVIEW_CHARS: usize = 500;
/// Warnings of one kind that name a task each; more are folded into one.
const WARNINGS_EACH_MAX: usize = 1;
/// Bytes of the task text that reports show.
const TITLE_BYTES: usize = 200;

/// A task as its parent sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskReport {
    pub id: TaskId,
    pub agent: AgentName,
    /// The first 200 bytes of the task text.
    pub title: String,
    pub turns: u32,
    pub phase: TaskPhase,
    /// Deviations from the request that asked for this report.
    pub warnings: Vec<String>,
}

/// Progress of a task, or its end.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskPhase {
    Running(Box<RunningTask>),
    /// The outcome, or the error that ended the task without one.
    Ended(Result<Arc<Outcome>, String>),
}

/// A task that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTask {
    /// Waits for a slot or for other tasks.
    pub queued: bool,
    pub sandbox: SandboxTier,
    pub turns_max: u32,
    pub elapsed: Duration,
    pub usage: Usage,
    /// The running tool.
    pub activity: Option<String>,
    /// Latest progress report of the task itself.
    pub report: Option<String>,
    pub question: Option<ParentQuestion>,
    pub approval: Option<PendingApproval>,
}

/// An approval that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    pub id: String,
    /// The tool that would be called.
    pub tool: String,
}

impl TaskReport {
    /// Creates the report of a task with this progress.
    pub(crate) fn from_task(task: &LiveTask, progress: TaskProgress) -> Self {
        let TaskProgress { stage, turns, usage, activity, report, question, approval, done } = progress;
        let running = || {
            Box::new(RunningTask {
                queued: stage == TaskStage::Waiting,
                sandbox: task.start.grant.sandbox(),
                turns_max: task.start.agent.limits.turns_max,
                elapsed: task.elapsed(),
                usage,
                activity,
                report,
                question,
                approval,
            })
        };
        Self {
            id: task.id.clone(),
            agent: task.agent.clone(),
            title: prefix(&task.start.task, TITLE_BYTES).to_owned(),
            turns,
            phase: done.map_or_else(|| TaskPhase::Running(running()), TaskPhase::Ended),
            warnings: Vec::new(),
        }
    }

    /// Returns the state; an end without an outcome counts as failed.
    pub fn state(&self) -> TaskState {
        match &self.phase {
            TaskPhase::Running(_) => TaskState::Running,
            TaskPhase::Ended(done) => TaskState::Ended(status_of(done)),
        }
    }

    /// Returns the outcome of a task that has ended with one.
    pub fn outcome(&self) -> Option<&Arc<Outcome>> {
        match &self.phase {
            TaskPhase::Running(_) => None,
            TaskPhase::Ended(done) => done.as_ref().ok(),
        }
    }

    /// Returns the progress of a task that has not ended.
    pub fn running(&self) -> Option<&RunningTask> {
        match &self.phase {
            TaskPhase::Running(running) => Some(running),
            TaskPhase::Ended(_) => None,
        }
    }

    /// Returns why a task that has ended did not complete.
    pub fn failure(&self) -> Option<String> {
        match &self.phase {
            TaskPhase::Running(_) => None,
            TaskPhase::Ended(done) => failure(done),
        }
    }
}

/// Explains an end that is no success; `None` for a completed task.
pub(crate) fn failure(done: &Done) -> Option<String> {
    match done {
        Ok(outcome) => outcome.failure(),
        Err(e) => Some(e.clone()),
    }
}

fn status_of(done: &Done) -> OutcomeStatus {
    done.as_ref().map_or(OutcomeStatus::Failed, |outcome| outcome.status())
}

/// Announces the end of a task to its orchestrator: the whole result of a launched task, which is never collected, and a
/// preview of others.
pub(crate) fn announcement(task: &LiveTask) -> String {
    let (id, agent) = (task.id.short(), task.agent.as_str());
    let done = task.progress().done;
    let status = done.as_ref().map_or(OutcomeStatus::Completed, status_of).wire();
    let outcome = done.as_ref().and_then(|done| done.as_ref().ok());
    let text = outcome.map_or("", |outcome| outcome.text.as_str());
    let shown = if task.start.link.pushed { distilled(text) } else { preview(text) };
    let mut said = match done.as_ref().and_then(failure) {
        Some(why) => format!("Task {id} ({agent}) has ended: {status}. {why}"),
        None => format!("Task {id} ({agent}) has ended: {status}."),
    };
    if !shown.trim().is_empty() {
        said = format!("{said}\n{}", marked(&format!("{agent} {id}"), &shown));
    }
    let whole = shown == text;
    match (task.start.link.pushed, whole) {
        (true, true) => said,
        (true, false) => {
            format!("{said}\n`subagent` with action result and task_id {id} gives the rest.")
        }
        (false, _) => format!(
            "{said}\n`subagent` with action collect and task_id {id} gives its result, action result its full \
             text."
        ),
    }
}

/// Tells whether a task ended with a result that its parent could collect. A cancelled task without text has none.
pub(crate) fn has_result(task: &LiveTask) -> bool {
    let Some(done) = task.progress().done else { return false };
    let has_text = done.as_ref().is_ok_and(|outcome| !outcome.text.trim().is_empty());
    has_text || status_of(&done) != OutcomeStatus::Cancelled
}

/// Warns about tasks that were cut off by the end of their parent, and about results that it did not collect. Many of a
/// kind are one warning.
pub(crate) fn leftover_warnings(cut_off: &[&LiveTask], uncollected: &[&LiveTask]) -> Vec<String> {
    let id = |task: &&LiveTask| task.id.short().to_owned();
    let mut warnings: Vec<String> = match cut_off.len() {
        0..=WARNINGS_EACH_MAX => cut_off
            .iter()
            .map(|task| {
                format!("{} was still running when its orchestrator ended, and was cancelled", id(task))
            })
            .collect(),
        n => vec![format!(
            "{n} tasks were still running when their orchestrator ended, and were cancelled: {}",
            cut_off.iter().map(id).collect::<Vec<_>>().join(", ")
        )],
    };
    let status =
        |task: &LiveTask| task.progress().done.as_ref().map_or("ended", |done| status_of(done).wire());
    match uncollected.len() {
        0..=WARNINGS_EACH_MAX => warnings.extend(uncollected.iter().map(|task| {
            format!(
                "{} ({}) ended as {}, and its result was not collected; `posse tasks show` has it",
                id(task),
                task.agent.as_str(),
                status(task)
            )
        })),
        n => {
            let mut by_status: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            uncollected.iter().for_each(|task| by_status.entry(status(task)).or_default().push(id(task)));
            let parts: Vec<String> =
                by_status.iter().map(|(status, ids)| format!("{status}: {}", ids.join(", "))).collect();
            warnings.push(format!(
                "the results of {n} tasks were not collected; `posse tasks show` has them ({})",
                parts.join("; ")
            ));
        }
    }
    warnings
}

fn preview(text: &str) -> String {
    match text.char_indices().nth(PREVIEW_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Tells whether a result is longer than an answer shows.
pub(super) fn is_long(text: &str) -> bool {
    estimate_tokens(text) > RESULT_TOKENS_MAX
}

/// Truncates a result to at most 1,000 tokens, the notice included.
pub(super) fn distilled(text: &str) -> String {
    if !is_long(text) {
        return text.to_owned();
    }
    let notice = format!("[truncated — full response exceeded {RESULT_TOKENS_MAX} token limit]");
    let room = RESULT_TOKENS_MAX as usize * 4 - notice.chars().count() - 2;
    let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    format!("{}\n{notice}", prefix(text, cut))
}
