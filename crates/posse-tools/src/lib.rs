//! The tools of an agent, and the supervision of the processes they start. The file tools run in this process and
//! reach files only through a directory handle; this crate knows neither models nor the store.

mod answer;
pub mod bash;
pub mod confinement;
pub mod diff;
mod edit;
pub mod fetch;
pub mod files;
mod glob;
mod grep;
mod html;
pub mod launch;
mod list;
mod output;
pub mod own;
pub mod protected;
mod read;
mod replace;
pub mod sandbox;
pub mod scratch;
mod seen;
pub mod skill;
pub mod supervisor;
mod think;
mod touched;
pub mod verify;
mod walk;
pub mod workspace;
pub mod worktree;
mod write;

/// Tells whether a built-in tool has this name; a user's own tool can never take it.
pub fn is_built_in(name: &str) -> bool {
    own::BUILT_IN.contains(&name)
}
