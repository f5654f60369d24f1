//! The protocol's conformance suite against the layer that serves `posse mcp`; and sampling tests.

mod conformance;
mod sampling;
