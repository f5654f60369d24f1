//! Qwen Code, `.qwen/agents/*.md`.

use posse_core::definition::ApprovalSetting;
use posse_core::grant::AccessLevel;

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Required);
    tools(f, d, "tools", as_written);
    denied(f, d, "disallowedTools", as_written);
    model(f, d, "model", model_names::any);
    approval_mode(f, d, "approvalMode");
    approval_mode(f, d, "permissionMode");
    turns(f, d, "maxTurns");
    if let Some(mut inner) = f.inner("runConfig") {
        turns(&mut inner, d, "max_turns");
        let minutes = inner.number("max_time_minutes", 0.01..=1_440.0);
        d.limits.wall_s = minutes.map(|minutes| (minutes * 60.0).ceil() as u64);
        f.give_back("runConfig", inner);
    }
    color(f, d);
    background(f, d, "background");
    mcp_servers(f, d, "mcpServers");
    f.ignore("hooks", no_hooks);
}

#[derive(Clone, Copy)]
enum QwenApproval {
    AsSession,
    Plan,
    Approval(ApprovalSetting),
}

fn approval_mode(f: &mut FieldReader, d: &mut Definition, key: &'static str) {
    use QwenApproval::{AsSession, Plan};
    let mode = f.word(
        key,
        &[
            ("default", AsSession, LocalizedText::default),
            ("plan", Plan, || "access: read-only".into()),
            ("auto-edit", AsSession, || localized!("into-approval-session")),
            ("acceptEdits", AsSession, || localized!("into-approval-session")),
            ("yolo", QwenApproval::Approval(ApprovalSetting::Auto), || localized!("into-approval-auto")),
            ("bypassPermissions", QwenApproval::Approval(ApprovalSetting::Auto), || {
                localized!("into-approval-auto")
            }),
            ("dontAsk", QwenApproval::Approval(ApprovalSetting::Deny), || localized!("into-approval-deny")),
            ("bubble", QwenApproval::Approval(ApprovalSetting::Ask), || "approval: ask".into()),
        ],
    );
    match mode {
        None | Some(AsSession) => {}
        Some(Plan) => d.rights.access = AccessLevel::ReadOnly,
        Some(QwenApproval::Approval(approval)) => d.approval = Some(approval),
    }
}
