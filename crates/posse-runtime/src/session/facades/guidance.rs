//! Guidance for an orchestrator: the agents and how to delegate well, only for the tools it has.

use std::fmt::Write;
use std::sync::Arc;

use posse_core::definition::Definition;

use super::{Facade, SessionFacades};

/// Maximum agents in the list; more must be searched for, because every line costs tokens in every request.
pub const LISTED_MAX: usize = 25;
/// Maximum characters of a description in the list; `list_agents` has the rest.
const DESCRIPTION_CHARS_MAX: usize = 400;

const DELEGATION: &str = include_str!("../../../prompts/delegation.md");
const RUN_SUBAGENT: &str = include_str!("../../../prompts/run_subagent_guidance.md");

/// Returns the guidance; empty without delegation tools. Tools that the reader lacks are not named.
pub fn guidance(facades: &SessionFacades, agents: &[Arc<Definition>], has: &dyn Fn(&str) -> bool) -> String {
    let mut parts = Vec::new();
    if facades.has_subagent() {
        parts.push(specialists(agents));
        parts.push(discipline(facades.has(Facade::SharedContext) && has("shared_context")));
    }
    if facades.has(Facade::RunSubagent) {
        parts.push(direct_tools(has));
    }
    parts.join("\n\n")
}

fn specialists(agents: &[Arc<Definition>]) -> String {
    let shown = visible(agents);
    let list = match shown.len() {
        0 => "  (none)".to_owned(),
        1..=LISTED_MAX => aligned(&shown),
        many => format!("  {many} agents: use list_agents with a query to find the one that fits"),
    };
    format!(
        "Available specialist agents (use subagent tool to delegate):\n\n{list}\n\nYou may also define new agents at runtime \
         using the define action if the available specialists don't match the task at hand."
    )
}

/// Removes the lines about shared context where there is none.
fn discipline(shares_context: bool) -> String {
    if shares_context {
        return DELEGATION.trim_end().to_owned();
    }
    let (rules, _) = DELEGATION.split_once("\n\nSubagents and shared context").unwrap_or((DELEGATION, ""));
    let lines = rules.lines().filter(|line| !line.to_lowercase().contains("shared"));
    lines.filter(|line| !line.contains("shared_context")).collect::<Vec<_>>().join("\n")
}

/// Returns the guidance for investigations, without tools that the reader lacks.
fn direct_tools(has: &dyn Fn(&str) -> bool) -> String {
    let lacks = |line: &&str| line.rsplit_once("→ use ").is_some_and(|(_, tool)| !has(tool.trim()));
    RUN_SUBAGENT.trim_end().lines().filter(|line| !lacks(line)).collect::<Vec<_>>().join("\n")
}

/// Returns the agents that models see, by name.
pub fn visible(agents: &[Arc<Definition>]) -> Vec<&Definition> {
    let mut visible: Vec<&Definition> =
        agents.iter().map(|agent| &**agent).filter(|agent| !agent.mode.hidden).collect();
    visible.sort_by(|a, b| a.name.cmp(&b.name));
    visible
}

/// Prints one agent in a line: `  name  - description`.
pub fn aligned(agents: &[&Definition]) -> String {
    let width = agents.iter().map(|agent| agent.name.as_str().len()).max().unwrap_or(0);
    let mut list = String::new();
    for agent in agents {
        let words: Vec<&str> = agent.description.split_whitespace().collect();
        let description = words.join(" ");
        let description = match description.char_indices().nth(DESCRIPTION_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &description[..at]),
            None => description,
        };
        let _ = writeln!(list, "  {:<width$}  - {description}", agent.name.as_str());
    }
    list.truncate(list.trim_end().len());
    list
}
