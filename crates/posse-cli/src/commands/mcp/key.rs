//! Provider key for servers that hosts start. Most hosts pass no environment on, so the key goes into a file that
//! only the user can read, and the configuration names that file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use posse_core::Result;
use posse_mcp::files::{read_or_create, replace, unwritable};
use posse_mcp::server::ConnectedHosts;
use posse_messages::say;
use posse_models::catalogue::ModelRef;
use posse_models::providers::{KNOWN, RecordingMode};
use posse_runtime::ports::ModelResolver;

use super::doctor::passed_on;
use crate::args::GlobalArgs;
use crate::config::{self, Config};
use crate::models::{self, process_env};
use crate::setup::{Setup, user_config_dir};
use crate::terminal;

/// A key in this process's environment that a host's server would lack.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingKey {
    provider: String,
    variable: String,
    /// The model, if it too is named only by a variable that the server would lack.
    model: Option<String>,
}

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
    Some(MissingKey { provider, variable, model })
}

/// Adds the key file to the configuration; `None` if that would change existing settings.
fn with_key_file(before: &str, missing: &MissingKey, file: &Path) -> Option<String> {
    let MissingKey { provider, model, .. } = missing;
    let line = format!("api_key_file = {}\n", toml::Value::from(file.to_str()?));
    let header = format!("[providers.{provider}]\n");
    let mut after = match before.find(&header) {
        Some(at) => {
            let (above, below) = before.split_at(at + header.len());
            format!("{above}{line}{below}")
        }
        None if before.is_empty() || before.ends_with('\n') => format!("{before}{header}{line}"),
        None => format!("{before}\n{header}{line}"),
    };
    if let Some(model) = model {
        after = format!("model = {}\n{after}", toml::Value::from(model.as_str()));
    }
    let config = config::parse(file, &after).ok()?;
    let is_there =
        config.models.providers.get(provider).is_some_and(|own| own.api_key_file.as_deref() == Some(file));
    is_there.then_some(after)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_keeps_what_it_says() {
        let missing =
            MissingKey { provider: "anthropic".into(), variable: "ANTHROPIC_API_KEY".into(), model: None };
        let add = |before: &str| with_key_file(before, &missing, Path::new("/k"));
        let line = "api_key_file = \"/k\"\n";
        assert_eq!(add("").unwrap(), format!("[providers.anthropic]\n{line}"));
        let others = "# mine\nmodel = \"a:b\"\n[providers.work]\nwire = \"openai\"";
        assert_eq!(add(others).unwrap(), format!("{others}\n[providers.anthropic]\n{line}"));
        let own = "[providers.anthropic]\nmax_in_flight = 2\n";
        assert_eq!(add(own).unwrap(), format!("[providers.anthropic]\n{line}max_in_flight = 2\n"));
        for odd in [
            "providers = { anthropic = { max_in_flight = 2 } }\n",
            "[providers.anthropic]\napi_key_file = \"/x\"\n",
        ] {
            assert_eq!(add(odd), None, "{odd}");
        }
        let named = MissingKey { model: Some("anthropic:x".into()), ..missing };
        let after = with_key_file("[limits]\n", &named, Path::new("/k")).unwrap();
        assert!(after.starts_with("model = \"anthropic:x\"\n[limits]\n"), "{after}");
    }
}
