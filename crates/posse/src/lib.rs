//! Posse as a library: the same loop, session, models, tools and store that the `posse` binary is made of.
//!
//! Start with [`session::Session`] for delegation, with [`SubAgent`] for agents that are tools of your own agent, or with
//! [`driver`] for a single run. `examples/single.rs` is a whole program: one agent, one tool of its own, a durable
//! journal. `examples/subagents.rs` runs without a key: an agent with two specialists.

#![forbid(unsafe_code)]

mod subagent;

pub use subagent::{SubAgent, Thinking};

pub use posse_core as core;
pub use posse_definitions as definitions;
pub use posse_messages as messages;
pub use posse_models as models;
pub use posse_runtime::{budget, driver, inbox, observe, ports, resolve, session, toolbox};
pub use posse_sandbox as sandbox;
pub use posse_store as store;
pub use posse_telemetry as telemetry;
pub use posse_tools as tools;

pub use posse_core::{Error, ErrorCode, Result};
