//! Stored keys of providers: one file per provider that only the user can read, named by the user's configuration.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_mcp::files::{replace_private, unwritable};
use posse_messages::say;
use toml_edit::{Key, Value};

use crate::config::ConfigScope;
use crate::config_edit::ConfigEdit;
use crate::process::ProcessContext;

/// A key to store, with the settings that it needs.
pub struct KeyEntry<'a> {
    pub provider: &'a str,
    /// Empty for a provider that needs none.
    pub key: &'a str,
    /// Default model to set.
    pub model: Option<&'a str>,
    /// Address that the key belongs to, if it is not the vendor's. Without it the key would go to the vendor.
    pub base_url: Option<&'a str>,
    /// Wire format of a provider that is not built in.
    pub wire: Option<&'a str>,
}

/// Files that a key was stored in.
pub struct StoredKey {
    /// `None` if there was no key to store.
    pub file: Option<PathBuf>,
    pub config: PathBuf,
}

/// Returns the file of a provider's key.
pub fn file_of(process: &ProcessContext, provider: &str) -> Result<PathBuf> {
    Ok(directory(process)?.join("keys").join(provider))
}

/// Returns the user's configuration file.
pub fn user_config(process: &ProcessContext) -> Result<PathBuf> {
    Ok(directory(process)?.join("config.toml"))
}

fn directory(process: &ProcessContext) -> Result<PathBuf> {
    process.config_dir().ok_or_else(|| Error::new(ErrorCode::Io, say!("no-config-directory")))
}

/// Stores a key in place of an earlier one, and names its file in the user's configuration.
pub fn store(process: &ProcessContext, entry: &KeyEntry<'_>) -> Result<StoredKey> {
    let (file, config) = (file_of(process, entry.provider)?, user_config(process)?);
    let mut edit = ConfigEdit::open(&config, ConfigScope::User)?;
    let mut set = |name: &str, value: Option<&str>| match value {
        Some(value) => edit.set(&["providers", entry.provider, name].map(Key::new), Value::from(value)),
        None => Ok(()),
    };
    set("wire", entry.wire)?;
    set("base_url", entry.base_url)?;
    let has_key = !entry.key.trim().is_empty();
    if has_key {
        let path = file.to_str().ok_or_else(|| unwritable(&file))?;
        set("api_key_file", Some(path))?;
    }
    if let Some(model) = entry.model {
        edit.set(&[Key::new("model")], Value::from(model))?;
    }
    if has_key {
        write_key(&file, entry.key)?;
    }
    edit.save()?;
    Ok(StoredKey { file: has_key.then_some(file), config })
}

fn write_key(file: &Path, key: &str) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let failed = |e: std::io::Error| unwritable(file).caused_by(e);
    let parent = file.parent().unwrap_or(file);
    std::fs::create_dir_all(parent.parent().unwrap_or(parent)).map_err(failed)?;
    match std::fs::DirBuilder::new().mode(0o700).create(parent) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    replace_private(file, &format!("{}\n", key.trim()))
}
