//! Telemetry: logs, OpenTelemetry spans and transcripts. It only observes events and cannot slow down or fail
//! a run.
//!
//! Text of people, models and tools stays out of logs unless requested, and out of spans always.

#![forbid(unsafe_code)]

pub mod hooks;
pub mod log;
pub mod otlp;
pub mod spans;
pub mod transcript;
pub mod wiring;

/// Bounds a tool name as a model wrote it, which may be invented and of any length.
fn tool_name(written: &str) -> String {
    const SHOWN: usize = 64;
    posse_core::text::visible(posse_core::text::prefix(written, SHOWN)).into_owned()
}

fn since_1970() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}
