//! `posse worker`: goes on with what dead processes left. It finds the topmost task of each tree that nobody drives, takes it
//! over and drives it to its end, in its own workspace. Several workers share the work: who claims a task has it.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use posse_core::id::TaskId;
use posse_core::journal::start_of;
use posse_core::outcome::Outcome;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{fixed, say};
use posse_runtime::driver::ResumeMode;
use posse_runtime::ports::{Store, TaskQuery, TaskRow};
use posse_store::SqliteStore;
use serde_json::json;
use tokio::signal::unix::SignalKind;
use tokio::task::{JoinSet, LocalSet};

use super::drive::ProgressView;
use super::tasks::{TakenUp, end_tree, find};
use crate::args::{GlobalArgs, RunOptions, TaskFlags, WorkerArgs};
use crate::render::{CountedNoun, many, price, tokens, with_subagents};
use crate::{owner, retention, setup, signals, terminal, wire};

/// How often it looks for work.
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
    // What a room is made with stays on the thread it was made on.
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

/// `--flag=value`, so that a value that begins with a dash is not read as another flag.
pub fn joined(flag: &str, value: impl AsRef<OsStr>) -> OsString {
    [OsStr::new(flag), OsStr::new("="), value.as_ref()].into_iter().collect()
}

/// Starts a worker in the background.
pub fn start(global: &GlobalArgs, flags: &[OsString]) -> Result<()> {
    let worker = ["worker", "--local", "--until-idle"].map(OsString::from);
    let failed = |e| Error::new(ErrorCode::Io, say!("worker-not-started")).caused_by(e);
    in_background(global, &[&worker, flags].concat(), 0).map_err(failed)
}

/// Starts a command of this program in a session of its own, so that what ends the terminal or the host does not end it. A higher
/// `niceness` gives way to others.
pub fn in_background(global: &GlobalArgs, arguments: &[OsString], niceness: i32) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments);
    for (flag, path) in [("--state", &global.state), ("--config", &global.config), ("--log", &global.log)] {
        if let Some(path) = path {
            command.arg(joined(flag, path));
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: two calls that are allowed between fork and exec, and take no pointers.
    unsafe {
        command.pre_exec(move || {
            if niceness != 0 {
                // Without it the command works all the same.
                libc::setpriority(libc::PRIO_PROCESS, 0, niceness);
            }
            match libc::setsid() {
                -1 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            }
        });
    }
    command.spawn().map(drop)
}

#[derive(Clone)]
struct Worker {
    global: GlobalArgs,
    how: RunOptions,
    store: Arc<SqliteStore>,
    /// The one task to resume; `None`: all.
    only: Option<TaskId>,
    /// How many tasks it began to work on.
    taken_up: Rc<Cell<u32>>,
}

/// The topmost tasks that nobody drives.
struct InterruptedTasks {
    /// Oldest first.
    open: Vec<(TaskRow, AdoptionFate)>,
    /// Some wait for others that are at work, here or elsewhere.
    left: bool,
}

/// What becomes of a task that nobody drives.
enum AdoptionFate {
    /// Tasks that it depends on have not ended.
    Wait,
    GoOn,
    End {
        why: String,
        with_parent: bool,
    },
}

impl Worker {
    /// Works until there is nothing left, or for ever. Returns what it could not go on with.
    async fn work(&self, args: &WorkerArgs) -> Result<BTreeMap<TaskId, ErrorCode>> {
        let mut given_up = BTreeMap::new();
        let mut busy = HashSet::new();
        let mut jobs: JoinSet<(TaskId, Result<Arc<Outcome>>)> = JoinSet::new();
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
                    match settled {
                        Ok(outcome) => self.tell(&id, &outcome).await,
                        // Another one has it.
                        Err(e) if e.code() == ErrorCode::OwnerLost => {}
                        Err(e) => {
                            self.let_go(&id).await;
                            self.complain(&id, &e);
                            given_up.insert(id, e.code());
                        }
                    }
                }
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn look(&self) -> Result<InterruptedTasks> {
        let running = TaskQuery { status: Some("running".to_owned()), ..TaskQuery::default() };
        let rows = self.store.find_tasks(running).await?;
        let by_id: HashMap<&TaskId, &TaskRow> = rows.iter().map(|row| (&row.id, row)).collect();
        let mut found = InterruptedTasks { open: Vec::new(), left: false };
        for row in rows.iter().rev().filter(|row| !owner::lives(row)) {
            // A parent that runs takes its children along, here or where it is driven.
            if row.parent.as_ref().is_some_and(|parent| by_id.contains_key(parent)) {
                continue;
            }
            if self.only.as_ref().is_some_and(|only| *only != row.id) {
                continue;
            }
            let fate = match () {
                () if row.cancel_requested => {
                    AdoptionFate::End { why: fixed!("was-to-be-cancelled"), with_parent: false }
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

    /// Of a task whose parent has ended, or was never in the store.
    async fn fate_alone(&self, row: &TaskRow) -> Result<AdoptionFate> {
        // What cannot be read is not ended unseen: going on with it says what is wrong.
        let Ok(start) = self.store.records(&row.id).await.and_then(|records| start_of(&records)) else {
            return Ok(AdoptionFate::GoOn);
        };
        if !start.detached {
            return Ok(AdoptionFate::End { why: fixed!("orchestrator-had-ended"), with_parent: true });
        }
        for other in &start.terms.depends_on {
            let id = TaskId::from_store(format!("{}.{other}", row.id.session()));
            match self.store.task(&id).await?.status.as_str() {
                "running" => return Ok(AdoptionFate::Wait),
                "completed" => {}
                _ => {
                    return Ok(AdoptionFate::End {
                        why: fixed!("dependency-failed", because_of = other),
                        with_parent: false,
                    });
                }
            }
        }
        Ok(AdoptionFate::GoOn)
    }

    async fn settle(&self, row: TaskRow, fate: AdoptionFate) -> Result<Arc<Outcome>> {
        if let AdoptionFate::End { why, with_parent } = fate {
            return end_tree(&self.store, &row, &why, with_parent).await;
        }
        let title = row.title.clone();
        // What can fail without the task is tried before it is taken.
        let taken_up = TakenUp::read(&self.global, self.store.clone(), row).await?;
        let room = taken_up.room(&self.how, ProgressView::Silent, self.global.json, &title)?;
        taken_up.take().await?;
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = room.session.resume(taken_up.row.id.clone(), onward).await;
        taken_up.setup.close_servers().await;
        retention::apply_later(&self.global, &taken_up.setup.config.store, &taken_up.setup.state);
        outcome
    }

    /// A task that this process cannot go on with is not kept from others.
    async fn let_go(&self, id: &TaskId) {
        let Ok(row) = self.store.task(id).await else { return };
        if row.status == "running" && row.owner == owner::owner() {
            let _ = self.store.claim_from(id, row.epoch, "").await;
        }
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
