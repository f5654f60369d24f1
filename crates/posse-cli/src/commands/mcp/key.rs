//! Provider key for servers that hosts start. Most hosts pass no environment on, so the key goes into a file that
//! only the user can read, and the configuration names that file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use posse_core::Result;
use posse_mcp::files::{read_or_create, replace, unwritable};
use posse_mcp::server::ConnectedHosts;
use posse_messages::say;
use posse_models::catalogue::ModelRef;
use posse_models::key_file::{MissingKey, with_key_file};
use posse_models::providers::{KNOWN, RecordingMode};
use posse_runtime::ports::ModelResolver;

use super::doctor::passed_on;
use crate::args::GlobalArgs;
use crate::config::Config;
use crate::models::{self, process_env};
use crate::setup::{Setup, user_config_dir};
use crate::terminal;

/// Files that a key was stored in.
pub struct StoredKey {
    pub file: PathBuf,
    pub config: PathBuf,
}

/// Stores the key that a host's server would lack, if there is one. Asks at a terminal.
pub fn offer(global: &GlobalArgs) -> Result<Option<StoredKey>> {
    // A server started by a host reads the default configuration.
    if global.config.is_some() {
        return Ok(None);
    }
    let config = Setup::load(global)?.config;
    let (Some(missing), Some(dir)) = (missing_key(&config), user_config_dir()) else { return Ok(None) };
    let stored =
        StoredKey { file: dir.join(format!("{}.key", missing.provider)), config: dir.join("config.toml") };
    let file = stored.file.display().to_string();
    if terminal::is_attended() && !says_yes(&say!("mcp-key-offer", variable = missing.variable, file)) {
        terminal::note(&say!("mcp-key-declined", file));
        return Ok(None);
    }
    let before = match std::fs::read_to_string(&stored.config) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        Err(e) => return Err(unwritable(&stored.config).caused_by(e)),
    };
    let Some(after) = with_key_file(&before, &missing, &stored.file) else {
        terminal::note(&say!("mcp-key-by-hand", provider = missing.provider, file));
        return Ok(None);
    };
    write_key(&stored.file, &process_env(&missing.variable).unwrap_or_default())?;
    replace(&stored.config, &after)?;
    Ok(Some(stored))
}

/// Finds the missing key; `None` if a server has what it needs, or if no key is set here either.
fn missing_key(config: &Config) -> Option<MissingKey> {
    let usable = |env: fn(&str) -> Option<String>| {
        let models = config.models.clone();
        let model = models.configured_model(None, &env).ok()??;
        let source = models::source(models, env, RecordingMode::None, ConnectedHosts::none()).ok()?;
        source.resolve(&model).ok()
    };
    if usable(passed_on).is_some() {
        return None;
    }
    let model = usable(process_env)?;
    let provider = ModelRef::parse(&model).ok()?.provider().to_owned();
    let named = config.models.providers.get(&provider).and_then(|provider| provider.key_variable());
    let known = KNOWN.iter().find(|known| known.name == provider);
    let usual = known.into_iter().flat_map(|known| known.key_envs).map(|name| (*name).to_owned());
    let variable = named.into_iter().chain(usual).find(|name| process_env(name).is_some())?;
    let model = (config.models.model.is_none() && process_env("POSSE_MODEL").is_some()).then_some(model);
    let configured = config.models.providers.get(&provider).is_some_and(|own| own.base_url.is_some());
    let base_env = known.and_then(|known| known.base_env).filter(|name| passed_on(name).is_none());
    let base_url = base_env.filter(|_| !configured).and_then(process_env);
    Some(MissingKey { provider, variable, model, base_url })
}

/// Writes the key for its user alone. An existing file with other content stays.
fn write_key(file: &Path, key: &str) -> Result<()> {
    let there = read_or_create(file, || Ok(format!("{}\n", key.trim())))?;
    if there.trim() == key.trim() {
        Ok(())
    } else {
        Err(unwritable(file).caused_by(std::io::Error::from(ErrorKind::AlreadyExists)))
    }
}

fn says_yes(question: &str) -> bool {
    terminal::note(question);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok_and(|bytes| bytes > 0) && matches!(line.trim(), "" | "y" | "Y" | "yes")
}
