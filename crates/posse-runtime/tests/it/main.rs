//! The driver and the session with a scripted model, tools that watch themselves, and a store in memory.

mod adoption;
mod approvals;
mod context;
mod crashes;
mod delegation;
mod events;
mod facades;
mod facts;
mod grants;
mod host;
mod injection;
mod judging;
mod leases;
mod loop_;
mod memory;
mod messages;
mod session;
mod simulation;
mod specification;
mod stage;
