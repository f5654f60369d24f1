//! `posse demo`: a whole delegation with a scripted model. Loop, session, tools, journal and view are the real ones;
//! only the model and the world that the tools see are made up.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use posse_core::Result;
use posse_core::agent::Agent;
use posse_core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format};
use posse_core::grant::{Grant, Rights};
use posse_core::id::TaskId;
use posse_core::limits::Limits;
use posse_core::outcome::OutcomeStatus;
use posse_core::redact::SecretRedactor;
use posse_core::refusal::OperatorGrant;
use posse_core::usage::Price;
use posse_messages::say;
use posse_models::scripted::ScriptedModel;
use posse_runtime::budget::ModelTariff;
use posse_runtime::liveness as owner;
use posse_runtime::observe::Observers;
use posse_runtime::ports::{JournalStore, ModelResolver, OpenModel, TaskFilter, TaskQuery};
use posse_runtime::session::{
    SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers, fresh_id,
};
use posse_runtime::toolbox::Toolbox;
use posse_store::SqliteStore;

use super::drive::{ProgressView, RunAids, RunKind, RunSession, RunView, RunWork, WorkEnd};
use super::top;
use crate::args::GlobalArgs;
use crate::setup::{Setup, name};
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
    let session_id = fresh_id();
    let (tools, grant) = (
        posse_tools::demo::tools(),
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
        sources: SessionSources {
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
    let effects = tools.iter().map(|tool| (tool.spec().name.clone(), tool.spec().effect)).collect();
    let operator = OperatorGrant { grant, effects, read_only: false, denied: Vec::new() };
    let (servers, door) = (Arc::default(), Some(top::door(store.clone(), state.clone())));
    let aids = RunAids { operator, servers, worktrees: None, asks: false, regrants: false, door };
    let view = RunView { progress: ProgressView::Shown, json: global.json, kind: RunKind::Demo };
    let room = RunSession::new(parts, view, aids)?;
    let orchestrator = Agent {
        limits: Limits { turns_max: 200, ..Limits::default() },
        ..Agent::new(name("orchestrator"), MODEL, prompt("orchestrator"))
    };
    let began = Instant::now();
    let agent = Box::new(orchestrator.clone());
    let (task, verify, notes) = (TASK.to_owned(), Vec::new(), Vec::new());
    let work = RunWork::Start { agent, task, verify, notes, delivery: None };
    let outcome = match room.work(work).await? {
        WorkEnd::Ended(outcome) => outcome,
        WorkEnd::Interrupted(code) => return Ok(code),
        WorkEnd::Left => return Ok(ExitCode::SUCCESS),
    };
    if !global.json {
        summarise(&room, &*store, &session_id).await?;
    }
    let id = TaskId::root(&session_id);
    let code = room.ended(&id, &orchestrator, &outcome, began).await.conclude().await;
    if !global.json && outcome.status() == OutcomeStatus::Completed {
        terminal::note(&format!("\n{}", say!("demo-end", state = state.display())));
    }
    Ok(code)
}

/// Prints the shared context, and in a pipe, where no tree was shown, the state of each subagent.
async fn summarise(room: &RunSession, store: &dyn JournalStore, session_id: &str) -> Result<()> {
    if !room.has_screen() {
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
