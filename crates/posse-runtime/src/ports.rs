//! Ports: the runtime's interfaces to the outside. Each has one conformance suite that every implementation passes.

mod agent;
mod catalog;
mod messages;
mod model;
mod observer;
mod store;
mod tool;

use std::future::Future;
use std::pin::Pin;

pub use agent::*;
pub use catalog::*;
pub use messages::*;
pub use model::*;
pub use observer::*;
pub use store::*;
pub use tool::*;

/// A boxed future, as object-safe traits need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
