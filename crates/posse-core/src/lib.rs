//! Values and decisions of Posse.
//!
//! This crate performs no I/O, reads no clock, starts no task and knows no provider. What is decided here is
//! performed by `posse-runtime`; what is written down here is kept by a store.

#![forbid(unsafe_code)]

#[macro_use]
mod wire;

pub mod agent;
pub mod approval;
pub mod arguments;
pub mod board;
pub mod bounded;
pub mod budget;
pub mod confinement;
pub mod context;
pub mod definition;
pub mod edits;
pub mod envelope;
pub mod error;
pub mod event;
pub mod fact;
pub mod glob;
pub mod grant;
pub mod id;
pub mod journal;
pub mod lease;
pub mod limits;
pub mod material;
pub mod message;
pub mod mode;
pub mod outcome;
pub mod output;
pub mod pattern;
pub mod provenance;
pub mod redact;
pub mod refusal;
pub mod reply;
pub mod run;
pub mod sections;
pub mod sizes;
pub mod spans;
pub mod state;
pub mod streamed;
pub mod task;
pub mod text;
pub mod tokens;
pub mod tool;
pub mod tool_names;
pub mod usage;
pub mod verify;
pub mod web;

pub use error::{Error, ErrorCode, Result};
