//! The protocol's own conformance suite, on a server that the same layer serves as `posse mcp`; and models that hosts lend.

mod conformance;
mod sampling;
