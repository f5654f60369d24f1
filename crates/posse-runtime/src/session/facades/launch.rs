//! `subagent` without an action: launches a task in the background. Its parameters come as fields, as one JSON object or
//! as one tag each; all mistakes are reported at once.

mod parameters;

use posse_core::approval::shown_prompt;
use posse_core::board::{Priority, SpawnTerms};
use posse_core::grant::{AccessLevel, Rights};
use posse_core::task::{DoorBounds, GENERAL, TaskBounds, TaskRequest, agent_named};
use posse_core::tool::DELEGATION;
use posse_core::{Error, ErrorCode};
use posse_messages::{LocalizedText, localized};
use serde_json::{Map, Value, json};

use super::alias::alias;
use super::{TURNS, check_room};
use crate::context::now_ms;
use crate::delegation::{Delegation, SpawnReceipt};
use crate::ports::{CallProposal, ToolContext, ToolInput, ToolOutput};
use crate::session::Session;
pub use parameters::LaunchParameters;

const TOOL_CALLS_MAX: u32 = 100;
const FILE_OPERATIONS_MAX: u32 = 1_000;
const DENIED: &str = "User denied subagent creation";
const PROCESS_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Tells whether the arguments are a launch.
pub fn is_meant(arguments: &Map<String, Value>) -> bool {
    let has = |name: &str| arguments.get(name).is_some_and(|value| !value.is_null());
    !has("action") && (has("description") || has("prompt") || has("_text"))
}

/// Launches a task in the background.
pub async fn launch(
    delegation: Result<Delegation, Error>,
    arguments: &Map<String, Value>,
    key: &str,
    context: Option<&ToolContext>,
) -> ToolOutput {
    let parameters = match LaunchParameters::parse(arguments) {
        Ok(parameters) => parameters,
        Err(why) => {
            note(context, &why);
            return ToolOutput::mistake(why.english());
        }
    };
    let agent = agent_named(arguments).unwrap_or(GENERAL).to_owned();
    let request = TaskRequest { key: Some(key.to_owned()), pushed: true, ..request(agent, &parameters) };
    let spawned = async { delegation?.spawn(request).await };
    let spawned = spawned.await;
    note(context, &watched(spawned.as_ref().err()));
    match spawned {
        Ok(receipt) => ToolOutput::text(launched(&receipt, &parameters)),
        Err(e) => ToolOutput::error(refusal(&e)),
    }
}

/// Notes for people who watch the task, in their language. No model reads them.
fn note(context: Option<&ToolContext>, text: &LocalizedText) {
    if let Some(context) = context {
        context.note(text.to_string());
    }
}

/// The note for people about a launch; the model gets the report or the reason.
fn watched(error: Option<&Error>) -> LocalizedText {
    match error.map(Error::code) {
        None => localized!("launch-description"),
        Some(ErrorCode::MaxTasksExceeded) => localized!("launch-resource-limit"),
        Some(_) => localized!("launch-creation-failed"),
    }
}

/// Returns the preview of a launch for the person who decides on it. A launch that would fail is refused without
/// asking.
pub fn propose(
    session: &Session,
    input: &ToolInput<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallProposal, ToolOutput> {
    let parameters = LaunchParameters::parse(arguments).map_err(|why| ToolOutput::mistake(why.english()))?;
    let wanted = request(String::new(), &parameters);
    check_room(session, input, &wanted.terms).map_err(|e| ToolOutput::error(refusal(&e)))?;
    let mut shown = json!({
        "tool": DELEGATION,
        "description": parameters.description,
        "prompt": shown_prompt(&parameters.prompt),
        "writePermissions": parameters.write_paths.is_some(),
        "priority": word(parameters.priority),
    });
    if !wanted.verify.is_empty() {
        shown["verify"] = json!(wanted.verify);
    }
    Ok(CallProposal { shown: Some(shown), refusal: Some(DENIED) })
}

fn word(priority: Priority) -> &'static str {
    match priority {
        Priority::Low => "low",
        Priority::Normal => "normal",
        Priority::High => "high",
    }
}

fn request(agent: String, parameters: &LaunchParameters) -> TaskRequest {
    // Without a list of write paths the task writes nothing.
    let rights = match &parameters.write_paths {
        Some(paths) => Rights { write_paths: Some(paths.clone()), ..Rights::default() },
        None => Rights { access: AccessLevel::ReadOnly, ..Rights::default() },
    };
    let (output_schema, task) = match &parameters.output {
        None => (None, parameters.prompt.clone()),
        Some(schema @ Value::Object(_)) => (Some(schema.clone()), parameters.prompt.clone()),
        Some(other) => {
            let wanted = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            (None, format!("{}\n\nExpected output format: {wanted}", parameters.prompt))
        }
    };
    let launch = TaskRequest {
        agent,
        task,
        terms: SpawnTerms { priority: parameters.priority, ..SpawnTerms::default() },
        door: DoorBounds {
            bounds: TaskBounds {
                tool_calls: Some(TOOL_CALLS_MAX),
                file_operations: Some(FILE_OPERATIONS_MAX),
                wall_ms: Some(parameters::WALL_MS_MAX as u64),
                process_bytes: Some(PROCESS_BYTES_MAX),
                ..TaskBounds::default()
            },
            default_turns: Some(TURNS),
            ..DoorBounds::default()
        },
        rights,
        output_schema,
        ..TaskRequest::default()
    };
    parameters.options.clone().apply(launch)
}

fn launched(receipt: &SpawnReceipt, parameters: &LaunchParameters) -> String {
    let id = receipt.id.short();
    let priority = word(parameters.priority);
    let alias = alias(&receipt.id, now_ms());
    let description = &parameters.description;
    let writes = if parameters.write_paths.is_some() { "Yes" } else { "No" };
    let seconds = parameters.wall_ms as f64 / 1000.0;
    let state = match receipt.queued {
        true => "The task is queued: it starts when there is a place and all that it waits for is done.",
        false => "The task is now running in parallel.",
    };
    let mut text = format!(
        "Successfully launched subagent\n\n\
         Successfully launched parallel task:\n\
         - Task ID: {id} (also {alias})\n\
         - Description: {description}\n\
         - Priority: {priority}\n\
         - Write Permissions: {writes}\n\
         - Max Execution Time: {seconds}s\n\n\
         {state} You can continue with other work.\n\
         Collect its result later: {{\"action\":\"collect\",\"task_id\":\"{id}\"}}"
    );
    for warning in &receipt.notes {
        text.push_str(&format!("\nWarning: {warning}"));
    }
    text
}

fn refusal(error: &Error) -> String {
    if error.code() == ErrorCode::MaxTasksExceeded {
        return "Maximum concurrent tasks limit reached. Please wait for other tasks to complete.".to_owned();
    }
    if error.code() == ErrorCode::LeaseConflict {
        return error.message().english().to_owned();
    }
    match error.advice() {
        Some(hint) => {
            format!("Failed to create parallel task: {} ({})", error.message().english(), hint.english())
        }
        None => format!("Failed to create parallel task: {}", error.message().english()),
    }
}
