//! Agents as tools: a program registers a [`SubAgent`], and the agent that has it as a tool can hand tasks to it.

use std::future::Future;
use std::sync::{Arc, OnceLock, Weak};

use posse_core::agent::{Effort, ModelSettings};
use posse_core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format};
use posse_core::edits::FileChange;
use posse_core::event::EventEntry;
use posse_core::grant::Rights;
use posse_core::id::{AgentName, TaskId};
use posse_core::outcome::OutcomeStatus;
use posse_core::task::{DoorBounds, TaskRequest};
use posse_core::text::estimate_tokens;
use posse_core::tool::{ToolEffect, ToolSpec, canonical};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_models::providers::ModelSource;
use posse_runtime::budget::ModelTariff;
use posse_runtime::delegation::{DelegationCall, TaskPhase, TaskReport};
use posse_runtime::observe::TraceEvent;
use posse_runtime::ports::{
    AgentEquipment, Approver, BoxFuture, Delta, Model, ModelResolver, Observer, ParentQuestion,
    QuestionHandler, Tool, ToolInput, ToolOutput,
};
use posse_runtime::session::Session as SessionCore;
use serde_json::Value;

use crate::models::{ModelPick, environment_source};

const NAME: &str = "agent";
const DESCRIPTION: &str = "Spawn a sub-agent to handle a complex task autonomously. The sub-agent gets its own conversation \
                           context and inherits the parent agent's full tool set. Use this for tasks that require multi-step \
                           reasoning or focused exploration.";
const SCHEMA: &str = r#"{"type":"object","properties":{"prompt":{"type":"string","description":"The task for the sub-agent to perform"},"system":{"type":"string","description":"System prompt for the sub-agent (optional, overrides the default)"}},"required":["prompt"]}"#;
/// A prompt that a model writes for another one; longer ones are data.
const SYSTEM_TOKENS_MAX: u64 = 4_000;
/// Longest task text; a model's window is not much larger.
const PROMPT_TOKENS_MAX: u64 = 20_000;

/// An agent that is a tool of another one. [`Agent::subagent`](crate::Agent::subagent) registers it.
///
/// A call of the tool delegates a task: it waits for a free slot, has a share of the budget, is journaled as a task of its own,
/// and is resumed with its caller after a crash. Calls in one reply run side by side. The agent's conversation begins with
/// the prompt alone. It has the tools of its caller, never more, and one level of delegation less. Only its last text
/// returns.
///
/// ```no_run
/// use posse::prelude::*;
/// # async fn example() -> posse::Result<()> {
/// let lead = Agent::new("anthropic:claude-sonnet-4-5")?
///     .tools(posse::tools::files(".")?)
///     .subagent(SubAgent::on("ollama:qwen3")?.name("research").tools_allow(["read", "grep"]).max_turns(20))
///     .subagent(SubAgent::inherit().name("writer").trace_hook(|trace| eprintln!("{trace:?}")));
/// println!("{}", lead.ask("Compare the two parsers and write a summary.").await?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SubAgent {
    pub(crate) model: ModelPick,
    pub(crate) name: String,
    description: String,
    system: Option<String>,
    max_turns: u32,
    max_tokens: u32,
    temperature: Option<f32>,
    tools_allow: Option<Vec<String>>,
    filter_tool_definitions: bool,
    approver: Option<Arc<dyn Approver>>,
    trace_hook: Option<Arc<HookFunction>>,
    question_handler: Option<Arc<QuestionHandler>>,
    thinking: Option<Thinking>,
}

type HookFunction = dyn Fn(&TraceEvent<'_>) + Send + Sync;

/// Thinking of a model. Providers that count thinking in tokens (Anthropic, Gemini) take a budget and derive one
/// from an effort; the others (OpenAI) know only efforts and ignore a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Tokens.
    Budget(u32),
    Effort(Effort),
}

impl Thinking {
    /// Applies the thinking to settings of model calls.
    pub(crate) fn apply(self, settings: &mut ModelSettings) {
        match self {
            Thinking::Budget(tokens) => settings.thinking_tokens = Some(tokens),
            Thinking::Effort(effort) => settings.effort = Some(effort),
        }
    }
}

impl SubAgent {
    /// Creates a tool named `agent` that runs on your own [`Model`]. Any number of agents can share one model.
    ///
    /// Several specialized agents need a [`name`](Self::name) each: two tools of one name are an error.
    ///
    /// **What it costs.** Three things, and the number of sub-agents should be chosen with all of them in mind:
    ///
    /// 1. each invocation loads a context of its own, about 20,000 tokens in practice;
    /// 2. having any tool at all costs a flat overhead with most providers (346 tokens with Anthropic's);
    /// 3. each registered description stands in every request of the caller, about 30 tokens (142 of them: about 4,500).
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self::with(ModelPick::given(model))
    }

    /// Creates a tool named `agent` that runs on `provider:model`, with the key from the environment. Fails if there is
    /// none.
    pub fn on(model: impl AsRef<str>) -> Result<Self> {
        Self::on_source(&environment_source()?, model)
    }

    /// Creates a tool named `agent` that runs on a model of this source.
    pub fn on_source(source: &ModelSource, model: impl AsRef<str>) -> Result<Self> {
        Ok(Self::with(ModelPick::Named(source.resolve(model.as_ref())?)))
    }

    /// Creates a tool named `agent` that runs on the model of its caller.
    pub fn inherit() -> Self {
        Self::with(ModelPick::Inherited)
    }

    fn with(model: ModelPick) -> Self {
        Self {
            model,
            name: NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            system: None,
            max_turns: 30,
            max_tokens: 4_096,
            temperature: None,
            tools_allow: None,
            filter_tool_definitions: false,
            approver: None,
            trace_hook: None,
            question_handler: None,
            thinking: None,
        }
    }

    /// Sets the prices of a model given to [`new`](Self::new); ignored otherwise.
    pub fn tariff(mut self, tariff: ModelTariff) -> Self {
        if let ModelPick::Given(open) = &mut self.model {
            open.tariff = tariff;
        }
        self
    }

    /// Sets the tool's name, by which a model chooses it: `research`, `writer`. The default is `agent`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the description for the caller's model. Say what the agent is for, so that it gets the tasks it is good
    /// at.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the system prompt, unless the caller's model passes one with `system`.
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Sets the maximum turns of one invocation; 30 by default, and never more than the caller has.
    ///
    /// About 5 for tight reasoning, about 20 for research that fans out, 50 and more for edits in many steps.
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.max_turns = max_turns;
        self
    }

    /// Sets the maximum output tokens of each model call; 4096 by default.
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

    /// Allows only these of the caller's tools. An empty list means none; without a list it has all of them. A name that the
    /// caller does not have is an error when the caller starts.
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
    /// By default they are described to it: its requests then begin like those of its siblings, which a provider's prompt
    /// cache goes by. A call that is not allowed is refused in either case.
    pub fn filter_tool_definitions(mut self, on: bool) -> Self {
        self.filter_tool_definitions = on;
        self
    }

    /// Sets the approver for calls of this agent that have a side effect, instead of its caller's. The caller and other
    /// agents keep theirs.
    ///
    /// With [`AutoApprove`](posse_runtime::ports::AutoApprove) nobody is asked: that **takes a safeguard away from this agent
    /// and everything below it**. Register it on purpose, never for convenience.
    pub fn approval_handler(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Shows this agent's run to a closure as it happens: the text as it is written, calls, usage, the end. A hook that
    /// panics is logged, and the run continues.
    ///
    /// Give a hook to every agent that changes something (`edit`, `write`, `bash`), so that its operator can see each
    /// decision. Agents that only read need none.
    pub fn trace_hook<F>(mut self, hook: F) -> Self
    where
        F: Fn(&TraceEvent<'_>) + Send + Sync + 'static,
    {
        self.trace_hook = Some(Arc::new(hook));
        self
    }

    /// Lets the agent ask questions (`ask_parent`) and answers them. Without a handler it cannot ask: its caller waits for
    /// it.
    pub fn question_handler<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(ParentQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = String> + Send + 'static,
    {
        let answer = move |question: &ParentQuestion| -> BoxFuture<'static, String> {
            Box::pin(answer(question.clone()))
        };
        self.question_handler = Some(Arc::new(answer));
        self
    }

    /// Sets the thinking (reasoning) of its model, independent of the caller's. [`Thinking`] says what each provider supports.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Tells whether the agent may ask questions.
    pub(crate) fn asks(&self) -> bool {
        self.question_handler.is_some()
    }

    /// Returns the canonical names of the tools that the agent is restricted to.
    pub(crate) fn allowed(&self) -> Option<Vec<String>> {
        let names = self.tools_allow.as_ref()?;
        Some(names.iter().map(|name| canonical(name).into_owned()).collect())
    }

    /// Describes the agent to the session.
    pub(crate) fn definition(&self) -> Result<Definition> {
        let name = AgentName::parse(&self.name)?;
        let system = self.system.clone().unwrap_or_default();
        let mut definition = Definition::new(name, program_origin(), self.description.clone(), system);
        definition.limits.turns = Some(self.max_turns);
        if let Some(mut names) = self.allowed() {
            names.extend(self.asks().then(|| "ask_parent".to_owned()));
            definition.rights = Rights::only(names.iter().map(String::as_str));
        }
        definition.model.candidates = match &self.model {
            ModelPick::Named(model) => vec![model.clone()],
            ModelPick::Given(open) => vec![open.model.name().to_owned()],
            ModelPick::Inherited => Vec::new(),
        };
        Ok(definition)
    }

    /// Returns the parts that a definition cannot hold. `watched` says that an observer sees the text of the whole session.
    pub(crate) fn equipment(&self, watched: bool) -> AgentEquipment {
        let buffered = self.trace_hook.is_none() && !watched;
        let mut settings =
            ModelSettings { temperature: self.temperature, buffered, ..ModelSettings::default() };
        if let Some(thinking) = self.thinking {
            thinking.apply(&mut settings);
        }
        let observer =
            self.trace_hook.clone().map(|hook| Arc::new(TracedAgent { hook }) as Arc<dyn Observer>);
        AgentEquipment {
            settings,
            output_tokens_per_call: self.max_tokens,
            approver: self.approver.clone(),
            observer,
            shows_parent_tools: !self.filter_tool_definitions,
            inherits_delegation: self.tools_allow.is_none(),
        }
    }

    /// Makes the tool that delegates to this agent in the session that `session` will hold.
    pub(crate) fn tool(&self, session: Arc<SessionCell>) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: SCHEMA.to_owned(),
            // The same call repeated after a crash resumes the task that it started.
            effect: ToolEffect::Idempotent,
        };
        Arc::new(SubAgentTool { spec, session, answer: self.question_handler.clone() })
    }
}

/// Returns the origin of definitions that a program makes.
pub(crate) fn program_origin() -> DefinitionOrigin {
    let (path, scope) = ("program".to_owned(), DefinitionScope::Session);
    DefinitionOrigin { path, format: Format::Native, scope, hash: String::new() }
}

/// Late-bound session of a tool, which is created before its session.
pub(crate) type SessionCell = OnceLock<Weak<SessionCore>>;

/// The tool that hands a task to a [`SubAgent`].
struct SubAgentTool {
    spec: ToolSpec,
    session: Arc<SessionCell>,
    answer: Option<Arc<QuestionHandler>>,
}

impl SubAgentTool {
    async fn run(&self, input: &ToolInput<'_>) -> ToolOutput {
        let arguments: Value = serde_json::from_str(input.arguments).unwrap_or_default();
        let grant = &input.context.grant;
        if grant.depth() == 0 {
            return ToolOutput::error(grant.too_deep());
        }
        let Some(prompt) = arguments["prompt"].as_str().filter(|prompt| !prompt.trim().is_empty()) else {
            return ToolOutput::mistake("prompt is required");
        };
        let system = arguments["system"].as_str();
        if let Err(e) = system.map_or(Ok(()), check_system) {
            return ToolOutput::error(format!("Sub-agent configuration error: {}", e.english()));
        }
        let request = TaskRequest {
            agent: self.spec.name.clone(),
            task: prompt.to_owned(),
            system: system.map(str::to_owned),
            door: DoorBounds {
                task_tokens_max: Some(PROMPT_TOKENS_MAX),
                default_turns: Some(u32::MAX),
                ..DoorBounds::default()
            },
            ..TaskRequest::default()
        };
        match self.delegate(request, input).await {
            Ok(report) => output_of(report),
            Err(e) => ToolOutput::error(format!("Sub-agent error: {}", e.english())),
        }
    }

    async fn delegate(&self, request: TaskRequest, input: &ToolInput<'_>) -> Result<TaskReport> {
        let session = self.session.get().and_then(Weak::upgrade);
        let session =
            session.ok_or_else(|| Error::new(ErrorCode::Internal, "the session is closed".to_owned()))?;
        let delegation = session.delegation(&input.context.task)?;
        delegation.run(request, DelegationCall::of(input), self.answer.as_deref()).await
    }
}

fn check_system(system: &str) -> Result<()> {
    let size = estimate_tokens(system);
    if size <= SYSTEM_TOKENS_MAX {
        return Ok(());
    }
    let text = localized!("nested-prompt-too-large", size, system_tokens_max = SYSTEM_TOKENS_MAX);
    Err(Error::new(ErrorCode::PromptTooLarge, text))
}

impl Tool for SubAgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn writes_files(&self) -> bool {
        false
    }

    fn checks_arguments(&self) -> bool {
        true
    }

    fn delegates(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.run(&input).await })
    }
}

fn output_of(report: TaskReport) -> ToolOutput {
    let outcome = match report.phase {
        TaskPhase::Ended(Ok(outcome)) => outcome,
        TaskPhase::Ended(Err(why)) => return ToolOutput::error(format!("Sub-agent error: {why}")),
        TaskPhase::Running(_) => return ToolOutput::error("Sub-agent error: cancelled"),
    };
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

/// Observer that passes one agent's events to its hook.
struct TracedAgent {
    hook: Arc<HookFunction>,
}

impl Observer for TracedAgent {
    fn event(&self, entry: &EventEntry) {
        (self.hook)(&TraceEvent::Event(&entry.event));
    }

    fn delta(&self, _: &TaskId, delta: Delta<'_>) {
        (self.hook)(&TraceEvent::Delta(delta));
    }
}
