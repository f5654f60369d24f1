//! Asks one question: `cargo run -p posse --example hello`.
#![allow(clippy::print_stdout)]

use posse::prelude::*;

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let answer = Agent::new(model())?.ask("Who are you?").await?;
    println!("{answer}");
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/hello.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
