//! Claude Code, `.claude/agents/**/*.md`.

use posse_core::definition::Isolation;

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Required);
    tools(f, d, "tools", as_written);
    allowed_tools(f, d);
    denied(f, d, "disallowedTools", as_written);
    model(f, d, "model", model_names::any);
    effort(f, d, "effort");
    permission_mode(f, d, "permissionMode", PERMISSION_MODES);
    turns(f, d, "maxTurns");
    skills(f, d);
    mcp_servers(f, d, "mcpServers");
    background(f, d, "background");
    color(f, d);
    if f.plain_word("isolation", &[("worktree", ())]).is_some() {
        d.mode.isolation = Isolation::Worktree;
    }
    d.mode.disabled = f.flag("disabled").unwrap_or_default();
    f.ignore("hooks", || localized!("no-hooks"));
    f.ignore("memory", || localized!("no-memory"));
    f.ignore("initialPrompt", || localized!("initial-prompt-unused"));
    f.ignore("omitClaudeMd", || localized!("project-instructions-unused"));
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

const PERMISSION_MODES: &[Word<PermissionMode>] = &[
    ("default", PermissionMode::AsSession, LocalizedText::default),
    ("manual", PermissionMode::AsSession, LocalizedText::default),
    ("plan", PermissionMode::Plan, || "access: read-only".into()),
    ("acceptEdits", PermissionMode::AsSession, || localized!("into-approval-session")),
    ("auto", FREE, || localized!("into-approval-auto")),
    ("bypassPermissions", FREE, || localized!("into-approval-auto")),
    ("dontAsk", REFUSING, || localized!("into-approval-deny")),
];
