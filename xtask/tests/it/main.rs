//! The shape of the project: who may use whom, how long a function may be, which faults and which requirements have their
//! test, which names the documents and the types may use.

mod dependencies;
mod documents;
mod faults;
mod functions;
mod requirements;
mod rows;
mod threats;
mod unsafe_code;
mod voice;

use std::path::Path;

/// Where the workspace is.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace")
}
