//! The protocol's own conformance suite, on a server that the same layer serves as `posse mcp`.

mod conformance;
