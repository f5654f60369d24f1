//! Plain progress: one line per change, starting with the task, for pipes and log files.

use posse_core::event::{Event, EventEntry};
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::Observer;

use super::{changed, tokens};
use crate::terminal::note;

pub struct PlainLines;

impl Observer for PlainLines {
    fn event(&self, EventEntry { task_id, event, .. }: &EventEntry) {
        // A failed call that still changed files gets two lines.
        for line in line(event).into_iter().chain(changed(event, false)) {
            note(&format!("{} {}", task_id.short(), visible(&line)));
        }
    }
}

/// Formats an event worth a line. Starts of tool calls are included: otherwise a hanging one would be invisible.
pub fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Started { agent, model, .. } => say!("plain-started", agent, model),
        Event::Resumed { finished_calls, in_doubt, .. } => {
            say!("plain-resumed", kept = say!("many-finished-calls", n = *finished_calls), in_doubt)
        }
        Event::Queued { .. } | Event::TurnStarted { .. } => return None,
        Event::Replied { turn, usage, calls, .. } => {
            say!("plain-turn", turn, tokens = tokens(usage.total()), calls = say!("many-calls", n = *calls))
        }
        Event::Noted { note } => say!("plain-note", note),
        Event::ModelRetry { why, wait_ms } => {
            let seconds = format!("{:.1}", *wait_ms as f64 / 1e3);
            say!("plain-retry", why, seconds)
        }
        Event::ModelFailed { kind, message } => say!("plain-model", kind = kind.wire(), message),
        Event::ToolStarted { tool, summary, .. } => format!("{tool} {summary}"),
        Event::ToolRefused { tool, why, .. } => say!("plain-refused", tool, why),
        Event::ApprovalRequested { approval, tool, summary, why, .. } => {
            let call = format!("{tool} {summary}");
            say!("plain-approval-waits", call = call.trim_end(), why, approval)
        }
        Event::ApprovalResolved { tool, approved, scope, by, .. } => {
            let verdict = if *approved { "approved" } else { "denied" };
            format!("{tool} {verdict} ({}) by {by}", scope.wire())
        }
        Event::ToolFinished { tool, why: Some(why), millis, .. } => {
            say!("plain-failed", tool, millis, why)
        }
        Event::ToolFinished { .. } => return None,
        Event::Elided { results, bytes } => {
            say!("plain-elided", results, bytes)
        }
        Event::WrappingUp { reason } => say!("plain-wrap-up", reason = reason.wire()),
        Event::Verifying { command } => say!("plain-verify", command),
        Event::Verified { command, passed: false, ending, millis } => {
            say!("plain-verify-failed", command, millis, ending)
        }
        Event::Verified { .. } => return None,
        Event::Finished { status, stop, turns, tool_calls, usage } => format!(
            "{} · {} · {} · {} · {}",
            status.wire(),
            stop.wire(),
            say!("many-turns", n = *turns),
            say!("many-tools", n = *tool_calls),
            tokens(usage.total())
        ),
    })
}
