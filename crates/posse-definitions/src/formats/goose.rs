//! goose, `.goose/agents/*.md`: three keys. Keys of recipes are ignored.

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Optional);
    model(f, d, "model", model_names::any);
    for key in ["extensions", "settings", "parameters", "sub_recipes", "response", "retry"] {
        f.ignore(key, || localized!("recipe-only"));
    }
}
