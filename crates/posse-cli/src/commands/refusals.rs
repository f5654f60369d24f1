//! Explains why tools were refused in a run, and the remedy for each.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_core::agent::Agent;
use posse_core::grant::Grant;
use posse_core::text::visible;
use posse_core::tool::ToolEffect;
use posse_messages::say;
use posse_runtime::ports::Tool;

/// The operator's grant, kept to explain refusals.
pub struct OperatorGrant {
    pub grant: Grant,
    pub effects: BTreeMap<String, ToolEffect>,
    pub read_only: bool,
    /// Tools that the configuration denies, whatever flags say.
    pub denied: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RefusalReason {
    AgentFile,
    ReadOnly,
    Configuration,
    NotAllowed,
}

impl OperatorGrant {
    /// Creates the explanation of a grant on these tools.
    pub fn new(grant: &Grant, tools: &[Arc<dyn Tool>], read_only: bool, denied: Vec<String>) -> Self {
        let effects = tools.iter().map(|tool| (tool.spec().name.clone(), tool.spec().effect)).collect();
        Self { grant: grant.clone(), effects, read_only, denied }
    }

    /// Formats one line per reason, with the tools refused for it.
    pub fn explain(&self, agent: &Agent, refused: &[String]) -> Vec<String> {
        use RefusalReason::{AgentFile, Configuration, NotAllowed, ReadOnly};
        let mut lines = Vec::new();
        for reason in [AgentFile, ReadOnly, Configuration, NotAllowed] {
            let tools = refused.iter().filter(|tool| self.reason(agent, tool) == reason);
            let tools = tools.map(String::as_str).collect::<Vec<_>>().join(",");
            if tools.is_empty() {
                continue;
            }
            let tools = visible(&tools);
            let advice = match reason {
                AgentFile => say!("refused-by-agent-file", agent = agent.name),
                ReadOnly => say!("refused-by-flag"),
                Configuration => say!("refused-by-configuration"),
                NotAllowed => say!("refused-to-allow", tools),
            };
            lines.push(say!("refused-tools", tools, advice));
        }
        lines
    }

    /// Finds the decisive reason: the one that would remain if all others were removed, so that one remedy suffices.
    fn reason(&self, agent: &Agent, tool: &str) -> RefusalReason {
        let effect = self.effects.get(tool).copied().unwrap_or(ToolEffect::Unsafe);
        let asked_for = Grant::root([tool.to_owned()], 1).keep(&agent.rights).offers(tool, effect);
        let granted = self.grant.tools().any(|granted| granted == tool);
        if !asked_for || granted {
            RefusalReason::AgentFile
        } else if self.denied.iter().any(|denied| denied == tool) {
            RefusalReason::Configuration
        } else if self.read_only && effect != ToolEffect::Pure {
            RefusalReason::ReadOnly
        } else {
            RefusalReason::NotAllowed
        }
    }
}
