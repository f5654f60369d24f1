//! Rate limit for incoming messages. A server that talks without pause gets back-pressure.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Burst size, and then messages per second: more than any tool needs, cheap enough to handle.
const AT_ONCE: u32 = 1_000;
const PER_SECOND: u32 = 200;

/// A token bucket.
#[derive(Debug)]
pub(super) struct ReconnectPace {
    left: u32,
    since: Instant,
}

impl ReconnectPace {
    /// Creates a full bucket.
    pub fn new() -> Self {
        Self { left: AT_ONCE, since: Instant::now() }
    }

    /// Waits until another message may be taken. Cancel-safe.
    pub async fn wait(&mut self) {
        let each = Duration::from_secs(1) / PER_SECOND;
        loop {
            let earned = self.since.elapsed().as_nanos() / each.as_nanos();
            if earned > 0 {
                self.left = AT_ONCE.min(self.left.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)));
                self.since = Instant::now();
            }
            if self.left > 0 {
                return;
            }
            sleep_until(self.since + each).await;
        }
    }

    /// Takes one token.
    pub fn took(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // T42 Seen to fail without the wait.
    #[tokio::test(start_paused = true)]
    async fn whoever_talks_without_pause_is_listened_to_a_few_hundred_times_a_second() {
        let (mut pace, begun) = (ReconnectPace::new(), Instant::now());
        for _ in 0..AT_ONCE + 10 * PER_SECOND {
            pace.wait().await;
            pace.took();
        }
        assert!((9..=11).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }
}
