//! One task against a scripted provider; what came of it and what was sent.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use posse::budget::{ModelTariff, TaskAccount};
use posse::core::agent::{Agent, ModelSettings};
use posse::core::budget::{Amount, BudgetCaps};
use posse::core::grant::Grant;
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::TaskStart;
use posse::core::limits::Limits;
use posse::core::outcome::Outcome;
use posse::core::tool::{ToolEffect, ToolSpec};
use posse::driver::{DriverPorts, ResumeMode, StopTokens, resume, start};
use posse::inbox::TaskInbox;
use posse::models::anthropic::Anthropic;
use posse::models::governor::{MAX_IN_FLIGHT, RateGovernor};
use posse::models::http::{KeySource, ProviderEndpoint, SecretText};
use posse::models::openai_chat::OpenAiChat;
use posse::models::retry::{RetryModel, RetryPolicy};
use posse::models::watch::{StallTimeouts, WatchedModel};
use posse::observe::Observers;
use posse::ports::{BoxFuture, Model, Observer, OpenModel, Tool, ToolInput, ToolOutput};
use posse::toolbox::Toolbox;
use posse_testkit::memory::MemoryStore;
use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::LoopbackFormat;
use tokio::sync::Notify;

pub struct Played {
    pub outcome: Arc<Outcome>,
    pub sent: Vec<Recorded>,
    /// Arguments of every call that was really run.
    pub ran: Vec<String>,
    pub left: usize,
}

/// Plays these answers to a task whose agent may use `look` and not `forbidden`.
pub async fn play(format: LoopbackFormat, limits: Limits, answers: Vec<Answer>) -> Played {
    Stage { limits, ..Stage::new(format) }.play(answers).await
}

/// The same, with replies asked for as streams.
pub async fn play_streamed(format: LoopbackFormat, limits: Limits, answers: Vec<Answer>) -> Played {
    Stage { limits, buffered: false, ..Stage::new(format) }.play(answers).await
}

/// What one task is driven with. Stages that share a governor use the same key, stages that share a store the same disk.
#[derive(Clone)]
pub struct Stage {
    pub format: LoopbackFormat,
    pub limits: Limits,
    pub buffered: bool,
    pub governor: Arc<RateGovernor>,
    /// Decides the jitter.
    pub seed: u64,
    pub store: Arc<MemoryStore>,
    pub observers: Vec<Arc<dyn Observer>>,
    pub caps: BudgetCaps,
    pub tariff: ModelTariff,
    /// What the last run was charged.
    pub spent: Arc<Mutex<Amount>>,
    pub granted: &'static [&'static str],
    pub ran: Arc<Mutex<Vec<String>>>,
    /// Told when `hang` has begun, which never ends.
    pub hanging: Arc<Notify>,
}

impl Stage {
    pub fn new(format: LoopbackFormat) -> Self {
        Self {
            format,
            limits: Limits::default(),
            buffered: true,
            governor: RateGovernor::new(MAX_IN_FLIGHT),
            seed: 0,
            store: Arc::new(MemoryStore::new()),
            observers: Vec::new(),
            caps: BudgetCaps::default(),
            tariff: ModelTariff::default(),
            spent: Arc::default(),
            granted: &["look"],
            ran: Arc::default(),
            hanging: Arc::default(),
        }
    }

    pub async fn play(&self, answers: Vec<Answer>) -> Played {
        let server = Server::script(answers).await;
        let outcome = self.start("s", self.model("m", server.url())).await;
        let ran = self.ran.lock().unwrap().clone();
        Played { outcome, sent: server.requests(), ran, left: server.left() }
    }

    /// A model behind this URL, with the wrappers every provider gets.
    pub fn model(&self, name: &str, url: &str) -> Arc<dyn Model> {
        let endpoint = ProviderEndpoint::new(url, KeySource::fixed(SecretText::new("key")));
        let model: Arc<dyn Model> = match self.format {
            LoopbackFormat::Anthropic => Arc::new(Anthropic::new(endpoint, name).unwrap()),
            LoopbackFormat::OpenAiChat => Arc::new(OpenAiChat::new(endpoint, name).unwrap()),
            LoopbackFormat::OpenAiResponses | LoopbackFormat::Gemini => {
                unreachable!("these tests use two formats")
            }
        };
        let model = Arc::new(WatchedModel::new(model, StallTimeouts::default()));
        Arc::new(RetryModel::new(model, RetryPolicy::default(), self.governor.clone()).seeded(self.seed))
    }

    pub async fn start(&self, session: &str, model: Arc<dyn Model>) -> Arc<Outcome> {
        let ports = self.ports(model);
        let outcome = start(&ports, TaskId::root(session), None, "test".to_owned(), self.task()).await;
        *self.spent.lock().unwrap() = ports.budget.spent();
        outcome.unwrap()
    }

    /// Goes on with a task whose process is gone.
    pub async fn resume(&self, session: &str, model: Arc<dyn Model>) -> Arc<Outcome> {
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let ports = self.ports(model);
        let outcome = resume(&ports, TaskId::root(session), "another", onward, &self.task().grant).await;
        *self.spent.lock().unwrap() = ports.budget.spent();
        outcome.unwrap()
    }

    /// `look` answers, `hang` never ends, and `forbidden` is there but not granted.
    pub fn tools(&self) -> Toolbox {
        let tool = |name: &str, effect| -> Arc<dyn Tool> {
            let (ran, hanging) = (self.ran.clone(), self.hanging.clone());
            Arc::new(Look { spec: spec(name, effect), ran, calls: AtomicU32::new(0), hanging })
        };
        Toolbox::new([
            tool("look", ToolEffect::Pure),
            tool("hang", ToolEffect::Unsafe),
            tool("forbidden", ToolEffect::Pure),
        ])
        .unwrap()
    }

    pub fn ports(&self, model: Arc<dyn Model>) -> DriverPorts {
        DriverPorts {
            model: OpenModel { model, tariff: self.tariff.clone() },
            tools: self.tools(),
            store: self.store.clone(),
            observers: Observers::new(self.observers.clone()),
            budget: Arc::new(TaskAccount::root(self.caps)),
            stop: StopTokens::default(),
            inbox: TaskInbox::default(),
            verifier: None,
            holders: Default::default(),
            worktrees: None,
        }
    }

    pub fn task(&self) -> TaskStart {
        let agent = Agent {
            settings: ModelSettings { buffered: self.buffered, ..ModelSettings::default() },
            limits: self.limits.clone(),
            ..Agent::new(AgentName::parse("worker").unwrap(), "test:m", "You work.")
        };
        TaskStart::new(agent, "the task", Grant::root(self.granted.iter().map(|name| (*name).to_owned()), 0))
    }
}

struct Look {
    spec: ToolSpec,
    ran: Arc<Mutex<Vec<String>>>,
    calls: AtomicU32,
    hanging: Arc<Notify>,
}

fn spec(name: &str, effect: ToolEffect) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        input_schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.to_owned(),
        effect,
    }
}

impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            self.ran.lock().unwrap().push(input.arguments.to_owned());
            if self.spec.name == "hang" {
                self.hanging.notify_one();
                std::future::pending::<()>().await;
            }
            let n = self.calls.fetch_add(1, Ordering::SeqCst);
            // The same question always gets the same answer; big ones fill a context.
            let big = input.arguments.contains("99");
            ToolOutput::text(if big {
                format!("big {n} {}", "x".repeat(20_000))
            } else {
                format!("seen {}", input.arguments)
            })
        })
    }
}
