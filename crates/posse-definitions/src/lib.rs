//! Agent definitions: reads agent files of any supported format.
//!
//! `read` turns one file into definitions in a common form, with a report of every key. `places` knows where
//! files are, `registry` which of them count and in which version, `trust` which of them may run.

#![forbid(unsafe_code)]

pub mod builtin;
pub mod export;
mod fields;
mod formats;
mod frontmatter;
pub mod inspect;
pub mod lazy;
mod matter;
mod model_names;
mod names;
mod node;
pub mod places;
pub mod read;
pub mod registry;
pub mod schema;
pub mod trust;
pub mod watch;

pub use export::{ExportedFile, export};
pub use matter::matter;
pub use read::{DefinitionFile, read};
