//! Agents as they would run here: resolved against the grant, the models and the tools of a run.

use std::sync::Arc;

use posse_core::agent::Agent;
use posse_core::definition::{ApprovalSetting, Definition, DefinitionScope, Remark, RemarkSeverity};
use posse_core::grant::{AccessLevel, Grant, RuleVerdict};
use posse_core::pattern::ToolPattern;
use posse_core::text::visible;
use posse_core::tool::ToolEffect;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::ports::ModelResolver;
use posse_runtime::resolve::resolve;

use crate::registry::{AgentCandidate, AgentState, RegistryEntry, RegistrySnapshot, TrustStanding};

/// Shown for the model when none is configured.
pub const NO_MODEL: &str = "no model configured";

/// Resolves agents against the grant and models of a run.
pub struct AgentInspector {
    /// Agent with the defaults of definitions that set no model or limits.
    pub base: Agent,
    pub grant: Grant,
    pub models: Arc<dyn ModelResolver>,
    pub tools: Vec<(String, ToolEffect)>,
    /// Tools that the configuration denies, whatever flags say.
    pub denied: Vec<String>,
}

/// An agent as a run would have it.
pub struct EffectiveAgent {
    pub agent: Agent,
    /// Tools that a delegated task would be offered, sorted.
    pub tools: Vec<String>,
    /// Tools that it names and a run would not grant, each with the flag or setting that would.
    pub withheld: Vec<String>,
    /// Warning about a grant that combines private data, untrusted content and a way out.
    pub exposure: Option<String>,
}

/// An agent of the registry, and what it would be here.
pub struct AgentReport<'a> {
    pub entry: &'a RegistryEntry,
    pub state: AgentStanding,
    /// The definition, also of an agent that is not trusted: reading needs no trust.
    pub definition: Option<Arc<Definition>>,
    /// `None` if it cannot run.
    pub effective: Option<EffectiveAgent>,
    /// Errors, and differences between its definition and how it would run.
    pub problems: Vec<String>,
}

/// Availability of an agent to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStanding {
    Ready,
    NotTrusted,
    Disabled,
    Error,
}

impl AgentStanding {
    /// Returns the word for programs.
    pub fn wire(self) -> &'static str {
        match self {
            AgentStanding::Ready => "ready",
            AgentStanding::NotTrusted => "not trusted",
            AgentStanding::Disabled => "disabled",
            AgentStanding::Error => "error",
        }
    }
}

/// A file of an agent with everything that a check says about it.
pub struct FileReport<'a> {
    pub candidate: &'a AgentCandidate,
    /// Path of the file that shadows this one.
    pub hidden_by: Option<&'a str>,
    pub shadows: &'a [AgentCandidate],
    pub remarks: Vec<Remark>,
    pub definition: Option<Arc<Definition>>,
    /// `None` if it cannot run.
    pub effective: Option<EffectiveAgent>,
}

/// Answer to a request for trust in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAnswer {
    Before,
    Now,
    NotOurs,
    /// Not trusted: it cannot run anyway.
    Broken,
}

impl TrustAnswer {
    /// Returns the words for programs.
    pub fn wire(self) -> &'static str {
        match self {
            TrustAnswer::Before => "trusted before",
            TrustAnswer::Now => "trusted now",
            TrustAnswer::NotOurs => "belongs to another user: not trusted",
            TrustAnswer::Broken => "has errors: not trusted",
        }
    }
}

/// A file of a project that a person is about to trust.
pub struct FileTrust<'a> {
    pub file: &'a AgentCandidate,
    pub answer: TrustAnswer,
    pub errors: usize,
    pub warnings: usize,
    /// The agent that would run; `None` if another file shadows it or it cannot run.
    pub seen: Option<AgentReport<'a>>,
}

impl AgentInspector {
    /// Answers for the project's agent files, or for those with these names.
    pub fn trust<'a>(&self, snapshot: &'a RegistrySnapshot, names: &[String]) -> Result<Vec<FileTrust<'a>>> {
        let mut files: Vec<(&RegistryEntry, &AgentCandidate)> = Vec::new();
        for entry in snapshot.entries() {
            let all = std::iter::once(&entry.chosen).chain(&entry.shadowed);
            let of_project =
                all.filter(|file| matches!(file.read.origin.scope, DefinitionScope::Project { .. }));
            files.extend(of_project.map(|file| (entry, file)));
        }
        if let Some(unknown) = names.iter().find(|name| !files.iter().any(|(entry, _)| entry.name == **name))
        {
            let text = localized!("project-agent-unknown", agent = visible(unknown));
            return Err(
                Error::new(ErrorCode::AgentNotFound, text).hint(localized!("project-agent-unknown-hint"))
            );
        }
        files.retain(|(entry, _)| names.is_empty() || names.contains(&entry.name));
        Ok(files.into_iter().map(|(entry, file)| self.trust_file(entry, file)).collect())
    }

    fn trust_file<'a>(&self, entry: &'a RegistryEntry, file: &'a AgentCandidate) -> FileTrust<'a> {
        let of = |severity| file.remarks().filter(|remark| remark.severity == severity).count();
        let is_chosen = std::ptr::eq(file, &entry.chosen);
        let seen = is_chosen.then(|| self.report(entry)).filter(|seen| seen.state != AgentStanding::Error);
        let is_broken = file.read.definition.is_none() || (is_chosen && seen.is_none());
        let errors = of(RemarkSeverity::Error).max(usize::from(is_broken));
        let answer = match file.standing {
            TrustStanding::NotOurs => TrustAnswer::NotOurs,
            _ if is_broken => TrustAnswer::Broken,
            TrustStanding::Trusted => TrustAnswer::Before,
            TrustStanding::NotTrusted => TrustAnswer::Now,
        };
        FileTrust { file, answer, errors, warnings: of(RemarkSeverity::Warning), seen }
    }

    /// Reports on an agent of the registry.
    pub fn report<'a>(&self, entry: &'a RegistryEntry) -> AgentReport<'a> {
        let (definition, would_be) = (definition(entry), entry.state.once_trusted());
        let mut problems: Vec<String> = match would_be {
            AgentState::Invalid(remarks) => remarks.iter().map(|remark| remark.text.to_string()).collect(),
            AgentState::Ready(_) | AgentState::Disabled | AgentState::NotTrusted { .. } => Vec::new(),
        };
        let effective = definition.as_ref().and_then(|definition| self.fit(definition, &mut problems));
        let state = match (&entry.state, would_be) {
            (_, AgentState::Invalid(_)) => AgentStanding::Error,
            (_, AgentState::Ready(_)) if effective.is_none() => AgentStanding::Error,
            (AgentState::NotTrusted { .. }, _) => AgentStanding::NotTrusted,
            (_, AgentState::Disabled) => AgentStanding::Disabled,
            (AgentState::Ready(_) | AgentState::Disabled | AgentState::Invalid(_), _) => AgentStanding::Ready,
        };
        AgentReport { entry, state, definition, effective, problems }
    }

    /// Reports on every file of an agent, the one that counts first.
    pub fn check<'a>(&self, entry: &'a RegistryEntry) -> Vec<FileReport<'a>> {
        let path = entry.chosen.read.origin.path.as_str();
        let hidden = entry.shadowed.iter().map(|other| self.check_file(other, None, Some(path)));
        std::iter::once(self.check_file(&entry.chosen, Some(entry), None)).chain(hidden).collect()
    }

    fn check_file<'a>(
        &self,
        candidate: &'a AgentCandidate,
        entry: Option<&'a RegistryEntry>,
        hidden_by: Option<&'a str>,
    ) -> FileReport<'a> {
        let mut remarks: Vec<Remark> = candidate.remarks().cloned().collect();
        if let Some(AgentState::Invalid(errors)) = entry.map(|entry| entry.state.once_trusted()) {
            let new: Vec<Remark> = errors.iter().filter(|error| !remarks.contains(error)).cloned().collect();
            remarks.extend(new);
        }
        let own = || candidate.read.definition.clone().map(Arc::new);
        let definition = entry.and_then(definition).or_else(own);
        let mut problems = Vec::new();
        let effective = definition.as_ref().and_then(|definition| self.fit(definition, &mut problems));
        problems.extend(effective.as_ref().and_then(|effective| effective.exposure.clone()));
        let severity = match definition.is_some() && effective.is_none() {
            true => RemarkSeverity::Error,
            false => RemarkSeverity::Warning,
        };
        let remark = |text: String| Remark { severity, text: text.into(), line: None, hint: None };
        remarks.extend(problems.into_iter().map(remark));
        let shadows = entry.map(|entry| &entry.shadowed[..]).unwrap_or_default();
        FileReport { candidate, hidden_by, shadows, remarks, definition, effective }
    }

    /// Resolves the agent for a run here, and adds every difference from its definition to `problems`.
    fn fit(&self, definition: &Definition, problems: &mut Vec<String>) -> Option<EffectiveAgent> {
        let names: Vec<&str> = self.tools.iter().map(|(name, _)| name.as_str()).collect();
        let (agent, notes) = match resolve(definition, &self.base, &*self.models, &names) {
            Ok(resolved) => resolved,
            Err(e) => {
                problems.push(e.message().to_string());
                return None;
            }
        };
        let instead = format!(", so `{NO_MODEL}` is used");
        problems.extend(notes.iter().map(|note| note.replace(&instead, ", and no other is configured")));
        let grant = self.grant.narrow(&agent.rights);
        let offered = self.tools.iter().filter(|(name, effect)| grant.offers(name, *effect));
        let mut tools: Vec<String> = offered.map(|(name, _)| name.clone()).collect();
        tools.sort_unstable();
        let (withheld, exposure) = (self.withheld(&agent), grant.exposure().map(|text| text.to_string()));
        Some(EffectiveAgent { agent, tools, withheld, exposure })
    }

    fn withheld(&self, agent: &Agent) -> Vec<String> {
        let named = |tool: &str| {
            let mut patterns = agent.rights.tools.iter().flatten();
            patterns.any(|pattern| pattern.name() != "*" && pattern.names(tool))
        };
        let granted = |tool: &str| self.grant.tools().any(|granted| granted == tool);
        let missing = self.tools.iter().filter(|(tool, effect)| {
            let could_have = Grant::root([tool.clone()], 2).narrow(&agent.rights).offers(tool, *effect);
            named(tool) && could_have && !granted(tool)
        });
        let told = missing.map(|(tool, _)| match self.denied.contains(tool) {
            true => localized!("denied-by-configuration", tool),
            false => localized!("only-with-allow", tool),
        });
        told.map(|text| text.to_string()).collect()
    }
}

impl FileReport<'_> {
    /// Tells if the agent of this file cannot be used.
    pub fn has_errors(&self) -> bool {
        self.remarks.iter().any(|remark| remark.severity == RemarkSeverity::Error)
    }

    /// Tells if this is the agent or the file that a person names.
    pub fn is_called(&self, wanted: &str) -> bool {
        let read = &self.candidate.read;
        let wanted_path = wanted.strip_prefix("./").unwrap_or(wanted);
        read.name == wanted
            || read.origin.path == wanted
            || read.origin.path.ends_with(&format!("/{wanted_path}"))
    }

    /// Tells if a pattern denies some commands.
    pub fn denies_commands(&self) -> bool {
        let Some(rights) = self.definition.as_ref().map(|definition| &definition.rights) else {
            return false;
        };
        let denied =
            rights.rules.iter().filter(|rule| rule.verdict == RuleVerdict::Deny).map(|rule| &rule.pattern);
        rights.deny.iter().chain(denied).any(|pattern| pattern.names("bash") && pattern.argument().is_some())
    }
}

/// Returns the definition of an agent, trusted or not.
pub fn definition(entry: &RegistryEntry) -> Option<Arc<Definition>> {
    match entry.state.once_trusted() {
        AgentState::Ready(ready) => Some(Arc::new(ready.definition().clone())),
        AgentState::Disabled | AgentState::NotTrusted { .. } => {
            entry.chosen.read.definition.clone().map(Arc::new)
        }
        AgentState::Invalid(_) => None,
    }
}

/// Describes the conditions on an agent's calls in words.
pub fn conditions(definition: &Definition) -> Vec<String> {
    let rights = &definition.rights;
    let with_argument = |patterns: &[ToolPattern], word: &str| {
        let patterns = patterns.iter().filter(|pattern| pattern.argument().is_some());
        patterns.map(|pattern| format!("{word} {pattern}")).collect::<Vec<_>>()
    };
    let mut all = with_argument(rights.tools.as_deref().unwrap_or_default(), "only");
    all.extend(with_argument(&rights.deny, "never"));
    all.extend(rights.rules.iter().map(|rule| format!("{:?} {}", rule.verdict, rule.pattern).to_lowercase()));
    let changes_nothing =
        definition.approval == Some(ApprovalSetting::Deny) || rights.access == AccessLevel::ReadOnly;
    let network = rights.network.as_ref().filter(|network| !network.is_full());
    let told: [Option<LocalizedText>; 5] = [
        changes_nothing.then(|| localized!("changes-nothing")),
        (definition.approval == Some(ApprovalSetting::Ask)).then(|| localized!("asks-before-change")),
        rights.write_paths.as_ref().map(|paths| localized!("writes-only", paths = paths.join(", "))),
        rights.read_roots.as_ref().map(|roots| localized!("reads-only", paths = roots.join(", "))),
        network.map(|network| localized!("connects-only", network)),
    ];
    all.extend(told.into_iter().flatten().map(|text| text.to_string()));
    all
}
