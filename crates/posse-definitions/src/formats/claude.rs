//! Claude Code, `.claude/agents/**/*.md`.

use posse_core::definition::{ApprovalSetting, Isolation};
use posse_core::grant::AccessLevel;

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Required);
    tools(f, d, "tools", as_written);
    allowed_tools(f, d);
    denied(f, d, "disallowedTools", as_written);
    model(f, d, "model", model_names::any);
    effort(f, d, "effort");
    permission_mode(f, d);
    turns(f, d, "maxTurns");
    skills(f, d);
    mcp_servers(f, d, "mcpServers");
    background(f, d, "background");
    color(f, d);
    if f.word("isolation", &[("worktree", (), LocalizedText::default)]).is_some() {
        d.isolation = Isolation::Worktree;
    }
    d.mode.disabled = f.flag("disabled").unwrap_or_default();
    f.ignore("hooks", no_hooks);
    f.ignore("memory", no_memory);
    f.ignore("initialPrompt", || localized!("initial-prompt-unused"));
    f.ignore("omitClaudeMd", no_instructions);
}

/// Reads `allowedTools`: not a key of Claude Code, but in use, and meant to exclude other tools.
fn allowed_tools(f: &mut FieldReader, d: &mut Definition) {
    if d.rights.tools.is_some() {
        f.ignore("allowedTools", || localized!("tools-there"));
        return;
    }
    tools(f, d, "allowedTools", as_written);
    if let Some(patterns) = &d.rights.tools {
        f.mapped("allowedTools", format!("tools: {}", joined(patterns)));
        f.warn("allowedTools", localized!("allowed-tools-counts"));
    }
}

#[derive(Clone, Copy)]
enum PermissionMode {
    AsSession,
    Plan,
    Approval(ApprovalSetting),
}

fn permission_mode(f: &mut FieldReader, d: &mut Definition) {
    use PermissionMode::{AsSession, Plan};
    let mode = f.word(
        "permissionMode",
        &[
            ("default", AsSession, LocalizedText::default),
            ("manual", AsSession, LocalizedText::default),
            ("plan", Plan, || "access: read-only".into()),
            ("acceptEdits", AsSession, || localized!("into-approval-session")),
            ("auto", PermissionMode::Approval(ApprovalSetting::Auto), || localized!("into-approval-auto")),
            ("bypassPermissions", PermissionMode::Approval(ApprovalSetting::Auto), || {
                localized!("into-approval-auto")
            }),
            ("dontAsk", PermissionMode::Approval(ApprovalSetting::Deny), || localized!("into-approval-deny")),
        ],
    );
    match mode {
        None | Some(AsSession) => {}
        Some(Plan) => d.rights.access = AccessLevel::ReadOnly,
        Some(PermissionMode::Approval(approval)) => d.approval = Some(approval),
    }
}
