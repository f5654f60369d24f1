//! Resolves a definition into an agent that can run here: its models are found, its tools exist.

use posse_core::agent::Agent;
use posse_core::definition::{Definition, DefinitionScope, ModelChoices as Found, OnUnknownModel};
use posse_core::limits::Limits;
use posse_core::pattern::ToolPattern;
use posse_core::task::LoweredBound;
use posse_core::tool::SESSION_TOOLS;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use crate::ports::ModelResolver;

/// Resolves a definition for the parent `base`. Returns the agent, and notes on deviations from the definition.
pub fn resolve(
    definition: &Definition,
    base: &Agent,
    models: &dyn ModelResolver,
    tools: &[&str],
) -> Result<(Agent, Vec<String>)> {
    let mut notes = Vec::new();
    notes.extend(missing_tools(definition, tools)?);
    let found = find_models(definition, base, models, &mut notes)?;
    let agent = definition.resolve(base, found);
    notes.extend(lowered_limits(definition, &agent.limits));
    Ok((agent, notes))
}

/// Warns of limits of a definition that exceed its parent's.
fn lowered_limits(definition: &Definition, given: &Limits) -> Vec<String> {
    let asked = &definition.limits;
    let seconds = given.wall_ms_max / 1_000;
    let lowered = [
        LoweredBound::if_lower("max_turns", asked.turns.map(u64::from), Some(given.turns_max.into())),
        LoweredBound::if_lower(
            "max_tool_calls",
            asked.tool_calls.map(u64::from),
            Some(given.tool_calls_max.into()),
        ),
        LoweredBound::if_lower("timeout", asked.wall_s, Some(seconds)),
    ];
    let told = |LoweredBound { name, asked, given }: LoweredBound| {
        format!("`{}` asks for {name} {asked} and gets {given}", definition.name)
    };
    lowered.into_iter().flatten().map(told).collect()
}

/// Checks the tool list: one of which no tool exists is a mistake, not a wish for none.
fn missing_tools(definition: &Definition, tools: &[&str]) -> Result<Option<String>> {
    let patterns = definition.rights.tools.as_deref().unwrap_or_default();
    // Built-in agents use the tools that the session offers; whether it offers shared context is the operator's choice.
    let is_choice = |pattern: &ToolPattern| {
        definition.origin.scope == DefinitionScope::BuiltIn && SESSION_TOOLS.contains(&pattern.name())
    };
    let exists = |pattern: &ToolPattern| tools.iter().any(|tool| pattern.names(tool)) || is_choice(pattern);
    let missing: Vec<String> =
        patterns.iter().filter(|pattern| !exists(pattern)).map(ToString::to_string).collect();
    match missing.len() {
        0 => Ok(None),
        all if all == patterns.len() => {
            let text = localized!("no-tool-exists", agent = definition.name, tools = missing.join(", "));
            Err(Error::new(ErrorCode::InvalidTool, text)
                .hint(localized!("there-are", names = tools.join(", "))))
        }
        _ => Ok(Some(format!(
            "`{}` asks for tools that do not exist here: {}",
            definition.name,
            missing.join(", ")
        ))),
    }
}

/// Returns the usable model candidates in order. If all are unknown, a file falls back to its parent's model with a note,
/// unless the configuration says otherwise; a definition made at run time fails.
fn find_models(
    definition: &Definition,
    base: &Agent,
    models: &dyn ModelResolver,
    notes: &mut Vec<String>,
) -> Result<Found> {
    let (mut usable, mut why) = (Vec::new(), None);
    for candidate in &definition.model.candidates {
        match models.resolve(candidate) {
            Ok(model) => usable.push(model),
            Err(e) => why = why.or(Some((candidate, e))),
        }
    }
    let on_unknown = match definition.origin.scope {
        DefinitionScope::Session => OnUnknownModel::Error,
        DefinitionScope::Project { .. } | DefinitionScope::User | DefinitionScope::BuiltIn => {
            models.on_unknown_model()
        }
    };
    let own = |first: String, others: std::vec::IntoIter<String>| {
        let others: Vec<String> = others.collect();
        let is_new = base.model != first && !others.contains(&base.model);
        let default = (on_unknown == OnUnknownModel::Fallback && is_new).then(|| base.model.clone());
        Found { first, others, default }
    };
    let mut usable = usable.into_iter();
    match (usable.next(), why) {
        (Some(first), None) => Ok(own(first, usable)),
        (Some(first), Some((candidate, e))) => {
            notes.push(format!(
                "`{candidate}` cannot be used ({}), so `{first}` is used",
                e.message().english()
            ));
            Ok(own(first, usable))
        }
        (None, None) => Ok(inherited(base)),
        (None, Some((_, e))) if on_unknown == OnUnknownModel::Error => Err(e),
        (None, Some((candidate, e))) => {
            let (name, model) = (&definition.name, &base.model);
            let why = e.message().english();
            notes.push(format!(
                "the model `{candidate}` of `{name}` cannot be used ({why}), so `{model}` is used"
            ));
            Ok(inherited(base))
        }
    }
}

fn inherited(base: &Agent) -> Found {
    let Agent { model, fallback_models, default_model, .. } = base;
    Found { first: model.clone(), others: fallback_models.clone(), default: default_model.clone() }
}
