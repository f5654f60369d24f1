//! Models behind their wire formats, and models that wrap a model.
//!
//! Each provider module only maps types: our conversation to its request, its answer to a `Reply`. Shared parts are here:
//! HTTP (`http`), reading a stream (`sse`, `exchange`), building a growing body (`body`) and assembling a reply from
//! fragments (`assemble`). Nothing here knows tools or a store.
//!
//! `providers` opens a model by reference, wrapped in the usual order, from the outside in: `FallbackModel` over `RetryModel` over `WatchedModel` over a provider. `RecordedModel`
//! goes where one wants to listen. `ScriptedModel` needs no provider at all.

#![forbid(unsafe_code)]

pub mod anthropic;
pub mod assemble;
pub mod body;
pub mod catalogue;
pub mod client;
mod exchange;
mod failure;
#[cfg(test)]
mod fake;
pub mod fallback;
pub mod gemini;
pub mod governor;
pub mod http;
pub mod listing;
pub mod openai_chat;
pub mod openai_responses;
pub mod providers;
pub mod record;
pub mod retry;
pub mod scripted;
pub mod sse;
mod tokens;
pub mod watch;
