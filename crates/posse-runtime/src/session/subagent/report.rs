//! What is said about a task, in the words of the seed specification.

use posse_core::grant::SandboxTier;
use posse_core::outcome::{OutcomeStatus, StopReason};
use posse_core::provenance::marked;
use posse_core::text::{estimate_tokens, prefix};
use posse_messages::fixed;
use serde_json::{Value, json};

use crate::session::task::{Done, LiveTask, TaskProgress, TaskStage};

const RESULT_TOKENS_MAX: u64 = 1_000;
/// Limit on the preview of an announced result.
const PREVIEW_CHARS: usize = 500;
/// When it is worth asking again about a task that has not ended.
pub const RETRY_AFTER_MS: u64 = 2_000;

/// Prints a task's status as JSON.
pub fn status(task: &LiveTask, progress: &TaskProgress) -> Value {
    let mut value = json!({
        "task_id": task.id.short(),
        "agent": task.agent,
        "status": "running",
        "turns_used": progress.turns,
    });
    match progress.done.as_ref().map(failure) {
        None => running(task, progress, &mut value),
        Some(None) => value["status"] = json!("completed"),
        Some(Some(error)) => {
            value["status"] = json!("failed");
            value["error"] = json!(error);
            value["reason"] = json!(reason(progress.done.as_ref()));
        }
    }
    value
}

fn running(task: &LiveTask, progress: &TaskProgress, value: &mut Value) {
    let tier = task.start.grant.sandbox();
    if tier != SandboxTier::None {
        value["sandbox"] = json!(tier.wire());
    }
    value["max_turns"] = json!(task.start.agent.limits.turns_max);
    value["elapsed_s"] = json!(task.seconds());
    value["input_tokens"] = json!(progress.usage.input);
    value["output_tokens"] = json!(progress.usage.output);
    value["retry_after_ms"] = json!(RETRY_AFTER_MS);
    if progress.stage == TaskStage::Waiting {
        value["queued"] = json!(true);
    }
    if let Some(activity) = &progress.activity {
        value["activity"] = json!(activity);
    }
    if let Some(report) = &progress.report {
        value["report"] = json!(report);
    }
    if let Some((id, tool)) = &progress.approval {
        value["waiting_for_approval"] = json!({ "id": id, "tool": tool });
    }
    if let Some(question) = &progress.question {
        value["question"] = json!({ "id": question.id, "text": question.text, "options": question.options });
    }
}

/// The answer to `collect`.
pub fn collected(task: &LiveTask, progress: &TaskProgress) -> Value {
    let mut value = status(task, progress);
    let outcome = progress.done.as_ref().and_then(|done| done.as_ref().ok());
    let completed = value["status"] == "completed";
    value["result"] = match outcome {
        Some(outcome) if completed => json!(distilled(&outcome.text)),
        Some(_) | None => Value::Null,
    };
    let Some(outcome) = outcome else { return value };
    if !completed && !outcome.text.is_empty() {
        value["partial_result"] = json!(distilled(&outcome.text));
    }
    if estimate_tokens(&outcome.text) > RESULT_TOKENS_MAX {
        value["full_result"] = json!({ "action": "result", "task_id": task.id.short() });
    }
    for (name, list) in [("warnings", &outcome.warnings), ("changed_files", &outcome.changed_files)] {
        if !list.is_empty() {
            value[name] = json!(list);
        }
    }
    if let Some(data) = &outcome.data {
        value["data"] = data.clone();
    }
    if !outcome.evidence.is_empty() {
        value["evidence"] = json!(outcome.evidence);
    }
    if !outcome.in_doubt.is_empty() {
        let calls = outcome.in_doubt.iter().map(|doubt| format!("{} {}", doubt.tool, doubt.about));
        value["in_doubt"] = json!(calls.collect::<Vec<_>>());
    }
    value
}

/// What an orchestrator is told of the end of a task before its next turn: all of it for a launched one, which nobody collects, and
/// for others how it begins.
pub fn announcement(task: &LiveTask) -> String {
    let (id, agent) = (task.id.short(), task.agent.as_str());
    let done = task.progress().done;
    let status = done.as_ref().map_or("completed", word);
    let outcome = done.as_ref().and_then(|done| done.as_ref().ok());
    let text = outcome.map_or("", |outcome| outcome.text.as_str());
    let shown = if task.start.pushed { distilled(text) } else { beginning(text) };
    let mut said = match done.as_ref().and_then(failure) {
        Some(why) => fixed!("child-failed", id, agent, status, why),
        None => fixed!("child-ended", id, agent, status),
    };
    if !shown.trim().is_empty() {
        said = format!("{said}\n{}", marked(&format!("{agent} {id}"), &shown));
    }
    let whole = shown == text;
    match (task.start.pushed, whole) {
        (true, true) => said,
        (true, false) => format!("{said}\n{}", fixed!("child-result-rest", id)),
        (false, _) => format!("{said}\n{}", fixed!("child-result-how", id)),
    }
}

/// The warning about a result that nobody took. A task that was cancelled with nothing to show has none.
pub fn loose_end(task: &LiveTask) -> Option<String> {
    let done = task.progress().done?;
    let has_text = done.as_ref().is_ok_and(|outcome| !outcome.text.trim().is_empty());
    let status = word(&done);
    (has_text || status != "cancelled")
        .then(|| fixed!("child-uncollected", id = task.id.short(), agent = task.agent.as_str(), status))
}

fn word(done: &Done) -> &'static str {
    done.as_ref().map_or("failed", |outcome| outcome.status().wire())
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(PREVIEW_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn reason(done: Option<&Done>) -> &'static str {
    match done {
        Some(Ok(outcome)) => outcome.stop.wire(),
        Some(Err(_)) | None => "internal_error",
    }
}

/// Why a task failed, in the words of the seed specification §8.7; `None` if it did not.
pub fn failure(done: &Done) -> Option<String> {
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(e) => return Some(e.clone()),
    };
    let detail = || outcome.detail.clone().unwrap_or_else(|| usual_detail(outcome.stop));
    match outcome.stop {
        StopReason::Answered if outcome.status() == OutcomeStatus::Completed => None,
        StopReason::Answered => Some(fixed!("answer-was-empty")),
        StopReason::TurnsExhausted => Some(fixed!("turns-exceeded")),
        StopReason::ModelFailed => Some(fixed!("model-failed", detail = detail())),
        // No call of a tool came to anything for too long; a single error is a result that the model acts on.
        StopReason::Stalled => Some(fixed!("tool-execution-error", turns = outcome.turns, detail = detail())),
        StopReason::DependencyFailed => Some(format!("DEPENDENCY_FAILED: {}", detail())),
        other => Some(format!("{}: {}", other.wire(), detail())),
    }
}

/// The reason in words, for a run that did not give one.
fn usual_detail(stop: StopReason) -> String {
    match stop {
        StopReason::Answered => fixed!("answer-was-empty"),
        StopReason::TurnsExhausted => fixed!("turns-exceeded"),
        StopReason::ToolCallsExhausted => fixed!("ended-by-tool-calls"),
        StopReason::BudgetExhausted => fixed!("ended-by-budget"),
        StopReason::ContextExhausted => fixed!("ended-by-context"),
        StopReason::Truncated => fixed!("ended-cut-off"),
        StopReason::DeadlinePassed => fixed!("ended-by-time"),
        StopReason::Stalled => fixed!("ended-stalled"),
        StopReason::Cancelled => fixed!("ended-cancelled"),
        StopReason::ModelFailed => fixed!("ended-by-model"),
        StopReason::Refused => fixed!("ended-refused"),
        StopReason::DependencyFailed => fixed!("ended-by-dependency"),
        StopReason::OutputInvalid => fixed!("ended-invalid"),
        StopReason::VerifyFailed => fixed!("ended-unverified"),
    }
}

/// At most 1000 tokens, the notice included; the full text stays in the store.
fn distilled(text: &str) -> String {
    if estimate_tokens(text) <= RESULT_TOKENS_MAX {
        return text.to_owned();
    }
    let notice = fixed!("answer-truncated", result_tokens_max = RESULT_TOKENS_MAX);
    let room = RESULT_TOKENS_MAX as usize * 4 - notice.chars().count() - 2;
    let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    format!("{}\n{notice}", prefix(text, cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_core::outcome::Outcome;
    use std::sync::Arc;

    #[test]
    fn a_task_that_failed_always_says_why() {
        use StopReason::*;
        for stop in [
            Answered,
            TurnsExhausted,
            ToolCallsExhausted,
            BudgetExhausted,
            ContextExhausted,
            Truncated,
            DeadlinePassed,
            Stalled,
            Cancelled,
            ModelFailed,
            Refused,
            DependencyFailed,
            OutputInvalid,
            VerifyFailed,
        ] {
            let outcome = Outcome { detail: None, ..Outcome::unstarted(stop, String::new()) };
            let told = failure(&Ok(Arc::new(outcome))).unwrap();
            assert!(told.split_whitespace().count() >= 4 && !told.contains("no details"), "{told}");
        }
    }
}
