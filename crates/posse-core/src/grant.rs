//! What a task may do. A grant is only made for the root or by narrowing another one, and narrowing only ever adds
//! conditions: nothing that a child is allowed was not allowed to its parent.
//!
//! It is one object for every tool: what decides about a call, what `fetch` compares hosts with, and what the kernel is
//! told about processes all come from here.

mod network;
mod rights;
pub(crate) mod shell;
pub(crate) mod snapshot;
mod subject;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};

use self::rights::{CallCase, Objection};
use crate::approval::ApprovalQuestion;
use crate::lease;
use crate::pattern::{CallSubject, ToolPattern};
use crate::tool::{DELEGATION, SESSION_TOOLS, ToolEffect};
use crate::web::WebAddress;

pub use network::{HostPattern, NetworkGrant};
pub use rights::Rights;

/// There is no way to make one but `root`, narrowing, and the journal, which gives back what it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Canonical names.
    tools: Arc<BTreeSet<String>>,
    /// Levels of delegation still allowed below this task.
    depth: u32,
    /// Levels of delegation above this task.
    level: u32,
    /// Conditions on calls, one set for each narrowing that had any. All must agree.
    conditions: Vec<Rights>,
    network: NetworkGrant,
    autonomy: Autonomy,
    sandbox: SandboxTier,
    /// The operator confines processes by the kernel, so commands can be granted where paths or hosts are
    /// restricted. A child cannot earn that by asking for a tighter tier: its parent would not have the command.
    confined: bool,
}

/// The operator's grant to a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootGrant {
    /// Canonical names.
    pub tools: BTreeSet<String>,
    pub depth: u32,
    pub network: NetworkGrant,
    pub autonomy: Autonomy,
    pub sandbox: SandboxTier,
}

/// An ordered rule on calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRule {
    pub pattern: ToolPattern,
    pub verdict: RuleVerdict,
}

/// Effect of a rule that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    Allow,
    Ask,
    Deny,
}

/// The part of the machine an agent may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessLevel {
    /// As its parent.
    #[default]
    Whole,
    /// Only tools that change nothing.
    ReadOnly,
}

/// Freedom to act without a person's yes. Later variants allow less; a child has its parent's or a later one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Autonomy {
    /// Makes calls that rules would ask about. Undecidable calls are still asked about.
    Free,
    /// Asks as the rules say.
    #[default]
    Rules,
    /// Every call that changes something is asked.
    Asks,
    /// Refuses calls that would be asked about, without asking.
    Refuses,
}

wire_enum! {
    /// Confinement of a task's processes. Later variants are tighter; a child has its parent's or a later one. A call
    /// is refused where the tier cannot be enforced.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SandboxTier {
        /// Processes are supervised, and nothing holds them to paths and hosts. So a grant that names some has no commands.
        #[default]
        None = "off",
        /// The kernel holds them to the read roots, the write paths and the network of the grant.
        Kernel = "t1",
        /// The same in namespaces of their own.
        Namespaces = "t2",
    }
}

/// A call that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct RequestedCall<'a> {
    /// The canonical name.
    pub tool: &'a str,
    pub effect: ToolEffect,
    /// JSON text.
    pub arguments: &'a str,
    /// Base of relative paths; empty if unknown.
    pub workspace: &'a str,
}

/// The later, the less. The texts say why, in words that help the model to do something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// A person has to say yes; where nobody can be asked, it is refused.
    Ask(ApprovalQuestion),
    Deny(String),
}

impl Grant {
    /// Creates the operator's grant with default restrictions. The only grant that is not a narrowing.
    pub fn root(tools: impl IntoIterator<Item = String>, depth: u32) -> Self {
        Self::of_root(RootGrant { tools: tools.into_iter().collect(), depth, ..RootGrant::default() })
    }

    /// The same with everything that can be given.
    pub fn of_root(root: RootGrant) -> Self {
        let RootGrant { tools, depth, network, autonomy, sandbox } = root;
        let (conditions, confined) = (Vec::new(), sandbox >= SandboxTier::Kernel);
        let tools = Arc::new(tools);
        Self { tools, depth, level: 0, conditions, network, autonomy, sandbox, confined }
    }

    /// A child's grant: what it asks for, as far as this grant has it; one level less of delegation.
    pub fn narrow(&self, requested: &Rights) -> Grant {
        let mut child = self.keep(requested);
        child.depth = self.depth.saturating_sub(1);
        child.level = self.level.saturating_add(1);
        // At depth 0 the tool is not offered at all: a model that never sees it cannot waste turns being refused.
        if child.depth == 0 {
            Arc::make_mut(&mut child.tools).remove(DELEGATION);
        }
        child
    }

    /// The same task with fewer rights.
    pub fn keep(&self, requested: &Rights) -> Grant {
        let tools = self.only(|tool| requested.mentions(tool));
        let mut conditions = self.conditions.clone();
        conditions.extend(requested.conditions().filter(|added| !self.conditions.contains(added)));
        Grant {
            tools,
            conditions,
            network: requested
                .network
                .as_ref()
                .map_or(self.network.clone(), |asked| self.network.narrow(asked)),
            autonomy: self.autonomy.max(requested.autonomy.unwrap_or(Autonomy::Free)),
            sandbox: self.sandbox.max(requested.sandbox.unwrap_or(SandboxTier::None)),
            confined: self.confined,
            depth: self.depth,
            level: self.level,
        }
    }

    /// The same task with what another grant has as well.
    pub fn meet(&self, other: &Grant) -> Grant {
        let mut conditions = self.conditions.clone();
        conditions
            .extend(other.conditions.iter().filter(|theirs| !self.conditions.contains(theirs)).cloned());
        Grant {
            tools: self.only(|tool| other.tools.contains(tool)),
            conditions,
            // Patterns that mean the same may be written differently; what did not change stays as it is.
            network: match other.network.contains(&self.network) {
                true => self.network.clone(),
                false => self.network.narrow(&other.network),
            },
            autonomy: self.autonomy.max(other.autonomy),
            sandbox: self.sandbox.max(other.sandbox),
            confined: self.confined && other.confined,
            depth: self.depth.min(other.depth),
            level: self.level,
        }
    }

    /// Lists the rights this grant has and the other one lacks.
    pub fn beyond(&self, other: &Grant) -> Vec<String> {
        self.tools.difference(&other.tools).cloned().collect()
    }

    /// The same task without these tools.
    pub fn without(&self, names: &[String]) -> Grant {
        let tools = self.only(|tool| !names.iter().any(|name| name == tool));
        Grant { tools, ..self.clone() }
    }

    /// Filters the tools; returns the shared set if all of them stay.
    fn only(&self, stays: impl Fn(&str) -> bool) -> Arc<BTreeSet<String>> {
        match self.tools.iter().all(|tool| stays(tool)) {
            true => self.tools.clone(),
            false => Arc::new(self.tools.iter().filter(|tool| stays(tool)).cloned().collect()),
        }
    }

    /// Tells whether some call of the tool can be allowed. Other tools are hidden from the model.
    pub fn offers(&self, tool: &str, effect: ToolEffect) -> bool {
        self.tools.contains(tool) && self.obstacle(tool, effect).is_none()
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

    /// Decides on a call. In a line with several commands the strictest decision wins.
    pub fn decide(&self, call: RequestedCall<'_>) -> Decision {
        let RequestedCall { tool, effect, .. } = call;
        if !self.tools.contains(tool) {
            return Decision::Deny(self.absence(tool));
        }
        if let Some(why) = self.obstacle(tool, effect) {
            return Decision::Deny(why);
        }
        let is_free = self.conditions.is_empty() && (tool != FETCH || self.network.is_full());
        let objection = if is_free { None } else { self.objection(call, &subjects(call)) };
        self.settle(call, objection)
    }

    /// Iterates over the granted tools.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    /// Tells whether a built-in tool that writes files is granted.
    pub fn can_write(&self) -> bool {
        let tools =
            [("write", ToolEffect::Idempotent), ("edit", ToolEffect::Unsafe), ("bash", ToolEffect::Unsafe)];
        tools.iter().any(|(tool, effect)| self.offers(tool, *effect))
    }

    /// The directories, or files, that hold everything it may write, relative to the workspace; `None`: all of it. Commands
    /// are confined to these.
    pub fn write_roots(&self) -> Option<Vec<String>> {
        self.write_paths().last().map(lease::roots)
    }

    /// Returns the levels of delegation still allowed.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the total levels of delegation.
    pub fn depth_max(&self) -> u32 {
        self.level.saturating_add(self.depth)
    }

    /// Hosts that may be reached. A process cannot be held to some hosts: it has the network only where this is full.
    pub fn network(&self) -> &NetworkGrant {
        &self.network
    }

    /// Returns the autonomy.
    pub fn autonomy(&self) -> Autonomy {
        self.autonomy
    }

    /// Returns the sandbox tier.
    pub fn sandbox(&self) -> SandboxTier {
        self.sandbox
    }

    /// Sets of globs, from the workspace on; a file may be written where one glob of each set fits. No set: anywhere.
    /// The task's own is the last.
    pub fn write_paths(&self) -> impl Iterator<Item = &[String]> {
        self.conditions.iter().filter_map(|rights| rights.write_paths.as_deref())
    }

    /// Returns a warning if one agent can read private data, read untrusted text and send data out. An injected
    /// instruction could then leak data; two agents that share these rights cannot be made to.
    pub fn exposure(&self) -> Option<LocalizedText> {
        let looks = ["read", "grep", "bash"].iter().find(|tool| self.tools.contains(**tool))?;
        let network = &self.network;
        let reaches = |tool: &str| match tool {
            FETCH => !network.is_none(),
            "bash" => !self.confined,
            _ => tool.starts_with("web") || tool.starts_with("mcp__"),
        };
        let effect = |tool: &str| if tool == "bash" { ToolEffect::Unsafe } else { ToolEffect::Pure };
        let is_open = |tool: &&String| reaches(tool) && self.obstacle(tool, effect(tool)).is_none();
        let reaches = self.tools.iter().find(is_open)?;
        Some(localized!("agent-exposed", looks, reaches))
    }

    /// Tells whether only tools without effects are granted.
    pub fn is_read_only(&self) -> bool {
        self.conditions.iter().any(|rights| rights.access == AccessLevel::ReadOnly)
    }

    /// The directories and files that may be read, as absolute paths; `None`: all. `real` says where an absolute path really is:
    /// what two narrowings have in common is told by that, and not by how they are written.
    pub fn read_roots(
        &self,
        workspace: &str,
        real: impl Fn(String) -> Option<String>,
    ) -> Option<Vec<String>> {
        let sets = self.conditions.iter().filter_map(|rights| rights.read_roots.as_deref());
        let places = |roots: &[String]| -> Vec<String> {
            roots.iter().filter_map(|root| real(subject::absolute(root, workspace)?)).collect()
        };
        sets.map(places).reduce(|one, other| subject::common(&one, &other))
    }

    /// Why no call of a tool that was granted can be allowed, if so.
    fn obstacle(&self, tool: &str, effect: ToolEffect) -> Option<String> {
        if self.conditions.iter().any(|rights| !rights.access.allows(tool, effect)) {
            return Some(format!("this task may only look: `{tool}` could change something"));
        }
        if self.conditions.iter().any(|rights| !rights.mentions(tool)) {
            return Some(self.absence(tool));
        }
        if self.autonomy == Autonomy::Refuses && changes(tool, effect) {
            return Some(format!("`{tool}` could change something, and this task must not ask for that"));
        }
        self.off_network(tool)
    }

    /// Names the tools that a task without full network access cannot have: nothing confines them to some hosts.
    fn off_network(&self, tool: &str) -> Option<String> {
        let network = &self.network;
        if network.is_full() {
            return None;
        }
        match tool {
            FETCH if network.is_none() => Some("this task has no network".to_owned()),
            // The kernel gives a confined command no network at all.
            "bash" if self.confined => None,
            "bash" => Some(format!("this task may reach only: {network}, and a command is not held to that")),
            _ if tool.starts_with("web") || tool.starts_with("mcp__") => {
                Some(format!("this task may reach only: {network}, and `{tool}` is not held to that"))
            }
            _ => None,
        }
    }

    /// Tells whether the resolved paths of the tool's calls matter to this grant.
    pub fn looks_at_places(&self, tool: &str) -> bool {
        self.conditions.iter().any(|rights| rights.looks_at_places(tool))
    }

    /// Checks a path that an allowed call resolved to, behind a link or inside a directory. `place` is relative to
    /// the workspace. Questions the rules already asked about the call count as settled; new ones are refused.
    pub fn permit_place(&self, call: RequestedCall<'_>, place: &str) -> Result<(), String> {
        let subjects = [CallSubject::Path(place.to_owned())];
        let why = match self.objection(call, &subjects) {
            None => return Ok(()),
            Some(Objection::Rule(_)) if self.autonomy == Autonomy::Free => return Ok(()),
            Some(Objection::Rule(why)) => why,
            Some(Objection::Doubt(why) | Objection::Never(why)) => return Err(why),
        };
        let settled = self.asking_rules(call.tool, &self::subjects(call));
        match self.asking_rules(call.tool, &subjects).iter().all(|rule| settled.contains(rule)) {
            true => Ok(()),
            false => Err(format!("{why}, and nobody was asked about this place; name it itself")),
        }
    }

    fn objection(&self, call: RequestedCall<'_>, subjects: &[CallSubject<'_>]) -> Option<Objection> {
        let RequestedCall { tool, effect, workspace, .. } = call;
        let case = CallCase { tool, effect, workspace, is_confined: self.confined };
        let against = |subject: &CallSubject<'_>| {
            let own = self.conditions.iter().filter_map(|rights| rights.objection(&case, subject));
            let all = own.chain(self.out_of_reach(tool, subject)).collect::<Vec<_>>();
            let most = all
                .into_iter()
                .reduce(|most, next| if next.weight() > most.weight() { next } else { most })?;
            let is_rule = matches!(most, Objection::Rule(_));
            Some(most.map(|why| match subject {
                CallSubject::Command(words) if subjects.len() > 1 => {
                    format!("{why} (this is about `{}`)", words.join(" "))
                }
                CallSubject::Unclear(doubt) | CallSubject::Line { why: doubt, .. } if !is_rule => {
                    format!("{why} ({doubt})")
                }
                _ => why,
            }))
        };
        let all = subjects.iter().filter_map(against);
        all.reduce(|most, next| if next.weight() > most.weight() { next } else { most })
    }

    fn out_of_reach(&self, tool: &str, subject: &CallSubject<'_>) -> Option<Objection> {
        if tool != FETCH {
            return None;
        }
        match subject {
            CallSubject::Address(address) => self.permit(address).err(),
            _ => Some("there is no address".to_owned()),
        }
        .map(Objection::Never)
    }

    /// Checks an address, also one reached through a redirect.
    pub fn permit(&self, address: &WebAddress) -> Result<(), String> {
        match self.network.allows(address.host(), address.port()) {
            true => Ok(()),
            false => Err(format!("this task may reach only: {}, not {}", self.network, address.authority())),
        }
    }

    /// Applies the task's autonomy to an objection.
    fn settle(&self, call: RequestedCall<'_>, objection: Option<Objection>) -> Decision {
        let RequestedCall { tool, effect, .. } = call;
        let every_change = changes(tool, effect) && self.autonomy >= Autonomy::Asks;
        let is_doubtful = matches!(objection, Some(Objection::Doubt(_)));
        let why = match objection {
            Some(Objection::Never(why)) => return Decision::Deny(why),
            Some(Objection::Rule(_)) if self.autonomy == Autonomy::Free => return Decision::Allow,
            Some(Objection::Rule(why) | Objection::Doubt(why)) => why,
            None if every_change => format!("`{tool}` could change something, which needs a person's yes"),
            None => return Decision::Allow,
        };
        if self.autonomy == Autonomy::Refuses {
            return Decision::Deny(format!("{why}, and this task must not ask"));
        }
        let mut covers = self.asking_rules(tool, &subjects(call));
        if every_change {
            covers.push(tool.to_owned());
        }
        // What only a person can tell is told for this call alone.
        if is_doubtful || covers.is_empty() {
            covers.push(format!("{tool} {}", call.arguments));
        }
        covers.sort_unstable();
        covers.dedup();
        Decision::Ask(ApprovalQuestion { why, covers })
    }

    /// The rules that ask about a call.
    fn asking_rules(&self, tool: &str, subjects: &[CallSubject<'_>]) -> Vec<String> {
        let pairs = subjects.iter().flat_map(|subject| self.conditions.iter().map(move |own| (own, subject)));
        pairs.filter_map(|(own, subject)| own.asking_rule(tool, subject)).map(ToString::to_string).collect()
    }

    /// Refusal of a delegation at depth 0.
    pub fn too_deep(&self) -> String {
        format!("Max sub-agent depth ({}) reached. Cannot spawn further sub-agents.", self.depth_max())
    }

    fn absence(&self, tool: &str) -> String {
        if tool == DELEGATION && self.depth == 0 {
            return self.too_deep();
        }
        let allowed: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        format!("the tool `{tool}` is not granted to this task; granted: {allowed}")
    }
}

/// Lists the subjects of a call, one per part of a command line.
pub(crate) fn subjects(call: RequestedCall<'_>) -> Vec<CallSubject<'static>> {
    subject::of(call.tool, call.arguments, call.workspace)
}

/// The tool that asks for addresses.
const FETCH: &str = "fetch";

/// Tells whether a call changes anything outside of the session.
fn changes(tool: &str, effect: ToolEffect) -> bool {
    effect != ToolEffect::Pure && !SESSION_TOOLS.contains(&tool)
}

impl Decision {
    /// Why it is not simply made, if so.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Decision::Allow => None,
            Decision::Ask(ApprovalQuestion { why, .. }) | Decision::Deny(why) => Some(why),
        }
    }
}

impl AccessLevel {
    fn is_whole(&self) -> bool {
        *self == AccessLevel::Whole
    }

    fn allows(self, tool: &str, effect: ToolEffect) -> bool {
        match self {
            AccessLevel::Whole => true,
            AccessLevel::ReadOnly => !changes(tool, effect),
        }
    }
}
