//! `posse init`: creates a configuration and an example agent. Overwrites nothing.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use posse_core::Result;
use posse_mcp::files::unwritable;
use posse_messages::say;
use serde_json::json;

use crate::args::GlobalArgs;
use crate::config::PROJECT_FILE;
use crate::terminal;

pub fn run(global: &GlobalArgs) -> Result<ExitCode> {
    let (config, agent) =
        (include_str!("../../templates/posse.toml"), include_str!("../../templates/reviewer.md"));
    for (path, text, purpose) in [
        (PROJECT_FILE, config, say!("init-project")),
        (".posse/agents/reviewer.md", agent, say!("init-agent")),
    ] {
        let (state, said) = match write_new(Path::new(path), text) {
            Ok(()) => ("written", say!("init-written")),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                ("exists, left as it is", say!("init-exists"))
            }
            Err(e) => {
                return Err(unwritable(Path::new(path)).caused_by(e).hint(say!("check-writable-here")));
            }
        };
        let value = json!({ "path": path, "state": state, "purpose": purpose });
        terminal::show(global.json, &format!("{path:<28} {said} · {purpose}"), &value);
    }
    terminal::note(&say!("seen-here"));
    terminal::note(&say!("init-next"));
    Ok(ExitCode::SUCCESS)
}

pub fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
