//! The catalogue against itself and against the sources that use it.

mod catalogue;
mod languages;
mod sources;
