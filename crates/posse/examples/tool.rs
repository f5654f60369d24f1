//! An agent with a tool made of a closure: `cargo run -p posse --example tool`.
#![allow(clippy::print_stdout)]

use posse::prelude::*;

/// Arguments of the tool. The model sees the doc comments.
#[derive(Deserialize, JsonSchema)]
struct Add {
    /// First summand.
    a: i64,
    /// Second summand.
    b: i64,
}

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let answer = Agent::new(model())?
        .system("You are a calculator.")
        .tool(tool("add", "Add two integers.", |Add { a, b }| async move { Ok(a + b) }))
        .ask("What is 2 + 40?")
        .await?;
    println!("{answer}");
    assert!(answer.text().contains("42"));
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/tool.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
