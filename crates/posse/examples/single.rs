//! One agent with one tool of its own, on any OpenAI-compatible endpoint, with a durable journal.
//!
//! Speaks the command line of our benchmark against other frameworks, so that the whole product is measured there:
//!
//!     single --base-url http://127.0.0.1:8080/v1 --mode single --turns 200 --tool-bytes 4096 [--stream] [--state DIR]
//!
//! Tasks stay in the state directory, as a program's would: by default one below the system's directory for temporary
//! files that the runs of this example share.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use posse::budget::{ModelTariff, TaskAccount};
use posse::core::agent::{Agent, ModelSettings};
use posse::core::budget::BudgetCaps;
use posse::core::grant::Grant;
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::TaskStart;
use posse::core::limits::Limits;
use posse::core::outcome::OutcomeStatus;
use posse::core::tool::{ToolEffect, ToolSpec};
use posse::driver::{DriverPorts, StopTokens, start};
use posse::inbox::TaskInbox;
use posse::models::http::{KeySource, ProviderEndpoint, SecretText};
use posse::models::openai_chat::OpenAiChat;
use posse::observe::Observers;
use posse::ports::{BoxFuture, OpenModel, Tool, ToolInput, ToolOutput};
use posse::store::SqliteStore;
use posse::toolbox::Toolbox;

struct Lookup {
    spec: ToolSpec,
    bytes: usize,
    /// Made once: what a tool costs is not ours to measure.
    rows: String,
}

impl Lookup {
    fn new(spec: ToolSpec, bytes: usize) -> Self {
        let mut rows = String::new();
        for row in 0.. {
            if rows.len() >= bytes {
                break;
            }
            let _ = writeln!(rows, "row {row}: \"alpha\" -> value {}", row * 7919 % 1000);
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
            let arguments: serde_json::Value = serde_json::from_str(input.arguments).unwrap_or_default();
            let mut text = String::with_capacity(self.bytes + 64);
            text.push_str("LOOKUP-OK ");
            text.push_str(arguments["key"].as_str().unwrap_or_default());
            text.push('\n');
            text.push_str(&self.rows);
            text.truncate(self.bytes.max(12));
            ToolOutput::text(text)
        })
    }
}

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A spawned task is woken by another one without a look at the network in between.
    runtime.block_on(async { tokio::spawn(run()).await? })
}

async fn run() -> Result<()> {
    let mut flags = flags();
    let mut number = |name: &str, otherwise: u32| -> Result<u32, std::num::ParseIntError> {
        flags.remove(name).map_or(Ok(otherwise), |value| value.parse())
    };
    let (turns, tool_bytes) = (number("turns", 5)?, number("tool-bytes", 64)?);
    let buffered = !flags.contains_key("stream");
    let base_url = flags.remove("base-url").unwrap_or_else(|| "http://127.0.0.1:8080/v1".to_owned());

    let model = OpenAiChat::new(
        ProviderEndpoint::new(base_url, KeySource::fixed(SecretText::new("mock"))),
        format!("work-{turns}"),
    )?;
    let lookup = Lookup::new(
        ToolSpec {
            name: "lookup".to_owned(),
            description: "Look up one item by key and return its rows.".to_owned(),
            input_schema: r#"{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}"#
                .to_owned(),
            effect: ToolEffect::Pure,
        },
        tool_bytes as usize,
    );
    let state =
        flags.remove("state").map_or_else(|| std::env::temp_dir().join("posse-example"), PathBuf::from);
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let id = TaskId::root(&format!("{started:x}"));
    let ports = DriverPorts {
        model: OpenModel { model: Arc::new(model), tariff: ModelTariff::default() },
        tools: Toolbox::new([Arc::new(lookup) as Arc<dyn Tool>])?,
        store: Arc::new(SqliteStore::open(state.join("posse.db"))?),
        observers: Observers::default(),
        budget: Arc::new(TaskAccount::root(BudgetCaps::default())),
        stop: StopTokens::default(),
        inbox: TaskInbox::default(),
        verifier: None,
        holders: Default::default(),
        worktrees: None,
    };
    let agent = Agent {
        settings: ModelSettings { buffered, ..ModelSettings::default() },
        limits: Limits { turns_max: turns + 2, ..Limits::default() },
        ..Agent::new(
            AgentName::parse("worker")?,
            format!("openai:work-{turns}"),
            "You are a focused worker. Use the lookup tool, then answer in one paragraph.",
        )
    };
    let grant = Grant::root(["lookup".to_owned()], 0);
    let task = TaskStart::new(agent, "Look up item 0 and report what you found.", grant);
    let outcome = start(&ports, id, None, "example".to_owned(), task).await?;
    eprintln!("{} after {} turns: {}", outcome.status().wire(), outcome.turns, outcome.text);
    if outcome.status() == OutcomeStatus::Completed {
        Ok(())
    } else {
        Err("the task did not complete".into())
    }
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
