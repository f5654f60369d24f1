//! Adoption of a dead process's delegation: its children are resumed; definitions and collected results are restored. All
//! of it is in the journals.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use posse_core::board::{Admission, PastState};
use posse_core::id::TaskId;
use posse_core::journal::{Record, TaskStart, start_of};
use posse_core::message::{Block, Message};
use posse_core::outcome::{Outcome, StopReason};
use posse_core::run::replay;
use posse_core::tool::{DELEGATION, canonical, own_name};
use posse_core::{ErrorCode, Result};
use serde_json::Value;

use super::children::{ChildTasks, ParentTask, end_of, ended_task, revived_tasks};
use super::task::{Done, LiveTask};
use super::{DriveMode, Session, StartMode};
use crate::context::now_ms;
use crate::delegation::define_again;
use crate::driver::{self, ResumeMode, StopTokens, task_fact};
use crate::inbox::TaskInbox;
use crate::ports::{QuestionState, ResultDelivery, TaskFilter, TaskQuery, TaskRow};

/// Poll interval for tasks that another process drives.
const FOLLOW: Duration = Duration::from_millis(500);

/// Calls of the `subagent` tool that were answered: the arguments, the idempotency key and the answer.
struct AnsweredCalls {
    arguments: Value,
    answer: Value,
}

/// Idempotency keys of calls that started a task.
#[derive(Default)]
pub(crate) struct BegunTasks {
    /// Keys of calls whose answer was the task's result.
    answered: HashSet<String>,
    investigations: HashSet<String>,
    /// Keys of calls that are repeated and wait for their task.
    kept: HashSet<String>,
}

impl Session {
    /// Adopts the children of a task that is resumed in this process.
    pub(super) async fn adopt(
        &self,
        children: &Arc<ChildTasks>,
        records: &[Record],
        onward: &ResumeMode,
    ) -> Result<()> {
        let answered = answered(self, records);
        for AnsweredCalls { arguments, .. } in
            answered.iter().filter(|call| call.answer["defined"].is_string())
        {
            // It was accepted once; if it fails now, requests for the agent fail as for an unknown one.
            let _ = define_again(self, arguments);
        }
        let collected = collected(&answered);
        let calls = begun(&children.parent.id, self, records);
        let in_session =
            self.sources.store.find_tasks(TaskQuery::of(TaskFilter::Session(self.id.clone()))).await?;
        self.reserve_numbers(in_session.iter());
        let rows = in_session.into_iter().filter(|row| is_child(row, &children.parent.id)).collect();
        // A person's new message replaces the request whose tasks were stopped.
        let revives = matches!(onward, ResumeMode::Finish { .. }) && !is_answered(records);
        self.restore_children(children, rows, |row| collected.contains(row.id.short()), &calls, revives)
            .await?;
        recall_told(children, &answered, records);
        Ok(())
    }

    /// Finds the tasks, at any depth, that were stopped with `id` and are resumed with it.
    pub async fn stopped_with(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        let mut found = Vec::new();
        let mut parents = vec![id.clone()];
        while let Some(parent) = parents.pop() {
            let records = self.sources.store.records(&parent).await?;
            if is_answered(&records) {
                continue;
            }
            let (answered, calls) = (answered(self, &records), begun(&parent, self, &records));
            let collected = collected(&answered);
            for row in
                self.sources.store.find_tasks(TaskQuery::of(TaskFilter::ChildrenOf(parent.clone()))).await?
            {
                let was_collected = collected.contains(row.id.short());
                let child = self.read_child(row, was_collected, &calls, true).await?;
                if child.revived && is_child(&child.row, &parent) {
                    found.push(child.row.id.clone());
                    parents.push(child.row.id);
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    async fn read_child(
        &self,
        row: TaskRow,
        collected: bool,
        calls: &BegunTasks,
        revives: bool,
    ) -> Result<StoredChild> {
        let (row, driven) = self.row_as_left(row).await?;
        let records = self.sources.store.records(&row.id).await?;
        let begun = records.iter().any(|record| matches!(record, Record::Asked { .. }));
        let key = start_of(&records)?.link.key;
        let collected = collected || key.is_some_and(|key| calls.answered.contains(&key));
        let revived = revives && !collected && !row.state.is_running() && was_stopped_with_parent(&records);
        Ok(StoredChild { row, records, begun, collected, revived, driven })
    }

    /// Returns the row of a task as its owner left it, and whether a living process drives the task. The row of a dead
    /// owner is read again: the owner may have ended the task right before dying.
    async fn row_as_left(&self, row: TaskRow) -> Result<(TaskRow, bool)> {
        if !row.state.is_running() || (self.sources.lives)(&row) {
            let driven = row.state.is_running();
            return Ok((row, driven));
        }
        let left = self.sources.store.task(&row.id).await?;
        // Another epoch: another process has claimed it.
        let driven = left.state.is_running() && left.epoch != row.epoch;
        Ok((left, driven))
    }

    /// Adopts these children, newest first. Tasks without a driver are resumed here.
    pub(crate) async fn restore_children(
        &self,
        children: &Arc<ChildTasks>,
        rows: Vec<TaskRow>,
        collected: impl Fn(&TaskRow) -> bool,
        calls: &BegunTasks,
        revives: bool,
    ) -> Result<()> {
        let mut stored = Vec::new();
        for row in rows.into_iter().rev() {
            let was_collected = collected(&row);
            stored.push(self.read_child(row, was_collected, calls, revives).await?);
        }
        // Ended tasks first, for their dependents; then running ones, which keep their slots.
        stored.sort_by_key(|child| (child.goes_on(), !child.begun));
        for child in stored {
            let (id, delivery, revived) = (child.row.id.clone(), child.row.delivery.clone(), child.revived);
            self.adopt_child(children, child, calls).await?;
            if !revived {
                children.note_delivery(id.short(), &delivery);
            }
        }
        Ok(())
    }

    async fn adopt_child(
        &self,
        children: &Arc<ChildTasks>,
        child: StoredChild,
        calls: &BegunTasks,
    ) -> Result<()> {
        let mut goes_on = child.goes_on();
        let StoredChild { row, records, begun, collected, revived, driven } = child;
        let start = start_of(&records)?;
        if start.link.key.as_ref().is_some_and(|key| calls.investigations.contains(key)) {
            self.investigations.recall();
        }
        let above = if start.link.detached { &self.watchers.stop } else { &children.parent.stop };
        let task = recalled(&row, start, above.child(), &records, revived);
        if goes_on {
            match self.open_worktree(&task.id, &task.start).await {
                Ok(worktree) => task.set_worktree(worktree),
                // A person applied or discarded its changes meanwhile: it is not resumed.
                Err(_) if revived => goes_on = false,
                Err(e) => return Err(e),
            }
        }
        // The usage of earlier connections is not charged to this one.
        if !goes_on && children.parent.outside {
            recall_ended(children, &task, last_outcome(records), row.turns(), collected);
            return Ok(());
        }
        let ports = match self.child_ports(&children.parent, &task) {
            // A task that cannot be resumed here, without a key for instance, must not block the others of a host.
            Err(e) if children.parent.outside => {
                recall_ended(children, &task, Err(e.english()), row.turns(), collected);
                return Ok(());
            }
            ports => ports?,
        };
        if !goes_on {
            let done = last_outcome(records);
            if let Ok(outcome) = &done {
                ports.budget.charge(ports.model.tariff.used(&outcome.usage, &outcome.answered_by));
            }
            recall_ended(children, &task, done, row.turns(), collected);
            return Ok(());
        }
        let past = if begun { PastState::Running } else { PastState::NotBegun };
        // Before the board has it: from then on, the end of another task may start it.
        if driven || !self.claim(&task).await? {
            task.set_running();
            children.recall(&task, past, now_ms());
            self.follow(children, &task);
            return Ok(());
        }
        let admission = children.recall(&task, past, now_ms());
        // A call that waits for it gets its result, so the parent needs no message.
        if revived && !task.start.link.key.as_ref().is_some_and(|key| calls.kept.contains(key)) {
            children.revive(&task);
        }
        if begun {
            // Before it runs, so that a repeated call finds the task that it started.
            let grandchildren = self.children_of(&task.id)?;
            let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
            Box::pin(self.adopt(&grandchildren, &records, &onward)).await?;
        }
        if admission != Admission::Start {
            let fact = task_fact(Some(&children.parent.id), &task.start);
            self.watchers.observers.fact(&task.id, &fact);
        }
        self.follow_admission(children, &task, admission, ports, DriveMode::Resumed).await;
        self.tell_queue(children);
        Ok(())
    }

    /// Follows a detached task that another process drives until its end. If its driver dies, the task is resumed here.
    pub(super) fn follow(&self, children: &Arc<ChildTasks>, task: &Arc<LiveTask>) {
        let Some(session) = self.this.upgrade() else { return };
        let (children, task) = (children.clone(), task.clone());
        task.set_running();
        tokio::spawn(async move {
            let mut told = false;
            loop {
                tokio::time::sleep(FOLLOW).await;
                if session.leaving.load(Ordering::Relaxed) {
                    return;
                }
                if task.stop.now.is_cancelled() && !told {
                    told = session.sources.store.request_cancel(&task.id).await.is_ok();
                }
                let Ok(row) = session.sources.store.task(&task.id).await else { continue };
                let Ok((row, driven)) = session.row_as_left(row).await else { continue };
                task.note_turns(row.turns());
                if !row.state.is_running() {
                    match session.adopt_end(&children, &task, row.turns()).await {
                        Ok(()) => return,
                        Err(_) => continue,
                    }
                }
                if driven {
                    let asked = session.sources.store.question(&task.id).await.ok().flatten();
                    let open = asked.filter(|asked| asked.state == QuestionState::Open);
                    task.show_question(open.map(|asked| asked.question));
                    continue;
                }
                task.stored.set_epoch(row.epoch);
                match session.child_ports(&children.parent, &task) {
                    Ok(ports) => {
                        if session.claim(&task).await.unwrap_or(false) {
                            return session.launch(&children, &task, ports, DriveMode::Resumed);
                        }
                    }
                    Err(e) => {
                        let moves = children.ended(&task, Err(e.english()), row.turns(), now_ms());
                        return session.perform(&children, moves).await;
                    }
                }
            }
        });
    }

    /// Refreshes a known task from its row: another process may have ended, reported, read or collected it.
    pub(crate) async fn refresh(&self, children: &Arc<ChildTasks>, row: &TaskRow) {
        let id = row.id.short();
        let Ok(task) = children.task(id) else { return };
        // The driver of this process reports the end of its own tasks, with their children.
        if !row.state.is_running() && !task.is_done() && row.owner != self.sources.owner {
            // Ignored: the next refresh reads the journal again.
            let _ = self.adopt_end(children, &task, row.turns()).await;
        }
        children.note_delivery(id, &row.delivery);
    }

    /// Adopts the end of a task that another process drove.
    async fn adopt_end(&self, children: &Arc<ChildTasks>, task: &Arc<LiveTask>, turns: u32) -> Result<()> {
        let records = self.sources.store.records(&task.id).await?;
        let moves = children.ended(task, last_outcome(records), turns, now_ms());
        self.perform(children, moves).await;
        Ok(())
    }

    /// Claims a task of a dead owner for this process; returns false if another process was faster.
    async fn claim(&self, task: &LiveTask) -> Result<bool> {
        match self.sources.store.claim_from(&task.id, task.stored.epoch(), &self.sources.owner).await {
            Ok(epoch) => task.stored.set_epoch(epoch),
            Err(e) if e.code() == ErrorCode::OwnerLost => return Ok(false),
            Err(e) => return Err(e),
        }
        Ok(true)
    }

    /// Resumes a task whose parent has ended: a detached one, or one requested by id.
    pub(super) async fn resume_alone(
        &self,
        parent: TaskId,
        id: TaskId,
        start: TaskStart,
        records: &[Record],
        onward: ResumeMode,
    ) -> Result<Arc<Outcome>> {
        let row = self.sources.store.task(&id).await?;
        let stop = self.watchers.stop.child();
        let (budget, inbox) = (self.budget.clone(), TaskInbox::default());
        let parent = ParentTask {
            grant: self.policy.grant.clone(),
            ..ParentTask::new(parent, &start, budget, inbox, stop.clone())
        };
        let mut task = recalled(&row, start, stop, records, false);
        if let Some(task) = Arc::get_mut(&mut task) {
            task.alone = true;
        }
        let children = Arc::new(ChildTasks::new(parent, self.policy.rules));
        let ports = self.child_ports(&children.parent, &task)?;
        children.recall(&task, PastState::Running, now_ms());
        self.parents().insert(children.parent.id.clone(), children);
        let children = self.children_of(&id)?;
        self.adopt(&children, records, &onward).await?;
        self.apply_cancel_requests().await;
        let driven = driver::resume(&ports, id, &self.sources.owner, onward, &self.policy.grant);
        let outcome = self.with_heartbeat(driven).await;
        self.end_children_after(&outcome, &children).await;
        task.finish(outcome.as_ref().map(Arc::clone).map_err(ToString::to_string), row.turns());
        outcome
    }
}

/// Adopts a task that has ended.
fn recall_ended(children: &ChildTasks, task: &Arc<LiveTask>, done: Done, turns: u32, collected: bool) {
    let past = PastState::Ended { end: end_of(&done), collected };
    task.finish(done, turns);
    children.recall(task, past, now_ms());
}

/// A stored child.
struct StoredChild {
    row: TaskRow,
    records: Vec<Record>,
    /// Its first request was announced.
    begun: bool,
    /// The parent has the result.
    collected: bool,
    /// It was stopped with its orchestrator and is resumed with it.
    revived: bool,
    /// A living process drives it.
    driven: bool,
}

impl StoredChild {
    fn goes_on(&self) -> bool {
        self.row.state.is_running() || self.revived
    }
}

/// Returns whether a task was delegated by `parent`. A task that a tool of the application runs is resumed by that tool.
fn is_child(row: &TaskRow, parent: &TaskId) -> bool {
    row.parent.as_ref() == Some(parent) && row.id.short().starts_with("t_")
}

/// Returns whether a task has its answer, so that resuming it calls no model.
fn is_answered(records: &[Record]) -> bool {
    matches!(records.last(), Some(Record::Finished { outcome, .. }) if outcome.stop == StopReason::Answered)
}

/// Returns whether a task ended only because its orchestrator was stopped.
fn was_stopped_with_parent(records: &[Record]) -> bool {
    matches!(records, [.., Record::Cancelled { with_parent: true, .. }, Record::Finished { .. }])
}

/// Returns the tasks whose result was collected.
fn collected(answered: &[AnsweredCalls]) -> HashSet<&str> {
    answered
        .iter()
        .filter(|call| call.arguments["action"] == "collect" && call.answer["status"].is_string())
        .filter_map(|call| call.answer["task_id"].as_str())
        .collect()
}

fn recalled(
    row: &TaskRow,
    start: TaskStart,
    stop: StopTokens,
    records: &[Record],
    revived: bool,
) -> Arc<LiveTask> {
    let mut task = LiveTask::new(row.id.clone(), Arc::new(start), stop, StartMode::Resumed);
    task.revived = revived;
    task.stored.set_epoch(row.epoch);
    task.stored.set_records(records.len());
    Arc::new(task)
}

/// Returns the answered `subagent` calls of a journal.
fn answered(session: &Session, records: &[Record]) -> Vec<AnsweredCalls> {
    let Ok(replayed) = replay(records, session.place.tools.effects(), 0) else { return Vec::new() };
    let mut open = HashMap::new();
    let mut found = Vec::new();
    for message in replayed.run.messages() {
        match message {
            Message::Assistant { blocks } => {
                let calls = blocks.iter().filter_map(Block::as_call);
                for call in calls.filter(|call| canonical(&call.name) == DELEGATION) {
                    let arguments = serde_json::from_str(call.arguments.as_object_text());
                    open.insert(call.key, arguments.unwrap_or(Value::Null));
                }
            }
            Message::Results { results } => {
                for result in results.iter().filter(|result| !result.is_error) {
                    let Some(arguments) = open.remove(&result.key) else { continue };
                    let answer = serde_json::from_str(&result.text).unwrap_or(Value::Null);
                    found.push(AnsweredCalls { arguments, answer });
                }
            }
            Message::User { .. } => {}
        }
    }
    found
}

/// Restores from the orchestrator's journal which ends it knows of: announced, reported by `wait`, seen by `status`.
fn recall_told(children: &ChildTasks, answered: &[AnsweredCalls], records: &[Record]) {
    let (mut announced, mut revived) = (HashSet::new(), HashSet::new());
    for record in records {
        let Record::Steered { key, .. } = record else { continue };
        announced.extend(ended_task(key));
        // Earlier news was of its previous end.
        for id in revived_tasks(key) {
            announced.remove(id);
            revived.insert(id);
        }
    }
    let is_current = |id: &&str| children.task(id).is_ok_and(|task| !task.revived);
    announced.into_iter().filter(is_current).for_each(|id| children.recall_told(id));
    for AnsweredCalls { arguments, answer } in answered {
        let counts = |id: &&str| is_current(id) && !revived.contains(id);
        let finished = answer["finished"].as_array().into_iter().flatten();
        for id in finished.filter_map(|task| task["task_id"].as_str()).filter(counts) {
            children.note_delivery(id, &ResultDelivery::Reported);
        }
        let seen = arguments["action"] == "status" && answer["status"] != "running";
        let id = answer["task_id"].as_str().filter(|_| seen).filter(counts);
        if let Some(task) = id.and_then(|id| children.task(id).ok()) {
            task.set_told();
        }
    }
}

/// Returns the calls of a journal that delegate and wait.
fn begun(parent: &TaskId, session: &Session, records: &[Record]) -> BegunTasks {
    let mut begun = BegunTasks::default();
    let Ok(replayed) = replay(records, session.place.tools.effects(), 0) else { return begun };
    // Investigations before the person's last message belong to another analysis.
    let said = records.iter().rposition(|record| matches!(record, Record::Said { .. })).unwrap_or(0);
    let turns = records[..said].iter().filter(|record| matches!(record, Record::Replied { .. })).count();
    begun.kept = replayed.run.kept_calls().iter().map(|key| key.idempotency_key(parent)).collect();
    for message in replayed.run.messages() {
        match message {
            Message::Assistant { blocks } => {
                let calls = blocks.iter().filter_map(Block::as_call);
                let ours = calls.filter(|call| own_name(&call.name) == "run_subagent");
                let ours = ours.filter(|call| call.key.turn as usize > turns);
                begun.investigations.extend(ours.map(|call| call.key.idempotency_key(parent)));
            }
            Message::Results { results } => {
                let waited = |name: &str| {
                    ["run_subagent", "agent"].contains(&own_name(name).as_ref())
                        || session.children_tools.delegates(name)
                };
                let ours = results.iter().filter(|result| waited(&result.name));
                begun.answered.extend(ours.map(|result| result.key.idempotency_key(parent)));
            }
            Message::User { .. } => {}
        }
    }
    begun.answered.retain(|key| !begun.kept.contains(key));
    begun
}

fn last_outcome(records: Vec<Record>) -> Done {
    let finished = records.into_iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome),
        _ => None,
    });
    finished.ok_or_else(|| "its outcome was not written down".to_owned())
}
