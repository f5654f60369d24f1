//! The tools as an agent sees them: a directory, a call, an answer; and real processes under the real supervisor.
//! Waiting is done by looking, with a deadline, never by sleeping a while.

mod bash;
mod change;
mod confined;
mod escape;
mod fetch;
mod find;
mod own;
mod read;
mod skill;
mod source;
mod support;
mod verify;
mod world;

/// The helper that `world` starts.
const SUPERVISOR: &str = env!("CARGO_BIN_EXE_posse-tools-supervise");
