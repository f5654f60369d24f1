//! Provider key for servers that hosts start. Most hosts pass no environment on, so the key goes into a file that
//! only the user can read, and the configuration names that file.

use posse_core::Result;
use posse_mcp::server::ConnectedHosts;
use posse_messages::say;
use posse_models::catalogue::ModelRef;
use posse_models::providers::{KNOWN, RecordingMode};
use posse_runtime::ports::ModelResolver;
use posse_setup::models;

use super::doctor::passed_on;
use crate::args::GlobalArgs;
use crate::config::Config;
use crate::keys::{self, KeyEntry, StoredKey};
use crate::setup::{PROCESS, Setup, process_env};
use crate::terminal;

/// A person's word on storing a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyConsent {
    Given,
    Refused,
    /// Asks at a terminal; without one, no key is stored.
    Asked,
}

/// A key in the environment that a server started by a host would lack.
struct MissingKey {
    provider: String,
    variable: String,
    /// The model, if it too is named only by a variable that the server would lack.
    model: Option<String>,
    /// The base URL, if it is named only by a variable that the server would lack.
    base_url: Option<String>,
}

/// Stores the key that a host's server would lack, if there is one and a person agrees.
pub fn offer(global: &GlobalArgs, consent: KeyConsent) -> Result<Option<StoredKey>> {
    // A server started by a host reads the default configuration.
    if global.config.is_some() || consent == KeyConsent::Refused {
        return Ok(None);
    }
    let config = Setup::load(global)?.config;
    let Some(missing) = missing_key(&config) else { return Ok(None) };
    let file = keys::file_of(&PROCESS, &missing.provider)?.display().to_string();
    if consent == KeyConsent::Asked {
        if !terminal::is_attended() {
            terminal::note(&say!("mcp-key-not-stored", variable = missing.variable));
            return Ok(None);
        }
        if !says_yes(&say!("mcp-key-offer", variable = missing.variable, file)) {
            terminal::note(&say!("mcp-key-declined", file));
            return Ok(None);
        }
    }
    let own = config.models.providers.get(&missing.provider);
    if own.is_some_and(|own| own.api_key_file.is_some()) {
        terminal::note(&say!("mcp-key-by-hand", provider = missing.provider, file));
        return Ok(None);
    }
    let key = process_env(&missing.variable).unwrap_or_default();
    let stored = keys::store(
        &PROCESS,
        &KeyEntry {
            provider: &missing.provider,
            key: &key,
            model: missing.model.as_deref(),
            base_url: missing.base_url.as_deref(),
            wire: None,
        },
    )?;
    Ok(Some(stored))
}

/// Finds the missing key; `None` if a server has what it needs, or if no key is set here either.
fn missing_key(config: &Config) -> Option<MissingKey> {
    let usable = |env: fn(&str) -> Option<String>| {
        let models = config.models.clone();
        let model = models.configured_model(None, &env).ok()??;
        let source =
            models::source(models, &PROCESS, env, RecordingMode::None, ConnectedHosts::none()).ok()?;
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

fn says_yes(question: &str) -> bool {
    terminal::note(question);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok_and(|bytes| bytes > 0) && matches!(line.trim(), "" | "y" | "Y" | "yes")
}
