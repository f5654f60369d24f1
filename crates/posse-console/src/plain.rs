//! Plain progress: one line per change, starting with the task, for pipes and log files.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use posse_core::event::{Event, EventEntry};
use posse_core::fact::{LiveFact, QueuePlace, SteerReceipt};
use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::Observer;
use posse_terminal::rows::{AnnouncedWait, question_text, queue_text};

use crate::words::{changed, tokens};

/// Observer that prints one line per change.
pub struct PlainLines {
    print: fn(&str),
    /// Tasks whose wait for a slot was printed. Their place moves up with every task that ends: that is no line.
    queued: Mutex<HashSet<TaskId>>,
}

impl PlainLines {
    /// Creates the observer with a function that prints a line.
    pub fn new(print: fn(&str)) -> Self {
        Self { print, queued: Mutex::default() }
    }

    fn print(&self, task: &TaskId, line: &str) {
        (self.print)(&format!("{} {}", task.short(), visible(line)));
    }
}

impl Observer for PlainLines {
    fn event(&self, EventEntry { task_id, event, .. }: &EventEntry) {
        // A failed call that still changed files gets two lines.
        for line in line(event).into_iter().chain(changed(event, false)) {
            self.print(task_id, &line);
        }
    }

    fn fact(&self, task: &TaskId, fact: &LiveFact) {
        if let LiveFact::Queued(QueuePlace { position: Some(_), .. }) = fact
            && !self.queued.lock().unwrap_or_else(PoisonError::into_inner).insert(task.clone())
        {
            return;
        }
        if let Some(line) = fact_line(fact) {
            self.print(task, &line);
        }
    }
}

/// Formats a live fact worth a line.
fn fact_line(fact: &LiveFact) -> Option<String> {
    Some(match fact {
        LiveFact::Queued(place) => queue_text(place),
        LiveFact::Question { question, .. } => question_text(question),
        LiveFact::Interrupted => say!("plain-interrupted"),
        LiveFact::Steer { receipt, turn, .. } => match receipt {
            SteerReceipt::Queued => say!("plain-steer-queued"),
            SteerReceipt::Delivered => say!("plain-steer-delivered", turn = turn.unwrap_or_default()),
            SteerReceipt::Missed => say!("plain-steer-missed"),
        },
        // Events tell these, or the answer and its summary.
        LiveFact::Task { .. }
        | LiveFact::QuestionClosed { .. }
        | LiveFact::Approval { .. }
        | LiveFact::Answer { .. }
        | LiveFact::Text { .. }
        | LiveFact::Thinking { .. }
        | LiveFact::Cost { .. } => return None,
    })
}

/// Formats the lines that stay on a screen after its tree has moved on: failures, changed files, notes.
pub fn traces(event: &Event) -> Vec<String> {
    match event {
        Event::Noted { note } => vec![visible(note).into_owned()],
        Event::ToolRefused { .. }
        | Event::ToolFinished { .. }
        | Event::ModelFailed { .. }
        | Event::Verified { .. } => {
            let said = line(event).map(|line| visible(&line).into_owned());
            said.into_iter().chain(changed(event, false)).collect()
        }
        _ => Vec::new(),
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
        Event::ModelRetry { .. } | Event::Waiting { .. } => {
            let wait = AnnouncedWait::of(event)?;
            wait.text(wait.retry_ms.unwrap_or_default())
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
