//! What is written down about a session, and what is not.

mod logs;
mod otlp;
mod spans;
mod stage;
mod transcripts;
