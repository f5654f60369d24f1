//! One log record. A field without a value is omitted.

use serde_json::Value;
use tracing::Level;

use super::json_lines::push_field;

/// A log line. Programs read the names of its fields, so they never change.
pub struct LogRecord<'a> {
    pub session_id: &'a str,
    pub event: &'a str,
    pub task_id: Option<&'a str>,
    pub agent: Option<String>,
    /// Further fields as they stand in the line, because `tracing` wants all names at compile time.
    pub details: String,
    /// JSON text.
    pub payload: Option<String>,
}

impl LogRecord<'_> {
    /// Adds a field.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        push_field(&mut self.details, name, &value.into());
        self
    }

    /// Adds a field if it has a value.
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
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
            details = $record.details,
            payload = $record.payload,
        )
    };
}
use write;
