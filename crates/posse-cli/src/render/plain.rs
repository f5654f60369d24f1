//! One line per change, the task first: for pipes and log files.

use posse_core::approval::ApprovalVerdict;
use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::{Delta, Observer};

use super::{CountedNoun, changed, many, tokens};
use crate::terminal::note;

pub struct PlainLines;

impl Observer for PlainLines {
    fn event(&self, task: &TaskId, event: &Event) {
        // A call that failed and changed files all the same is worth two lines.
        for line in line(event).into_iter().chain(changed(event, false)) {
            note(&format!("{} {}", task.short(), visible(&line)));
        }
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        if let Delta::Restarted { why, wait } = delta {
            let seconds = format!("{:.1}", wait.as_secs_f64());
            note(&format!("{} {}", task.short(), say!("plain-retry", why = visible(why), seconds)));
        }
    }
}

/// What is worth a line. Starts of tool calls are: a hanging one would otherwise look like nothing.
pub fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Started { agent, model, .. } => say!("plain-started", agent, model),
        Event::Resumed { finished_calls, in_doubt, .. } => {
            say!("plain-resumed", kept = many(*finished_calls, CountedNoun::FinishedCall), in_doubt)
        }
        Event::TurnStarted { .. } => return None,
        Event::Replied { turn, usage, calls, .. } => {
            say!("plain-turn", turn, tokens = tokens(usage.total()), calls = many(*calls, CountedNoun::Call))
        }
        Event::Noted { note } => say!("plain-note", note),
        Event::ModelFailed { kind, message } => say!("plain-model", kind = kind.wire(), message),
        Event::ToolStarted { tool, summary, .. } => format!("{tool} {summary}"),
        Event::ToolRefused { tool, why, .. } => say!("plain-refused", tool, why),
        Event::ApprovalRequested { approval, tool, summary, why, .. } => format!(
            "waiting for approval · {} · {why} · posse approvals show {approval}",
            format!("{tool} {summary}").trim_end()
        ),
        Event::ApprovalResolved { tool, verdict, scope, by, .. } => {
            let verdict = match verdict {
                ApprovalVerdict::Approve => "approved",
                ApprovalVerdict::Deny => "denied",
            };
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
            many(*turns, CountedNoun::Turn),
            many(*tool_calls, CountedNoun::Tool),
            tokens(usage.total())
        ),
    })
}
