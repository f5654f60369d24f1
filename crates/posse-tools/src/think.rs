//! A place to think aloud: nothing happens, and the thought stays in the conversation.

use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::ToolOutput;
use serde::Deserialize;

use crate::files::{Answer, FileJob, describe};

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "thought": { "type": "string", "description": "What you want to think through." }
  },
  "required": ["thought"],
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThinkArguments {
    thought: String,
}

pub(crate) fn spec() -> ToolSpec {
    describe(
        "think",
        ToolEffect::Pure,
        "Write down a thought: a plan, a doubt, a comparison of options. Nothing is read, changed or sent to \
         anybody. Use it before a step that is hard to undo or when several results must be weighed together.",
        SCHEMA,
    )
}

pub(crate) fn run(_: &FileJob, arguments: ThinkArguments) -> Answer {
    if arguments.thought.trim().is_empty() {
        return Err("the thought is empty; write down what you want to think through".to_owned());
    }
    Ok(ToolOutput::text("Noted."))
}
