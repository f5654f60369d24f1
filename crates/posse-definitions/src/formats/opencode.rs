//! opencode and Kilo, `.opencode/agent(s)/**/*.md`. Unknown keys become options for the provider.

use posse_core::grant::{GrantRule, RuleVerdict};

use super::{FieldNeed, *};
use crate::node::YamlEntry;

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    f.ignore("name", || localized!("path-names-agent"));
    description(f, d, FieldNeed::Optional);
    prompt(f, d);
    model(f, d, "model", model_names::slashed);
    effort(f, d, "reasoningEffort");
    variant(f, d);
    temperature(f, d);
    for key in ["steps", "maxSteps"] {
        turns(f, d, key);
    }
    if f.word(
        "mode",
        &[
            ("subagent", false, LocalizedText::default),
            ("all", false, LocalizedText::default),
            ("primary", true, || localized!("into-hidden-primary")),
        ],
    ) == Some(true)
    {
        d.mode.hidden = true;
    }
    d.mode.hidden |= f.flag("hidden").unwrap_or_default();
    for key in ["disable", "disabled"] {
        d.mode.disabled |= f.flag(key).unwrap_or_default();
    }
    color(f, d);
    // `permission` overrides `tools`.
    tools_map(f, d);
    permission(f, d, "permission");
    permission(f, d, "permissions");
    if let Some(entries) = f.map("options") {
        d.model.options.extend(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())));
        f.mapped("options", localized!("into-options"));
    }
    d.model.options.extend(f.rest(|| localized!("into-option")));
}

fn prompt(f: &mut FieldReader, d: &mut Definition) {
    if d.prompt.is_empty() {
        d.prompt = f.text("prompt").map(|text| text.trim().to_owned()).unwrap_or_default();
    } else {
        f.ignore("prompt", || localized!("body-is-prompt"));
    }
    for sign in ["{file:", "{env:"] {
        if d.prompt.contains(sign) || d.description.contains(sign) {
            f.warn("prompt", localized!("sign-not-replaced", sign = format!("{sign}…}}")));
        }
    }
}

fn variant(f: &mut FieldReader, d: &mut Definition) {
    let Some(name) = f.text("variant") else { return };
    match EFFORTS.iter().find(|(word, ..)| *word == name) {
        Some((_, effort, _)) => {
            d.model.effort = Some(*effort);
            f.mapped("variant", format!("effort `{}`", effort.wire()));
        }
        None => f.ignore("variant", || localized!("no-such-effort")),
    }
}

/// Reads the tools map: `{write: false}` removes a tool; `{"*": false, read: true}` leaves only one.
fn tools_map(f: &mut FieldReader, d: &mut Definition) {
    let entries = match f.value("tools") {
        None => return,
        Some(YamlNode::Map(entries)) => entries,
        // Not opencode's syntax, but unambiguous.
        Some(_) => return tools(f, d, "tools", as_written),
    };
    let mut rules = Vec::new();
    for entry in &entries {
        let verdict = match entry.value {
            YamlNode::Bool(true) => RuleVerdict::Allow,
            YamlNode::Bool(false) => RuleVerdict::Deny,
            _ => {
                f.reject("tools", &localized!("found-map-not-flags"), &localized!("allowed-map-of-flags"));
                return;
            }
        };
        let key =
            if matches!(entry.key.as_str(), "write" | "patch" | "multiedit") { "edit" } else { &entry.key };
        let Some(patterns) = patterns_of(key) else {
            let found = localized!("found-map-with", name = shown(key));
            f.reject("tools", &found, &localized!("allowed-map-of-tools"));
            return;
        };
        rules.extend(patterns.into_iter().map(|pattern| GrantRule { pattern, verdict }));
    }
    f.mapped("tools", rules_shown(&rules));
    d.kept.tools_written = Some(entries.into_iter().map(|entry| entry.key).collect());
    d.rights.rules.extend(rules);
}

fn permission(f: &mut FieldReader, d: &mut Definition, key: &'static str) {
    let Some(value) = f.value(key) else { return };
    let Some(rules) = rules_of(&value) else {
        f.reject(key, &localized!("found-says-else", kind = value.kind()), &localized!("allowed-permission"));
        return;
    };
    if key == "permissions" && !matches!(value, YamlNode::List(_)) {
        f.warn(key, localized!("permissions-counts"));
    }
    if rules
        .iter()
        .any(|rule| rule.pattern.argument().is_some_and(|argument| argument.starts_with(['~', '$'])))
    {
        f.warn(key, localized!("home-not-replaced"));
    }
    let left_out = |entries: &[YamlEntry]| entries.iter().any(|entry| NO_TOOLS.contains(&entry.key.as_str()));
    let shown = rules_shown(&rules);
    let into = match &value {
        YamlNode::Map(entries) if left_out(entries) => localized!("rules-without-tools", rules = shown),
        _ => shown,
    };
    f.mapped(key, into);
    d.rights.rules.extend(rules);
}

/// Keys that do not name a tool.
const NO_TOOLS: &[&str] = &["external_directory", "doom_loop"];

/// Parses the rules; `None` if an entry is not a verdict.
fn rules_of(value: &YamlNode) -> Option<Vec<GrantRule>> {
    let entries = match value {
        YamlNode::Map(entries) => entries,
        YamlNode::List(items) => return ordered_rules(items),
        single => {
            return Some(vec![GrantRule { pattern: ToolPattern::tool("*"), verdict: verdict(single)? }]);
        }
    };
    let mut rules = Vec::new();
    for entry in entries {
        let patterns = patterns_of(&entry.key)?;
        match &entry.value {
            YamlNode::Map(inner) => {
                for inner in inner {
                    let verdict = verdict(&inner.value)?;
                    for pattern in &patterns {
                        rules.push(GrantRule { pattern: call(pattern, &inner.key)?, verdict });
                    }
                }
            }
            single => {
                let verdict = verdict(single)?;
                rules.extend(patterns.into_iter().map(|pattern| GrantRule { pattern, verdict }));
            }
        }
    }
    Some(rules)
}

/// Parses the second version of the syntax: an ordered list of `{action: bash, resource: "git *", effect:
/// allow}`.
fn ordered_rules(items: &[YamlNode]) -> Option<Vec<GrantRule>> {
    let mut rules = Vec::new();
    for item in items {
        let YamlNode::Map(entries) = item else { return None };
        let value = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        let (Some(YamlNode::Text(action)), Some(YamlNode::Text(resource)), Some(effect), 3) =
            (value("action"), value("resource"), value("effect"), entries.len())
        else {
            return None;
        };
        let verdict = verdict(effect)?;
        for pattern in patterns_of(action)? {
            rules.push(GrantRule { pattern: call(&pattern, resource)?, verdict });
        }
    }
    Some(rules)
}

fn verdict(value: &YamlNode) -> Option<RuleVerdict> {
    match value {
        YamlNode::Text(text) => match text.as_str() {
            "allow" => Some(RuleVerdict::Allow),
            "ask" => Some(RuleVerdict::Ask),
            "deny" => Some(RuleVerdict::Deny),
            _ => None,
        },
        _ => None,
    }
}

/// Returns our tools for one of their keys; `None` if it names nothing.
fn patterns_of(key: &str) -> Option<Vec<ToolPattern>> {
    match key {
        "edit" => Some(vec![ToolPattern::tool("edit"), ToolPattern::tool("write")]),
        key if NO_TOOLS.contains(&key) => Some(Vec::new()),
        _ => {
            let mut patterns = ToolPattern::parse(key).ok()?;
            // opencode names MCP tools `server_tool`.
            if let Some((server, tool)) = key.split_once('_').filter(|_| !key.starts_with("mcp__")) {
                patterns.extend(ToolPattern::parse(&format!("mcp__{server}__{tool}")).ok()?);
            }
            Some(patterns)
        }
    }
}

const ARGUMENT_BYTES_MAX: usize = 1_024;

/// Builds a pattern with an argument. In opencode `*` matches anything, including `/`.
fn call(tool: &ToolPattern, argument: &str) -> Option<ToolPattern> {
    const BY_PATH: &[&str] = &["read", "edit", "write", "glob", "grep", "ls"];
    let argument = argument.trim();
    if argument.is_empty() || argument.len() > ARGUMENT_BYTES_MAX || argument.chars().any(char::is_control) {
        return None;
    }
    if argument.chars().all(|c| c == '*') {
        return Some(tool.clone());
    }
    if !BY_PATH.contains(&tool.name()) {
        return Some(ToolPattern::call(tool.name(), argument));
    }
    let mut wide = String::with_capacity(argument.len() + 4);
    for c in argument.chars() {
        match c {
            '*' if wide.ends_with("**") => {}
            '*' => wide.push_str("**"),
            c => wide.push(c),
        }
    }
    Some(ToolPattern::call(tool.name(), &wide))
}

fn rules_shown(rules: &[GrantRule]) -> LocalizedText {
    let shown: Vec<String> = rules
        .iter()
        .map(|rule| {
            let verdict = match rule.verdict {
                RuleVerdict::Allow => "allow",
                RuleVerdict::Ask => "ask",
                RuleVerdict::Deny => "deny",
            };
            format!("{verdict} {}", rule.pattern)
        })
        .collect();
    let shown = if shown.is_empty() {
        localized!("no-rules")
    } else {
        localized!("rules-in-order", rules = shown.join("; "))
    };
    shown.map(|shown| prefix(shown, 1_000).escape_debug().to_string())
}
