//! The inbox of a run: steering messages, and news of the tasks that it delegated. They are read before its next model
//! call. Messages are rows of the store; the inbox holds those that this process has found there.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Inbox of one run.
#[derive(Clone, Default)]
pub struct TaskInbox(Arc<Mutex<InboxState>>);

#[derive(Default)]
struct InboxState {
    unread: VecDeque<InboxMessage>,
    /// Keys of the messages that are here, or that the run has read.
    known: HashSet<String>,
    children: Option<Weak<dyn ChildNews>>,
}

/// News about delegated tasks for a run.
pub(crate) trait ChildNews: Send + Sync {
    /// Takes the ends of which the run was not told yet. Each is told once.
    fn take_ends(&self) -> Vec<InboxMessage>;

    /// Warnings about children that run, or whose result nobody took, when the run itself ends.
    fn loose_ends(&self) -> Vec<String>;
}

/// A message that a run reads before its next turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// Idempotency key of the message.
    pub key: String,
    pub text: String,
}

impl TaskInbox {
    /// Adds a message of the store; one that is known already changes nothing.
    pub(crate) fn push(&self, message: InboxMessage) {
        let mut inbox = self.lock();
        if inbox.known.insert(message.key.clone()) {
            inbox.unread.push_back(message);
        }
    }

    /// Hears of the end of delegated tasks from now on.
    pub(crate) fn watch_children(&self, children: Weak<dyn ChildNews>) {
        self.lock().children = Some(children);
    }

    fn children(&self) -> Option<Arc<dyn ChildNews>> {
        self.lock().children.as_ref()?.upgrade()
    }

    /// Returns warnings about delegated tasks for the outcome of the run that ends.
    pub(crate) fn loose_ends(&self) -> Vec<String> {
        self.children().map(|children| children.loose_ends()).unwrap_or_default()
    }

    /// Takes the messages to deliver before the next turn.
    pub(crate) fn take(&self) -> Vec<InboxMessage> {
        let ends = self.children().map(|children| children.take_ends()).unwrap_or_default();
        self.lock().unread.drain(..).chain(ends).collect()
    }

    /// Notes that the journal has a message: it is not delivered again.
    pub(crate) fn recall(&self, key: String) {
        let mut inbox = self.lock();
        inbox.unread.retain(|message| message.key != key);
        inbox.known.insert(key);
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
