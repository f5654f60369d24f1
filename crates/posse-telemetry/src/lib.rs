//! For whoever wants to know afterwards: logs, OpenTelemetry spans, transcripts. Readers of events; nothing here can slow
//! down or fail a run.
//!
//! Text of people, models and tools stays out of logs unless it was asked for, and out of spans always.

mod facts;
pub mod log;
pub mod otlp;
pub mod spans;
pub mod transcript;

/// A tool's name as a model wrote it: it may have invented one, of any length.
fn tool_name(written: &str) -> String {
    const SHOWN: usize = 64;
    posse_core::text::visible(posse_core::text::prefix(written, SHOWN)).into_owned()
}

fn since_1970() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}
