//! Forwards a task's questions to the person at the host by elicitation, if the host supports it. Never
//! required: the `subagent` tool answers every question, `posse approvals` every approval, and both have
//! their own deadline.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use posse_core::approval::{
    ApprovalAnswer, ApprovalScope, ApprovalVerdict, DecidedBy, ParkedCall, described,
};
use posse_core::text::head_and_tail;
use posse_messages::localized;
use posse_runtime::context::now_ms;
use posse_runtime::session::{HostSession, HostedTask};
use rmcp::RoleServer;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::service::{ElicitationMode, Peer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Time limit for an answer; a host without a person answers at once or never.
const ANSWER_WAIT: Duration = Duration::from_secs(120);
const SHOWN_BYTES_MAX: usize = 4_000;

/// Questions already asked; a declined question is not asked again.
#[derive(Default)]
pub struct AskedQuestions(HashSet<String>);

/// Returns whether the host supports form elicitation.
pub fn can_ask(peer: &Peer<RoleServer>) -> bool {
    peer.supported_elicitation_modes().contains(&ElicitationMode::Form)
}

impl AskedQuestions {
    /// Asks every open question in a task of its own.
    pub async fn ask(&mut self, peer: &Peer<RoleServer>, hosted: &Arc<HostSession>, tasks: &[HostedTask]) {
        for task in tasks.iter().filter(|task| task.status["question"].is_object()) {
            let question = &task.status["question"];
            if self.0.insert(format!("{}/{}", task.id, question["id"])) {
                tokio::spawn(question_of(
                    peer.clone(),
                    hosted.clone(),
                    task.id.short().to_owned(),
                    question.clone(),
                ));
            }
        }
        if !tasks.iter().any(|task| task.status["waiting_for_approval"].is_object()) {
            return;
        }
        for parked in hosted.open_approvals().await.unwrap_or_default() {
            if self.0.insert(format!("approval/{}", parked.id)) {
                tokio::spawn(approval(peer.clone(), hosted.clone(), parked));
            }
        }
    }
}

async fn question_of(peer: Peer<RoleServer>, hosted: Arc<HostSession>, task: String, question: Value) {
    let options = question["options"].as_array().filter(|options| !options.is_empty());
    let mut answer = json!({ "type": "string", "title": localized!("mcp-your-answer").to_string() });
    if let Some(options) = options {
        answer["enum"] = json!(options);
    }
    let text = question["text"].as_str().unwrap_or_default();
    let message = format!("{task}: {}", head_and_tail(text, SHOWN_BYTES_MAX));
    let Some(given) = elicit(&peer, message, "answer", answer).await else { return };
    let Some(given) = given.as_str() else { return };
    // The question may have timed out, and the task may ask another one by now.
    let asked = |now: &HostedTask| now.id.short() == task && now.status["question"]["id"] == question["id"];
    if !hosted.tasks().await.unwrap_or_default().iter().any(asked) {
        return;
    }
    let call = json!({ "action": "answer", "task_id": task, "answer": given }).to_string();
    hosted
        .call("subagent", &call, &format!("elicited/{task}/{}", question["id"]), CancellationToken::new())
        .await;
}

/// Asks for an approval. Only an explicit yes or no counts; a cancellation decides nothing.
async fn approval(peer: Peer<RoleServer>, hosted: Arc<HostSession>, parked: ParkedCall) {
    let message = described(&parked).join("\n");
    // A person must see the whole request to approve it; `posse approvals` shows long ones page by page.
    if message.len() > SHOWN_BYTES_MAX {
        return;
    }
    let choices = ["allow once", "allow in this task", "deny"];
    let decision =
        json!({ "type": "string", "enum": choices, "title": localized!("mcp-your-decision").to_string() });
    let Some(given) = elicit(&peer, message, "decision", decision).await else { return };
    let (verdict, scope) = match given.as_str() {
        Some("allow once") => (ApprovalVerdict::Approve, ApprovalScope::Once),
        Some("allow in this task") => (ApprovalVerdict::Approve, ApprovalScope::Task),
        Some("deny") => (ApprovalVerdict::Deny, ApprovalScope::Once),
        Some(_) | None => return,
    };
    let answer = ApprovalAnswer {
        scope,
        ..ApprovalAnswer::new(verdict, DecidedBy::Person("host".to_owned()), now_ms())
    };
    // Another answer may have come first.
    let _ = hosted.answer_approval(&parked, answer).await;
}

async fn elicit(peer: &Peer<RoleServer>, message: String, key: &str, schema: Value) -> Option<Value> {
    let schema = json!({ "type": "object", "properties": { key: schema }, "required": [key] });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    let request = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    let answered = peer.create_elicitation_with_timeout(request, Some(ANSWER_WAIT)).await.ok()?;
    match answered {
        ElicitResult { action: ElicitationAction::Accept, content, .. } => Some(content?[key].clone()),
        _ => None,
    }
}
