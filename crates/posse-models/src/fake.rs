//! A model for the tests of this crate: it acts out one list per call and remembers when it was called.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_core::message::{Block, Message};
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::usage::Usage;
use posse_runtime::ports::{
    BoxFuture, Delta, DeltaSink, Model, ModelMemo, ModelRequest, NoDeltas, ToolUse, UnlimitedCalls,
};
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub enum Act {
    Ping,
    Text(&'static str),
    /// Seconds.
    Wait(u64),
    Reply,
    Fail(ModelFailure),
}

pub struct Fake {
    name: String,
    calls: Mutex<VecDeque<Vec<Act>>>,
    times: Mutex<Vec<Instant>>,
    dropped: AtomicU32,
}

impl Fake {
    /// Answers at once when the lists are used up.
    pub fn new(name: &str, calls: impl IntoIterator<Item = Vec<Act>>) -> Self {
        let calls = Mutex::new(calls.into_iter().collect());
        Self { name: name.to_owned(), calls, times: Mutex::default(), dropped: AtomicU32::new(0) }
    }

    pub fn failing(name: &str, failures: impl IntoIterator<Item = ModelFailure>) -> Self {
        Self::new(name, failures.into_iter().map(|failure| vec![Act::Fail(failure)]))
    }

    pub fn times(&self) -> Vec<Instant> {
        self.times.lock().unwrap().clone()
    }

    pub fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::Relaxed)
    }

    async fn act(&self, deltas: &dyn DeltaSink) -> Result<Reply, ModelFailure> {
        self.times.lock().unwrap().push(Instant::now());
        let acts = self.calls.lock().unwrap().pop_front().unwrap_or_else(|| vec![Act::Reply]);
        let guard = Dropped(&self.dropped);
        let mut result = Ok(self.reply());
        for act in acts {
            match act {
                Act::Ping => deltas.alive(),
                Act::Text(text) => deltas.delta(Delta::Text(text)),
                Act::Wait(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                Act::Reply => {}
                Act::Fail(failure) => result = Err(failure),
            }
        }
        std::mem::forget(guard);
        result
    }

    pub fn reply(&self) -> Reply {
        Reply {
            blocks: vec![Block::text("fine")],
            stop: ReplyStop::EndTurn,
            usage: Usage { input: 10, output: 1, ..Usage::default() },
            model: self.name.clone(),
            lost: Usage::default(),
            notes: Vec::new(),
        }
    }
}

impl Model for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(
        &'a self,
        _: ModelRequest<'a>,
        deltas: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(self.act(deltas))
    }
}

struct Dropped<'a>(&'a AtomicU32);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Prompt that `ask` sends: 40 bytes.
pub const PROMPT: &str = "0123456789012345678901234567890123456789";

pub async fn ask(model: &dyn Model) -> Result<Reply, ModelFailure> {
    ask_with(model, &[Message::user(PROMPT)], &ModelSettings::default(), &NoDeltas).await
}

pub async fn ask_buffered(model: &dyn Model) -> Result<Reply, ModelFailure> {
    let settings = ModelSettings { buffered: true, ..ModelSettings::default() };
    ask_with(model, &[Message::user(PROMPT)], &settings, &NoDeltas).await
}

pub async fn ask_with(
    model: &dyn Model,
    messages: &[Message],
    settings: &ModelSettings,
    deltas: &dyn DeltaSink,
) -> Result<Reply, ModelFailure> {
    let request = ModelRequest {
        system: "",
        messages,
        tools: &[],
        tool_use: ToolUse::Auto,
        output_tokens_max: 100,
        settings,
        answered_by: posse_core::usage::ByModel::nobody(),
        unanswered: 0,
        generation: 0,
        memo: &mut ModelMemo::default(),
        allowance: &UnlimitedCalls,
        urgency: Urgency::Interactive,
    };
    model.call(request, deltas).await
}

pub fn failure(kind: FailureKind) -> ModelFailure {
    ModelFailure::new(kind, "no luck")
}

pub fn asking_to_wait(kind: FailureKind, retry_after_ms: u64) -> ModelFailure {
    ModelFailure { retry_after_ms: Some(retry_after_ms), ..failure(kind) }
}

#[derive(Default)]
pub struct Seen(Mutex<Vec<String>>);

impl Seen {
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl DeltaSink for Seen {
    fn alive(&self) {}

    fn delta(&self, delta: Delta<'_>) {
        let line = match delta {
            Delta::Restarted { why, .. } => format!("restarted: {why}"),
            Delta::Paused { wait } => format!("paused: {wait:?}"),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}
