//! Gemini CLI, `.gemini/agents/*.md`.

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    let is_remote = f.plain_word("kind", &[("local", false), ("remote", true)]) == Some(true);
    if f.has("agent_card_url") || f.has("agent_card_json") || is_remote {
        remote(f);
        return;
    }
    description(f, d, FieldNeed::Required);
    d.kept.display_name = f.text("display_name");
    tools(f, d, "tools", spelling);
    mcp_servers(f, d, "mcp_servers");
    mcp_servers(f, d, "mcpServers");
    model(f, d, "model", model_names::any);
    temperature(f, d);
    turns(f, d, "max_turns");
    if let Some(minutes) = f.number("timeout_mins", 0.01..=1_440.0) {
        let seconds = (minutes * 60.0).ceil() as u64;
        d.limits.wall_s = Some(seconds);
        f.mapped("timeout_mins", localized!("seconds-whole", seconds));
    }
}

/// Marks a remote agent as unsupported. It stays listed, so that people can see why it is missing.
pub fn remote(f: &mut FieldReader) {
    f.fail("kind", localized!("needs-a2a"), None);
    for key in ["kind", "description", "display_name", "agent_card_url", "agent_card_json", "auth"] {
        f.ignore(key, || localized!("no-a2a"));
    }
}

/// Translates an entry: `mcp_srv_*` and `mcp_srv_tool`; in older files `srv__tool`.
fn spelling(entry: &str) -> Vec<String> {
    if entry == "mcp_*" {
        return vec!["mcp__*".to_owned()];
    }
    let named = match entry.strip_prefix("mcp_") {
        Some(rest) if !rest.starts_with('_') => rest.split_once('_'),
        Some(_) => None,
        None => entry.split_once("__"),
    };
    match named {
        Some((server, tool)) => vec![format!("mcp__{server}__{tool}")],
        None => as_written(entry),
    }
}
