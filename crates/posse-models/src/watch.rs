//! Stall detection for model calls. Three timers run, because a stream can stall in three ways: silent, busy without
//! content (pings, one byte a second), or endless.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_core::reply::{FailureKind, ModelFailure};
use posse_runtime::ports::{BoxFuture, Delta, DeltaSink, Model, ModelReply, ModelRequest};
use tokio::time::{Instant, sleep_until};

/// Timeouts after which a call counts as stalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StallTimeouts {
    /// Without any byte. Providers ping every few seconds while a model thinks.
    pub idle: Duration,
    /// Without any content, although bytes arrive.
    pub progress: Duration,
    /// For the whole call.
    pub call_max: Duration,
}

impl Default for StallTimeouts {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(120),
            progress: Duration::from_secs(300),
            call_max: Duration::from_secs(900),
        }
    }
}

/// A model whose stalled calls are dropped and reported as `Stalled`.
pub struct WatchedModel {
    inner: Arc<dyn Model>,
    patience: StallTimeouts,
}

impl WatchedModel {
    /// Wraps a model with stall detection.
    pub fn new(inner: Arc<dyn Model>, patience: StallTimeouts) -> Self {
        Self { inner, patience }
    }

    async fn watch(&self, request: ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
        // A reply that is not streamed sends no byte before it is complete: only the call's own timeout counts.
        let streamed = !request.settings.buffered;
        let pulse = DeltaPulse::new(deltas);
        let started = Instant::now();
        let mut call = self.inner.call(request, &pulse);
        loop {
            let (end, _) = self.end_of_patience(started, pulse.beats(), streamed);
            tokio::select! {
                biased;
                reply = &mut call => return reply,
                () = sleep_until(end) => {}
            }
            // Bytes may have come meanwhile, which moves the deadline.
            let (end, why) = self.end_of_patience(started, pulse.beats(), streamed);
            if end <= Instant::now() {
                return Err(ModelFailure::new(FailureKind::Stalled, why.text()));
            }
        }
    }

    /// Returns the instant at which the call counts as stalled without further progress, and the reason.
    fn end_of_patience(&self, started: Instant, beats: PulseTimes, streamed: bool) -> (Instant, StalledCall) {
        let StallTimeouts { idle, progress, call_max } = self.patience;
        let whole = (later(started, call_max), StalledCall::TooLong(call_max));
        if !streamed {
            return whole;
        }
        let silent = (later(beats.byte, idle), StalledCall::Silent(idle));
        let stuck = (later(beats.progress, progress), StalledCall::Stuck(progress));
        [whole, silent, stuck].into_iter().min_by_key(|(end, _)| *end).expect("there are three")
    }
}

/// The phase and duration of a stall.
#[derive(Clone, Copy)]
enum StalledCall {
    TooLong(Duration),
    Silent(Duration),
    Stuck(Duration),
}

impl StalledCall {
    fn text(self) -> String {
        match self {
            StalledCall::TooLong(time) => format!("the call took longer than {} s", time.as_secs()),
            StalledCall::Silent(time) => format!("no bytes for {} s", time.as_secs()),
            StalledCall::Stuck(time) => {
                format!("bytes arrive, but nothing of the answer for {} s", time.as_secs())
            }
        }
    }
}

/// Bounds a configured timeout, so that the clock does not overflow.
fn later(at: Instant, wait: Duration) -> Instant {
    at + wait.min(Duration::from_secs(365 * 24 * 3600))
}

impl Model for WatchedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        Box::pin(self.watch(request, deltas))
    }
}

/// Passes deltas on and records their times.
struct DeltaPulse<'a> {
    deltas: &'a dyn DeltaSink,
    beats: Mutex<PulseTimes>,
}

#[derive(Debug, Clone, Copy)]
struct PulseTimes {
    byte: Instant,
    progress: Instant,
}

impl<'a> DeltaPulse<'a> {
    fn new(deltas: &'a dyn DeltaSink) -> Self {
        let now = Instant::now();
        Self { deltas, beats: Mutex::new(PulseTimes { byte: now, progress: now }) }
    }

    fn beats(&self) -> PulseTimes {
        *self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeltaSink for DeltaPulse<'_> {
    fn alive(&self) {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner).byte = Instant::now();
        self.deltas.alive();
    }

    fn delta(&self, delta: Delta<'_>) {
        let now = Instant::now();
        *self.beats.lock().unwrap_or_else(PoisonError::into_inner) = PulseTimes { byte: now, progress: now };
        self.deltas.delta(delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Act, Fake, ask};

    async fn outcome_of(patience: StallTimeouts, acts: Vec<Act>) -> (ModelReply, u64) {
        let model = WatchedModel::new(Arc::new(Fake::new("a", [acts])), patience);
        let start = Instant::now();
        (ask(&model).await, start.elapsed().as_secs())
    }

    fn repeat(acts: [Act; 2], times: usize) -> Vec<Act> {
        std::iter::repeat_n(acts, times).flatten().collect()
    }

    fn stalled(message: &str) -> ModelReply {
        Err(ModelFailure::new(FailureKind::Stalled, message))
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_the_call_after_the_idle_time_since_the_last_byte() {
        let acts = vec![Act::Text("so"), Act::Wait(50), Act::Ping, Act::Wait(10_000)];
        assert_eq!(outcome_of(StallTimeouts::default(), acts).await, (stalled("no bytes for 120 s"), 170));
    }

    #[tokio::test(start_paused = true)]
    async fn pings_keep_a_call_alive_only_until_progress_is_due() {
        let pings = repeat([Act::Ping, Act::Wait(20)], 1000);
        let why = "bytes arrive, but nothing of the answer for 300 s";
        assert_eq!(outcome_of(StallTimeouts::default(), pings).await, (stalled(why), 300));
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_a_second_ends_at_the_deadline_of_the_call() {
        let drops = repeat([Act::Text("x"), Act::Wait(1)], 10_000);
        assert_eq!(
            outcome_of(StallTimeouts::default(), drops).await,
            (stalled("the call took longer than 900 s"), 900)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_call_that_gets_on_is_left_alone() {
        let mut acts = repeat([Act::Text("x"), Act::Wait(100)], 8);
        acts.push(Act::Reply);
        let (reply, seconds) = outcome_of(StallTimeouts::default(), acts).await;
        assert_eq!((reply.is_ok(), seconds), (true, 800));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_call_is_dropped() {
        let fake = Arc::new(Fake::new("a", [vec![Act::Wait(10_000)]]));
        let model = WatchedModel::new(fake.clone(), StallTimeouts::default());
        ask(&model).await.unwrap_err();
        assert_eq!(fake.dropped(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_in_one_piece_may_be_silent_until_the_deadline_of_the_call() {
        let fake = Fake::new("a", [vec![Act::Wait(800), Act::Reply], vec![Act::Wait(10_000)]]);
        let model = WatchedModel::new(Arc::new(fake), StallTimeouts::default());
        assert!(crate::fake::ask_buffered(&model).await.is_ok());
        let failure = crate::fake::ask_buffered(&model).await.unwrap_err();
        assert_eq!(failure.message, "the call took longer than 900 s");
    }
}
