//! Retries failures that may pass. Every attempt waits for a slot at the governor of its provider key.
//!
//! A retry repeats the whole turn: nothing of a failed attempt was executed. Attempts and waits are bounded; the possible
//! cost of failed attempts is added up, because a provider can have worked without our seeing it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_core::board::Urgency;
use posse_core::reply::{FailureKind, ModelFailure};
use posse_core::tokens::tokens_at_most;
use posse_core::usage::Usage;
use posse_runtime::ports::{BoxFuture, CallAllowance, Delta, DeltaSink, Model, ModelReply, ModelRequest};

use crate::governor::{AdmissionFailure, CallPermit, QUEUED_MAX, RateGovernor};
use crate::tokens::message_tokens;

/// Retry limits and backoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum calls, the first included.
    pub attempts_max: u32,
    /// The shortest wait before a retry, also if the provider asks for none.
    pub backoff_min: Duration,
    /// Upper bound of the exponential backoff.
    pub backoff_max: Duration,
    /// If the provider asks for a longer wait than this, the call fails at once and says when the limit resets.
    pub wait_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 5,
            backoff_min: Duration::from_millis(500),
            backoff_max: Duration::from_secs(30),
            wait_max: Duration::from_secs(60),
        }
    }
}

/// A model that is retried on transient failures.
pub struct RetryModel {
    inner: Arc<dyn Model>,
    policy: RetryPolicy,
    governor: Arc<RateGovernor>,
    random: Mutex<fastrand::Rng>,
}

impl RetryModel {
    /// All `RetryModel` of one provider key share one `governor`.
    pub fn new(inner: Arc<dyn Model>, policy: RetryPolicy, governor: Arc<RateGovernor>) -> Self {
        Self { inner, policy, governor, random: Mutex::new(fastrand::Rng::new()) }
    }

    /// Fixes the jitter, for tests.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.random = Mutex::new(fastrand::Rng::with_seed(seed));
        self
    }

    async fn attempts(&self, mut request: ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
        let mut lost = Usage::default();
        let mut made = RetryAttempts::default();
        loop {
            let permit = match self.admit(request.urgency, request.allowance, deltas).await {
                Ok(permit) => permit,
                Err(closed) => return Err(ModelFailure { lost, ..closed }),
            };
            let shown = ShownDeltas::new(deltas);
            request.allowance.attempt_begins();
            let mut failure = match self.inner.call(request.again(), &shown).await {
                Ok(mut reply) => {
                    permit.succeeded();
                    reply.lost.add(&lost);
                    return Ok(reply);
                }
                Err(failure) => failure,
            };
            lost.add(&consumed(&failure, &request, &shown));
            failure.lost = lost;
            made.count(failure.kind);
            let floor = self.floor(&failure);
            if failure.kind == FailureKind::RateLimited {
                permit.refused(floor);
            } else {
                drop(permit);
            }
            match self.decide(&failure, made, floor, request.allowance) {
                RetryDecision::GiveUp(None) => return Err(failure),
                RetryDecision::GiveUp(Some(why)) => {
                    failure.message = format!("{} ({why})", failure.message);
                    return Err(failure);
                }
                RetryDecision::Again(wait) => {
                    if let Err(missing) = request.allowance.again(&lost) {
                        return Err(unpaid(&failure, lost, &missing));
                    }
                    let ModelFailure { kind, status, .. } = failure;
                    deltas.delta(Delta::Restarted { kind, status, why: &failure.to_string(), wait });
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Waits for a slot of this key.
    async fn admit(
        &self,
        urgency: Urgency,
        allowance: &dyn CallAllowance,
        deltas: &dyn DeltaSink,
    ) -> Result<CallPermit, ModelFailure> {
        let pause_max = self.policy.wait_max;
        let closed = match self.governor.admit(urgency, pause_max, allowance, deltas).await {
            Ok(permit) => return Ok(permit),
            Err(closed) => closed,
        };
        let (message, retry_after_ms) = match closed {
            AdmissionFailure::For(left) => (
                format!("another call was rate limited; the limit resets in {}", in_seconds(left)),
                Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            ),
            AdmissionFailure::Full(under_way) => {
                (format!("no turn within {}: {under_way} calls are under way", in_seconds(QUEUED_MAX)), None)
            }
        };
        Err(ModelFailure { retry_after_ms, ..ModelFailure::new(FailureKind::RateLimited, message) })
    }

    /// Returns the shortest wait before a retry: the provider's, or a small default.
    fn floor(&self, failure: &ModelFailure) -> Duration {
        Duration::from_millis(failure.retry_after_ms.unwrap_or(0)).max(self.policy.backoff_min)
    }

    fn decide(
        &self,
        failure: &ModelFailure,
        made: RetryAttempts,
        floor: Duration,
        allowance: &dyn CallAllowance,
    ) -> RetryDecision {
        let RetryPolicy { attempts_max, backoff_min, backoff_max, wait_max } = self.policy;
        // A limit that resets after the end of the run is not waited for.
        let wait_max = match failure.retry_after_ms {
            Some(_) => wait_max.min(allowance.time_left()),
            None => wait_max,
        };
        if !failure.kind.is_retryable() {
            return RetryDecision::GiveUp(None);
        }
        if floor > wait_max {
            let (resets, most) = (in_seconds(floor), in_seconds(wait_max));
            return RetryDecision::GiveUp(Some(format!("it resets in {resets}, and we wait at most {most}")));
        }
        // A provider that breaks its own protocol twice has no transient fault.
        if made.all >= attempts_max || made.protocol > 1 {
            return RetryDecision::GiveUp(Some(format!("gave up after {} attempts", made.all)));
        }
        let doubled = backoff_min.saturating_mul(1 << made.all.min(16)).min(backoff_max);
        RetryDecision::Again(floor + self.up_to(doubled.saturating_sub(backoff_min)))
    }

    fn up_to(&self, most: Duration) -> Duration {
        most.mul_f64(self.random.lock().unwrap_or_else(PoisonError::into_inner).f64())
    }
}

impl Model for RetryModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        Box::pin(self.attempts(request, deltas))
    }
}

enum RetryDecision {
    /// Returns the final failure, with a reason added to its message if there is one.
    GiveUp(Option<String>),
    Again(Duration),
}

#[derive(Debug, Clone, Copy, Default)]
struct RetryAttempts {
    all: u32,
    protocol: u32,
}

impl RetryAttempts {
    fn count(&mut self, kind: FailureKind) {
        self.all += 1;
        self.protocol += u32::from(kind == FailureKind::Protocol);
    }
}

/// Creates the failure of a call whose budget covers no further attempt.
pub(crate) fn unpaid(failure: &ModelFailure, lost: Usage, missing: &str) -> ModelFailure {
    let message = format!("not asked again after {failure}: {missing}");
    ModelFailure { lost, ..ModelFailure::new(FailureKind::BudgetSpent, message) }
}

fn in_seconds(time: Duration) -> String {
    format!("{} s", u64::try_from(time.as_millis().div_ceil(1000)).unwrap_or(u64::MAX))
}

/// Records how far an attempt came.
struct ShownDeltas<'a> {
    deltas: &'a dyn DeltaSink,
    bytes_arrived: AtomicBool,
    output_bytes: AtomicU64,
}

impl<'a> ShownDeltas<'a> {
    fn new(deltas: &'a dyn DeltaSink) -> Self {
        Self { deltas, bytes_arrived: AtomicBool::new(false), output_bytes: AtomicU64::new(0) }
    }
}

impl DeltaSink for ShownDeltas<'_> {
    fn alive(&self) {
        self.bytes_arrived.store(true, Ordering::Relaxed);
        self.deltas.alive();
    }

    fn delta(&self, delta: Delta<'_>) {
        let bytes = match delta {
            Delta::Text(text) | Delta::Thinking(text) | Delta::ToolArguments { fragment: text, .. } => {
                text.len()
            }
            Delta::ToolCall { name, .. } => name.len(),
            Delta::Restarted { .. } | Delta::Paused { .. } => 0,
        };
        self.bytes_arrived.store(true, Ordering::Relaxed);
        self.output_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.deltas.delta(delta);
    }
}

/// Estimates the cost of a failed attempt. The model's own figure counts; otherwise it is estimated if the provider
/// has, or may have, read the request.
fn consumed(failure: &ModelFailure, request: &ModelRequest<'_>, shown: &ShownDeltas<'_>) -> Usage {
    if !failure.lost.is_nothing() {
        return failure.lost;
    }
    let output_bytes = shown.output_bytes.load(Ordering::Relaxed);
    let worked = match failure.kind {
        FailureKind::Stalled | FailureKind::Protocol => true,
        FailureKind::Connection => shown.bytes_arrived.load(Ordering::Relaxed),
        // An error in mid-stream; before it, a refusal costs nothing.
        _ => output_bytes > 0,
    };
    if !worked {
        return Usage::default();
    }
    Usage {
        input: input_at_most(request),
        // The text is not kept; each byte of it was at most one token.
        output: output_bytes.min(request.output_tokens_max.into()),
        estimated: true,
        ..Usage::default()
    }
}

/// Returns the maximum tokens of a request.
fn input_at_most(request: &ModelRequest<'_>) -> u64 {
    let tool = |texts: [&str; 3]| texts.into_iter().map(tokens_at_most).sum::<u64>();
    let tools = request.tools.iter().map(|spec| tool([&spec.name, &spec.description, &spec.input_schema]));
    let messages =
        request.messages.iter().map(|message| message_tokens(message, |text| tokens_at_most(text)));
    tokens_at_most(request.system) + tools.sum::<u64>() + messages.sum::<u64>()
}

#[cfg(test)]
mod tests;
