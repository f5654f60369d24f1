//! Messages to running tasks, and their questions with the answers.

use posse_core::Result;
use posse_core::fact::{LiveFact, SteerReceipt};
use posse_core::id::TaskId;

use super::BoxFuture;

/// Maximum unread messages of a task: more come from a runaway sender.
pub const UNREAD_MAX: usize = 20;

/// Maximum receipts that are listed.
pub const RECEIPTS_MAX: usize = 100;

/// Keeps messages to tasks, and the questions of tasks with their answers. Any process on the same store can send one; the
/// process that drives the task finds it here. A write is durable when its future resolves. Every function fails with
/// `TASK_NOT_FOUND` for an unknown task.
pub trait MessageStore: Send + Sync {
    /// Queues a steering message and returns its receipt. The same key again returns the receipt of the first. The message is
    /// delivered when its task journals a `Steered` record with the key, and missed when the task ends before.
    fn send_message(&self, message: SteeringMessage) -> BoxFuture<'_, Result<MessageReceipt>>;

    /// Lists the messages to tasks of a session that no run has read, oldest first.
    fn queued_messages<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<SteeringMessage>>>;

    /// Lists the keys and receipts of the newest `RECEIPTS_MAX` messages to a task, oldest first.
    fn receipts<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<(String, MessageReceipt)>>>;

    /// Opens a question of a task. The same key again finds the question with its answer; a closed one is reopened.
    fn ask_question(&self, question: NewQuestion) -> BoxFuture<'_, Result<TaskQuestion>>;

    /// Answers the open question of a running task, or returns the question that this key answered before; `None` if no
    /// question is open.
    fn answer_question(&self, answer: QuestionAnswer) -> BoxFuture<'_, Result<Option<TaskQuestion>>>;

    /// Closes a question whose task no longer waits, and returns it. An answer that came first stays.
    fn close_question<'a>(&'a self, task: &'a TaskId, id: u32) -> BoxFuture<'a, Result<TaskQuestion>>;

    /// Returns the newest question of a task.
    fn question<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Option<TaskQuestion>>>;
}

/// A message to a running task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteeringMessage {
    pub task: TaskId,
    /// Idempotency key: equal for every attempt to send it.
    pub key: String,
    pub text: String,
    pub sent_ms: u64,
}

/// Delivery state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageReceipt {
    Queued,
    /// It was in the request of this turn.
    Delivered {
        turn: u32,
    },
    /// The task ended first.
    Missed,
    /// The queue is full; the message was rejected.
    Full,
}

impl MessageReceipt {
    /// Returns the fact that shows the receipt; `None` for a rejected message.
    pub fn fact(self, key: &str) -> Option<LiveFact> {
        let (receipt, turn) = match self {
            MessageReceipt::Queued => (SteerReceipt::Queued, None),
            MessageReceipt::Delivered { turn } => (SteerReceipt::Delivered, Some(turn)),
            MessageReceipt::Missed => (SteerReceipt::Missed, None),
            MessageReceipt::Full => return None,
        };
        Some(LiveFact::Steer { key: key.to_owned(), receipt, turn })
    }

    /// Returns the wire name of the receipt.
    pub fn wire(self) -> &'static str {
        match self {
            MessageReceipt::Queued => "queued",
            MessageReceipt::Delivered { .. } => "delivered",
            MessageReceipt::Missed => "missed",
            MessageReceipt::Full => "full",
        }
    }
}

/// A question that a task puts to its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQuestion {
    pub task: TaskId,
    /// Idempotency key: equal for every attempt to ask.
    pub key: String,
    pub text: String,
    pub options: Vec<String>,
    pub asked_ms: u64,
}

/// A question to the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentQuestion {
    /// Number of the question in its task, from 1.
    pub id: u32,
    pub text: String,
    pub options: Vec<String>,
}

impl ParentQuestion {
    /// Returns the fact that shows the question.
    pub fn fact(&self) -> LiveFact {
        LiveFact::Question { id: self.id, question: self.text.clone(), options: self.options.clone() }
    }
}

/// Answers the questions of a task while its caller waits for it.
pub type QuestionHandler = dyn Fn(&ParentQuestion) -> BoxFuture<'static, String> + Send + Sync;

/// A question with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuestion {
    pub question: ParentQuestion,
    pub state: QuestionState,
}

/// State of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionState {
    Open,
    Answered(String),
    /// The task continued without an answer.
    Closed,
}

/// An answer to the open question of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionAnswer {
    pub task: TaskId,
    /// Idempotency key: equal for every attempt to send it.
    pub key: String,
    pub text: String,
}
