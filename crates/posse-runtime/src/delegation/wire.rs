//! Answers of delegation as JSON, in the words of requirements R078 to R111.

use posse_core::grant::SandboxTier;
use posse_core::outcome::OutcomeStatus;
use posse_core::state::TaskState;
use posse_core::{Error, ErrorCode};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{
    AgentCard, AgentListing, AnswerReceipt, CancelReport, DefineReceipt, DelegationAnswer, EventPage,
    ListedTask, ResultPage, SendReceipt, SpawnReceipt, WaitReport,
};
use super::report::{RunningTask, TaskPhase, TaskReport, distilled, is_long};
use crate::ports::{AgentDiagnostic, MessageReceipt, ToolOutput};

/// Interval after which a client polls a task that has not ended.
const RETRY_AFTER_MS: u64 = 2_000;

/// The reply of a delegation tool before it is printed.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    pub content: ReplyContent,
    pub is_error: bool,
    /// The arguments were wrong and nothing was run.
    pub mistake: bool,
    /// A poll that was answered "not yet".
    pub pending: bool,
}

/// Content of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyContent {
    Object(Value),
    Text(String),
}

impl ToolReply {
    fn of(content: ReplyContent) -> Self {
        Self { content, is_error: false, mistake: false, pending: false }
    }

    pub fn object(value: Value) -> Self {
        Self::of(ReplyContent::Object(value))
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::of(ReplyContent::Text(text.into()))
    }

    /// Creates a reply to a request that failed.
    pub fn failed(error: &Error) -> Self {
        let pending = error.code() == ErrorCode::TaskNotReady;
        Self { is_error: true, pending, ..Self::object(wire_error(error)) }
    }

    /// Creates a reply to wrong arguments.
    pub fn mistaken(error: &Error) -> Self {
        Self { is_error: true, mistake: true, ..Self::object(wire_error(error)) }
    }
}

impl From<ToolOutput> for ToolReply {
    fn from(output: ToolOutput) -> Self {
        let ToolOutput { is_error, mistake, pending, .. } = output;
        Self { is_error, mistake, pending, ..Self::text(output.text) }
    }
}

impl From<ToolReply> for ToolOutput {
    fn from(reply: ToolReply) -> Self {
        let ToolReply { content, is_error, mistake, pending } = reply;
        let text = match content {
            ReplyContent::Object(value) => value.to_string(),
            ReplyContent::Text(text) => text,
        };
        ToolOutput { is_error, mistake, pending, ..ToolOutput::text(text) }
    }
}

/// Returns the status of a task in an answer, which has one word for every end that is no success.
pub fn wire_status(state: TaskState) -> &'static str {
    match state {
        TaskState::Running => "running",
        TaskState::Ended(OutcomeStatus::Completed) => "completed",
        TaskState::Ended(_) => "failed",
    }
}

/// Prints an error as a tool's answer shows it to a model.
pub fn wire_error(error: &Error) -> Value {
    let mut value = json!({ "error": error.code().wire(), "message": error.message().english() });
    set(&mut value, "hint", error.advice().map(|hint| hint.english()));
    set(&mut value, "retry_after_ms", (error.code() == ErrorCode::TaskNotReady).then_some(RETRY_AFTER_MS));
    value
}

impl DelegationAnswer {
    /// Prints the answer as the `subagent` tool does.
    pub fn to_json(&self) -> Value {
        match self {
            DelegationAnswer::Agents(listing) => listing.to_json(),
            DelegationAnswer::Defined(receipt) => receipt.to_json(),
            DelegationAnswer::Spawned(receipt) => receipt.to_json(),
            DelegationAnswer::Status(report) => report.to_json(),
            DelegationAnswer::Collected(report) => report.result_json(),
            DelegationAnswer::Waited(report) => report.to_json(),
            DelegationAnswer::Cancelled(report) => report.to_json(),
            DelegationAnswer::Sent(receipt) => receipt.to_json(),
            DelegationAnswer::Answered(receipt) => receipt.to_json(),
            DelegationAnswer::Result(page) => page.to_json(),
            DelegationAnswer::Events(page) => page.to_json(),
            DelegationAnswer::Tasks(tasks) => tasks_json(tasks),
        }
    }
}

impl AgentListing {
    /// Prints the answer to `list_agents`.
    pub fn to_json(&self) -> Value {
        let mut value = json!({ "agents": self.agents.iter().map(AgentCard::to_json).collect::<Vec<_>>() });
        set_listed(&mut value, "diagnostics", self.diagnostics.iter().map(diagnostic).collect());
        let note = || format!("{} more are not shown: use `query` to look for words", self.left_out);
        set(&mut value, "note", (self.left_out > 0).then(note));
        value
    }
}

fn diagnostic(diagnostic: &AgentDiagnostic) -> Value {
    let mut value = wire_error(&diagnostic.error);
    value["name"] = json!(diagnostic.name);
    value["path"] = json!(diagnostic.path);
    value
}

impl AgentCard {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "model": self.model,
            "max_turns": self.turns_max,
            "tools": self.tools,
        })
    }
}

impl DefineReceipt {
    fn to_json(&self) -> Value {
        let mut value = json!({ "defined": self.name, "description": self.description });
        set_listed(&mut value, "warnings", self.warnings.iter().collect());
        set(&mut value, "version", self.version);
        set(&mut value, "unchanged", self.unchanged.then_some(true));
        value
    }
}

impl SpawnReceipt {
    fn to_json(&self) -> Value {
        let status = if self.failure.is_some() { "failed" } else { "running" };
        let mut value = json!({ "task_id": self.id.short(), "agent": self.agent, "status": status });
        set(&mut value, "error", self.failure.as_ref());
        set(&mut value, "queued", (self.queued && self.failure.is_none()).then_some(true));
        let uncollected = self.uncollected.map(|count| format!("{count} finished tasks are not collected"));
        set_listed(&mut value, "warnings", self.notes.iter().chain(&uncollected).collect());
        value
    }
}

impl TaskReport {
    /// Returns the status as `wire_status` does.
    pub fn wire_status(&self) -> &'static str {
        wire_status(self.state())
    }

    /// Prints the answer to `status`.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "task_id": self.id.short(),
            "agent": self.agent,
            "status": self.wire_status(),
            "turns_used": self.turns,
        });
        match &self.phase {
            TaskPhase::Running(running) => running.print_into(&mut value),
            TaskPhase::Ended(done) => {
                if let Some(error) = self.failure() {
                    value["error"] = json!(error);
                    value["reason"] =
                        json!(done.as_ref().map_or("internal_error", |outcome| outcome.stop.wire()));
                }
            }
        }
        set_listed(&mut value, "warnings", self.warnings.iter().collect());
        value
    }

    /// Prints the answer to `collect`.
    pub fn result_json(&self) -> Value {
        let mut value = self.to_json();
        let completed = self.state() == TaskState::Ended(OutcomeStatus::Completed);
        value["result"] = match self.outcome() {
            Some(outcome) if completed => json!(distilled(&outcome.text)),
            Some(_) | None => Value::Null,
        };
        let Some(outcome) = self.outcome() else { return value };
        let is_partial = !completed && !outcome.text.is_empty();
        set(&mut value, "partial_result", is_partial.then(|| distilled(&outcome.text)));
        let rest = || json!({ "action": "result", "task_id": self.id.short() });
        set(&mut value, "full_result", is_long(&outcome.text).then(rest));
        set_listed(&mut value, "warnings", self.warnings.iter().chain(&outcome.warnings).collect());
        set_listed(&mut value, "changed_files", outcome.changed_files.iter().collect());
        set(&mut value, "data", outcome.data.as_ref());
        set_listed(&mut value, "evidence", outcome.evidence.iter().collect());
        let calls = outcome.in_doubt.iter().map(|doubt| format!("{} {}", doubt.tool, doubt.about));
        set_listed(&mut value, "in_doubt", calls.collect());
        value
    }
}

impl RunningTask {
    fn print_into(&self, value: &mut Value) {
        set(value, "sandbox", (self.sandbox != SandboxTier::None).then(|| self.sandbox.wire()));
        value["max_turns"] = json!(self.turns_max);
        value["elapsed_s"] = json!(self.elapsed.as_secs());
        value["input_tokens"] = json!(self.usage.input);
        value["output_tokens"] = json!(self.usage.output);
        value["retry_after_ms"] = json!(RETRY_AFTER_MS);
        set(value, "queued", self.queued.then_some(true));
        set(value, "activity", self.activity.as_ref());
        set(value, "report", self.report.as_ref());
        let approval = self.approval.as_ref();
        let approval = approval.map(|approval| json!({ "id": approval.id, "tool": approval.tool }));
        set(value, "waiting_for_approval", approval);
        let question = self.question.as_ref();
        let question =
            question.map(|asked| json!({ "id": asked.id, "text": asked.text, "options": asked.options }));
        set(value, "question", question);
    }
}

impl WaitReport {
    /// Prints the answer to `wait`.
    pub fn to_json(&self) -> Value {
        let shown = |tasks: &[TaskReport]| tasks.iter().map(TaskReport::to_json).collect::<Vec<_>>();
        let mut value = json!({
            "finished": shown(&self.finished),
            "running": shown(&self.running),
            "timed_out": self.timed_out,
        });
        if self.timed_out {
            value["hint"] =
                json!("still at work: call wait again, or do something else meanwhile".to_owned());
        } else if self.finished.is_empty() && self.running.is_empty() {
            value["note"] = json!("nothing is running, and every end was reported before".to_owned());
        }
        set_listed(&mut value, "warnings", self.warnings.iter().collect());
        value
    }
}

impl CancelReport {
    fn to_json(&self) -> Value {
        let mut value = self.task.result_json();
        set(&mut value, "note", self.had_ended.then_some("it had ended before the cancel"));
        value
    }
}

impl SendReceipt {
    fn to_json(&self) -> Value {
        let mut value = json!({ "task_id": self.task_id, "receipt": self.receipt.wire() });
        if let MessageReceipt::Delivered { turn } = self.receipt {
            value["turn"] = json!(turn);
        }
        value
    }
}

impl AnswerReceipt {
    fn to_json(&self) -> Value {
        let note = if self.answered { "answered" } else { "nobody was waiting for an answer" };
        json!({ "task_id": self.task_id, "answered": self.answered, "note": note })
    }
}

impl ResultPage {
    /// Prints the answer to `result`.
    pub fn to_json(&self) -> Value {
        json!({
            "task_id": self.task_id,
            "text": self.text,
            "offset": self.offset,
            "next_offset": self.next_offset,
            "total_chars": self.total_chars,
        })
    }
}

impl EventPage {
    fn to_json(&self) -> Value {
        json!({ "task_id": self.task_id, "events": self.events, "next": self.next })
    }
}

/// Prints the answer to `list_tasks`.
pub fn tasks_json(tasks: &[ListedTask]) -> Value {
    let listed = tasks.iter().map(|task| {
        let mut value = task.report.to_json();
        set(&mut value, "collected", task.collected.then_some(true));
        value
    });
    json!({ "tasks": listed.collect::<Vec<_>>() })
}

/// Adds a field unless it is empty.
pub(super) fn set(value: &mut Value, name: &str, field: Option<impl Serialize>) {
    if let Some(field) = field {
        value[name] = json!(field);
    }
}

/// Adds a list that is not empty.
fn set_listed(value: &mut Value, name: &str, list: Vec<impl Serialize>) {
    set(value, name, (!list.is_empty()).then_some(list));
}
