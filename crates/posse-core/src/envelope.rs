//! Result envelope: the last object of `--json`, stable for scripts.

use std::time::Duration;

use serde_json::{Value, json};

use crate::id::TaskId;
use crate::outcome::Outcome;
use crate::usage::{SpendingTotal, dollars};
use crate::verify::VerifyEvidence;

/// Builds the envelope. `cost` is that of the task alone, in millionths of a dollar, `None` if a price is unknown.
/// `tree` includes its subagents.
pub fn envelope(
    task: &TaskId,
    model: &str,
    outcome: &Outcome,
    cost: Option<u64>,
    tree: &SpendingTotal,
    took: Duration,
) -> Value {
    json!({
        "type": "result",
        "task_id": task.as_str(),
        "status": outcome.status().wire(),
        "reason": outcome.stop.wire(),
        "detail": outcome.detail,
        "text": outcome.text,
        "preview": outcome.preview(),
        "sections": sections(outcome),
        "data": outcome.data,
        "schema_errors": outcome.schema_errors,
        "evidence": outcome.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "model": model,
        "turns": outcome.turns,
        "tool_calls": outcome.tool_calls,
        "usage": outcome.usage.to_json(),
        "cost_usd": cost.map(dollars),
        "tree_cost_usd": tree.cost_usd(),
        // Subagents included; models without a known price add tokens and no cost.
        "session": {
            "tasks": tree.tasks,
            "input_tokens": tree.input_tokens,
            "output_tokens": tree.output_tokens,
            "known_cost_usd": dollars(tree.cost_micros),
        },
        "changed_files": outcome.changed_files,
        "in_doubt": outcome.in_doubt.iter().map(|doubt| doubt.key.to_string()).collect::<Vec<_>>(),
        "refused_tools": outcome.refused_tools,
        "warnings": outcome.warnings,
        "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Splits the answer into sections: without marks all of it is findings, without text there are none.
fn sections(outcome: &Outcome) -> Value {
    if outcome.text.trim().is_empty() {
        return Value::Null;
    }
    let found = outcome.sections();
    json!({ "findings": found.findings, "summary": found.summary, "answer": found.answer })
}

fn evidence(found: &VerifyEvidence) -> Value {
    json!({
        "command": found.command,
        "passed": found.passed(),
        "exit_code": found.exit_code(),
        "ending": found.ending(),
        "duration_ms": found.duration_ms,
        "output": found.output,
    })
}
