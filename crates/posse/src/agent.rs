//! One agent: a model, a prompt, tools and subagents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_core::agent::{Agent as AgentSnapshot, ModelSettings};
use posse_core::budget::BudgetCaps;
use posse_core::event::EventEntry;
use posse_core::id::{AgentName, TaskId};
use posse_core::limits::Limits;
use posse_core::outcome::Outcome;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_models::catalogue::limits_of;
use posse_models::providers::ModelSource;
use posse_runtime::budget::ModelTariff;
use posse_runtime::driver::ResumeMode;
use posse_runtime::ports::{
    Approver, BoxFuture, Model, ModelResolver, Observer, Store, TaskFilter, TaskQuery, Tool,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::answer::AgentAnswer;
use crate::compose::{ComposedSession, SessionKind, StoreChoice};
use crate::models::{ModelPick, environment_source};
use crate::stream::RunStream;
use crate::subagent::{SubAgent, Thinking};
use crate::tool::schema_of;

/// An agent: a model with a system prompt, tools, subagents and limits. [`ask`](Self::ask) runs it.
///
/// A clone is cheap and shares connections, rate limits and the store. Each `ask` is a run of its own with a fresh id; the
/// agent keeps no conversation.
///
/// ```no_run
/// use posse::prelude::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add { a: i64, b: i64 }
///
/// #[tokio::main]
/// async fn main() -> posse::Result<()> {
///     let answer = Agent::new("openai:gpt-5")?
///         .system("You are a calculator.")
///         .tool(tool("add", "Add two integers.", |Add { a, b }| async move { Ok(a + b) }))
///         .ask("What is 2 + 40?")
///         .await?;
///     println!("{answer}");
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Agent {
    pub(crate) name: String,
    pub(crate) model: ModelPick,
    pub(crate) source: Arc<ModelSource>,
    system: String,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) subagents: Vec<SubAgent>,
    settings: ModelSettings,
    limits: LimitOverrides,
    pub(crate) run: RunSettings,
}

/// Limits that the program set; otherwise the defaults.
#[derive(Clone, Default)]
struct LimitOverrides {
    turns: Option<u32>,
    tool_calls: Option<u32>,
    wall_ms: Option<u64>,
    output_tokens: Option<u32>,
}

/// Settings of a run that are not its agent's: budget, approver, observers, store, workspace, delegation.
#[derive(Clone)]
pub(crate) struct RunSettings {
    pub caps: BudgetCaps,
    pub approver: Option<Arc<dyn Approver>>,
    pub observers: Vec<Arc<dyn Observer>>,
    pub store: StoreChoice,
    pub workspace: PathBuf,
    pub max_depth: u32,
    pub max_concurrent: usize,
}

impl Agent {
    /// Creates an agent on `provider:model`. The key and the base URL come from the variables that the provider's own tools
    /// read (`OPENAI_API_KEY`, `ANTHROPIC_BASE_URL`, `OLLAMA_HOST`, …); retries, rate limits and prices are those of
    /// `posse run`. Fails if the provider is unknown or has no key.
    pub fn new(model: impl AsRef<str>) -> Result<Self> {
        Self::on_source(Arc::new(environment_source()?), model)
    }

    /// Creates an agent on a model of this source, for programs that configure providers themselves.
    pub fn on_source(source: Arc<ModelSource>, model: impl AsRef<str>) -> Result<Self> {
        let model = source.resolve(model.as_ref())?;
        Ok(Self::with(source, ModelPick::Named(model)))
    }

    /// Creates an agent on your own [`Model`].
    pub fn with_model(model: Arc<dyn Model>) -> Result<Self> {
        Ok(Self::with(Arc::new(environment_source()?), ModelPick::given(model)))
    }

    fn with(source: Arc<ModelSource>, model: ModelPick) -> Self {
        let run = RunSettings {
            caps: BudgetCaps::default(),
            approver: None,
            observers: Vec::new(),
            store: StoreChoice::memory(),
            workspace: ".".into(),
            max_depth: 1,
            max_concurrent: posse_runtime::session::DEFAULT_LIMITS.running_max,
        };
        Self {
            name: "lead".to_owned(),
            model,
            source,
            system: String::new(),
            tools: Vec::new(),
            subagents: Vec::new(),
            settings: ModelSettings::default(),
            limits: LimitOverrides::default(),
            run,
        }
    }

    /// Sets the name in events and in the store; `lead` by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the system prompt.
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// Adds a tool: made from a closure ([`tool`](crate::tool())), or any [`Tool`].
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds several tools, such as those of [`tools::files`](fn@crate::tools::files).
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds an agent as a tool.
    pub fn subagent(mut self, subagent: SubAgent) -> Self {
        self.subagents.push(subagent);
        self
    }

    /// Sets the prices of a model given to [`with_model`](Self::with_model); ignored otherwise.
    pub fn tariff(mut self, tariff: ModelTariff) -> Self {
        if let ModelPick::Given(open) = &mut self.model {
            open.tariff = tariff;
        }
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.settings.temperature = Some(temperature);
        self
    }

    /// Sets the thinking (reasoning) of the model.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        thinking.apply(&mut self.settings);
        self
    }

    /// Sets the maximum number of model turns; 50 by default. The last one has no tools: the agent reports what it has, and
    /// the run counts as partial.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.limits.turns = Some(turns);
        self
    }

    /// Sets the maximum number of tool calls of a run.
    pub fn max_tool_calls(mut self, calls: u32) -> Self {
        self.limits.tool_calls = Some(calls);
        self
    }

    /// Sets the maximum output tokens of each model call.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.limits.output_tokens = Some(tokens);
        self
    }

    /// Sets the maximum wall time of a run; one hour by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.wall_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets the maximum cost of a run, subagents included. The highest possible cost of a call is reserved before it is sent.
    /// A model without a known price is refused.
    pub fn budget_usd(mut self, usd: f64) -> Self {
        self.run.caps.cost_micros = Some(if usd.is_finite() && usd > 0.0 { (usd * 1e6) as u64 } else { 0 });
        self
    }

    /// Sets the maximum input tokens of a run, subagents included.
    pub fn max_input_tokens(mut self, tokens: u64) -> Self {
        self.run.caps.input_tokens = Some(tokens);
        self
    }

    /// Asks this approver before each call that has a side effect, also before calls of subagents.
    pub fn approval_handler(mut self, approver: impl Approver + 'static) -> Self {
        self.run.approver = Some(Arc::new(approver));
        self
    }

    /// Shows every event of the run and its subagents to a closure. Events are facts without prompt or result text.
    pub fn on_event<F: Fn(&EventEntry) + Send + Sync + 'static>(self, watch: F) -> Self {
        self.observer(EventWatch(watch))
    }

    /// Adds an observer, which also sees texts as they are written.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.run.observers.push(Arc::new(observer));
        self
    }

    /// Sets the maximum nesting depth of subagents; 1 by default, 8 at most.
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.run.max_depth = depth.min(8);
        self
    }

    /// Sets the maximum number of subagents that run at once; 5 by default. Others are queued.
    pub fn max_concurrent(mut self, tasks: usize) -> Self {
        self.run.max_concurrent = tasks.max(1);
        self
    }

    /// Sets the directory that is recorded as the run's workspace and used for write leases. Does not change where tools
    /// work.
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.run.workspace = directory.into();
        self
    }

    /// Keeps runs in a SQLite store below this directory, so that they survive the process; see
    /// [`interrupted`](Self::interrupted). Without it they are kept in memory.
    pub fn store(mut self, directory: impl AsRef<Path>) -> Self {
        self.run.store = StoreChoice::sqlite(directory.as_ref());
        self
    }

    /// Keeps runs in your own [`Store`].
    pub fn with_store(mut self, store: Arc<dyn Store>) -> Self {
        self.run.store = StoreChoice::opened(store);
        self
    }

    /// Runs the agent on a task and returns its answer. Fails unless the run completed: [`Error::outcome`] then says how it
    /// ended and has the text so far.
    ///
    /// Dropping the future cancels the run and its subagents.
    pub fn ask(&self, task: impl Into<String>) -> BoxFuture<'static, Result<AgentAnswer>> {
        let outcome = self.outcome(task);
        Box::pin(async move { AgentAnswer::of(outcome.await?) })
    }

    /// Runs the agent and returns its answer as a value. The schema of the type is sent to the model. If an
    /// answer does not satisfy it, the model is asked once to correct it; after that it is an error.
    ///
    /// ```no_run
    /// use posse::prelude::*;
    ///
    /// #[derive(Debug, Deserialize, JsonSchema)]
    /// struct Summary { title: String, points: Vec<String> }
    ///
    /// # async fn example() -> posse::Result<()> {
    /// let summary: Summary = Agent::new("gemini:gemini-2.5-pro")?.ask_as("Summarize the changelog.").await?;
    /// # Ok(()) }
    /// ```
    pub fn ask_as<T: DeserializeOwned + JsonSchema>(
        &self,
        task: impl Into<String>,
    ) -> BoxFuture<'static, Result<T>> {
        let mut typed = self.clone();
        typed.settings.output_schema = Some(schema_of::<T>().to_string());
        let answer = typed.ask(task);
        Box::pin(async move { answer.await?.data() })
    }

    /// Runs the agent and returns how the run ended, whether it completed or not.
    pub fn outcome(&self, task: impl Into<String>) -> BoxFuture<'static, Result<Arc<Outcome>>> {
        let (agent, task) = (self.clone(), task.into());
        Box::pin(async move {
            let session = agent.compose(SessionKind::Run, &[])?;
            let lead = agent.snapshot()?;
            let core = session.core.clone();
            session.finish(async move { core.run(lead, task, Vec::new(), Vec::new()).await }).await
        })
    }

    /// Runs the agent and streams its text and events. Dropping the stream cancels the run.
    pub fn stream(&self, task: impl Into<String>) -> RunStream {
        RunStream::start(self.clone(), task.into())
    }

    /// Lists the unfinished runs in the [`store`](Self::store) whose process died, oldest first.
    pub async fn interrupted(&self) -> Result<Vec<TaskId>> {
        let running = TaskQuery::running(TaskFilter::All);
        let rows = self.run.store.open()?.find_tasks(running).await?;
        let mut left: Vec<TaskId> = rows
            .into_iter()
            .filter(|row| row.parent.is_none() && !posse_runtime::liveness::lives(row))
            .map(|row| row.id)
            .collect();
        left.reverse();
        Ok(left)
    }

    /// Continues an interrupted run with its subagents. Finished tool calls are not repeated.
    ///
    /// The run has the tools that the agent has now, as far as the run's stored grant allows them.
    pub fn resume(&self, run: TaskId) -> BoxFuture<'static, Result<AgentAnswer>> {
        let agent = self.clone();
        Box::pin(async move {
            let session = agent.compose(SessionKind::Resumed(run.session().to_owned()), &[])?;
            let core = session.core.clone();
            let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
            AgentAnswer::of(session.finish(async move { core.resume(run, onward).await }).await?)
        })
    }

    /// Builds the runtime's agent.
    pub(crate) fn snapshot(&self) -> Result<AgentSnapshot> {
        let model = match &self.model {
            ModelPick::Named(model) => model.clone(),
            ModelPick::Given(open) => open.model.name().to_owned(),
            ModelPick::Inherited => {
                return Err(Error::new(ErrorCode::ModelNotConfigured, localized!("agent-without-model")));
            }
        };
        let LimitOverrides { turns, tool_calls, wall_ms, output_tokens } = self.limits;
        let defaults = limits_of(&model, None, output_tokens);
        let limits = Limits {
            turns_max: turns.unwrap_or(defaults.turns_max),
            tool_calls_max: tool_calls.unwrap_or(defaults.tool_calls_max),
            wall_ms_max: wall_ms.unwrap_or(defaults.wall_ms_max),
            ..defaults
        };
        let settings = ModelSettings { buffered: !self.is_watched(), ..self.settings.clone() };
        let name = AgentName::parse(&self.name)?;
        Ok(AgentSnapshot { settings, limits, ..AgentSnapshot::new(name, model, self.system.clone()) })
    }

    /// Tells whether an observer sees texts while they are written. Otherwise replies are not streamed.
    pub(crate) fn is_watched(&self) -> bool {
        !self.run.observers.is_empty()
    }

    pub(crate) fn compose(
        &self,
        kind: SessionKind,
        agents: &[posse_core::definition::Definition],
    ) -> Result<ComposedSession> {
        ComposedSession::new(self, kind, agents)
    }
}

/// A closure that sees events.
struct EventWatch<F>(F);

impl<F: Fn(&EventEntry) + Send + Sync> Observer for EventWatch<F> {
    fn event(&self, entry: &EventEntry) {
        (self.0)(entry);
    }
}
