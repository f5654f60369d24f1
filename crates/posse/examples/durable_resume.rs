//! A run that survives its process: `cargo run -p posse --example durable_resume`.
//!
//! Kill it while it waits, and start it again: it continues, and the order is not placed twice.
#![allow(clippy::print_stdout)]

use posse::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Order {
    item: String,
}

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let order =
        tool("order", "Places an order.", |Order { item }| async move { Ok(format!("ordered: {item}")) });
    let state = std::env::temp_dir().join("posse-durable-resume");
    let agent = Agent::new(model())?.tool(order).store(&state);
    for run in agent.interrupted().await? {
        println!("continuing {run}");
        println!("{}", agent.resume(run).await?);
    }
    println!("{}", agent.ask("Order two apples, then tell me when they come.").await?);
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/durable_resume.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
