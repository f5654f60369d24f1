//! The inbox of a run: steering messages, and news of its children, read before its next model call. Messages are rows of
//! the store; the inbox holds those that this process has found there.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Inbox of one run.
#[derive(Clone, Default)]
pub struct TaskInbox(Arc<Mutex<InboxState>>);

#[derive(Default)]
struct InboxState {
    unread: VecDeque<InboxMessage>,
    /// Keys of messages in the inbox, or already read by the run.
    known: HashSet<String>,
    children: Option<Weak<dyn ChildNews>>,
}

/// News about delegated tasks for a run.
pub(crate) trait ChildNews: Send + Sync {
    /// Takes the ends that the run was not notified of yet. Each is taken once.
    fn take_ends(&self) -> Vec<InboxMessage>;

    /// Returns warnings about children that run, or whose result was not collected, when the run itself ends.
    fn unfinished_children_warnings(&self) -> Vec<String>;
}

/// A message that a run reads before its next turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// Idempotency key of the message.
    pub key: String,
    pub text: String,
    /// A steering message with a receipt, not news of a child.
    pub is_sent: bool,
}

impl InboxMessage {
    /// Creates a steering message, whose sender gets a receipt.
    pub(crate) fn sent(key: String, text: String) -> Self {
        Self { key, text, is_sent: true }
    }

    /// Creates news of delegated tasks.
    pub(crate) fn news(key: String, text: String) -> Self {
        Self { key, text, is_sent: false }
    }
}

impl TaskInbox {
    /// Adds a message of the store; a known one changes nothing. Returns whether it is new.
    pub(crate) fn push(&self, message: InboxMessage) -> bool {
        let mut inbox = self.lock();
        let is_new = inbox.known.insert(message.key.clone());
        if is_new {
            inbox.unread.push_back(message);
        }
        is_new
    }

    /// Returns the keys of messages that the run has not read.
    pub(crate) fn unread(&self) -> Vec<String> {
        self.lock().unread.iter().map(|message| message.key.clone()).collect()
    }

    /// Subscribes to the ends of delegated tasks.
    pub(crate) fn watch_children(&self, children: Weak<dyn ChildNews>) {
        self.lock().children = Some(children);
    }

    fn children(&self) -> Option<Arc<dyn ChildNews>> {
        self.lock().children.as_ref()?.upgrade()
    }

    /// Returns warnings about delegated tasks for the outcome of the run that ends.
    pub(crate) fn unfinished_children_warnings(&self) -> Vec<String> {
        self.children().map(|children| children.unfinished_children_warnings()).unwrap_or_default()
    }

    /// Takes the messages to deliver before the next turn.
    pub(crate) fn take(&self) -> Vec<InboxMessage> {
        let ends = self.children().map(|children| children.take_ends()).unwrap_or_default();
        self.lock().unread.drain(..).chain(ends).collect()
    }

    /// Marks a message as journaled: it is not delivered again.
    pub(crate) fn recall(&self, key: String) {
        let mut inbox = self.lock();
        inbox.unread.retain(|message| message.key != key);
        inbox.known.insert(key);
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
