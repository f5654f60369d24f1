//! Qwen Code, `.qwen/agents/*.md`.

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Required);
    tools(f, d, "tools", as_written);
    denied(f, d, "disallowedTools", as_written);
    model(f, d, "model", model_names::any);
    permission_mode(f, d, "approvalMode", PERMISSION_MODES);
    permission_mode(f, d, "permissionMode", PERMISSION_MODES);
    turns(f, d, "maxTurns");
    if let Some(mut inner) = f.inner("runConfig") {
        turns(&mut inner, d, "max_turns");
        let minutes = inner.number("max_time_minutes", 0.01..=1_440.0);
        d.limits.wall_s = minutes.map(|minutes| (minutes * 60.0).ceil() as u64);
        f.merge_inner("runConfig", inner);
    }
    color(f, d);
    background(f, d, "background");
    mcp_servers(f, d, "mcpServers");
    f.ignore("hooks", || localized!("no-hooks"));
}

const PERMISSION_MODES: &[Word<PermissionMode>] = &[
    ("default", PermissionMode::AsSession, LocalizedText::default),
    ("plan", PermissionMode::Plan, || "access: read-only".into()),
    ("auto-edit", PermissionMode::AsSession, || localized!("into-approval-session")),
    ("acceptEdits", PermissionMode::AsSession, || localized!("into-approval-session")),
    ("yolo", FREE, || localized!("into-approval-auto")),
    ("bypassPermissions", FREE, || localized!("into-approval-auto")),
    ("dontAsk", REFUSING, || localized!("into-approval-deny")),
    ("bubble", PermissionMode::Approval(ApprovalSetting::Ask), || "approval: ask".into()),
];
