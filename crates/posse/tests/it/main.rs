//! The loop, a real wire format and a server that misbehaves: the rows of the fault matrix that the run decides. The
//! rows that a wire module decides are tested in `posse-models`. And agents of every format, from the file to the request.

mod edits;
mod examples;
mod faults;
mod formats;
mod front_door;
mod governor;
mod money;
mod recovery;
mod retries;
mod stage;
mod subagents;
