//! Confinement of what agents do: commands run under Landlock, seccomp and bubblewrap below a supervisor that lets no process
//! survive, and files of a workspace are opened only beneath its directory handle. All `unsafe` code of the workspace is here.

mod apply;
mod bubblewrap;
mod cache;
pub mod config;
pub mod confinement;
mod landlock;
pub mod launch;
mod layout;
mod places;
mod privileges;
pub mod process;
pub mod protected;
pub mod refusal;
pub mod replace;
mod sandbox;
pub mod scratch;
mod seccomp;
mod set_aside;
pub mod supervisor;
mod survey;
mod tool_caches;
pub mod workspace;

pub use places::closed_at_home;
pub use sandbox::{Sandbox, SandboxSettings, SandboxWish, TOOL_MANIFEST};
