//! Defaults of the settings, as a configuration file would spell them.

use posse_core::approval::DEADLINE_MS_USUAL;
use posse_core::lease;
use posse_core::limits::Limits;
use posse_runtime::session::DEFAULT_LIMITS;
use posse_sandbox::config::SandboxConfig;

use crate::config_edit::SETTINGS;
use crate::setup::DEPTH_MAX;

/// Returns the default of a setting: empty if it has no fixed one, `None` if there is no such setting.
pub fn usual_value(key: &str) -> Option<String> {
    if !SETTINGS.contains(&key) {
        return None;
    }
    let (limits, sandbox) = (Limits::default(), SandboxConfig::default());
    let text = match key {
        "on_unknown_model" => "fallback",
        "sandbox.tier" => "auto",
        "sandbox.network" => "none",
        "sandbox.top" => "open",
        "session.tools" => r#"["subagent", "shared_context"]"#,
        "session.on_limit" => "reject",
        "secrets.redact" => "true",
        "approvals.default" => "deny",
        "mcp.on_exit" => "hand-over",
        "ui.symbols" => "auto",
        "fallback_models" | "grant.allow" | "grant.deny" | "bash.env" | "network.allow_private" => "[]",
        "sandbox.read" | "sandbox.write" | "sandbox.unprotected" => "[]",
        "approvals.ask" | "approvals.allow" | "mcp.write" | "mcp.http_hosts" | "mcp.http_origins" => "[]",
        _ => "",
    };
    let number = match key {
        "limits.max_turns" => u64::from(limits.turns_max),
        "limits.max_tool_calls" => u64::from(limits.tool_calls_max),
        "limits.timeout_s" => limits.wall_ms_max / 1000,
        "limits.max_output_tokens" => u64::from(limits.output_tokens_per_call),
        "sandbox.memory_mib" => sandbox.memory_mib.0,
        "sandbox.file_mib" => sandbox.file_mib.0,
        "sandbox.processes" => sandbox.processes.0,
        "session.max_depth" => u64::from(DEPTH_MAX),
        "session.max_running" => DEFAULT_LIMITS.running_max as u64,
        "session.max_open_tasks" => DEFAULT_LIMITS.open_max as u64,
        "session.lease_s" => lease::SILENCE_MS_MAX / 1000,
        "approvals.deadline_s" => DEADLINE_MS_USUAL / 1000,
        _ => return Some(text.to_owned()),
    };
    Some(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, ConfigScope};
    use crate::config_edit::{ConfigEdit, parse_key, parse_value};

    #[test]
    fn every_default_can_be_set_and_unknown_names_have_none() {
        for key in SETTINGS {
            let value = usual_value(key).unwrap();
            if !value.is_empty() {
                let directory = tempfile::tempdir().unwrap();
                let mut edit =
                    ConfigEdit::open(&directory.path().join("config.toml"), ConfigScope::User).unwrap();
                edit.set(&parse_key(key).unwrap(), parse_value(&value)).unwrap();
                edit.save().unwrap_or_else(|e| panic!("{key} = {value}: {e}"));
            }
        }
        assert_eq!(usual_value("limits.max_trns"), None);
    }

    #[test]
    fn defaults_are_those_of_an_empty_configuration() {
        let empty = config::Config::default();
        assert!(empty.secrets.redact && empty.models.fallback_models.is_empty());
        let written = ["tier", "network", "top", "memory_mib", "file_mib", "processes"].map(|key| {
            let value = usual_value(&format!("sandbox.{key}")).unwrap();
            if value.parse::<u64>().is_ok() {
                format!("{key} = {value}\n")
            } else {
                format!("{key} = \"{value}\"\n")
            }
        });
        let parsed = toml::from_str::<SandboxConfig>(&written.concat()).unwrap();
        assert_eq!(parsed, empty.sandbox);
    }
}
