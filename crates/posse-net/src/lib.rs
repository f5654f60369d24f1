//! How Posse reaches other machines. There are two ways: `Pool` for an endpoint that the operator named, and `Pinned`
//! for addresses that somebody else named, which connects only to numbers that were checked.

mod connection;
mod idle;
mod pinned;
mod pool;

use std::future::Future;
use std::pin::Pin;

pub use connection::{Body, Broken, Prepared};
pub use pinned::{Exception, Failure, Page, Pinned, Resolver, SystemResolver};
pub use pool::{Error, Pool, host, is_loopback, system_proxies};

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The whole chain of an error in one line, without repetitions.
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
