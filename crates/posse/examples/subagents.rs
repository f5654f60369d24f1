//! An agent with two specialists, which work side by side: `cargo run -p posse --example subagents`.
#![allow(clippy::print_stdout)]

use posse::prelude::*;

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let lead = Agent::new(model("lead"))?
        .system("Let your specialists look, then answer in one sentence.")
        .tools(posse::tools::files(env!("CARGO_MANIFEST_DIR"))?)
        .subagent(
            SubAgent::on(model("researcher"))?
                .name("researcher")
                .description("Finds things out about this directory.")
                .tools_allow(["ls", "read", "grep"])
                .max_turns(20),
        )
        .subagent(
            SubAgent::on(model("writer"))?
                .name("writer")
                .description("Writes short texts.")
                .max_tokens(1_024),
        );
    println!("{}", lead.ask("What is this directory, in a line?").await?);
    Ok(())
}

/// Returns the model that `MODEL` names, or a role of a script that needs no key.
fn model(role: &str) -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/subagents.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| format!("{script}#{role}"))
}
