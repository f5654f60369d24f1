//! State of a server, shared by all requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use posse_net::door::RequestGuard;
use posse_runtime::ports::CatalogStore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::feed::EventHub;
use crate::host::ServeHost;
use crate::tokens::TokenTable;

/// Handle to the state of a server.
pub type ApiState = Arc<ApiParts>;

/// Everything that requests share.
pub struct ApiParts {
    pub store: Arc<dyn CatalogStore>,
    pub host: Arc<dyn ServeHost>,
    pub hub: Arc<EventHub>,
    pub tokens: TokenTable,
    /// Hosts and origins of this server. Tokens are checked by `tokens`.
    pub guard: RequestGuard,
    /// Name of the cookie. Cookies ignore ports, so that of each server has its own name.
    pub cookie: String,
    /// Browsers speak TLS with this server, or with the proxy before it.
    pub is_secure: bool,
    pub ending: CancellationToken,
    /// Requests of each token.
    pub requests: RateBuckets,
    /// Failed logins of each peer.
    pub failures: RateBuckets,
}

/// Token buckets by name. Each refills at a constant rate.
pub struct RateBuckets {
    per_second: f64,
    burst: f64,
    names_max: usize,
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl RateBuckets {
    /// Creates buckets that start full.
    pub fn new(per_second: f64, burst: f64) -> Self {
        // More names come from an attack; a full bucket is the same as none.
        const NAMES_MAX: usize = 4_096;
        Self { per_second, burst, names_max: NAMES_MAX, buckets: Mutex::default() }
    }

    /// Takes one from a bucket; returns false if it is empty.
    pub fn take(&self, name: &str) -> bool {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |(level, at): (f64, Instant)| {
            (level + now.duration_since(at).as_secs_f64() * self.per_second).min(self.burst)
        };
        if buckets.len() >= self.names_max && !buckets.contains_key(name) {
            buckets.retain(|_, bucket| filled(*bucket) < self.burst);
            if buckets.len() >= self.names_max {
                return false;
            }
        }
        let before = buckets.get(name).map_or(self.burst, |bucket| filled(*bucket));
        if before < 1.0 {
            return false;
        }
        buckets.insert(name.to_owned(), (before - 1.0, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_empties_and_refills_by_itself() {
        let buckets = RateBuckets::new(2.0, 3.0);
        assert!((0..3).all(|_| buckets.take("a")) && !buckets.take("a"));
        assert!(buckets.take("b"), "each name has its own");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(buckets.take("a") && buckets.take("a") && !buckets.take("a"));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((0..9).filter(|_| buckets.take("a")).count(), 3, "no more than the burst");
    }

    #[tokio::test(start_paused = true)]
    async fn many_names_do_not_grow_the_table_without_end() {
        let buckets = RateBuckets { names_max: 10, ..RateBuckets::new(1.0, 2.0) };
        assert!((0..10).all(|n| buckets.take(&n.to_string())) && !buckets.take("more"));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(buckets.take("more") && buckets.buckets.lock().unwrap().len() == 1);
    }
}
