//! Attacks on the sandbox from inside, and processes that try to survive their command, by the tool `bash` as an agent uses it.
//! Waiting is done by looking, with a deadline, never by sleeping a while.

mod attacks;
mod driver;
mod protected;
mod survivors;
#[path = "../../../posse-tools/tests/it/world.rs"]
mod world;

/// The helper that `world` starts.
const SUPERVISOR: &str = env!("CARGO_BIN_EXE_posse-supervise");
