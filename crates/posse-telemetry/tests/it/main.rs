//! Tests of the recorded facts of a session, and of what must not be recorded.

mod logs;
mod otlp;
mod spans;
mod stage;
mod transcripts;
