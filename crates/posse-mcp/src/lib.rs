//! The Model Context Protocol both ways: [`server`] lets any host delegate to Posse's agents,
//! [`client`] lets Posse's agents use the tools of other servers. [`registry`] finds and starts
//! those servers. [`hosts`] knows where each host is configured.

#![forbid(unsafe_code)]

pub mod client;
pub mod files;
pub mod hosts;
pub mod registry;
pub mod server;
