//! Live facts: what a view shows about a task and no event states. They are never journaled: titles, questions, diffs and
//! answers are text, and a place in a queue changes with every task that ends. A reader in another process gets the same
//! facts from the rows of the store.

use serde::{Deserialize, Serialize};

use crate::event::EVENT_VERSION;
use crate::id::TaskId;
use crate::text::{prefix, visible};

/// Longest line of an answer in a fact.
const LINE_BYTES_MAX: usize = 200;

/// A live fact with its task, as a line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LiveEntry {
    /// Version of this form.
    pub v: u32,
    /// The task that the fact is about.
    #[cfg_attr(test, schemars(with = "String"))]
    pub task_id: TaskId,
    /// When it was told.
    #[serde(rename = "at", with = "crate::event::wire::instant")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub at_ms: u64,
    #[serde(flatten)]
    pub fact: LiveFact,
}

impl LiveEntry {
    /// Creates the entry of a fact that is told at `at_ms`.
    pub fn new(task: &TaskId, at_ms: u64, fact: LiveFact) -> Self {
        Self { v: EVENT_VERSION, task_id: task.clone(), at_ms, fact }
    }

    /// Returns the entry as one line of JSON.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("entries hold texts and numbers only")
    }
}

/// A fact about a task that is told while it lasts and is in no journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum LiveFact {
    /// The task is in this view: told once, before its first event.
    Task {
        agent: String,
        /// The task that delegated it; `null` for a session's own task.
        #[cfg_attr(test, schemars(with = "Option<String>"))]
        parent: Option<TaskId>,
        /// Beginning of the task text, at most 200 bytes.
        title: String,
    },
    /// Why the task has not started. Told when it is created, and again when its place changes.
    Queued(QueuePlace),
    /// A piece of the answer. A `model_retry` of the same turn voids the pieces before it.
    Text { turn: u32, delta: String },
    /// A piece of the model's thinking. A `model_retry` of the same turn voids the pieces before it.
    Thinking { turn: u32, delta: String },
    /// The task asks its parent or the person in charge, and waits.
    Question {
        /// Number of the question in its task, from 1.
        id: u32,
        question: String,
        /// Possible answers; another one may be given.
        options: Vec<String>,
    },
    /// The question was answered, or the task no longer waits for an answer.
    QuestionClosed {
        /// Number of the question in its task.
        id: u32,
    },
    /// A call that waits for approval, as a person has to see it. Told right after `approval_requested`.
    Approval {
        /// Id for `posse approvals`.
        approval: String,
        /// File that the call changes, if it names one.
        path: Option<String>,
        /// Unified diff of the change, if the tool makes one.
        diff: Option<String>,
    },
    /// State of a message that was sent to the running task.
    Steer {
        /// Key of the message, equal for every state.
        key: String,
        receipt: SteerReceipt,
        /// Turn whose request has the message; `null` until it is delivered.
        turn: Option<u32>,
    },
    /// Spending so far. Told after each reply, for the task and every task above it.
    Cost {
        /// Cost of the task alone, in US dollars; `null` if a price is unknown.
        usd: Option<f64>,
        /// Cost of the task and everything below it.
        tree_usd: Option<f64>,
    },
    /// First line of the answer. Told right before `finished`.
    Answer { line: String },
    /// The process that drove the task is gone or has released it. A worker or `posse tasks resume` continues it.
    Interrupted,
}

/// Place of a task that has not started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QueuePlace {
    /// Tasks that have to complete first, by their ids in the session.
    pub after: Vec<String>,
    /// Place among those that wait for a slot, from 1; `null` while it waits for other tasks.
    pub position: Option<u32>,
    /// Sibling tasks that run.
    pub running: u32,
    /// Sibling tasks that may run at once.
    pub slots: u32,
}

/// Delivery state of a steering message, as its task sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum SteerReceipt {
    /// The task has not read it yet.
    Queued,
    /// It is in the request of a turn.
    Delivered,
    /// Too late: the task ended first.
    Missed,
}

/// Returns the first line of an answer that says something, bounded and visible; `None` for an empty answer.
pub fn answer_line(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(visible(prefix(line, LINE_BYTES_MAX)).into_owned())
}
