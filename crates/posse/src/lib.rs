//! Agents and durable subagents on any model.
//!
//! An [`Agent`] is a model with a prompt and tools. `ask` runs it until it has an answer:
//!
//! ```no_run
//! use posse::prelude::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Add { a: i64, b: i64 }
//!
//! #[tokio::main]
//! async fn main() -> posse::Result<()> {
//!     let answer = Agent::new("openai:gpt-5")?
//!         .system("You are a calculator.")
//!         .tool(tool("add", "Add two integers.", |Add { a, b }| async move { Ok(a + b) }))
//!         .ask("What is 2 + 40?")
//!         .await?;
//!     println!("{answer}");
//!     Ok(())
//! }
//! ```
//!
//! A program needs these dependencies; the last two are for `#[derive(Deserialize, JsonSchema)]`:
//!
//! ```toml
//! posse = "0.1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! serde = { version = "1", features = ["derive"] }
//! schemars = "1"
//! ```
//!
//! # Models
//!
//! A model is named by one string, `provider:model`: `anthropic:claude-sonnet-4-5`, `openai:gpt-5`, `gemini:gemini-2.5-pro`,
//! `ollama:qwen3`, `openrouter:…`, `groq:…`. Keys and base URLs come from the variables that the provider's own tools read.
//! Calls are retried. An agent, its clones and its subagents share the rate limits of a key. [`Agent::with_model`] takes your own
//! [`Model`](ports::Model) implementation; [`models::scripted`] is a model with canned replies, for tests without a key.
//!
//! # Errors
//!
//! Everything fails with an [`Error`] that has a [`code`](Error::code) to branch on, a message and a hint. A run that did not
//! complete is an error too: a wrong key, a refusal, a limit. [`Error::outcome`] then says how it ended and has the text so
//! far. [`Agent::outcome`] returns the outcome even if the run did not complete.
//!
//! # Delegation
//!
//! - [`Agent::subagent`] gives an agent a [`SubAgent`] as a tool. Calls in one reply run side by side.
//! - A [`Session`] spawns tasks from the program: [`Session::spawn`] returns a [`TaskHandle`] to await, steer or cancel.
//!
//! A subagent never has more rights than its parent: its tools, budget and depth can only get narrower.
//!
//! # Durability
//!
//! By default, runs are kept in memory. With [`Agent::store`] or [`SessionConfig::store`] every step is in a SQLite journal before it
//! takes effect, and [`Agent::resume`] continues a run whose process died.
//!
//! # Dropping
//!
//! | dropped | consequence |
//! |---|---|
//! | the future of `ask`, a [`RunStream`] | the run and its subagents are cancelled |
//! | a [`TaskHandle`] | nothing, the task keeps running |
//! | a [`Session`] in memory | its tasks are cancelled |
//! | a [`Session`] with a store | its tasks are interrupted; the next session of the same `name` continues them |
//!
//! # Parts
//!
//! The modules below are lower-level and less stable: the parts that the `posse` program is made of.

#![forbid(unsafe_code)]

mod agent;
mod answer;
mod compose;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod models;
pub mod prelude;
mod stream;
mod subagent;
mod tasks;
mod tool;
pub mod tools;

pub use agent::Agent;
pub use answer::AgentAnswer;
pub use stream::{RunStream, StreamEvent};
pub use subagent::{SubAgent, Thinking};
pub use tasks::{Session, SessionConfig, TaskHandle};
pub use tool::{ProgramTool, ToolError, tool};

pub use posse_core as core;
pub use posse_core::event::{Event, EventEntry};
pub use posse_core::id::TaskId;
pub use posse_core::outcome::{Outcome, OutcomeStatus, StopReason};
pub use posse_core::task::TaskRequest;
pub use posse_core::{Error, ErrorCode, Result};
pub use posse_definitions as definitions;
pub use posse_messages as messages;
pub use posse_runtime::delegation::{TaskPhase, TaskReport};
pub use posse_runtime::observe::TraceEvent;
pub use posse_runtime::ports::{ApprovalDecision, Approver, AutoApprove, ProposedCall};
pub use posse_runtime::{
    budget, delegation, driver, inbox, memory, observe, ports, resolve, session, toolbox,
};
pub use posse_sandbox as sandbox;
pub use posse_store as store;
pub use posse_telemetry as telemetry;
