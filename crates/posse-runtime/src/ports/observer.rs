//! Observers of runs: terminal, logs, traces.

use posse_core::ErrorCode;
use posse_core::event::EventEntry;
use posse_core::fact::LiveFact;
use posse_core::id::{AgentName, CallKey, TaskId};
use posse_core::journal::TaskStart;
use posse_core::message::{ToolCall, ToolResult};
use posse_core::reply::Reply;
use posse_core::state::TaskState;

use super::Delta;

/// Sees the events, deltas and texts of runs. A panic in it is caught and logged; the run continues.
pub trait Observer: Send + Sync {
    /// Receives a fact of a task, in the order of the task's journal.
    fn event(&self, entry: &EventEntry);
    /// Receives a fact that is in no journal.
    fn fact(&self, _task: &TaskId, _fact: &LiveFact) {}
    fn delta(&self, _task: &TaskId, _delta: Delta<'_>) {}
    /// Receives the full text right before the event it belongs to.
    fn payload(&self, _task: &TaskId, _payload: ObservedPayload<'_>) {}
    /// Receives the result of a `subagent` call.
    fn delegation(&self, _caller: &TaskId, _fact: &DelegationFact) {}
}

/// A finished call of the `subagent` tool: names, numbers and states, never texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationFact {
    pub call: CallKey,
    pub action: &'static str,
    /// The task of the call.
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
    /// A task starts or is resumed.
    Start(&'a TaskStart),
    /// A steering message of a person or the parent.
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
