//! One module per format: its keys and their meaning here. Shared parts are in this file.

mod acai;
mod claude;
mod codex;
pub mod copilot;
mod cursor;
mod factory;
mod gemini;
mod goose;
mod native;
mod opencode;
mod openhands;
mod pi;
mod qwen;

use std::collections::BTreeMap;

use posse_core::agent::Effort;
use posse_core::definition::{ApprovalSetting, DESCRIPTION_CHARS_MAX, Definition, Format};
use posse_core::grant::AccessLevel;
use posse_core::pattern::ToolPattern;
use posse_core::text::{estimate_tokens, prefix};
use posse_messages::{LocalizedText, localized};

use crate::fields::{FieldReader, Word};
use crate::frontmatter::shown;
use crate::model_names;
use crate::node::YamlNode;

pub use gemini::remote;

/// Fills a definition from the keys of its file. The prompt is already the body.
pub fn apply(format: Format, f: &mut FieldReader, d: &mut Definition) {
    match format {
        Format::Native => native::apply(f, d),
        Format::Acai => acai::apply(f, d),
        Format::Claude => claude::apply(f, d),
        Format::Opencode => opencode::apply(f, d),
        Format::Gemini => gemini::apply(f, d),
        Format::Copilot => copilot::apply(f, d),
        Format::Codex => codex::apply(f, d),
        Format::Qwen => qwen::apply(f, d),
        Format::Cursor => cursor::apply(f, d),
        Format::OpenHands => openhands::apply(f, d),
        Format::Pi => pi::apply(f, d),
        Format::Factory => factory::apply(f, d),
        Format::Goose => goose::apply(f, d),
    }
}

/// Maximum description size: about two thousand tokens in every request of a delegating agent.
const DESCRIPTION_BYTES_MAX: usize = 8 << 10;
const MODELS_MAX: usize = 16;
const MODEL_BYTES_MAX: usize = 256;
const TURNS_MAX: u64 = 10_000;
const DAY_S: u64 = 86_400;

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldNeed {
    /// Required, with at most 1,024 characters.
    Strict,
    /// Required.
    Required,
    Optional,
}

fn description(f: &mut FieldReader, d: &mut Definition, need: FieldNeed) {
    let text = f.text("description").map(|text| text.trim().to_owned()).unwrap_or_default();
    let (characters, tokens) = (text.chars().count(), estimate_tokens(&text));
    if text.is_empty() {
        let missing = localized!("file-description-missing");
        if need == FieldNeed::Optional {
            f.warn("description", missing)
        } else {
            f.fail("description", missing, None)
        }
    } else if text.len() > DESCRIPTION_BYTES_MAX {
        let text = localized!("file-description-bytes", count = text.len(), most = DESCRIPTION_BYTES_MAX);
        f.fail("description", text, Some(&localized!("file-description-hint")));
    } else if characters > DESCRIPTION_CHARS_MAX && need == FieldNeed::Strict {
        let text =
            localized!("file-description-characters", count = characters, most = DESCRIPTION_CHARS_MAX);
        f.fail("description", text, Some(&localized!("file-description-hint")));
    } else if characters > DESCRIPTION_CHARS_MAX {
        f.warn("description", localized!("file-description-costs", tokens));
    }
    d.description = text;
}

/// Maps a format's tool entry to our tools; one entry can become several.
type Spelling = fn(&str) -> Vec<String>;

/// Keeps an entry as written.
fn as_written(entry: &str) -> Vec<String> {
    vec![entry.to_owned()]
}

/// Reads the allow list of tools; without the key the agent has all.
fn tools(f: &mut FieldReader, d: &mut Definition, key: &'static str, spelling: Spelling) {
    let Some(entries) = f.tools(key) else { return };
    let (mut patterns, mut unreadable) = (Vec::new(), None);
    for entry in &entries {
        for spelled in spelling(entry) {
            match ToolPattern::parse(&spelled) {
                Ok(parsed) => patterns.extend(parsed),
                // Fail closed: leave the tool out.
                Err(e) => {
                    f.warn(key, localized!("entry-left-out", why = e.message()));
                    unreadable = unreadable.or(Some(e));
                }
            }
        }
    }
    // A list without any readable entry does not mean "no tools".
    if let (true, Some(e)) = (patterns.is_empty(), unreadable) {
        let hint = localized!("tools-unreadable-hint");
        return f.fail(key, format!("`{key}`: {}", e.message()), Some(&hint));
    }
    let patterns = each_once(patterns);
    if !is_same(&entries, &patterns) {
        f.mapped(key, joined(&patterns));
    }
    d.rights.tools = Some(patterns);
    d.kept.tools_written = Some(entries);
}

/// Reads the deny list of tools. An unreadable entry is an error, because ignoring it would grant the tool.
fn denied(f: &mut FieldReader, d: &mut Definition, key: &'static str, spelling: Spelling) {
    let Some(entries) = f.tools(key) else { return };
    let mut patterns = Vec::new();
    for spelled in entries.iter().flat_map(|entry| spelling(entry)) {
        match ToolPattern::parse(&spelled) {
            Ok(parsed) => patterns.extend(parsed),
            Err(e) => return f.fail(key, format!("`{key}`: {}", e.message()), e.advice()),
        }
    }
    let patterns = each_once(patterns);
    if !is_same(&entries, &patterns) {
        f.mapped(key, joined(&patterns));
    }
    d.rights.deny = each_once(d.rights.deny.drain(..).chain(patterns).collect());
}

pub(crate) fn each_once(patterns: Vec<ToolPattern>) -> Vec<ToolPattern> {
    let mut once: Vec<ToolPattern> = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        if !once.contains(&pattern) {
            once.push(pattern);
        }
    }
    once
}

fn is_same(entries: &[String], patterns: &[ToolPattern]) -> bool {
    entries.len() == patterns.len()
        && entries
            .iter()
            .zip(patterns)
            .all(|(entry, pattern)| entry.eq_ignore_ascii_case(&pattern.to_string()))
}

fn joined(patterns: &[ToolPattern]) -> String {
    let all: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    let all = if all.is_empty() { localized!("no-tools").to_string() } else { all.join(", ") };
    prefix(&all, 1_000).escape_debug().to_string()
}

/// Reads one model, or several in fallback order.
fn model(f: &mut FieldReader, d: &mut Definition, key: &'static str, style: fn(&str) -> String) {
    let written = match f.value(key) {
        None => return,
        Some(YamlNode::Text(text)) => vec![text],
        Some(YamlNode::List(items)) => {
            let texts = items.iter().filter_map(|item| match item {
                YamlNode::Text(text) => Some(text.clone()),
                _ => None,
            });
            let texts: Vec<String> = texts.collect();
            if texts.len() != items.len() {
                f.reject(key, &localized!("found-list-not-names"), &localized!("allowed-names"));
                return;
            }
            texts
        }
        Some(other) => {
            f.reject(key, &other.kind(), &localized!("allowed-names"));
            return;
        }
    };
    let wrong = |name: &&String| name.len() > MODEL_BYTES_MAX || name.chars().any(char::is_control);
    if let Some(name) = written.iter().find(wrong) {
        let found = shown(name);
        f.reject(key, &found.into(), &localized!("allowed-model"));
        return;
    }
    if written.len() > MODELS_MAX {
        f.reject(key, &localized!("found-long-list"), &localized!("allowed-names-most", most = MODELS_MAX));
        return;
    }
    // Entries after "inherit" would never be used.
    let own: Vec<&String> = written.iter().take_while(|name| !model_names::is_inherited(name)).collect();
    let references: Vec<String> = own.iter().map(|name| style(name)).collect();
    if own.iter().zip(&references).any(|(name, reference)| *name != reference) {
        f.mapped(key, references.join(", ").escape_debug().to_string());
    }
    for reference in references {
        if !d.model.candidates.contains(&reference) {
            d.model.candidates.push(reference);
        }
    }
}

/// Reads the models to try after the agent's own.
fn fallback_models(f: &mut FieldReader, d: &mut Definition, key: &'static str, style: fn(&str) -> String) {
    if d.model.candidates.is_empty() && f.has(key) {
        f.ignore(key, || localized!("fallback-unused"));
        f.warn(key, localized!("fallback-needs-model", key));
    } else {
        model(f, d, key, style);
    }
}

const EFFORTS: &[Word<Effort>] = &[
    ("low", Effort::Low, LocalizedText::default),
    ("medium", Effort::Medium, LocalizedText::default),
    ("high", Effort::High, LocalizedText::default),
    ("max", Effort::Max, LocalizedText::default),
    ("none", Effort::Low, || localized!("effort-least")),
    ("off", Effort::Low, || localized!("effort-least")),
    ("minimal", Effort::Low, || "effort `low`".into()),
    ("xhigh", Effort::Max, || "effort `max`".into()),
];

fn effort(f: &mut FieldReader, d: &mut Definition, key: &'static str) {
    if let Some(effort) = f.word(key, EFFORTS) {
        d.model.effort = Some(effort);
    }
}

/// Meaning of a word of Claude Code's `permissionMode`, which other tools copy.
#[derive(Clone, Copy)]
enum PermissionMode {
    AsSession,
    Plan,
    Approval(ApprovalSetting),
}

const FREE: PermissionMode = PermissionMode::Approval(ApprovalSetting::Auto);
const REFUSING: PermissionMode = PermissionMode::Approval(ApprovalSetting::Deny);

fn permission_mode(
    f: &mut FieldReader,
    d: &mut Definition,
    key: &'static str,
    words: &[Word<PermissionMode>],
) {
    match f.word(key, words) {
        None | Some(PermissionMode::AsSession) => {}
        Some(PermissionMode::Plan) => d.rights.access = AccessLevel::ReadOnly,
        Some(PermissionMode::Approval(approval)) => d.approval = Some(approval),
    }
}

fn temperature(f: &mut FieldReader, d: &mut Definition) {
    // The value has few digits, and a request carries an `f32`.
    d.model.temperature = f.number("temperature", 0.0..=2.0).map(|number| number as f32);
}

fn turns(f: &mut FieldReader, d: &mut Definition, key: &'static str) {
    if let Some(turns) = f.whole(key, 1..=TURNS_MAX) {
        d.limits.turns = u32::try_from(turns).ok();
    }
}

/// Reads MCP servers; kept so that an export includes them.
fn mcp_servers(f: &mut FieldReader, d: &mut Definition, key: &'static str) {
    let mut servers = BTreeMap::new();
    match f.value(key) {
        None => return,
        Some(YamlNode::Map(entries)) => {
            servers.extend(entries.iter().map(|e| (e.key.clone(), e.value.to_json())))
        }
        Some(YamlNode::List(items)) => {
            for item in items {
                match item {
                    YamlNode::Text(name) => {
                        servers.insert(name, serde_json::Value::Null);
                    }
                    YamlNode::Map(entries) => {
                        servers.extend(entries.iter().map(|e| (e.key.clone(), e.value.to_json())));
                    }
                    other => {
                        f.reject(key, &other.kind(), &localized!("allowed-server-entries"));
                    }
                }
            }
        }
        Some(other) => {
            f.reject(key, &other.kind(), &localized!("allowed-servers"));
            return;
        }
    }
    f.mapped(key, localized!("servers-of-session"));
    d.mcp_servers.extend(servers);
}

fn skills(f: &mut FieldReader, d: &mut Definition) {
    if let Some(skills) = f.texts("skills") {
        d.kept.skills = skills;
        f.unused("skills", localized!("no-skills-beforehand"));
    }
}

fn color(f: &mut FieldReader, d: &mut Definition) {
    d.kept.color = f.text("color");
    if d.kept.color.is_some() {
        f.unused("color", localized!("no-colours"));
    }
}

fn background(f: &mut FieldReader, d: &mut Definition, key: &'static str) {
    d.mode.background = f.flag(key).unwrap_or_default();
    if d.mode.background {
        f.unused(key, localized!("always-background"));
    }
}

fn usd_to_micros(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}

/// Maximum budget in dollars; more is a mistake.
const USD_MAX: f64 = 1e6;
