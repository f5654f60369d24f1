//! The real `posse` binary, used as a stranger uses it: a home, a workspace, a command line, and what comes back.

mod agents;
mod approvals;
mod bad_input;
mod context;
mod delegating;
mod delegation;
mod demo;
mod judging;
mod keys;
mod kill;
mod languages;
mod leases;
mod rates;
mod readme;
mod record;
mod review;
mod rights;
mod secrets;
mod stopping;
mod support;
mod tasks;
mod telemetry;
mod terminal;
mod wires;
mod worker;
mod worktrees;
