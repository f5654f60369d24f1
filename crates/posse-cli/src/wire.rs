//! Errors as JSON lines.

use posse_core::Error;
use posse_messages::LocalizedText;
use serde_json::{Value, json};

/// Builds the last line of a command that failed.
pub fn error(error: &Error) -> Value {
    let (message, hint) = (error.message().as_str(), error.advice().map(LocalizedText::as_str));
    json!({ "type": "error", "code": error.code().wire(), "message": message, "hint": hint })
}
