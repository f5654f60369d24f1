//! JSON Schemas: of a tool's arguments, and of an answer.

use posse_core::agent::ModelSettings;
use posse_core::text::prefix;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde_json::Value;

/// Errors reported at once: a model that corrects five sees the others the next time.
const ERRORS_SHOWN: usize = 5;
const ERROR_BYTES_MAX: usize = 300;

/// A compiled JSON Schema: of a tool's arguments, or of the final answer.
pub(crate) struct OutputSchema(jsonschema::Validator);

impl OutputSchema {
    /// The error says what is wrong with the schema itself.
    pub fn parse(text: &str) -> Result<Self, String> {
        let schema: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        jsonschema::validator_for(&schema)
            .map(Self)
            .map_err(|e| prefix(&e.to_string(), ERROR_BYTES_MAX).to_owned())
    }

    /// Returns the violations of a value, each with its path; `whole` names the value itself.
    pub fn errors(&self, value: &Value, whole: &str) -> Vec<String> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        let mut errors = self.0.iter_errors(value);
        let mut told: Vec<String> = Vec::new();
        for error in errors.by_ref().take(ERRORS_SHOWN) {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { whole } else { prefix(&place, ERROR_BYTES_MAX) };
            told.push(format!("{place}: {}", prefix(&error.to_string(), ERROR_BYTES_MAX)));
        }
        let more = errors.count();
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        told
    }
}

/// Refuses a task whose output schema cannot be used.
pub(crate) fn check_settings(settings: &ModelSettings) -> Result<()> {
    let Some(schema) = &settings.output_schema else { return Ok(()) };
    let Err(why) = OutputSchema::parse(schema) else { return Ok(()) };
    Err(Error::new(ErrorCode::InvalidRequest, localized!("output-schema-invalid", why))
        .hint(localized!("output-schema-invalid-hint")))
}
