//! Qwen Code, `.qwen/agents/*.md`.

use posse_core::definition::Approval;
use posse_core::grant::Access;

use super::{Need, *};

/// Reads the keys of this format.
pub fn apply(f: &mut Fields, d: &mut Definition) {
    description(f, d, Need::Required);
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
enum ApprovalMode {
    AsSession,
    Plan,
    Approval(Approval),
}

fn approval_mode(f: &mut Fields, d: &mut Definition, key: &'static str) {
    use ApprovalMode::{AsSession, Plan};
    let mode = f.word(
        key,
        &[
            ("default", AsSession, LocalizedText::default),
            ("plan", Plan, || "access: read-only".into()),
            ("auto-edit", AsSession, || localized!("into-approval-session")),
            ("acceptEdits", AsSession, || localized!("into-approval-session")),
            ("yolo", ApprovalMode::Approval(Approval::Auto), || localized!("into-approval-auto")),
            ("bypassPermissions", ApprovalMode::Approval(Approval::Auto), || {
                localized!("into-approval-auto")
            }),
            ("dontAsk", ApprovalMode::Approval(Approval::Deny), || localized!("into-approval-deny")),
            ("bubble", ApprovalMode::Approval(Approval::Ask), || "approval: ask".into()),
        ],
    );
    match mode {
        None | Some(AsSession) => {}
        Some(Plan) => d.rights.access = Access::ReadOnly,
        Some(ApprovalMode::Approval(approval)) => d.approval = Some(approval),
    }
}
