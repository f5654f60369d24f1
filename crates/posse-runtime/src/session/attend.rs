//! What a session does beside its work: it shows that it lives, and hears when somebody in another process wants one of
//! its tasks to end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use posse_core::id::TaskId;
use tokio::time::Instant;

use super::Session;
use super::family::ChildTasks;
use crate::context::now_ms;
use crate::inbox::InboxMessage;
use crate::ports::{QuestionState, SteeringMessage};

/// Poll interval for cancel requests.
const LISTEN: Duration = Duration::from_secs(1);
/// An owner on another machine is taken for dead after a minute of silence, and so is a holder of leases on any machine.
const BEAT: Duration = Duration::from_secs(5);
/// So many of them may be missed.
const BEATS_MISSED: u32 = 12;

impl Session {
    /// Drives something to its end, and attends to the store meanwhile.
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
                // A store that cannot be written to is noticed by whoever writes what matters.
                let _ = self.stores.store.beat(&self.stores.owner, now_ms()).await;
            }
            self.cancel_requested_tasks(&mut heard).await;
            self.deliver_messages().await;
        }
    }

    /// Hears what was wanted before this process took over.
    pub(super) async fn apply_cancel_requests(&self) {
        self.cancel_requested_tasks(&mut HashSet::new()).await;
    }

    /// Passes messages and answers of other processes on to the tasks that they are for.
    async fn deliver_messages(&self) {
        for SteeringMessage { task, key, text, .. } in
            self.stores.store.queued_messages(&self.id).await.unwrap_or_default()
        {
            let own = self.known_family(&task).map(|family| family.parent.inbox.clone());
            if let Some(inbox) = own.or_else(|| self.find_task(&task).map(|task| task.inbox.clone())) {
                inbox.push(InboxMessage { key, text });
            }
        }
        for task in self.running() {
            let Some(id) = task.waiting_question() else { continue };
            if let Ok(Some(asked)) = self.stores.store.question(&task.id).await
                && let QuestionState::Answered(text) = asked.state
                && asked.question.id == id
            {
                task.deliver_answer(id, text);
            }
        }
    }

    async fn cancel_requested_tasks(&self, heard: &mut HashSet<TaskId>) {
        let wanted = self.stores.store.cancel_requests().await.unwrap_or_default();
        for id in wanted.into_iter().filter(|id| id.session() == self.id) {
            if heard.contains(&id) {
                continue;
            }
            let (own, delegated) = (self.known_family(&id), self.family_with(&id));
            match (own, delegated) {
                (_, Some(family)) => drop(self.cancel(&family, id.short(), "somebody cancelled it").await),
                (Some(family), None) => family.parent.own.now.cancel(),
                // Not here, or not here yet.
                (None, None) => continue,
            }
            heard.insert(id);
        }
    }

    fn family_with(&self, child: &TaskId) -> Option<Arc<ChildTasks>> {
        self.families().values().find(|family| family.task(child.short()).is_ok()).cloned()
    }
}
