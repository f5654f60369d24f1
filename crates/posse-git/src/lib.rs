//! Git on repositories that somebody else may have prepared: one hardened command runner, the worktrees of tasks, and the
//! changes of a work tree as diffs. No hook, filter, monitor or external diff of a repository ever runs.

#![forbid(unsafe_code)]

pub mod diff;
mod git;
mod patch;
mod project;
mod provider;
mod view;
mod worktree;

pub use git::HardenedGit;
pub use project::project_of;
pub use provider::WorktreeProvider;
pub use view::{ChangeScope, ChangeSet, RepositoryView, content_below};
pub use worktree::{AppliedChanges, GitWorktree, GitWorktrees};
