//! The result envelope: what `--json` ends with, and what a script can rely on.

use std::time::Duration;

use posse_core::budget::Amount;
use posse_core::id::TaskId;
use posse_core::outcome::Outcome;
use serde_json::{Value, json};

/// `cost` is in millionths of a dollar, and `None` when the price of a model is not known.
pub fn envelope(
    task: &TaskId,
    model: &str,
    outcome: &Outcome,
    cost: Option<u64>,
    session: &Amount,
    took: Duration,
) -> Value {
    json!({
        "type": "result",
        "task_id": task.as_str(),
        "status": outcome.status().wire(),
        "reason": outcome.stop.wire(),
        "detail": outcome.detail,
        "text": outcome.text,
        "model": model,
        "turns": outcome.turns,
        "tool_calls": outcome.tool_calls,
        "usage": outcome.usage.to_json(),
        "cost_usd": cost.map(|micros| micros as f64 / 1e6),
        // With everything its subagents used; models whose price is not known add tokens and no cost.
        "session": {
            "input_tokens": session.input_tokens,
            "output_tokens": session.output_tokens,
            "known_cost_usd": session.cost_micros as f64 / 1e6,
        },
        "changed_files": outcome.changed_files,
        "in_doubt": outcome.in_doubt.iter().map(|doubt| doubt.key.to_string()).collect::<Vec<_>>(),
        "refused_tools": outcome.refused_tools,
        "warnings": outcome.warnings,
        "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}
