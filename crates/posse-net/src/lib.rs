//! Network access. `ConnectionPool` reaches an endpoint that the operator named. `PinnedClient` reaches addresses that a
//! model or a server named, and connects only to IP addresses that were checked. `door` guards our own servers.

#![forbid(unsafe_code)]

mod connection;
pub mod door;
mod idle;
mod pinned;
mod pool;

use std::future::Future;
use std::pin::Pin;

pub use connection::{ConnectionError, PreparedRequest, ResponseStream};
pub use pinned::{AddressException, FetchFailure, FetchedPage, NameResolver, PinnedClient, SystemResolver};
pub use pool::{ConnectionPool, PoolError, host, is_loopback, system_proxies};

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Formats an error with all its causes in one line, without repetitions.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
