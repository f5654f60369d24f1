//! What a task may do. A grant is only made for the root or by narrowing another one, and narrowing only ever adds
//! conditions: nothing that a child is allowed was not allowed to its parent.

mod shell;
mod subject;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::confinement::{Confinement, Network, Tier};
use crate::pattern::{Doubt, Subject, ToolPattern};
use crate::tool::{Effect, SESSION_TOOLS};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Canonical names.
    tools: BTreeSet<String>,
    /// How many more levels of delegation are allowed below this task.
    depth: u32,
    /// How many levels of delegation are above it.
    #[serde(default, skip_serializing_if = "is_zero")]
    level: u32,
    /// Conditions on calls, one set for each narrowing that had any. All must agree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Rights>,
    /// What the kernel holds its processes to, at least.
    #[serde(default, skip_serializing_if = "Tier::is_off")]
    tier: Tier,
    #[serde(default, skip_serializing_if = "Network::is_full")]
    network: Network,
}

/// What an agent asks for. What it does not mention is left as its parent has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rights {
    /// Only these; `None`: whatever the parent has.
    pub tools: Option<Vec<ToolPattern>>,
    /// Never these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<ToolPattern>,
    /// For each call the last rule that fits decides; where none fits, nothing is taken away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    #[serde(skip_serializing_if = "Access::is_whole")]
    pub access: Access,
    /// Files may be written only where one of these globs fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_paths: Option<Vec<String>>,
    /// Processes may connect only there.
    #[serde(skip_serializing_if = "Network::is_full")]
    pub network: Network,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    pub pattern: ToolPattern,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// How much of the machine an agent may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// As its parent.
    #[default]
    Whole,
    /// Only tools that change nothing.
    ReadOnly,
}

/// A call that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The canonical name.
    pub tool: &'a str,
    pub effect: Effect,
    /// JSON text.
    pub arguments: &'a str,
    /// Where relative paths begin; empty if that is not known.
    pub workspace: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// Why, in words that help the model to do something else.
    Deny(String),
}

impl Grant {
    /// What the operator gives to a session. The only grant that is not a narrowing.
    pub fn root(tools: impl IntoIterator<Item = String>, depth: u32) -> Self {
        let (conditions, tier, network) = (Vec::new(), Tier::Off, Network::Full);
        Self { tools: tools.into_iter().collect(), depth, level: 0, conditions, tier, network }
    }

    /// The same with its processes held at least to this tier and kept to this network. What held them before still does.
    pub fn confined(&self, tier: Tier, network: &Network) -> Grant {
        Grant { tier: self.tier.max(tier), network: self.network.narrow(network), ..self.clone() }
    }

    /// How far the processes of this task can reach.
    pub fn confinement(&self) -> Confinement {
        let written = |rights: &Rights| match rights.access {
            Access::ReadOnly => Some(Vec::new()),
            Access::Whole => rights.write_paths.clone(),
        };
        Confinement {
            tier: self.tier,
            write: self.conditions.iter().filter_map(written).collect(),
            network: self.network.clone(),
        }
    }

    /// A child's grant: what it asks for, as far as this grant has it; one level less of delegation.
    pub fn narrow(&self, requested: &Rights) -> Grant {
        let mut child = self.keep(requested);
        child.depth = self.depth.saturating_sub(1);
        child.level = self.level.saturating_add(1);
        // At depth 0 the tool is not offered at all: a model that never sees it cannot waste turns being refused.
        if child.depth == 0 {
            child.tools.remove("subagent");
        }
        child
    }

    /// The same task with fewer rights.
    pub fn keep(&self, requested: &Rights) -> Grant {
        let tools = self.tools.iter().filter(|tool| requested.mentions(tool)).cloned().collect();
        let mut conditions = self.conditions.clone();
        if requested.has_conditions() && !conditions.contains(requested) {
            conditions.push(requested.clone());
        }
        let network = self.network.narrow(&requested.network);
        Grant { tools, conditions, network, ..self.clone() }
    }

    /// What this grant has and the other one lacks.
    pub fn beyond(&self, other: &Grant) -> Vec<String> {
        self.tools.difference(&other.tools).cloned().collect()
    }

    /// The same task without these tools.
    pub fn without(&self, names: &[String]) -> Grant {
        let tools = self.tools.iter().filter(|name| !names.contains(name)).cloned().collect();
        Grant { tools, ..self.clone() }
    }

    /// Whether any call of a tool can be allowed: the others are not shown to the model.
    pub fn offers(&self, tool: &str, effect: Effect) -> bool {
        self.tools.contains(tool)
            && self
                .conditions
                .iter()
                .all(|rights| rights.mentions(tool) && rights.access.allows(tool, effect))
    }

    /// A tool as it is allowed: its name, or the calls that a list restricts it to, such as `bash(git *)`.
    pub fn calls(&self, tool: &str) -> Vec<String> {
        let restricted = |rights: &Rights| {
            let ours = rights.tools.iter().flatten().filter(|pattern| pattern.names(tool));
            let ours: Vec<&ToolPattern> = ours.collect();
            let some_only = !ours.is_empty() && ours.iter().all(|pattern| pattern.argument().is_some());
            some_only.then(|| {
                ours.iter()
                    .map(|pattern| ToolPattern::call(tool, pattern.argument().unwrap_or("*")).to_string())
                    .collect()
            })
        };
        // The last narrowing is the agent's own.
        self.conditions.iter().rev().find_map(restricted).unwrap_or_else(|| vec![tool.to_owned()])
    }

    /// Of a line with several commands, each must be allowed.
    pub fn decide(&self, call: Call<'_>) -> Decision {
        let Call { tool, effect, arguments, workspace } = call;
        if !self.offers(tool, effect) {
            return Decision::Deny(self.absence(tool));
        }
        if self.conditions.is_empty() {
            return Decision::Allow;
        }
        let subjects = subject::of(tool, arguments, workspace);
        let refused = subjects.iter().find_map(|subject| {
            let why =
                self.conditions.iter().find_map(|rights| rights.refuse(tool, effect, subject, self.tier))?;
            Some(match subject {
                Subject::Command(words) if subjects.len() > 1 => format!("{why} (not `{}`)", words.join(" ")),
                _ => why,
            })
        });
        refused.map_or(Decision::Allow, Decision::Deny)
    }

    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// How many levels of delegation there can be in all.
    pub fn depth_max(&self) -> u32 {
        self.level.saturating_add(self.depth)
    }

    fn absence(&self, tool: &str) -> String {
        let read_only = self.conditions.iter().any(|rights| rights.access == Access::ReadOnly);
        if read_only && self.tools.contains(tool) {
            return format!("this task may only look: `{tool}` could change something");
        }
        let allowed: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        format!("the tool `{tool}` is not granted to this task; granted: {allowed}")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(level: &u32) -> bool {
    *level == 0
}

impl Rights {
    /// Only the tools with these canonical names.
    pub fn only<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let tools = names.into_iter().map(ToolPattern::tool).collect();
        Self { tools: Some(tools), ..Self::default() }
    }

    /// Whether some call of the tool may be allowed, as far as names tell.
    pub fn mentions(&self, tool: &str) -> bool {
        let listed = self.tools.as_ref().is_none_or(|patterns| patterns.iter().any(|p| p.names(tool)));
        let denied = self.deny.iter().any(|p| p.names(tool) && p.argument().is_none());
        listed && !denied && !self.is_ruled_out(tool)
    }

    /// Whether the rules refuse every call of the tool.
    fn is_ruled_out(&self, tool: &str) -> bool {
        let mut ruled_out = false;
        for rule in self.rules.iter().filter(|rule| rule.pattern.names(tool)) {
            match (rule.verdict, rule.pattern.argument()) {
                (Verdict::Allow, _) => ruled_out = false,
                (Verdict::Ask | Verdict::Deny, None) => ruled_out = true,
                (Verdict::Ask | Verdict::Deny, Some(_)) => {}
            }
        }
        ruled_out
    }

    fn has_conditions(&self) -> bool {
        let with_argument = |patterns: &[ToolPattern]| patterns.iter().any(|p| p.argument().is_some());
        self.tools.as_deref().is_some_and(with_argument)
            || with_argument(&self.deny)
            || !self.rules.is_empty()
            || self.access != Access::Whole
            || self.write_paths.is_some()
            || !self.network.is_full()
    }

    /// Why a call is not allowed, if it is not.
    fn refuse(&self, tool: &str, effect: Effect, subject: &Subject<'_>, tier: Tier) -> Option<String> {
        if !self.access.allows(tool, effect) {
            return Some(format!("this task may only look: `{tool}` could change something"));
        }
        self.refused_by_list(tool, subject)
            .or_else(|| self.refused_by_denial(tool, subject))
            .or_else(|| self.refused_by_rule(tool, subject))
            .or_else(|| self.refused_by_path(tool, subject, tier))
            .or_else(|| self.refused_by_network(tool, tier))
            .map(|why| match subject {
                Subject::Unclear(doubt) => format!("{why} ({doubt})"),
                Subject::Free | Subject::Text(_) | Subject::Command(_) | Subject::Path(_) => why,
            })
    }

    fn refused_by_list(&self, tool: &str, subject: &Subject<'_>) -> Option<String> {
        let ours: Vec<&ToolPattern> = self.tools.as_ref()?.iter().filter(|p| p.names(tool)).collect();
        let fits = |p: &&ToolPattern| p.argument().is_none_or(|wanted| subject.fits(wanted, Doubt::FitsNot));
        if ours.iter().any(fits) {
            return None;
        }
        let allowed: Vec<&str> = ours.iter().filter_map(|p| p.argument()).collect();
        Some(format!("`{tool}` is allowed to this task only for: {}", allowed.join(", ")))
    }

    fn refused_by_denial(&self, tool: &str, subject: &Subject<'_>) -> Option<String> {
        let fits =
            |p: &&ToolPattern| p.names(tool) && p.argument().is_none_or(|a| subject.fits(a, Doubt::Fits));
        let pattern = self.deny.iter().find(fits)?;
        Some(format!("this task must not call `{pattern}`"))
    }

    fn refused_by_rule(&self, tool: &str, subject: &Subject<'_>) -> Option<String> {
        let fits = |rule: &&Rule| {
            let doubt = if rule.verdict == Verdict::Allow { Doubt::FitsNot } else { Doubt::Fits };
            rule.pattern.names(tool) && rule.pattern.argument().is_none_or(|a| subject.fits(a, doubt))
        };
        let rule = self.rules.iter().rev().find(fits)?;
        match rule.verdict {
            Verdict::Allow => None,
            Verdict::Deny => Some(format!("a rule of this agent denies `{}`", rule.pattern)),
            Verdict::Ask => {
                Some(format!("`{}` needs a person's yes, and nobody can be asked here", rule.pattern))
            }
        }
    }

    fn refused_by_path(&self, tool: &str, subject: &Subject<'_>, tier: Tier) -> Option<String> {
        let globs = self.write_paths.as_ref()?;
        let where_to = || if globs.is_empty() { "nowhere".to_owned() } else { globs.join(", ") };
        match tool {
            "write" | "edit" => {
                let inside = globs.iter().any(|glob| subject.fits(glob, Doubt::FitsNot));
                (!inside).then(|| format!("this task may write only here: {}", where_to()))
            }
            // What a command writes cannot be told from its text: either the kernel holds it to these places or nobody.
            "bash" if tier.is_off() => Some(format!(
                "this task may write only here: {}, and a command is not held to that",
                where_to()
            )),
            _ => None,
        }
    }

    fn refused_by_network(&self, tool: &str, tier: Tier) -> Option<String> {
        let unheld = tool == "bash" && tier.is_off() && !self.network.is_full();
        unheld.then(|| {
            format!("this task has this network: {}, and a command is not held to that", self.network)
        })
    }
}

impl Access {
    fn is_whole(&self) -> bool {
        *self == Access::Whole
    }

    fn allows(self, tool: &str, effect: Effect) -> bool {
        match self {
            Access::Whole => true,
            // What happens inside the session changes nothing outside of it.
            Access::ReadOnly => effect == Effect::Pure || SESSION_TOOLS.contains(&tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn patterns(raw: &[&str]) -> Vec<ToolPattern> {
        raw.iter().flat_map(|raw| ToolPattern::parse(raw).unwrap()).collect()
    }

    fn everything() -> Grant {
        Grant::root(
            ["read", "write", "edit", "bash", "grep", "subagent", "shared_context"].map(str::to_owned),
            3,
        )
    }

    fn command(command: &str) -> String {
        serde_json::json!({ "command": command }).to_string()
    }

    fn path(path: &str) -> String {
        serde_json::json!({ "path": path }).to_string()
    }

    fn allows(grant: &Grant, tool: &str, arguments: &str) -> bool {
        let effect = if ["read", "grep"].contains(&tool) { Effect::Pure } else { Effect::Unsafe };
        grant.decide(Call { tool, effect, arguments, workspace: "" }) == Decision::Allow
    }

    fn denied_command(grant: &Grant, text: &str) -> String {
        let arguments = command(text);
        let call = Call { tool: "bash", effect: Effect::Unsafe, arguments: &arguments, workspace: "" };
        match grant.decide(call) {
            Decision::Deny(why) => why,
            Decision::Allow => panic!("{text} is allowed"),
        }
    }

    #[test]
    fn a_list_of_tools_can_allow_some_commands_only() {
        let rights = Rights { tools: Some(patterns(&["Read", "Bash(git *)"])), ..Rights::default() };
        let grant = everything().narrow(&rights);
        assert!(allows(&grant, "bash", &command("git status")));
        for plain in
            ["git commit -m 'Say why; then do it'", "git log \"a b\"", "git add . && git commit -m x"]
        {
            assert!(allows(&grant, "bash", &command(plain)), "{plain}");
        }
        for other in [
            "rm -rf x",
            "git status; rm -rf x",
            "git $(rm x)",
            "git log | sh",
            "X=1 git status",
            "",
            "\"git x\"",
            "git \"$(rm x)\"",
            "git log > x",
            "/tmp/git status",
        ] {
            assert!(!allows(&grant, "bash", &command(other)), "{other}");
        }
        assert!(!allows(&grant, "bash", "{}") && !allows(&grant, "bash", "no json"));
        assert!(allows(&grant, "read", &path("a")) && !allows(&grant, "write", &path("a")));
        let why = denied_command(&grant, "ls");
        assert_eq!(why, "`bash` is allowed to this task only for: git *");
    }

    #[test]
    fn what_is_denied_stays_denied_when_it_cannot_be_told() {
        let rights = Rights { deny: patterns(&["Bash(rm *)", "Read(.env*)"]), ..Rights::default() };
        let grant = everything().narrow(&rights);
        assert!(allows(&grant, "bash", &command("ls")));
        for denied in [
            "rm x",
            "ls && rm x",
            "ls `rm x`",
            "'rm' x",
            "/bin/rm x",
            "ls | xargs rm",
            "sh -c 'rm x'",
            "echo 'rm x' | sh",
        ] {
            assert!(!allows(&grant, "bash", &command(denied)), "{denied}");
        }
        for fine in ["ls | head -1", "ls && pwd", "echo 'rm x'", "sh build.sh"] {
            assert!(allows(&grant, "bash", &command(fine)), "{fine}");
        }
        for denied in [".env", "./.env.local", "a/../.env", "/work/.env"] {
            assert!(!allows(&grant, "read", &path(denied)), "{denied}");
        }
        assert!(allows(&grant, "read", &path("env.md")));
    }

    #[test]
    fn what_might_be_denied_is() {
        let rights =
            Rights { deny: patterns(&["Bash(git push *)", "Bash(cargo publish)"]), ..Rights::default() };
        let grant = everything().narrow(&rights);
        for denied in [
            "git push",
            "git push origin main",
            "/usr/bin/git push",
            "./git push",
            "git -C . push",
            "git --no-pager push x",
            "git -c a=b -C x push",
            "env git push",
            "env -i A=1 git push",
            "command git push",
            "nohup git push",
            "time git push",
            "time nohup git -C . push",
            "timeout 5 git push",
            "sudo -u me git push",
            "eval git push",
            "git status && git push",
            "git status | git push",
            "cargo publish",
            "cargo -q publish --dry-run",
            "cargo +nightly publish",
        ] {
            assert!(!allows(&grant, "bash", &command(denied)), "{denied}");
        }
        for fine in [
            "git status",
            "git commit -m push",
            "git stash push",
            "echo git push",
            "github push",
            "cargo test publish",
        ] {
            assert!(allows(&grant, "bash", &command(fine)), "{fine}");
        }
        let why = denied_command(&grant, "git status && git push");
        assert_eq!(why, "this task must not call `bash(git push *)` (not `git push`)");
    }

    #[test]
    fn a_path_below_the_workspace_is_one_of_it_however_it_is_written() {
        let rights = Rights {
            write_paths: Some(vec!["docs/**".to_owned()]),
            deny: patterns(&["Read(.env)"]),
            ..Rights::default()
        };
        let grant = everything().narrow(&rights);
        let may = |tool: &str, at: &str, workspace: &str| {
            let arguments = path(at);
            grant.decide(Call { tool, effect: Effect::Pure, arguments: &arguments, workspace })
                == Decision::Allow
        };
        assert!(may("write", "/home/me/project/docs/a.md", "/home/me/project"));
        assert!(may("write", "/home/me/project/docs/a.md", "/home/me/project/"));
        for outside in [
            "/home/me/project/src/a.rs",
            "/home/me/project2/docs/a.md",
            "/home/me/projectdocs/a.md",
            "/docs/a.md",
            "/home/me/project/docs/../src/a.rs",
            "/home/me/project/../docs/a.md",
        ] {
            assert!(!may("write", outside, "/home/me/project"), "{outside}");
        }
        assert!(!may("write", "/home/me/project/docs/a.md", "") && !may("write", "./docs", "./docs"));
        assert!(!may("read", "/home/me/project/.env", "/home/me/project"));
        assert!(!may("read", "/elsewhere/.env", "/home/me/project"), "in doubt");
    }

    #[test]
    fn of_several_rules_the_last_that_fits_decides() {
        let rule = |pattern: &str, verdict| Rule { pattern: patterns(&[pattern]).remove(0), verdict };
        let rules = vec![
            rule("*", Verdict::Allow),
            rule("bash", Verdict::Ask),
            rule("bash(git *)", Verdict::Allow),
            rule("bash(git push *)", Verdict::Deny),
            rule("write", Verdict::Deny),
        ];
        let grant = everything().narrow(&Rights { rules, ..Rights::default() });
        assert!(allows(&grant, "bash", &command("git status")) && allows(&grant, "read", &path("a")));
        assert!(
            !allows(&grant, "bash", &command("git push origin")) && !allows(&grant, "bash", &command("ls"))
        );
        assert!(grant.offers("bash", Effect::Unsafe), "some commands are allowed");
        assert!(!grant.offers("write", Effect::Unsafe), "no call is");
        let why = denied_command(&grant, "ls");
        assert!(why.contains("needs a person's yes"), "{why}");
    }

    #[test]
    fn an_agent_that_only_looks_changes_nothing_but_can_still_talk() {
        let grant = everything().narrow(&Rights { access: Access::ReadOnly, ..Rights::default() });
        assert!(allows(&grant, "read", &path("a")) && allows(&grant, "shared_context", "{}"));
        assert!(!allows(&grant, "write", &path("a")) && !grant.offers("bash", Effect::Unsafe));
    }

    #[test]
    fn rules_about_agents_hold_at_every_door() {
        let only = |pattern: &str| {
            everything().narrow(&Rights { tools: Some(patterns(&[pattern])), ..Rights::default() })
        };
        for (arguments, agent) in [
            (r#"{"type":"researcher","prompt":"p"}"#, "researcher"),
            (r#"{"agent":"researcher","description":"d","prompt":"p"}"#, "researcher"),
            (r#"{"description":"d","prompt":"p"}"#, "general"),
            (r#"{"_text":"<prompt>p</prompt><agent>researcher</agent>"}"#, "general"),
            (r#"{"task":"t"}"#, "investigator"),
        ] {
            for known in ["researcher", "general", "investigator"] {
                let grant = only(&format!("Agent({known})"));
                assert_eq!(allows(&grant, "subagent", arguments), known == agent, "{arguments} {known}");
            }
        }
        let nobody = r#"{"action":"spawn","task":"t"}"#;
        assert!(!allows(&only("Agent(investigator)"), "subagent", nobody), "no agent is named");
    }

    // R364
    #[test]
    fn the_whole_depth_is_known_at_every_level() {
        let child = everything().narrow(&Rights::default());
        let grandchild = child.narrow(&Rights::default());
        assert_eq!([&child, &grandchild].map(|grant| (grant.depth(), grant.depth_max())), [(2, 3), (1, 3)]);
    }

    #[test]
    fn writing_keeps_to_its_paths() {
        let rights = Rights { write_paths: Some(vec!["docs/**".to_owned()]), ..Rights::default() };
        let grant = everything().narrow(&rights);
        assert!(
            allows(&grant, "write", &path("docs/a/b.md")) && allows(&grant, "edit", &path("./docs/a.md"))
        );
        for outside in ["src/a.rs", "docs/../src/a.rs", "/docs/a.md", "../docs/a.md"] {
            assert!(!allows(&grant, "write", &path(outside)), "{outside}");
        }
        assert!(allows(&grant, "read", &path("src/a.rs")) && !allows(&grant, "bash", &command("true")));
    }

    #[test]
    fn a_command_is_allowed_where_the_kernel_holds_it_to_the_same_places() {
        let paths = vec!["docs/**".to_owned()];
        let rights = Rights { write_paths: Some(paths.clone()), network: Network::None, ..Rights::default() };
        let loose = everything().narrow(&rights);
        assert!(denied_command(&loose, "true").contains("a command is not held to that"));
        let network = Rights { network: ports(&[443]), ..Rights::default() };
        assert!(denied_command(&everything().narrow(&network), "true").contains("TCP to port 443"));
        let held = everything().confined(Tier::T1, &Network::Full).narrow(&rights);
        assert!(allows(&held, "bash", &command("true")));
        let looks = held.narrow(&Rights { access: Access::ReadOnly, ..Rights::default() });
        assert_eq!(
            looks.confinement(),
            Confinement { tier: Tier::T1, write: vec![paths, vec![]], network: Network::None }
        );
    }

    #[test]
    fn an_agent_may_delegate_to_those_it_names_and_look_after_them() {
        let grant = everything()
            .narrow(&Rights { tools: Some(patterns(&["Agent(researcher)"])), ..Rights::default() });
        let spawn =
            |agent: &str| serde_json::json!({ "action": "spawn", "agent": agent, "task": "x" }).to_string();
        assert!(
            allows(&grant, "subagent", &spawn("researcher")) && !allows(&grant, "subagent", &spawn("writer"))
        );
        assert!(allows(&grant, "subagent", r#"{"action":"collect","task_id":"t_01"}"#));
    }

    fn ports(ports: &[u16]) -> Network {
        Network::Ports(ports.iter().copied().collect())
    }

    fn any_rights() -> impl Strategy<Value = Rights> {
        let tool = || {
            proptest::sample::select(vec!["read", "write", "bash", "bash(git *)", "read(a)", "*", "mcp__*"])
        };
        let list = move || proptest::collection::vec(tool(), 0..4);
        let verdict = || proptest::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny]);
        let access = proptest::sample::select(vec![Access::Whole, Access::ReadOnly]);
        let rules = proptest::collection::vec((tool(), verdict()), 0..4);
        let paths = proptest::option::of(proptest::collection::vec("[a-b]", 0..2));
        let network =
            proptest::sample::select(vec![Network::Full, Network::None, ports(&[1, 2]), ports(&[2])]);
        (proptest::option::of(list()), list(), rules, access, paths, network).prop_map(
            |(tools, deny, rules, access, paths, network)| Rights {
                tools: tools.map(|tools| patterns(&tools)),
                deny: patterns(&deny),
                rules: rules
                    .into_iter()
                    .map(|(p, verdict)| Rule { pattern: patterns(&[p]).remove(0), verdict })
                    .collect(),
                access,
                write_paths: paths,
                network,
            },
        )
    }

    proptest! {
        // R362 G16 S14 Seen to fail without `max` in `confined` and without `narrow` of the network in `keep`.
        #[test]
        fn a_child_never_has_more_than_its_parent(
            depth in 0u32..4, requests in proptest::collection::vec(any_rights(), 0..5),
            tier in proptest::sample::select(vec![Tier::Off, Tier::T1, Tier::T2]),
        ) {
            let tools = ["read", "write", "bash", "mcp__x", "subagent"].map(str::to_owned);
            let mut parent = Grant::root(tools, depth).confined(tier, &Network::Full);
            let calls = [
                ("read", path("a")), ("read", path("b")), ("write", path("a")), ("write", path("b")),
                ("bash", command("git log")), ("bash", command("ls")), ("bash", command("a; b")),
                ("mcp__x", "{}".to_owned()), ("subagent", "{}".to_owned()),
            ];
            for request in requests {
                let child = parent.narrow(&request);
                prop_assert!(child.tools.is_subset(&parent.tools));
                prop_assert!(child.depth <= parent.depth);
                let (mine, theirs) = (child.confinement(), parent.confinement());
                prop_assert!(mine.tier >= theirs.tier && mine.write.starts_with(&theirs.write));
                prop_assert_eq!(theirs.network.narrow(&mine.network), mine.network);
                prop_assert!(child.confined(Tier::Off, &Network::Full).confinement().tier == tier);
                for (tool, arguments) in &calls {
                    if allows(&child, tool, arguments) {
                        prop_assert!(allows(&parent, tool, arguments), "{} {}", tool, arguments);
                    }
                }
                let kept: Grant = serde_json::from_str(&serde_json::to_string(&child).unwrap()).unwrap();
                prop_assert_eq!(&kept, &child);
                parent = child;
            }
        }

        #[test]
        fn a_call_that_is_allowed_is_of_a_tool_that_is_offered(request in any_rights(), simple in "[a-z ]{0,12}") {
            let grant = everything().narrow(&request);
            for (tool, arguments) in [("bash", command(&simple)), ("read", path("a")), ("write", path("a"))] {
                if allows(&grant, tool, &arguments) {
                    let effect = if tool == "read" { Effect::Pure } else { Effect::Unsafe };
                    prop_assert!(grant.offers(tool, effect), "{}", tool);
                }
            }
        }
    }
}
