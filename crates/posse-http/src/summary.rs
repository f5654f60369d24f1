//! Tasks as the API shows them.

use posse_core::Result;
use posse_core::budget::BudgetCaps;
use posse_core::context::wire::utc;
use posse_core::id::TaskId;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::state::TaskState;
use posse_core::usage::{SpendingTotal, Usage, dollars};
use posse_runtime::liveness::pid;
use posse_runtime::ports::{CatalogTask, ParentQuestion, TaskRow};

use crate::feed::{OwnerLooks, StandingFacts};
use crate::state::ApiParts;
use crate::wire::{
    ActivityKind, BudgetBounds, DoubtfulCall, OpenQuestion, OverviewGroup, SpendingSum, TaskActivity,
    TaskDriver, TaskOutcome, TaskStatus, TaskSummary, TokenUsage, VerifyReport,
};

/// Characters of an answer that a detail shows.
const ANSWER_CHARS_MAX: usize = 20_000;

/// Returns the status of a task. One whose process is gone is interrupted, or queued if nobody began it.
pub fn status_of(row: &TaskRow, lives: bool) -> TaskStatus {
    let is_begun = !row.owner.is_empty() || row.epoch > 1;
    match row.state {
        TaskState::Running if lives => TaskStatus::Running,
        TaskState::Running if is_begun => TaskStatus::Interrupted,
        TaskState::Running => TaskStatus::Queued,
        TaskState::Ended(status) => ended(status),
    }
}

/// Returns the status of a task that has ended.
pub fn ended(status: OutcomeStatus) -> TaskStatus {
    match status {
        OutcomeStatus::Completed => TaskStatus::Completed,
        OutcomeStatus::Partial => TaskStatus::Partial,
        OutcomeStatus::Failed => TaskStatus::Failed,
        OutcomeStatus::Cancelled => TaskStatus::Cancelled,
    }
}

/// Returns the group of a task.
pub fn group_of(row: &TaskRow, facts: &StandingFacts) -> OverviewGroup {
    match row.state {
        TaskState::Ended(_) => OverviewGroup::Completed,
        TaskState::Running if facts.approval(&row.id).is_some() || facts.question(&row.id).is_some() => {
            OverviewGroup::NeedsInput
        }
        TaskState::Running => OverviewGroup::Working,
    }
}

/// Completes tasks with sums, present doings and open decisions.
pub async fn summaries(api: &ApiParts, tasks: Vec<CatalogTask>) -> Result<Vec<TaskSummary>> {
    let totals = api.store.subtree_totals(tasks.iter().map(|task| task.row.id.clone()).collect()).await?;
    let (facts, mut owners) = (api.hub.facts(), OwnerLooks::default());
    let summary = |(task, tree): (CatalogTask, SpendingTotal)| {
        let lives = task.row.state.is_running() && owners.lives(&task.row);
        summary(api, &facts, &task, &tree, lives)
    };
    Ok(tasks.into_iter().zip(totals).map(summary).collect())
}

/// Finds one task.
pub async fn find(api: &ApiParts, task: &TaskId) -> Result<TaskSummary> {
    let found = api.store.catalog_task(task).await?;
    let mut found = summaries(api, vec![found]).await?;
    Ok(found.remove(0))
}

fn summary(
    api: &ApiParts,
    facts: &StandingFacts,
    task: &CatalogTask,
    tree: &SpendingTotal,
    lives: bool,
) -> TaskSummary {
    let row = &task.row;
    let status = status_of(row, lives);
    let progress = if row.state.is_running() { api.hub.progress(&row.id) } else { None };
    let question = facts.question(&row.id).filter(|_| row.state.is_running());
    let of_journal = progress.as_ref().and_then(|progress| progress.activity());
    TaskSummary {
        task_id: row.id.to_string(),
        session_id: row.id.session().to_owned(),
        parent: row.parent.as_ref().map(TaskId::to_string),
        agent: row.agent.clone(),
        title: row.title.clone(),
        workspace: task.workspace.clone(),
        status,
        group: group_of(row, facts),
        activity: activity(row, status, question, of_journal),
        approval: facts.approval(&row.id).filter(|_| row.state.is_running()).map(str::to_owned),
        question: question.map(|question| question_view(&row.id, question)),
        model: progress.as_ref().and_then(|progress| progress.model.clone()),
        turns: row.turns(),
        turns_max: progress.as_ref().and_then(|progress| progress.turns_max),
        context: progress.as_ref().and_then(|progress| progress.context),
        spending: sum_view(&SpendingTotal { tasks: 1, ..row.total }),
        tree: sum_view(tree),
        cancel_requested: row.cancel_requested,
        driver: lives.then(|| TaskDriver {
            process: pid(row).to_owned(),
            epoch: row.epoch,
            seen_at: utc(row.seen_ms),
        }),
        created_at: utc(row.created_ms),
        updated_at: utc(row.updated_ms),
        // An ended task gets no more records.
        ended_at: (!row.state.is_running()).then(|| utc(row.updated_ms)),
    }
}

/// Returns what a task does, or why it does nothing.
fn activity(
    row: &TaskRow,
    status: TaskStatus,
    question: Option<&ParentQuestion>,
    of_journal: Option<TaskActivity>,
) -> Option<TaskActivity> {
    let since = || of_journal.as_ref().map_or_else(|| utc(row.updated_ms), |known| known.since.clone());
    let plain = |kind| TaskActivity { kind, since: since(), tool: None, summary: None, until: None };
    match status {
        TaskStatus::Completed | TaskStatus::Partial | TaskStatus::Failed | TaskStatus::Cancelled => None,
        TaskStatus::Interrupted => {
            Some(TaskActivity { since: utc(row.seen_ms), ..plain(ActivityKind::Interrupted) })
        }
        TaskStatus::Queued => Some(plain(ActivityKind::Queued)),
        TaskStatus::Running => Some(match (question, of_journal.clone()) {
            (_, Some(known)) if known.kind == ActivityKind::Approval => known,
            (Some(_), _) => plain(ActivityKind::Question),
            (None, Some(known)) => known,
            (None, None) => plain(ActivityKind::Working),
        }),
    }
}

/// Shows a question.
pub fn question_view(task: &TaskId, question: &ParentQuestion) -> OpenQuestion {
    OpenQuestion {
        task_id: task.to_string(),
        id: question.id,
        question: question.text.clone(),
        options: question.options.clone(),
    }
}

/// Shows sums.
pub fn sum_view(total: &SpendingTotal) -> SpendingSum {
    SpendingSum {
        tasks: total.tasks,
        turns: total.turns,
        input_tokens: total.input_tokens,
        output_tokens: total.output_tokens,
        cost_usd: total.cost_usd(),
    }
}

/// Shows caps.
pub fn bounds_view(caps: &BudgetCaps) -> BudgetBounds {
    BudgetBounds {
        input_tokens: caps.input_tokens,
        output_tokens: caps.output_tokens,
        cost_usd: caps.cost_micros.map(dollars),
    }
}

fn usage_view(usage: &Usage) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: usage.cache_read,
        cache_write_tokens: usage.cache_write,
        reasoning_tokens: usage.reasoning,
        estimated: usage.estimated,
        cost_usd: usage.cost_micros.map(dollars),
    }
}

/// Shows a result with its evidence.
pub fn outcome_view(outcome: &Outcome) -> TaskOutcome {
    TaskOutcome {
        status: ended(outcome.status()),
        reason: outcome.stop.wire().to_owned(),
        detail: outcome.detail.clone(),
        text: outcome.text.chars().take(ANSWER_CHARS_MAX).collect(),
        text_chars: outcome.text.chars().count() as u64,
        data: outcome.data.clone(),
        schema_errors: outcome.schema_errors.clone(),
        evidence: outcome
            .evidence
            .iter()
            .map(|evidence| VerifyReport {
                command: evidence.command.clone(),
                passed: evidence.passed(),
                ending: evidence.ending(),
                duration_ms: evidence.duration_ms,
                output: evidence.output.clone(),
            })
            .collect(),
        turns: outcome.turns,
        tool_calls: outcome.tool_calls,
        usage: usage_view(&outcome.usage),
        changed_files: outcome.changed_files.clone(),
        in_doubt: outcome
            .in_doubt
            .iter()
            .map(|call| DoubtfulCall {
                call: call.key.to_string(),
                tool: call.tool.clone(),
                about: call.about.clone(),
            })
            .collect(),
        refused_tools: outcome.refused_tools.clone(),
        warnings: outcome.warnings.clone(),
    }
}
