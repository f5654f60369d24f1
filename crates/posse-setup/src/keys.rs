//! Stored keys of providers: one file per provider that only the user can read, named by the user's configuration.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::{Error, ErrorCode, Result};
use posse_mcp::files::{replace_private, unwritable};
use posse_mcp::server::ConnectedHosts;
use posse_messages::say;
use posse_models::catalogue::ModelRef;
use posse_models::providers::{EnvLookup, KNOWN, RecordingMode};
use posse_runtime::ports::ModelResolver;
use toml_edit::{Key, Value};

use crate::config::{Config, ConfigScope};
use crate::config_edit::ConfigEdit;
use crate::models;
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

/// A key in the environment that a server started by a host would lack.
pub struct MissingKey {
    /// Its provider.
    pub provider: String,
    /// The variable that holds it.
    pub variable: String,
    /// The model, if it too is named only by a variable that the server would lack.
    pub model: Option<String>,
    /// The base URL, if it is named only by a variable that the server would lack.
    pub base_url: Option<String>,
}

/// Finds the missing key; `None` if a server has what it needs, or if no key is set here either.
pub fn missing_key(
    config: &Config,
    process: &ProcessContext,
    passed_on: fn(&str) -> Option<String>,
) -> Option<MissingKey> {
    let own_env = process.reader();
    let usable = |env: EnvLookup| {
        let models = config.models.clone();
        let model = models.configured_model(None, &*env).ok()??;
        let source = models::source(
            models,
            process,
            move |name| env(name),
            RecordingMode::None,
            ConnectedHosts::none(),
        )
        .ok()?;
        source.resolve(&model).ok()
    };
    if usable(Arc::new(passed_on)).is_some() {
        return None;
    }
    let model = usable(Arc::new(own_env))?;
    let provider = ModelRef::parse(&model).ok()?.provider().to_owned();
    let named = config.models.providers.get(&provider).and_then(|provider| provider.key_variable());
    let known = KNOWN.iter().find(|known| known.name == provider);
    let usual = known.into_iter().flat_map(|known| known.key_envs).map(|name| (*name).to_owned());
    let variable = named.into_iter().chain(usual).find(|name| process.text(name).is_some())?;
    let model = (config.models.model.is_none() && process.text("POSSE_MODEL").is_some()).then_some(model);
    let configured = config.models.providers.get(&provider).is_some_and(|own| own.base_url.is_some());
    let base_env = known.and_then(|known| known.base_env).filter(|name| passed_on(name).is_none());
    let base_url = base_env.filter(|_| !configured).and_then(|name| process.text(name));
    Some(MissingKey { provider, variable, model, base_url })
}
