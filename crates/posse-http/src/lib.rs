//! The HTTP API: tasks, events, approvals and results of every process on the store, for programs and the dashboard.
//!
//! `ApiServer` listens. Each request passes the `door` (host, origin, token, scope, rate) before its route. Routes read the
//! store through `CatalogStore` and leave configuration, files and processes to a `ServeHost`. `EventHub` follows the
//! journals of all tasks for streams and for the present doing of each task.

#![forbid(unsafe_code)]

mod assets;
mod door;
pub mod export;
mod extract;
mod feed;
mod host;
mod openapi;
mod problem;
mod progress;
mod routes;
mod server;
mod state;
mod summary;
pub mod tokens;
pub mod web;
pub mod wire;

pub use host::ServeHost;
pub use openapi::document;
pub use server::{ApiServer, MountedHandler, ServerOptions, listen, tls};

/// Body of requests and responses of a mounted handler.
pub use axum::body::Body;
