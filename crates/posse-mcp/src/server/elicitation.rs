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
use posse_runtime::delegation::TaskReport;
use posse_runtime::ports::ParentQuestion;
use posse_runtime::session::HostSession;
use rmcp::RoleServer;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::service::{ElicitationMode, Peer};
use serde_json::{Value, json};

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
    pub async fn ask(&mut self, peer: &Peer<RoleServer>, hosted: &Arc<HostSession>, tasks: &[TaskReport]) {
        for task in tasks {
            let Some(question) = question(task) else { continue };
            if self.0.insert(format!("{}/{}", task.id, question.id)) {
                tokio::spawn(forward(
                    peer.clone(),
                    hosted.clone(),
                    task.id.short().to_owned(),
                    question.clone(),
                ));
            }
        }
        if !tasks.iter().any(|task| task.running().is_some_and(|running| running.approval.is_some())) {
            return;
        }
        for parked in hosted.open_approvals().await.unwrap_or_default() {
            if self.0.insert(format!("approval/{}", parked.id)) {
                tokio::spawn(approval(peer.clone(), hosted.clone(), parked));
            }
        }
    }
}

fn question(task: &TaskReport) -> Option<&ParentQuestion> {
    task.running()?.question.as_ref()
}

/// Forwards a question to the person at the host, and the answer to the task.
async fn forward(peer: Peer<RoleServer>, hosted: Arc<HostSession>, task: String, asked: ParentQuestion) {
    let mut answer = json!({ "type": "string", "title": localized!("mcp-your-answer").to_string() });
    if !asked.options.is_empty() {
        answer["enum"] = json!(asked.options);
    }
    let message = format!("{task}: {}", head_and_tail(&asked.text, SHOWN_BYTES_MAX));
    let Some(given) = elicit(&peer, message, "answer", answer).await else { return };
    let Some(given) = given.as_str() else { return };
    // The question may have timed out, and the task may ask another one by now.
    let is_open = |now: &TaskReport| {
        now.id.short() == task && question(now).is_some_and(|question| question.id == asked.id)
    };
    if !hosted.tasks().await.unwrap_or_default().iter().any(is_open) {
        return;
    }
    if let Ok(delegation) = hosted.delegation().await {
        // Another answer may have come first.
        let key = format!("elicited/{task}/{}", asked.id);
        let _ = delegation.answer(&task, given.to_owned(), &key).await;
    }
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
