//! The tools with which a model delegates. Each turns its arguments into one `TaskRequest` and words the result in its own
//! format; none of them manages tasks. Which tools are offered is configuration, because each costs tokens in every
//! request.

mod agent;
mod alias;
mod guidance;
pub(super) mod investigate;
pub(super) mod launch;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use posse_core::board::SpawnTerms;
use posse_core::grant::Grant;
use posse_core::lease::OnConflict;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::pattern::ToolPattern;
use posse_core::task::TaskRequest;
use posse_core::text::estimate_tokens;
use posse_core::tool::{ToolEffect, ToolSpec, own_name};
use posse_core::tool_names::suggestion;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use super::task::{Done, LiveTask};
use super::{Session, shared_context, subagent};
use crate::delegation::{Delegation, DelegationCall, failure};
use crate::ports::{AgentLookup, CallProposal, QuestionHandler, Tool, ToolInput};
use crate::toolbox::Toolbox;
pub(super) use alias::{alias_tag, tag as task_tag};
pub use guidance::guidance;
pub(super) use investigate::InvestigationCounter;

/// Characters of one answer; the whole text is in the store.
const ANSWER_CHARS_MAX: usize = 20_000;
/// Default maximum turns of a task: these tools bound by time and calls.
const TURNS: u32 = 100;
/// Time for a cancelled task to end.
const CANCEL_WAIT: Duration = Duration::from_secs(3);

macro_rules! facades {
    ($($(#[$doc:meta])* $variant:ident = $wire:literal,)*) => {
        /// Delegation tools that can be offered to a model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Facade { $($(#[$doc])* $variant,)* }

        impl Facade {
            /// Every facade.
            pub const ALL: &[Facade] = &[$(Facade::$variant,)*];

            /// Returns the name in the configuration.
            pub fn wire(self) -> &'static str {
                match self { $(Facade::$variant => $wire,)* }
            }
        }
    };
}

facades! {
    /// `subagent` with all its actions.
    Subagent = "subagent",
    /// The session's shared memory.
    SharedContext = "shared_context",
    /// `run_subagent {task, context, max_tool_calls}`: one investigation, waited for.
    RunSubagent = "run_subagent",
    /// `Agent {prompt, type, timeout}`: any agent, waited for.
    Agent = "agent",
    /// `subagent` is also described as a launch `{description, prompt, …}`. It is understood in any case.
    Launch = "launch",
}

impl Facade {
    /// Parses a name from the configuration.
    pub fn parse(name: &str) -> Result<Self> {
        let wanted = own_name(name);
        Self::ALL.iter().copied().find(|facade| facade.wire() == wanted).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|facade| facade.wire()).collect();
            Error::new(ErrorCode::InvalidTool, localized!("facade-unknown", wanted))
                .hint(suggestion(&wanted, &known))
        })
    }
}

/// The facades of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFacades(BTreeSet<Facade>);

impl Default for SessionFacades {
    fn default() -> Self {
        [Facade::Subagent, Facade::SharedContext].into_iter().collect()
    }
}

impl FromIterator<Facade> for SessionFacades {
    fn from_iter<T: IntoIterator<Item = Facade>>(facades: T) -> Self {
        Self(facades.into_iter().collect())
    }
}

impl SessionFacades {
    /// Tells whether the facade is offered.
    pub fn has(&self, facade: Facade) -> bool {
        self.0.contains(&facade)
    }

    fn has_subagent(&self) -> bool {
        self.has(Facade::Subagent) || self.has(Facade::Launch)
    }

    /// Returns the tool descriptions for the model.
    pub fn specs(&self, agents: &dyn AgentLookup) -> Vec<ToolSpec> {
        tools(self, &Weak::new(), agents).iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Returns the tool descriptions of the facades that this grant allows.
    pub fn offered(&self, agents: &dyn AgentLookup, grant: &Grant) -> Result<Vec<ToolSpec>> {
        Ok(Toolbox::new(tools(self, &Weak::new(), agents))?.offered(grant))
    }

    /// Estimates the tokens that each tool and its guidance take in a request.
    pub fn costs(&self, agents: &dyn AgentLookup) -> Vec<(String, u64)> {
        let cost = |spec: ToolSpec| (spec.name.clone(), Toolbox::cost(&[spec]));
        let mut costs: Vec<(String, u64)> = self.specs(agents).into_iter().map(cost).collect();
        costs.push(("guidance".to_owned(), estimate_tokens(&guidance(self, &agents.list(), &|_| true))));
        costs
    }
}

/// Creates the tools of these facades. Agents are only listed where a description names them.
pub(super) fn tools(
    facades: &SessionFacades,
    session: &Weak<Session>,
    agents: &dyn AgentLookup,
) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if facades.has_subagent() {
        tools.push(Arc::new(subagent::SubagentTool::new(session.clone(), facades)));
    }
    if facades.has(Facade::SharedContext) {
        tools.push(shared_context::tool(session.clone()));
    }
    if facades.has(Facade::RunSubagent) {
        tools.push(investigate::tool(session.clone()));
    }
    if facades.has(Facade::Agent) {
        tools.push(agent::tool(session.clone(), &agents.list()));
    }
    tools
}

fn spec(name: &str, description: impl Into<String>, input_schema: impl Into<String>) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.into(),
        input_schema: input_schema.into(),
        // A call that is repeated after a crash has the same key and gets the same task.
        effect: ToolEffect::Idempotent,
    }
}

/// Terms of a task whose caller waits for it: it is queued rather than rejected.
fn waited_for() -> SpawnTerms {
    SpawnTerms { queue: Some(true), ..SpawnTerms::default() }
}

/// Refuses a call early if no task can be admitted. A call that already has its task passes.
pub(super) fn check_room(
    session: &Session,
    input: &ToolInput<'_>,
    terms: &SpawnTerms,
) -> Result<CallProposal> {
    let children = session.children_of(&input.context.task)?;
    if children.with_key(input.idempotency_key).is_none() {
        children.check_room(terms)?;
    }
    Ok(CallProposal::default())
}

/// A task that was waited for. `None`: it was cancelled and has not ended yet.
pub(crate) struct DelegatedTask {
    pub task: Arc<LiveTask>,
    done: Option<Done>,
}

/// Delegates and waits. The task ends when its time or the caller's is over, or the caller is cancelled.
pub(crate) async fn delegate(
    delegation: &Delegation,
    call: DelegationCall<'_>,
    mut request: TaskRequest,
    answer: Option<&QuestionHandler>,
) -> Result<DelegatedTask> {
    let time_left = u64::try_from(call.time_left.as_millis()).unwrap_or(u64::MAX);
    let wall_ms = &mut request.door.bounds.wall_ms;
    *wall_ms = Some(wall_ms.map_or(time_left, |wall_ms| wall_ms.min(time_left)));
    request.key = Some(call.key.to_owned());
    request.terms = waited_for();
    // Siblings of the same reply may hold its paths; they end without this task.
    request.on_conflict = OnConflict::Wait;
    request.door.default_turns = request.door.default_turns.or(Some(TURNS));
    if answer.is_none() {
        // The model that could answer waits here.
        request.rights.deny.push(ToolPattern::tool("ask_parent"));
    }
    let children = delegation.children_of();
    let task = delegation.session().spawn(children, request).await?;
    let given_up = async {
        call.cancel.cancelled().await;
        tokio::time::sleep(CANCEL_WAIT).await;
    };
    let done = tokio::select! {
        biased;
        progress = task.done() => progress.done,
        () = given_up => None,
        never = answer_questions(delegation, &task, answer) => match never {},
    };
    // Its result is delivered here; no other call can collect it.
    let _ = children.collect(task.id.short());
    Ok(DelegatedTask { task, done })
}

/// Answers the questions of a task for as long as the future is polled.
async fn answer_questions(
    delegation: &Delegation,
    task: &LiveTask,
    answer: Option<&QuestionHandler>,
) -> Infallible {
    let Some(answer) = answer else { return std::future::pending().await };
    let mut changes = task.changes();
    let mut answered = 0;
    loop {
        let asked = changes.wait_for(|progress| progress.question.as_ref().is_some_and(|q| q.id > answered));
        let question = asked.await.ok().and_then(|progress| progress.question.clone());
        let Some(question) = question else { return std::future::pending().await };
        answered = question.id;
        let text = answer(&question).await;
        let key = format!("{}/answer/{}", task.id, question.id);
        // Ignored: if the answer cannot be stored, the question ends at its deadline.
        let _ = delegation.answer(task.id.short(), text, &key).await;
    }
}

impl DelegatedTask {
    fn completed(&self) -> Option<&Outcome> {
        self.outcome().filter(|outcome| outcome.status() == OutcomeStatus::Completed)
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.done.as_ref()?.as_deref().ok()
    }

    /// Why the task did not complete.
    fn failure(&self) -> String {
        let told = self.done.as_ref().map(failure);
        told.map_or_else(|| "cancelled".to_owned(), |why| why.unwrap_or_default())
    }

    /// In whole seconds, if there are any.
    fn seconds(&self) -> String {
        let wall_ms = self.task.start.agent.limits.wall_ms_max;
        match wall_ms % 1000 {
            0 => (wall_ms / 1000).to_string(),
            _ => format!("{:.1}", wall_ms as f64 / 1000.0),
        }
    }

    fn bounded(&self, text: &str) -> String {
        match text.char_indices().nth(ANSWER_CHARS_MAX) {
            None => text.to_owned(),
            Some((at, _)) => {
                let id = self.task.id.short();
                format!("{}\n[shortened: the whole text is kept as the result of {id}]", &text[..at])
            }
        }
    }

    /// Returns notes that accompany the answer.
    fn notes(&self) -> String {
        let warnings = self.outcome().map_or(&[][..], |outcome| &outcome.warnings);
        warnings.iter().map(|warning| format!("\n\n[note: {warning}]")).collect()
    }
}
