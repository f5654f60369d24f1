//! One log record with every possible field. A field without a value is omitted.

use tracing::Level;

/// The fields of a log line. Programs read these names, so they never change.
#[derive(Default)]
pub struct LogRecord<'a> {
    pub session_id: &'a str,
    pub event: &'a str,
    pub task_id: Option<&'a str>,
    pub agent: Option<String>,
    pub caller_task_id: Option<&'a str>,
    pub action: Option<&'static str>,
    pub tool: Option<String>,
    pub call: Option<String>,
    pub model: Option<&'a str>,
    pub turn: Option<u32>,
    pub turns_used: Option<u64>,
    pub calls: Option<u32>,
    pub tool_calls: Option<u32>,
    pub status: Option<String>,
    pub reason: Option<&'static str>,
    pub error: Option<&'static str>,
    pub is_error: Option<bool>,
    pub in_doubt: Option<bool>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cache_read_tokens: Option<u64>,
    pub bytes: Option<u64>,
    pub duration_ms: Option<u64>,
    pub wait_ms: Option<u64>,
    /// JSON text.
    pub payload: Option<String>,
}

impl<'a> LogRecord<'a> {
    /// Creates a record without optional fields.
    pub fn new(session_id: &'a str, event: &'a str) -> Self {
        Self { session_id, event, ..Self::default() }
    }

    /// Emits the record at this level.
    pub fn emit(&self, level: Level) {
        // `tracing` fixes the level per call site, so each level has its own.
        match level {
            Level::ERROR | Level::WARN => write!(self, Level::WARN),
            Level::INFO => write!(self, Level::INFO),
            Level::DEBUG | Level::TRACE => write!(self, Level::DEBUG),
        }
    }
}

macro_rules! write {
    ($record:ident, $level:expr) => {
        tracing::event!(
            target: "posse",
            $level,
            event = $record.event,
            session_id = $record.session_id,
            task_id = $record.task_id,
            agent = $record.agent,
            caller_task_id = $record.caller_task_id,
            action = $record.action,
            tool = $record.tool,
            call = $record.call,
            model = $record.model,
            turn = $record.turn,
            turns_used = $record.turns_used,
            calls = $record.calls,
            tool_calls = $record.tool_calls,
            status = $record.status,
            reason = $record.reason,
            error = $record.error,
            is_error = $record.is_error,
            in_doubt = $record.in_doubt,
            input_tokens = $record.input_tokens,
            output_tokens = $record.output_tokens,
            cache_read_tokens = $record.cache_read_tokens,
            bytes = $record.bytes,
            duration_ms = $record.duration_ms,
            wait_ms = $record.wait_ms,
            payload = $record.payload,
        )
    };
}
use write;
