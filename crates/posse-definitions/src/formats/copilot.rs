//! GitHub Copilot and VS Code, `.github/agents/*.agent.md`.

use posse_core::grant::{GrantRule, RuleVerdict};

use super::{FieldNeed, *};
use crate::names;

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    if let Some(name) = f.text("name") {
        f.mapped("name", localized!("into-shown-name"));
        d.kept.display_name = Some(name);
    }
    description(f, d, FieldNeed::Optional);
    tools(f, d, "tools", spelling);
    if d.kept.tools_written.as_ref().is_some_and(|entries| entries.iter().any(|entry| entry == "*")) {
        d.rights.tools = None;
        f.mapped("tools", localized!("into-parents-tools"));
    }
    agents(f, d);
    model(f, d, "model", model_names::copilot);
    d.model.candidates.retain(|name| !name.eq_ignore_ascii_case("auto"));
    for key in ["reasoning-effort", "reasoningEffort", "reasoning_effort"] {
        effort(f, d, key);
    }
    if f.flag("disable-model-invocation") == Some(true) {
        d.mode.hidden = true;
        f.mapped("disable-model-invocation", "hidden");
    }
    if f.flag("infer") == Some(false) {
        d.mode.hidden = true;
        f.mapped("infer", "hidden");
    }
    d.mode.hidden |= f.flag("hidden").unwrap_or_default();
    mcp_servers(f, d, "mcp-servers");
    skills(f, d);
    f.ignore("user-invocable", || localized!("every-agent-named"));
    for key in ["argument-hint", "target", "handoffs", "metadata", "deferred-tool-loading", "mode"] {
        f.ignore(key, || localized!("vendors-own"));
    }
    f.ignore("hooks", || localized!("no-hooks"));
    if d.prompt.contains("#tool:") {
        f.warn("tools", localized!("tool-sign-not-replaced"));
    }
}

/// Reads the subagents that the agent may call: `[]` allows none, `*` all.
fn agents(f: &mut FieldReader, d: &mut Definition) {
    let Some(entries) = f.texts("agents") else { return };
    if entries.iter().any(|entry| entry == "*") {
        return;
    }
    let mut rules = vec![GrantRule { pattern: ToolPattern::tool("subagent"), verdict: RuleVerdict::Deny }];
    for entry in &entries {
        match names::normal(entry) {
            Ok(name) => {
                let pattern = ToolPattern::call("subagent", name.as_str());
                rules.push(GrantRule { pattern, verdict: RuleVerdict::Allow });
            }
            Err(why) => f.warn("agents", localized!("agent-left-out", shown = shown(entry), why)),
        }
    }
    let allowed: Vec<&str> = rules.iter().filter_map(|rule| rule.pattern.argument()).collect();
    let into = match allowed.is_empty() {
        true => localized!("may-ask-nobody"),
        false => localized!("may-ask", names = allowed.join(", ")),
    };
    f.mapped("agents", into);
    d.rights.rules.extend(rules);
}

/// Names of tool sets, which cannot be server names.
pub const SETS: &[&str] =
    &["edit", "execute", "read", "search", "agent", "web", "todo", "vscode", "runcommands"];

/// Translates an entry. MCP tools are `server/tool`; VS Code's own sets look the same: `edit/editFiles`.
fn spelling(entry: &str) -> Vec<String> {
    let Some((set, tool)) = entry.split_once('/') else { return set_of(entry) };
    if SETS.contains(&set.to_ascii_lowercase().as_str()) {
        return set_of(if tool == "*" { set } else { tool });
    }
    if set.is_empty() || tool.is_empty() {
        // Names nothing; the caller leaves it out with a warning.
        return vec![String::new()];
    }
    // The server's name becomes part of a tool name, which has no spaces.
    vec![format!("mcp__{}__{tool}", set.replace([' ', '/'], "_"))]
}

fn set_of(entry: &str) -> Vec<String> {
    let ours: &[&str] = match entry.to_ascii_lowercase().as_str() {
        "edit" | "editfiles" | "multiedit" | "notebookedit" => &["edit", "write"],
        "search" | "codebase" => &["grep", "glob"],
        "web" => &["web_search", "fetch"],
        "fetch" => &["fetch"],
        "todo" | "todos" => &["todo_write"],
        "terminalcommand" | "runcommand" => &["bash"],
        _ => return as_written(&entry.replace(' ', "_")),
    };
    ours.iter().map(|name| (*name).to_owned()).collect()
}
