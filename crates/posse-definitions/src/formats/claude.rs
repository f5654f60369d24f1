//! Claude Code, `.claude/agents/**/*.md`.

use posse_core::definition::{Approval, Isolation};
use posse_core::grant::Access;

use super::{Need, *};

pub fn apply(f: &mut Fields, d: &mut Definition) {
    description(f, d, Need::Required);
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
    if f.word("isolation", &[("worktree", (), "")]).is_some() {
        d.isolation = Isolation::Worktree;
    }
    d.mode.disabled = f.flag("disabled").unwrap_or_default();
    f.ignore("hooks", NO_HOOKS);
    f.ignore("memory", NO_MEMORY);
    f.ignore("initialPrompt", "it is for the main conversation, not for a subagent");
    f.ignore("omitClaudeMd", "project instructions are not put before an agent's prompt");
}

/// Not a key of Claude Code, but in use: whoever wrote it meant to leave out other tools.
fn allowed_tools(f: &mut Fields, d: &mut Definition) {
    if d.rights.tools.is_some() {
        f.ignore("allowedTools", "there is `tools`");
        return;
    }
    tools(f, d, "allowedTools", as_written);
    if let Some(patterns) = &d.rights.tools {
        f.mapped("allowedTools", format!("tools: {}", joined(patterns)));
        f.warn(
            "allowedTools",
            "Claude Code calls this key `tools` and ignores `allowedTools`; here it counts",
        );
    }
}

#[derive(Clone, Copy)]
enum PermissionMode {
    AsSession,
    Plan,
    Approval(Approval),
}

fn permission_mode(f: &mut Fields, d: &mut Definition) {
    use PermissionMode::{AsSession, Plan};
    let mode = f.word(
        "permissionMode",
        &[
            ("default", AsSession, ""),
            ("manual", AsSession, ""),
            ("plan", Plan, "access: read-only"),
            ("acceptEdits", AsSession, "approval: as the session does; never more than the operator grants"),
            (
                "auto",
                PermissionMode::Approval(Approval::Auto),
                "approval: auto; never more than the operator grants",
            ),
            (
                "bypassPermissions",
                PermissionMode::Approval(Approval::Auto),
                "approval: auto; never more than the operator grants",
            ),
            (
                "dontAsk",
                PermissionMode::Approval(Approval::Deny),
                "approval: deny; what would be asked for is refused",
            ),
        ],
    );
    match mode {
        None | Some(AsSession) => {}
        Some(Plan) => d.rights.access = Access::ReadOnly,
        Some(PermissionMode::Approval(approval)) => d.approval = Some(approval),
    }
}
