//! Agents as tools: a program registers a [`SubAgent`] under a name of its own, and whoever has that tool can hand a task to it.

use std::sync::Arc;
use std::time::Duration;

use posse_core::agent::{Agent, Effort, ModelSettings};
use posse_core::budget::BudgetCaps;
use posse_core::edits::FileChange;
use posse_core::event::EventEntry;
use posse_core::grant::{Grant, Rights};
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::limits::Limits;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::text::estimate_tokens;
use posse_core::tool::{ToolEffect, ToolSpec, canonical};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::budget::ModelTariff;
use posse_runtime::driver::{self, DriverPorts, NestedRuns, ResumeMode, StopTokens};
use posse_runtime::inbox::TaskInbox;
use posse_runtime::observe::TraceEvent;
use posse_runtime::ports::{
    Approver, BoxFuture, Delta, Model, Observer, OpenModel, Store, Tool, ToolContext, ToolInput, ToolOutput,
};
use serde_json::Value;

const NAME: &str = "agent";
const DESCRIPTION: &str = "Spawn a sub-agent to handle a complex task autonomously. The sub-agent gets its own conversation \
                           context and inherits the parent agent's full tool set. Use this for tasks that require multi-step \
                           reasoning or focused exploration.";
const SCHEMA: &str = r#"{"type":"object","properties":{"prompt":{"type":"string","description":"The task for the sub-agent to perform"},"system":{"type":"string","description":"System prompt for the sub-agent (optional, overrides the default)"}},"required":["prompt"]}"#;
/// A prompt that a model writes for another one; longer ones are data.
const SYSTEM_TOKENS_MAX: u64 = 4_000;

/// A tool that runs an agent of its own inside the run that calls it, with the same loop, store, observers and budget.
///
/// The agent's conversation begins with the prompt alone. It has the tools of its caller, never more, one level of
/// delegation less, and ends when its caller does. Only its last text returns.
///
/// ```no_run
/// # fn example(model: std::sync::Arc<dyn posse::ports::Model>) -> posse::Result<()> {
/// use std::sync::Arc;
/// use posse::{SubAgent, ports::Tool, toolbox::Toolbox};
///
/// let research = SubAgent::new(model.clone()).name("research").tools_allow(["read", "grep"]).max_turns(20);
/// let writer = SubAgent::new(model).name("writer").max_turns(50).trace_hook(|trace| eprintln!("{trace:?}"));
/// let tools = Toolbox::new([Arc::new(research) as Arc<dyn Tool>, Arc::new(writer)])?;
/// # Ok(()) }
/// ```
pub struct SubAgent {
    model: OpenModel,
    spec: ToolSpec,
    system: Option<String>,
    max_turns: u32,
    max_tokens: u32,
    temperature: Option<f32>,
    tools_allow: Option<Vec<String>>,
    filter_tool_definitions: bool,
    approver: Option<Arc<dyn Approver>>,
    trace_hook: Option<Arc<Hook>>,
    thinking: Option<Thinking>,
}

type Hook = dyn Fn(&TraceEvent<'_>) + Send + Sync;

/// Thinking of a model. Providers that count thinking in tokens (Anthropic, Gemini) take a budget and derive one
/// from an effort; the others (OpenAI) know only efforts and ignore a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Tokens.
    Budget(u32),
    Effort(Effort),
}

impl SubAgent {
    /// A tool named `agent` that runs on this model. One model serves any number of them; nothing of it is copied.
    ///
    /// Several specialised ones need a [`name`](Self::name) each: a toolbox with two tools of one name is an error.
    ///
    /// **What it costs.** Three things, and the number of sub-agents should be chosen with all of them in mind:
    ///
    /// 1. each invocation loads a context of its own, about 20,000 tokens in practice;
    /// 2. having any tool at all costs a flat overhead with most providers (346 tokens with Anthropic's);
    /// 3. each registered description stands in every request of the caller, about 30 tokens (142 of them: about 4,500).
    pub fn new(model: Arc<dyn Model>) -> Self {
        let spec = ToolSpec {
            name: NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: SCHEMA.to_owned(),
            // The same call made again after a crash goes on with the task that it began.
            effect: ToolEffect::Idempotent,
        };
        Self {
            model: OpenModel { model, tariff: ModelTariff::default() },
            spec,
            system: None,
            max_turns: 30,
            max_tokens: 4_096,
            temperature: None,
            tools_allow: None,
            filter_tool_definitions: false,
            approver: None,
            trace_hook: None,
            thinking: None,
        }
    }

    /// Sets the prices of the model and its fallbacks, so that a budget in money can be kept.
    pub fn tariff(mut self, tariff: ModelTariff) -> Self {
        self.model.tariff = tariff;
        self
    }

    /// The tool's name, by which a model chooses it: `research`, `writer`. The default is `agent`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.spec.name = name.into();
        self
    }

    /// Sets the description for the caller's model. Say what the agent is for, so that it gets the tasks it is good
    /// at.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.description = description.into();
        self
    }

    /// The system prompt, unless the caller's model passes one with `system`.
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Turns of one invocation; 30 by default, and never more than the caller has.
    ///
    /// About 5 for tight reasoning, about 20 for research that fans out, 50 and more for edits in many steps.
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.max_turns = max_turns;
        self
    }

    /// Output tokens of each model call; 4096 by default.
    ///
    /// About 1024 for short reasoning, about 4096 for summaries of research, 8192 and more for long plans of edits. Larger
    /// ones cost time and money even when they are not used up.
    pub fn max_tokens(mut self, max_tokens: u32) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Only these of the caller's tools. An empty list means none; without a list it has all of them.
    pub fn tools_allow<I, S>(mut self, tools: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.tools_allow = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Hides tools that this agent may not call.
    ///
    /// By default they are not: its requests then begin like those of its siblings, which a provider's prompt cache goes
    /// by. A call that is not allowed is refused in either case.
    pub fn filter_tool_definitions(mut self, on: bool) -> Self {
        self.filter_tool_definitions = on;
        self
    }

    /// Sets the approver for calls of this agent that have an effect, instead of its caller's. The caller and other agents
    /// keep theirs.
    ///
    /// With [`AutoApprove`](posse_runtime::ports::AutoApprove) nobody is asked: that **takes a safeguard away from this agent
    /// and everything below it**. Register it on purpose, never for convenience.
    pub fn approval_handler(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sees everything that happens in this agent's run, as it happens: the text as it is written, calls, usage, the end. A
    /// hook that panics is logged, and the run goes on.
    ///
    /// Give one to every agent that changes something (`edit`, `write`, `bash`), so that whoever answers for it can see
    /// each decision. Agents that only look are fine without.
    pub fn trace_hook<F>(mut self, hook: F) -> Self
    where
        F: Fn(&TraceEvent<'_>) + Send + Sync + 'static,
    {
        self.trace_hook = Some(Arc::new(hook));
        self
    }

    /// Sets the thinking of its model, independent of the caller's. See [`Thinking`] for what each provider makes
    /// of it.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    async fn run(&self, input: &ToolInput<'_>, arguments: &Value) -> ToolOutput {
        let Some(nesting) = &input.context.nesting else {
            return ToolOutput::error("Sub-agent configuration error: there is no run to be part of");
        };
        if nesting.grant.depth() == 0 {
            return ToolOutput::error(nesting.grant.too_deep());
        }
        let Some(prompt) = arguments["prompt"].as_str().filter(|prompt| !prompt.trim().is_empty()) else {
            return ToolOutput::mistake("prompt is required");
        };
        let id = TaskId::nested(&input.context.task, &self.spec.name, input.key);
        let prepared = self.prepare(input.context, nesting, prompt, arguments["system"].as_str());
        let (start, mut ports) = match prepared {
            Ok(prepared) => prepared,
            Err(e) => return ToolOutput::error(format!("Sub-agent configuration error: {}", e.english())),
        };
        if let Some(hook) = &self.trace_hook {
            ports.observers =
                ports.observers.with(Arc::new(TracedObserver { hook: hook.clone(), task: id.clone() }));
        }
        match drive(&ports, id, &input.context.task, start).await {
            Ok(outcome) => answer(&outcome),
            Err(e) => ToolOutput::error(format!("Sub-agent error: {}", e.english())),
        }
    }

    /// The agent as its caller can have it.
    fn prepare(
        &self,
        context: &ToolContext,
        nesting: &NestedRuns,
        prompt: &str,
        system: Option<&str>,
    ) -> Result<(TaskStart, DriverPorts)> {
        let system = system.or(self.system.as_deref()).unwrap_or_default();
        let size = estimate_tokens(system);
        if size > SYSTEM_TOKENS_MAX {
            let text = localized!("nested-prompt-too-large", size, system_tokens_max = SYSTEM_TOKENS_MAX);
            return Err(Error::new(ErrorCode::PromptTooLarge, text));
        }
        let rights = self.rights();
        let agent = Agent {
            description: self.spec.description.clone(),
            rights: rights.clone(),
            settings: self.settings(nesting),
            limits: self.limits(&nesting.limits, context.time_left),
            ..Agent::new(AgentName::parse(&self.spec.name)?, self.model.model.name(), system)
        };
        let grant = nesting.grant.narrow(&rights);
        let workspace = nesting.workspace.clone();
        let start = TaskStart { workspace, ..TaskStart::new(agent, prompt, grant.clone()) };
        Ok((start, self.ports(context, nesting, &grant)?))
    }

    fn rights(&self) -> Rights {
        let names: Option<Vec<String>> = self
            .tools_allow
            .as_ref()
            .map(|names| names.iter().map(|name| canonical(name).into_owned()).collect());
        names.map_or_else(Rights::default, |names| Rights::only(names.iter().map(String::as_str)))
    }

    fn settings(&self, nesting: &NestedRuns) -> ModelSettings {
        let (mut effort, mut thinking_tokens) = (None, None);
        match self.thinking {
            Some(Thinking::Budget(tokens)) => thinking_tokens = Some(tokens),
            Some(Thinking::Effort(asked)) => effort = Some(asked),
            None => {}
        }
        // Where nobody watches, a reply in pieces is only work.
        let unwatched = self.trace_hook.is_none() && nesting.observers.is_empty();
        let buffered = nesting.settings.buffered || unwatched;
        ModelSettings {
            temperature: self.temperature,
            effort,
            thinking_tokens,
            output_schema: None,
            buffered,
        }
    }

    fn limits(&self, of_caller: &Limits, time_left: Duration) -> Limits {
        let time_left = u64::try_from(time_left.as_millis()).unwrap_or(u64::MAX);
        of_caller.narrow(&Limits {
            turns_max: self.max_turns,
            output_tokens_per_call: self.max_tokens,
            output_tokens_per_call_max: self.max_tokens,
            wrap_up_tokens: of_caller.wrap_up_tokens.min(self.max_tokens),
            wall_ms_max: time_left,
            ..of_caller.clone()
        })
    }

    fn ports(&self, context: &ToolContext, nesting: &NestedRuns, grant: &Grant) -> Result<DriverPorts> {
        let budget = nesting.budget.child(BudgetCaps::default());
        let budget =
            budget.map_err(|shortfall| Error::new(ErrorCode::BudgetExceeded, shortfall.of_reservation()))?;
        let mut tools = nesting.tools.clone();
        if let Some(approver) = &self.approver {
            tools = tools.approved_by(approver.clone());
        }
        let shown = if self.filter_tool_definitions { grant } else { &*nesting.grant };
        Ok(DriverPorts {
            model: self.model.clone(),
            tools: tools.showing(shown.clone()),
            store: nesting.store.clone(),
            observers: nesting.observers.clone(),
            budget: Arc::new(budget),
            stop: StopTokens::new(nesting.stop.soon.child_token(), context.cancel.child_token()),
            inbox: TaskInbox::default(),
            verifier: None,
            holders: nesting.holders,
            worktrees: None,
        })
    }
}

impl Tool for SubAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn checks_arguments(&self) -> bool {
        true
    }

    fn delegates(&self) -> bool {
        true
    }

    /// Holds nothing while the agent runs, so that it may itself call what its caller has.
    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments: Value = serde_json::from_str(input.arguments).unwrap_or_default();
            self.run(&input, &arguments).await
        })
    }
}

/// Begins the task, or goes on with it if an earlier process began it.
async fn drive(ports: &DriverPorts, id: TaskId, parent: &TaskId, start: TaskStart) -> Result<Arc<Outcome>> {
    let store = &*ports.store;
    let owner = store.task(parent).await?.owner;
    match store.task(&id).await {
        Err(e) if e.code() == ErrorCode::TaskNotFound => {
            driver::start(ports, id, Some(parent.clone()), owner, start).await
        }
        Err(e) => Err(e),
        Ok(row) if row.state.is_running() => {
            let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
            driver::resume(ports, id, &owner, onward, &start.grant).await
        }
        Ok(_) => ended(store, &id).await,
    }
}

async fn ended(store: &dyn Store, id: &TaskId) -> Result<Arc<Outcome>> {
    let outcome = store.records(id).await?.into_iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome),
        _ => None,
    });
    outcome.ok_or_else(|| Error::new(ErrorCode::JournalInvalid, localized!("nested-without-outcome", id)))
}

fn answer(outcome: &Outcome) -> ToolOutput {
    let changed = outcome.changed_files.iter().map(FileChange::named).collect();
    if outcome.status() == OutcomeStatus::Completed {
        return ToolOutput { changed, ..ToolOutput::text(outcome.text.clone()) };
    }
    let why = match &outcome.detail {
        Some(detail) => format!("{}: {detail}", outcome.stop.wire()),
        None => outcome.stop.wire().to_owned(),
    };
    let so_far = match outcome.text.trim() {
        "" => String::new(),
        text => format!("\n\nWhat it had so far:\n{text}"),
    };
    ToolOutput { changed, ..ToolOutput::error(format!("Sub-agent error: {why}{so_far}")) }
}

/// The hook sees its own agent and nobody else's.
struct TracedObserver {
    hook: Arc<Hook>,
    task: TaskId,
}

impl Observer for TracedObserver {
    fn event(&self, entry: &EventEntry) {
        if entry.task_id == self.task {
            (self.hook)(&TraceEvent::Event(&entry.event));
        }
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        if *task == self.task {
            (self.hook)(&TraceEvent::Delta(delta));
        }
    }
}
