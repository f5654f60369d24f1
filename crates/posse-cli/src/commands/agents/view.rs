//! Effective view of an agent in this directory: model, tools, limits.

use std::sync::Arc;

use posse_core::Result;
use posse_core::agent::Agent;
use posse_core::definition::{ApprovalSetting, Definition, Remark, RemarkSeverity};
use posse_core::grant::Grant;
use posse_core::text::estimate_tokens;
use posse_core::tool::{SESSION_TOOLS, ToolEffect};
use posse_definitions::registry::{AgentState, RegistryEntry};
use posse_mcp::registry::{NamedServer, ServerFilter, ServerRegistry, is_about_servers};
use posse_messages::say;
use posse_models::providers::ModelSource;
use posse_runtime::resolve::resolve;
use posse_runtime::session::usual;
use serde_json::{Value, json};

use crate::args::{RunOptions, TaskFlags};
use crate::columns::{PaddedCell, cut};
use crate::commands::servers::ServerView;
use crate::models::process_env;
use crate::render::{CountedNoun, many};
use crate::setup::Setup;

/// Shown for the model when none is configured.
const NO_MODEL: &str = "no model configured";

/// Resolves agents against the grant and models of a run in this directory.
pub struct AgentInspector {
    base: Agent,
    grant: Grant,
    models: Arc<ModelSource>,
    tools: Vec<(String, ToolEffect)>,
    /// Tools that the configuration denies, whatever flags say.
    denied: Vec<String>,
    /// Paths below this directory and below home are shortened.
    here: String,
    home: Option<String>,
    servers: Arc<ServerRegistry>,
}

/// Everything that `agents list` and `agents show` print about one agent.
pub struct AgentView {
    pub name: String,
    pub state: &'static str,
    pub description: String,
    pub version: u32,
    pub format: &'static str,
    /// Scope of the file: `project`, `user` or `built-in`.
    pub source: &'static str,
    pub path: String,
    /// The path relative to here or home.
    pub place: String,
    pub model: String,
    pub tools: Vec<String>,
    /// Conditions on calls, in words.
    pub conditions: Vec<String>,
    /// Verification commands.
    pub verify: Vec<String>,
    pub turns_max: u32,
    pub timeout_s: u64,
    pub shadows: Vec<String>,
    /// Hidden from models; people can still name it.
    pub hidden: bool,
    /// Tools that it asks for and a run would not grant, each with the flag or setting that would.
    pub withheld: Vec<String>,
    /// Errors, and differences between its definition and how it would run.
    pub problems: Vec<String>,
}

impl AgentInspector {
    /// Opens the inspector for a run with `--allow` set to `allow`.
    pub fn open(setup: &Setup, allow: &[String]) -> Result<Self> {
        let how = RunOptions::from(TaskFlags { allow: allow.to_vec(), ..TaskFlags::default() });
        let servers = setup.servers(ServerFilter::All);
        let found = setup.tools()?;
        let grant = setup.grant(&how, &found)?;
        let own = found.tools.iter().map(|tool| (tool.spec().name.clone(), tool.spec().effect));
        let session = SESSION_TOOLS.iter().map(|name| ((*name).to_owned(), ToolEffect::Unsafe));
        let base = match setup.orchestrator(&how) {
            Ok(agent) => agent,
            Err(_) => {
                let model = Some(format!("none:{NO_MODEL}"));
                setup.orchestrator(&RunOptions::from(TaskFlags { model, ..how.common.clone() }))?
            }
        };
        let model = if base.model.starts_with("none:") { NO_MODEL.to_owned() } else { base.model.clone() };
        let base = Agent { model, limits: usual(&base.limits), ..base };
        let tools = own.chain(session).collect();
        let here = setup.workspace.canonicalize().unwrap_or_else(|_| setup.workspace.clone());
        let (here, home) = (here.display().to_string(), process_env("HOME"));
        let (models, denied) = (setup.models(&how)?, setup.denied(&found)?);
        Ok(Self { base, grant, models, tools, denied, here, home, servers })
    }

    /// Shortens a path: relative to here, or to home with `~`.
    pub fn place(&self, path: &str) -> String {
        let below = |dir: &str| path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/'));
        match (below(&self.here), self.home.as_deref().and_then(below)) {
            (Some(rest), _) => rest.to_owned(),
            (None, Some(rest)) => format!("~/{rest}"),
            (None, None) => path.to_owned(),
        }
    }

    pub fn see(&self, entry: &RegistryEntry) -> AgentView {
        let read = &entry.chosen.read;
        let definition = definition(entry);
        let description = definition.as_ref().map(|d| d.description.clone()).unwrap_or_default();
        let would_be = entry.state.once_trusted();
        let mut problems: Vec<String> = match would_be {
            AgentState::Invalid(remarks) => remarks.iter().map(|remark| remark.text.to_string()).collect(),
            AgentState::Ready(_) | AgentState::Disabled | AgentState::NotTrusted { .. } => Vec::new(),
        };
        let agent = definition.as_ref().and_then(|definition| self.fit(definition, &mut problems));
        let conditions = definition.as_ref().map(|d| conditions(d)).unwrap_or_default();
        let limits = agent.as_ref().map(|agent| &agent.limits);
        AgentView {
            name: entry.name.clone(),
            state: match (&entry.state, would_be) {
                (_, AgentState::Invalid(_)) => "error",
                (_, AgentState::Ready(_)) if agent.is_none() => "error",
                (AgentState::NotTrusted { .. }, _) => "not trusted",
                (_, AgentState::Disabled) => "disabled",
                (AgentState::Ready(_) | AgentState::Disabled | AgentState::Invalid(_), _) => "ready",
            },
            description,
            version: entry.version,
            format: read.origin.format.wire(),
            source: read.origin.scope.wire(),
            path: read.origin.path.clone(),
            place: self.place(&read.origin.path),
            model: agent.as_ref().map(|agent| agent.model.clone()).unwrap_or_default(),
            tools: agent.as_ref().map(|agent| self.effective_tools(agent)).unwrap_or_default(),
            conditions,
            verify: definition.as_ref().map(|d| d.answer.verify.clone()).unwrap_or_default(),
            turns_max: limits.map_or(0, |limits| limits.turns_max),
            timeout_s: limits.map_or(0, |limits| limits.wall_ms_max / 1000),
            shadows: entry.shadowed.iter().map(|other| other.read.origin.path.clone()).collect(),
            hidden: definition.as_ref().is_some_and(|definition| definition.mode.hidden),
            withheld: agent.as_ref().map(|agent| self.withheld(agent)).unwrap_or_default(),
            problems,
        }
    }

    /// Resolves the agent for a run here, and adds every difference from its definition to `problems`.
    pub fn fit(&self, definition: &Definition, problems: &mut Vec<String>) -> Option<Agent> {
        let names: Vec<&str> = self.tools.iter().map(|(name, _)| name.as_str()).collect();
        match resolve(definition, &self.base, &*self.models, &names) {
            Ok((agent, notes)) => {
                let instead = format!(", so `{NO_MODEL}` is used");
                problems
                    .extend(notes.iter().map(|note| note.replace(&instead, ", and no other is configured")));
                Some(agent)
            }
            Err(e) => {
                problems.push(e.message().to_string());
                None
            }
        }
    }

    /// Describes the MCP servers that its server list or tool list names: state and sandbox, one line each.
    pub fn servers(&self, definition: &Definition) -> Vec<String> {
        let of_tools = definition.rights.tools.iter().flatten().map(|pattern| pattern.name().to_owned());
        let tools: Vec<String> = of_tools.filter(|name| is_about_servers(name)).collect();
        let is_named = |named: &&NamedServer| {
            let name = named.server.config().name.as_str();
            definition.mcp_servers.contains_key(name) || tools.iter().any(|entry| named.is_meant(entry))
        };
        self.servers.all().iter().filter(is_named).map(NamedServer::line).collect()
    }

    /// Lists tools that it names and a run would not grant, each with the flag or setting that would.
    pub fn withheld(&self, agent: &Agent) -> Vec<String> {
        let named = |tool: &str| {
            let patterns = agent.rights.tools.iter().flatten();
            patterns.into_iter().any(|pattern| pattern.name() != "*" && pattern.names(tool))
        };
        let granted = |tool: &str| self.grant.tools().any(|granted| granted == tool);
        let missing = self.tools.iter().filter(|(tool, effect)| {
            let could_have = Grant::root([tool.clone()], 2).narrow(&agent.rights).offers(tool, *effect);
            named(tool) && could_have && !granted(tool)
        });
        let told = missing.map(|(tool, _)| match self.denied.contains(tool) {
            true => say!("denied-by-configuration", tool),
            false => say!("only-with-allow", tool),
        });
        told.collect()
    }

    /// Warns if its grant combines private data, untrusted content and a way out.
    pub fn exposure(&self, agent: &Agent) -> Option<String> {
        self.grant.narrow(&agent.rights).exposure().map(|text| text.to_string())
    }

    /// Lists the tools that a delegated task of this agent would be offered.
    pub fn effective_tools(&self, agent: &Agent) -> Vec<String> {
        let grant = self.grant.narrow(&agent.rights);
        let offered = self.tools.iter().filter(|(name, effect)| grant.offers(name, *effect));
        let mut names: Vec<String> = offered.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }
}

/// Returns the definition, also of an agent that is not trusted: reading needs no trust.
pub fn definition(entry: &RegistryEntry) -> Option<Arc<Definition>> {
    match entry.state.once_trusted() {
        AgentState::Ready(ready) => Some(Arc::new(ready.definition().clone())),
        AgentState::Disabled | AgentState::NotTrusted { .. } => {
            entry.chosen.read.definition.clone().map(Arc::new)
        }
        AgentState::Invalid(_) => None,
    }
}

/// Describes the conditions on calls in words.
pub fn conditions(definition: &Definition) -> Vec<String> {
    let rights = &definition.rights;
    let with_argument = |patterns: &[posse_core::pattern::ToolPattern], word: &str| {
        let patterns = patterns.iter().filter(|pattern| pattern.argument().is_some());
        patterns.map(|pattern| format!("{word} {pattern}")).collect::<Vec<_>>()
    };
    let mut all = with_argument(rights.tools.as_deref().unwrap_or_default(), "only");
    all.extend(with_argument(&rights.deny, "never"));
    all.extend(rights.rules.iter().map(|rule| format!("{:?} {}", rule.verdict, rule.pattern).to_lowercase()));
    let denies = definition.approval == Some(ApprovalSetting::Deny);
    if denies || rights.access == posse_core::grant::AccessLevel::ReadOnly {
        all.push(say!("changes-nothing"));
    }
    if definition.approval == Some(ApprovalSetting::Ask) {
        all.push(say!("asks-before-change"));
    }
    if let Some(paths) = &rights.write_paths {
        all.push(say!("writes-only", paths = paths.join(", ")));
    }
    if let Some(roots) = &rights.read_roots {
        all.push(say!("reads-only", paths = roots.join(", ")));
    }
    if let Some(network) = rights.network.as_ref().filter(|network| !network.is_full()) {
        all.push(say!("connects-only", network));
    }
    all
}

impl AgentView {
    pub fn line(&self, width: usize) -> String {
        let name = &self.name;
        let from = format!("{} · {}", self.format, self.place);
        let first = self.description.lines().next().unwrap_or_default();
        let what = match (self.state, self.problems.first()) {
            ("error", Some(problem)) => say!("error-label", problem),
            ("ready", _) => cut(first, 90),
            _ => format!("{} · {}", self.state_word(), cut(first, 80)),
        };
        let tools = if self.tools.is_empty() { say!("no-tools") } else { self.tools.join(", ") };
        let indent = " ".repeat(width + 2);
        let hidden = if self.hidden { format!("{} · ", say!("row-hidden")) } else { String::new() };
        let mut line = format!("{name:<width$}  {hidden}{what}\n{indent}{from}");
        if self.state != "error" {
            line.push_str(&format!(
                "\n{indent}{} · {} · {tools}",
                self.model,
                many(self.turns_max, CountedNoun::Turn)
            ));
            self.withheld.iter().for_each(|told| line.push_str(&format!("\n{indent}{told}")));
        }
        line
    }

    /// Localized state for people; programs get `state`.
    fn state_word(&self) -> String {
        match self.state {
            "not trusted" => say!("state-not-trusted"),
            "disabled" => say!("state-disabled"),
            "error" => say!("state-error"),
            _ => say!("state-ready"),
        }
    }

    pub fn page(&self) -> Vec<String> {
        let row = |name: &str, text: &str| format!("{:<12} {text}", PaddedCell(name));
        let mut lines = vec![
            row(
                &say!("row-name"),
                &say!("agent-version", name = self.name, version = self.version, state = self.state_word()),
            ),
            row(&say!("row-from"), &format!("{} · {}", self.format, self.place)),
        ];
        if self.hidden {
            lines.push(row(&say!("row-hidden"), &say!("hidden-from-models")));
        }
        lines.extend(self.shadows.iter().map(|path| row(&say!("row-shadows"), path)));
        lines.push(row(&say!("row-description"), &self.description));
        let tokens = many(estimate_tokens(&self.description), CountedNoun::Token);
        lines.push(row(&say!("row-costs"), &say!("costs-when-listed", tokens)));
        if self.state != "error" {
            lines.push(row(&say!("row-model"), &self.model));
            lines.push(row(&say!("row-tools"), &self.tools.join(", ")));
            lines.extend(self.withheld.iter().map(|told| row(&say!("row-not-given"), told)));
            lines.extend(self.conditions.iter().map(|condition| row(&say!("row-rule"), condition)));
            lines.extend(self.verify.iter().map(|command| row(&say!("row-verify"), command)));
            lines.push(row(
                &say!("row-limits"),
                &format!("{} · {} s", many(self.turns_max, CountedNoun::Turn), self.timeout_s),
            ));
        }
        lines.extend(self.problems.iter().map(|problem| row(&say!("row-note"), problem)));
        lines
    }

    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "state": self.state,
            "description": self.description,
            "description_tokens": estimate_tokens(&self.description),
            "version": self.version,
            "format": self.format,
            "source": self.source,
            "path": self.path,
            "model": self.model,
            "tools": self.tools,
            "not_given": self.withheld,
            "hidden": self.hidden,
            "rules": self.conditions,
            "verify": self.verify,
            "max_turns": self.turns_max,
            "timeout_s": self.timeout_s,
            "shadows": self.shadows,
            "problems": self.problems,
        })
    }
}

pub fn severity_word(remark: &Remark) -> String {
    match remark.severity {
        RemarkSeverity::Error => say!("state-error"),
        RemarkSeverity::Warning => say!("state-warning"),
    }
}

pub fn severity(remark: &Remark) -> &'static str {
    match remark.severity {
        RemarkSeverity::Error => "error",
        RemarkSeverity::Warning => "warning",
    }
}
