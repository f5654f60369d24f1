//! The Model Context Protocol both ways: [`server`] lets any host delegate to Posse's agents,
//! [`client`] lets Posse's agents use the tools of other servers.

pub mod client;
pub mod server;
