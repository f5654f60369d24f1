//! `posse mcp install`: prints the entry of a host, or writes it.

use std::path::PathBuf;
use std::process::ExitCode;

use posse_core::Result;
use posse_mcp::hosts::{HostDirectories, HostEntry, HostName};
use posse_messages::say;
use serde_json::json;

use super::key::{self, KeyConsent};
use crate::args::GlobalArgs;
use crate::setup::process_env;
use crate::terminal;

pub fn run(global: &GlobalArgs, host: HostName, write: bool, consent: KeyConsent) -> Result<ExitCode> {
    let program = std::env::current_exe().unwrap_or_else(|_| "posse".into());
    let entry = HostEntry::new(host, &program.display().to_string(), &directories())?;
    let file = entry.file.display().to_string();
    if !write {
        terminal::note(&say!("mcp-install-where", host = host.as_str(), file));
        terminal::out(entry.whole().trim_end());
        terminal::note(&writes_nothing());
        return Ok(ExitCode::SUCCESS);
    }
    let changed = entry.install()?;
    let key = key::offer(global, consent)?;
    let key_file = key.as_ref().and_then(|key| Some(key.file.as_ref()?.display().to_string()));
    if let (Some(key), Some(file)) = (&key, &key_file) {
        terminal::note(&say!("mcp-key-stored", file, config = key.config.display()));
    }
    match (global.json, changed) {
        (true, _) => {
            terminal::out(&json!({ "file": file, "changed": changed, "key_file": key_file }).to_string());
        }
        (false, true) => {
            terminal::note(&say!("file-written", file));
            terminal::note(&writes_nothing());
        }
        (false, false) => terminal::note(&say!("mcp-install-there", file)),
    }
    Ok(ExitCode::SUCCESS)
}

fn directories() -> HostDirectories {
    let path = |name| process_env(name).map(PathBuf::from);
    HostDirectories { home: path("HOME"), codex: path("CODEX_HOME") }
}

/// Says that tasks of hosts may write nothing by default.
pub fn writes_nothing() -> String {
    say!("mcp-writes-nothing", advice = say!("mcp-writing-advice"))
}
