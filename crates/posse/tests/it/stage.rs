//! One task against a scripted provider; what came of it and what was sent.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use posse::budget::Account;
use posse::core::agent::{Agent, ModelSettings};
use posse::core::budget::Caps;
use posse::core::grant::Grant;
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::TaskStart;
use posse::core::limits::Limits;
use posse::core::outcome::Outcome;
use posse::core::tool::{Effect, ToolSpec};
use posse::driver::{Ports, Stop, start};
use posse::models::anthropic::Anthropic;
use posse::models::http::{Credential, Endpoint, Secret};
use posse::models::openai_chat::OpenAiChat;
use posse::models::retry::{Gate, Retry, RetryPolicy};
use posse::models::watch::{Patience, Watched};
use posse::observe::Observers;
use posse::ports::{BoxFuture, Model, OpenModel, Tool, ToolInput, ToolOutput};
use posse::toolbox::Toolbox;
use posse_testkit::memory::MemoryStore;
use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::Format;

pub struct Played {
    pub outcome: Outcome,
    pub sent: Vec<Recorded>,
    /// Arguments of every call that was really run.
    pub ran: Vec<String>,
    pub left: usize,
}

/// Plays these answers to a task whose agent may use `look` and not `forbidden`.
pub async fn play(format: Format, limits: Limits, answers: Vec<Answer>) -> Played {
    play_as(format, limits, answers, true).await
}

/// The same, with replies asked for as streams.
pub async fn play_streamed(format: Format, limits: Limits, answers: Vec<Answer>) -> Played {
    play_as(format, limits, answers, false).await
}

async fn play_as(format: Format, limits: Limits, answers: Vec<Answer>, buffered: bool) -> Played {
    let server = Server::script(answers).await;
    let endpoint = Endpoint::new(server.url(), Credential::fixed(Secret::new("key")));
    let model: Arc<dyn Model> = match format {
        Format::Anthropic => Arc::new(Anthropic::new(endpoint, "m").unwrap()),
        Format::OpenAiChat => Arc::new(OpenAiChat::new(endpoint, "m").unwrap()),
        Format::OpenAiResponses | Format::Gemini => unreachable!("these tests use two formats"),
    };
    let model = Arc::new(Watched::new(model, Patience::default()));
    let model = Arc::new(Retry::new(model, RetryPolicy::default(), Gate::new()));
    let ran = Arc::new(Mutex::new(Vec::new()));
    let tool = |name: &str| -> Arc<dyn Tool> {
        Arc::new(Look { spec: spec(name), ran: ran.clone(), calls: AtomicU32::new(0) })
    };
    let ports = Ports {
        model: OpenModel { model, price: None },
        tools: Toolbox::new([tool("look"), tool("forbidden")]).unwrap(),
        store: Arc::new(MemoryStore::new()),
        observers: Observers::default(),
        budget: Account::root(Caps::default()),
        stop: Stop::default(),
    };
    let agent = Agent {
        settings: ModelSettings { buffered, ..ModelSettings::default() },
        limits,
        ..Agent::new(AgentName::parse("worker").unwrap(), "test:m", "You work.")
    };
    let task = TaskStart::new(agent, "the task", Grant::root(["look".to_owned()], 0));
    let outcome = start(&ports, TaskId::root("s"), None, "test".to_owned(), task).await.unwrap();
    let ran = ran.lock().unwrap().clone();
    Played { outcome, sent: server.requests(), ran, left: server.left() }
}

struct Look {
    spec: ToolSpec,
    ran: Arc<Mutex<Vec<String>>>,
    calls: AtomicU32,
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        input_schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.to_owned(),
        effect: Effect::Pure,
    }
}

impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            self.ran.lock().unwrap().push(input.arguments.to_owned());
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
