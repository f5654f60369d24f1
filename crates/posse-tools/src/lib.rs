//! The tools of an agent, and the supervision of the processes they start. The file tools run in this process and
//! reach files only through a directory handle; this crate knows neither models nor the store.

#![forbid(unsafe_code)]

mod answer;
pub mod bash;
pub mod demo;
pub mod diff;
mod edit;
pub mod edits;
pub mod fetch;
pub mod files;
mod glob;
mod grep;
mod html;
mod list;
mod output;
pub mod own;
mod read;
mod replace;
mod seen;
pub mod skill;
mod think;
mod touched;
pub mod verify;
mod walk;
mod write;

pub use walk::workspace_files;

/// Tells whether a built-in tool has this name; a user's own tool can never take it.
pub fn is_built_in(name: &str) -> bool {
    own::BUILT_IN.contains(&name)
}
