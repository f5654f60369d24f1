//! Presentation of an agent in this directory: model, tools, limits.

use posse_core::Result;
use posse_core::agent::Agent;
use posse_core::mode::WorkMode;
use posse_core::text::estimate_tokens;
use posse_core::tool::{SESSION_TOOLS, ToolEffect};
use posse_definitions::inspect::{
    AgentInspector, AgentReport, AgentStanding, EffectiveAgent, NO_MODEL, conditions,
};
use posse_mcp::registry::ServerFilter;
use posse_messages::say;
use posse_runtime::session::default_limits;
use serde_json::{Value, json};

use crate::options::{RunOptions, TaskFlags};
use crate::setup::Setup;

/// Opens the inspector for a run in `auto` mode with `--allow` set to `allow`.
pub fn inspector(setup: &Setup, allow: &[String]) -> Result<AgentInspector> {
    let how = RunOptions::from(TaskFlags { allow: allow.to_vec(), ..TaskFlags::default() });
    setup.servers(ServerFilter::All);
    let found = setup.tools()?;
    let grant = setup.grant(&how, WorkMode::Auto, &found)?;
    let session = SESSION_TOOLS.iter().map(|name| ((*name).to_owned(), ToolEffect::Unsafe));
    let tools = found.effects().chain(session).collect();
    let base = match setup.orchestrator(&how) {
        Ok(agent) => agent,
        Err(_) => setup.orchestrator_with(&how, NO_MODEL.to_owned()),
    };
    let base = Agent { limits: default_limits(&base.limits), ..base };
    Ok(AgentInspector { base, grant, models: setup.models(&how)?, tools, denied: setup.denied(&found)? })
}

/// Shortens a path: relative to here, or to home with `~`.
pub fn place(setup: &Setup, path: &str) -> String {
    let here = setup.workspace.canonicalize().unwrap_or_else(|_| setup.workspace.clone());
    let below = |dir: &str| path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/'));
    match (below(&here.display().to_string()), setup.process.text("HOME").as_deref().and_then(below)) {
        (Some(rest), _) => rest.to_owned(),
        (None, Some(rest)) => format!("~/{rest}"),
        (None, None) => path.to_owned(),
    }
}

/// Everything that `agents list` and `agents show` print about one agent.
pub struct AgentView<'a> {
    /// Report of the inspector.
    pub report: AgentReport<'a>,
    /// Format and path of its file.
    pub from: String,
    /// Description of its definition.
    pub description: String,
    /// Conditions on calls, in words.
    pub rules: Vec<String>,
}

impl<'a> AgentView<'a> {
    /// Looks at an agent.
    pub fn new(setup: &Setup, report: AgentReport<'a>) -> Self {
        let origin = &report.entry.chosen.read.origin;
        let from = format!("{} · {}", origin.format.wire(), place(setup, &origin.path));
        let definition = report.definition.as_deref();
        let description = definition.map(|definition| definition.description.clone()).unwrap_or_default();
        let rules = definition.map(conditions).unwrap_or_default();
        Self { from, description, rules, report }
    }

    /// Tells whether models are not told of it.
    pub fn is_hidden(&self) -> bool {
        self.report.definition.as_ref().is_some_and(|definition| definition.mode.hidden)
    }

    fn verify(&self) -> &[String] {
        self.report.definition.as_ref().map(|definition| &definition.answer.verify[..]).unwrap_or_default()
    }

    fn shadows(&self) -> impl Iterator<Item = &str> {
        self.report.entry.shadowed.iter().map(|other| other.read.origin.path.as_str())
    }

    /// Localized state for people; programs get `AgentStanding::wire`.
    pub fn state_word(&self) -> String {
        match self.report.state {
            AgentStanding::NotTrusted => say!("state-not-trusted"),
            AgentStanding::Disabled => say!("state-disabled"),
            AgentStanding::Error => say!("state-error"),
            AgentStanding::Ready => say!("state-ready"),
        }
    }

    /// Lists everything about it, in rows of a name and a text.
    pub fn page(&self) -> Vec<(String, String)> {
        let row = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let AgentReport { entry, effective, problems, .. } = &self.report;
        let (name, version, state) = (&entry.name, entry.version, self.state_word());
        let mut lines = vec![
            row(&say!("row-name"), &say!("agent-version", name, version, state)),
            row(&say!("row-from"), &self.from),
        ];
        if self.is_hidden() {
            lines.push(row(&say!("row-hidden"), &say!("hidden-from-models")));
        }
        lines.extend(self.shadows().map(|path| row(&say!("row-shadows"), path)));
        lines.push(row(&say!("row-description"), &self.description));
        let tokens = say!("many-tokens", n = estimate_tokens(&self.description));
        lines.push(row(&say!("row-costs"), &say!("costs-when-listed", tokens)));
        if let Some(EffectiveAgent { agent, tools, withheld, .. }) = effective {
            lines.push(row(&say!("row-model"), &agent.model));
            lines.push(row(&say!("row-tools"), &tools.join(", ")));
            lines.extend(withheld.iter().map(|told| row(&say!("row-not-given"), told)));
            lines.extend(self.rules.iter().map(|rule| row(&say!("row-rule"), rule)));
            lines.extend(self.verify().iter().map(|command| row(&say!("row-verify"), command)));
            let turns = say!("many-turns", n = agent.limits.turns_max);
            let limits = format!("{turns} · {} s", agent.limits.wall_ms_max / 1000);
            lines.push(row(&say!("row-limits"), &limits));
        }
        lines.extend(problems.iter().map(|problem| row(&say!("row-note"), problem)));
        lines
    }

    /// Formats the agent for programs.
    pub fn json(&self) -> Value {
        let AgentReport { entry, state, effective, problems, .. } = &self.report;
        let (effective, origin) = (effective.as_ref(), &entry.chosen.read.origin);
        let limits = effective.map(|effective| &effective.agent.limits);
        json!({
            "name": entry.name,
            "state": state.wire(),
            "description": self.description,
            "description_tokens": estimate_tokens(&self.description),
            "version": entry.version,
            "format": origin.format.wire(),
            "source": origin.scope.wire(),
            "path": origin.path,
            "model": effective.map(|effective| &effective.agent.model[..]).unwrap_or_default(),
            "tools": effective.map(|effective| &effective.tools[..]).unwrap_or_default(),
            "not_given": effective.map(|effective| &effective.withheld[..]).unwrap_or_default(),
            "hidden": self.is_hidden(),
            "rules": self.rules,
            "verify": self.verify(),
            "max_turns": limits.map_or(0, |limits| limits.turns_max),
            "timeout_s": limits.map_or(0, |limits| limits.wall_ms_max / 1000),
            "shadows": self.shadows().collect::<Vec<_>>(),
            "problems": problems,
        })
    }
}

/// Lists tools for people.
pub fn tool_list(tools: &[String]) -> String {
    if tools.is_empty() { say!("no-tools") } else { tools.join(", ") }
}
