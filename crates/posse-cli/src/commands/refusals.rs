//! Why tools were refused in a run, and what a person can do about each.

use std::collections::BTreeMap;

use posse_core::agent::Agent;
use posse_core::grant::Grant;
use posse_core::text::visible;
use posse_core::tool::ToolEffect;
use posse_messages::say;

/// What the operator gives, kept for the explanation.
pub struct OperatorGrant {
    pub grant: Grant,
    pub effects: BTreeMap<String, ToolEffect>,
    pub read_only: bool,
    /// What the configuration denies, whatever flags say.
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
    /// One line for each reason, with the tools that it took away.
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

    /// The reason that would remain if all the others were gone comes first: nobody should have to try twice.
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
