//! `posse worker`: resumes tasks of dead processes. It claims the topmost task of each tree without a driver and
//! drives it to its end in the task's own workspace. Several workers share the work through claims.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::id::TaskId;
use posse_core::journal::{Record, start_of};
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::state::TaskState;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_review::ReviewPlan;
use posse_runtime::driver::ResumeMode;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{JournalStore, TaskFilter, TaskQuery, TaskRow};
use posse_sandbox::process::spawn_detached;
use posse_store::SqliteStore;
use serde_json::json;
use tokio::signal::unix::SignalKind;
use tokio::task::{JoinSet, LocalSet};

use super::drive::{ProgressView, RunSession, RunView};
use super::review;
use super::tasks::{TakenUp, end_tree, find};
use crate::args::{GlobalArgs, RunOptions, TaskFlags, WorkerArgs};
use crate::render::{CountedNoun, many, price, tokens, with_subagents};
use crate::{retention, setup, signals, terminal, wire};

/// Poll interval for interrupted tasks.
const LOOK: Duration = Duration::from_secs(2);

pub async fn run(global: &GlobalArgs, args: &WorkerArgs) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let only = match &args.task {
        Some(wanted) => Some(find(&*store, wanted).await?.id),
        None => None,
    };
    let common = TaskFlags { trust: args.trust, approvals: args.approvals, ..TaskFlags::default() };
    let worker = Worker {
        global: global.clone(),
        how: RunOptions::from(common),
        store,
        only,
        taken_up: Rc::default(),
    };
    // Sessions are not `Send`: they stay on this thread.
    let rooms = LocalSet::new();
    tokio::select! {
        given_up = rooms.run_until(worker.work(args)) => {
            let given_up = given_up?;
            let names: Vec<&str> = given_up.keys().map(TaskId::as_str).collect();
            if names.is_empty() {
                if worker.taken_up.get() == 0 {
                    terminal::note(&say!("worker-idle"));
                }
                return Ok(ExitCode::SUCCESS);
            }
            Err(Error::new(ErrorCode::TaskNotResumable, say!("worker-gave-up", tasks = names.join(", ")))
                .hint(say!("worker-gave-up-hint")))
        }
        told = told_to_stop() => {
            told?;
            terminal::note(&say!("worker-stopped"));
            Ok(ExitCode::from(if args.until_idle { 130 } else { 0 }))
        }
    }
}

async fn told_to_stop() -> Result<()> {
    let mut interrupt = signals::receiver(SignalKind::interrupt())?;
    let mut terminate = signals::receiver(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Formats `--flag=value`, so that a value beginning with a dash is no flag.
pub fn joined(flag: &str, value: impl AsRef<OsStr>) -> OsString {
    [OsStr::new(flag), OsStr::new("="), value.as_ref()].into_iter().collect()
}

/// Starts a worker in the background.
pub fn start(global: &GlobalArgs, flags: &[OsString]) -> Result<()> {
    let worker = ["worker", "--local", "--until-idle"].map(OsString::from);
    let failed = |e| Error::new(ErrorCode::Io, say!("worker-not-started")).caused_by(e);
    in_background(global, &[&worker, flags].concat(), 0).map_err(failed)
}

/// Starts a command of this program in a session (`setsid`) of its own, so that it survives the terminal or host. A
/// higher `niceness` lowers its priority.
pub fn in_background(global: &GlobalArgs, arguments: &[OsString], niceness: i32) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments);
    for (flag, path) in [("--state", &global.state), ("--config", &global.config), ("--log", &global.log)] {
        if let Some(path) = path {
            command.arg(joined(flag, path));
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    spawn_detached(&mut command, niceness).map(drop)
}

#[derive(Clone)]
struct Worker {
    global: GlobalArgs,
    how: RunOptions,
    store: Arc<SqliteStore>,
    /// The one task to resume; `None` for all.
    only: Option<TaskId>,
    /// Number of tasks that it started to drive.
    taken_up: Rc<Cell<u32>>,
}

/// Topmost tasks without a driver.
struct InterruptedTasks {
    /// Tasks to settle, oldest first.
    open: Vec<(TaskRow, AdoptionFate)>,
    /// True if some tasks wait for others that still run.
    left: bool,
}

/// Decision about a task without a driver.
enum AdoptionFate {
    /// Wait: its dependencies have not ended.
    Wait,
    GoOn,
    End {
        why: String,
        with_parent: bool,
    },
}

impl Worker {
    /// Works until no task is left, or forever. Returns the tasks that failed, with their error codes.
    async fn work(&self, args: &WorkerArgs) -> Result<BTreeMap<TaskId, ErrorCode>> {
        let mut given_up = BTreeMap::new();
        let mut busy = HashSet::new();
        let mut jobs: JoinSet<(TaskId, Result<()>)> = JoinSet::new();
        loop {
            let InterruptedTasks { open, mut left } = self.look().await?;
            for (row, fate) in open {
                if busy.contains(&row.id) || given_up.contains_key(&row.id) {
                    continue;
                }
                left = true;
                if jobs.len() < args.jobs as usize {
                    busy.insert(row.id.clone());
                    self.taken_up.update(|count| count + 1);
                    let worker = self.clone();
                    jobs.spawn_local(async move { (row.id.clone(), worker.settle(row, fate).await) });
                }
            }
            if args.until_idle && !left && jobs.is_empty() {
                return Ok(given_up);
            }
            tokio::select! {
                Some(ended) = jobs.join_next() => {
                    let (id, settled) = ended.map_err(|e| {
                        Error::new(ErrorCode::Internal, say!("driver-crashed")).caused_by(e)
                    })?;
                    busy.remove(&id);
                    // `OWNER_LOST`: another process claimed it first.
                    if let Err(e) = settled && e.code() != ErrorCode::OwnerLost {
                        self.complain(&id, &e);
                        given_up.insert(id, e.code());
                    }
                }
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn look(&self) -> Result<InterruptedTasks> {
        let running = TaskQuery::running(TaskFilter::All);
        let rows = self.store.find_tasks(running).await?;
        let by_id: HashMap<&TaskId, &TaskRow> = rows.iter().map(|row| (&row.id, row)).collect();
        let mut found = InterruptedTasks { open: Vec::new(), left: false };
        for row in rows.iter().rev().filter(|row| !owner::lives(row)) {
            // A running parent adopts its children itself.
            if row.parent.as_ref().is_some_and(|parent| by_id.contains_key(parent)) {
                continue;
            }
            if let Some(only) = &self.only
                && !self.store.is_within(row, only).await?
            {
                continue;
            }
            // Its owner may have ended it right before its own end; children that it left are found by another look.
            let now = self.store.task(&row.id).await?;
            if !now.state.is_running() || now.epoch != row.epoch {
                found.left = true;
                continue;
            }
            let fate = match () {
                () if row.cancel_requested => {
                    AdoptionFate::End { why: "it was to be cancelled".to_owned(), with_parent: false }
                }
                () if row.parent.is_some() => self.fate_alone(row).await?,
                () => AdoptionFate::GoOn,
            };
            match fate {
                AdoptionFate::Wait => found.left = true,
                AdoptionFate::GoOn | AdoptionFate::End { .. } => found.open.push((row.clone(), fate)),
            }
        }
        Ok(found)
    }

    /// Decides about a task whose parent has ended or is unknown.
    async fn fate_alone(&self, row: &TaskRow) -> Result<AdoptionFate> {
        // An unreadable task is resumed rather than ended, so that the error is reported.
        let Ok(start) = self.store.records(&row.id).await.and_then(|records| start_of(&records)) else {
            return Ok(AdoptionFate::GoOn);
        };
        if !start.link.detached {
            return Ok(AdoptionFate::End { why: "its orchestrator had ended".to_owned(), with_parent: true });
        }
        for other in &start.terms.depends_on {
            let id = TaskId::from_store(format!("{}.{other}", row.id.session()));
            let why = match self.store.task(&id).await.map(|row| row.state) {
                Ok(TaskState::Running) => return Ok(AdoptionFate::Wait),
                Ok(TaskState::Ended(OutcomeStatus::Completed)) => continue,
                Ok(TaskState::Ended(_)) => format!("{other} did not complete"),
                Err(e) if e.code() == ErrorCode::TaskNotFound => format!("{other} was deleted"),
                Err(e) => return Err(e),
            };
            return Ok(AdoptionFate::End { why, with_parent: false });
        }
        Ok(AdoptionFate::GoOn)
    }

    async fn settle(&self, row: TaskRow, fate: AdoptionFate) -> Result<()> {
        if let AdoptionFate::End { why, with_parent } = fate {
            let outcome = end_tree(&self.store, &row, &why, with_parent).await?;
            self.tell(&row.id, &outcome).await;
            return Ok(());
        }
        let title = row.title.clone();
        // Everything that can fail without the task comes before the claim.
        let taken_up = TakenUp::read(&self.global, self.store.clone(), row).await?;
        let room = taken_up.room(
            &self.how,
            RunView { progress: ProgressView::Silent, json: self.global.json, title: &title },
        )?;
        room.session.check_model(&taken_up.start.agent)?;
        taken_up.take().await?;
        let driven = self.drive(&taken_up, &room).await;
        // The rest of the tree has no driver any more: the next look finds it, here or in another worker.
        let released = room.session.let_go(&taken_up.row.id).await;
        taken_up.setup.close_servers().await;
        retention::apply_later(&self.global, &taken_up.setup.config.store, &taken_up.setup.state);
        driven.and(released.map(drop))
    }

    /// Drives a task to its end, and the tasks that were detached from it.
    async fn drive(&self, taken_up: &TakenUp, room: &RunSession) -> Result<()> {
        let id = &taken_up.row.id;
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let began = Instant::now();
        let outcome = room.session.resume(id.clone(), onward).await?;
        self.tell(id, &outcome).await;
        if let Some(plan) = ReviewPlan::of(&taken_up.start) {
            review::write_report(&plan, room, id, &taken_up.start.agent, &outcome, began).await?;
        }
        let detached = room.session.left_running();
        room.session.finish_detached().await;
        for id in detached {
            let records = self.store.records(&id).await?;
            if let Some(Record::Finished { outcome, .. }) = records.last() {
                self.tell(&id, outcome).await;
            }
        }
        Ok(())
    }

    async fn tell(&self, id: &TaskId, outcome: &Outcome) {
        let own = outcome.usage.spending(outcome.turns);
        let tree = self.store.tree_total(id).await.unwrap_or(own);
        if self.global.json {
            let line = json!({
                "type": "task",
                "task_id": id.as_str(),
                "status": outcome.status().wire(),
                "reason": outcome.stop.wire(),
                "detail": outcome.detail,
                "turns": outcome.turns,
                "tool_calls": outcome.tool_calls,
                "cost_usd": own.cost_usd(),
                "tree_cost_usd": tree.cost_usd(),
                "in_doubt": outcome.in_doubt.iter().map(|doubt| doubt.key.to_string()).collect::<Vec<_>>(),
                "preview": outcome.preview(),
            });
            return terminal::out(&line.to_string());
        }
        let detail = outcome.detail.as_ref().map(|detail| format!(" ({})", visible(detail)));
        terminal::out(&format!(
            "{id} · {} · {}{} · {} · {} · {} · {}{}",
            outcome.status().wire(),
            outcome.stop.wire().replace('_', " "),
            detail.unwrap_or_default(),
            many(outcome.turns, CountedNoun::Turn),
            many(outcome.tool_calls, CountedNoun::Tool),
            tokens(outcome.usage.total()),
            price(&own),
            with_subagents(&tree)
        ));
    }

    fn complain(&self, id: &TaskId, e: &Error) {
        if self.global.json {
            let mut line = wire::error(e);
            line["task_id"] = json!(id.as_str());
            return terminal::out(&line.to_string());
        }
        let hint = e.advice().map(|hint| format!(" · {}", visible(hint))).unwrap_or_default();
        terminal::out(&format!(
            "{id} · {} · {}: {}{hint}",
            say!("not-taken-up"),
            e.code().wire(),
            visible(e.message())
        ));
    }
}
