//! `posse tasks`: list, show and resume stored tasks.

pub mod changes;
mod control;
mod list;
mod show;
pub mod undo;
pub mod watch;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

pub use posse_console::lists::age;
pub use posse_console::lists::tasks::status;
use posse_core::budget::BudgetCaps;
use posse_core::grant::Grant;
use posse_core::journal::{TaskStart, start_of};
use posse_core::mode::WorkMode;
use posse_core::outcome::OutcomeStatus;
use posse_core::state::TaskState;
use posse_core::{Error, ErrorCode, Result};
use posse_mcp::registry::{ServerFilter, is_about_servers};
use posse_messages::say;
use posse_review::{ReportForm, ReviewPlan};
use posse_runtime::driver::ResumeMode;
use posse_runtime::liveness as owner;
use posse_runtime::lookup::find_task;
use posse_runtime::ports::{JournalStore, Store, TaskRow};
use posse_store::SqliteStore;
use posse_tools::edits::EditSpan;

use super::drive::{ProgressView, RunKind, RunSession, RunView, RunWork, WorkEnd};
use super::run::{self, SessionPlan};
use super::{export, gc, review};
use crate::args::{ApprovalsCommand, ExtraLimits, GlobalArgs, RunOptions, TaskFlags, TasksCommand};
use crate::mode::ModeChoice;
use crate::setup::{self, Setup, ToolInventory, in_project};
use crate::{retention, terminal};

pub async fn run(global: &GlobalArgs, command: TasksCommand) -> Result<ExitCode> {
    match command {
        TasksCommand::List(filter) => list::run(global, &filter).await,
        TasksCommand::Show(args) => show::run(global, &args).await,
        TasksCommand::Export { task, out, tree, html: false } => {
            export::run(global, &task, out.as_deref(), tree).await
        }
        TasksCommand::Export { task, out, tree, html: true } => {
            export::page(global, &task, out.as_deref(), tree).await
        }
        TasksCommand::Resume { task, more } => resume(global, &task, &more).await,
        TasksCommand::Watch { task } => watch::run(global, task.as_deref()).await,
        TasksCommand::Diff { task } => changes::diff(global, &task).await,
        TasksCommand::Undo { task, turn, last, dry_run } => {
            let span = match turn {
                Some(turn) => EditSpan::Turn(turn),
                None if last => EditSpan::LastMessage,
                None => EditSpan::Whole,
            };
            undo::run(global, &task, span, dry_run).await
        }
        TasksCommand::Apply { task, protected } => changes::apply(global, &task, protected).await,
        TasksCommand::Discard { task } => changes::discard(global, &task).await,
        TasksCommand::Cancel { task } => control::cancel(global, &task).await,
        TasksCommand::Send { task, message } => control::send(global, &task, message).await,
        TasksCommand::Answer { task, answer } => control::answer(global, &task, answer).await,
        TasksCommand::Approve { answer } => {
            super::approvals::run(global, ApprovalsCommand::Approve { answer }).await
        }
        TasksCommand::Delete { tasks, force } => gc::delete(global, &tasks, force).await,
    }
}

async fn resume(global: &GlobalArgs, wanted: &str, more: &ExtraLimits) -> Result<ExitCode> {
    let taken_up = TakenUp::find(global, wanted).await?;
    let TakenUp { row, start, .. } = &taken_up;
    let common = TaskFlags { max_cost: more.max_cost, approvals: more.approvals, ..TaskFlags::default() };
    let how = RunOptions { common, mode: more.mode, ..RunOptions::default() };
    // A review report is printed in one piece, so its progress is for people.
    let is_review = ReviewPlan::of(start).is_some();
    let (json, kind) = match is_review {
        true => (false, RunKind::Report),
        false => (global.json, RunKind::Task),
    };
    let view = RunView { progress: ProgressView::Shown, json, kind };
    let room = taken_up.room(&how, view)?;
    run::check_model(&*taken_up.setup.models(&how)?, &start.agent, &taken_up.caps(&how))?;
    taken_up.tell_mode(&how, global.json)?;
    if row.state == TaskState::Ended(OutcomeStatus::Completed) {
        terminal::note(&say!("resume-had-completed", task = row.id));
    }
    let began = Instant::now();
    let wall_ms_max = more.timeout.map(|seconds| seconds * 1000);
    let onward = ResumeMode::Finish { turns_max: more.max_turns, wall_ms_max };
    let ended = room.work(RunWork::GoOn { id: row.id.clone(), onward }).await;
    taken_up.setup.close_servers().await;
    let outcome = match ended? {
        WorkEnd::Ended(outcome) => outcome,
        WorkEnd::Interrupted(code) => return Ok(code),
        WorkEnd::Left => return run::leave(global, &row.id, &how),
    };
    // The final report uses the time limit of this resume.
    let mut agent = start.agent.clone();
    agent.limits.wall_ms_max = agent.limits.wall_ms_max.max(wall_ms_max.unwrap_or(0));
    let ended = room.ended(&row.id, &agent, &outcome, began).await;
    let code = match ReviewPlan::of(start) {
        Some(mut plan) => {
            if global.json {
                plan.target.form = ReportForm::Json;
            }
            review::conclude(&plan, &ended).await
        }
        None => Ok(ended.conclude().await),
    };
    retention::apply_later(global, &taken_up.setup.config.store, &taken_up.setup.state);
    code
}

/// A stored task being resumed, with its setup. It keeps its workspace, its limits, and its tools unless they are
/// denied today.
pub struct TakenUp {
    pub row: TaskRow,
    pub start: TaskStart,
    pub setup: Setup,
    store: Arc<SqliteStore>,
}

impl TakenUp {
    /// Finds a task and claims it, unless a living process drives it.
    pub async fn find(global: &GlobalArgs, wanted: &str) -> Result<Self> {
        let store = setup::store(global)?;
        let row = find(&*store, wanted).await?;
        if row.state.is_running() && owner::lives(&row) {
            let text = say!("task-is-driven", task = row.id, process = owner::pid(&row));
            return Err(Error::new(ErrorCode::TaskNotResumable, text).hint(say!("task-is-driven-hint")));
        }
        let taken_up = Self::read(global, store, row).await?;
        taken_up.take().await?;
        Ok(taken_up)
    }

    /// Reads a task before claiming it, with the current configuration of its workspace.
    pub async fn read(global: &GlobalArgs, store: Arc<SqliteStore>, row: TaskRow) -> Result<Self> {
        let start = start_of(&store.records(&row.id).await?)?;
        // A worktree's configuration is that of the workspace it was made from.
        let origin = start.apart_from.as_ref().unwrap_or(&start.workspace);
        let mut setup = Setup::load_in(global, origin.into())?;
        setup.workspace = start.workspace.clone().into();
        if start.apart_from.is_some() && !setup.workspace.is_dir() {
            let text = say!("worktree-used-up", task = row.id);
            return Err(Error::new(ErrorCode::TaskNotResumable, text).hint(say!("worktree-used-up-hint")));
        }
        Ok(Self { row, start, setup, store })
    }

    /// Claims the task from a dead process; of several claimers one wins. The driver ends processes that were left.
    pub async fn take(&self) -> Result<()> {
        let row = &self.row;
        if row.state.is_running() {
            self.store.claim_from(&row.id, row.epoch, &owner::owner()).await?;
        }
        Ok(())
    }

    pub fn caps(&self, how: &RunOptions) -> BudgetCaps {
        self.setup.caps_again(how, &self.start.caps)
    }

    /// Opens the session of the resumed task. Only mode, recording and cost limit of `how` apply. Without a mode the
    /// task keeps its own.
    pub fn room(&self, how: &RunOptions, view: RunView<'_>) -> Result<RunSession> {
        let Self { row, start, setup, store } = self;
        let of_servers = start.grant.tools().filter(|name| is_about_servers(name)).map(str::to_owned);
        setup.servers(ServerFilter::These(&of_servers.collect::<Vec<_>>()));
        let found = setup.tools()?;
        let grant = self.grant(how.mode, &found)?;
        if let Some(missing) = grant.tools().find(|name| !found.has(name)) {
            let text = say!("task-tool-gone", task = row.id, missing);
            return Err(Error::new(ErrorCode::InvalidTool, text).hint(say!("task-tool-gone-hint")));
        }
        let mut policy = setup.policy(grant, self.caps(how))?;
        if ReviewPlan::of(start).is_some() {
            policy.facades = review::facades();
        }
        let (id, apart_from) = (row.id.session().to_owned(), start.apart_from.clone());
        let (store, regrants) = (store.clone(), how.mode.is_some());
        run::open(setup, how, found, SessionPlan { id, store, policy, apart_from, regrants }, view)
    }

    /// Announces the mode in which the task continues.
    pub fn tell_mode(&self, how: &RunOptions, json: bool) -> Result<()> {
        let (choice, grant) = self.mode(how)?;
        self.setup.tell_mode(choice, &grant, json);
        Ok(())
    }

    /// Returns the mode and the grant with which the task continues.
    pub fn mode(&self, how: &RunOptions) -> Result<(ModeChoice, Grant)> {
        let grant = self.grant(how.mode, &self.setup.tools()?)?;
        let can_ask = self.setup.can_ask(how, self.setup.is_attended);
        Ok((ModeChoice { mode: WorkMode::of(&grant), is_fallback: false, can_ask }, grant))
    }

    /// Builds the grant with which the task continues: its own, or that of the mode that the operator chose.
    fn grant(&self, chosen: Option<WorkMode>, found: &ToolInventory) -> Result<Grant> {
        let Self { start, setup, .. } = self;
        let Some(mode) = chosen else { return setup.grant_again(&start.grant, found) };
        self.refuse_mode(mode)?;
        Ok(setup.grant_in_mode(&start.grant, mode, found)?.keep(&start.agent.rights))
    }

    /// Refuses another mode for a subagent, which has its orchestrator's, and for a review, which only reads.
    fn refuse_mode(&self, mode: WorkMode) -> Result<()> {
        let text = if self.row.parent.is_some() {
            say!("mode-of-subagent", id = self.row.id)
        } else if ReviewPlan::of(&self.start).is_some() && mode != WorkMode::Plan {
            say!("mode-of-review")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorCode::InvalidRequest, text))
    }
}

/// Finds a task by id, id prefix, or the short id of a child in the newest session of this project.
pub async fn find(store: &dyn Store, wanted: &str) -> Result<TaskRow> {
    let here = std::env::current_dir().unwrap_or_default();
    find_task(store, wanted, in_project(&here)).await
}
