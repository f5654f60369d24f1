//! Provider key for servers that hosts start. Most hosts pass no environment on, so the key goes into a file that
//! only the user can read, and the configuration names that file.

use posse_core::Result;
use posse_messages::say;
use posse_setup::keys::missing_key;

use super::doctor::passed_on;
use crate::args::GlobalArgs;
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

/// Stores the key that a host's server would lack, if there is one and a person agrees.
pub fn offer(global: &GlobalArgs, consent: KeyConsent) -> Result<Option<StoredKey>> {
    // A server started by a host reads the default configuration.
    if global.config.is_some() || consent == KeyConsent::Refused {
        return Ok(None);
    }
    let config = Setup::load(global)?.config;
    let Some(missing) = missing_key(&config, &PROCESS, passed_on) else { return Ok(None) };
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

fn says_yes(question: &str) -> bool {
    terminal::note(question);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok_and(|bytes| bytes > 0) && matches!(line.trim(), "" | "y" | "Y" | "yes")
}
