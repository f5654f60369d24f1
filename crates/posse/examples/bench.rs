//! One agent, or an orchestrator that delegates to many at once, on any OpenAI-compatible endpoint, with everything a
//! program gets: session, journal on disk, retries, governor.
//!
//! Speaks the command line of our benchmark against other frameworks:
//!
//!     bench --base-url http://127.0.0.1:8080/v1 --mode fanout|single --n 50 --turns 5 --tool-bytes 64 [--stream] [--state DIR]
//!
//! The journal is in SQLite below DIR; `--state memory` keeps it in memory, as the library does unless told otherwise.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::num::ParseIntError;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use posse::budget::ModelTariff;
use posse::core::agent::{Agent, ModelSettings};
use posse::core::board::{BoardLimits, OnLimit};
use posse::core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format, ModelChoice};
use posse::core::grant::{Grant, Rights};
use posse::core::id::AgentName;
use posse::core::limits::Limits;
use posse::core::outcome::OutcomeStatus;
use posse::core::task::TaskRequest;
use posse::core::tool::{ToolEffect, ToolSpec};
use posse::memory::MemoryStore;
use posse::models::governor::RateGovernor;
use posse::models::http::{KeySource, ProviderEndpoint, ProviderTransport, SecretText};
use posse::models::openai_chat::OpenAiChat;
use posse::models::retry::{RetryModel, RetryPolicy};
use posse::models::watch::{StallTimeouts, WatchedModel};
use posse::ports::{BoxFuture, ModelResolver, OpenModel, Tool, ToolInput, ToolOutput};
use posse::session::{Session, SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers};
use posse::store::SqliteStore;
use posse::toolbox::Toolbox;
use serde::Deserialize;

/// The worker's only tool.
struct Lookup {
    spec: ToolSpec,
    bytes: usize,
    /// Made once: what a tool costs is not ours to measure.
    rows: String,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
}

impl Lookup {
    fn new(spec: ToolSpec, bytes: usize) -> Self {
        let mut rows = String::new();
        for row in 0.. {
            if rows.len() >= bytes {
                break;
            }
            let _ = writeln!(rows, "{row}. name \"item\", state ready, count {}", row * 37 % 100);
        }
        Self { spec, bytes, rows }
    }
}

impl Tool for Lookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Ok(Item { key }) = serde_json::from_str(input.arguments) else {
                return ToolOutput::error("`key` is missing");
            };
            let mut text = String::with_capacity(self.bytes + 64);
            text.push_str("LOOKUP-OK ");
            text.push_str(&key);
            text.push('\n');
            text.push_str(&self.rows);
            text.truncate(self.bytes.max(12));
            ToolOutput::text(text)
        })
    }
}

/// Hands a task to a worker and waits for its answer. Workers here only read, so calls may run side by side.
struct Delegate {
    spec: ToolSpec,
    session: Arc<OnceLock<Weak<Session>>>,
}

#[derive(Deserialize)]
struct Order {
    task: String,
}

impl Tool for Delegate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.get().and_then(Weak::upgrade) else {
                return ToolOutput::error("the session has ended");
            };
            let Ok(Order { task }) = serde_json::from_str(input.arguments) else {
                return ToolOutput::error("`task` is missing");
            };
            let request = TaskRequest {
                agent: "worker".to_owned(),
                task,
                key: Some(input.idempotency_key.to_owned()),
                ..TaskRequest::default()
            };
            match session.delegate(&input.context.task, request).await {
                Ok(outcome) if outcome.status() == OutcomeStatus::Completed => {
                    ToolOutput::text(outcome.text.clone())
                }
                Ok(outcome) => ToolOutput::error(format!("{}: {}", outcome.status().wire(), outcome.text)),
                Err(e) => ToolOutput::error(e.to_string()),
            }
        })
    }
}

/// Models of one endpoint and key, by the name after the provider's.
struct OneEndpoint {
    transport: ProviderTransport,
    governor: Arc<RateGovernor>,
}

impl ModelResolver for OneEndpoint {
    fn open(&self, agent: &Agent) -> posse::Result<OpenModel> {
        let name = agent.model.rsplit(':').next().unwrap_or_default();
        let model = Arc::new(OpenAiChat::over(self.transport.clone(), name.to_owned()));
        let model = Arc::new(WatchedModel::new(model, StallTimeouts::default()));
        let model = Arc::new(RetryModel::new(model, RetryPolicy::default(), self.governor.clone()));
        Ok(OpenModel { model, tariff: ModelTariff::default() })
    }
}

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    // A spawned task is woken by another one without a look at the network in between.
    runtime.block_on(async { tokio::spawn(run()).await? })
}

async fn run() -> Outcome {
    let flags = flags();
    let number = |name: &str, otherwise: u32| -> Result<u32, ParseIntError> {
        flags.get(name).map_or(Ok(otherwise), |value| value.parse())
    };
    let (n, turns, tool_bytes) = (number("n", 50)?, number("turns", 5)?, number("tool-bytes", 64)?);
    let base_url = flags.get("base-url").map_or("http://127.0.0.1:8080/v1", String::as_str);
    let state = flags.get("state").map_or_else(|| std::env::temp_dir().join("posse-example"), PathBuf::from);

    let own = Arc::new(OnceLock::new());
    let lookup = Lookup::new(spec("lookup", "Look up one item by key.", "key"), tool_bytes as usize);
    let delegate =
        Delegate { spec: spec("delegate", "Hand a task to a worker.", "task"), session: own.clone() };
    let endpoint = ProviderEndpoint::new(base_url, KeySource::fixed(SecretText::new("mock")));
    let at_once = n as usize + 1;
    let session = SessionBuilder {
        id: format!("{:x}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos()),
        sources: SessionSources {
            owner: "example".to_owned(),
            lives: |_| false,
            store: match state.to_str() {
                Some("memory") => Arc::new(MemoryStore::default()),
                _ => Arc::new(SqliteStore::open(state.join("posse.db"))?),
            },
            models: Arc::new(OneEndpoint {
                transport: ProviderTransport::new(endpoint)?,
                governor: RateGovernor::new(at_once),
            }),
            agents: Arc::new(vec![worker(turns)?]),
        },
        policy: SessionPolicy {
            rules: BoardLimits { running_max: at_once, open_max: at_once, on_limit: OnLimit::Queue },
            ..SessionPolicy::new(Grant::root(["lookup", "delegate"].map(str::to_owned), 1))
        },
        place: SessionPlace::new(".", Toolbox::new([Arc::new(lookup) as Arc<dyn Tool>, Arc::new(delegate)])?),
        watchers: SessionWatchers::default(),
    }
    .build()?;
    let _ = own.set(Arc::downgrade(&session));

    // Nobody hands on what it does not have itself, so the orchestrator has the worker's tool too.
    let (model, tools) = match flags.get("mode").map(String::as_str) {
        Some("fanout") => (format!("openai:orch-{n}"), vec!["delegate", "lookup"]),
        _ => (format!("openai:work-{turns}"), vec!["lookup"]),
    };
    let agent = Agent {
        rights: Rights::only(tools),
        settings: ModelSettings { buffered: !flags.contains_key("stream"), ..ModelSettings::default() },
        limits: Limits {
            turns_max: turns + 2,
            tool_calls_max: n.max(turns) + 2,
            calls_per_turn_max: n.max(1),
            ..Limits::default()
        },
        ..Agent::new(AgentName::parse("main")?, model, PROMPT)
    };
    let task = "Look up the items and report what was found.".to_owned();
    let outcome = session.run(agent, task, Vec::new(), Vec::new()).await?;
    eprintln!("{} after {} turns: {}", outcome.status().wire(), outcome.turns, outcome.text);
    if outcome.status() == OutcomeStatus::Completed {
        Ok(())
    } else {
        Err("the task did not complete".into())
    }
}

const PROMPT: &str = "You are a focused worker. Use your tool, then answer in one paragraph.";

fn worker(turns: u32) -> posse::Result<Arc<Definition>> {
    let origin = DefinitionOrigin {
        path: String::new(),
        format: Format::Native,
        scope: DefinitionScope::User,
        hash: String::new(),
    };
    let candidates = vec![format!("openai:work-{turns}")];
    Ok(Arc::new(Definition {
        model: ModelChoice { candidates, ..ModelChoice::default() },
        rights: Rights::only(["lookup"]),
        ..Definition::new(
            AgentName::parse("worker")?,
            origin,
            "Looks up items.".to_owned(),
            PROMPT.to_owned(),
        )
    }))
}

/// A tool with one argument, a text.
fn spec(name: &str, description: &str, argument: &str) -> ToolSpec {
    let input_schema = serde_json::json!({
        "type": "object", "properties": { argument: { "type": "string" } }, "required": [argument],
    });
    let (name, description) = (name.to_owned(), description.to_owned());
    ToolSpec { name, description, input_schema: input_schema.to_string(), effect: ToolEffect::Pure }
}

/// `--name value` pairs; `--stream` stands alone.
fn flags() -> HashMap<String, String> {
    let mut flags = HashMap::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let name = name.trim_start_matches("--").to_owned();
        let value = if name == "stream" { String::new() } else { arguments.next().unwrap_or_default() };
        flags.insert(name, value);
    }
    flags
}
