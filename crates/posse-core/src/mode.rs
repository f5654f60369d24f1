//! The mode of a task: how far it works without asking. The operator chooses it; a task keeps it in its grant.

use serde::Deserialize;

use crate::grant::{AccessLevel, Autonomy, Grant, Rights};

wire_enum! {
    /// Freedom of a task. Later variants allow more without asking.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum WorkMode {
        /// Reads only.
        Plan = "plan",
        /// Asks before every edit and every command.
        Ask = "ask",
        /// Edits files and runs commands in the sandbox without asking.
        Auto = "auto",
    }
}

impl WorkMode {
    /// Returns the restriction that the mode puts on the operator's grant.
    pub fn rights(self) -> Rights {
        match self {
            WorkMode::Plan => Rights { access: AccessLevel::ReadOnly, ..Rights::default() },
            WorkMode::Ask => Rights { autonomy: Some(Autonomy::Asks), ..Rights::default() },
            WorkMode::Auto => Rights::default(),
        }
    }

    /// Tells the mode of a task by its grant. An agent file that restricts its task shows here too.
    pub fn of(grant: &Grant) -> Self {
        if grant.is_read_only() || grant.autonomy() == Autonomy::Refuses {
            WorkMode::Plan
        } else if grant.autonomy() == Autonomy::Asks {
            WorkMode::Ask
        } else {
            WorkMode::Auto
        }
    }

    /// Returns the mode after this one, in a circle.
    pub fn next(self) -> Self {
        match self {
            WorkMode::Plan => WorkMode::Ask,
            WorkMode::Ask => WorkMode::Auto,
            WorkMode::Auto => WorkMode::Plan,
        }
    }

    /// Describes the mode to a model.
    pub(crate) fn told(self) -> &'static str {
        match self {
            WorkMode::Plan => "read only, change nothing",
            WorkMode::Ask => "every edit and every command is asked about",
            WorkMode::Auto => "edits and commands need no approval unless a rule says so",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::{Decision, RequestedCall};
    use crate::tool::ToolEffect;

    fn decide(grant: &Grant, tool: &str, effect: ToolEffect) -> &'static str {
        let call = RequestedCall { tool, effect, arguments: "{}", workspace: "" };
        match grant.decide(call) {
            Decision::Allow => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) => "deny",
        }
    }

    #[test]
    fn a_mode_decides_about_edits_and_commands_and_is_told_by_the_grant() {
        let root = Grant::root(["read", "edit", "bash", "subagent"].map(str::to_owned), 2);
        for (mode, changing) in [(WorkMode::Plan, "deny"), (WorkMode::Ask, "ask"), (WorkMode::Auto, "allow")]
        {
            let grant = root.keep(&mode.rights());
            assert_eq!(WorkMode::of(&grant), mode);
            for tool in ["edit", "bash"] {
                assert_eq!(decide(&grant, tool, ToolEffect::Unsafe), changing, "{mode} {tool}");
            }
            assert_eq!(decide(&grant, "read", ToolEffect::Pure), "allow", "{mode}");
            assert_eq!(decide(&grant, "subagent", ToolEffect::Idempotent), "allow", "{mode}");
            let child = grant.narrow(&Rights { autonomy: Some(Autonomy::Free), ..Rights::default() });
            assert_eq!(
                decide(&child, "edit", ToolEffect::Unsafe),
                changing,
                "a child has no other mode: {mode}"
            );
        }
    }

    #[test]
    fn every_mode_is_reached_by_going_on_to_the_next_one() {
        let mut seen = vec![WorkMode::Auto];
        while seen.len() < WorkMode::ALL.len() {
            seen.push(seen[seen.len() - 1].next());
        }
        assert_eq!(seen, [WorkMode::Auto, WorkMode::Plan, WorkMode::Ask]);
        assert_eq!(WorkMode::Ask.next(), WorkMode::Auto);
    }
}
