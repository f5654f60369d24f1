//! Codex roles, `.codex/agents/**/*.toml`. Codex ignores `sandbox_mode` in a role; here it restricts access.

use posse_core::definition::ApprovalSetting;
use posse_core::grant::AccessLevel;

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Required);
    match f.text("developer_instructions") {
        Some(text) if !text.trim().is_empty() => {
            d.prompt = text.trim().to_owned();
            f.mapped("developer_instructions", localized!("into-prompt"));
        }
        _ => f.fail("developer_instructions", localized!("instructions-missing"), None),
    }
    provider_and_model(f, d);
    effort(f, d, "model_reasoning_effort");
    let access = f.word(
        "sandbox_mode",
        &[
            ("read-only", AccessLevel::ReadOnly, || "access: read-only".into()),
            ("workspace-write", AccessLevel::Whole, || localized!("into-access-workspace")),
            ("danger-full-access", AccessLevel::Whole, || localized!("into-access-bounded")),
        ],
    );
    d.rights.access = access.unwrap_or_default();
    d.approval = f.word(
        "approval_policy",
        &[
            ("never", ApprovalSetting::Deny, || localized!("into-approval-deny")),
            ("on-request", ApprovalSetting::Ask, || "approval: ask".into()),
            ("on-failure", ApprovalSetting::Ask, || "approval: ask".into()),
            ("untrusted", ApprovalSetting::Ask, || "approval: ask".into()),
        ],
    );
    mcp_servers(f, d, "mcp_servers");
    f.ignore("nickname_candidates", || localized!("tasks-have-numbers"));
    f.ignore("sandbox_workspace_write", || localized!("no-own-sandbox"));
    f.ignore("features", || localized!("features-unused"));
    f.ignore("skills", || localized!("no-skills-beforehand"));
    for key in ["model_reasoning_summary", "model_verbosity", "personality", "service_tier"] {
        f.ignore(key, || localized!("no-provider-takes-it"));
    }
    f.ignore("web_search", || localized!("no-web-search"));
}

/// Reads the model and `model_provider`, which defaults to OpenAI.
fn provider_and_model(f: &mut FieldReader, d: &mut Definition) {
    model(f, d, "model", model_names::codex);
    let Some(provider) = f.text("model_provider") else { return };
    match d.model.candidates.first_mut() {
        Some(reference) if provider != "openai" => {
            let bare = reference.rsplit(':').next().unwrap_or(reference).to_owned();
            *reference = format!("{}:{bare}", provider.trim());
            let shown = reference.escape_debug().to_string();
            f.mapped("model_provider", shown.clone());
            f.mapped("model", shown);
        }
        Some(_) => {}
        None => f.unused("model_provider", localized!("no-model-there")),
    }
}
