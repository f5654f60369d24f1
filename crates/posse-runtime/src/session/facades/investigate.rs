//! `run_subagent {task, context, max_tool_calls}`: one investigation by the agent that only looks, waited for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use posse_core::Error;
use posse_core::context::{AudienceChange, ContextChange, ContextKey, ContextWrite};
use posse_core::grant::{AccessLevel, Rights};
use posse_core::outcome::{Outcome, StopReason};
use posse_core::pattern::ToolPattern;
use posse_core::sections::AnswerSections;
use posse_core::task::{INVESTIGATOR, TaskBounds, TaskRequest};
use posse_core::text::head_and_tail;
use posse_core::tool::{DELEGATION, ToolEffect, ToolSpec};
use posse_messages::fixed;
use serde::Deserialize;

use super::{DelegatedTask, Facade, check_room, delegate, spec, waited_for};
use crate::context::{ContextCaller, change};
use crate::ports::{BoxFuture, CallProposal, Tool, ToolInput, ToolOutput};
use crate::session::Session;

/// Investigations of one session: enough for what is worth it, and no model can spend a session's money by asking again
/// and again.
const PER_SESSION_MAX: u32 = 5;
const TOOL_CALLS_MAX: u32 = 15;
const TOOL_CALLS: u32 = 8;
/// A shorter task leaves open what is wanted.
const TASK_CHARS_MIN: usize = 30;
const TIMEOUT_MS: u64 = 60_000;

/// Limit on stored findings, well below the size limit of a context value.
const FINDINGS_BYTES_MAX: usize = 3_000;

/// Number of investigations since the last message of the person.
#[derive(Default)]
pub struct InvestigationCounter(AtomicU32);

impl InvestigationCounter {
    /// `false` if there were too many.
    fn begin(&self) -> bool {
        let more = |begun: u32| (begun < PER_SESSION_MAX).then_some(begun + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn are_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= PER_SESSION_MAX
    }

    /// One that was counted was not begun after all.
    fn take_back(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// One of an earlier process.
    pub fn recall(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// A new analysis begins.
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

    fn delegates(&self) -> bool {
        true
    }

    fn propose(&self, input: &ToolInput<'_>) -> Result<CallProposal, ToolOutput> {
        parse(input)?;
        let Some(session) = self.session.upgrade() else { return Ok(CallProposal::default()) };
        if !is_again(&session, input) && session.investigations.are_used_up() {
            return Err(used_up());
        }
        check_room(&session, input, &waited_for()).map_err(|e| failed(&e))
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error(fixed!("session-closed"));
            };
            match parse(&input) {
                Ok(call) => run(&session, &input, call).await,
                Err(mistake) => mistake,
            }
        })
    }
}

fn parse(input: &ToolInput<'_>) -> Result<InvestigateCall, ToolOutput> {
    let call: InvestigateCall =
        serde_json::from_str(input.arguments).map_err(|e| ToolOutput::mistake(e.to_string()))?;
    match call.task.trim().chars().count() {
        0 => Err(ToolOutput::mistake(fixed!("investigation-without-task"))),
        chars if chars < TASK_CHARS_MIN => Err(ToolOutput::mistake(too_short())),
        _ => Ok(call),
    }
}

/// A call that is made again after a crash was counted when it was first made.
fn is_again(session: &Session, input: &ToolInput<'_>) -> bool {
    session.family(&input.context.task).is_ok_and(|family| family.with_key(input.idempotency_key).is_some())
}

fn too_short() -> String {
    fixed!("investigation-too-brief", task_chars_min = TASK_CHARS_MIN)
}

fn used_up() -> ToolOutput {
    ToolOutput::error(fixed!("investigations-limit", per_session_max = PER_SESSION_MAX))
}

fn failed(error: &Error) -> ToolOutput {
    ToolOutput::error(fixed!("subagent-failed", why = advised(error)))
}

async fn run(session: &Session, input: &ToolInput<'_>, call: InvestigateCall) -> ToolOutput {
    let is_again = is_again(session, input);
    if !is_again && !session.investigations.begin() {
        return used_up();
    }
    match delegate(session, input, request(call)).await {
        Ok(delegated) => {
            let kept = keep(session, input, &delegated).await;
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
async fn keep(session: &Session, input: &ToolInput<'_>, delegated: &DelegatedTask) -> Option<String> {
    let may = session.grant.offers("shared_context", ToolEffect::Idempotent);
    let outcome = delegated.completed().filter(|_| may && session.facades.has(Facade::SharedContext))?;
    let sections = outcome.sections();
    let found = sections.summary.filter(|text| !text.trim().is_empty()).unwrap_or(sections.findings);
    let id = &delegated.task.id;
    let key = ContextKey::parse(&format!("findings_{}", id.short())).ok()?;
    // What is longer is in the store, under the task's name.
    let value = head_and_tail(found.trim(), FINDINGS_BYTES_MAX);
    let write = ContextWrite {
        key: key.clone(),
        value,
        expected_version: None,
        expires_at_ms: None,
        audience: AudienceChange::default(),
    };
    let (participant, request) = (session.participant(id), format!("{}/findings", input.idempotency_key));
    let caller =
        ContextCaller { session: &session.id, participant: &participant, idempotency_key: Some(&request) };
    Some(match change(&*session.store, caller, ContextChange::Write(write)).await {
        Ok(_) => format!("\n\n{}", fixed!("findings-kept", key)),
        Err(e) => format!("\n\n{}", fixed!("findings-not-kept", why = e.message())),
    })
}

/// It only looks and delegates nothing, whatever an agent of this name may do elsewhere.
fn request(call: InvestigateCall) -> TaskRequest {
    let tool_calls = call.max_tool_calls.unwrap_or(TOOL_CALLS).clamp(1, TOOL_CALLS_MAX);
    TaskRequest {
        agent: INVESTIGATOR.to_owned(),
        task: call.task,
        context: call.context,
        bounds: TaskBounds { tool_calls: call.max_tool_calls, ..TaskBounds::default() },
        door: TaskBounds { tool_calls: Some(tool_calls), wall_ms: Some(TIMEOUT_MS), ..TaskBounds::default() },
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
        // It has reported what it found within its limit, which is what was asked for.
        (Some(StopReason::ToolCallsExhausted), Some(outcome)) => {
            let stopped = fixed!("tool-calls-limit-reached");
            return ToolOutput::text(format!("{}{notes}", shown(delegated, outcome, Some(&stopped))));
        }
        (Some(StopReason::DeadlinePassed), outcome) => {
            let seconds = delegated.seconds();
            (fixed!("subagent-timed-out", seconds), outcome)
        }
        (_, outcome) => (fixed!("subagent-failed", why = delegated.failure()), outcome),
    };
    let partial = outcome
        .map(|outcome| format!("\n\n{}\n{}", fixed!("partial-findings"), delegated.bounded(&outcome.text)));
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
        parts.extend(self.stopped.map(|why| fixed!("stopped-early", why)));
        parts.push(part("findings", findings));
        parts.extend(summary.as_ref().map(|summary| part("summary", summary)));
        parts.extend(answer.as_ref().map(|answer| part("answer", answer)));
        parts.push(fixed!("tool-calls-made", tool_calls = self.tool_calls));
        parts.join("\n\n")
    }
}

fn advised(error: &Error) -> String {
    match error.advice() {
        Some(hint) => format!("{} ({})", error.message().english(), hint.english()),
        None => error.message().english().to_owned(),
    }
}
