//! Answers of delegation.

use posse_core::event::EventEntry;
use posse_core::id::{AgentName, TaskId};

use super::report::TaskReport;
use crate::ports::{AgentDiagnostic, MessageReceipt};

/// The answer to a `DelegationRequest`.
#[derive(Debug)]
pub enum DelegationAnswer {
    Agents(AgentListing),
    Defined(DefineReceipt),
    Spawned(SpawnReceipt),
    Status(TaskReport),
    Collected(TaskReport),
    Waited(WaitReport),
    Cancelled(CancelReport),
    Sent(SendReceipt),
    Answered(AnswerReceipt),
    Result(ResultPage),
    Events(EventPage),
    Tasks(Vec<ListedTask>),
}

/// Agents that a parent may delegate to.
#[derive(Debug)]
pub struct AgentListing {
    pub agents: Vec<AgentCard>,
    /// Agents that cannot be used, each with its error.
    pub diagnostics: Vec<AgentDiagnostic>,
    /// Number of agents that match the query and are not listed.
    pub left_out: usize,
}

/// An agent with the rights that its tasks would get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCard {
    pub name: AgentName,
    pub description: String,
    pub model: String,
    pub turns_max: u32,
    pub tools: Vec<String>,
}

/// An accepted definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefineReceipt {
    pub name: AgentName,
    pub description: String,
    pub warnings: Vec<String>,
    /// Version of an agent that may replace an earlier one.
    pub version: Option<u32>,
    /// Another process has defined the same agent.
    pub unchanged: bool,
}

/// A task that was started or queued.
#[derive(Debug, Clone, PartialEq)]
pub struct SpawnReceipt {
    pub id: TaskId,
    pub agent: AgentName,
    /// Waits for a slot or for other tasks.
    pub queued: bool,
    /// Why it ended before it started.
    pub failure: Option<String>,
    /// Deviations from the request.
    pub notes: Vec<String>,
    /// Number of finished, uncollected tasks, from ten on.
    pub uncollected: Option<usize>,
}

/// State of the tasks that a wait was for.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitReport {
    pub finished: Vec<TaskReport>,
    pub running: Vec<TaskReport>,
    /// The timeout passed before enough of them had ended.
    pub timed_out: bool,
    /// Deviations from the request.
    pub warnings: Vec<String>,
}

/// A task after a cancel.
#[derive(Debug, Clone, PartialEq)]
pub struct CancelReport {
    pub task: TaskReport,
    /// It had ended before.
    pub had_ended: bool,
}

/// Receipt of a steering message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendReceipt {
    /// Id as the sender gave it.
    pub task_id: String,
    pub receipt: MessageReceipt,
}

/// Receipt of an answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerReceipt {
    /// Id as the sender gave it.
    pub task_id: String,
    /// The task was waiting for it.
    pub answered: bool,
}

/// A page of a task's full text.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultPage {
    /// Id as the reader gave it.
    pub task_id: String,
    pub report: TaskReport,
    pub text: String,
    /// Character that the page begins at.
    pub offset: usize,
    /// Character that the next page begins at; `None` on the last page.
    pub next_offset: Option<usize>,
    pub total_chars: usize,
}

/// Events of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// Id as the reader gave it.
    pub task_id: String,
    pub events: Vec<EventEntry>,
    /// Position to read on from.
    pub next: u64,
}

/// A task in a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTask {
    pub report: TaskReport,
    /// Its result was collected.
    pub collected: bool,
}

impl DelegationAnswer {
    /// Tells whether a poll was answered "not yet": repeating it is no cycle.
    pub fn is_pending(&self) -> bool {
        match self {
            DelegationAnswer::Status(report) | DelegationAnswer::Collected(report) => {
                report.state().is_running()
            }
            DelegationAnswer::Waited(waited) => waited.timed_out,
            _ => false,
        }
    }
}
