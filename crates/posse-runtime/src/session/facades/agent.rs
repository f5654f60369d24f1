//! `Agent {prompt, type, timeout}`: gives a task to an agent by name and waits for its answer.

use std::sync::{Arc, Weak};

use posse_core::definition::Definition;
use posse_core::edits::FileChange;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::task::{DoorBounds, TaskBounds, TaskRequest};
use posse_core::text::prefix;
use posse_core::tool::ToolSpec;
use posse_core::{Error, ErrorCode};
use serde::Deserialize;

use super::guidance::{LISTED_MAX, aligned, visible};
use super::{DelegatedTask, check_room, delegate, spec, waited_for};
use crate::delegation::DelegationCall;
use crate::ports::{BoxFuture, CallProposal, Tool, ToolInput, ToolOutput};
use crate::session::Session;

/// Default timeout, if neither the agent nor the call sets one.
const TIMEOUT_S: f64 = 300.0;
const TIMEOUT_MAX_S: f64 = 3_600.0;
/// Longest prompt; acai sets none, and a model's window is not much larger.
const PROMPT_TOKENS_MAX: u64 = 20_000;

struct AgentTool {
    session: Weak<Session>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct AgentCall {
    prompt: String,
    r#type: String,
    timeout: Option<f64>,
}

/// Creates the `Agent` tool.
pub fn tool(session: Weak<Session>, agents: &[Arc<Definition>]) -> Arc<dyn Tool> {
    let schema = include_str!("../../../prompts/agent_tool.schema.json");
    Arc::new(AgentTool { session, spec: spec("Agent", description(agents), schema) })
}

/// Lists the agents as of the session's start.
fn description(agents: &[Arc<Definition>]) -> String {
    let text = include_str!("../../../prompts/agent_tool.md").trim_end();
    let shown = visible(agents);
    let list = match shown.len() {
        0 => "  (none)".to_owned(),
        1..=LISTED_MAX => aligned(&shown),
        _ => format!("  {}", names(shown.into_iter())),
    };
    format!("{text}\n\nAvailable agent types:\n{list}")
}

fn names<'a>(agents: impl Iterator<Item = &'a Definition>) -> String {
    agents.map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ")
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn writes_files(&self) -> bool {
        false
    }

    fn delegates(&self) -> bool {
        true
    }

    fn propose(&self, input: &ToolInput<'_>) -> Result<CallProposal, ToolOutput> {
        let call = serde_json::from_str::<AgentCall>(input.arguments);
        let call = call.map_err(|e| ToolOutput::mistake(e.to_string()))?;
        let Some(session) = self.session.upgrade() else { return Ok(CallProposal::default()) };
        session
            .find_agent(&call.r#type)
            .map_err(|e| ToolOutput::mistake(refusal(&session, &call.r#type, &e)))?;
        check_room(&session, input, &waited_for())
            .map_err(|e| ToolOutput::error(refusal(&session, &call.r#type, &e)))
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error(crate::session::SESSION_CLOSED);
            };
            let call: AgentCall = match serde_json::from_str(input.arguments) {
                Ok(call) => call,
                Err(e) => return ToolOutput::mistake(e.to_string()),
            };
            run(&session, &input, call).await
        })
    }
}

async fn run(session: &Arc<Session>, input: &ToolInput<'_>, call: AgentCall) -> ToolOutput {
    let definition = match session.find_agent(&call.r#type) {
        Ok(definition) => definition,
        Err(e) => return ToolOutput::mistake(refusal(session, &call.r#type, &e)),
    };
    let wall_ms = |seconds: f64| (seconds.clamp(0.001, TIMEOUT_MAX_S) * 1000.0) as u64;
    let usual = definition.limits.wall_s.map_or(TIMEOUT_S, |seconds| seconds as f64);
    let (asked, usual) = (call.timeout.map(wall_ms), call.timeout.is_none().then(|| wall_ms(usual)));
    let request = TaskRequest {
        agent: call.r#type,
        task: call.prompt,
        bounds: TaskBounds { wall_ms: asked, ..TaskBounds::default() },
        door: DoorBounds {
            bounds: TaskBounds { wall_ms: usual, ..TaskBounds::default() },
            task_tokens_max: Some(PROMPT_TOKENS_MAX),
            ..DoorBounds::default()
        },
        ..TaskRequest::default()
    };
    let name = definition.name.as_str();
    let delegated = async {
        let delegation = session.delegation(&input.context.task)?;
        delegate(&delegation, DelegationCall::of(input), request, None).await
    };
    match delegated.await {
        Ok(delegated) => answer(name, &delegated),
        Err(e) => ToolOutput::error(refusal(session, name, &e)),
    }
}

fn answer(name: &str, delegated: &DelegatedTask) -> ToolOutput {
    let notes = delegated.notes();
    if let Some(outcome) = delegated.completed() {
        let text = format!("{}{notes}", delegated.bounded(&outcome.text));
        return ToolOutput { changed: changed(outcome), ..ToolOutput::text(text) };
    }
    let outcome = delegated.outcome();
    let why = match outcome.map(|outcome| outcome.stop) {
        Some(StopReason::DeadlinePassed) => {
            format!("Subagent \"{name}\" timed out after {}s and was stopped.", delegated.seconds())
        }
        _ => format!("Subagent \"{name}\" failed: {}", delegated.failure()),
    };
    let so_far = outcome.map(|outcome| outcome.text.trim()).filter(|text| !text.is_empty());
    let so_far = so_far.map(|text| format!("\n\nWhat it had so far:\n{}", delegated.bounded(text)));
    let changed = outcome.map(changed).unwrap_or_default();
    ToolOutput { changed, ..ToolOutput::error(format!("{why}{}{notes}", so_far.unwrap_or_default())) }
}

fn changed(outcome: &Outcome) -> Vec<FileChange> {
    outcome.changed_files.iter().map(FileChange::named).collect()
}

fn refusal(session: &Session, wanted: &str, error: &Error) -> String {
    if error.code() == ErrorCode::AgentNotFound {
        let agents = session.agents();
        let names = names(agents.iter().map(|agent| &**agent));
        return format!("Unknown subagent type: \"{}\". Available: {names}", prefix(wanted, 80));
    }
    match error.advice() {
        Some(hint) => format!("{}. {}", error.english(), hint.english()),
        None => error.english(),
    }
}
