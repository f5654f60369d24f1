//! The ports, the driver and the task manager of Posse.
//!
//! Knows no provider, no database and no protocol: they come in through the ports.

#![forbid(unsafe_code)]

pub mod budget;
pub mod context;
pub mod delegation;
pub mod driver;
pub mod follow;
mod images;
pub mod inbox;
mod journal;
pub mod leases;
pub mod lines;
pub mod liveness;
pub mod lookup;
pub mod memory;
pub mod observe;
mod panics;
pub mod ports;
pub mod resolve;
mod schema;
pub mod session;
pub mod toolbox;
pub mod worker;
