//! What tests of several members share: doubles of the ports, one conformance suite per port, a provider on the
//! loopback, and a server that wants that somebody signs in. Nothing here is part of the product.

#![forbid(unsafe_code)]

pub mod approval_suite;
pub mod context_suite;
pub mod guarded;
pub mod memory;
pub mod message_suite;
pub mod server;
pub mod store_suite;
pub mod wire;
