//! A delegated task in memory: its progress, its question, its reports.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use posse_core::Result;
use posse_core::event::{Event, EventEntry};
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::TaskStart;
use posse_core::outcome::Outcome;
use posse_core::usage::Usage;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::TaskAccount;
use crate::delegation::{PendingApproval, TaskReport};
use crate::driver::StopTokens;
use crate::inbox::TaskInbox;
use crate::ports::{Observer, ParentQuestion, TaskWorktree};

pub(crate) struct LiveTask {
    pub id: TaskId,
    pub agent: AgentName,
    pub start: Arc<TaskStart>,
    /// Stops this task and its children.
    pub stop: StopTokens,
    pub inbox: TaskInbox,
    /// The parent has ended, so no parent answers questions.
    pub alone: bool,
    /// It was stopped with its orchestrator and is resumed with it, so earlier reports of its end do not count.
    pub revived: bool,
    pub stored: StoredState,
    /// Worktree of an isolated task, set before it runs.
    pub worktree: OnceLock<TaskWorktree>,
    /// Account of the task: reserved at spawn, returned at its end.
    budget: Mutex<Option<Arc<TaskAccount>>>,
    began: Instant,
    progress: watch::Sender<TaskProgress>,
    /// Notified at the end only.
    ended: Notify,
    delivery: DeliveryMarks,
    question: Mutex<Option<OpenQuestion>>,
}

/// State of a task in the store, before it runs.
pub(crate) struct StoredState {
    /// Origin of the journal: this process or an earlier one.
    pub mode: StartMode,
    /// Its row is in the store.
    exists: AtomicBool,
    /// Epoch at which the task may be written to: 1, or that of its adoption.
    epoch: AtomicU64,
    records: AtomicU64,
}

impl StoredState {
    fn new(mode: StartMode) -> Self {
        let exists = AtomicBool::new(mode == StartMode::Resumed);
        Self { mode, exists, epoch: AtomicU64::new(1), records: AtomicU64::new(1) }
    }

    /// Tells whether the task's row is in the store.
    pub fn exists(&self) -> bool {
        self.exists.load(Ordering::Acquire)
    }

    /// Records that the task's row is in the store.
    pub fn set_exists(&self) {
        self.exists.store(true, Ordering::Release);
    }

    /// Returns the epoch at which this process may write to the task.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Sets the epoch of an adoption.
    pub fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    pub fn set_records(&self, records: usize) {
        self.records.store(records as u64, Ordering::Relaxed);
    }

    /// Counts records that are appended; returns the position of the first.
    pub fn add_records(&self, records: usize) -> u64 {
        self.records.fetch_add(records as u64, Ordering::Relaxed)
    }
}

/// Delivery of a task's result to its parent.
#[derive(Default)]
struct DeliveryMarks {
    /// A `wait` has reported its end.
    reported: AtomicBool,
    /// The parent knows of the end.
    told: AtomicBool,
    /// Key of the call that collected it.
    collected_by: Mutex<Option<String>>,
}

/// Ways to drive a task once it is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartMode {
    /// Created by this process.
    Afresh,
    /// Created by an earlier process and claimed by this one, even if it never started.
    Resumed,
}

#[derive(Clone, Default, PartialEq)]
pub(crate) struct TaskProgress {
    pub stage: TaskStage,
    pub turns: u32,
    pub usage: Usage,
    /// The running tool.
    pub activity: Option<String>,
    /// Latest progress report of the task itself.
    pub report: Option<String>,
    pub question: Option<ParentQuestion>,
    pub approval: Option<PendingApproval>,
    pub done: Option<Done>,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum TaskStage {
    /// Waits for a slot or for other tasks.
    #[default]
    Waiting,
    Running,
}

pub(crate) type Done = Result<Arc<Outcome>, String>;

struct OpenQuestion {
    id: u32,
    answer: oneshot::Sender<String>,
}

impl LiveTask {
    pub fn new(id: TaskId, start: Arc<TaskStart>, stop: StopTokens, begin: StartMode) -> Self {
        Self {
            agent: start.agent.name.clone(),
            id,
            start,
            stop,
            inbox: TaskInbox::default(),
            alone: false,
            revived: false,
            stored: StoredState::new(begin),
            worktree: OnceLock::new(),
            budget: Mutex::default(),
            began: Instant::now(),
            progress: watch::Sender::new(TaskProgress::default()),
            ended: Notify::new(),
            delivery: DeliveryMarks::default(),
            question: Mutex::default(),
        }
    }

    /// Sets the worktree, once, before the task runs.
    pub fn set_worktree(&self, worktree: Option<TaskWorktree>) {
        if let Some(worktree) = worktree {
            self.worktree.get_or_init(|| worktree);
        }
    }

    /// Sets the account that the task pays from.
    pub fn set_account(&self, account: Arc<TaskAccount>) {
        *lock(&self.budget) = Some(account);
    }

    /// Returns the account; `None` once the task has ended.
    pub fn budget(&self) -> Option<Arc<TaskAccount>> {
        lock(&self.budget).clone()
    }

    pub fn progress(&self) -> TaskProgress {
        self.progress.borrow().clone()
    }

    /// Returns a receiver of progress changes.
    pub fn changes(&self) -> watch::Receiver<TaskProgress> {
        self.progress.subscribe()
    }

    /// Returns the task's number in its session.
    pub fn number(&self) -> u32 {
        self.id.short().strip_prefix("t_").and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Updates the progress of a task that another process drives.
    pub fn note_turns(&self, turns: u32) {
        self.progress.send_if_modified(|progress| {
            let new = turns > progress.turns;
            progress.turns = progress.turns.max(turns);
            new
        });
    }

    /// Returns the time since this process first saw the task.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn report(&self) -> TaskReport {
        TaskReport::from_task(self, self.progress())
    }

    /// Waits until the task has ended or asks a new question, for this long at most.
    pub async fn wait_settled(&self, wait: Duration, cancel: &CancellationToken) -> TaskProgress {
        if !wait.is_zero() {
            let mut changes = self.progress.subscribe();
            let known = changes.borrow().question.clone();
            let asks = |now: &TaskProgress| now.question.is_some() && now.question != known;
            tokio::select! {
                _ = changes.wait_for(|now| now.done.is_some() || asks(now)) => {}
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        self.progress()
    }

    /// Tells whether the call with this key collected the result.
    pub fn is_collected_by(&self, key: &str) -> bool {
        lock(&self.delivery.collected_by).as_deref() == Some(key)
    }

    /// Records the call that collected the result.
    pub fn set_collected_by(&self, key: &str) {
        *lock(&self.delivery.collected_by) = Some(key.to_owned());
    }

    pub fn is_reported(&self) -> bool {
        self.delivery.reported.load(Ordering::Relaxed)
    }

    pub fn is_told(&self) -> bool {
        self.delivery.told.load(Ordering::Relaxed)
    }

    pub fn set_told(&self) {
        self.delivery.told.store(true, Ordering::Relaxed);
    }

    /// Marks the end as reported; returns whether it was before.
    pub fn set_reported(&self) -> bool {
        self.set_told();
        self.delivery.reported.swap(true, Ordering::Relaxed)
    }

    pub fn is_done(&self) -> bool {
        self.progress.borrow().done.is_some()
    }

    pub async fn done(&self) -> TaskProgress {
        loop {
            // Subscribed first, so that no notification is missed.
            let ended = self.ended.notified();
            if self.is_done() {
                return self.progress();
            }
            ended.await;
        }
    }

    /// Changes the progress; notifies only if there is a receiver.
    fn update(&self, change: impl FnOnce(&mut TaskProgress)) {
        self.progress.send_if_modified(|progress| {
            change(progress);
            self.progress.receiver_count() > 0
        });
    }

    pub fn set_running(&self) {
        self.update(|progress| progress.stage = TaskStage::Running);
    }

    pub fn finish(&self, done: Done, turns: u32) {
        *lock(&self.budget) = None;
        self.update(|progress| {
            progress.turns = progress.turns.max(turns);
            progress.activity = None;
            progress.question = None;
            progress.approval = None;
            // The first terminal state stays.
            progress.done.get_or_insert(done);
        });
        self.ended.notify_waiters();
    }

    /// Stores a progress report of the task itself.
    pub fn note_progress(&self, text: String) {
        self.update(|progress| progress.report = Some(text));
    }

    /// Shows a question of the task; the receiver gets the answer.
    pub fn ask(&self, question: ParentQuestion) -> oneshot::Receiver<String> {
        let (sender, receiver) = oneshot::channel();
        *lock(&self.question) = Some(OpenQuestion { id: question.id, answer: sender });
        self.show_question(Some(question));
        receiver
    }

    /// Shows the open question of the task, or that it has none.
    pub fn show_question(&self, question: Option<ParentQuestion>) {
        if self.progress.borrow().question != question {
            self.update(|progress| progress.question = question);
        }
    }

    /// Returns the question that a call of this process waits for.
    pub fn waiting_question(&self) -> Option<u32> {
        lock(&self.question).as_ref().map(|open| open.id)
    }

    /// Delivers the answer to the call that waits for it.
    pub fn deliver_answer(&self, id: u32, text: String) {
        let mut open = lock(&self.question);
        if let Some(open) = open.take_if(|open| open.id == id) {
            // A call that no longer waits finds the answer in the store.
            let _ = open.answer.send(text);
        }
        drop(open);
        self.show_question(None);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for LiveTask {
    fn event(&self, EventEntry { task_id, event, .. }: &EventEntry) {
        if *task_id != self.id {
            return;
        }
        self.update(|progress| match event {
            Event::Replied { turn, usage, .. } => {
                progress.turns = *turn;
                progress.usage.add(usage);
            }
            Event::ToolStarted { tool, summary, .. } => {
                let mut activity = format!("{tool} {summary}");
                activity.truncate(activity.trim_end().len());
                progress.activity = Some(activity);
            }
            Event::ToolFinished { .. } => progress.activity = None,
            Event::ApprovalRequested { approval, tool, summary, .. } => {
                let waits = format!("waiting for approval: {tool} {summary}");
                progress.activity = Some(waits.trim_end().to_owned());
                progress.approval = Some(PendingApproval { id: approval.clone(), tool: tool.clone() });
            }
            Event::ApprovalResolved { .. } => (progress.activity, progress.approval) = (None, None),
            _ => {}
        });
    }
}

/// Converts the end of a run. A panic ends this task only, and is reported as one.
pub(crate) fn outcome_of(ended: Result<Result<Arc<Outcome>>, String>) -> Done {
    match ended {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(e)) => Err(e.english()),
        Err(panic) => Err(format!("internal_error: {panic}")),
    }
}

pub(crate) type Tasks = std::collections::BTreeMap<String, Arc<LiveTask>>;

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::AtomicU32;
    use std::task::{Context, Wake, Waker};

    use posse_core::agent::Agent;
    use posse_core::grant::Grant;

    use super::*;

    #[derive(Default)]
    struct Bell(AtomicU32);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn whoever_waits_for_the_end_is_woken_by_nothing_else_and_changes_are_seen_by_whoever_looks() {
        let agent = Agent::new(AgentName::parse("a").unwrap(), "p:m", "");
        let start = Arc::new(TaskStart::new(agent, "t", Grant::root([], 0)));
        let task = LiveTask::new(TaskId::child("s", 1), start, StopTokens::default(), StartMode::Afresh);
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(bell.clone());
        let mut done = pin!(task.done());
        assert!(done.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        task.note_progress("one".to_owned());
        let mut changes = task.changes();
        assert!(!changes.has_changed().unwrap());
        assert_eq!(changes.borrow_and_update().report.as_deref(), Some("one"));
        task.note_progress("two".to_owned());
        assert!(changes.has_changed().unwrap());
        assert_eq!(bell.0.load(Ordering::Relaxed), 0);
        task.finish(Err("why".to_owned()), 3);
        assert_eq!(bell.0.load(Ordering::Relaxed), 1);
        assert_eq!(done.await.turns, 3);
        assert_eq!(task.done().await.turns, 3);
    }
}
