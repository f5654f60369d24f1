//! `posse config`: read and change settings. Changes keep comments, and are written only if they can be loaded.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use posse_core::{Error, ErrorCode, Result};
use posse_definitions::places::nearest_file;
use posse_mcp::files::{replace, unwritable};
use posse_messages::say;
use serde_json::json;
use toml_edit::Item;

use crate::args::{ConfigCommand, GlobalArgs};
use crate::config::{self, ConfigScope, PROJECT_FILE};
use crate::config_edit::{ConfigEdit, not_set, parse_key, parse_value, refuse_secret};
use crate::setup::process_env;
use crate::setup::{PROCESS, home, user};
use crate::{keys, terminal};

pub fn run(global: &GlobalArgs, command: ConfigCommand) -> Result<ExitCode> {
    let files = ConfigFiles::find(global)?;
    match command {
        ConfigCommand::Path => files.show(global.json),
        ConfigCommand::List => files.list(global.json)?,
        ConfigCommand::Get { key } => files.get(global.json, &key)?,
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
        Some(hint) if e.advice().is_none() && e.message().contains("unknown field") => {
            e.hint(hint.to_owned())
        }
        _ => e,
    }
}

/// The files that settings come from.
struct ConfigFiles {
    user: PathBuf,
    /// File of this project, or where one would be.
    project: PathBuf,
}

impl ConfigFiles {
    fn find(global: &GlobalArgs) -> Result<Self> {
        let here = std::env::current_dir()
            .map_err(|e| Error::new(ErrorCode::Io, say!("directory-unreadable")).caused_by(e))?;
        let (found, _) = nearest_file(PROJECT_FILE, &here, home().as_deref(), user());
        let user = match &global.config {
            Some(path) => path.clone(),
            None => keys::user_config(&PROCESS)?,
        };
        Ok(Self { user, project: found.unwrap_or_else(|| here.join(PROJECT_FILE)) })
    }

    /// Returns the file that a command changes.
    fn to_change(&self, project: bool) -> (&Path, ConfigScope) {
        match project {
            true => (&self.project, ConfigScope::Project),
            false => (&self.user, ConfigScope::User),
        }
    }

    /// Opens the files that exist, the one that usually wins first.
    fn open(&self) -> Result<Vec<(&Path, ConfigEdit)>> {
        let both = [(&self.project, ConfigScope::Project), (&self.user, ConfigScope::User)];
        let there = both.into_iter().filter(|(path, _)| path.exists());
        there.map(|(path, scope)| Ok((path.as_path(), ConfigEdit::open(path, scope)?))).collect()
    }

    fn show(&self, json: bool) {
        for (scope, path) in [("user", &self.user), ("project", &self.project)] {
            let exists = path.exists();
            let state = if exists { String::new() } else { format!(" {}", say!("config-absent")) };
            let value = json!({ "scope": scope, "path": path.display().to_string(), "exists": exists });
            terminal::show(json, &format!("{}{state}", path.display()), &value);
        }
    }

    fn list(&self, json: bool) -> Result<()> {
        for (path, edit) in self.open()?.iter().rev() {
            for (key, value) in edit.values() {
                let shown = json!({ "key": key, "value": value, "file": path.display().to_string() });
                terminal::show(json, &format!("{key} = {value}   ({})", path.display()), &shown);
            }
        }
        Ok(())
    }

    /// Prints the value that counts: of a limit the lower one, of an alias the user's, else the project's.
    fn get(&self, json: bool, key: &str) -> Result<()> {
        let parsed = parse_key(key)?;
        let files = self.open()?;
        let mut found: Vec<(&Path, &Item)> =
            files.iter().filter_map(|(path, edit)| Some((*path, edit.get(&parsed)?))).collect();
        let number = |item: &Item| item.as_integer().map(|n| n as f64).or_else(|| item.as_float());
        if key.starts_with("limits.") && key != "limits.context_window" {
            found.sort_by(|a, b| number(a.1).unwrap_or(0.0).total_cmp(&number(b.1).unwrap_or(0.0)));
        } else if key.starts_with("aliases.") {
            found.reverse();
        }
        let Some((path, item)) = found.first() else { return Err(not_set(key)) };
        let shown = match (item.as_str(), item.as_value()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(value)) => value.clone().decorated("", "").to_string(),
            (None, None) => item.to_string().trim().to_owned(),
        };
        let value = json!({ "key": key, "value": shown, "file": path.display().to_string() });
        terminal::show(json, &shown, &value);
        Ok(())
    }
}

/// Opens a copy in the user's editor, and takes it over if it can be loaded.
fn edit_by_hand(path: &Path, scope: ConfigScope) -> Result<()> {
    let editor = process_env("VISUAL").or_else(|| process_env("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let failed = |e: std::io::Error| unwritable(path).caused_by(e);
    let before = if path.exists() { std::fs::read_to_string(path).map_err(failed)? } else { String::new() };
    let copy = tempfile::Builder::new().prefix("posse-").suffix(".toml").tempfile().map_err(failed)?;
    std::fs::write(copy.path(), &before).map_err(failed)?;
    // Editors are named with flags, as in `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
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
