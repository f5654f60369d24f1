//! Every bound of a run, with its reason. A bound of zero means zero, never "unlimited".

use serde::{Deserialize, Serialize};

/// Limits of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Requests that may be answered: steps with tools, the wrap-up, repairs and corrections alike. The last one has no
    /// tools, so that the work is reported. Retries after a transport failure do not count.
    pub turns_max: u32,
    /// Tool calls over the whole run.
    pub tool_calls_max: u32,
    /// Calls of file tools over the whole run: a model that reads or writes file after file without an end stops here.
    pub file_operations_max: u32,
    /// Calls run for one reply; the rest are answered "limit". A confused model can ask for hundreds at once.
    pub calls_per_turn_max: u32,
    /// Wall time the run may take.
    pub wall_ms_max: u64,
    /// Output tokens asked for per model call.
    pub output_tokens_per_call: u32,
    /// Ceiling for raising a call's output limit after an answer was cut off.
    pub output_tokens_per_call_max: u32,
    /// Output tokens of the wrap-up turn.
    pub wrap_up_tokens: u32,
    /// The model's window in tokens, if known: the context guard works with it.
    pub context_window: Option<u64>,
    /// Bytes of one tool result in the conversation; the rest stays in the journal.
    pub result_bytes_max: usize,
    /// Turns in a row whose calls all failed before the run counts as stalled.
    pub mistakes_max: u32,
    /// Times an answer cut off by the token limit is continued.
    pub continuations_max: u32,
    /// Times a paused turn is sent again.
    pub pauses_max: u32,
    /// Times the context is trimmed because the provider refused its length.
    pub compactions_max: u32,
    /// Bytes of memory of each process that a tool starts; `None`: what the operator set for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_bytes_max: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns_max: 50,
            tool_calls_max: 1000,
            file_operations_max: 1000,
            calls_per_turn_max: 32,
            wall_ms_max: 3_600_000,
            output_tokens_per_call: 8_192,
            output_tokens_per_call_max: 32_768,
            wrap_up_tokens: 2_048,
            context_window: None,
            result_bytes_max: 50_000,
            mistakes_max: 5,
            continuations_max: 3,
            pauses_max: 5,
            compactions_max: 3,
            process_bytes_max: None,
        }
    }
}

impl Limits {
    /// A child's limits: never more than the parent's in any respect.
    pub fn narrow(&self, requested: &Limits) -> Limits {
        Limits {
            turns_max: self.turns_max.min(requested.turns_max),
            tool_calls_max: self.tool_calls_max.min(requested.tool_calls_max),
            file_operations_max: self.file_operations_max.min(requested.file_operations_max),
            calls_per_turn_max: self.calls_per_turn_max.min(requested.calls_per_turn_max),
            wall_ms_max: self.wall_ms_max.min(requested.wall_ms_max),
            output_tokens_per_call: self.output_tokens_per_call.min(requested.output_tokens_per_call),
            output_tokens_per_call_max: self
                .output_tokens_per_call_max
                .min(requested.output_tokens_per_call_max),
            wrap_up_tokens: self.wrap_up_tokens.min(requested.wrap_up_tokens),
            // A fact about the child's model, not a right.
            context_window: requested.context_window,
            result_bytes_max: self.result_bytes_max.min(requested.result_bytes_max),
            mistakes_max: self.mistakes_max.min(requested.mistakes_max),
            continuations_max: self.continuations_max.min(requested.continuations_max),
            pauses_max: self.pauses_max.min(requested.pauses_max),
            compactions_max: self.compactions_max.min(requested.compactions_max),
            process_bytes_max: self.process_bytes_max.into_iter().chain(requested.process_bytes_max).min(),
        }
    }
}
