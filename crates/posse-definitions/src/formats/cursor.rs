//! Cursor, `.cursor/agents/*.md`.

use posse_core::grant::AccessLevel;

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Optional);
    model(f, d, "model", model_names::any);
    if f.flag("readonly") == Some(true) {
        d.rights.access = AccessLevel::ReadOnly;
        f.mapped("readonly", "access: read-only");
    }
    background(f, d, "is_background");
}
