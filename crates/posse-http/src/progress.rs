//! Present doing of a task, from its journal: who has to act next, and what was last known about the model.

use std::collections::BTreeMap;

use posse_core::context::wire::utc;
use posse_core::event::{Event, WaitCause};
use posse_core::id::CallKey;
use posse_core::journal::Record;
use posse_core::text::prefix;
use posse_runtime::ports::StoredRecord;

use crate::wire::{ActivityKind, ContextFill, TaskActivity};

/// Bytes of a summary.
const SUMMARY_MAX: usize = 200;

/// Present doing of one task.
#[derive(Debug, Clone, Default)]
pub struct TaskProgress {
    /// Position of the next record.
    pub next: u64,
    /// `provider:model` of the last reply, or of the agent.
    pub model: Option<String>,
    pub turns_max: Option<u32>,
    pub context: Option<ContextFill>,
    window: Option<u64>,
    /// Step outside of tools, with the instant it began.
    step: Option<ProgressStep>,
    /// Calls that run, by their positions.
    calls: BTreeMap<CallKey, ProgressStep>,
}

#[derive(Debug, Clone)]
struct ProgressStep {
    kind: ActivityKind,
    since_ms: u64,
    tool: Option<String>,
    summary: Option<String>,
    until_ms: Option<u64>,
}

impl ProgressStep {
    fn new(kind: ActivityKind, since_ms: u64) -> Self {
        Self { kind, since_ms, tool: None, summary: None, until_ms: None }
    }

    fn about(self, summary: &str) -> Self {
        Self {
            summary: Some(prefix(summary, SUMMARY_MAX).to_owned()).filter(|text| !text.is_empty()),
            ..self
        }
    }
}

impl TaskProgress {
    /// Follows records. Those that were followed before change nothing.
    pub fn follow(&mut self, records: &[StoredRecord]) {
        for stored in records.iter().filter(|stored| stored.seq >= self.next).collect::<Vec<_>>() {
            self.next = stored.seq + 1;
            self.note_start(&stored.record);
            if let Some(event) = Event::from_record(&stored.record) {
                self.note(&event, stored.at_ms);
            }
        }
    }

    /// Returns the present doing, for a task that has not ended.
    pub fn activity(&self) -> Option<TaskActivity> {
        // A decision of a person comes before work that goes on beside it.
        let call =
            self.calls.values().min_by_key(|call| (call.kind != ActivityKind::Approval, call.since_ms));
        let step = call.or(self.step.as_ref())?;
        Some(TaskActivity {
            kind: step.kind,
            since: utc(step.since_ms),
            tool: step.tool.clone(),
            summary: step.summary.clone(),
            until: step.until_ms.map(utc),
        })
    }

    fn note_start(&mut self, record: &Record) {
        if let Record::Started(start) = record {
            self.model = Some(start.agent.model.clone());
            self.turns_max = Some(start.agent.limits.turns_max);
            self.window = start.agent.limits.context_window;
        }
    }

    fn note(&mut self, event: &Event, at_ms: u64) {
        let step = |kind| Some(ProgressStep::new(kind, at_ms));
        match event {
            Event::Queued { .. } => self.step = step(ActivityKind::Queued),
            Event::Started { model, context_window, .. } => {
                self.begin(model, *context_window, at_ms);
            }
            Event::Resumed { model, context_window, turns_max, .. } => {
                self.turns_max = Some(*turns_max);
                self.calls.clear();
                self.begin(model, *context_window, at_ms);
            }
            Event::TurnStarted { turns_max, .. } => {
                if *turns_max > 0 {
                    self.turns_max = Some(*turns_max);
                }
                self.calls.clear();
                self.step = step(ActivityKind::Model);
            }
            Event::Replied { model, usage, .. } => {
                self.model = Some(model.clone());
                self.context = Some(ContextFill { used_tokens: usage.input, window_tokens: self.window });
                self.step = step(ActivityKind::Working);
            }
            Event::ModelRetry { why, wait_ms, .. } => {
                let retry = ProgressStep::new(ActivityKind::Retry, at_ms).about(why);
                self.step = Some(ProgressStep { until_ms: Some(at_ms.saturating_add(*wait_ms)), ..retry });
            }
            Event::Waiting { why, paths, retry_ms } => {
                let kind = match why {
                    WaitCause::RateLimited => ActivityKind::RateLimit,
                    WaitCause::Lease => ActivityKind::Lease,
                };
                let until_ms = retry_ms.map(|wait| at_ms.saturating_add(wait));
                let waiting = ProgressStep::new(kind, at_ms).about(&paths.join(", "));
                self.step = Some(ProgressStep { until_ms, ..waiting });
            }
            Event::ToolStarted { key, tool, summary } => {
                self.call(*key, ActivityKind::Tool, tool, summary, at_ms, None);
            }
            Event::ApprovalRequested { key, tool, summary, deadline_ms, .. } => {
                self.call(*key, ActivityKind::Approval, tool, summary, at_ms, Some(*deadline_ms));
            }
            Event::ApprovalResolved { key, .. }
            | Event::ToolFinished { key, .. }
            | Event::ToolRefused { key, .. } => {
                if self.calls.remove(key).is_some() && self.calls.is_empty() {
                    self.step = step(ActivityKind::Working);
                }
            }
            Event::Verifying { command } => {
                self.step = Some(ProgressStep::new(ActivityKind::Verify, at_ms).about(command));
            }
            Event::ModelFailed { .. } | Event::Verified { .. } | Event::WrappingUp { .. } => {
                self.step = step(ActivityKind::Working);
            }
            Event::Finished { .. } => {
                self.calls.clear();
                self.step = None;
            }
            Event::Noted { .. } | Event::Elided { .. } => {}
        }
    }

    fn begin(&mut self, model: &str, window: Option<u64>, at_ms: u64) {
        if !model.is_empty() {
            self.model = Some(model.to_owned());
        }
        self.window = window.or(self.window);
        self.step = Some(ProgressStep::new(ActivityKind::Working, at_ms));
    }

    fn call(
        &mut self,
        key: CallKey,
        kind: ActivityKind,
        tool: &str,
        summary: &str,
        at_ms: u64,
        until_ms: Option<u64>,
    ) {
        let call = ProgressStep::new(kind, at_ms).about(summary);
        self.calls.insert(key, ProgressStep { tool: Some(tool.to_owned()), until_ms, ..call });
    }
}
