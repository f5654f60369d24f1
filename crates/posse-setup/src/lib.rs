//! Setup of Posse on a machine: configuration files, keys of providers, and sessions composed from them: grants,
//! models, tools, agents and MCP servers.
//!
//! All members meet here. The environment is a value ([`process::ProcessContext`]) that the binary fills.

#![forbid(unsafe_code)]

pub mod agents;
pub mod config;
pub mod config_defaults;
pub mod config_edit;
pub mod config_files;
pub mod doctor;
pub mod hosting;
pub mod keys;
pub mod mode;
pub mod models;
pub mod options;
pub mod process;
pub mod project;
pub mod provider;
pub mod retention;
pub mod setup;
pub mod spending;
pub mod tools;
pub mod worktrees;
