//! In-flight limit of one key: halved when the provider refuses, raised by one on success. A pure state machine without
//! time or callers.

/// Successes before one call above the last refused number is tried: a refusal in a hundred calls costs little, and a
/// raised limit is found.
pub(super) const PROBE_AFTER: usize = 100;

/// Number of words in the stored form.
pub(super) const WORDS: usize = 7;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallWindow {
    max: usize,
    limit: usize,
    /// Number of bursts of refusals. A call belongs to the round in which it was admitted.
    round: u64,
    burst: RefusalBurst,
    /// In-flight number that was refused lately.
    too_many: Option<usize>,
    /// Successes since the limit last changed.
    successes: usize,
}

/// A burst: calls in flight together when the provider started to refuse, which refuses each call above its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RefusalBurst {
    limit: usize,
    under_way: usize,
    refused: usize,
}

impl CallWindow {
    /// Creates a window of this size.
    pub fn new(max: usize) -> Self {
        let max = max.max(1);
        Self { max, limit: max, round: 0, burst: RefusalBurst::default(), too_many: None, successes: 0 }
    }

    /// Returns the current limit.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the current round.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Tells whether the window is fully open: a success changes nothing.
    pub fn is_widest(&self) -> bool {
        self.limit >= self.max
    }

    /// Returns the shared state: everything but the configured limit, which each process has.
    pub fn to_words(&self) -> [u64; WORDS] {
        let RefusalBurst { limit, under_way, refused } = self.burst;
        let counts = [self.limit, limit, under_way, refused, self.too_many.unwrap_or(0), self.successes];
        let [limit, burst, under_way, refused, too_many, successes] = counts.map(|count| count as u64);
        [limit, burst, under_way, refused, too_many, successes, self.round]
    }

    /// Adopts another process's window, within this one's limit.
    pub fn adopt(&mut self, words: [u64; WORDS]) {
        let [limit, burst, under_way, refused, too_many, successes, round] = words;
        let count = |word: u64| usize::try_from(word).unwrap_or(usize::MAX);
        self.limit = count(limit).clamp(1, self.max);
        self.burst =
            RefusalBurst { limit: count(burst), under_way: count(under_way), refused: count(refused) };
        self.too_many = Some(count(too_many)).filter(|refused| *refused > 0);
        self.successes = count(successes);
        self.round = round;
    }

    /// Records the success of a call admitted in `round`, with `under_way` in flight, itself included. Only a window in
    /// use is widened, and not by calls from before it was narrowed.
    pub fn on_success(&mut self, round: u64, under_way: usize) {
        if round != self.round || under_way < self.limit || self.limit >= self.max {
            return;
        }
        self.successes += 1;
        let next = self.limit + 1;
        let enough = match self.too_many {
            Some(refused) if next >= refused => PROBE_AFTER.max(self.limit),
            _ => self.limit,
        };
        if self.successes >= enough {
            self.limit = next;
            self.successes = 0;
            self.too_many = self.too_many.filter(|refused| next < *refused);
        }
    }

    /// Records the refusal of a call admitted in `round`, with `under_way` in flight, itself included. The refusals of one
    /// burst are one event: they halve the limit once, and their number tells how many the provider accepted.
    pub fn on_refused(&mut self, round: u64, under_way: usize) {
        if round == self.round {
            self.round += 1;
            self.burst = RefusalBurst { limit: self.limit, under_way, refused: 0 };
        } else if round + 1 != self.round {
            return;
        }
        self.burst.refused += 1;
        let RefusalBurst { limit, under_way, refused } = self.burst;
        let halved = (limit / 2).max(1);
        self.successes = 0;
        match under_way.saturating_sub(refused) {
            // All were refused: the exhausted resource is not concurrency.
            0 => (self.limit, self.too_many) = (halved, None),
            taken => (self.limit, self.too_many) = (halved.min(taken), Some(taken + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after_successes(mut window: CallWindow, times: usize) -> usize {
        for _ in 0..times {
            window.on_success(window.round(), window.limit());
        }
        window.limit()
    }

    #[test]
    fn a_refusal_halves_and_as_many_successes_as_are_under_way_raise_by_one() {
        let mut window = CallWindow::new(16);
        window.on_refused(0, 16);
        assert_eq!(window.limit(), 8);
        assert_eq!(after_successes(window.clone(), 7), 8);
        assert_eq!(after_successes(window.clone(), 8), 9);
        assert_eq!(after_successes(window.clone(), 8 + 9), 10);
        assert_eq!(after_successes(window, 10_000), 16, "the configured limit is the most");
    }

    #[test]
    fn the_refusals_of_one_burst_say_how_many_fit() {
        let mut window = CallWindow::new(16);
        for _ in 0..12 {
            window.on_refused(0, 16);
        }
        assert_eq!(window.limit(), 4);
        assert_eq!(after_successes(window.clone(), PROBE_AFTER - 1), 4, "five were refused");
        assert_eq!(after_successes(window.clone(), PROBE_AFTER), 5, "but perhaps not for ever");
        window.on_refused(1, 4);
        assert_eq!(window.limit(), 2);
        window.on_refused(0, 9);
        assert_eq!(window.limit(), 2, "an answer to a call of long ago says nothing new");
    }

    #[test]
    fn a_provider_that_refuses_everything_has_no_opinion_on_places() {
        let mut window = CallWindow::new(16);
        for _ in 0..5 {
            window.on_refused(0, 5);
        }
        assert_eq!(window.limit(), 8);
        assert_eq!(after_successes(window, 8), 9);
    }

    #[test]
    fn a_window_that_is_not_used_is_not_widened() {
        let mut window = CallWindow::new(16);
        window.on_refused(0, 16);
        for _ in 0..1000 {
            window.on_success(1, 7);
        }
        assert_eq!(window.limit(), 8);
    }

    #[test]
    fn a_window_that_was_written_down_is_the_same_within_its_own_limit() {
        let mut window = CallWindow::new(16);
        for _ in 0..12 {
            window.on_refused(0, 16);
        }
        let (mut same, mut narrow) = (CallWindow::new(16), CallWindow::new(2));
        same.adopt(window.to_words());
        narrow.adopt(window.to_words());
        assert_eq!((same, narrow.limit()), (window, 2));
    }

    proptest! {
        /// Whatever a provider answers: at least one call, at most the configured number, up by one at a time and down
        /// to half or less at once.
        #[test]
        fn the_limit_stays_in_its_bounds(max in 0usize..40, answers in proptest::collection::vec((any::<bool>(), 0u64..3, 1usize..40), 0..300)) {
            let mut window = CallWindow::new(max);
            for (refused, ago, under_way) in answers {
                let (before, round) = (window.limit(), window.round());
                if refused {
                    window.on_refused(round.saturating_sub(ago), under_way);
                    if window.round() > round {
                        prop_assert!(window.limit() <= (before / 2).max(1));
                    }
                } else {
                    window.on_success(round.saturating_sub(ago), under_way);
                    prop_assert!(window.limit() == before || window.limit() == before + 1);
                }
                prop_assert!((1..=max.max(1)).contains(&window.limit()));
            }
        }

        /// Against any quota, once it has been met: few refusals, and the slots are used.
        #[test]
        fn it_settles_just_below_any_quota(quota in 1usize..32) {
            let mut window = CallWindow::new(32);
            let (mut refusals, mut used) = (0, 0);
            let rounds = 1000;
            for _ in 0..rounds {
                let (sent, round) = (window.limit(), window.round());
                for _ in 0..sent.min(quota) {
                    window.on_success(round, sent);
                }
                for _ in quota..sent {
                    window.on_refused(round, sent);
                    refusals += 1;
                }
                used += sent.min(quota);
            }
            prop_assert!(used * 10 >= rounds * quota * 8, "{used} of {}", rounds * quota);
            prop_assert!((refusals - (32 - quota)) * 50 <= used, "{refusals} refusals, {used} calls");
        }
    }
}
