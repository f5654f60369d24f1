//! `posse init`: a configuration to edit and an agent to look at. Nothing that exists is overwritten.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use posse_core::{Error, ErrorCode, Result};
use serde_json::json;

use crate::args::Global;
use crate::config::PROJECT_FILE;
use crate::terminal;

/// Path, content, and what it is good for.
const FILES: &[(&str, &str, &str)] = &[
    (PROJECT_FILE, include_str!("../../templates/posse.toml"), "read by every posse command in this project"),
    (
        ".posse/agents/reviewer.md",
        include_str!("../../templates/reviewer.md"),
        "an agent to try: posse run --agent reviewer \"…\"",
    ),
];

pub fn run(global: &Global) -> Result<ExitCode> {
    for (path, text, purpose) in FILES {
        let path = Path::new(path);
        let outcome = match write_new(path, text) {
            Ok(()) => "written",
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => "exists, left as it is",
            Err(e) => {
                return Err(Error::new(ErrorCode::Io, format!("{} cannot be written", path.display()))
                    .caused_by(e)
                    .hint("check that you may write here and that the disk has room"));
            }
        };
        if global.json {
            let value = json!({ "path": path.display().to_string(), "state": outcome, "purpose": purpose });
            terminal::out(&value.to_string());
        } else {
            terminal::out(&format!("{:<28} {outcome} · {purpose}", path.display()));
        }
    }
    terminal::note("seen by posse in this directory and below");
    terminal::note(
        "next: posse doctor, read the agent and let it run with `posse trust`, then posse run \"…\"",
    );
    Ok(ExitCode::SUCCESS)
}

pub fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
