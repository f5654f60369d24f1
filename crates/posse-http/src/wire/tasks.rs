//! Tasks: lists, details, actions and their receipts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started; a process or a worker begins it.
    Queued,
    /// A living process drives it.
    Running,
    /// Its process is gone. A worker or a resume continues it.
    Interrupted,
    Completed,
    /// Stopped by a limit, with work to show.
    Partial,
    Failed,
    Cancelled,
}

/// Group of the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverviewGroup {
    /// A person has to approve a call or answer a question.
    NeedsInput,
    /// Not ended; interrupted tasks are here too.
    Working,
    /// Ended in any way.
    Completed,
}

/// Filters of a task list; all given ones must match.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct TaskListQuery {
    /// Status of the task.
    pub status: Option<TaskStatus>,
    /// Group of the overview.
    pub group: Option<OverviewGroup>,
    /// Session id, whole.
    #[param(max_length = 100)]
    pub session: Option<String>,
    /// Directory that the tasks work in, whole; a worktree counts as what it was copied from.
    #[param(max_length = 500)]
    pub workspace: Option<String>,
    /// Name of the agent, whole.
    #[param(max_length = 200)]
    pub agent: Option<String>,
    /// Id of the parent task, whole: lists its children.
    #[param(max_length = 200)]
    pub parent: Option<String>,
    /// Only tasks that no other task delegated.
    pub roots: Option<bool>,
    /// Created at this instant or later.
    #[param(format = DateTime)]
    pub since: Option<String>,
    /// Words of the title or agent, in any order and case.
    #[param(max_length = 200)]
    pub q: Option<String>,
    /// `next_cursor` of the page before.
    #[param(max_length = 200)]
    pub cursor: Option<String>,
    /// Items of the page, 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    pub task_id: String,
    pub session_id: String,
    /// The task that delegated it; `null` for a session's own task.
    pub parent: Option<String>,
    pub agent: String,
    /// Beginning of the task text, at most 200 bytes.
    pub title: String,
    /// Directory that its person works in; a worktree counts as what it was copied from.
    pub workspace: String,
    pub status: TaskStatus,
    pub group: OverviewGroup,
    /// Present doing of a task that has not ended.
    pub activity: Option<TaskActivity>,
    /// Open approval to answer.
    pub approval: Option<String>,
    /// Open question to answer.
    pub question: Option<OpenQuestion>,
    /// `provider:model` of the last reply, or of the agent.
    pub model: Option<String>,
    /// Answered turns.
    pub turns: u32,
    /// Most turns; `null` for an ended task in a list.
    pub turns_max: Option<u32>,
    /// Fill of the model's context window at the last reply.
    pub context: Option<ContextFill>,
    /// Spending of the task alone.
    pub spending: SpendingSum,
    /// Spending of the task and everything below it.
    pub tree: SpendingSum,
    pub cancel_requested: bool,
    /// Process that drives it; `null` unless one is alive.
    pub driver: Option<TaskDriver>,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub updated_at: String,
    #[schema(format = DateTime)]
    pub ended_at: Option<String>,
}

/// Kind of activity: who has to act next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// Waits for a slot, other tasks or a process.
    Queued,
    /// A request was sent to the model, or the reply arrives.
    Model,
    /// A tool or a delegated task runs.
    Tool,
    /// A failed model call is repeated after a wait.
    Retry,
    /// The provider asked for a pause.
    RateLimit,
    /// Another task holds the lease of its write paths.
    Lease,
    /// A person has to approve a call.
    Approval,
    /// A person or the parent has to answer a question.
    Question,
    /// A command checks the result.
    Verify,
    /// Between two steps.
    Working,
    /// Without a process that drives it.
    Interrupted,
}

/// Present doing of a task, and its reason if it waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskActivity {
    pub kind: ActivityKind,
    #[schema(format = DateTime)]
    pub since: String,
    /// Tool that runs or waits for approval.
    pub tool: Option<String>,
    /// Target of the call, command that checks, or cause of the wait; at most 200 bytes.
    pub summary: Option<String>,
    /// When it tries again, or when the default decision applies.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// Fill of a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextFill {
    /// Input tokens of the last request.
    pub used_tokens: u64,
    /// `null` if the window is unknown.
    pub window_tokens: Option<u64>,
}

/// Sums over one or several tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SpendingSum {
    pub tasks: u64,
    pub turns: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `null` if a part of it has no known price.
    pub cost_usd: Option<f64>,
}

/// Process that drives a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskDriver {
    pub process: String,
    /// Number of the driver; grows with each takeover.
    pub epoch: u64,
    #[schema(format = DateTime)]
    pub seen_at: String,
}

/// A question that a task puts to its parent or a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenQuestion {
    pub task_id: String,
    /// Number of the question in its task, from 1.
    pub id: u32,
    pub question: String,
    /// Possible answers; another one may be given.
    pub options: Vec<String>,
}

/// A task with its request and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskDetail {
    pub task: TaskSummary,
    pub request: TaskSpec,
    /// Descendants by status.
    pub descendants: BTreeMap<String, u64>,
    /// Calls that failed or were refused, the newest 100, oldest first.
    pub failed_calls: Vec<FailedCall>,
    /// The result; `null` until the task has ended.
    pub outcome: Option<TaskOutcome>,
}

/// Request and rights of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskSpec {
    /// The whole task text.
    pub task: String,
    pub model: String,
    /// `plan`, `ask` or `auto`.
    pub mode: String,
    pub tools: Vec<String>,
    /// Sandbox tier of its processes: `off`, `t1` or `t2`.
    pub sandbox: String,
    /// Directory that its tools see.
    pub directory: String,
    /// It works in a git worktree of its own.
    pub worktree: bool,
    /// Globs of the only files it may write, held by it alone.
    pub write_paths: Vec<String>,
    /// Tasks that have to complete first, by their ids in the session.
    pub depends_on: Vec<String>,
    /// Commands that have to succeed.
    pub verify: Vec<String>,
    pub detached: bool,
    pub turns_max: u32,
    pub tool_calls_max: u32,
    pub wall_ms_max: u64,
    pub caps: BudgetBounds,
    /// Deviations from what was asked for.
    pub notes: Vec<String>,
}

/// Caps of a budget; `null` is no cap of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetBounds {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

/// A call that failed or was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedCall {
    /// Turn and position, such as `3.0`.
    pub call: String,
    pub tool: String,
    /// First line of the error.
    pub why: Option<String>,
    /// The call was not made.
    pub refused: bool,
}

/// The result of a task: the claim beside its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskOutcome {
    pub status: TaskStatus,
    /// Stop reason, such as `answered` or `budget_exhausted`.
    pub reason: String,
    pub detail: Option<String>,
    /// The first 20,000 characters of the answer; `GET …/result` pages the whole.
    pub text: String,
    pub text_chars: u64,
    /// The answer as a value that satisfies the output schema.
    #[schema(value_type = Option<Object>)]
    pub data: Option<Value>,
    pub schema_errors: Vec<String>,
    /// Commands that checked the result.
    pub evidence: Vec<VerifyReport>,
    pub turns: u32,
    pub tool_calls: u32,
    pub usage: TokenUsage,
    pub changed_files: Vec<String>,
    /// Calls whose effect may or may not have happened.
    pub in_doubt: Vec<DoubtfulCall>,
    pub refused_tools: Vec<String>,
    pub warnings: Vec<String>,
}

/// A command that checked a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifyReport {
    pub command: String,
    pub passed: bool,
    /// Exit code, or why there is none.
    pub ending: String,
    pub duration_ms: u64,
    /// Beginning and end of what it printed.
    pub output: String,
}

/// Tokens and price of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    pub reasoning_tokens: u64,
    /// The provider did not say, so the figures are estimates.
    pub estimated: bool,
    pub cost_usd: Option<f64>,
}

/// A call that may or may not have had its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DoubtfulCall {
    pub call: String,
    pub tool: String,
    pub about: String,
}

/// A request for a task. Absent and `null` fields keep the defaults of the agent and the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpawnBody {
    /// Name of the agent.
    #[schema(min_length = 1, max_length = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The task text.
    #[schema(required = true, min_length = 1)]
    pub task: String,
    /// Known facts, put before the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// `low`, `normal` or `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Tasks of the same session that have to complete first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,
    /// Wait for a slot instead of failing with `MAX_TASKS_EXCEEDED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Globs of the only files it may write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_paths: Option<Vec<String>>,
    /// `fail` or `wait`, if another task holds the write paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<String>,
    /// `none` or `worktree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// JSON Schema of the answer.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Commands that have to succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Vec<String>>,
}

/// Receipt of a spawn. The task is in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpawnedTask {
    pub task_id: String,
    pub agent: String,
    /// It waits for a slot or for other tasks.
    pub queued: bool,
    /// Why it ended before it started.
    pub failure: Option<String>,
    /// Deviations from the request.
    pub warnings: Vec<String>,
}

/// Bounds of a wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WaitBody {
    /// Tasks to wait for.
    #[schema(required = true, min_items = 1, max_items = 100)]
    pub task_ids: Vec<String>,
    /// Until all have ended, not only one.
    pub all: bool,
    /// At most 45,000; 30,000 unless given.
    #[schema(maximum = 45000)]
    pub timeout_ms: Option<u64>,
}

/// State of the tasks that a wait was for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WaitedTasks {
    pub ended: Vec<TaskSummary>,
    /// Tasks that have not ended; one that needs a person ends the wait too.
    pub running: Vec<TaskSummary>,
    pub timed_out: bool,
}

/// Longest wait for the end of a task.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// Waits this long for the end, a question or an approval; 0 unless given.
    #[param(maximum = 45000)]
    pub wait_ms: Option<u64>,
}

/// Receipt of a cancel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CancelledTask {
    pub receipt: CancelReceipt,
    pub task: TaskSummary,
}

/// Effect of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancelReceipt {
    Cancelled,
    /// The task had ended before.
    HadEnded,
    /// The task ended otherwise meanwhile.
    TooLate,
    /// Its process was told and has not ended it yet.
    Requested,
}

/// A steering message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageBody {
    #[schema(min_length = 1)]
    pub text: String,
}

/// Delivery state of a steering message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SentMessage {
    /// Key of the message, equal for every state.
    pub key: String,
    pub receipt: MessageState,
    /// Turn whose request has the message; `null` until it is delivered.
    pub turn: Option<u32>,
    /// No process drives the task; the message waits for one.
    pub undriven: bool,
}

/// Delivery state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// The task has not read it yet.
    Queued,
    /// It is in the request of a turn.
    Delivered,
    /// The task ended first.
    Missed,
}

/// An answer to the open question of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    pub answer: String,
}

/// Receipt of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnsweredQuestion {
    pub task_id: String,
    /// The task was waiting for it.
    pub answered: bool,
    /// The question that was answered.
    pub question: Option<OpenQuestion>,
}

/// Raised limits of a resumed task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResumeBody {
    #[schema(minimum = 1)]
    pub max_turns: Option<u32>,
    #[schema(minimum = 1)]
    pub timeout_s: Option<u64>,
    #[schema(exclusive_minimum = 0)]
    pub max_cost_usd: Option<f64>,
}

/// Receipt of a resume. A process of its own drives the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResumedTask {
    /// The process has taken the task over; otherwise it has not yet.
    pub claimed: bool,
    pub task: TaskSummary,
}

/// Changes of a task and its subagents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskChanges {
    pub task_id: String,
    /// The changes are in a worktree and can be applied or discarded.
    pub worktree: bool,
    /// The worktree's changes were applied before.
    pub applied: bool,
    pub files: Vec<ChangedFile>,
    /// Remarks about changes that the diffs do not show.
    pub notes: Vec<String>,
    /// Unified diff of all files.
    pub patch: String,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedFile {
    pub path: String,
    /// `created`, `modified` or `deleted`.
    pub change: String,
    pub added: Option<u64>,
    pub removed: Option<u64>,
    /// Tasks of the tree that changed it.
    pub tasks: Vec<String>,
    /// Incompleteness of the diff, such as `command` or `in_doubt`.
    pub gap: Option<String>,
    /// Unified diff, if both contents are known.
    pub diff: Option<String>,
}

/// Choice of an apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApplyBody {
    /// Also writes protected files, such as hooks.
    pub protected: bool,
}

/// Receipt of an apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppliedTask {
    pub task_id: String,
    /// The changes were applied before; nothing was written now.
    pub applied_before: bool,
    pub applied_to: String,
    pub written: Vec<String>,
    pub merged: Vec<String>,
    pub unchanged: Vec<String>,
}

/// Receipt of a discard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiscardedChanges {
    pub task_id: String,
    /// The changes had been applied; only the worktree's patch was removed.
    pub had_applied: bool,
}

/// Span of an undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UndoBody {
    /// Only the changes of this turn.
    #[schema(minimum = 1)]
    pub turn: Option<u32>,
    /// Only the changes since the last message of the person.
    pub last: bool,
    /// Shows the steps and changes nothing.
    pub dry_run: bool,
}

/// Receipt of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UndoneTask {
    pub task_id: String,
    pub dry_run: bool,
    pub files: Vec<UndoneFile>,
}

/// A file of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UndoneFile {
    pub path: String,
    /// `restore`, `remove`, `nothing` or `keep`.
    pub action: String,
    /// Why a file is kept.
    pub why: Option<String>,
}

/// Page of a text to read.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct TextQuery {
    /// Character to begin at.
    pub offset: Option<u64>,
    /// Characters of the page, 4,000 unless given.
    #[param(minimum = 1, maximum = 20000)]
    pub limit: Option<u64>,
}

/// A page of a task's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TextPage {
    pub task_id: String,
    pub text: String,
    pub offset: u64,
    /// Character that the next page begins at; `null` on the last page.
    pub next_offset: Option<u64>,
    pub total_chars: u64,
}

/// A page of a transcript. The lines are those of `docs/transcript.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TranscriptPage {
    /// Lines in order. A text over 16,000 characters is cut; `cut` names such fields and `GET …/calls/{call}` has the whole.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Value>,
    pub next_cursor: Option<String>,
    pub total: u64,
}

/// Input and output of one call, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CallRecord {
    pub task_id: String,
    /// Turn and position, such as `3.0`.
    pub call: String,
    pub tool: String,
    /// Arguments as the model wrote them.
    #[schema(value_type = Object)]
    pub arguments: Value,
    /// Result that the model saw; `null` while the call runs.
    pub result: Option<String>,
    /// The whole result, where the model saw a shortened one.
    pub full_result: Option<String>,
    pub is_error: bool,
    pub in_doubt: bool,
    pub duration_ms: Option<u64>,
    pub changed_files: Vec<String>,
}

/// Budget of a task and of everything below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetNode {
    pub task_id: String,
    pub parent: Option<String>,
    pub agent: String,
    pub status: TaskStatus,
    /// Caps of this account; all `null` if it draws on its parent's.
    pub caps: BudgetBounds,
    /// Spent by the task and everything below it.
    pub spent: BudgetAmounts,
    /// Held for running tasks below it that have caps of their own, beyond what they spent.
    pub reserved: BudgetAmounts,
    /// Caps minus spent and reserved; `null` without a cap.
    pub left: BudgetBounds,
}

/// Amounts of a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetAmounts {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}

/// Budget tree of a task: parents before children.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetTree {
    pub nodes: Vec<BudgetNode>,
}
