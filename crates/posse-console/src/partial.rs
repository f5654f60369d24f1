//! Text of the topmost task so far, for a run that is interrupted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_core::event::{Event, EventEntry};
use posse_core::id::TaskId;
use posse_core::message::Block;
use posse_runtime::ports::{Delta, ObservedPayload, Observer};

/// Observer that keeps the text of the reply under way, and of the last whole one.
#[derive(Default)]
pub struct PartialText(Mutex<WatchedText>);

#[derive(Default)]
struct WatchedText {
    task: Option<TaskId>,
    streamed: String,
    last: String,
}

impl PartialText {
    /// Watches this task.
    pub fn watch(&self, task: &TaskId) {
        *self.lock() = WatchedText { task: Some(task.clone()), ..WatchedText::default() };
    }

    /// Returns the text of the reply under way, or else of the last one.
    pub fn text(&self) -> String {
        let text = self.lock();
        if text.streamed.trim().is_empty() { text.last.clone() } else { text.streamed.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, WatchedText> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for PartialText {
    fn event(&self, entry: &EventEntry) {
        let mut text = self.lock();
        if let Event::TurnStarted { .. } | Event::ModelRetry { .. } = entry.event
            && text.task.as_ref() == Some(&entry.task_id)
        {
            text.streamed.clear();
        }
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        let mut text = self.lock();
        if let Delta::Text(piece) = delta
            && text.task.as_ref() == Some(task)
        {
            text.streamed.push_str(piece);
        }
    }

    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        let mut text = self.lock();
        if let ObservedPayload::Reply { reply, .. } = payload
            && text.task.as_ref() == Some(task)
        {
            let texts = reply.blocks.iter().filter_map(|block| match block {
                Block::Text { text, .. } => Some(text.as_str()),
                Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
            });
            let whole: String = texts.collect();
            text.streamed.clear();
            if !whole.trim().is_empty() {
                text.last = whole;
            }
        }
    }
}
