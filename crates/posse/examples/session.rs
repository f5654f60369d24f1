//! Tasks that a program spawns, side by side and within one budget: `cargo run -p posse --example session`.
#![allow(clippy::print_stdout)]

use posse::prelude::*;

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let session = Session::builder(model())?
        .agent("checker", "Checks texts.", "You check texts and answer in one sentence.")
        .max_concurrent(10)
        .start()
        .await?;
    let first = session.spawn("checker", "Good morning, all together!").await?;
    let second = session.spawn("checker", "Good evening!").await?;
    println!("{} is {}", first.id(), first.status().await?.state().wire());
    println!("{}", first.await?);
    println!("{}", second.await?);
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/session.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
