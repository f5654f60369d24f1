//! Factory droids, `.factory/droids/*.md`.

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Optional);
    model(f, d, "model", model_names::any);
    tools(f, d, "tools", spelling);
    effort(f, d, "reasoningEffort");
    mcp_servers(f, d, "mcpServers");
}

/// Translates an entry: a single tool, or one of Factory's tool sets.
fn spelling(entry: &str) -> Vec<String> {
    let ours: &[&str] = match entry {
        "Create" => &["write"],
        "read-only" => &["read", "ls", "grep", "glob"],
        "edit" => &["write", "edit"],
        "execute" => &["bash"],
        "web" => &["web_search", "fetch"],
        "mcp" => &["mcp__*"],
        _ => return as_written(entry),
    };
    ours.iter().map(|name| (*name).to_owned()).collect()
}
