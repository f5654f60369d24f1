//! `posse run`: one task, from the question to the answer.

use std::ffi::OsString;
use std::io::Read;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clap::ValueEnum;
use posse_core::agent::Agent;
use posse_core::budget::BudgetCaps;
use posse_core::definition::{Definition, Isolation};
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_core::tool::SESSION_TOOLS;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::ports::{AgentLookup, ModelResolver, Store, WorktreeSource};
use posse_runtime::resolve::resolve;
use posse_runtime::session::facades::SessionFacades;
use posse_store::SqliteStore;
use serde_json::json;

use super::drive::{ProgressView, RunParts, RunSession, RunWork};
use super::worker::{self, joined};
use posse_tools::scratch;

use crate::args::{GlobalArgs, RunArgs, RunOptions};
use crate::material::{PipePatience, with_material};
use crate::setup::{Setup, ToolInventory, new_session_id};
use crate::worktrees::WorktreeProvider;
use crate::{retention, terminal};

/// A task is read by a model; more than this belongs into a file that the model can read.
const TASK_BYTES_MAX: u64 = 1 << 20;

pub async fn run(global: &GlobalArgs, args: RunArgs) -> Result<ExitCode> {
    let (words, patience) = words_and_patience(&args.task);
    let task = task_text(words)?;
    let setup = Setup::load(global)?;
    if let Some(warning) = setup.ignored_top() {
        terminal::note(&warning);
    }
    setup.meet_servers(&args.how).await;
    let chosen = lead(&setup, &args.how)?;
    let isolation = match args.isolation.as_deref() {
        Some("worktree") => Isolation::Worktree,
        Some(_) => Isolation::None,
        None => chosen.isolation,
    };
    let task = match patience {
        Some(patience) => with_material(task, patience, chosen.agent.limits.context_window)?,
        None => task,
    };
    let id = TaskId::root(&new_session_id());
    let args = RunArgs { task: vec![task], ..args };
    match isolation {
        Isolation::None => run_in(global, &setup, args, id, None).await,
        Isolation::Worktree => run_apart(global, setup, args, id).await,
    }
}

/// Runs a task in a worktree of its own. If it does not come to a task, none is left.
async fn run_apart(global: &GlobalArgs, mut setup: Setup, args: RunArgs, id: TaskId) -> Result<ExitCode> {
    let apart = WorktreeProvider::new(&setup);
    let origin = setup.workspace.display().to_string();
    setup.workspace = apart.open(&id, &origin).await?.workspace.into();
    // They were met where the person works, and work where the task does.
    setup.close_servers().await;
    setup.servers = OnceLock::new();
    let ran = run_in(global, &setup, args, id.clone(), Some(origin)).await;
    if ran.is_err() && setup.store()?.task(&id).await.is_err() {
        apart.discard(&id).await?;
    }
    ran
}

async fn run_in(
    global: &GlobalArgs,
    setup: &Setup,
    args: RunArgs,
    id: TaskId,
    apart_from: Option<String>,
) -> Result<ExitCode> {
    let task = args.task.join(" ");
    let mut lead = lead(setup, &args.how)?;
    lead.verify.extend(args.verify);
    lead.apart_from = apart_from;
    let view = if args.detach { ProgressView::Silent } else { ProgressView::Shown };
    let room = room(setup, &args.how, &lead, id.session().to_owned(), view, global.json, &task)?;
    let began = Instant::now();
    let LeadAgent { agent, notes, verify, .. } = lead;
    if args.detach {
        let created = room.session.hand_over(agent, task, verify, notes).await;
        setup.close_servers().await;
        return detached(global, &created?, &args.how);
    }
    let work = RunWork::Start { agent: Box::new(agent.clone()), task, verify, notes };
    let outcome = room.work(work).await;
    setup.close_servers().await;
    let code = room.conclude(&id, &agent, &*outcome?, began).await;
    retention::apply_later(global, &setup.config.store, &setup.state);
    Ok(code)
}

/// Starts a worker for a task that nobody drives yet, and says how to follow it.
fn detached(global: &GlobalArgs, id: &TaskId, how: &RunOptions) -> Result<ExitCode> {
    let mut flags: Vec<OsString> = vec![joined("--task", id.as_str())];
    flags.extend(how.common.trust.then(|| "--trust".into()));
    if let Some(mode) = how.common.approvals.and_then(|mode| mode.to_possible_value()) {
        flags.push(joined("--approvals", mode.get_name()));
    }
    worker::start(global, &flags).map_err(|e| e.hint(say!("task-interrupted-hint", task = id)))?;
    if global.json {
        terminal::out(&json!({ "type": "detached", "task_id": id.as_str() }).to_string());
    } else {
        terminal::note(&say!("task-detached", task = id));
        terminal::out(id.as_str());
    }
    Ok(ExitCode::SUCCESS)
}

/// Who does the task, and what had to be done differently from what its definition asks for.
pub struct LeadAgent {
    pub agent: Agent,
    pub notes: Vec<String>,
    /// Commands that check its result.
    pub verify: Vec<String>,
    /// What its definition says that it may spend.
    caps: BudgetCaps,
    /// What its definition says about where it works.
    isolation: Isolation,
    /// If the workspace is a worktree: what that was made of.
    apart_from: Option<String>,
}

impl LeadAgent {
    /// One that goes on as it was.
    pub fn of(agent: Agent) -> Self {
        let (caps, isolation, apart_from) = (BudgetCaps::default(), Isolation::None, None);
        Self { agent, notes: Vec::new(), verify: Vec::new(), caps, isolation, apart_from }
    }
}

/// The orchestrator, or the agent that was named.
pub fn lead(setup: &Setup, how: &RunOptions) -> Result<LeadAgent> {
    let Some(name) = &how.agent else {
        return setup.orchestrator(how).map(LeadAgent::of);
    };
    let definition = as_told(&*setup.agents(how).find(name)?, how);
    let models = setup.models(how)?;
    let base = base_model(setup, how, &definition, &*models)?;
    let orchestrator = setup.orchestrator_with(how, base)?;
    let found = setup.tools()?;
    let tools = found.tools.iter().map(|tool| tool.spec().name.as_str());
    let tools: Vec<&str> = tools.chain(SESSION_TOOLS.iter().copied()).collect();
    let (agent, notes) = resolve(&definition, &orchestrator, &*models, &tools)?;
    let (verify, caps, isolation) = (definition.verify.clone(), definition.caps(), definition.isolation);
    Ok(LeadAgent { agent, notes, verify, caps, isolation, apart_from: None })
}

/// The configured model, or else the first of the agent's own that can be used here.
fn base_model(
    setup: &Setup,
    how: &RunOptions,
    definition: &Definition,
    models: &dyn ModelResolver,
) -> Result<String> {
    if let Some(model) = setup.configured_model(how)? {
        return Ok(model);
    }
    let own = definition.model.candidates.iter().map(|candidate| models.resolve(candidate));
    let mut why = None;
    for resolved in own {
        match resolved {
            Ok(model) => return Ok(model),
            Err(e) => why = why.or(Some(e)),
        }
    }
    match why {
        Some(e) => Err(e),
        None => setup.orchestrator(how).map(|agent| agent.model),
    }
}

/// What a person says for this run counts before what the file says. What may be spent stays the least of both.
fn as_told(definition: &Definition, how: &RunOptions) -> Definition {
    let mut told = definition.clone();
    if how.common.model.is_some() {
        told.model.candidates.clear();
    }
    if how.effort.is_some() {
        told.model.effort = None;
    }
    if how.max_turns.is_some() {
        told.limits.turns = None;
    }
    if how.timeout.is_some() {
        told.limits.wall_s = None;
    }
    told
}

/// A room for a new task, as the configuration and the flags describe it.
pub fn room(
    setup: &Setup,
    how: &RunOptions,
    lead: &LeadAgent,
    session_id: String,
    view: ProgressView,
    json: bool,
    title: &str,
) -> Result<RunSession> {
    let found = setup.tools()?;
    let (grant, caps) = (setup.grant(how, &found)?, setup.caps(how).least(&lead.caps));
    let (agent, store, facades) = (Some(&lead.agent), setup.store()?, setup.facades()?);
    let apart_from = lead.apart_from.clone();
    furnish(
        setup,
        how,
        found,
        SessionParts { session_id, agent, grant, caps, json, title, view, store, facades, apart_from },
    )
}

/// What differs between the room of a new task and that of one that goes on.
pub struct SessionParts<'a> {
    pub session_id: String,
    /// Whose model has to be usable from the beginning.
    pub agent: Option<&'a Agent>,
    pub grant: Grant,
    pub caps: BudgetCaps,
    pub json: bool,
    pub title: &'a str,
    pub view: ProgressView,
    pub store: Arc<SqliteStore>,
    pub facades: SessionFacades,
    /// If the workspace is a worktree: what that was made of.
    pub apart_from: Option<String>,
}

pub fn furnish(
    setup: &Setup,
    how: &RunOptions,
    found: ToolInventory,
    furniture: SessionParts<'_>,
) -> Result<RunSession> {
    let SessionParts { session_id, agent, grant, caps, json, title, view, store, facades, apart_from } =
        furniture;
    scratch::remove_abandoned(setup.sandbox.temporary());
    for problem in &found.problems {
        terminal::note(&say!("warning", text = visible(problem.message())));
    }
    setup.remember_allowed(&found, &grant)?;
    let models = setup.models(how)?;
    if let Some(agent) = agent {
        check_model(&*models, agent, &caps)?;
    }
    let verifier = setup.verifier(&found)?;
    let attended = matches!(view, ProgressView::Shown) && !json && terminal::is_attended();
    RunSession::new(RunParts {
        redactor: setup.redactor(),
        approvals: setup.approvals(how, attended, &found)?,
        attended,
        verifier,
        facades,
        rules: setup.rules(),
        lease_ms: setup.lease_ms(),
        worktrees: Some(WorktreeProvider::new(setup)),
        apart_from,
        servers: found.servers.clone(),
        session_id,
        workspace: setup.workspace.display().to_string(),
        store,
        models,
        grant,
        read_only: how.common.read_only,
        denied: setup.denied(&found)?,
        tools: found.tools,
        agents: setup.agents(how),
        caps,
        watchers: setup.telemetry.watchers()?,
        json,
        title: title.to_owned(),
        view,
    })
}

/// An unusable model is an error of the request, not the outcome of a task; so is a limit that cannot be kept.
pub fn check_model(models: &dyn ModelResolver, agent: &Agent, caps: &BudgetCaps) -> Result<()> {
    let open = models.open(agent)?;
    match (caps.cost_micros, open.tariff.unpriced(&agent.model)) {
        (Some(_), Some(unpriced)) => Err(no_price(unpriced)),
        _ => Ok(()),
    }
}

/// What was asked for, and how patiently to wait for material on standard input; `None`: the task itself is there.
fn words_and_patience(words: &[String]) -> (String, Option<PipePatience>) {
    match words {
        [dash] if dash == "-" => (dash.clone(), None),
        [words @ .., dash] if dash == "-" => (words.join(" "), Some(PipePatience::Endless)),
        words => (words.join(" "), Some(PipePatience::Short)),
    }
}

fn task_text(argument: String) -> Result<String> {
    let task = if argument == "-" { read_task(std::io::stdin().lock())? } else { argument };
    if task.trim().is_empty() {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("task-empty")).hint(say!("task-empty-hint")));
    }
    Ok(task)
}

/// The whole of it or nothing: half a task is another task.
fn read_task(source: impl Read) -> Result<String> {
    let unreadable = || say!("task-unreadable");
    let invalid = |text: String| Error::new(ErrorCode::InvalidRequest, text);
    let mut bytes = Vec::new();
    source
        .take(TASK_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| invalid(unreadable()).caused_by(e))?;
    if bytes.len() as u64 > TASK_BYTES_MAX {
        return Err(invalid(say!("task-input-too-large")).hint(say!("task-input-too-large-hint")));
    }
    String::from_utf8(bytes).map_err(|e| invalid(unreadable()).caused_by(e))
}

fn no_price(model: &str) -> Error {
    let text = say!("model-price-unknown", model);
    let hint = say!("model-price-unknown-hint", model);
    Error::new(ErrorCode::InvalidRequest, text).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_too_large_is_refused_and_never_cut() {
        let largest = "é".repeat(TASK_BYTES_MAX as usize / 2);
        assert_eq!(read_task(largest.as_bytes()).unwrap(), largest);
        let e = read_task(format!("{largest}é").as_bytes()).unwrap_err();
        assert!(e.message().contains("larger than 1 MiB") && e.advice().is_some(), "{e}");
        assert!(read_task(&b"\xff"[..]).is_err());
    }
}
