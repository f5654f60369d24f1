//! Passes events and deltas to observers. A panicking observer does not crash the run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::event::{Event, EventEntry, WaitCause};
use posse_core::fact::LiveFact;
use posse_core::id::TaskId;
use posse_core::text::prefix;

use crate::journal::TaskJournal;
use crate::panics::describe;
use crate::ports::{DelegationFact, Delta, DeltaSink, ObservedPayload, Observer};

/// A list of observers that all see the same events.
#[derive(Clone, Default)]
pub struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub fn new(observers: Vec<Arc<dyn Observer>>) -> Self {
        Self(observers)
    }

    /// Returns the list with one more observer.
    pub fn with(&self, observer: Arc<dyn Observer>) -> Self {
        let mut observers = self.0.clone();
        observers.push(observer);
        Self(observers)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends an event to every observer.
    pub fn event(&self, entry: &EventEntry) {
        for observer in &self.0 {
            contained(&entry.task_id, || observer.event(entry));
        }
    }

    /// Sends a live fact to every observer.
    pub fn fact(&self, task: &TaskId, fact: &LiveFact) {
        for observer in &self.0 {
            contained(task, || observer.fact(task, fact));
        }
    }

    /// Sends a delta to every observer.
    pub fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        for observer in &self.0 {
            contained(task, || observer.delta(task, delta));
        }
    }

    /// Sends a payload to every observer.
    pub fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        for observer in &self.0 {
            contained(task, || observer.payload(task, payload));
        }
    }
}

impl Observers {
    /// Sends the result of a `subagent` call to every observer.
    pub fn delegation(&self, caller: &TaskId, fact: &DelegationFact) {
        for observer in &self.0 {
            contained(caller, || observer.delegation(caller, fact));
        }
    }
}

fn contained(task: &TaskId, watch: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(watch)) {
        tracing::error!(
            task = task.as_str(),
            panic = describe(&*panic),
            "an observer panicked; the run goes on"
        );
    }
}

/// A run's view of the observers, given to the model.
pub(crate) struct TaskDeltas<'a> {
    pub observers: &'a Observers,
    pub task: &'a TaskId,
    pub journal: &'a TaskJournal,
    /// Text of the attempt under way.
    pub said: Mutex<String>,
}

/// Longest text that is kept of a reply that is cut off.
const SAID_BYTES_MAX: usize = 256 * 1024;

impl TaskDeltas<'_> {
    /// Takes the text of the attempt under way.
    pub fn take_said(&self) -> String {
        std::mem::take(&mut self.said())
    }

    fn said(&self) -> MutexGuard<'_, String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeltaSink for TaskDeltas<'_> {
    fn alive(&self) {}

    fn delta(&self, delta: Delta<'_>) {
        let in_ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        match delta {
            Delta::Restarted { kind, status, why, wait } => {
                self.said().clear();
                let (why, wait_ms) = (why.to_owned(), in_ms(wait));
                self.journal.observe_now(Event::ModelRetry { kind, status, why, wait_ms });
            }
            Delta::Paused { wait } => self.journal.observe_now(Event::Waiting {
                why: WaitCause::RateLimited,
                paths: Vec::new(),
                retry_ms: Some(in_ms(wait)),
            }),
            Delta::Text(text) => {
                let mut said = self.said();
                let room = SAID_BYTES_MAX.saturating_sub(said.len());
                said.push_str(prefix(text, room));
            }
            Delta::Thinking(_) | Delta::ToolCall { .. } | Delta::ToolArguments { .. } => {}
        }
        self.observers.delta(self.task, delta);
    }
}

/// An item of a trace hook: events with their full text.
#[derive(Debug)]
pub enum TraceEvent<'a> {
    Event(&'a Event),
    Delta(Delta<'a>),
    Payload(ObservedPayload<'a>),
}

/// A closure as an observer.
pub struct TraceHook<F>(pub F);

impl<F: Fn(&TaskId, &TraceEvent<'_>) + Send + Sync> Observer for TraceHook<F> {
    fn event(&self, entry: &EventEntry) {
        (self.0)(&entry.task_id, &TraceEvent::Event(&entry.event));
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        (self.0)(task, &TraceEvent::Delta(delta));
    }

    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        (self.0)(task, &TraceEvent::Payload(payload));
    }
}
