//! Background work of a session: heartbeats, and cancel requests and messages of other processes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use posse_core::fact::{LiveFact, SteerReceipt};
use posse_core::id::TaskId;
use tokio::time::Instant;

use super::Session;
use super::children::ChildTasks;
use crate::context::now_ms;
use crate::inbox::{InboxMessage, TaskInbox};
use crate::ports::{QuestionState, SteeringMessage};

/// Poll interval for cancel requests and messages.
const LISTEN: Duration = Duration::from_secs(1);
/// Heartbeat interval. A lease holder, or an owner on another machine, counts as dead after a minute of silence.
const BEAT: Duration = Duration::from_secs(5);
/// Heartbeats that may be missed.
const BEATS_MISSED: u32 = 12;

impl Session {
    /// Drives a future to its end, with heartbeats and polls of the store meanwhile.
    pub(super) async fn with_heartbeat<T>(&self, driven: impl Future<Output = T>) -> T {
        tokio::select! {
            ended = driven => ended,
            never = self.beat_and_listen() => never,
        }
    }

    async fn beat_and_listen(&self) -> ! {
        let mut heard = HashSet::new();
        let beat = BEAT.min(Duration::from_millis(self.holders.silence_ms_max) / BEATS_MISSED);
        let (listen, mut last) = (LISTEN.min(beat), Instant::now());
        loop {
            tokio::time::sleep(listen).await;
            if last.elapsed() >= beat {
                last = Instant::now();
                // Ignored: a failing store is reported by the next journal commit.
                let _ = self.sources.store.beat(&self.sources.owner, now_ms()).await;
            }
            self.cancel_requested_tasks(&mut heard).await;
            self.deliver_messages().await;
        }
    }

    /// Applies cancel requests from before this process took over.
    pub(super) async fn apply_cancel_requests(&self) {
        self.cancel_requested_tasks(&mut HashSet::new()).await;
    }

    /// Delivers messages and answers of other processes to their tasks.
    async fn deliver_messages(&self) {
        for SteeringMessage { task, key, text, .. } in
            self.sources.store.queued_messages(&self.id).await.unwrap_or_default()
        {
            let own = self.known_children(&task).map(|children| children.parent.inbox.clone());
            if let Some(inbox) = own.or_else(|| self.find_task(&task).map(|task| task.inbox.clone())) {
                self.take_in(&task, &inbox, InboxMessage::sent(key, text));
            }
        }
        for task in self.unfinished() {
            let Some(id) = task.waiting_question() else { continue };
            if let Ok(Some(asked)) = self.sources.store.question(&task.id).await
                && let QuestionState::Answered(text) = asked.state
                && asked.question.id == id
            {
                task.deliver_answer(id, text);
            }
        }
    }

    /// Puts a message into the inbox of its task, and tells observers of a new one.
    pub(crate) fn take_in(&self, task: &TaskId, inbox: &TaskInbox, message: InboxMessage) {
        let queued = LiveFact::Steer { key: message.key.clone(), receipt: SteerReceipt::Queued, turn: None };
        if inbox.push(message) {
            self.watchers.observers.fact(task, &queued);
        }
    }

    async fn cancel_requested_tasks(&self, heard: &mut HashSet<TaskId>) {
        let wanted = self.sources.store.cancel_requests().await.unwrap_or_default();
        for id in wanted.into_iter().filter(|id| id.session() == self.id) {
            if heard.contains(&id) {
                continue;
            }
            let (own, delegated) = (self.known_children(&id), self.siblings_of(&id));
            match (own, delegated) {
                (_, Some(children)) => {
                    drop(self.cancel(&children, id.short(), "somebody cancelled it").await)
                }
                (Some(children), None) => children.parent.own.now.cancel(),
                // Not driven here, or not yet.
                (None, None) => continue,
            }
            heard.insert(id);
        }
    }

    /// Finds the tasks of a child's parent.
    pub(super) fn siblings_of(&self, child: &TaskId) -> Option<Arc<ChildTasks>> {
        self.parents().values().find(|children| children.task(child.short()).is_ok()).cloned()
    }
}
