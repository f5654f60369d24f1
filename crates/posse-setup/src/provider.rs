//! Setting up a provider: which one, whether its key works, and what is stored. Nothing is stored before it has answered.

use std::sync::Arc;

use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_models::listing::{ListedModel, ProbeReport};
use posse_models::providers::{
    KNOWN, ModelSource, ProviderConfig, ProviderPreset, RecordingMode, WireFormat,
};

use crate::keys::{self, KeyEntry, StoredKey};
use crate::setup::Setup;

/// Providers that are offered by name; the others can be typed.
pub const OFFERED: &[&str] = &["anthropic", "openai", "gemini", "openrouter", "ollama"];
/// A provider that is not built in.
pub const OTHER: &str = "other";
/// The demonstration, which needs none.
pub const DEMO: &str = "demo";

/// A provider that is being set up.
pub struct SetupTarget {
    /// Its name.
    pub name: String,
    /// Its preset, if it is built in.
    pub preset: Option<&'static ProviderPreset>,
    /// Address to store, if it is not the vendor's.
    pub base_url: Option<String>,
}

impl SetupTarget {
    /// Returns a provider that is known here; `base_url` is the address that the person named.
    pub fn known(setup: &Setup, name: &str, base_url: Option<&str>) -> Self {
        let preset = KNOWN.iter().find(|known| known.name == name);
        let configured = setup.config.models.providers.get(name).and_then(|own| own.base_url.clone());
        // Without the address that its variable names, the key would go to the vendor later.
        let from_env = || preset.and_then(|known| known.base_env).and_then(|name| setup.process.text(name));
        let base_url = base_url.map(str::to_owned).or(configured).or_else(from_env);
        Self { name: name.to_owned(), preset, base_url }
    }

    /// Tells whether it takes a key.
    pub fn needs_key(&self) -> bool {
        self.preset.is_none_or(|known| !known.key_envs.is_empty())
    }

    /// Builds a source that knows the new key, which is stored nowhere yet.
    fn source(&self, setup: &Setup, key: &str) -> Result<ModelSource> {
        const VARIABLE: &str = "POSSE_SETUP_KEY";
        let mut config = setup.config.models.clone();
        let own = config.providers.entry(self.name.clone()).or_default();
        let wire = own.wire.or(self.preset.is_none().then_some(WireFormat::OpenaiCompatible));
        let base_url = self.base_url.clone().filter(|_| self.name != "ollama").or(own.base_url.take());
        let api_key_env = if key.is_empty() { own.api_key_env.take() } else { Some(VARIABLE.to_owned()) };
        *own = ProviderConfig { wire, base_url, api_key_env, api_key_file: None, ..own.clone() };
        let key = key.to_owned();
        let process = setup.process;
        let env = move |name: &str| match name {
            VARIABLE => Some(key.clone()).filter(|key| !key.is_empty()),
            other => process.text(other),
        };
        ModelSource::new(config, Arc::new(env), RecordingMode::None)
    }
}

/// Answer of the provider to the test.
pub struct TriedProvider {
    /// Its answer.
    pub report: ProbeReport,
    /// Models that it lists.
    pub models: usize,
    /// The person named the model.
    is_named: bool,
}

/// Asks a provider for its models and one of them for a word. `pick` chooses a model of a provider without a usual one.
pub async fn try_out(
    setup: &Setup,
    target: &SetupTarget,
    key: &str,
    wanted: Option<&str>,
    pick: impl Fn(&SetupTarget, &[ListedModel]) -> Result<String>,
) -> Result<TriedProvider> {
    let source = target.source(setup, key)?;
    // A gateway may list nothing and still answer.
    let listed = source.list_models(&target.name).await;
    let usual = target.preset.and_then(|known| known.default_model);
    let model = match (wanted, usual, &listed) {
        (Some(wanted), _, _) => {
            wanted.strip_prefix(&format!("{}:", target.name)).unwrap_or(wanted).to_owned()
        }
        (None, Some(usual), _) => usual.to_owned(),
        (None, None, Ok(models)) => pick(target, models)?,
        (None, None, Err(_)) => return Err(listed.err().unwrap_or_else(|| no_model(target))),
    };
    let report = source.probe(&format!("{}:{model}", target.name)).await?;
    let models = listed.map_or(0, |models| models.len());
    Ok(TriedProvider { report, models, is_named: wanted.is_some() })
}

/// Returns the error for a provider of which no model was named.
pub fn no_model(target: &SetupTarget) -> Error {
    let error = Error::new(ErrorCode::ModelUnknown, say!("setup-which-model", provider = target.name));
    error.hint(say!("setup-which-model-hint", provider = target.name))
}

/// A provider that was stored, and the default model from now on.
pub struct StoredProvider {
    /// Files that were written.
    pub stored: StoredKey,
    /// Default model.
    pub default: String,
}

/// Stores what worked. The model of a configuration stays, unless another one was asked for.
pub fn store(
    setup: &Setup,
    target: &SetupTarget,
    key: &str,
    tried: &TriedProvider,
) -> Result<StoredProvider> {
    let TriedProvider { report, is_named, .. } = tried;
    let kept = setup.config.models.model.as_ref().filter(|_| !*is_named);
    let model = kept.is_none().then_some(report.reference.as_str());
    let entry = KeyEntry {
        provider: &target.name,
        key,
        model,
        base_url: target.base_url.as_deref().filter(|_| target.name != "ollama"),
        wire: target.preset.is_none().then_some("openai-compatible"),
    };
    let stored = keys::store(&setup.process, &entry)?;
    Ok(StoredProvider { stored, default: kept.unwrap_or(&report.reference).clone() })
}

/// Resolves a typed provider: its name, the beginning of one that is offered, or one of the configuration.
pub fn chosen(setup: &Setup, typed: &str) -> Result<String> {
    let typed = typed.trim().to_ascii_lowercase();
    let own = setup.config.models.providers.keys().map(String::as_str);
    let all: Vec<&str> = KNOWN.iter().map(|known| known.name).chain([OTHER, DEMO]).chain(own).collect();
    let mut beginning = all.iter().filter(|name| !typed.is_empty() && name.starts_with(&typed));
    let exact = all.iter().find(|name| **name == typed);
    match (exact, beginning.next(), beginning.next()) {
        (Some(name), _, _) | (None, Some(name), None) => Ok((*name).to_owned()),
        _ => {
            let error = Error::new(ErrorCode::ModelUnknown, say!("setup-provider-unknown", name = typed));
            Err(error.hint(match nearest(&typed, all.iter().copied()) {
                Some(name) => say!("usage-did-you-mean", name),
                None => say!("usage-values", names = all.join(", ")),
            }))
        }
    }
}
