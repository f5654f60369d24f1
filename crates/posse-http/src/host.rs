//! Knowledge of the program that serves: configuration, agents, files and processes.

use std::sync::Arc;

use posse_core::Result;
use posse_core::id::TaskId;
use posse_runtime::ports::{BoxFuture, LeftoverSweep, TaskRow};
use posse_runtime::session::HostSession;
use serde_json::Value;

use crate::wire::{
    AgentDetail, AgentSummary, AppliedTask, ApplyBody, DiscardedChanges, ResumeBody, TaskChanges, UndoBody,
    UndoneTask,
};

/// Port to the program that a server is part of.
pub trait ServeHost: Send + Sync {
    /// Returns the version of the program.
    fn version(&self) -> &str;

    /// Returns the directory that the server was started in.
    fn workspace(&self) -> &str;

    /// Returns the silence after which a lease expires.
    fn lease_ms(&self) -> u64;

    /// Returns the way to end processes that a dead driver left.
    fn sweep(&self) -> LeftoverSweep;

    /// Returns the session that spawns tasks; it is opened with the first request.
    fn session(&self) -> BoxFuture<'_, Result<Arc<HostSession>>>;

    /// Lists the agents of the project with the doctor's findings.
    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentSummary>>>;

    /// Finds an agent; fails with `AGENT_NOT_FOUND`.
    fn agent<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<AgentDetail>>;

    /// Returns the lines of a task's transcript.
    fn transcript<'a>(&'a self, task: &'a TaskId, status: &'a str) -> BoxFuture<'a, Result<Vec<Value>>>;

    /// Returns the changes of a task and its subagents.
    fn changes<'a>(&'a self, row: &'a TaskRow) -> BoxFuture<'a, Result<TaskChanges>>;

    /// Writes the changes of a worktree into the project.
    fn apply<'a>(&'a self, row: &'a TaskRow, how: ApplyBody) -> BoxFuture<'a, Result<AppliedTask>>;

    /// Removes a worktree.
    fn discard<'a>(&'a self, row: &'a TaskRow) -> BoxFuture<'a, Result<DiscardedChanges>>;

    /// Takes changes back.
    fn undo<'a>(&'a self, row: &'a TaskRow, span: UndoBody) -> BoxFuture<'a, Result<UndoneTask>>;

    /// Starts a process that continues a task.
    fn resume<'a>(&'a self, row: &'a TaskRow, more: ResumeBody) -> BoxFuture<'a, Result<()>>;
}
