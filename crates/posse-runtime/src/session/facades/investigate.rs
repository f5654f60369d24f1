//! `run_subagent {task, context, max_tool_calls}`: one investigation by the read-only agent, waited for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use posse_core::Error;
use posse_core::context::{AudienceChange, ContextChange, ContextKey, ContextWrite};
use posse_core::grant::{AccessLevel, Rights};
use posse_core::outcome::{Outcome, StopReason};
use posse_core::pattern::ToolPattern;
use posse_core::sections::AnswerSections;
use posse_core::task::{DoorBounds, INVESTIGATOR, TaskBounds, TaskRequest};
use posse_core::text::head_and_tail;
use posse_core::tool::{DELEGATION, ToolEffect, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::{DelegatedTask, Facade, check_room, delegate, spec, waited_for};
use crate::context::{ContextCaller, change};
use crate::delegation::{Delegation, DelegationCall};
use crate::ports::{BoxFuture, CallProposal, Tool, ToolInput, ToolOutput};
use crate::session::Session;

/// Maximum investigations of one session, so that no model spends a session's money in a loop.
const PER_SESSION_MAX: u32 = 5;
const TOOL_CALLS_MAX: u32 = 15;
const TOOL_CALLS: u32 = 8;
/// Minimum length: a shorter task is too vague.
const TASK_CHARS_MIN: usize = 30;
const TIMEOUT_MS: u64 = 60_000;

/// Limit on stored findings, well below the size limit of a context value.
const FINDINGS_BYTES_MAX: usize = 3_000;

/// Number of investigations since the last message of the person.
#[derive(Default)]
pub struct InvestigationCounter(AtomicU32);

impl InvestigationCounter {
    /// Counts an investigation; `false` at the maximum.
    fn begin(&self) -> bool {
        let more = |begun: u32| (begun < PER_SESSION_MAX).then_some(begun + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn are_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= PER_SESSION_MAX
    }

    /// Uncounts an investigation that was not started after all.
    fn take_back(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts an investigation of an earlier process.
    pub fn recall(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Resets the count for a new analysis.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

struct RunSubagent {
    session: Weak<Session>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct InvestigateCall {
    task: String,
    context: Option<String>,
    max_tool_calls: Option<u32>,
}

/// Findings of an investigation.
struct InvestigationFindings<'a> {
    sections: AnswerSections,
    tool_calls: u32,
    stopped: Option<&'a str>,
}

/// Creates the `run_subagent` tool.
pub fn tool(session: Weak<Session>) -> Arc<dyn Tool> {
    let description = include_str!("../../../prompts/run_subagent_tool.md").trim_end();
    let schema = include_str!("../../../prompts/run_subagent_tool.schema.json");
    Arc::new(RunSubagent { session, spec: spec("run_subagent", description, schema) })
}

impl Tool for RunSubagent {
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
        parse(input.arguments)?;
        let Some(session) = self.session.upgrade() else { return Ok(CallProposal::default()) };
        let is_again = session
            .delegation(&input.context.task)
            .is_ok_and(|delegation| is_again(&delegation, DelegationCall::of(input)));
        if !is_again && session.investigations.are_used_up() {
            return Err(used_up());
        }
        check_room(&session, input, &waited_for()).map_err(|e| failed(&e))
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error(crate::session::SESSION_CLOSED);
            };
            let task = match parse(input.arguments) {
                Ok(task) => task,
                Err(mistake) => return mistake,
            };
            match session.delegation(&input.context.task) {
                Ok(delegation) => run(&delegation, DelegationCall::of(&input), task).await,
                Err(e) => failed(&e),
            }
        })
    }
}

fn parse(arguments: &str) -> Result<InvestigateCall, ToolOutput> {
    checked(serde_json::from_str(arguments))
}

fn checked(call: serde_json::Result<InvestigateCall>) -> Result<InvestigateCall, ToolOutput> {
    let call = call.map_err(|e| ToolOutput::mistake(e.to_string()))?;
    match call.task.trim().chars().count() {
        0 => Err(ToolOutput::mistake(
            "Task too brief. Include: what to investigate, where to look, what to return.",
        )),
        chars if chars < TASK_CHARS_MIN => Err(ToolOutput::mistake(too_short())),
        _ => Ok(call),
    }
}

/// Performs a call of the `run_subagent` tool whose arguments fit the schema.
pub async fn respond(delegation: &Delegation, call: DelegationCall<'_>, arguments: Value) -> ToolOutput {
    match checked(serde_json::from_value(arguments)) {
        Ok(task) => run(delegation, call, task).await,
        Err(mistake) => mistake,
    }
}

/// A call that is repeated after a crash was counted the first time.
fn is_again(delegation: &Delegation, call: DelegationCall<'_>) -> bool {
    delegation.children_of().with_key(call.key).is_some()
}

fn too_short() -> String {
    format!(
        "Task too brief ({TASK_CHARS_MIN}+ chars needed). Include: WHAT to investigate, WHERE to look, \
         WHAT to return."
    )
}

fn used_up() -> ToolOutput {
    ToolOutput::error(format!(
        "Maximum subagents ({PER_SESSION_MAX}) reached. Use direct tools for remaining investigations."
    ))
}

fn failed(error: &Error) -> ToolOutput {
    ToolOutput::error(format!("Subagent failed: {}", advised(error)))
}

async fn run(delegation: &Delegation, call: DelegationCall<'_>, task: InvestigateCall) -> ToolOutput {
    let (session, is_again) = (delegation.session(), is_again(delegation, call));
    if !is_again && !session.investigations.begin() {
        return used_up();
    }
    match delegate(delegation, call, request(task), None).await {
        Ok(delegated) => {
            let kept = keep(session, call, &delegated).await;
            let answer = answer(&delegated);
            ToolOutput { text: format!("{}{}", answer.text, kept.unwrap_or_default()), ..answer }
        }
        Err(e) => {
            if !is_again {
                session.investigations.take_back();
            }
            failed(&e)
        }
    }
}

/// Stores the findings in shared context, where the session has one, and returns a note about them.
async fn keep(session: &Session, call: DelegationCall<'_>, delegated: &DelegatedTask) -> Option<String> {
    let may = session.policy.grant.offers("shared_context", ToolEffect::Idempotent);
    let outcome =
        delegated.completed().filter(|_| may && session.policy.facades.has(Facade::SharedContext))?;
    let sections = outcome.sections();
    let found = sections.summary.filter(|text| !text.trim().is_empty()).unwrap_or(sections.findings);
    let id = &delegated.task.id;
    let key = ContextKey::parse(&format!("findings_{}", id.short())).ok()?;
    // Longer findings are in the store, under the task's name.
    let value = head_and_tail(found.trim(), FINDINGS_BYTES_MAX);
    let write = ContextWrite {
        key: key.clone(),
        value,
        expected_version: None,
        expires_at_ms: None,
        audience: AudienceChange::default(),
    };
    let (participant, request) = (session.participant(id), format!("{}/findings", call.key));
    let caller =
        ContextCaller { session: &session.id, participant: &participant, idempotency_key: Some(&request) };
    Some(match change(&*session.sources.store, caller, ContextChange::Write(write)).await {
        Ok(_) => format!("\n\n[kept in shared context as `{key}`]"),
        Err(e) => format!("\n\n[not kept in shared context: {}]", e.message().english()),
    })
}

/// Restricts the agent to reading, without delegation, whatever its definition allows.
fn request(call: InvestigateCall) -> TaskRequest {
    let tool_calls = call.max_tool_calls.unwrap_or(TOOL_CALLS).clamp(1, TOOL_CALLS_MAX);
    let door =
        TaskBounds { tool_calls: Some(tool_calls), wall_ms: Some(TIMEOUT_MS), ..TaskBounds::default() };
    TaskRequest {
        agent: INVESTIGATOR.to_owned(),
        task: call.task,
        context: call.context,
        bounds: TaskBounds { tool_calls: call.max_tool_calls, ..TaskBounds::default() },
        door: DoorBounds { bounds: door, ..DoorBounds::default() },
        rights: Rights {
            deny: vec![ToolPattern::tool(DELEGATION)],
            access: AccessLevel::ReadOnly,
            ..Rights::default()
        },
        ..TaskRequest::default()
    }
}

fn answer(delegated: &DelegatedTask) -> ToolOutput {
    let notes = delegated.notes();
    if let Some(outcome) = delegated.completed() {
        return ToolOutput::text(format!("{}{notes}", shown(delegated, outcome, None)));
    }
    let outcome = delegated.outcome().filter(|outcome| !outcome.text.trim().is_empty());
    let (why, outcome) = match (delegated.outcome().map(|outcome| outcome.stop), outcome) {
        // It reported its findings within its limit, as requested.
        (Some(StopReason::ToolCallsExhausted), Some(outcome)) => {
            let stopped = "the limit of tool calls was reached; what follows may be incomplete".to_owned();
            return ToolOutput::text(format!("{}{notes}", shown(delegated, outcome, Some(&stopped))));
        }
        (Some(StopReason::DeadlinePassed), outcome) => {
            let seconds = delegated.seconds();
            (format!("Subagent timed out after {seconds}s. Break into smaller tasks."), outcome)
        }
        (_, outcome) => (format!("Subagent failed: {}", delegated.failure()), outcome),
    };
    let partial =
        outcome.map(|outcome| format!("\n\nPartial findings:\n{}", delegated.bounded(&outcome.text)));
    ToolOutput::error(format!("{why}{}{notes}", partial.unwrap_or_default()))
}

fn shown(delegated: &DelegatedTask, outcome: &Outcome, stopped: Option<&str>) -> String {
    let sections = outcome.sections();
    let sections = AnswerSections { findings: delegated.bounded(&sections.findings), ..sections };
    InvestigationFindings { sections, tool_calls: outcome.tool_calls, stopped }.to_text()
}

impl InvestigationFindings<'_> {
    fn to_text(&self) -> String {
        let part = |tag: &str, text: &str| format!("<{tag}>\n{text}\n</{tag}>");
        let AnswerSections { findings, summary, answer } = &self.sections;
        let mut parts = Vec::new();
        parts.extend(self.stopped.map(|why| format!("Stopped early: {why}.")));
        parts.push(part("findings", findings));
        parts.extend(summary.as_ref().map(|summary| part("summary", summary)));
        parts.extend(answer.as_ref().map(|answer| part("answer", answer)));
        parts.push(format!("Tool calls made: {}", self.tool_calls));
        parts.join("\n\n")
    }
}

fn advised(error: &Error) -> String {
    match error.advice() {
        Some(hint) => format!("{} ({})", error.message().english(), hint.english()),
        None => error.message().english().to_owned(),
    }
}
