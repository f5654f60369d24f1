//! What tests of several crates share. Nothing here is part of the product.

pub mod server;
pub mod wire;
