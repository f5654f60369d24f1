//! An answer as a Rust value: `cargo run -p posse --example typed_output`.
#![allow(clippy::print_stdout)]

use posse::prelude::*;

#[derive(Debug, Deserialize, JsonSchema)]
struct Release {
    version: String,
    /// One sentence for each change.
    changes: Vec<String>,
}

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let agent = Agent::new(model())?;
    let release: Release =
        agent.ask_as("Summarize: 1.4 fixes the login test and drops the old parser.").await?;
    println!("{}: {}", release.version, release.changes.join("; "));
    assert_eq!(release.changes.len(), 2);
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/typed_output.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
