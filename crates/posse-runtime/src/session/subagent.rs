//! The `subagent` tool: reads the arguments of a call, performs them through `Delegation`, and prints the answer. The
//! requests and answers of the five core actions are those of requirements R078 to R111.

use std::sync::Weak;

use posse_core::arguments::parse_object;
use posse_core::grant::Grant;
use posse_core::id::{AgentName, CallKey, TaskId};
use posse_core::outcome::OutcomeStatus;
use posse_core::state::TaskState;
use posse_core::tool::{DELEGATION, ToolEffect, ToolSpec};
use posse_core::{Error, Result};
use serde_json::{Map, Value};

use super::Session;
use super::facades::{Facade, SessionFacades, check_room, launch};
use crate::delegation::{
    ACTIONS, CancelReport, Delegation, DelegationAnswer, DelegationCall, DelegationRequest, SpawnReceipt,
    ToolReply,
};
use crate::ports::{BoxFuture, CallProposal, DelegationFact, Tool, ToolContext, ToolInput, ToolOutput};

const DESCRIPTION: &str = include_str!("../../prompts/subagent_tool.md");
const SCHEMA: &str = include_str!("../../prompts/subagent_tool.schema.json");
/// Omitted from the description without shared context.
const SHARED_CONTEXT_ADVICE: &str = " Put larger context into shared_context and name the key in the task.";
const LAUNCH_DESCRIPTION: &str = include_str!("../../prompts/launch_tool.md");
const LAUNCH_SCHEMA: &str = include_str!("../../prompts/launch_tool.schema.json");

pub(super) struct SubagentTool {
    session: Weak<Session>,
    spec: ToolSpec,
}

impl SubagentTool {
    /// Creates the `subagent` tool.
    pub fn new(session: Weak<Session>, facades: &SessionFacades) -> Self {
        let (mut description, mut schema) = (DESCRIPTION.trim_end().to_owned(), SCHEMA.to_owned());
        if !facades.has(Facade::SharedContext) {
            description = description.replacen(SHARED_CONTEXT_ADVICE, "", 1);
        }
        if facades.has(Facade::Launch) {
            description = format!("{description}\n\n{}", LAUNCH_DESCRIPTION.trim_end());
            schema = with_launch(&schema);
        }
        let spec = ToolSpec {
            name: DELEGATION.to_owned(),
            description,
            input_schema: schema,
            // A call that is repeated after a crash has the same key and gets the same task.
            effect: ToolEffect::Idempotent,
        };
        Self { session, spec }
    }
}

impl Tool for SubagentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn writes_files(&self) -> bool {
        false
    }

    fn spec_for(&self, grant: &Grant) -> ToolSpec {
        let mut spec = self.spec.clone();
        if !grant.offers("shared_context", ToolEffect::Idempotent) {
            spec.description = spec.description.replacen(SHARED_CONTEXT_ADVICE, "", 1);
        }
        spec
    }

    /// The tool has two call formats, each with its own error messages.
    fn checks_arguments(&self) -> bool {
        true
    }

    fn propose(&self, input: &ToolInput<'_>) -> std::result::Result<CallProposal, ToolOutput> {
        let mistaken = |e| ToolReply::mistaken(&e);
        let arguments = parse_object(input.arguments).map_err(mistaken)?;
        let Some(session) = self.session.upgrade() else { return Ok(CallProposal::default()) };
        if launch::is_meant(&arguments) {
            return launch::propose(&session, input, &arguments);
        }
        match DelegationRequest::read(arguments).map_err(mistaken)? {
            DelegationRequest::Spawn(request) => {
                check_room(&session, input, &request.terms).map_err(|e| ToolReply::failed(&e).into())
            }
            _ => Ok(CallProposal::default()),
        }
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error(crate::session::SESSION_CLOSED);
            };
            let arguments = match parse_object(input.arguments) {
                Ok(arguments) => arguments,
                Err(e) => return ToolReply::mistaken(&e).into(),
            };
            let (context, named) = (input.context, NamedInCall::read(&arguments));
            let (caller, call) = (&context.task, DelegationCall::of(&input));
            let outcome = perform(session.delegation(caller), arguments, call, Some(context)).await;
            if let Some(fact) = named.and_then(|named| outcome.fact(named, caller, input.key)) {
                session.watchers.observers.delegation(caller, &fact);
            }
            outcome.into_reply().into()
        })
    }
}

/// Performs a call of the `subagent` tool; `context` is that of the caller's run, if it has one.
pub(super) async fn perform(
    delegation: Result<Delegation>,
    arguments: Map<String, Value>,
    call: DelegationCall<'_>,
    context: Option<&ToolContext>,
) -> SubagentOutcome {
    if launch::is_meant(&arguments) {
        let launched = launch::launch(delegation, &arguments, call.key, context).await;
        return SubagentOutcome::Launched(launched);
    }
    let request = match DelegationRequest::read(arguments) {
        Ok(request) => request,
        Err(e) => return SubagentOutcome::Mistaken(e),
    };
    let answered = async { delegation?.perform(request, call).await };
    SubagentOutcome::Answered(answered.await)
}

/// Outcome of a call, before it is printed.
pub(super) enum SubagentOutcome {
    Launched(ToolOutput),
    /// The arguments were wrong.
    Mistaken(Error),
    Answered(Result<DelegationAnswer>),
}

impl SubagentOutcome {
    /// Prints the outcome as the tool's reply.
    pub fn into_reply(self) -> ToolReply {
        match self {
            SubagentOutcome::Launched(output) => output.into(),
            SubagentOutcome::Mistaken(e) => ToolReply::mistaken(&e),
            SubagentOutcome::Answered(Ok(answer)) => {
                ToolReply { pending: answer.is_pending(), ..ToolReply::object(answer.to_json()) }
            }
            SubagentOutcome::Answered(Err(e)) => ToolReply::failed(&e),
        }
    }

    /// Returns the facts of the call for observers; `None` for a launch, which is no action.
    fn fact(&self, named: NamedInCall, caller: &TaskId, call: CallKey) -> Option<DelegationFact> {
        let NamedInCall { action, task, agent } = named;
        let task = task.map(|short| TaskId::from_store(format!("{}.{short}", caller.session())));
        let named = DelegationFact { call, action, task, agent, state: None, turns: None, error: None };
        match self {
            SubagentOutcome::Launched(_) => None,
            SubagentOutcome::Mistaken(e) | SubagentOutcome::Answered(Err(e)) => {
                Some(DelegationFact { error: Some(e.code()), ..named })
            }
            SubagentOutcome::Answered(Ok(answer)) => Some(with_answer(named, answer)),
        }
    }
}

fn with_answer(named: DelegationFact, answer: &DelegationAnswer) -> DelegationFact {
    match answer {
        DelegationAnswer::Spawned(SpawnReceipt { id, agent, failure, .. }) => {
            let failed = failure.is_some().then_some(TaskState::Ended(OutcomeStatus::Failed));
            let state = Some(failed.unwrap_or(TaskState::Running));
            DelegationFact { task: Some(id.clone()), agent: Some(agent.clone()), state, ..named }
        }
        DelegationAnswer::Status(report)
        | DelegationAnswer::Collected(report)
        | DelegationAnswer::Cancelled(CancelReport { task: report, .. }) => DelegationFact {
            task: Some(report.id.clone()),
            agent: Some(report.agent.clone()),
            state: Some(report.state()),
            turns: Some(report.turns),
            ..named
        },
        _ => named,
    }
}

/// Names in the arguments of a call. Free text in the field of a name is left out.
struct NamedInCall {
    action: &'static str,
    /// Id within the session.
    task: Option<String>,
    agent: Option<AgentName>,
}

impl NamedInCall {
    /// Reads the names; `None` if the call names no action.
    fn read(arguments: &Map<String, Value>) -> Option<Self> {
        const ID_BYTES_MAX: usize = 64;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let wanted = text("action")?;
        let action = ACTIONS.iter().find(|known| known.action == wanted)?.action;
        let is_id = |id: &&str| {
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            (1..=ID_BYTES_MAX).contains(&id.len()) && id.chars().all(legal)
        };
        let task = text("task_id").filter(is_id).map(str::to_owned);
        let agent = text("agent").or_else(|| text("name")).and_then(|name| AgentName::parse(name).ok());
        Some(Self { action, task, agent })
    }
}

/// A launch has no action.
fn with_launch(schema: &str) -> String {
    let parse = |text: &str| -> Map<String, Value> {
        serde_json::from_str(text).expect("our own schemas are objects; a test reads them")
    };
    let mut schema = parse(schema);
    schema.remove("required");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(parse(LAUNCH_SCHEMA));
    }
    Value::Object(schema).to_string()
}
