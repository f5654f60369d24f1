//! The `subagent` tool: an orchestrator's five actions on the session, with the requests and answers of the seed
//! specification §3.

use std::sync::{Arc, Weak};

use posse_core::agent::Agent;
use posse_core::definition::{Definition, Format, Origin, Scope};
use posse_core::grant::Rights;
use posse_core::id::AgentName;
use posse_core::outcome::{Status, StopReason};
use posse_core::text::{estimate_tokens, prefix};
use posse_core::tool::{Effect, ToolSpec, canonical};
use posse_core::{Error, ErrorCode, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Done, Progress, Session, Task, usual};
use crate::ports::{BoxFuture, Tool, ToolInput, ToolOutput};

const RESULT_TOKENS_MAX: u64 = 1_000;
const PROMPT_TOKENS_MAX: u64 = 4_000;
const TURNS_DEFAULT: u32 = 10;
const TURNS_MAX: u32 = 25;
const TRUNCATED: &str = "[truncated — full response exceeded 1000 token limit]";

pub(super) struct SubagentTool {
    session: Weak<Session>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Request {
    ListAgents {},
    Define(Box<Define>),
    Spawn { agent: String, task: String },
    Status { task_id: String },
    Collect { task_id: String },
}

#[derive(Deserialize)]
struct Define {
    name: String,
    description: String,
    system_prompt: String,
    #[serde(default)]
    tools: Vec<String>,
    model: Option<String>,
    max_turns: Option<u32>,
}

impl SubagentTool {
    pub fn new(session: Weak<Session>) -> Self {
        let spec = ToolSpec {
            name: "subagent".to_owned(),
            description: include_str!("../../prompts/subagent_tool.md").trim_end().to_owned(),
            input_schema: include_str!("../../prompts/subagent_tool.schema.json").to_owned(),
            effect: Effect::Unsafe,
        };
        Self { session, spec }
    }
}

impl Tool for SubagentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error("the session is closed");
            };
            match answer(&session, input.arguments, &input.context.cancel).await {
                Ok(answer) => ToolOutput::text(answer.to_string()),
                Err(e) => ToolOutput::error(wire_error(&e).to_string()),
            }
        })
    }
}

pub(super) fn wire_error(error: &Error) -> Value {
    let mut value = json!({ "error": error.code().wire(), "message": error.message() });
    if let Some(hint) = error.advice() {
        value["hint"] = json!(hint);
    }
    value
}

async fn answer(session: &Arc<Session>, arguments: &str, cancel: &CancellationToken) -> Result<Value> {
    let request = serde_json::from_str(arguments).map_err(|e| {
        Error::new(ErrorCode::InvalidRequest, e.to_string()).hint("see the tool's description")
    })?;
    match request {
        Request::ListAgents {} => {
            let parent = session.parent()?.agent;
            let agents: Vec<Value> =
                session.agents().iter().map(|definition| listing(definition, &parent)).collect();
            Ok(json!({ "agents": agents }))
        }
        Request::Define(request) => define(session, *request),
        Request::Spawn { agent, task } => {
            let task = session.spawn(&agent, &task).await?;
            Ok(json!({ "task_id": task.id.short(), "agent": task.agent, "status": "running" }))
        }
        Request::Status { task_id } => {
            let task = session.task(&task_id)?;
            Ok(status(&task, &task.news(cancel).await))
        }
        Request::Collect { task_id } => collect(session, &task_id, cancel).await,
    }
}

/// `tools` is `null` for an agent that has what its parent has.
fn listing(definition: &Definition, parent: &Agent) -> Value {
    let limits = usual(&parent.limits);
    json!({
        "name": definition.name,
        "description": definition.description,
        "model": definition.model.candidates.first().unwrap_or(&parent.model),
        "max_turns": definition.limits.turns.map_or(limits.turns_max, |turns| turns.min(parent.limits.turns_max)),
        "tools": definition.rights.tools,
    })
}

fn define(session: &Session, request: Define) -> Result<Value> {
    let name = AgentName::parse(&request.name)?;
    let size = estimate_tokens(&request.system_prompt);
    if size > PROMPT_TOKENS_MAX {
        let text = format!("the system prompt has about {size} tokens, the limit is {PROMPT_TOKENS_MAX}");
        return Err(Error::new(ErrorCode::PromptTooLarge, text)
            .hint("keep instructions; let tools provide knowledge"));
    }
    let mut tools: Vec<String> = request.tools.iter().map(|tool| canonical(tool)).collect();
    // A subagent never delegates: the tool is left out even if it is asked for.
    tools.retain(|tool| tool != "subagent");
    if let Some(unknown) = tools.iter().find(|tool| !session.tool_names().any(|name| name == *tool)) {
        let known: Vec<&str> = session.tool_names().collect();
        return Err(Error::new(ErrorCode::InvalidTool, format!("there is no tool `{unknown}`"))
            .hint(format!("there are: {}", known.join(", "))));
    }
    let turns = request.max_turns.unwrap_or(TURNS_DEFAULT).clamp(1, TURNS_MAX);
    let answer = json!({ "defined": name, "description": request.description });
    let origin = Origin {
        path: "define".to_owned(),
        format: Format::Native,
        scope: Scope::Session,
        hash: String::new(),
    };
    let mut definition = Definition::new(name, origin, request.description, request.system_prompt);
    definition.rights = Rights::only(tools.iter().map(String::as_str));
    definition.model.candidates = request.model.into_iter().collect();
    definition.limits.turns = Some(turns);
    session.define(definition)?;
    Ok(answer)
}

fn status(task: &Task, progress: &Progress) -> Value {
    let mut value = json!({
        "task_id": task.id.short(),
        "agent": task.agent,
        "status": "running",
        "turns_used": progress.turns,
    });
    match progress.done.as_ref().map(failure) {
        None => value["elapsed_s"] = json!(task.seconds()),
        Some(None) => value["status"] = json!("completed"),
        Some(Some(error)) => {
            value["status"] = json!("failed");
            value["error"] = json!(error);
        }
    }
    value
}

async fn collect(session: &Session, task_id: &str, cancel: &CancellationToken) -> Result<Value> {
    let task = session.task(task_id)?;
    let progress = task.news(cancel).await;
    let mut value = status(&task, &progress);
    let Some(done) = progress.done else {
        let text = format!("`{task_id}` is still running, {} turns in {} s", progress.turns, task.seconds());
        return Err(Error::new(ErrorCode::TaskNotReady, text).hint("do something else and collect it later"));
    };
    session.untrack(task_id);
    value["result"] = match &done {
        Ok(outcome) if failure(&done).is_none() => json!(distilled(&outcome.text)),
        Ok(_) | Err(_) => Value::Null,
    };
    if let Some(partial) =
        done.as_ref().ok().filter(|outcome| !outcome.text.is_empty() && outcome.status() != Status::Completed)
    {
        value["partial_result"] = json!(distilled(&partial.text));
    }
    Ok(value)
}

/// Why a task failed, in the words of the seed specification §8.7; `None` if it did not.
fn failure(done: &Done) -> Option<String> {
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(e) => return Some(e.clone()),
    };
    let detail = outcome.detail.as_deref().unwrap_or("no details");
    match outcome.stop {
        StopReason::Answered if outcome.status() == Status::Completed => None,
        StopReason::Answered => Some("The final response was empty".to_owned()),
        StopReason::TurnsExhausted => {
            Some("Max turns exceeded without producing a final response".to_owned())
        }
        StopReason::ModelFailed => Some(format!("Model API error: {detail}")),
        other => Some(format!("{}: {detail}", other.wire())),
    }
}

/// At most 1000 tokens, the notice included; the full text stays in the store.
fn distilled(text: &str) -> String {
    if estimate_tokens(text) <= RESULT_TOKENS_MAX {
        return text.to_owned();
    }
    let room = RESULT_TOKENS_MAX as usize * 4 - TRUNCATED.chars().count() - 2;
    let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    format!("{}\n{TRUNCATED}", prefix(text, cut))
}
