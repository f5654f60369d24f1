//! Lines of `--json`: events and live facts in one stream, streamed text joined, costs summed up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::event::{Event, EventEntry};
use posse_core::fact::{LiveEntry, LiveFact};
use posse_core::id::TaskId;
use posse_core::message::Block;
use posse_core::reply::Reply;
use posse_core::usage::{Usage, dollars};

use crate::context::now_ms;
use crate::ports::{Delta, ObservedPayload, Observer};

/// Time within which pieces of a reply are joined into one line.
const JOINED: Duration = Duration::from_millis(50);
/// Longest joined piece.
const JOINED_BYTES_MAX: usize = 16_384;
/// Maximum levels of delegation that a cost is added up.
const LEVELS_MAX: usize = 64;

/// Observer that turns everything about its tasks into lines of JSON.
pub struct JsonLines(Arc<LineState>);

struct LineState {
    print: Box<dyn Fn(&str) + Send + Sync>,
    tasks: Mutex<HashMap<TaskId, LineTask>>,
}

#[derive(Default)]
struct LineTask {
    parent: Option<TaskId>,
    usage: Usage,
    turn: u32,
    /// Pieces of this turn's reply were printed.
    streamed: bool,
    /// Piece that is not printed yet.
    piece: Option<JoinedPiece>,
}

struct JoinedPiece {
    is_thinking: bool,
    text: String,
}

impl JsonLines {
    /// Creates an observer that prints each line with `print`, in order.
    pub fn new(print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(LineState { print: Box::new(print), tasks: Mutex::default() }))
    }
}

impl Observer for JsonLines {
    fn event(&self, entry: &EventEntry) {
        // Printed with the lock held, so that lines are in order.
        let mut tasks = self.0.lock();
        let task = tasks.entry(entry.task_id.clone()).or_default();
        self.0.flush(&entry.task_id, task);
        match &entry.event {
            Event::TurnStarted { turn, .. } => (task.turn, task.streamed) = (*turn, false),
            Event::ModelRetry { .. } => task.streamed = false,
            Event::Replied { usage, .. } => task.usage.add(usage),
            Event::Resumed { usage, .. } | Event::Finished { usage, .. } => task.usage = *usage,
            _ => {}
        }
        (self.0.print)(&entry.to_line());
        if let Event::Replied { .. } = entry.event {
            for (task, fact) in costs(&tasks, &entry.task_id) {
                self.0.fact(&task, fact);
            }
        }
    }

    fn fact(&self, task: &TaskId, fact: &LiveFact) {
        let mut tasks = self.0.lock();
        let known = tasks.entry(task.clone()).or_default();
        self.0.flush(task, known);
        if let LiveFact::Task { parent, .. } = fact {
            known.parent.clone_from(parent);
        }
        self.0.fact(task, fact.clone());
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        let (is_thinking, text) = match delta {
            Delta::Text(text) => (false, text),
            Delta::Thinking(text) => (true, text),
            Delta::ToolCall { .. }
            | Delta::ToolArguments { .. }
            | Delta::Restarted { .. }
            | Delta::Paused { .. } => return,
        };
        let mut tasks = self.0.lock();
        let known = tasks.entry(task.clone()).or_default();
        known.streamed = true;
        let fits = |piece: &JoinedPiece| {
            piece.is_thinking == is_thinking && piece.text.len() + text.len() <= JOINED_BYTES_MAX
        };
        if !known.piece.as_ref().is_some_and(fits) {
            self.0.flush(task, known);
        }
        match &mut known.piece {
            Some(piece) => piece.text.push_str(text),
            None => {
                known.piece = Some(JoinedPiece { is_thinking, text: text.to_owned() });
                self.0.clone().flush_later(task.clone());
            }
        }
    }

    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        let ObservedPayload::Reply { turn, reply } = payload else { return };
        let mut tasks = self.0.lock();
        let known = tasks.entry(task.clone()).or_default();
        // A reply that was not streamed is one piece.
        if !known.streamed {
            whole(turn, reply).into_iter().for_each(|fact| self.0.fact(task, fact));
        }
    }
}

impl LineState {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, LineTask>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fact(&self, task: &TaskId, fact: LiveFact) {
        (self.print)(&LiveEntry::new(task, now_ms(), fact).to_line());
    }

    fn flush(&self, id: &TaskId, task: &mut LineTask) {
        let turn = task.turn;
        if let Some(JoinedPiece { is_thinking, text: delta }) = task.piece.take() {
            self.fact(id, piece(turn, is_thinking, delta));
        }
    }

    /// Prints a piece when its time is over, unless something else did before.
    fn flush_later(self: Arc<Self>, id: TaskId) {
        // Without a runtime the next line of the task prints it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(JOINED).await;
            if let Some(task) = self.lock().get_mut(&id) {
                self.flush(&id, task);
            }
        });
    }
}

fn piece(turn: u32, is_thinking: bool, delta: String) -> LiveFact {
    if is_thinking { LiveFact::Thinking { turn, delta } } else { LiveFact::Text { turn, delta } }
}

/// Returns the texts of a whole reply.
fn whole(turn: u32, reply: &Reply) -> Vec<LiveFact> {
    let text = |block: &Block| match block {
        Block::Text { text, .. } => Some((false, text.clone())),
        Block::Thinking { text, .. } => Some((true, text.clone())),
        Block::ToolCall(_) | Block::Opaque { .. } => None,
    };
    let texts = reply.blocks.iter().filter_map(text).filter(|(_, text)| !text.is_empty());
    texts.map(|(is_thinking, text)| piece(turn, is_thinking, text)).collect()
}

/// Returns the costs of a task and of every task above it.
fn costs(tasks: &HashMap<TaskId, LineTask>, task: &TaskId) -> Vec<(TaskId, LiveFact)> {
    let usd = |usage: &Usage| usage.cost_micros.map(dollars);
    let above = std::iter::successors(Some(task), |id| tasks.get(*id)?.parent.as_ref());
    let cost = |top: &TaskId| {
        let within = |id: &TaskId| {
            let mut path = std::iter::successors(Some(id), |id| tasks.get(*id)?.parent.as_ref());
            path.by_ref().take(LEVELS_MAX).any(|id| id == top)
        };
        let mut tree = Usage::default();
        tasks.iter().filter(|(id, _)| within(id)).for_each(|(_, task)| tree.add(&task.usage));
        let own = tasks.get(top).map(|task| task.usage).unwrap_or_default();
        (top.clone(), LiveFact::Cost { usd: usd(&own), tree_usd: usd(&tree) })
    };
    // An MCP host is a parent without a run.
    above.take(LEVELS_MAX).filter(|id| tasks.contains_key(*id)).map(cost).collect()
}
