//! `posse demo`: a whole delegation with a scripted model. Loop, session, tools, journal and view are the real ones;
//! only the model and the world that the tools see are made up.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use posse_core::agent::Agent;
use posse_core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format};
use posse_core::grant::{Grant, Rights};
use posse_core::id::TaskId;
use posse_core::limits::Limits;
use posse_core::outcome::OutcomeStatus;
use posse_core::redact::SecretRedactor;
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_core::usage::Price;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_models::scripted::ScriptedModel;
use posse_runtime::budget::ModelTariff;
use posse_runtime::liveness as owner;
use posse_runtime::observe::Observers;
use posse_runtime::ports::{
    BoxFuture, JournalStore, ModelResolver, OpenModel, TaskFilter, TaskQuery, Tool, ToolInput, ToolOutput,
};
use posse_runtime::session::{SessionBuilder, SessionPlace, SessionPolicy, SessionStores, SessionWatchers};
use posse_runtime::toolbox::Toolbox;
use posse_store::SqliteStore;
use serde_json::Value;

use super::drive::{ProgressView, RunAids, RunSession, RunView, RunWork};
use super::refusals::OperatorGrant;
use crate::args::GlobalArgs;
use crate::setup::{Setup, name, new_session_id};
use crate::terminal;

const SCRIPT: &str = include_str!("../../demo/script.yaml");
const TASK: &str =
    "Throughput dropped 30 % after a config change on Feb 18. Find out why and get it repaired.";
const MODEL: &str = "scripted:demo";

pub async fn run(global: &GlobalArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let state = setup.state.join("demo");
    let store = Arc::new(SqliteStore::open(state.join("posse.db"))?);
    if !global.json {
        terminal::note(&format!("{}\n", say!("demo-banner", state = state.display())));
    }
    let session_id = new_session_id();
    let (tools, grant) = (
        world(),
        Grant::root(
            [
                "subagent",
                "shared_context",
                "search_logs",
                "query_metrics",
                "run_staging_command",
                "update_config",
            ]
            .map(str::to_owned),
            1,
        ),
    );
    let parts = SessionBuilder {
        id: session_id.clone(),
        stores: SessionStores {
            owner: owner::owner(),
            lives: owner::lives,
            store: store.clone(),
            models: Arc::new(DemoModels),
            agents: Arc::new(vec![
                definition(
                    "researcher",
                    "Investigates technical issues using logs and metrics",
                    10,
                    &["search_logs", "query_metrics", "shared_context"],
                ),
                definition("writer", "Drafts documentation and reports", 5, &["shared_context"]),
            ]),
        },
        policy: SessionPolicy::new(grant.clone()),
        place: SessionPlace::new(".", Toolbox::new(tools.clone())?.redacted_by(SecretRedactor::default())),
        watchers: SessionWatchers {
            observers: Observers::new(setup.telemetry.watchers()?),
            ..SessionWatchers::default()
        },
    };
    let operator = OperatorGrant::new(&grant, &tools, false, Vec::new());
    let aids = RunAids { operator, servers: Arc::default(), worktrees: None, asks: false };
    let view = RunView { progress: ProgressView::Shown, json: global.json, title: TASK };
    let room = RunSession::new(parts, view, aids)?;
    let orchestrator = Agent {
        limits: Limits { turns_max: 200, ..Limits::default() },
        ..Agent::new(name("orchestrator"), MODEL, prompt("orchestrator"))
    };
    let began = Instant::now();
    let agent = Box::new(orchestrator.clone());
    let outcome = room
        .work(RunWork::Start { agent, task: TASK.to_owned(), verify: Vec::new(), notes: Vec::new() })
        .await?;
    if !global.json {
        summarise(&room, &*store, &session_id).await?;
    }
    let code = room.conclude(&TaskId::root(&session_id), &orchestrator, &outcome, began).await;
    if !global.json && outcome.status() == OutcomeStatus::Completed {
        terminal::note(&format!("\n{}", say!("demo-end", state = state.display())));
    }
    Ok(code)
}

/// Prints the shared context, and in a pipe, where no tree was shown, the state of each subagent.
async fn summarise(room: &RunSession, store: &dyn JournalStore, session_id: &str) -> Result<()> {
    if room.live.is_none() {
        let children = TaskFilter::ChildrenOf(TaskId::root(session_id));
        for row in store.find_tasks(TaskQuery::of(children)).await?.iter().rev() {
            terminal::note(&format!(
                "{} {:<10} {} · {}",
                row.id.short(),
                row.agent,
                row.state,
                say!("turns-shown", n = row.turns())
            ));
        }
    }
    let heads = room.session.context_keys().await?;
    let entries: Vec<String> =
        heads.iter().map(|head| format!("{} v{} ({})", head.key, head.version, head.written_by)).collect();
    terminal::note(&format!("\n{}\n", say!("demo-shared-context", entries = entries.join(" · "))));
    Ok(())
}

fn prompt(who: &str) -> String {
    format!("You are the {who} of a demonstration.")
}

fn definition(who: &str, description: &str, turns: u32, tools: &[&str]) -> Arc<Definition> {
    let origin = DefinitionOrigin {
        path: "demo".to_owned(),
        format: Format::Native,
        scope: DefinitionScope::BuiltIn,
        hash: String::new(),
    };
    let mut definition = Definition::new(name(who), origin, description.to_owned(), prompt(who));
    definition.rights = Rights::only(tools.iter().copied());
    definition.limits.turns = Some(turns);
    Arc::new(definition)
}

/// One script for every agent; the agent's name picks the role.
struct DemoModels;

impl ModelResolver for DemoModels {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        let model = ScriptedModel::parse(MODEL, SCRIPT, Some(agent.name.as_str()))?;
        // A scripted model has a known price of zero.
        let free = Price { input: 0.0, output: 0.0, cache_read: None, cache_write: None };
        let tariff = ModelTariff::new([(MODEL.to_owned(), Some(free))]);
        Ok(OpenModel { model: Arc::new(model), tariff })
    }
}

/// A service whose configuration was changed for the worse.
struct DemoWorld {
    pool: Mutex<u32>,
}

struct WorldTool {
    world: Arc<DemoWorld>,
    spec: ToolSpec,
    answer: fn(&DemoWorld, &Value) -> Result<String>,
}

fn world() -> Vec<Arc<dyn Tool>> {
    let world = Arc::new(DemoWorld { pool: Mutex::new(20) });
    let tool = |name: &str, effect, arguments: &[&str], answer| -> Arc<dyn Tool> {
        let properties: serde_json::Map<String, Value> = arguments
            .iter()
            .map(|name| ((*name).to_owned(), serde_json::json!({ "type": "string" })))
            .collect();
        let schema = serde_json::json!({ "type": "object", "properties": properties });
        let spec = ToolSpec {
            name: name.to_owned(),
            description: format!("Part of the demonstration: {}", name.replace('_', " ")),
            input_schema: schema.to_string(),
            effect,
        };
        Arc::new(WorldTool { world: world.clone(), spec, answer })
    };
    vec![
        tool("search_logs", ToolEffect::Pure, &["query", "since"], search_logs),
        tool("query_metrics", ToolEffect::Pure, &["metric"], query_metrics),
        tool("run_staging_command", ToolEffect::Unsafe, &["command"], run_staging_command),
        tool("update_config", ToolEffect::Idempotent, &["environment", "key", "value"], update_config),
    ]
}

impl Tool for WorldTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = serde_json::from_str(input.arguments).unwrap_or_default();
            match (self.answer)(&self.world, &arguments) {
                Ok(text) => ToolOutput::text(text),
                Err(e) => ToolOutput::error(e.to_string()),
            }
        })
    }
}

impl DemoWorld {
    fn pool(&self) -> std::sync::MutexGuard<'_, u32> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests per second: with fewer connections than workers, requests queue.
    fn throughput(&self) -> u32 {
        if *self.pool() >= 200 { 1000 } else { 700 }
    }
}

const LOG: &[&str] = &[
    "Feb 18 09:12:03 deploy: config change by deploy-bot: pool.max_connections 200 -> 20",
    "Feb 18 09:14:41 api: connection pool exhausted, 61 requests waiting",
    "Feb 18 09:15:10 api: timeout after 1000 ms waiting for a connection from the connection pool",
    "Feb 18 11:40:22 api: connection pool exhausted, 74 requests waiting",
    "Feb 19 08:03:57 api: timeout after 1000 ms waiting for a connection from the connection pool",
];

fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}

fn search_logs(_: &DemoWorld, arguments: &Value) -> Result<String> {
    let hits: Vec<&str> =
        LOG.iter().copied().filter(|line| line.contains(text(arguments, "query"))).collect();
    Ok(if hits.is_empty() { "no lines".to_owned() } else { hits.join("\n") })
}

fn query_metrics(world: &DemoWorld, arguments: &Value) -> Result<String> {
    Ok(match text(arguments, "metric") {
        "throughput" => {
            format!("throughput: 1000 requests/s until Feb 18 09:12, {} since", world.throughput())
        }
        "pool_wait_ms" => "pool_wait_ms: 2 until Feb 18 09:12, 840 since".to_owned(),
        "threads_blocked" => "threads_blocked: 0 until Feb 18 09:12, 180 of 200 since".to_owned(),
        "cpu" => "cpu: 71 % until Feb 18 09:12, 38 % since".to_owned(),
        other => return Err(Error::new(ErrorCode::InvalidRequest, say!("demo-no-metric", other))),
    })
}

fn run_staging_command(world: &DemoWorld, arguments: &Value) -> Result<String> {
    Ok(match text(arguments, "command") {
        "show pool.max_connections" => format!("pool.max_connections = {}", *world.pool()),
        "restart service" => "service restarted in 3 s".to_owned(),
        "load test" => format!("load test: {} requests/s, 0 errors", world.throughput()),
        other => {
            return Err(Error::new(ErrorCode::InvalidRequest, say!("demo-no-command", other)));
        }
    })
}

fn update_config(world: &DemoWorld, arguments: &Value) -> Result<String> {
    let value: u32 = text(arguments, "value")
        .parse()
        .map_err(|_| Error::new(ErrorCode::InvalidRequest, say!("demo-not-number")))?;
    let before = std::mem::replace(&mut *world.pool(), value);
    Ok(format!("{}: {} {before} -> {value}", text(arguments, "environment"), text(arguments, "key")))
}
