//! Cursor, `.cursor/agents/*.md`.

use posse_core::grant::Access;

use super::{Need, *};

/// Reads the keys of this format.
pub fn apply(f: &mut Fields, d: &mut Definition) {
    description(f, d, Need::Optional);
    model(f, d, "model", model_names::any);
    if f.flag("readonly") == Some(true) {
        d.rights.access = Access::ReadOnly;
        f.mapped("readonly", "access: read-only");
    }
    background(f, d, "is_background");
}
