//! The configuration files of a directory, and the values that count.

use std::path::{Path, PathBuf};

use posse_core::Result;
use posse_definitions::places::nearest_file;
use toml_edit::Item;

use crate::config::{ConfigScope, PROJECT_FILE};
use crate::config_defaults::usual_value;
use crate::config_edit::{ConfigEdit, not_set, parse_key};
use crate::keys;
use crate::process::ProcessContext;

/// The files that settings come from.
pub struct ConfigFiles {
    /// File of the user.
    pub user: PathBuf,
    /// File of this project, or where one would be.
    pub project: PathBuf,
}

/// A value with the file that it is in.
pub struct FoundValue {
    /// Full key.
    pub key: String,
    /// Value as TOML; a text without its quotes. Empty if no file sets it and it has no fixed default.
    pub value: String,
    /// Its file; `None` if the value is the default.
    pub file: Option<PathBuf>,
}

impl ConfigFiles {
    /// Finds the files of the current directory; `explicit` replaces the user's.
    pub fn find(process: &ProcessContext, explicit: Option<&Path>) -> Result<Self> {
        let here = (process.directory)()?;
        let (found, _) = nearest_file(PROJECT_FILE, &here, process.home().as_deref(), (process.user)());
        let user = match explicit {
            Some(path) => path.to_owned(),
            None => keys::user_config(process)?,
        };
        Ok(Self { user, project: found.unwrap_or_else(|| here.join(PROJECT_FILE)) })
    }

    /// Returns the file that a command changes.
    pub fn to_change(&self, project: bool) -> (&Path, ConfigScope) {
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

    /// Lists the values of all files, the user's first.
    pub fn values(&self) -> Result<Vec<FoundValue>> {
        let mut found = Vec::new();
        for (path, edit) in self.open()?.iter().rev() {
            let file = |(key, value)| FoundValue { key, value, file: Some(path.to_path_buf()) };
            found.extend(edit.values().into_iter().map(file));
        }
        Ok(found)
    }

    /// Returns the value that counts: of a limit the lower one, of an alias the user's, else the project's, else the
    /// default.
    pub fn value_of(&self, key: &str) -> Result<FoundValue> {
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
        let Some((path, item)) = found.first() else {
            let value = usual_value(key).ok_or_else(|| not_set(key))?;
            return Ok(FoundValue { key: key.to_owned(), value, file: None });
        };
        let value = match (item.as_str(), item.as_value()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(value)) => value.clone().decorated("", "").to_string(),
            (None, None) => item.to_string().trim().to_owned(),
        };
        Ok(FoundValue { key: key.to_owned(), value, file: Some(path.to_path_buf()) })
    }
}
