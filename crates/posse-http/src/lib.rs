//! The HTTP API: tasks, events, approvals and results of every process on the store, for programs and the dashboard.

#![forbid(unsafe_code)]

pub mod web;
pub mod wire;
