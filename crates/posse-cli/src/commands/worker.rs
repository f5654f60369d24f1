//! `posse worker`: resumes tasks of dead processes. It claims the topmost task of each tree without a driver and
//! drives it to its end in the task's own workspace. Several workers share the work through claims.

use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Instant;

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::outcome::Outcome;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_review::ReviewPlan;
use posse_runtime::driver::ResumeMode;
use posse_runtime::ports::{JournalStore, TaskRow};
use posse_runtime::worker::{self, AdoptionFate, WorkerPlan, WorkerReport};
use posse_sandbox::process::spawn_detached;
use posse_sandbox::supervisor::sweep;
use posse_store::SqliteStore;
use serde_json::json;
use tokio::signal::unix::SignalKind;
use tokio::task::LocalSet;

use super::drive::{ProgressView, RunKind, RunSession, RunView};
use super::review;
use super::tasks::{TakenUp, find};
use crate::args::{GlobalArgs, RunOptions, TaskFlags, WorkerArgs};
use crate::render::{price, tokens, with_subagents};
use crate::{retention, setup, signals, terminal, wire};

pub async fn run(global: &GlobalArgs, args: &WorkerArgs) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let only = match &args.task {
        Some(wanted) => Some(find(&*store, wanted).await?.id),
        None => None,
    };
    let common = TaskFlags { trust: args.trust, approvals: args.approvals, ..TaskFlags::default() };
    let worker = Worker { global: global.clone(), how: RunOptions::from(common), store };
    let plan = WorkerPlan { only, jobs_max: args.jobs as usize, until_idle: args.until_idle };
    let settle = |row, fate| {
        let worker = worker.clone();
        async move { worker.settle(row, fate).await }
    };
    let working = worker::work(&*worker.store, &plan, settle, |id, e| worker.complain(id, e));
    // Sessions are not `Send`: they stay on this thread.
    let rooms = LocalSet::new();
    tokio::select! {
        report = rooms.run_until(working) => {
            let WorkerReport { taken_up, given_up } = report?;
            if given_up.is_empty() {
                if taken_up == 0 {
                    terminal::note(&say!("worker-idle"));
                }
                return Ok(ExitCode::SUCCESS);
            }
            let tasks = given_up.keys().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
            Err(Error::new(ErrorCode::TaskNotResumable, say!("worker-gave-up", tasks))
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
}

impl Worker {
    async fn settle(&self, row: TaskRow, fate: AdoptionFate) -> Result<()> {
        if let AdoptionFate::End { why, with_parent } = fate {
            let outcome = worker::end_tree(&*self.store, &row, &why, with_parent, sweep).await?;
            self.tell(&row.id, &outcome).await;
            return Ok(());
        }
        // Everything that can fail without the task comes before the claim.
        let taken_up = TakenUp::read(&self.global, self.store.clone(), row).await?;
        let (progress, json) = (ProgressView::Silent, self.global.json);
        let room = taken_up.room(&self.how, RunView { progress, json, kind: RunKind::Task })?;
        room.session.check_model(&taken_up.start.agent)?;
        taken_up.take().await?;
        let driven = self.drive(&taken_up, &room).await;
        // The rest of the tree has no driver any more: the next look finds it, here or in another worker.
        let released = room.session.release_tasks(&taken_up.row.id).await;
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
            let ended = room.ended(id, &taken_up.start.agent, &outcome, began).await;
            review::write_report(&plan, &ended).await?;
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
            say!("many-turns", n = outcome.turns),
            say!("many-tools", n = outcome.tool_calls),
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
