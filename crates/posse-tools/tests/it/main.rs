//! The file tools as an agent sees them: a directory, a call, an answer.

mod change;
mod escape;
mod find;
mod read;
mod skill;
mod source;
mod support;
