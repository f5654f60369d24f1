//! The tools of an agent, and the sandbox around the processes they start.

pub mod bash;
pub mod confinement;
pub mod launch;
pub mod own;
pub mod supervisor;

mod output;
