//! Messages for a run at work, and news of the tasks that it delegated. They are read before its next model call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// More than this unread is a sender that does not wait for anything.
const UNREAD_MAX: usize = 20;

/// Queue of steering messages for one task.
#[derive(Clone, Default)]
pub struct TaskInbox(Arc<Mutex<InboxState>>);

#[derive(Default)]
struct InboxState {
    unread: VecDeque<InboxMessage>,
    delivered: Vec<(String, u32)>,
    closed: bool,
    children: Option<Weak<dyn ChildNews>>,
}

/// News about delegated tasks for a run.
pub(crate) trait ChildNews: Send + Sync {
    /// The ends of which it was not told yet. Each is told once.
    fn take_ends(&self) -> Vec<InboxMessage>;

    /// Warnings about children that run, or whose result nobody took, when the run itself ends.
    fn loose_ends(&self) -> Vec<String>;
}

/// A steering message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// Idempotency key of the message.
    pub key: String,
    pub text: String,
}

/// Delivery state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageReceipt {
    Queued,
    /// It was in the request of this turn.
    Delivered {
        turn: u32,
    },
    /// The run ended first.
    Missed,
    /// Too many are waiting; this one was not taken.
    Full,
}

impl TaskInbox {
    /// Queues a message and returns its receipt.
    pub fn send(&self, message: InboxMessage) -> MessageReceipt {
        if let Some(receipt) = self.receipt(&message.key) {
            return receipt;
        }
        let mut inner = self.lock();
        if inner.closed {
            return MessageReceipt::Missed;
        }
        if inner.unread.len() >= UNREAD_MAX {
            return MessageReceipt::Full;
        }
        inner.unread.push_back(message);
        MessageReceipt::Queued
    }

    /// Returns the receipt of the message with this key.
    pub fn receipt(&self, key: &str) -> Option<MessageReceipt> {
        let inner = self.lock();
        let delivered = inner.delivered.iter().find(|(known, _)| known == key);
        let waiting = || inner.unread.iter().any(|message| message.key == key);
        match delivered {
            Some((_, turn)) => Some(MessageReceipt::Delivered { turn: *turn }),
            None if waiting() => {
                Some(if inner.closed { MessageReceipt::Missed } else { MessageReceipt::Queued })
            }
            None => None,
        }
    }

    /// Hears of the end of delegated tasks from now on.
    pub(crate) fn hear_of(&self, children: Weak<dyn ChildNews>) {
        self.lock().children = Some(children);
    }

    fn children(&self) -> Option<Arc<dyn ChildNews>> {
        self.lock().children.as_ref()?.upgrade()
    }

    /// Warnings about delegated tasks for the outcome of the run that ends.
    pub(crate) fn loose_ends(&self) -> Vec<String> {
        self.children().map(|children| children.loose_ends()).unwrap_or_default()
    }

    /// Takes the messages to deliver before this turn.
    pub(crate) fn take(&self, turn: u32) -> Vec<InboxMessage> {
        let ends = self.children().map(|children| children.take_ends()).unwrap_or_default();
        let mut inner = self.lock();
        let messages: Vec<InboxMessage> = inner.unread.drain(..).chain(ends).collect();
        inner.delivered.extend(messages.iter().map(|message| (message.key.clone(), turn)));
        messages
    }

    /// A message that a journal says was given.
    pub(crate) fn recall(&self, key: String, turn: u32) {
        self.lock().delivered.push((key, turn));
    }

    /// Closes the inbox; later messages are missed.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
