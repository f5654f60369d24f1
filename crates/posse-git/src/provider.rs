//! Worktrees for isolated tasks, as the runtime asks for them.

use std::path::{Path, PathBuf};

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{BoxFuture, TaskWorktree, WorktreeSource};

use crate::worktree::GitWorktrees;

/// Binds the tools of a session to a worktree: `(workspace, origin)`. Nothing that the task can change is to be loaded, so
/// project files come from the origin.
type BindTools = dyn Fn(&Path, &Path) -> Result<TaskWorktree> + Send + Sync;

/// Gives each isolated task a worktree with tools of its own.
pub struct WorktreeProvider {
    trees: GitWorktrees,
    bind: Box<BindTools>,
}

impl WorktreeProvider {
    /// Creates the provider; `bind` makes the tools of a worktree, given its workspace and the one it was made of.
    pub fn new(
        trees: GitWorktrees,
        bind: impl Fn(&Path, &Path) -> Result<TaskWorktree> + Send + Sync + 'static,
    ) -> Self {
        Self { trees, bind: Box::new(bind) }
    }

    /// Lists the tasks of a session with changes that wait for a person.
    pub fn kept(&self, session: &str) -> Vec<TaskId> {
        self.trees.kept(session)
    }

    /// Runs blocking work on the worktrees.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(GitWorktrees) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let trees = self.trees.clone();
        tokio::task::spawn_blocking(move || work(trees)).await.unwrap_or_else(|e| {
            Err(Error::new(ErrorCode::Internal, localized!("worktree-not-worked-on")).caused_by(e))
        })
    }
}

impl WorktreeSource for WorktreeProvider {
    fn open<'a>(&'a self, task: &'a TaskId, workspace: &'a str) -> BoxFuture<'a, Result<TaskWorktree>> {
        let (task, origin) = (task.clone(), PathBuf::from(workspace));
        Box::pin(async move {
            let from = origin.clone();
            let made = self.on_disk(move |trees| trees.make(&task, &from)).await?;
            (self.bind)(&made.workspace(), &origin)
        })
    }

    fn keep<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<String>>> {
        let task = task.clone();
        Box::pin(self.on_disk(move |trees| match trees.find(&task)? {
            Some(made) => made.keep(),
            None => Err(Error::new(ErrorCode::Io, localized!("worktree-gone", task))),
        }))
    }

    fn discard<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>> {
        let task = task.clone();
        Box::pin(self.on_disk(move |trees| trees.discard(&task)))
    }
}
