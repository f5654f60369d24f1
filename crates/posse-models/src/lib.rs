//! Models for Posse: what wraps a model, and models that need no provider.
//!
//! The usual order, from the outside in: `Fallback` over `Retry` over `Watched` over a provider. `Record` goes where
//! one wants to listen.

pub mod catalogue;
pub mod fallback;
pub mod record;
pub mod retry;
pub mod scripted;
pub mod watch;

#[cfg(test)]
mod fake;
