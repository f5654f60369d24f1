//! Prompts for the host's menu: one per agent and one that takes the agent's name. Also argument completion.

use std::sync::Arc;

use posse_core::definition::Definition;
use posse_core::text::prefix;
use rmcp::model::{
    CompletionInfo, ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Reference,
    Role,
};

/// The prompt that takes any agent.
const DELEGATE: &str = "delegate";

/// Lists the prompts.
pub fn list(agents: &[Arc<Definition>]) -> Vec<Prompt> {
    let argument = |name: &str, description: &str| {
        PromptArgument::new(name).with_description(description).with_required(true)
    };
    let task = || argument("task", "What to do, and what to report");
    let agent = argument("agent", "Who does it");
    let delegate = Prompt::new(DELEGATE, Some("Delegate a task to a subagent"), Some(vec![agent, task()]));
    let of = |definition: &&Arc<Definition>| {
        Prompt::new(definition.name.as_str(), Some(definition.description.clone()), Some(vec![task()]))
    };
    std::iter::once(delegate).chain(shown(agents).iter().map(of)).collect()
}

/// Renders a prompt with its arguments.
pub fn get(
    agents: &[Arc<Definition>],
    name: &str,
    arguments: &JsonObject,
) -> Result<GetPromptResult, ErrorData> {
    let text = |key: &str| {
        let given =
            arguments.get(key).and_then(|value| value.as_str()).filter(|text| !text.trim().is_empty());
        given.ok_or_else(|| ErrorData::invalid_params(format!("the argument `{key}` is missing"), None))
    };
    let agent = if name == DELEGATE { text("agent")? } else { name };
    let known = shown(agents).into_iter().find(|definition| definition.name.as_str() == agent);
    let Some(definition) = known else {
        let name = prefix(agent, 80);
        return Err(ErrorData::invalid_params(format!("no agent is called `{name}`"), None));
    };
    let message = format!(
        "Delegate this task to the agent `{agent}` with the `subagent` tool (action spawn), wait for it with `subagent_wait`, \
         and tell me what it found:\n\n{}",
        text("task")?
    );
    let result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, message)]);
    Ok(result.with_description(definition.description.clone()))
}

/// Completes agent names in prompts and task IDs in resource addresses.
pub fn complete(
    agents: &[Arc<Definition>],
    tasks: &[String],
    reference: &Reference,
    name: &str,
    typed: &str,
) -> CompletionInfo {
    let all: Vec<String> = match (reference, name) {
        (Reference::Prompt(_), "agent") => {
            shown(agents).iter().map(|definition| definition.name.to_string()).collect()
        }
        (Reference::Resource(_), "task_id") => tasks.to_vec(),
        _ => Vec::new(),
    };
    let fits: Vec<String> = all.into_iter().filter(|value| value.starts_with(typed)).collect();
    let total = u32::try_from(fits.len()).ok();
    let first = fits.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let has_more = total.is_some_and(|total| total as usize > CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(first, total, has_more).unwrap_or_default()
}

fn shown(agents: &[Arc<Definition>]) -> Vec<&Arc<Definition>> {
    agents.iter().filter(|definition| !definition.mode.hidden).collect()
}
