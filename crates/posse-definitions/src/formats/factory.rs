//! Factory droids, `.factory/droids/*.md`.

use super::{Need, *};

pub fn apply(f: &mut Fields, d: &mut Definition) {
    description(f, d, Need::Optional);
    model(f, d, "model", model_names::any);
    tools(f, d, "tools", spelling);
    effort(f, d, "reasoningEffort");
    mcp_servers(f, d, "mcpServers");
}

/// Single tools, or one of the sets that Factory has.
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
