//! Models behind their wire formats.
//!
//! Each provider module only maps types: our conversation to its request, its answer to a `Reply`. What they share
//! is here: one way to speak HTTP (`http`), to read a stream (`sse`, `exchange`), to build a body that only grows
//! (`body`) and to put a reply together from fragments (`assemble`). Nothing here knows tools or a store.

pub mod anthropic;
pub mod assemble;
pub mod body;
mod exchange;
mod failure;
pub mod gemini;
pub mod http;
pub mod openai_chat;
pub mod openai_responses;
pub mod sse;
mod tokens;
