//! `.acai/subagents/<name>.md`: five keys and a body with `{{task}}`.

use posse_core::definition::TaskIn;

use super::{FieldNeed, *};

const TIMEOUT_S: u64 = 300;

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Strict);
    model(f, d, "model", model_names::any);
    tools(f, d, "tools", as_written);
    d.limits.wall_s = Some(f.whole("timeout", 1..=3_600).unwrap_or(TIMEOUT_S));
    d.task_in = Some(TaskIn::System);
}
