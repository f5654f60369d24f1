//! Text as the model writes it: `cargo run -p posse --example streaming`.
#![allow(clippy::print_stdout)]

use posse::prelude::*;

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let mut run = Agent::new(model())?.stream("Tell a short story.");
    while let Some(event) = run.next().await {
        match event? {
            StreamEvent::Text(text) => print!("{text}"),
            StreamEvent::Event(entry) => {
                if let Event::Replied { turn, .. } = entry.event {
                    println!("\n[turn {turn} is complete]");
                }
            }
            _ => {}
        }
    }
    let answer = run.finish().await?;
    println!("\n{} turns", answer.outcome().turns);
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/streaming.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
