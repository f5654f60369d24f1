//! The tools of an agent. The file tools run in this process and reach files only through a directory handle;
//! this crate knows neither models nor the store.

mod answer;
mod edit;
pub mod files;
mod glob;
mod grep;
mod list;
mod read;
mod replace;
mod seen;
pub mod skill;
mod think;
mod walk;
pub mod workspace;
mod write;
