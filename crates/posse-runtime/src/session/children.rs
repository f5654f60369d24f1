//! A parent and its child tasks: the table through which tasks are started, queued, ended and collected.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::agent::Agent;
use posse_core::board::{
    Admission, BoardLimits, BoardMove, CancelOutcome, PastState, SpawnTerms, TaskBoard, TaskEnd,
};
use posse_core::fact::QueuePlace;
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::journal::TaskStart;
use posse_core::outcome::OutcomeStatus;
use posse_core::text::prefix;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use tokio::sync::Notify;

use super::facades::{alias_tag, task_tag};
use super::task::{Done, LiveTask, Tasks};
use crate::budget::TaskAccount;
use crate::delegation::{announcement, has_result, leftover_warnings};
use crate::driver::StopTokens;
use crate::inbox::{ChildNews, InboxMessage, TaskInbox};
use crate::ports::{ResultDelivery, TaskWorktree};

/// The task that delegates. No child exceeds its grant, limits or budget.
pub(crate) struct ParentTask {
    pub id: TaskId,
    pub grant: Grant,
    pub agent: Agent,
    pub workspace: String,
    /// Worktree of an isolated parent; its children share it.
    pub worktree: Option<TaskWorktree>,
    pub budget: Arc<TaskAccount>,
    pub inbox: TaskInbox,
    /// Stops the parent, with its children.
    pub own: StopTokens,
    /// Stops the children only.
    pub stop: StopTokens,
    /// An MCP host: it has no run and no journal here, and its children outlive it. The store records which results it got.
    pub outside: bool,
    /// Advice for tasks that are refused write rights: how a person grants them.
    pub writing_advice: Option<String>,
}

impl ParentTask {
    /// Creates the parent for a task of this session; `own` stops it, with its children.
    pub fn new(
        id: TaskId,
        start: &TaskStart,
        budget: Arc<TaskAccount>,
        inbox: TaskInbox,
        own: StopTokens,
    ) -> Self {
        Self {
            id,
            grant: start.grant.clone(),
            agent: start.agent.clone(),
            workspace: start.workspace.clone(),
            worktree: None,
            budget,
            inbox,
            stop: own.child(),
            own,
            outside: false,
            writing_advice: None,
        }
    }
}

pub(crate) struct ChildTasks {
    pub parent: ParentTask,
    state: Mutex<ChildState>,
    /// Notified when a task is in the store.
    stored: Notify,
}

struct ChildState {
    board: TaskBoard,
    tasks: Tasks,
    /// By the idempotency key of the spawn.
    keys: HashMap<String, Arc<LiveTask>>,
    /// Resumed tasks that the parent was not notified of yet.
    revived: Vec<String>,
    /// Places of queued tasks that observers know.
    places: HashMap<String, QueuePlace>,
}

impl ChildState {
    fn insert(&mut self, task: &Arc<LiveTask>) {
        self.tasks.insert(task.id.short().to_owned(), task.clone());
        if let Some(key) = &task.start.link.key {
            self.keys.insert(key.clone(), task.clone());
        }
    }
}

impl ChildState {
    /// Records that the parent was notified of the end. The announcement of a launched task contains its result.
    fn mark_told(&mut self, task: &LiveTask) {
        task.set_told();
        if task.start.link.pushed {
            self.board.read(task.id.short());
        }
    }

    fn is_stored(&self, id: &str) -> bool {
        self.tasks.get(id).is_some_and(|task| task.stored.exists())
    }

    /// Resolves an id or alias to the task's own id.
    fn own_id(&self, id: &str) -> String {
        let named = alias_tag(id).and_then(|tag| {
            self.tasks.iter().find(|(_, task)| task_tag(&task.id) == tag).map(|(own, _)| own.clone())
        });
        named.unwrap_or_else(|| id.to_owned())
    }
}

impl ChildTasks {
    pub fn new(parent: ParentTask, rules: BoardLimits) -> Self {
        let state = ChildState {
            board: TaskBoard::new(rules),
            tasks: Tasks::new(),
            keys: HashMap::new(),
            revived: Vec::new(),
            places: HashMap::new(),
        };
        Self { parent, state: Mutex::new(state), stored: Notify::new() }
    }

    /// Admits a task, or says why not.
    pub fn admit(&self, task: &Arc<LiveTask>, now_ms: u64) -> Result<Admission> {
        let mut state = self.lock();
        let admission = state.board.admit(task.id.short(), task.start.terms.clone(), now_ms)?;
        state.insert(task);
        Ok(admission)
    }

    /// Checks whether a task with these terms would be admitted now.
    pub fn check_room(&self, terms: &SpawnTerms) -> Result<()> {
        self.lock().board.check_room(terms)
    }

    /// Records that a task which was stopped with the parent is resumed with it.
    pub fn revive(&self, task: &LiveTask) {
        self.lock().revived.push(task.id.short().to_owned());
    }

    /// Adds a task of an earlier process.
    pub fn recall(&self, task: &Arc<LiveTask>, past: PastState, now_ms: u64) -> Admission {
        let mut state = self.lock();
        state.insert(task);
        state.board.recall(task.id.short(), task.start.terms.clone(), past, now_ms)
    }

    /// Removes a task and returns the board's decisions.
    pub fn forget(&self, task: &LiveTask, now_ms: u64) -> Vec<BoardMove> {
        let mut state = self.lock();
        state.tasks.remove(task.id.short());
        if let Some(key) = &task.start.link.key {
            state.keys.remove(key);
        }
        state.board.forget(task.id.short(), now_ms)
    }

    /// Ends a task: its result can be collected, and others may start.
    pub fn ended(&self, task: &LiveTask, done: Done, turns: u32, now_ms: u64) -> Vec<BoardMove> {
        let end = end_of(&done);
        let mut state = self.lock();
        task.finish(done, turns);
        state.board.ended(task.id.short(), end, now_ms)
    }

    /// Records that a task has the write lease that it waited for.
    pub fn leased(&self, task: &LiveTask, now_ms: u64) -> Vec<BoardMove> {
        self.lock().board.leased(task.id.short(), now_ms)
    }

    /// Cancels a task and returns the board's decisions.
    pub fn cancel(&self, id: &str, now_ms: u64) -> Result<(Arc<LiveTask>, CancelOutcome, Vec<BoardMove>)> {
        let mut state = self.lock();
        let id = state.own_id(id);
        let (met, moves) = state.board.cancel(&id, now_ms)?;
        Ok((state.tasks[&id].clone(), met, moves))
    }

    /// Collects a task's result, once.
    pub fn collect(&self, id: &str) -> Result<Arc<LiveTask>> {
        let mut state = self.lock();
        let id = state.own_id(id);
        state.board.collect(&id)?;
        Ok(state.tasks[&id].clone())
    }

    /// Restores that the end of a task was announced by an earlier process.
    pub fn recall_told(&self, id: &str) {
        let mut state = self.lock();
        if let Some(task) = state.tasks.get(id).cloned() {
            state.mark_told(&task);
        }
    }

    /// Applies the delivery state of the store: another process may have reported, read or collected a result.
    pub fn note_delivery(&self, id: &str, delivery: &ResultDelivery) {
        let mut state = self.lock();
        let Some(task) = state.tasks.get(id).cloned() else { return };
        if *delivery >= ResultDelivery::Reported {
            task.set_reported();
        }
        match delivery {
            ResultDelivery::Unreported | ResultDelivery::Reported => {}
            ResultDelivery::Read => state.board.read(id),
            // A task that has not ended here yet is refreshed again when it has.
            ResultDelivery::Collected { .. } => drop(state.board.collect(id)),
        }
    }

    /// Resolves an id or alias to the task's own id.
    pub fn own_id(&self, id: &str) -> String {
        self.lock().own_id(id)
    }

    /// Returns a task that was not collected yet.
    pub fn tracked(&self, id: &str) -> Result<Arc<LiveTask>> {
        let mut state = self.lock();
        let id = state.own_id(id);
        state.board.check(&id)?;
        Ok(state.tasks[&id].clone())
    }

    /// Returns any task of this parent, also a collected one.
    pub fn task(&self, id: &str) -> Result<Arc<LiveTask>> {
        let state = self.lock();
        state.tasks.get(&state.own_id(id)).cloned().ok_or_else(|| {
            let text = localized!("task-not-yours", task = prefix(id, 80));
            Error::new(ErrorCode::TaskNotFound, text).hint(localized!("task-not-yours-hint"))
        })
    }

    /// Returns every task, and whether it was collected.
    pub fn tasks(&self) -> Vec<(Arc<LiveTask>, bool)> {
        let state = self.lock();
        state.tasks.values().map(|task| (task.clone(), state.board.is_tracked(task.id.short()))).collect()
    }

    /// Returns the open tasks whose end no `wait` has reported, oldest first.
    pub fn unreported(&self) -> Vec<Arc<LiveTask>> {
        let state = self.lock();
        let tracked = |task: &&Arc<LiveTask>| state.board.is_tracked(task.id.short()) && !task.is_reported();
        let mut tasks: Vec<Arc<LiveTask>> = state.tasks.values().filter(tracked).cloned().collect();
        tasks.sort_by_key(|task| task.number());
        tasks
    }

    /// Tells whether the task's result is still to be collected or read.
    pub fn is_unread(&self, task: &LiveTask) -> bool {
        self.lock().board.is_unread(task.id.short())
    }

    /// Marks a task as stored and wakes its waiters.
    pub fn note_stored(&self, task: &LiveTask) {
        task.stored.set_exists();
        self.stored.notify_waiters();
    }

    /// Waits for the task with this idempotency key until it is in the store.
    pub async fn stored_with_key(&self, key: &str) -> Arc<LiveTask> {
        loop {
            // Subscribed first, so that no notification is missed.
            let stored = self.stored.notified();
            if let Some(task) = self.with_key(key).filter(|task| task.stored.exists()) {
                return task;
            }
            stored.await;
        }
    }

    /// Finds the task that was created with this idempotency key.
    pub fn with_key(&self, key: &str) -> Option<Arc<LiveTask>> {
        self.lock().keys.get(key).cloned()
    }

    /// Tells the places of queued tasks that differ from those told before.
    pub fn tell_places(&self, now_ms: u64, tell: impl Fn(&TaskId, QueuePlace)) {
        // Told with the lock held, so that observers see places in order.
        let mut state = self.lock();
        let places = state.board.queue_places(now_ms);
        for (id, place) in &places {
            // A task that is not in the store yet is announced with its creation.
            let task = state.tasks.get(id).filter(|task| task.stored.exists());
            if let Some(task) = task.filter(|_| state.places.get(id) != Some(place)) {
                tell(&task.id, place.clone());
            }
        }
        state.places = places.into_iter().filter(|(id, _)| state.is_stored(id)).collect();
    }

    /// Counts results that were not collected yet.
    pub fn uncollected(&self) -> usize {
        self.lock().board.uncollected()
    }

    /// Counts tasks that run or can start without another admission.
    pub fn slots_taken(&self) -> usize {
        self.lock().board.slots_taken()
    }

    /// Returns the tasks that have not ended.
    pub fn unfinished(&self) -> Vec<Arc<LiveTask>> {
        self.lock().tasks.values().filter(|task| !task.is_done()).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, ChildState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Maximum ends announced before one turn; the others follow before the next.
const ENDS_MAX: usize = 20;

impl ChildNews for ChildTasks {
    fn take_ends(&self) -> Vec<InboxMessage> {
        if self.parent.outside {
            return Vec::new();
        }
        let mut state = self.lock();
        let news = |task: &&Arc<LiveTask>| {
            task.is_done() && state.board.is_tracked(task.id.short()) && !task.is_told()
        };
        let mut ended: Vec<Arc<LiveTask>> = state.tasks.values().filter(news).cloned().collect();
        ended.sort_by_key(|task| task.number());
        ended.truncate(ENDS_MAX);
        for task in &ended {
            state.mark_told(task);
        }
        let revived = std::mem::take(&mut state.revived);
        let go_on = (!revived.is_empty()).then(|| {
            let text = format!(
                "These tasks were stopped together with you and go on now: {}. Ignore what an earlier \
                 result says about their end.",
                revived.join(", ")
            );
            InboxMessage::news(format!("{REVIVED}{}", revived.join(",")), text)
        });
        let message = |task: Arc<LiveTask>| InboxMessage::news(end_key(task.id.short()), announcement(&task));
        go_on.into_iter().chain(ended.into_iter().map(message)).collect()
    }

    fn unfinished_children_warnings(&self) -> Vec<String> {
        if self.parent.outside {
            return Vec::new();
        }
        let state = self.lock();
        let mut tasks: Vec<&Arc<LiveTask>> = state.tasks.values().collect();
        tasks.sort_by_key(|task| task.number());
        let (ended, running): (Vec<&LiveTask>, Vec<&LiveTask>) =
            tasks.into_iter().map(|task| &**task).partition(|task| task.is_done());
        let cut_off: Vec<&LiveTask> = running.into_iter().filter(|task| !task.start.link.detached).collect();
        let is_left = |task: &&LiveTask| has_result(task) && state.board.is_unread(task.id.short());
        leftover_warnings(&cut_off, &ended.into_iter().filter(is_left).collect::<Vec<_>>())
    }
}

/// Key prefix of the message that names tasks which are resumed with their orchestrator.
const REVIVED: &str = "revived/";

/// Returns the tasks that a message with this key named as resumed.
pub(crate) fn revived_tasks(key: &str) -> impl Iterator<Item = &str> {
    key.strip_prefix(REVIVED).into_iter().flat_map(|tasks| tasks.split(','))
}

/// Returns the key of the message that announces the end of a task.
fn end_key(id: &str) -> String {
    format!("ended/{id}")
}

/// Returns the task whose end a message with this key announced.
pub(crate) fn ended_task(key: &str) -> Option<&str> {
    key.strip_prefix("ended/")
}

pub(crate) fn end_of(done: &Done) -> TaskEnd {
    match done.as_ref().map(|outcome| outcome.status()) {
        Ok(OutcomeStatus::Completed) => TaskEnd::Completed,
        Ok(OutcomeStatus::Partial | OutcomeStatus::Failed | OutcomeStatus::Cancelled) | Err(_) => {
            TaskEnd::Failed
        }
    }
}
