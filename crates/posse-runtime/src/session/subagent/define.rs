//! Agents made while a session runs, and the list of all agents.

use std::sync::Arc;

use posse_core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format};
use posse_core::grant::{Decision, RequestedCall, Rights};
use posse_core::text::estimate_tokens;
use posse_core::tool::{DELEGATION, ToolEffect, canonical};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{fixed, localized};
use serde_json::{Value, json};

use super::request::DefineRequest;
use crate::session::agents::IfExists;
use crate::session::family::{ChildTasks, ParentTask};
use crate::session::{FittedAgent, Session};

const PROMPT_TOKENS_MAX: u64 = 4_000;
const TURNS_DEFAULT: u32 = 10;
/// Most turns of an agent that is made at run time.
pub const TURNS_MAX: u32 = 25;
/// More than this is searched, not listed.
const LISTED_MAX: usize = 100;

/// Lists the agents this parent may use, with the rights they would get.
pub fn listing(session: &Session, family: &ChildTasks, query: Option<&str>) -> Value {
    let parent = &family.parent;
    let words: Vec<String> = query.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let fits = |definition: &&Arc<Definition>| {
        let text = format!("{} {}", definition.name, definition.description).to_lowercase();
        words.iter().all(|word| text.contains(word)) && may_ask(parent, definition.name.as_str())
    };
    let all = session.agents();
    let found: Vec<_> = all.iter().filter(fits).collect();
    let (mut agents, mut diagnostics) = (Vec::new(), Vec::new());
    for definition in found.iter().take(LISTED_MAX) {
        match session.fit(parent, definition, super::super::TURNS_USUAL) {
            Ok(fitted) => agents.push(entry(session, &fitted)),
            // Offering it would only waste a turn.
            Err(e) => diagnostics.push(diagnostic(definition.name.as_str(), &definition.origin.path, &e)),
        }
    }
    let broken = session.agents.diagnostics().into_iter().filter(|broken| {
        let name = broken.name.to_lowercase();
        words.iter().all(|word| name.contains(word)) && may_ask(parent, &broken.name)
    });
    let broken = broken.take(LISTED_MAX).map(|broken| diagnostic(&broken.name, &broken.path, &broken.error));
    diagnostics.extend(broken);
    let mut notes = Vec::new();
    if found.len() > LISTED_MAX {
        let left_out = found.len() - LISTED_MAX;
        notes.push(fixed!("agents-not-shown", left_out));
    }
    let mut value = json!({ "agents": agents });
    if !diagnostics.is_empty() {
        value["diagnostics"] = json!(diagnostics);
    }
    if !notes.is_empty() {
        value["note"] = json!(notes.join("; "));
    }
    value
}

/// An agent that cannot be asked, with the error that asking for it gives.
fn diagnostic(name: &str, path: &str, error: &Error) -> Value {
    let mut value = super::wire_error(error);
    value["name"] = json!(name);
    value["path"] = json!(path);
    value
}

/// Tells whether `Agent(x)` rules let the parent use this agent.
fn may_ask(parent: &ParentTask, agent: &str) -> bool {
    let arguments = json!({ "action": "spawn", "agent": agent }).to_string();
    let call =
        RequestedCall { tool: "subagent", effect: ToolEffect::Unsafe, arguments: &arguments, workspace: "" };
    parent.grant.decide(call) == Decision::Allow
}

fn entry(session: &Session, fitted: &FittedAgent) -> Value {
    let FittedAgent { agent, grant, .. } = fitted;
    let offered = session.children_tools.offered(grant);
    let tools: Vec<String> = offered.iter().flat_map(|spec| grant.calls(&canonical(&spec.name))).collect();
    json!({
        "name": agent.name,
        "description": agent.description,
        "model": agent.model,
        "max_turns": agent.limits.turns_max,
        "tools": tools,
    })
}

/// `parent` is told what giving all of this to one agent means; a definition that was accepted before has been told.
pub fn define(
    session: &Session,
    parent: Option<&ParentTask>,
    request: DefineRequest,
    key: &str,
) -> Result<Value> {
    let overwrites = request.overwrite;
    let (definition, mut warnings) = definition(session, request)?;
    // A model that does not exist is wrong now, not when somebody is waiting.
    for candidate in &definition.model.candidates {
        session.models.resolve(candidate)?;
    }
    let mut answer = json!({ "defined": definition.name, "description": definition.description });
    let usual = super::super::TURNS_USUAL;
    if let Some(fitted) = parent.and_then(|parent| session.fit(parent, &definition, usual).ok()) {
        warnings.extend(fitted.grant.exposure());
        warnings.extend(fitted.notes);
    }
    if !warnings.is_empty() {
        answer["warnings"] = json!(warnings);
    }
    let if_exists = if overwrites { IfExists::Replace } else { IfExists::Refuse };
    let outcome = session.define(definition, if_exists, key)?;
    if overwrites {
        answer["version"] = json!(outcome.version);
    }
    if outcome.unchanged {
        answer["unchanged"] = json!(true);
    }
    Ok(answer)
}

/// After a restart: a definition that was accepted before.
pub fn define_again(session: &Session, arguments: &Value) -> Result<Value> {
    let request = DefineRequest::recall(arguments.clone())?;
    // Another definition of the name is another call, so that the last one counts.
    let key = format!("recalled {arguments}");
    define(session, None, DefineRequest { overwrite: true, ..request }, &key)
}

/// Rebuilds a definition from an accepted `define` call.
pub fn recalled(session: &Session, arguments: &str) -> Result<Definition> {
    let request = DefineRequest::recall(serde_json::from_str(arguments).unwrap_or_default())?;
    definition(session, request).map(|(definition, _)| definition)
}

/// The definition, and what had to be done differently from what was asked.
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
            warnings.push(fixed!("turns-clamped", asked = turns.to_string(), given, turns_max = TURNS_MAX));
        }
        definition.limits.turns = Some(given);
    }
    if let Some(model) = request.model {
        definition.model.candidates = vec![model];
    }
    if let Some(tools) = request.tools {
        let (known, delegation_removed) = known_tools(session, &tools)?;
        if delegation_removed {
            warnings.push(fixed!("delegation-removed", depth_max = session.grant.depth_max()));
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

/// The tools of a definition, and whether `subagent` was left out of them: where no subagent may delegate.
fn known_tools(session: &Session, tools: &[String]) -> Result<(Vec<String>, bool)> {
    let mut tools: Vec<String> = tools.iter().map(|tool| canonical(tool).into_owned()).collect();
    let asked = tools.len();
    tools.retain(|tool| tool != DELEGATION || session.grant.depth() > 1);
    let delegation_removed = tools.len() < asked;
    let exists = |tool: &str| session.children_tools.names().any(|name| name == tool);
    if let Some(unknown) = tools.iter().find(|tool| !exists(tool)) {
        let known: Vec<&str> = session.children_tools.names().collect();
        return Err(Error::new(ErrorCode::InvalidTool, localized!("tool-not-there", unknown))
            .hint(localized!("there-are", names = known.join(", "))));
    }
    Ok((tools, delegation_removed))
}
