//! Warnings about rights and limits that a task asks for and does not get.

use posse_core::grant::{Grant, Rights};
use posse_core::id::AgentName;
use posse_core::pattern::ToolPattern;
use posse_core::task::LoweredBound;
use posse_core::tool::ToolEffect;

use crate::toolbox::Toolbox;

/// Built-in tools that change files.
const WRITING: [&str; 3] = ["write", "edit", "bash"];

/// Warns of a bound in a call that exceeds the limit.
pub fn of_call(lowered: LoweredBound) -> String {
    let LoweredBound { name, .. } = lowered;
    let (asked, given) = shown(lowered);
    format!("{name}: {asked} was lowered to {given}")
}

/// Warns of existing tools that an agent's definition names and its tasks do not get. `writing_advice` says what a person
/// can do about tools that write.
pub fn of_tools(
    agent: &AgentName,
    rights: &Rights,
    grant: &Grant,
    tools: &Toolbox,
    writing_advice: Option<&str>,
) -> Vec<String> {
    let effects = tools.effects();
    let effect = |tool: &str| effects.get(tool).copied().unwrap_or(ToolEffect::Unsafe);
    let denied =
        |tool: &str| rights.deny.iter().any(|pattern| pattern.names(tool) && pattern.argument().is_none());
    // A session that may not write may lack these tools altogether.
    let names = || tools.names().chain(WRITING.into_iter().filter(|_| writing_advice.is_some()));
    let is_withheld = |pattern: &&ToolPattern| {
        let mut named = names().filter(|tool| pattern.names(tool) && !denied(tool)).peekable();
        named.peek().is_some() && named.all(|tool| !grant.offers(tool, effect(tool)))
    };
    let withheld: Vec<&ToolPattern> = rights.tools.iter().flatten().filter(is_withheld).collect();
    let writes = |pattern: &&ToolPattern| WRITING.iter().any(|tool| pattern.names(tool));
    let (writing, others): (Vec<&ToolPattern>, Vec<_>) =
        withheld.into_iter().partition(|pattern| writing_advice.is_some() && writes(pattern));
    let listed = |patterns: &[&ToolPattern]| {
        patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", ")
    };
    let mut notes = Vec::new();
    if let Some(advice) = writing_advice.filter(|_| !writing.is_empty()) {
        notes.push(format!(
            "`{agent}` works without {}, which its definition names: {advice}",
            listed(&writing)
        ));
    }
    if !others.is_empty() {
        notes.push(format!(
            "`{agent}` works without {}, which its definition names: not granted here",
            listed(&others)
        ));
    }
    notes
}

/// Prints money in dollars, as in the request.
fn shown(LoweredBound { name, asked, given }: LoweredBound) -> (String, String) {
    match name {
        "max_cost_usd" => ((asked as f64 / 1e6).to_string(), (given as f64 / 1e6).to_string()),
        _ => (asked.to_string(), given.to_string()),
    }
}
