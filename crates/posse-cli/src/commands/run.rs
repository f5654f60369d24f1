//! `posse run`: one task, from the prompt to the answer.

use std::ffi::OsString;
use std::io::Read;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clap::ValueEnum;
use posse_core::agent::Agent;
use posse_core::approval::ApprovalHandling;
use posse_core::budget::BudgetCaps;
use posse_core::definition::{Definition, Isolation};
use posse_core::id::TaskId;
use posse_core::refusal::OperatorGrant;
use posse_core::text::visible;
use posse_core::tool::SESSION_TOOLS;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::budget::unknown_price;
use posse_runtime::driver::StopTokens;
use posse_runtime::liveness as owner;
use posse_runtime::observe::Observers;
use posse_runtime::ports::{AgentLookup, JournalStore, ModelResolver, WorktreeSource};
use posse_runtime::resolve::resolve;
use posse_runtime::session::facades::SessionFacades;
use posse_runtime::session::{
    SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers, fresh_id,
};
use posse_runtime::toolbox::Toolbox;
use posse_sandbox::scratch;
use posse_store::SqliteStore;
use serde_json::json;

use super::drive::{ProgressView, RunAids, RunKind, RunSession, RunView, RunWork, WorkEnd};
use super::worker::{self, joined};
use super::{agents, top};

use crate::args::{GlobalArgs, RunArgs, RunOptions};
use crate::material::{PipePatience, with_material};
use crate::mode::ModeChoice;
use crate::setup::{Setup, ToolInventory};
use crate::{retention, terminal, worktrees};

/// Longest task prompt; more belongs in a file that the model can read.
const TASK_BYTES_MAX: u64 = 1 << 20;

pub async fn run(global: &GlobalArgs, args: RunArgs) -> Result<ExitCode> {
    let (words, patience) = words_and_patience(&args.task);
    let task = task_text(words)?;
    let setup = Setup::load(global)?;
    setup.meet_servers(&args.how).await;
    let isolation = isolation(&setup, &args)?;
    let prompt = TaskPrompt { text: task, patience };
    let id = TaskId::root(&fresh_id());
    match isolation {
        Isolation::None => run_in(global, &setup, args, prompt, id, None).await,
        Isolation::Worktree => run_apart(global, setup, args, prompt, id).await,
    }
}

/// The prompt of a task, and how long to wait for material on standard input.
struct TaskPrompt {
    text: String,
    /// `None` if the prompt itself comes from there.
    patience: Option<PipePatience>,
}

/// Returns the isolation that the flags or the agent's definition ask for.
fn isolation(setup: &Setup, args: &RunArgs) -> Result<Isolation> {
    match (args.isolation.as_deref(), &args.how.agent) {
        (Some("worktree"), _) => Ok(Isolation::Worktree),
        (Some(_), _) | (None, None) => Ok(Isolation::None),
        (None, Some(name)) => Ok(setup.agents(&args.how).find(name)?.mode.isolation),
    }
}

/// Runs a task in a worktree of its own, and removes the worktree if no task was created.
async fn run_apart(
    global: &GlobalArgs,
    mut setup: Setup,
    args: RunArgs,
    prompt: TaskPrompt,
    id: TaskId,
) -> Result<ExitCode> {
    let apart = worktrees::provider(&setup);
    let origin = setup.workspace.display().to_string();
    setup.workspace = apart.open(&id, &origin).await?.workspace.into();
    // The servers were started in the person's directory; the task needs them in the worktree.
    setup.close_servers().await;
    setup.servers = OnceLock::new();
    let ran = run_in(global, &setup, args, prompt, id.clone(), Some(origin)).await;
    if ran.is_err() && setup.store()?.task(&id).await.is_err() {
        apart.discard(&id).await?;
    }
    ran
}

async fn run_in(
    global: &GlobalArgs,
    setup: &Setup,
    args: RunArgs,
    prompt: TaskPrompt,
    id: TaskId,
    apart_from: Option<String>,
) -> Result<ExitCode> {
    let found = setup.tools()?;
    setup.refuse_contradiction(&args.how, &found)?;
    let is_here = setup.is_attended && !args.detach;
    let choice = ModeChoice { can_ask: setup.can_ask(&args.how, is_here), ..setup.mode(&args.how, &found)? };
    let mut lead = lead(setup, &args.how, &found)?;
    lead.verify.extend(args.verify);
    lead.apart_from = apart_from;
    let task = match prompt.patience {
        Some(patience) => with_material(prompt.text, patience, lead.agent.limits.context_window)?,
        None => prompt.text,
    };
    let progress = if args.detach { ProgressView::Silent } else { ProgressView::Shown };
    let view = RunView { progress, json: global.json, kind: RunKind::Task };
    let room = room(setup, &args.how, found, &lead, id.session().to_owned(), view)?;
    check_model(&*setup.models(&args.how)?, &lead.agent, &setup.caps(&args.how).least(&lead.caps))?;
    // Before any line about progress, and after every error that prevents the task.
    setup.tell_mode(choice, &room.grant().keep(&lead.agent.rights), global.json);
    let began = Instant::now();
    let LeadAgent { agent, notes, verify, .. } = lead;
    if args.detach {
        let created = room.session.hand_over(agent, task, verify, notes).await;
        setup.close_servers().await;
        return detached(global, &created?, &args.how);
    }
    let work = RunWork::Start { agent: Box::new(agent.clone()), task, verify, notes, delivery: None };
    let ended = room.work(work).await;
    setup.close_servers().await;
    let code = match ended? {
        WorkEnd::Ended(outcome) => room.ended(&id, &agent, &outcome, began).await.conclude().await,
        WorkEnd::Interrupted(code) => code,
        WorkEnd::Left => leave(global, &id, &args.how)?,
    };
    retention::apply_later(global, &setup.config.store, &setup.state);
    Ok(code)
}

/// Starts a worker for a task that the person left running, and says how to follow it.
pub fn leave(global: &GlobalArgs, id: &TaskId, how: &RunOptions) -> Result<ExitCode> {
    start_worker(global, id, how)?;
    terminal::note(&say!("task-left", id));
    Ok(ExitCode::SUCCESS)
}

fn start_worker(global: &GlobalArgs, id: &TaskId, how: &RunOptions) -> Result<()> {
    let mut flags: Vec<OsString> = vec![joined("--task", id.as_str())];
    flags.extend(how.common.trust.then(|| "--trust".into()));
    if let Some(mode) = how.common.approvals.and_then(|mode| mode.to_possible_value()) {
        flags.push(joined("--approvals", mode.get_name()));
    }
    worker::start(global, &flags).map_err(|e| e.hint(say!("task-interrupted-hint", task = id)))
}

/// Starts a worker for a detached task, and says how to follow it.
fn detached(global: &GlobalArgs, id: &TaskId, how: &RunOptions) -> Result<ExitCode> {
    start_worker(global, id, how)?;
    if global.json {
        terminal::out(&json!({ "type": "detached", "task_id": id.as_str() }).to_string());
    } else {
        terminal::note(&say!("task-detached", task = id));
        terminal::out(id.as_str());
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent that does the task, with notes on what differs from its definition.
pub struct LeadAgent {
    pub agent: Agent,
    pub notes: Vec<String>,
    /// Commands that check its result.
    pub verify: Vec<String>,
    /// Budget caps of its definition.
    pub caps: BudgetCaps,
    /// Origin of the worktree, if the workspace is one.
    pub apart_from: Option<String>,
    /// Delegation tools, if it does not have those of the configuration.
    pub facades: Option<SessionFacades>,
    /// The person chose another mode since the task began.
    pub mode_changed: bool,
}

impl LeadAgent {
    /// Wraps an agent that continues unchanged.
    pub fn of(agent: Agent) -> Self {
        let (caps, apart_from, facades) = (BudgetCaps::default(), None, None);
        let (notes, verify, mode_changed) = (Vec::new(), Vec::new(), false);
        Self { agent, notes, verify, caps, apart_from, facades, mode_changed }
    }
}

/// Resolves the orchestrator, or the agent that was named.
pub fn lead(setup: &Setup, how: &RunOptions, found: &ToolInventory) -> Result<LeadAgent> {
    let Some(name) = &how.agent else {
        return setup.orchestrator(how).map(LeadAgent::of);
    };
    let definition = as_told(&*setup.agents(how).find(name)?, how);
    agents::warn_about(setup, how, name)?;
    let models = setup.models(how)?;
    let base = base_model(setup, how, &definition, &*models)?;
    let orchestrator = setup.orchestrator_with(how, base);
    let tools = found.tools.iter().map(|tool| tool.spec().name.as_str());
    let tools: Vec<&str> = tools.chain(SESSION_TOOLS.iter().copied()).collect();
    let (agent, notes) = resolve(&definition, &orchestrator, &*models, &tools)?;
    let (verify, caps) = (definition.answer.verify.clone(), definition.caps());
    Ok(LeadAgent { notes, verify, caps, ..LeadAgent::of(agent) })
}

/// Picks the configured model, or else the agent's first model that is usable here.
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

/// Applies the flags on top of the definition. Limits stay the lower of both.
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

/// Opens the session of a new task, or of a further message to it.
pub fn room(
    setup: &Setup,
    how: &RunOptions,
    found: ToolInventory,
    lead: &LeadAgent,
    session_id: String,
    view: RunView<'_>,
) -> Result<RunSession> {
    let regrants = lead.mode_changed;
    let mode = setup.mode(how, &found)?.mode;
    let (grant, caps) = (setup.grant(how, mode, &found)?, setup.caps(how).least(&lead.caps));
    let (mut policy, apart_from) = (setup.policy(grant, caps)?, lead.apart_from.clone());
    policy.facades = lead.facades.clone().unwrap_or(policy.facades);
    let plan = SessionPlan { id: session_id, store: setup.store()?, policy, apart_from, regrants };
    open(setup, how, found, plan, view)
}

/// Values in which the sessions of new, resumed and hosted tasks differ.
pub struct SessionPlan {
    pub id: String,
    pub store: Arc<SqliteStore>,
    pub policy: SessionPolicy,
    /// Origin of the worktree, if the workspace is one.
    pub apart_from: Option<String>,
    /// The operator chose another mode for the task.
    pub regrants: bool,
}

/// Builds a session with the tools, models and agents of this directory.
pub fn open(
    setup: &Setup,
    how: &RunOptions,
    found: ToolInventory,
    plan: SessionPlan,
    view: RunView<'_>,
) -> Result<RunSession> {
    scratch::remove_abandoned(setup.sandbox.temporary());
    let problems: Vec<String> =
        found.problems.iter().map(|problem| visible(problem.message()).into_owned()).collect();
    if !matches!(view.progress, ProgressView::Watched(_)) {
        problems.iter().for_each(|text| terminal::note(&say!("warning", text)));
    }
    setup.remember_allowed(&found, &plan.policy.grant)?;
    let approvals = setup.approvals(how, view.is_attended(), &found)?;
    let worktrees = worktrees::provider(setup);
    let operator = OperatorGrant {
        grant: plan.policy.grant.clone(),
        effects: found.effects().collect(),
        read_only: plan.policy.grant.is_read_only(),
        denied: setup.denied(&found)?,
    };
    let aids = RunAids {
        operator,
        servers: found.servers.clone(),
        worktrees: Some(worktrees.clone()),
        asks: view.is_attended() && approvals.mode == ApprovalHandling::Ask,
        regrants: plan.regrants,
        door: Some(top::door(plan.store.clone(), setup.state.clone())),
    };
    let place = SessionPlace {
        workspace: setup.workspace.display().to_string(),
        verifier: setup.verifier(&found)?,
        tools: Toolbox::new(found.tools)?
            .redacted_by(setup.redactor())
            .with_approvals(approvals)
            .swept_by(posse_sandbox::supervisor::sweep),
        worktrees: Some(worktrees),
        apart_from: plan.apart_from,
    };
    let sources = SessionSources {
        owner: owner::owner(),
        lives: owner::lives,
        store: plan.store,
        models: setup.models(how)?,
        agents: setup.agents(how),
    };
    let observers = Observers::new(setup.telemetry.watchers()?);
    let watchers = SessionWatchers { observers, stop: StopTokens::default() };
    let parts = SessionBuilder { id: plan.id, sources, policy: plan.policy, place, watchers };
    let mut session = RunSession::new(parts, view, aids)?;
    session.problems = problems;
    Ok(session)
}

/// Refuses an unusable model, or a cost limit without a known price, before a task is created.
pub fn check_model(models: &dyn ModelResolver, agent: &Agent, caps: &BudgetCaps) -> Result<()> {
    let open = models.open(agent)?;
    match (caps.cost_micros, open.tariff.unpriced(&agent.model)) {
        (Some(_), Some(unpriced)) => Err(unknown_price(unpriced)),
        _ => Ok(()),
    }
}

/// Splits the arguments into the task and how long to wait for material on standard input; `None` if the task itself
/// comes from there.
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

/// Reads the whole task or fails: half a task is another task.
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
