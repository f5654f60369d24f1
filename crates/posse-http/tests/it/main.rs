//! The API as a client sees it: a server on the loopback with a store in a file.

mod actions;
mod contract;
mod door;
mod streams;
mod support;
mod tasks;
