//! pi-subagents, `.pi/agents/**/*.md`.

use super::{Need, *};
use crate::names;

pub fn apply(f: &mut Fields, d: &mut Definition) {
    package(f, d);
    description(f, d, Need::Optional);
    tools(f, d, "tools", spelling);
    model(f, d, "model", model_names::slashed);
    thinking_suffix(d);
    model(f, d, "fallbackModels", model_names::slashed);
    effort(f, d, "thinking");
    if let Some(milliseconds) = f.whole("timeoutMs", 1..=DAY_S * 1_000) {
        let seconds = milliseconds.div_ceil(1_000);
        d.limits.wall_s = Some(seconds);
        f.mapped("timeoutMs", format!("{seconds} seconds"));
    }
    turn_budget(f, d);
    background(f, d, "async");
    skills(f, d);
    f.ignore("memory", NO_MEMORY);
    f.ignore("systemPromptMode", "the prompt of an agent is the whole system prompt");
    f.ignore("inheritProjectContext", "project instructions are not put before an agent's prompt");
    f.ignore("inheritSkills", NO_SKILLS);
    f.ignore("maxSubagentDepth", "the operator sets how deep delegation goes");
    f.ignore("aliases", "an agent has one name");
    f.ignore("toolTimeoutMs", "each tool has its own bound");
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
        f.ignore(key, NOT_OURS);
    }
}

/// `package: review` and `name: security` are `review.security` there.
fn package(f: &mut Fields, d: &mut Definition) {
    let Some(package) = f.text("package") else { return };
    match names::normal(&format!("{package}.{}", d.name)) {
        Ok(name) => {
            f.mapped("package", format!("the name `{name}`"));
            d.name = name;
        }
        Err(why) => f.fail("package", format!("{} cannot be part of a name: {why}", shown(&package)), None),
    }
}

/// `anthropic/claude-sonnet-4-5:high`.
fn thinking_suffix(d: &mut Definition) {
    let Some(reference) = d.model.candidates.first_mut() else { return };
    let Some((model, suffix)) = reference.rsplit_once(':') else { return };
    if let Some((_, effort, _)) = EFFORTS.iter().find(|(word, ..)| *word == suffix)
        && model.contains(':')
    {
        d.model.effort = Some(*effort);
        *reference = model.to_owned();
    }
}

fn turn_budget(f: &mut Fields, d: &mut Definition) {
    match f.value("turnBudget") {
        None => {}
        Some(Node::Map(_)) => {
            let Some(mut inner) = f.inner("turnBudget") else { return };
            turns(&mut inner, d, "maxTurns");
            f.give_back("turnBudget", inner);
        }
        Some(_) => turns(f, d, "turnBudget"),
    }
}

/// `mcp:server` and `mcp:server/tool`; a path is an extension.
fn spelling(entry: &str) -> Vec<String> {
    match entry.strip_prefix("mcp:") {
        Some(server) => match server.split_once('/') {
            Some((server, tool)) => vec![format!("mcp__{server}__{tool}")],
            None => vec![format!("mcp__{server}__*")],
        },
        None => as_written(entry),
    }
}
