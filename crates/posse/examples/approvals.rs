//! A program that decides about calls with an effect: `cargo run -p posse --example approvals`.
#![allow(clippy::print_stdout)]

use posse::ports::BoxFuture;
use posse::prelude::*;

/// Lets nobody send mail to the boss.
struct MailPolicy;

impl Approver for MailPolicy {
    fn approve<'a>(&'a self, call: posse::ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            println!("asked about: {} {}", call.tool, call.arguments);
            match call.arguments.contains("boss") {
                true => {
                    ApprovalDecision::Denied("mail to the boss is not allowed; write to the team".to_owned())
                }
                false => ApprovalDecision::Granted,
            }
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Mail {
    to: String,
}

#[tokio::main]
pub async fn main() -> posse::Result<()> {
    let send = tool("send_mail", "Sends a mail.", |Mail { to }| async move { Ok(format!("sent to {to}")) });
    let agent = Agent::new(model())?.tool(send).approval_handler(MailPolicy);
    println!("{}", agent.ask("Tell somebody that the build is green.").await?);
    Ok(())
}

/// Returns the model that `MODEL` names, or a script that needs no key.
fn model() -> String {
    let script = concat!("scripted:", env!("CARGO_MANIFEST_DIR"), "/examples/scripts/approvals.yaml");
    std::env::var("MODEL").unwrap_or_else(|_| script.to_owned())
}
