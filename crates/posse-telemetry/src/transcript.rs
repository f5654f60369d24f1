//! A task as JSON lines for people and programs: a header, the conversation in order, and the outcome.
//! `docs/transcript.md` documents the names; they do not change.
//!
//! Messages that a run adds by itself (a due report, a prompt to continue) are not in the journal; replaying
//! the journal recovers them.

use std::collections::BTreeMap;

use posse_core::Result;
use posse_core::approval::ApprovalVerdict;
use posse_core::context::wire::utc;
use posse_core::journal::{Record, TaskStart, start_of};
use posse_core::message::{Block, CallArguments, Message, ToolCall, ToolResult};
use posse_core::mode::WorkMode;
use posse_core::outcome::Outcome;
use posse_core::reply::Reply;
use posse_core::run::{Run, replay_each};
use posse_core::tool::ToolEffect;
use posse_runtime::ports::TaskRow;
use serde_json::{Value, json};

/// Format version; grows when an older reader would misread a line. New names do not count.
const VERSION: u32 = 1;

/// Builds the lines of a transcript. `status` is passed in, because the store does not know that a process
/// died.
pub fn lines(row: &TaskRow, status: &str, records: &[Record]) -> Result<Vec<Value>> {
    let start = start_of(records)?;
    let mut transcript = Transcript { lines: vec![header(row, status, &start)], seen: 0 };
    let (system, _) = start.opening();
    transcript.lines.push(json!({ "type": "message", "role": "system", "text": system }));
    replay_each(records, tools(&start, records), 0, |record, run| transcript.record(record, run))?;
    for line in &mut transcript.lines {
        line["task_id"] = row.id.as_str().into();
    }
    Ok(transcript.lines)
}

struct Transcript {
    lines: Vec<Value>,
    /// Number of messages of the run already handled.
    seen: usize,
}

impl Transcript {
    fn record(&mut self, record: &Record, run: &Run) {
        let line = match record {
            Record::Started(_)
            | Record::Said { .. }
            | Record::Steered { .. }
            | Record::Asked { .. }
            | Record::Intended { .. }
            | Record::Saved { .. }
            | Record::Observed { .. }
            | Record::Verifying { .. } => None,
            Record::Checked { errors, elapsed_ms } => Some(json!({
                "type": "event", "event": "checked", "errors": errors, "elapsed_ms": elapsed_ms,
            })),
            Record::Verified { evidence, elapsed_ms, .. } => Some(json!({
                "type": "event", "event": "verified", "evidence": evidence, "elapsed_ms": elapsed_ms,
            })),
            Record::Replied { reply, elapsed_ms, .. } => Some(assistant(run.turns(), reply, *elapsed_ms)),
            Record::Resolved { key, approval, verdict, by, elapsed_ms, .. } => Some(json!({
                "type": "event", "event": "approval_resolved", "call": key.to_string(), "approval": approval,
                "approved": *verdict == ApprovalVerdict::Approve, "by": by.to_string(), "elapsed_ms": elapsed_ms,
            })),
            Record::Done { result, full_text, elapsed_ms, .. } => {
                Some(tool(result, full_text.as_deref(), *elapsed_ms))
            }
            Record::Unanswered { failure, said, elapsed_ms } => Some(json!({
                "type": "event", "event": "model_failed", "kind": failure.kind.wire(), "message": failure.message,
                "said": said, "usage": failure.lost.to_json(), "elapsed_ms": elapsed_ms,
            })),
            Record::Resumed { epoch, lost_tokens, elapsed_ms, .. } => Some(json!({
                "type": "event", "event": "resumed", "epoch": epoch, "lost_tokens": lost_tokens,
                "elapsed_ms": elapsed_ms,
            })),
            Record::Withdrawn { tools, elapsed_ms, .. } => Some(json!({
                "type": "event", "event": "withdrawn", "tools": tools, "elapsed_ms": elapsed_ms,
            })),
            Record::Regranted { grant, elapsed_ms } => Some(json!({
                "type": "event", "event": "regranted", "mode": WorkMode::of(grant).wire(),
                "tools": grant.tools().collect::<Vec<_>>(), "elapsed_ms": elapsed_ms,
            })),
            Record::ModelChosen { choice, elapsed_ms } => Some(json!({
                "type": "event", "event": "model_chosen", "model": choice.model,
                "context_window": choice.limits.context_window, "elapsed_ms": elapsed_ms,
            })),
            Record::BudgetSpent { shortfall, elapsed_ms, .. } => Some(json!({
                "type": "event", "event": "budget_spent", "message": shortfall, "elapsed_ms": elapsed_ms,
            })),
            Record::Cancelled { elapsed_ms, .. } => {
                Some(json!({ "type": "event", "event": "cancelled", "elapsed_ms": elapsed_ms }))
            }
            Record::Finished { outcome, elapsed_ms } => Some(self::outcome(outcome, *elapsed_ms)),
        };
        self.lines.extend(line);
        self.user_messages(run);
    }

    /// Adds new user messages. Replies and results come from their records, which hold more detail.
    fn user_messages(&mut self, run: &Run) {
        for message in &run.messages()[self.seen.min(run.messages().len())..] {
            if let Message::User { text } = message {
                self.lines.push(json!({ "type": "message", "role": "user", "text": text }));
            }
        }
        self.seen = run.messages().len();
    }
}

fn header(row: &TaskRow, status: &str, start: &TaskStart) -> Value {
    json!({
        "type": "task",
        "transcript": VERSION,
        "session_id": row.id.session(),
        "parent": row.parent.as_ref().map(|parent| parent.as_str()),
        "agent": row.agent,
        "model": start.agent.model,
        "workspace": start.workspace,
        "tools": start.grant.tools().collect::<Vec<_>>(),
        "task": start.task,
        "status": status,
        "created_at": utc(row.created_ms),
        "updated_at": utc(row.updated_ms),
    })
}

fn assistant(turn: u32, reply: &Reply, elapsed_ms: u64) -> Value {
    let join = |pick: fn(&Block) -> Option<&str>| reply.blocks.iter().filter_map(pick).collect::<String>();
    let text = join(|block| match block {
        Block::Text { text, .. } => Some(text),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
    });
    let thinking = join(|block| match block {
        Block::Thinking { text, .. } => Some(text),
        Block::Text { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
    });
    let calls: Vec<Value> = reply
        .blocks
        .iter()
        .filter_map(Block::as_call)
        .enumerate()
        .map(|(index, call)| self::call(turn, index, call))
        .collect();
    json!({
        "type": "message",
        "role": "assistant",
        "turn": turn,
        "model": reply.model,
        "text": text,
        "thinking": (!thinking.is_empty()).then_some(thinking),
        "tool_calls": calls,
        "usage": reply.usage.to_json(),
        "elapsed_ms": elapsed_ms,
    })
}

/// Formats a tool call. Arguments that are not an object are kept as text. The key is built from turn and
/// index, because the run assigns keys only after it has read the reply.
fn call(turn: u32, index: usize, call: &ToolCall) -> Value {
    let arguments: Value = match &call.arguments {
        CallArguments::Object(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        CallArguments::Truncated(text) | CallArguments::Invalid(text, _) => text.as_str().into(),
    };
    json!({ "call": format!("{turn}.{index}"), "name": call.name, "arguments": arguments })
}

fn tool(result: &ToolResult, full_text: Option<&str>, elapsed_ms: u64) -> Value {
    json!({
        "type": "message",
        "role": "tool",
        "turn": result.key.turn,
        "call": result.key.to_string(),
        "name": result.name,
        "text": result.text,
        // Only set if the model saw a shortened text.
        "full_text": full_text,
        "is_error": result.is_error,
        "in_doubt": result.in_doubt,
        "changed_files": result.changed.iter().map(|change| &change.path).collect::<Vec<_>>(),
        "elapsed_ms": elapsed_ms,
    })
}

fn outcome(outcome: &Outcome, elapsed_ms: u64) -> Value {
    json!({
        "type": "outcome",
        "status": outcome.status().wire(),
        "reason": outcome.stop.wire(),
        "detail": outcome.detail,
        "text": outcome.text,
        "turns": outcome.turns,
        "tool_calls": outcome.tool_calls,
        "usage": outcome.usage.to_json(),
        "changed_files": outcome.changed_files,
        "in_doubt": outcome.in_doubt.iter().map(|doubt| doubt.key.to_string()).collect::<Vec<_>>(),
        "refused_tools": outcome.refused_tools,
        "warnings": outcome.warnings,
        "elapsed_ms": elapsed_ms,
    })
}

/// Collects the task's tools for the replay, where their effect does not matter.
fn tools(start: &TaskStart, records: &[Record]) -> BTreeMap<String, ToolEffect> {
    let intended = records.iter().filter_map(|record| match record {
        Record::Done { result, .. } if !result.mistake => Some(result.name.clone()),
        _ => None,
    });
    let granted = start.grant.tools().map(str::to_owned);
    granted.chain(intended).map(|name| (name, ToolEffect::Pure)).collect()
}
