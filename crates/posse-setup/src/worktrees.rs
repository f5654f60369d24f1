//! Worktrees of isolated tasks: below the state directory, with tools built like the session's.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use posse_git::{GitWorktrees, WorktreeProvider};
use posse_mcp::registry::ServerRegistry;
use posse_mcp::server::ConnectedHosts;
use posse_runtime::ports::TaskWorktree;

use posse_telemetry::wiring::Telemetry;

use crate::process::ProcessContext;
use crate::setup::Setup;

/// Opens the worktrees. They use a git from outside this workspace, so that no task can replace it.
pub fn trees(process: &ProcessContext, state: &Path, workspace: &Path) -> GitWorktrees {
    GitWorktrees::new(state.join("worktrees"), process.search(&[workspace, state]))
}

/// Gives isolated tasks worktrees, with tools built like the session's.
pub fn provider(setup: &Setup) -> Arc<WorktreeProvider> {
    let (config, state, sandbox) = (setup.config.clone(), setup.state.clone(), setup.sandbox.clone());
    let process = setup.process;
    let trees = trees(&setup.process, &state, &setup.workspace);
    Arc::new(WorktreeProvider::new(trees, move |workspace, origin| {
        let setup = Setup {
            process,
            config: config.clone(),
            workspace: workspace.to_owned(),
            project: origin.to_owned(),
            state: state.clone(),
            telemetry: Telemetry::default(),
            sandbox: sandbox.clone(),
            // MCP servers belong to the session and work in its directory.
            servers: OnceLock::from(Arc::new(ServerRegistry::none())),
            agents: OnceLock::new(),
            models: OnceLock::new(),
            hosts: ConnectedHosts::none(),
            is_attended: false,
        };
        let found = setup.tools()?;
        let verifier = setup.verifier(&found)?;
        Ok(TaskWorktree { workspace: workspace.display().to_string(), tools: found.tools, verifier })
    }))
}
