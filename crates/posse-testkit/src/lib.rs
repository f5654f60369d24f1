//! What tests of several members share: doubles of the ports and one conformance suite per port.

pub mod memory;
pub mod store_suite;
