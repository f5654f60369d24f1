//! Names of models: aliases, bare names, and the default model.

use std::collections::BTreeSet;
use std::path::PathBuf;

use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use super::{HOST, HOST_ANY, KNOWN, ModelsConfig, ProviderPreset, WireFormat};
use crate::catalogue::{ModelRef, known_models, vendor_of};

/// Common model names of other tools, used where the configuration has no alias.
const ALIASES: &[(&str, &str)] = &[
    ("haiku", "anthropic:claude-haiku-4-5"),
    ("sonnet", "anthropic:claude-sonnet-4-5"),
    ("opus", "anthropic:claude-opus-4-5"),
    ("fable", "anthropic:claude-fable-5"),
];

/// Places that hold a provider's key. A file wins over a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyOrigin {
    /// Configured key file, whether it exists or not.
    pub file: Option<PathBuf>,
    /// Variable that is set.
    pub variable: Option<String>,
}

/// Reads a variable of the environment.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl ModelsConfig {
    /// Returns the model to use when none is named; fails if there is none.
    pub fn default_model(&self, asked: Option<&str>, env: Lookup<'_>) -> Result<String> {
        self.configured_model(asked, env)?.ok_or_else(|| {
            let hint = match env("OLLAMA_HOST") {
                Some(_) => localized!("ollama-hint"),
                None => localized!("no-model-hint"),
            };
            Error::new(ErrorCode::ModelNotConfigured, localized!("no-model")).hint(hint)
        })
    }

    /// Returns the model that the caller, the environment or the configuration names, or that of the first provider with a
    /// key.
    pub fn configured_model(&self, asked: Option<&str>, env: Lookup<'_>) -> Result<Option<String>> {
        let named = asked.map(str::to_owned).or_else(|| env("POSSE_MODEL")).or_else(|| self.model.clone());
        if let Some(name) = named {
            return self.resolve_alias(&name, env).map(Some);
        }
        Ok(KNOWN.iter().find_map(|known| {
            let model = known.default_model?;
            self.has_key(known, env).then(|| format!("{}:{model}", known.name))
        }))
    }

    /// Resolves an alias, a reference or a bare name to `provider:model`.
    pub fn resolve_alias(&self, name: &str, env: Lookup<'_>) -> Result<String> {
        // A short name may follow the vendor: `anthropic:sonnet`.
        let short = name.strip_prefix("anthropic:").unwrap_or(name);
        let usual = || ALIASES.iter().find(|(alias, _)| *alias == short).map(|(_, model)| *model);
        let resolved = self.aliases.get(name).map(String::as_str).or_else(usual).unwrap_or(name);
        if resolved == HOST {
            return Ok(HOST_ANY.to_owned());
        }
        let resolved = resolved.trim();
        if resolved.contains(':') {
            return Ok(ModelRef::parse(resolved)?.to_string());
        }
        match self.serving(resolved, env).as_slice() {
            [] => match vendor_of(resolved) {
                // Opening it reports what the vendor's provider lacks.
                Some(vendor) => Ok(ModelRef::parse(&format!("{vendor}:{resolved}"))?.to_string()),
                None => match (ModelRef::parse(resolved), self.near(resolved)) {
                    (Err(e), Some(name)) => Err(e.hint(localized!("did-you-mean", name))),
                    (parsed, _) => Ok(parsed?.to_string()),
                },
            },
            [provider] => Ok(ModelRef::parse(&format!("{provider}:{resolved}"))?.to_string()),
            several => {
                let choices = several.iter().map(|provider| format!("`{provider}:{resolved}`"));
                let choices = choices.collect::<Vec<_>>().join(", ");
                Err(Error::new(ErrorCode::ModelUnknown, localized!("model-ambiguous", model = resolved))
                    .hint(localized!("model-ambiguous-hint", choices)))
            }
        }
    }

    /// Finds the alias or the model that a bare name is a misspelling of.
    fn near(&self, name: &str) -> Option<&str> {
        let usual = ALIASES.iter().map(|(alias, _)| *alias);
        let vendors = ["anthropic", "openai", "gemini"].into_iter().flat_map(known_models);
        let own = self.aliases.keys().map(String::as_str);
        nearest(name, own.chain(usual).chain(vendors.map(|model: &str| model)))
    }

    /// Lists the configured providers that serve a model of this name: those that speak its vendor's protocol, and those
    /// with which the configuration names it.
    fn serving(&self, model: &str, env: Lookup<'_>) -> Vec<&str> {
        let names = self.aliases.values().chain(&self.model).chain(&self.fallback_models);
        let named = names.chain(self.prices.keys()).filter_map(|reference| {
            let (provider, named) = reference.trim().split_once(':')?;
            (named == model).then_some(provider)
        });
        let vendor = vendor_of(model);
        let built_in = KNOWN.iter().filter(|known| Some(known.name) == vendor && self.is_set_up(known, env));
        let own = self.providers.iter().filter(|(name, provider)| {
            let known = || KNOWN.iter().find(|known| known.name == name.as_str()).map(|known| known.wire);
            let wire = provider.wire.or_else(known);
            vendor.is_some() && wire.and_then(vendor_speaking) == vendor
        });
        let own = own.map(|(name, _)| name.as_str());
        let all: BTreeSet<&str> = named.chain(built_in.map(|known| known.name)).chain(own).collect();
        all.into_iter().collect()
    }

    /// Tells if a built-in provider has a key or an address of its own here.
    pub fn is_set_up(&self, known: &ProviderPreset, env: Lookup<'_>) -> bool {
        self.has_key(known, env) || known.base_env.is_some_and(|name| env(name).is_some())
    }

    /// Lists the providers that can be asked here: built-in ones that are set up, and those of the configuration.
    pub fn set_up_providers(&self, env: Lookup<'_>) -> Vec<String> {
        let built_in = KNOWN.iter().filter(|known| self.is_set_up(known, env)).map(|known| known.name);
        // Both speak to one account; listing it twice says nothing new.
        let built_in = built_in.filter(|name| *name != "openai-responses");
        let own = self.providers.keys().map(String::as_str);
        let all: BTreeSet<&str> = built_in.chain(own).collect();
        all.into_iter().map(str::to_owned).collect()
    }

    /// Returns where the key of a provider comes from, and what else could have given one.
    pub fn key_origin(&self, provider: &str, env: Lookup<'_>) -> KeyOrigin {
        let configured = self.providers.get(provider);
        let file = configured.and_then(|own| own.api_key_file.clone());
        let known = KNOWN.iter().find(|known| known.name == provider);
        let names: Vec<String> = match configured.and_then(|own| own.api_key_env.clone()) {
            Some(name) => vec![name],
            None => {
                known.into_iter().flat_map(|known| known.key_envs).map(|name| (*name).to_owned()).collect()
            }
        };
        let variable = names.into_iter().find(|name| env(name).is_some());
        KeyOrigin { file, variable }
    }

    fn has_key(&self, known: &ProviderPreset, env: Lookup<'_>) -> bool {
        // Hosts pass no environment to the servers they start, so a key may also be in a file.
        let in_file = self.providers.get(known.name).is_some_and(|provider| provider.api_key_file.is_some());
        in_file || known.key_envs.iter().any(|key| env(key).is_some())
    }
}

/// Returns the vendor whose models a provider with this protocol serves under their own names.
fn vendor_speaking(wire: WireFormat) -> Option<&'static str> {
    match wire {
        WireFormat::Anthropic => Some("anthropic"),
        WireFormat::Openai | WireFormat::OpenaiResponses => Some("openai"),
        WireFormat::Gemini => Some("gemini"),
        WireFormat::OpenaiCompatible => None,
    }
}
