//! Observers of runs: terminal, logs, traces.

use posse_core::ErrorCode;
use posse_core::event::EventEntry;
use posse_core::id::{AgentName, CallKey, TaskId};
use posse_core::journal::TaskStart;
use posse_core::message::{ToolCall, ToolResult};
use posse_core::reply::Reply;
use posse_core::state::TaskState;

use super::Delta;

/// Sees everything that happens in a run. A panic in it is caught and logged; the run goes on.
pub trait Observer: Send + Sync {
    /// Receives a fact of a task, in the order of the task's journal.
    fn event(&self, entry: &EventEntry);
    fn delta(&self, _task: &TaskId, _delta: Delta<'_>) {}
    /// Receives the full text right before the event it belongs to.
    fn payload(&self, _task: &TaskId, _payload: ObservedPayload<'_>) {}
    /// Receives what a call of the `subagent` tool came to.
    fn delegation(&self, _caller: &TaskId, _fact: &DelegationFact) {}
}

/// A finished call of the `subagent` tool: names, numbers and states, never texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationFact {
    pub call: CallKey,
    pub action: &'static str,
    /// The task that it was about.
    pub task: Option<TaskId>,
    pub agent: Option<AgentName>,
    /// State of that task afterwards.
    pub state: Option<TaskState>,
    pub turns: Option<u32>,
    /// Why it was refused.
    pub error: Option<ErrorCode>,
}

/// Full texts of a run, for observers that are allowed to record them.
#[derive(Debug, Clone, Copy)]
pub enum ObservedPayload<'a> {
    /// A task begins, or goes on.
    Start(&'a TaskStart),
    /// A person, or the task that delegated, says something more.
    Message(&'a str),
    Reply {
        turn: u32,
        reply: &'a Reply,
    },
    Call(&'a ToolCall),
    Result {
        call: &'a ToolCall,
        result: &'a ToolResult,
    },
}
