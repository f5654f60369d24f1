//! Posse as a server: the tools that delegate, for hosts that speak the protocol.
