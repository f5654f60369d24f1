//! `posse init`: creates a configuration and an example agent. Overwrites nothing.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use serde_json::json;

use crate::args::GlobalArgs;
use crate::config::PROJECT_FILE;
use crate::terminal;

/// Path, content and purpose of each file.
const FILES: &[(&str, &str, &str)] = &[
    (PROJECT_FILE, include_str!("../../templates/posse.toml"), "project"),
    (".posse/agents/reviewer.md", include_str!("../../templates/reviewer.md"), "agent"),
];

pub fn run(global: &GlobalArgs) -> Result<ExitCode> {
    for (path, text, purpose) in FILES {
        let path = Path::new(path);
        let outcome = match write_new(path, text) {
            Ok(()) => "written",
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => "exists, left as it is",
            Err(e) => {
                return Err(Error::new(ErrorCode::Io, say!("cannot-be-written", path = path.display()))
                    .caused_by(e)
                    .hint(say!("check-writable-here")));
            }
        };
        if global.json {
            let value =
                json!({ "path": path.display().to_string(), "state": outcome, "purpose": said(purpose) });
            terminal::out(&value.to_string());
        } else {
            terminal::out(&format!("{:<28} {} · {}", path.display(), said(outcome), said(purpose)));
        }
    }
    terminal::note(&say!("seen-here"));
    terminal::note(&say!("init-next"));
    Ok(ExitCode::SUCCESS)
}

fn said(what: &str) -> String {
    match what {
        "project" => say!("init-project"),
        "agent" => say!("init-agent"),
        "written" => say!("init-written"),
        _ => say!("init-exists"),
    }
}

pub fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
