//! Tools, and the ports that a tool call meets: approver, verifier and worktrees.

use std::sync::Arc;
use std::time::Duration;

use posse_core::Result;
use posse_core::edits::FileChange;
use posse_core::event::Event;
use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::tool::ToolSpec;
use posse_core::verify::VerifyEvidence;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::BoxFuture;
use crate::driver::CallingRun;
use crate::leases::LeaseGuard;

/// A tool. Its failure is a result the model can act on, never a Rust error.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Returns the description for a task with this grant. It names no tool that the task lacks.
    fn spec_for(&self, _grant: &Grant) -> ToolSpec {
        self.spec().clone()
    }

    /// Tells whether the tool checks its own arguments and reports errors better than a schema would. `arguments`
    /// is then any JSON object.
    fn checks_arguments(&self) -> bool {
        false
    }

    /// Tells whether calls hand a task to an agent and wait for it. Neighboring calls of such tools run side by side, each
    /// with its own intent and its own key.
    fn delegates(&self) -> bool {
        false
    }

    /// Tells whether a call may change files of the workspace. A tool that runs programs may, whatever effect it declares.
    fn writes_files(&self) -> bool {
        true
    }

    /// Returns a preview of the call for the person who decides on it. An error answers a call that would fail
    /// anyway, without asking.
    fn propose(&self, _input: &ToolInput<'_>) -> Result<CallProposal, ToolOutput> {
        Ok(CallProposal::default())
    }

    /// Runs the call to its end or until `context.cancel` fires; then it returns soon with its output so far.
    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput>;
}

/// A tool's presentation of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallProposal {
    /// Summary of the call, an object.
    pub shown: Option<Value>,
    /// Refusal text for the model, instead of the default.
    pub refusal: Option<&'static str>,
}

/// Input of a tool call.
pub struct ToolInput<'a> {
    pub key: CallKey,
    /// JSON text of an object that satisfies the tool's schema.
    pub arguments: &'a str,
    /// Idempotency key: equal for every attempt at this call, in any process.
    pub idempotency_key: &'a str,
    pub context: &'a ToolContext,
}

/// Context of a tool call.
#[derive(Clone)]
pub struct ToolContext {
    pub task: TaskId,
    /// The task's grant, for decisions that can only be made while the call runs.
    pub grant: Arc<Grant>,
    pub cancel: CancellationToken,
    /// Rest of the run's wall time.
    pub time_left: Duration,
    /// Maximum bytes of output that are useful.
    pub output_bytes_max: usize,
    /// The run that makes the call; `None` outside of a run.
    pub run: Option<Arc<CallingRun>>,
    /// Checks each file right before its rename; `None` if no other task can write.
    pub fence: Option<Arc<LeaseGuard>>,
}

impl ToolContext {
    /// Journals a note on the task and notifies observers. Outside of a run it is dropped.
    pub fn note(&self, note: String) {
        if let Some(run) = &self.run {
            run.journal.observe(Event::Noted { note });
        }
    }
}

/// Output of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    pub text: String,
    pub is_error: bool,
    pub changed: Vec<FileChange>,
    /// The call was ended early (cancel, timeout, crash): its effect may or may not have happened.
    pub cut_off: bool,
    /// The arguments were wrong and nothing was run. A model that makes only mistakes is stopped.
    pub mistake: bool,
    /// A poll that was answered "not yet": repeating it is no cycle.
    pub pending: bool,
}

impl ToolOutput {
    /// Creates a successful output.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates an error.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }

    /// Creates an error caused by the model, such as wrong arguments.
    pub fn mistake(text: impl Into<String>) -> Self {
        Self { mistake: true, ..Self::error(text) }
    }

    /// Creates an error of a call whose effect is in doubt.
    pub fn cut_off(text: impl Into<String>) -> Self {
        Self { cut_off: true, ..Self::error(text) }
    }
}

/// Decides on calls with side effects, and on calls that a rule wants to be asked about. With an approver, nothing is
/// parked in the store.
pub trait Approver: Send + Sync {
    fn approve<'a>(&'a self, call: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision>;

    /// Tells whether it approves everything without asking a person.
    fn is_automatic(&self) -> bool {
        false
    }
}

impl<A: Approver + ?Sized> Approver for Arc<A> {
    fn approve<'a>(&'a self, call: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision> {
        (**self).approve(call)
    }

    fn is_automatic(&self) -> bool {
        (**self).is_automatic()
    }
}

/// A call that would be made. Its arguments satisfy the tool's schema.
#[derive(Debug, Clone, Copy)]
pub struct ProposedCall<'a> {
    pub task: &'a TaskId,
    pub tool: &'a str,
    pub arguments: &'a str,
    /// The tool's own presentation.
    pub shown: Option<&'a Value>,
    /// Why a person should be asked, if a rule says so.
    pub why: Option<&'a str>,
}

/// Decision of a program's approver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    Granted,
    /// The reason, which helps the model to do something else.
    Denied(String),
}

/// Approves everything, for an agent that works unattended. Nobody sees its calls before they are made.
pub struct AutoApprove;

impl Approver for AutoApprove {
    fn approve<'a>(&'a self, _: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::Granted))
    }

    fn is_automatic(&self) -> bool {
        true
    }
}

/// Runs the commands that verify a result, for tasks whose definition or request has some. A command has the rights of the
/// user who runs Posse, so callers check `posse_core::verify::permit` first.
pub trait Verifier: Send + Sync {
    /// Runs a command in the task's workspace to its end or until `context.cancel` fires. It may be run again after a
    /// crash.
    fn run<'a>(&'a self, command: &'a str, context: &'a ToolContext) -> BoxFuture<'a, VerifyEvidence>;
}

/// Ends the processes that earlier drivers of a task left behind, and returns their number. Called right after the claim
/// that gave `epoch`. Blocks for up to two seconds.
pub type LeftoverSweep = fn(task: &TaskId, epoch: u64) -> u32;

/// Gives isolated tasks a copy of the workspace, and saves their changes.
pub trait WorktreeSource: Send + Sync {
    /// Copies the workspace as it is now, or returns the existing copy of the task.
    fn open<'a>(&'a self, task: &'a TaskId, workspace: &'a str) -> BoxFuture<'a, Result<TaskWorktree>>;

    /// Saves the changes so that they survive the process, and names the files. Called before the task ends.
    fn keep<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Removes the copy of a task that was not created or changed nothing.
    fn discard<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>>;
}

/// A copy of a workspace, with the tools and the verifier bound to it.
#[derive(Clone)]
pub struct TaskWorktree {
    pub workspace: String,
    /// Directory-bound tools of the session, bound to this worktree.
    pub tools: Vec<Arc<dyn Tool>>,
    pub verifier: Option<Arc<dyn Verifier>>,
}
