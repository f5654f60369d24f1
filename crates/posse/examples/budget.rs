//! A run that may cost only so much, with its work so far: `cargo run -p posse --example budget`.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use posse::ErrorCode;
use posse::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Page {
    number: u32,
}

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let read =
        tool("read_page", "Reads a page.", |Page { number }| async move { Ok(format!("page {number}")) });
    let agent = Agent::new(model())?
        .tool(read.read_only())
        .budget_usd(0.05)
        .max_turns(2)
        .timeout(Duration::from_secs(60));
    match agent.ask("Read the whole book.").await {
        Ok(answer) => println!("{answer}"),
        Err(e) if e.code() == ErrorCode::TaskIncomplete => {
            let outcome = e.outcome().expect("a run that stopped early has an outcome");
            println!("{} after {} turns: {}", outcome.status().wire(), outcome.turns, outcome.text);
        }
        Err(e) => return Err(e),
    }
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/budget.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
