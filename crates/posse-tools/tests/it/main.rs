//! The tools as an agent sees them: a directory, a call, an answer; and real processes under the real supervisor.
//! Waiting is done by looking, with a deadline, never by sleeping a while.

mod attacks;
mod bash;
mod change;
mod confined;
mod driver;
mod escape;
mod fetch;
mod find;
mod own;
mod protected;
mod read;
mod skill;
mod source;
mod support;
mod survivors;
mod verify;
mod world;
