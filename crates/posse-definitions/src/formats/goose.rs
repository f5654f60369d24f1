//! goose, `.goose/agents/*.md`: three keys. Keys of recipes are ignored.

use super::{Need, *};

/// Reads the keys of this format.
pub fn apply(f: &mut Fields, d: &mut Definition) {
    description(f, d, Need::Optional);
    model(f, d, "model", model_names::any);
    for key in ["extensions", "settings", "parameters", "sub_recipes", "response", "retry"] {
        f.ignore(key, || localized!("recipe-only"));
    }
}
