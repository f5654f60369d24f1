//! Tasks that work apart from others: their worktrees are below the state directory, and their tools are made as the
//! session's are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_mcp::server::ConnectedHosts;
use posse_messages::localized;
use posse_runtime::ports::{self, BoxFuture};
use posse_tools::sandbox::Sandbox;
use posse_tools::worktree::GitWorktrees;

use crate::config::Config;
use crate::servers::ServerRegistry;
use crate::setup::{Setup, search};
use crate::telemetry::Telemetry;

pub struct WorktreeProvider {
    trees: GitWorktrees,
    config: Config,
    state: PathBuf,
    sandbox: Arc<Sandbox>,
}

/// Where worktrees are. The git that makes them is none that a task in this workspace could have put there.
pub fn trees(state: &Path, workspace: &Path) -> GitWorktrees {
    GitWorktrees::new(state.join("worktrees"), search(&[workspace, state]))
}

impl WorktreeProvider {
    pub fn new(setup: &Setup) -> Arc<Self> {
        let (config, state, sandbox) = (setup.config.clone(), setup.state.clone(), setup.sandbox.clone());
        Arc::new(Self { trees: trees(&state, &setup.workspace), config, state, sandbox })
    }

    /// The tasks of a session whose changes wait for somebody to look at them.
    pub fn kept(&self, session: &str) -> Vec<TaskId> {
        self.trees.kept(session)
    }

    /// Works on the disk beside everything else.
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

impl ports::WorktreeSource for WorktreeProvider {
    fn open<'a>(
        &'a self,
        task: &'a TaskId,
        workspace: &'a str,
    ) -> BoxFuture<'a, Result<ports::TaskWorktree>> {
        let (task, origin) = (task.clone(), PathBuf::from(workspace));
        Box::pin(async move {
            let from = origin.clone();
            let made = self.on_disk(move |trees| trees.make(&task, &from)).await?;
            let workspace = made.workspace();
            let setup = Setup {
                config: self.config.clone(),
                workspace: workspace.clone(),
                // Nothing that the task can change there is loaded when it goes on.
                project: origin,
                state: self.state.clone(),
                telemetry: Telemetry::default(),
                sandbox: self.sandbox.clone(),
                // Servers are the session's, and work where it does.
                servers: OnceLock::from(Arc::new(ServerRegistry::none())),
                hosts: ConnectedHosts::none(),
            };
            let found = setup.tools()?;
            let verifier = setup.verifier(&found)?;
            Ok(ports::TaskWorktree {
                workspace: workspace.display().to_string(),
                tools: found.tools,
                verifier,
            })
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
        Box::pin(self.on_disk(move |trees| trees.find(&task)?.map_or(Ok(()), |made| made.discard())))
    }
}
