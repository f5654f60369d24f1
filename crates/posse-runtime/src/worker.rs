//! Worker: finds tasks without a living driver and settles the topmost of each tree. Several workers share the work
//! through claims.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use posse_core::id::TaskId;
use posse_core::journal::start_of;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::state::TaskState;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::driver::end_cancelled;
use crate::liveness::{lives, owner};
use crate::ports::{LeftoverSweep, Store, TaskFilter, TaskQuery, TaskRow};
use crate::toolbox::Toolbox;

/// Poll interval for interrupted tasks.
const LOOK: Duration = Duration::from_secs(2);

/// Longest wait for a cancelled task: a process polls every second, and its commands get a few seconds to end.
const CANCEL_WAIT: Duration = Duration::from_secs(10);
const CANCEL_LOOK: Duration = Duration::from_millis(100);

/// Scope of a worker.
pub struct WorkerPlan {
    /// The one task to resume, with everything below it; `None` for all.
    pub only: Option<TaskId>,
    pub jobs_max: usize,
    /// Stop when no task is left to wait for.
    pub until_idle: bool,
}

/// Decision about a task without a driver.
#[derive(Debug)]
pub enum AdoptionFate {
    GoOn,
    End { why: String, with_parent: bool },
}

/// Result of a worker.
#[derive(Debug, Default)]
pub struct WorkerReport {
    /// Number of tasks that it started to settle.
    pub taken_up: u32,
    /// Tasks that failed, with their error codes.
    pub given_up: BTreeMap<TaskId, ErrorCode>,
}

/// Settles tasks without a driver until none is left, or forever; `complain` gets each failure. Runs in a `LocalSet`:
/// sessions stay on their thread.
pub async fn work<F>(
    store: &dyn Store,
    plan: &WorkerPlan,
    settle: impl Fn(TaskRow, AdoptionFate) -> F,
    complain: impl Fn(&TaskId, &Error),
) -> Result<WorkerReport>
where
    F: Future<Output = Result<()>> + 'static,
{
    let mut report = WorkerReport::default();
    let mut busy = HashSet::new();
    let mut jobs: JoinSet<(TaskId, Result<()>)> = JoinSet::new();
    loop {
        let InterruptedTasks { open, mut left } = scan_interrupted(store, plan.only.as_ref()).await?;
        for (row, fate) in open {
            if busy.contains(&row.id) || report.given_up.contains_key(&row.id) {
                continue;
            }
            left = true;
            if jobs.len() < plan.jobs_max {
                busy.insert(row.id.clone());
                report.taken_up += 1;
                let (id, settling) = (row.id.clone(), settle(row, fate));
                jobs.spawn_local(async move { (id, settling.await) });
            }
        }
        if plan.until_idle && !left && jobs.is_empty() {
            return Ok(report);
        }
        tokio::select! {
            Some(ended) = jobs.join_next() => {
                let (id, settled) = ended.map_err(|e| {
                    Error::new(ErrorCode::Internal, localized!("driver-crashed")).caused_by(e)
                })?;
                busy.remove(&id);
                // `OWNER_LOST`: another process claimed it first.
                if let Err(e) = settled && e.code() != ErrorCode::OwnerLost {
                    complain(&id, &e);
                    report.given_up.insert(id, e.code());
                }
            }
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Topmost tasks without a driver.
struct InterruptedTasks {
    /// Tasks to settle, oldest first.
    open: Vec<(TaskRow, AdoptionFate)>,
    /// True if some tasks wait for others that still run.
    left: bool,
}

async fn scan_interrupted(store: &dyn Store, only: Option<&TaskId>) -> Result<InterruptedTasks> {
    let rows = store.find_tasks(TaskQuery::running(TaskFilter::All)).await?;
    let by_id: HashMap<&TaskId, &TaskRow> = rows.iter().map(|row| (&row.id, row)).collect();
    let mut found = InterruptedTasks { open: Vec::new(), left: false };
    for row in rows.iter().rev().filter(|row| !lives(row)) {
        // A running parent adopts its children itself.
        if row.parent.as_ref().is_some_and(|parent| by_id.contains_key(parent)) {
            continue;
        }
        if let Some(only) = only
            && !store.is_within(row, only).await?
        {
            continue;
        }
        // Its owner may have ended it right before dying; the next scan finds children that it left.
        let now = store.task(&row.id).await?;
        if !now.state.is_running() || now.epoch != row.epoch {
            found.left = true;
            continue;
        }
        let fate = match &row.parent {
            _ if row.cancel_requested => {
                Some(AdoptionFate::End { why: "it was to be cancelled".to_owned(), with_parent: false })
            }
            Some(_) => fate_alone(store, row).await?,
            None => Some(AdoptionFate::GoOn),
        };
        match fate {
            Some(fate) => found.open.push((row.clone(), fate)),
            None => found.left = true,
        }
    }
    Ok(found)
}

/// Decides about a task whose parent has ended or is unknown; `None` while its dependencies run.
async fn fate_alone(store: &dyn Store, row: &TaskRow) -> Result<Option<AdoptionFate>> {
    let end = |why: String, with_parent| Ok(Some(AdoptionFate::End { why, with_parent }));
    // An unreadable task is resumed rather than ended, so that the error is reported.
    let Ok(start) = store.records(&row.id).await.and_then(|records| start_of(&records)) else {
        return Ok(Some(AdoptionFate::GoOn));
    };
    if !start.link.detached {
        return end("its orchestrator had ended".to_owned(), true);
    }
    for other in &start.terms.depends_on {
        let id = TaskId::from_store(format!("{}.{other}", row.id.session()));
        match store.task(&id).await.map(|row| row.state) {
            Ok(TaskState::Running) => return Ok(None),
            Ok(TaskState::Ended(OutcomeStatus::Completed)) => {}
            Ok(TaskState::Ended(_)) => return end(format!("{other} did not complete"), false),
            Err(e) if e.code() == ErrorCode::TaskNotFound => {
                return end(format!("{other} was deleted"), false);
            }
            Err(e) => return Err(e),
        }
    }
    Ok(Some(AdoptionFate::GoOn))
}

/// Effect of a cancel from outside of the task's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelEnd {
    Cancelled,
    /// The task had ended before.
    HadEnded,
    /// The task ended otherwise meanwhile.
    TooLate,
    /// Its process was notified and has not ended it yet.
    NotYet,
}

/// Cancels a task in any process, and returns its current row. A living process is notified through the store; the tasks
/// of a dead one are ended here.
pub async fn cancel(
    store: &dyn Store,
    mut row: TaskRow,
    sweep: LeftoverSweep,
) -> Result<(TaskRow, CancelEnd)> {
    if !row.state.is_running() {
        return Ok((row, CancelEnd::HadEnded));
    }
    let deadline = Instant::now() + CANCEL_WAIT;
    while row.state.is_running() {
        if !lives(&row) {
            match end_tree(store, &row, "nobody was driving it", false, sweep).await {
                Ok(_) => {}
                // Another process has just claimed it: notify that one.
                Err(e) if e.code() == ErrorCode::OwnerLost => {}
                Err(e) => return Err(e),
            }
        } else if !row.cancel_requested {
            store.request_cancel(&row.id).await?;
        } else if Instant::now() > deadline {
            return Ok((row, CancelEnd::NotYet));
        } else {
            tokio::time::sleep(CANCEL_LOOK).await;
        }
        row = store.task(&row.id).await?;
    }
    let is_cancelled = row.state == TaskState::Ended(OutcomeStatus::Cancelled);
    Ok((row, if is_cancelled { CancelEnd::Cancelled } else { CancelEnd::TooLate }))
}

/// Claims the task of a dead process and ends it with its children, except detached ones. A task that ends `with_parent`
/// continues when its orchestrator is resumed.
pub async fn end_tree(
    store: &dyn Store,
    row: &TaskRow,
    why: &str,
    with_parent: bool,
    sweep: LeftoverSweep,
) -> Result<Arc<Outcome>> {
    let epoch = store.claim_from(&row.id, row.epoch, &owner()).await?;
    Toolbox::default().swept_by(sweep).sweep(&row.id, epoch).await;
    let outcome = end_cancelled(store, &row.id, epoch, why, with_parent).await?;
    let running = TaskQuery::running(TaskFilter::ChildrenOf(row.id.clone()));
    for child in store.find_tasks(running).await? {
        if lives(&child) || start_of(&store.records(&child.id).await?)?.link.detached {
            continue;
        }
        match Box::pin(end_tree(store, &child, "its orchestrator was cancelled", true, sweep)).await {
            Err(e) if e.code() != ErrorCode::OwnerLost => return Err(e),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(outcome)
}
