//! Agents made while a session runs, and the list of all agents.

use std::sync::Arc;

use posse_core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format};
use posse_core::grant::{Decision, RequestedCall, Rights};
use posse_core::text::estimate_tokens;
use posse_core::tool::{DELEGATION, ToolEffect, canonical};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde_json::{Value, json};

use super::answer::{AgentCard, AgentListing, DefineReceipt};
use super::request::DefineRequest;
use crate::ports::AgentDiagnostic;
use crate::session::agents::{DefineOutcome, IfExists};
use crate::session::children::ParentTask;
use crate::session::{DEFAULT_TURNS, FittedAgent, Session};

const PROMPT_TOKENS_MAX: u64 = 4_000;
const TURNS_DEFAULT: u32 = 10;
/// Maximum turns of an agent that is made at run time.
pub const TURNS_MAX: u32 = 25;
/// Maximum agents in a list; more must be searched for.
const LISTED_MAX: usize = 100;

/// Lists the agents this parent may use, with the rights they would get.
pub(super) fn listing(session: &Session, parent: &ParentTask, query: Option<&str>) -> AgentListing {
    let words: Vec<String> = query.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let fits = |definition: &&Arc<Definition>| {
        let text = format!("{} {}", definition.name, definition.description).to_lowercase();
        words.iter().all(|word| text.contains(word)) && may_ask(parent, definition.name.as_str())
    };
    let all = session.agents();
    let found: Vec<_> = all.iter().filter(fits).collect();
    let (mut agents, mut diagnostics) = (Vec::new(), Vec::new());
    for definition in found.iter().take(LISTED_MAX) {
        match session.resolve_for_parent(parent, definition, DEFAULT_TURNS) {
            Ok(fitted) => agents.push(card(session, fitted)),
            // Offering an agent that cannot be used would only waste a turn.
            Err(error) => {
                let (name, path) = (definition.name.to_string(), definition.origin.path.clone());
                diagnostics.push(AgentDiagnostic { name, path, error });
            }
        }
    }
    let broken = session.sources.agents.diagnostics().into_iter().filter(|broken| {
        let name = broken.name.to_lowercase();
        words.iter().all(|word| name.contains(word)) && may_ask(parent, &broken.name)
    });
    diagnostics.extend(broken.take(LISTED_MAX));
    AgentListing { agents, diagnostics, left_out: found.len().saturating_sub(LISTED_MAX) }
}

/// Tells whether `Agent(x)` rules let the parent use this agent.
fn may_ask(parent: &ParentTask, agent: &str) -> bool {
    let arguments = json!({ "action": "spawn", "agent": agent }).to_string();
    let call =
        RequestedCall { tool: "subagent", effect: ToolEffect::Unsafe, arguments: &arguments, workspace: "" };
    parent.grant.decide(call) == Decision::Allow
}

fn card(session: &Session, fitted: FittedAgent) -> AgentCard {
    let FittedAgent { agent, grant, .. } = fitted;
    let offered = session.children_tools.offered(&grant);
    let tools = offered.iter().flat_map(|spec| grant.calls(&canonical(&spec.name))).collect();
    let turns_max = agent.limits.turns_max;
    AgentCard { name: agent.name, description: agent.description, model: agent.model, turns_max, tools }
}

/// Defines an agent. `parent` gets warnings about risky combinations of rights; `None` for a definition that was accepted
/// before.
pub(super) fn define(
    session: &Session,
    parent: Option<&ParentTask>,
    request: DefineRequest,
    key: &str,
) -> Result<DefineReceipt> {
    let overwrites = request.overwrite;
    let (definition, mut warnings) = definition(session, request)?;
    // An unknown model fails the definition, not the first task.
    for candidate in &definition.model.candidates {
        session.sources.models.resolve(candidate)?;
    }
    let resolve = |parent| session.resolve_for_parent(parent, &definition, DEFAULT_TURNS);
    if let Some(Ok(fitted)) = parent.map(resolve) {
        warnings.extend(fitted.grant.exposure().map(|text| text.english().to_owned()));
        warnings.extend(fitted.notes);
    }
    let if_exists = if overwrites { IfExists::Replace } else { IfExists::Refuse };
    let (name, description) = (definition.name.clone(), definition.description.clone());
    let DefineOutcome { version, unchanged } = session.define(definition, if_exists, key)?;
    Ok(DefineReceipt { name, description, warnings, version: overwrites.then_some(version), unchanged })
}

/// Repeats a definition that was accepted before a restart.
pub(crate) fn define_again(session: &Session, arguments: &Value) -> Result<DefineReceipt> {
    let request = DefineRequest::recall(arguments.clone())?;
    // The key contains the arguments, so that the last of several definitions counts.
    let key = format!("recalled {arguments}");
    define(session, None, DefineRequest { overwrite: true, ..request }, &key)
}

/// Rebuilds a definition from an accepted `define` call.
pub(crate) fn recalled(session: &Session, arguments: &str) -> Result<Definition> {
    let request = DefineRequest::recall(serde_json::from_str(arguments).unwrap_or_default())?;
    definition(session, request).map(|(definition, _)| definition)
}

/// Builds the definition, and warnings about deviations from the request.
fn definition(session: &Session, request: DefineRequest) -> Result<(Definition, Vec<String>)> {
    let name = request.agent_name()?;
    let mut warnings = Vec::new();
    let mut definition = match &request.extends {
        Some(base) => Definition { name, extends: None, ..(*session.find_agent(base)?).clone() },
        None => {
            let description = request.description.clone().unwrap_or_default();
            let prompt = request.system_prompt.clone().unwrap_or_default();
            let mut definition = Definition::new(name, origin(), description, prompt);
            definition.rights = Rights::only([]);
            definition.limits.turns = Some(TURNS_DEFAULT);
            definition
        }
    };
    definition.origin = origin();
    definition.prompt = request.system_prompt.unwrap_or(definition.prompt);
    definition.description = request.description.unwrap_or(definition.description);
    if let Some(more) = request.system_prompt_append {
        definition.prompt = format!("{}\n\n{more}", definition.system_prompt());
        definition.prompt_append = None;
    }
    if let Some(turns) = request.max_turns {
        let given = turns.clamp(1, TURNS_MAX.into()) as u32;
        if i128::from(given) != turns {
            warnings.push(format!("max_turns: {turns} was clamped to {given}; it can be 1 to {TURNS_MAX}"));
        }
        definition.limits.turns = Some(given);
    }
    if let Some(model) = request.model {
        definition.model.candidates = vec![model];
    }
    if let Some(tools) = request.tools {
        let (known, delegation_removed) = known_tools(session, &tools)?;
        if delegation_removed {
            warnings.push(format!(
                "`subagent` was removed from `tools`: subagents may not delegate here (max_depth is {})",
                session.policy.grant.depth_max()
            ));
        }
        definition.rights.tools = Rights::only(known.iter().map(String::as_str)).tools;
    }
    let size = estimate_tokens(&definition.system_prompt());
    if size > PROMPT_TOKENS_MAX {
        let text = localized!("system-prompt-too-large", size, prompt_tokens_max = PROMPT_TOKENS_MAX);
        return Err(
            Error::new(ErrorCode::PromptTooLarge, text).hint(localized!("system-prompt-too-large-hint"))
        );
    }
    Ok((definition, warnings))
}

fn origin() -> DefinitionOrigin {
    DefinitionOrigin {
        path: "define".to_owned(),
        format: Format::Native,
        scope: DefinitionScope::Session,
        hash: String::new(),
    }
}

/// Returns the tools of a definition, and whether `subagent` was removed because subagents may not delegate here.
fn known_tools(session: &Session, tools: &[String]) -> Result<(Vec<String>, bool)> {
    let mut tools: Vec<String> = tools.iter().map(|tool| canonical(tool).into_owned()).collect();
    let asked = tools.len();
    tools.retain(|tool| tool != DELEGATION || session.policy.grant.depth() > 1);
    let delegation_removed = tools.len() < asked;
    let exists = |tool: &str| session.children_tools.names().any(|name| name == tool);
    if let Some(unknown) = tools.iter().find(|tool| !exists(tool)) {
        let known: Vec<&str> = session.children_tools.names().collect();
        return Err(Error::new(ErrorCode::InvalidTool, localized!("tool-not-there", unknown))
            .hint(localized!("there-are", names = known.join(", "))));
    }
    Ok((tools, delegation_removed))
}
