//! Explains why tools were refused in a run, and the remedy for each.

use std::collections::BTreeMap;

use posse_messages::{LocalizedText, localized};

use crate::agent::Agent;
use crate::grant::Grant;
use crate::text::visible;
use crate::tool::ToolEffect;

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
    /// Formats one line per reason, with the tools refused for it.
    pub fn explain(&self, agent: &Agent, refused: &[String]) -> Vec<LocalizedText> {
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
                AgentFile => localized!("refused-by-agent-file", agent = agent.name),
                ReadOnly => localized!("refused-by-flag"),
                Configuration => localized!("refused-by-configuration"),
                NotAllowed => localized!("refused-to-allow", tools),
            };
            lines.push(localized!("refused-tools", tools, advice));
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
