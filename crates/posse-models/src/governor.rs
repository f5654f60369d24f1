//! Rate governor for all callers of one provider key: in-flight limit, queue order, and a shared pause when the provider
//! asks for one. Processes with the same key share slots, window and pause through `SharedWindow`; each has its own queue.
//!
//! A slot is held only during a call: not while its caller waits for a retry, not while tools run. So a task that waits
//! for its children never holds a slot that they need.

mod shared_window;
mod window;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::board::{Priority, Urgency};
use posse_runtime::ports::{CallAllowance, Delta, DeltaSink};
use shared_window::{SharedWindow, WindowShape};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use window::CallWindow;

/// Default in-flight limit of a key.
pub const MAX_IN_FLIGHT: usize = 16;

/// Maximum pause: an absurd `Retry-After` must not lock a key for the life of the process.
pub(crate) const COOL_DOWN_MAX: Duration = Duration::from_secs(3600);

/// Jitter after a shared cool-down, so that waiting calls do not start at the same instant.
const SPREAD: Duration = Duration::from_millis(500);

/// Head start per level of urgency: a call overtakes less urgent ones that came at most this much earlier. No call
/// starves.
const HEAD_START: Duration = Duration::from_secs(10);

/// Maximum time in the queue, because it does not count against a run's time.
pub(crate) const QUEUED_MAX: Duration = Duration::from_secs(3600);

/// Shortest pause, and shortest extension of one, that a waiting call tells its observers.
const PAUSE_TOLD: Duration = Duration::from_secs(1);

/// Mean poll interval for slots of other processes, which do not notify.
const POLL: Duration = Duration::from_millis(20);

/// Rate governor of one provider key: in-flight limit, shared cool-down, priority queue.
pub struct RateGovernor {
    began: Instant,
    state: Mutex<GovernorState>,
    /// Notified when a pause starts or is extended.
    paused: Notify,
}

struct GovernorState {
    window: CallWindow,
    /// In-flight calls of this process.
    under_way: usize,
    shared_window: Option<SharedWindow>,
    /// The end of the last pause.
    opens: Option<Instant>,
    queue: BTreeMap<QueueRank, oneshot::Sender<CallPermit>>,
    arrivals: u64,
    random: fastrand::Rng,
}

/// Queue order, smallest first: arrival time minus a head start per level, then the order of arrival. All entries age
/// alike, so their order never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueueRank {
    due: i128,
    arrival: u64,
}

/// Why a call was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionFailure {
    /// The provider asks for a longer pause than the caller waits.
    For(Duration),
    /// All slots were taken the whole time.
    Full(usize),
}

impl Default for RateGovernor {
    fn default() -> Self {
        Self::with_max(MAX_IN_FLIGHT, None)
    }
}

impl RateGovernor {
    /// Creates a governor for at most `max_in_flight` calls at once, and at least one.
    pub fn new(max_in_flight: usize) -> Arc<Self> {
        Arc::new(Self::with_max(max_in_flight, None))
    }

    /// Creates a governor that shares `max_in_flight` with all processes that name the same `directory`.
    pub fn shared(max_in_flight: usize, directory: &Path) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self::with_max(max_in_flight, Some(SharedWindow::open(directory)?))))
    }

    fn with_max(max_in_flight: usize, shared_window: Option<SharedWindow>) -> Self {
        let state = GovernorState {
            window: CallWindow::new(max_in_flight),
            under_way: 0,
            shared_window,
            opens: None,
            queue: BTreeMap::new(),
            arrivals: 0,
            random: fastrand::Rng::new(),
        };
        Self { began: Instant::now(), state: Mutex::new(state), paused: Notify::new() }
    }

    /// Waits for a slot. Dropping the future leaves the queue. Fails at once for a pause that is longer than `pause_max`
    /// or than the run's remaining time.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        urgency: Urgency,
        pause_max: Duration,
        allowance: &dyn CallAllowance,
        deltas: &dyn DeltaSink,
    ) -> Result<CallPermit, AdmissionFailure> {
        let came = Instant::now();
        let (rank, mut receiver) = {
            let mut state = self.lock();
            state.adopt_shared(came);
            if state.pause(came).is_none()
                && state.queue.is_empty()
                && let Some(place) = state.claim_slot()
            {
                return Ok(self.permit(state.window.round(), place));
            }
            let (sender, receiver) = oneshot::channel();
            (state.join(rank_of(urgency, came - self.began), sender), receiver)
        };
        let _queued = QueueTicket::new(self, rank, allowance);
        self.serve();
        let (mut paused_since, mut told, until) = (None, came, came + QUEUED_MAX);
        loop {
            let mut paused = std::pin::pin!(self.paused.notified());
            // Subscribed first, so that no pause is missed.
            paused.as_mut().enable();
            let now = Instant::now();
            let (pause, wake) = {
                let mut state = self.lock();
                (state.pause(now), state.wakes(now))
            };
            paused_since = pause.map(|_| paused_since.unwrap_or(now));
            if let (Some(left), Some(since)) = (pause, paused_since)
                && (now - since + left > pause_max || left > allowance.time_left())
            {
                return Err(AdmissionFailure::For(left));
            }
            if let Some(wait) = pause.filter(|left| now + *left > told + PAUSE_TOLD) {
                told = now + wait;
                deltas.delta(Delta::Paused { wait });
            }
            tokio::select! {
                biased;
                Ok(permit) = &mut receiver => return Ok(permit),
                () = tokio::time::sleep_until(wake.unwrap_or(until).min(until)) => {}
                () = paused => {}
            }
            if Instant::now() >= until {
                return Err(AdmissionFailure::Full(self.lock().under_way));
            }
            self.serve();
        }
    }

    /// Gives free slots to the first in the queue.
    fn serve(self: &Arc<Self>) {
        // Dropping a permit locks: none is created or dropped under the lock.
        let (next, round) = {
            let (mut state, now) = (self.lock(), Instant::now());
            state.adopt_shared(now);
            (state.next(now), state.window.round())
        };
        for (sender, place) in next {
            // A waiter that has left drops it, which passes the slot on.
            let _ = sender.send(self.permit(round, place));
        }
    }

    fn permit(self: &Arc<Self>, round: u64, place: Place) -> CallPermit {
        CallPermit { governor: self.clone(), round, place, answer: PermitOutcome::Other }
    }

    pub(crate) fn pause_for(&self, wait: Duration) {
        let until = Instant::now() + wait.min(COOL_DOWN_MAX);
        {
            let mut state = self.lock();
            if state.opens.is_some_and(|before| before >= until) {
                return;
            }
            state.opens = Some(until);
            state.publish_pause();
        }
        self.paused.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, GovernorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GovernorState {
    fn claim_slot(&mut self) -> Option<Place> {
        let limit = self.window.limit();
        if self.under_way >= limit {
            return None;
        }
        let place = match &mut self.shared_window {
            Some(shared_window) => Some(shared_window.claim_slot(limit)?),
            None => None,
        };
        self.under_way += 1;
        Some(place)
    }

    fn release_slot(&mut self, place: Place) {
        self.under_way -= 1;
        if let (Some(shared_window), Some(number)) = (&mut self.shared_window, place) {
            shared_window.release_slot(number);
        }
    }

    /// Adopts the window and the pause of other processes.
    fn adopt_shared(&mut self, now: Instant) {
        let Some(WindowShape { window, pause }) = self.shared_window.as_ref().and_then(SharedWindow::read)
        else {
            return;
        };
        self.window.adopt(window);
        if !pause.is_zero() {
            self.opens = self.opens.max(Some(now + pause));
        }
    }

    /// Publishes the pause to other processes.
    fn publish_pause(&mut self) {
        let pause = self.pause(Instant::now()).unwrap_or_default();
        self.share(|window| window.to_words(), pause);
    }

    /// Updates the window with the outcome of a call admitted in `round`.
    fn learn(&mut self, answer: &PermitOutcome, round: u64) {
        let under_way = match &mut self.shared_window {
            Some(shared_window)
                if !self.window.is_widest() || matches!(answer, PermitOutcome::Refused(_)) =>
            {
                shared_window.count_taken(self.window.limit())
            }
            _ => self.under_way,
        };
        let change = |window: &mut CallWindow| match answer {
            PermitOutcome::Succeeded => window.on_success(round, under_way),
            PermitOutcome::Refused(_) => window.on_refused(round, under_way),
            PermitOutcome::Other => {}
        };
        let widest = self.window.is_widest();
        if self.shared_window.is_none()
            || matches!(answer, PermitOutcome::Other)
            || (widest && matches!(answer, PermitOutcome::Succeeded))
        {
            change(&mut self.window);
            return;
        }
        self.share(
            |window| {
                change(window);
                window.to_words()
            },
            Duration::ZERO,
        );
    }

    /// Changes the shared window, and extends the pause to at least this long.
    fn share(&mut self, change: impl FnOnce(&mut CallWindow) -> [u64; window::WORDS], at_least: Duration) {
        let Some(shared_window) = &mut self.shared_window else { return };
        let window = &mut self.window;
        let shared = shared_window.change(|before| {
            if let Some(before) = before {
                window.adopt(before.window);
            }
            let pause = before.map_or(Duration::ZERO, |before| before.pause).max(at_least);
            WindowShape { window: change(window), pause }
        });
        if let Err(error) = shared {
            tracing::warn!(%error, "other processes are not told about the provider's limits");
        }
    }

    fn join(&mut self, due: i128, sender: oneshot::Sender<CallPermit>) -> QueueRank {
        self.arrivals += 1;
        let rank = QueueRank { due, arrival: self.arrivals };
        self.queue.insert(rank, sender);
        rank
    }

    /// Returns the rest of the cool-down.
    fn pause(&self, now: Instant) -> Option<Duration> {
        self.opens.map(|at| at.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }

    /// Tells whether calls are spread after a pause: each wake-up admits one, the most urgent first. Later all slots are
    /// filled at once.
    fn spreads(&self, now: Instant) -> bool {
        self.opens.is_some_and(|opens| now < opens + SPREAD)
    }

    /// Returns when a waiter has to poll; `None` if the end of a call wakes the queue.
    fn wakes(&mut self, now: Instant) -> Option<Instant> {
        if let Some(opens) = self.opens.filter(|_| self.spreads(now)) {
            return Some(opens.max(now) + SPREAD.mul_f64(self.random.f64()));
        }
        self.shared_window.is_some().then(|| now + POLL.mul_f64(0.5 + self.random.f64()))
    }

    fn next(&mut self, now: Instant) -> Vec<(oneshot::Sender<CallPermit>, Place)> {
        let mut next = Vec::new();
        while self.pause(now).is_none() && !self.queue.is_empty() && !(self.spreads(now) && next.len() == 1) {
            let Some(place) = self.claim_slot() else { break };
            next.extend(self.queue.pop_first().map(|(_, sender)| (sender, place)));
        }
        next
    }
}

fn rank_of(urgency: Urgency, came: Duration) -> i128 {
    let levels = match urgency {
        Urgency::Background(Priority::Low) => 0,
        Urgency::Background(Priority::Normal) => 1,
        Urgency::Background(Priority::High) => 2,
        Urgency::Interactive => 3,
    };
    came.as_micros() as i128 - (HEAD_START * levels).as_micros() as i128
}

/// Number of a slot shared between processes.
type Place = Option<usize>;

/// A slot. Dropping it releases the slot and applies the call's outcome.
pub(crate) struct CallPermit {
    governor: Arc<RateGovernor>,
    round: u64,
    place: Place,
    answer: PermitOutcome,
}

enum PermitOutcome {
    Succeeded,
    /// Rate limited: all calls of this key pause for this long.
    Refused(Duration),
    Other,
}

impl CallPermit {
    /// Reports success and releases the slot.
    pub fn succeeded(mut self) {
        self.answer = PermitOutcome::Succeeded;
    }

    /// Reports a rate limit with its cool-down and releases the slot.
    pub fn refused(mut self, pause: Duration) {
        self.answer = PermitOutcome::Refused(pause);
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        {
            let mut state = self.governor.lock();
            state.learn(&self.answer, self.round);
            state.release_slot(self.place);
            if !matches!(self.answer, PermitOutcome::Refused(_)) && state.spreads(Instant::now()) {
                // Waiters have set their timers.
                return;
            }
        }
        match self.answer {
            PermitOutcome::Refused(pause) => self.governor.pause_for(pause),
            PermitOutcome::Succeeded | PermitOutcome::Other => self.governor.serve(),
        }
    }
}

/// A waiter in the queue; leaves it when dropped.
struct QueueTicket<'a> {
    governor: &'a RateGovernor,
    rank: QueueRank,
    allowance: &'a dyn CallAllowance,
}

impl<'a> QueueTicket<'a> {
    fn new(governor: &'a RateGovernor, rank: QueueRank, allowance: &'a dyn CallAllowance) -> Self {
        allowance.queues();
        Self { governor, rank, allowance }
    }
}

impl Drop for QueueTicket<'_> {
    fn drop(&mut self) {
        self.governor.lock().queue.remove(&self.rank);
        self.allowance.served();
    }
}

#[cfg(test)]
mod tests;
