//! `posse config`: read and change settings. Changes keep comments, and are written only if they can be loaded.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, ExitCode};

use posse_core::{Error, ErrorCode, Result};
use posse_mcp::files::{replace, unwritable};
use posse_messages::say;
use posse_setup::config_files::{ConfigFiles, FoundValue};
use serde_json::json;

use crate::args::{ConfigCommand, GlobalArgs};
use crate::config::{self, ConfigScope};
use crate::config_edit::{ConfigEdit, not_set, parse_key, parse_value, refuse_secret};
use crate::setup::PROCESS;
use crate::setup::process_env;
use crate::terminal;

pub fn run(global: &GlobalArgs, command: ConfigCommand) -> Result<ExitCode> {
    let files = ConfigFiles::find(&PROCESS, global.config.as_deref())?;
    match command {
        ConfigCommand::Path => show_files(&files, global.json),
        ConfigCommand::List => {
            for found in files.values()? {
                let FoundValue { key, value, file } = &found;
                let file = file.as_deref().unwrap_or(Path::new("")).display();
                show_value(&found, global.json, &format!("{key} = {value}   ({file})"));
            }
        }
        ConfigCommand::Get { key } => {
            let found = files.value_of(&key)?;
            match (&found.file, found.value.is_empty()) {
                (None, true) => terminal::note(&say!("config-no-default", key)),
                (None, false) => terminal::note(&say!("config-default", key)),
                (Some(_), _) => {}
            }
            if global.json || found.file.is_some() || !found.value.is_empty() {
                show_value(&found, global.json, &found.value);
            }
        }
        ConfigCommand::Set { key, value, project } => {
            let parsed = parse_key(&key)?;
            refuse_secret(&parsed, &value)?;
            let (path, scope) = files.to_change(project);
            let mut edit = ConfigEdit::open(path, scope)?;
            edit.set(&parsed, parse_value(&value))?;
            edit.save().map_err(|e| with_suggestion(e, &key))?;
            terminal::note(&say!("config-changed", key, file = path.display()));
        }
        ConfigCommand::Unset { key, project } => {
            let (path, scope) = files.to_change(project);
            let mut edit = ConfigEdit::open(path, scope)?;
            if !edit.unset(&parse_key(&key)?) {
                return Err(not_set(&key));
            }
            edit.save()?;
            terminal::note(&say!("config-changed", key, file = path.display()));
        }
        ConfigCommand::Edit { project } => {
            let (path, scope) = files.to_change(project);
            edit_by_hand(path, scope)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn with_suggestion(e: Error, key: &str) -> Error {
    match not_set(key).advice() {
        // The full key is more than the name that the loader suggests.
        Some(hint) if e.message().contains("unknown field") => e.hint(hint.to_owned()),
        _ => e,
    }
}

fn show_files(files: &ConfigFiles, json: bool) {
    for (scope, path) in [("user", &files.user), ("project", &files.project)] {
        let exists = path.exists();
        let state = if exists { String::new() } else { format!(" {}", say!("config-absent")) };
        let value = json!({ "scope": scope, "path": path.display().to_string(), "exists": exists });
        terminal::show(json, &format!("{}{state}", path.display()), &value);
    }
}

fn show_value(FoundValue { key, value, file }: &FoundValue, json: bool, text: &str) {
    let value = (file.is_some() || !value.is_empty()).then_some(value);
    let file = file.as_ref().map(|file| file.display().to_string());
    let shown = json!({ "key": key, "value": value, "file": file });
    terminal::show(json, text, &shown);
}

/// Refuses an editor that paints the terminal where there is none. Others, such as `code --wait`, need no terminal.
fn refuse_without_terminal(program: &str) -> Result<()> {
    const PAINTERS: &[&str] = &[
        "vi", "vim", "nvim", "nano", "pico", "emacs", "micro", "hx", "helix", "joe", "mg", "ne", "kak",
        "mcedit",
    ];
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_terminal || !PAINTERS.contains(&name) {
        return Ok(());
    }
    let e = Error::new(ErrorCode::InvalidRequest, say!("config-edit-no-terminal", editor = program));
    Err(e.hint(say!("config-edit-no-terminal-hint")))
}

/// Opens a copy in the user's editor, and takes it over if it can be loaded.
fn edit_by_hand(path: &Path, scope: ConfigScope) -> Result<()> {
    let editor = process_env("VISUAL").or_else(|| process_env("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // Editors are named with flags, as in `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    refuse_without_terminal(program)?;
    let failed = |e: std::io::Error| unwritable(path).caused_by(e);
    let before = if path.exists() { std::fs::read_to_string(path).map_err(failed)? } else { String::new() };
    let copy = tempfile::Builder::new().prefix("posse-").suffix(".toml").tempfile().map_err(failed)?;
    std::fs::write(copy.path(), &before).map_err(failed)?;
    let status = Command::new(program).args(words).arg(copy.path()).status();
    let started = status.map_err(|e| {
        let error = Error::new(ErrorCode::Io, say!("config-editor-failed", editor = program));
        error.caused_by(e).hint(say!("config-editor-hint"))
    })?;
    if !started.success() {
        return Err(Error::new(ErrorCode::Io, say!("config-editor-failed", editor = program)));
    }
    let after = std::fs::read_to_string(copy.path()).map_err(failed)?;
    if after == before {
        terminal::note(&say!("config-unchanged", file = path.display()));
        return Ok(());
    }
    if let Err(e) = config::check(path, &after, scope) {
        let kept = copy.keep().map_err(|e| failed(e.error))?.1;
        return Err(e.hint(say!("config-edit-kept", file = kept.display())));
    }
    replace(path, &after)?;
    terminal::note(&say!("file-written", file = path.display()));
    Ok(())
}
