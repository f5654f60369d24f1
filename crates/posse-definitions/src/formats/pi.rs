//! pi-subagents, `.pi/agents/**/*.md`.

use super::{FieldNeed, *};
use crate::names;

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    package(f, d);
    description(f, d, FieldNeed::Optional);
    tools(f, d, "tools", spelling);
    model_and_thinking(f, d);
    fallback_models(f, d, "fallbackModels", spelled);
    effort(f, d, "thinking");
    if let Some(milliseconds) = f.whole("timeoutMs", 1..=DAY_S * 1_000) {
        let seconds = milliseconds.div_ceil(1_000);
        d.limits.wall_s = Some(seconds);
        f.mapped("timeoutMs", localized!("seconds-whole", seconds));
    }
    turn_budget(f, d);
    background(f, d, "async");
    skills(f, d);
    f.ignore("memory", || localized!("no-memory"));
    f.ignore("systemPromptMode", || localized!("whole-system-prompt"));
    f.ignore("inheritProjectContext", || localized!("project-instructions-unused"));
    f.ignore("inheritSkills", || localized!("no-skills-beforehand"));
    f.ignore("maxSubagentDepth", || localized!("depth-of-operator"));
    f.ignore("aliases", || localized!("one-name"));
    f.ignore("toolTimeoutMs", || localized!("tools-have-bounds"));
    for key in [
        "extensions",
        "subagentOnlyExtensions",
        "defaultContext",
        "skillPath",
        "output",
        "defaultReads",
        "defaultProgress",
        "acceptance",
        "acceptanceRole",
        "completionGuard",
        "interactive",
        "runner",
    ] {
        f.ignore(key, || localized!("vendors-own"));
    }
}

/// Prefixes the name: `package: review` and `name: security` mean `review.security`.
fn package(f: &mut FieldReader, d: &mut Definition) {
    let Some(package) = f.text("package") else { return };
    match names::normal(&format!("{package}.{}", d.name)) {
        Ok(name) => {
            f.mapped("package", localized!("into-name", name));
            d.name = name;
        }
        Err(why) => f.fail("package", localized!("package-not-name", shown = shown(&package), why), None),
    }
}

/// Reads a model with an effort: `anthropic/claude-sonnet-4-5:high`.
fn model_and_thinking(f: &mut FieldReader, d: &mut Definition) {
    model(f, d, "model", spelled);
    let written = f.has("model").then(|| f.text("model")).flatten();
    let suffix = written.as_deref().and_then(|text| text.rsplit_once(':')).map(|(_, suffix)| suffix);
    let effort = EFFORTS.iter().find(|(word, ..)| suffix == Some(*word));
    if let (Some((_, effort, _)), Some(reference)) = (effort, d.model.candidates.first()) {
        let into = format!("{}, effort `{}`", reference.escape_debug(), effort.wire());
        d.model.effort = Some(*effort);
        f.mapped("model", into);
    } else if let (Some(written), Some(reference)) = (written, d.model.candidates.first())
        && written != *reference
    {
        let into = reference.escape_debug().to_string();
        f.mapped("model", into);
    }
}

fn spelled(raw: &str) -> String {
    match raw.rsplit_once(':') {
        Some((model, suffix)) if EFFORTS.iter().any(|(word, ..)| *word == suffix) => {
            model_names::slashed(model)
        }
        _ => model_names::slashed(raw),
    }
}

fn turn_budget(f: &mut FieldReader, d: &mut Definition) {
    match f.value("turnBudget") {
        None => {}
        Some(YamlNode::Map(_)) => {
            let Some(mut inner) = f.inner("turnBudget") else { return };
            turns(&mut inner, d, "maxTurns");
            f.merge_inner("turnBudget", inner);
        }
        Some(_) => turns(f, d, "turnBudget"),
    }
}

/// Translates an entry: `mcp:server` and `mcp:server/tool`; a path is an extension.
fn spelling(entry: &str) -> Vec<String> {
    match entry.strip_prefix("mcp:") {
        Some(server) => match server.split_once('/') {
            Some((server, tool)) => vec![format!("mcp__{server}__{tool}")],
            None => vec![format!("mcp__{server}__*")],
        },
        None if entry == "find" => vec!["glob".to_owned()],
        None => as_written(entry),
    }
}
