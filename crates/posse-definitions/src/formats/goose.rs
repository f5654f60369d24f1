//! goose, `.goose/agents/*.md`: three keys, and those of a recipe, which is something else.

use super::{Need, *};

pub fn apply(f: &mut Fields, d: &mut Definition) {
    description(f, d, Need::Optional);
    model(f, d, "model", model_names::any);
    for key in ["extensions", "settings", "parameters", "sub_recipes", "response", "retry"] {
        f.ignore(key, || localized!("recipe-only"));
    }
}
