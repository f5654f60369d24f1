//! One line per change, the task first: for pipes and log files.

use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_runtime::ports::{Delta, Observer};

use super::{count, many};
use crate::terminal::note;

pub struct Plain;

impl Observer for Plain {
    fn event(&self, task: &TaskId, event: &Event) {
        if let Some(line) = line(event) {
            note(&format!("{} {}", task.short(), visible(&line)));
        }
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        if let Delta::Restarted { why, wait } = delta {
            note(&format!(
                "{} model: {}; next try in {:.1}s",
                task.short(),
                visible(why),
                wait.as_secs_f64()
            ));
        }
    }
}

/// What is worth a line. Starts of tool calls are: a hanging one would otherwise look like nothing.
pub fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Started { agent, model, .. } => format!("started · {agent} on {model}"),
        Event::Resumed { finished_calls, in_doubt, .. } => {
            format!("resumed · {} kept, {in_doubt} in doubt", many(*finished_calls, "finished call"))
        }
        Event::TurnStarted { .. } => return None,
        Event::Replied { turn, usage, calls, .. } => {
            format!("turn {turn} · {} tokens · {}", count(usage.total()), many(*calls, "call"))
        }
        Event::Noted { note } => format!("note: {note}"),
        Event::ModelFailed { kind, message } => format!("model {}: {message}", kind.wire()),
        Event::ToolStarted { tool, summary, .. } => format!("{tool} {summary}"),
        Event::ToolRefused { tool, why, .. } => format!("{tool} refused: {why}"),
        Event::ToolFinished { tool, why: Some(why), millis, .. } => {
            format!("{tool} failed after {millis} ms: {why}")
        }
        Event::ToolFinished { .. } => return None,
        Event::Elided { results, bytes } => {
            format!("{results} old results ({bytes} bytes) left out to save context")
        }
        Event::WrappingUp { reason } => format!("asked to report: {}", reason.wire()),
        Event::Verifying { command } => format!("verify {command}"),
        Event::Verified { command, passed: false, ending, millis } => {
            format!("verify {command} failed after {millis} ms: {ending}")
        }
        Event::Verified { .. } => return None,
        Event::Finished { status, stop, turns, tool_calls, usage } => format!(
            "{} · {} · {} · {} · {} tokens",
            status.wire(),
            stop.wire(),
            many(*turns, "turn"),
            many(*tool_calls, "tool"),
            count(usage.total())
        ),
    })
}
