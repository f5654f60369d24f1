//! OpenHands, `.agents/agents/*.md` and `.openhands/agents/*.md`.

use posse_core::definition::ApprovalSetting;

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Optional);
    model(f, d, "model", model_names::any);
    tools(f, d, "tools", spelling);
    d.approval = f.word(
        "permission_mode",
        &[
            ("always_confirm", ApprovalSetting::Ask, || "approval: ask".into()),
            ("never_confirm", ApprovalSetting::Auto, || localized!("into-approval-auto")),
            ("confirm_risky", ApprovalSetting::Ask, || localized!("into-approval-risky")),
        ],
    );
    turns(f, d, "max_iteration_per_run");
    if let Some(usd) = f.number("max_budget_per_run", 0.0..=USD_MAX) {
        d.limits.cost_micros = Some(usd_to_micros(usd));
        f.mapped("max_budget_per_run", localized!("at-most-usd", usd));
    }
    color(f, d);
    skills(f, d);
    mcp_servers(f, d, "mcp_servers");
    mcp_servers(f, d, "mcp_config");
    f.ignore("hooks", || localized!("no-hooks"));
    f.ignore("condenser", || localized!("run-shortens"));
    f.ignore("profile_store_dir", || localized!("vendors-own"));
}

/// Translates an entry: `TerminalTool`, `terminal`, `file_editor`.
fn spelling(entry: &str) -> Vec<String> {
    let plain = entry.to_ascii_lowercase().replace('_', "");
    match plain.strip_suffix("tool").unwrap_or(&plain) {
        "fileeditor" => ["read", "ls", "edit", "write"].map(str::to_owned).to_vec(),
        "bash" | "terminal" => vec!["bash".to_owned()],
        short @ ("grep" | "glob") => vec![short.to_owned()],
        _ => as_written(entry),
    }
}
