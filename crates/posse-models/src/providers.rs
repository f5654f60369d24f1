//! Resolution of `provider:model` to a model that can be asked: keys from the vendors' own environment variables, base URLs
//! from there or from the configuration, and the layers that every provider gets (stall detection, retry, rate governor).
//!
//! Nothing here reads the environment: the caller passes an [`EnvLookup`].

mod names;

pub use names::KeyOrigin;

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::agent::Agent;
use posse_core::definition::OnUnknownModel;
use posse_core::text::nearest;
use posse_core::usage::Price;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::budget::ModelTariff;
use posse_runtime::ports::{Model, ModelResolver, OpenModel};

use crate::anthropic::{self, Anthropic};
use crate::catalogue::{ModelRef, PriceTable};
use crate::fallback::FallbackModel;
use crate::gemini::{self, Gemini};
use crate::governor::{MAX_IN_FLIGHT, RateGovernor};
use crate::http::{KeySource, ProviderEndpoint, ProviderTransport, SecretText};
use crate::openai_chat::{self, ChatDialect, OpenAiChat};
use crate::openai_responses::OpenAiResponses;
use crate::record::{RecordedModel, RecordingFile, ReplayModel, hash};
use crate::retry::{RetryModel, RetryPolicy};
use crate::scripted::ScriptedModel;
use crate::watch::{StallTimeouts, WatchedModel};

/// Looks up an environment variable. An empty variable counts as not set: the lookup returns `None`.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Models, aliases, providers and prices of a configuration.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub struct ModelsConfig {
    /// `provider:model` or an alias.
    pub model: Option<String>,
    /// Tried in order when the model cannot answer.
    pub fallback_models: Vec<String>,
    /// Treatment of tasks whose agent file names an unknown model.
    pub on_unknown_model: OnUnknownModel,
    pub aliases: BTreeMap<String, String>,
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Prices by model name; they win over the built-in table.
    pub prices: BTreeMap<String, Price>,
}

/// Settings of one provider. For a built-in provider, each replaces the preset's.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    pub wire: Option<WireFormat>,
    pub base_url: Option<String>,
    /// The environment variable that holds the key; empty if the provider needs none.
    pub api_key_env: Option<String>,
    /// A file that holds the key; read again when the provider refuses it.
    pub api_key_file: Option<PathBuf>,
    /// Maximum in-flight calls with its key. The provider's refusals lower it for a while.
    pub max_in_flight: Option<NonZeroUsize>,
    pub headers: BTreeMap<String, String>,
}

impl ProviderConfig {
    /// Returns the variable that holds the key, if there is one.
    pub fn key_variable(&self) -> Option<String> {
        self.api_key_env.clone().filter(|name| !name.is_empty())
    }
}

/// Wire format of a provider's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireFormat {
    Anthropic,
    Openai,
    OpenaiCompatible,
    OpenaiResponses,
    Gemini,
}

/// A provider without an HTTP API of its own. The composition root adds it.
pub trait CustomProvider: Send + Sync {
    /// Opens a model by its name without the provider.
    fn open(&self, model: &str) -> Result<Arc<dyn Model>>;

    /// Fails if a task that starts now cannot use the provider.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Name of the provider whose models a connected MCP host lends; alone, it means [`HOST_ANY`].
pub const HOST: &str = "host";
/// The host's model of its own choice.
pub const HOST_ANY: &str = "host:any";

/// A provider that works without configuration.
pub struct ProviderPreset {
    pub name: &'static str,
    pub wire: WireFormat,
    pub base_url: &'static str,
    /// Variable that overrides the base URL, if the vendor has one.
    pub base_env: Option<&'static str>,
    pub key_envs: &'static [&'static str],
    /// The model to use when only this provider's key is set.
    pub default_model: Option<&'static str>,
}

/// The built-in providers.
pub const KNOWN: &[ProviderPreset] = &[
    known(
        "anthropic",
        WireFormat::Anthropic,
        anthropic::BASE_URL,
        Some("ANTHROPIC_BASE_URL"),
        &["ANTHROPIC_API_KEY"],
        Some("claude-sonnet-4-5"),
    ),
    known(
        "openai",
        WireFormat::Openai,
        openai_chat::BASE_URL,
        Some("OPENAI_BASE_URL"),
        &["OPENAI_API_KEY"],
        Some("gpt-5"),
    ),
    known(
        "openai-responses",
        WireFormat::OpenaiResponses,
        openai_chat::BASE_URL,
        Some("OPENAI_BASE_URL"),
        &["OPENAI_API_KEY"],
        None,
    ),
    known(
        "gemini",
        WireFormat::Gemini,
        gemini::BASE_URL,
        Some("GOOGLE_GEMINI_BASE_URL"),
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        Some("gemini-2.5-pro"),
    ),
    known(
        "ollama",
        WireFormat::OpenaiCompatible,
        "http://127.0.0.1:11434/v1",
        Some("OLLAMA_HOST"),
        &[],
        None,
    ),
    compatible("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"]),
    compatible("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    compatible("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"]),
    compatible("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    compatible("vllm", "http://127.0.0.1:8000/v1", &[]),
    compatible("llamacpp", "http://127.0.0.1:8080/v1", &[]),
];

const fn known(
    name: &'static str,
    wire: WireFormat,
    base_url: &'static str,
    base_env: Option<&'static str>,
    key_envs: &'static [&'static str],
    default_model: Option<&'static str>,
) -> ProviderPreset {
    ProviderPreset { name, wire, base_url, base_env, key_envs, default_model }
}

const fn compatible(
    name: &'static str,
    base_url: &'static str,
    key_envs: &'static [&'static str],
) -> ProviderPreset {
    known(name, WireFormat::OpenaiCompatible, base_url, None, key_envs, None)
}

/// Makes the path of a `scripted:` model absolute, so that it means the same when the task is resumed elsewhere.
pub fn anchored(model: String, here: &Path) -> String {
    match model.strip_prefix("scripted:") {
        Some(path) => format!("scripted:{}", here.join(path).display()),
        None => model,
    }
}

/// Recording or replaying of model calls.
pub enum RecordingMode {
    None,
    Record(Arc<RecordingFile>),
    Replay(PathBuf),
}

/// Opens models by reference. Models of one provider share connections, models of one key share a governor, and a
/// recording is opened once, so that each of its answers is used once.
pub struct ModelSource {
    config: ModelsConfig,
    env: EnvLookup,
    prices: PriceTable,
    tape: RecordingMode,
    opened: Mutex<HashMap<String, (ProviderTransport, Arc<RateGovernor>)>>,
    governors: Mutex<HashMap<KeyUse, Arc<RateGovernor>>>,
    /// State directory in which processes share the rate limits of a key; without it each is alone.
    rates: Option<PathBuf>,
    replays: Mutex<HashMap<String, Arc<ReplayModel>>>,
    custom: BTreeMap<String, Arc<dyn CustomProvider>>,
    /// Base directory of relative script paths.
    scripts: Option<PathBuf>,
}

/// Base URL and source of a key.
type KeyUse = (String, Option<String>);

fn govern(max: usize, rates: Option<&Path>, (base_url, source): &KeyUse) -> Arc<RateGovernor> {
    let Some(rates) = rates else { return RateGovernor::new(max) };
    let name = hash([base_url.as_str(), source.as_deref().unwrap_or_default()]);
    RateGovernor::shared(max, &rates.join(name)).unwrap_or_else(|error| {
        tracing::warn!(%error, "other processes are not asked before a model is called");
        RateGovernor::new(max)
    })
}

impl ModelSource {
    /// Creates a source. Fails if a configured price is invalid.
    pub fn new(config: ModelsConfig, env: EnvLookup, tape: RecordingMode) -> Result<Self> {
        Ok(Self {
            prices: PriceTable::built_in().with_entries("`prices`", config.prices.clone())?,
            config,
            env,
            tape,
            opened: Mutex::default(),
            governors: Mutex::default(),
            rates: None,
            replays: Mutex::default(),
            custom: BTreeMap::new(),
            scripts: None,
        })
    }

    /// Adds a provider under this name.
    pub fn with_provider(mut self, name: &str, provider: Arc<dyn CustomProvider>) -> Self {
        self.custom.insert(name.to_owned(), provider);
        self
    }

    /// Shares rate limits with all processes that use the same state directory.
    pub fn sharing(mut self, state: &Path) -> Self {
        self.rates = Some(state.join("rates"));
        self
    }

    /// Sets the base directory of relative script paths.
    pub fn scripts_in(mut self, dir: PathBuf) -> Self {
        self.scripts = Some(dir);
        self
    }

    /// Opens a model by reference, alias or bare name, without fallbacks.
    pub fn open_model(&self, reference: &str) -> Result<OpenModel> {
        let reference = self.config.resolve_alias(reference, &*self.env)?;
        let tariff = ModelTariff::new(vec![self.priced(&reference)?]);
        Ok(OpenModel { model: self.open_one(&reference)?, tariff })
    }

    /// Opens the model of a resolved reference.
    fn open_one(&self, reference: &str) -> Result<Arc<dyn Model>> {
        if let RecordingMode::Replay(path) = &self.tape {
            return Ok(self.replay(path, reference)?);
        }
        let model: Arc<dyn Model> = match reference.split_once(':') {
            Some(("scripted", script)) => Arc::new(ScriptedModel::from_reference(script)?),
            Some((provider, model)) => match self.custom.get(provider) {
                Some(provider) => provider.open(model)?,
                None => self.open_provider(reference)?,
            },
            None => self.open_provider(reference)?,
        };
        Ok(match &self.tape {
            RecordingMode::Record(recorder) => Arc::new(RecordedModel::new(model, recorder.clone())),
            RecordingMode::None | RecordingMode::Replay(_) => model,
        })
    }

    /// Returns the name of a model as in replies, and its price.
    fn priced(&self, reference: &str) -> Result<(String, Option<Price>)> {
        let reference = ModelRef::parse(reference)?;
        Ok((reference.to_string(), self.prices.price(&reference)))
    }

    fn replay(&self, path: &Path, reference: &str) -> Result<Arc<ReplayModel>> {
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(replay) = replays.get(reference) {
            return Ok(replay.clone());
        }
        let replay = Arc::new(ReplayModel::load(path, reference)?);
        replays.insert(reference.to_owned(), replay.clone());
        Ok(replay)
    }

    fn open_provider(&self, reference: &str) -> Result<Arc<dyn Model>> {
        let (model, governor) = self.client(&ModelRef::parse(reference)?)?;
        let watched = Arc::new(WatchedModel::new(model, StallTimeouts::default()));
        Ok(Arc::new(RetryModel::new(watched, RetryPolicy::default(), governor)))
    }

    /// Opens a model without the layers around it.
    pub(crate) fn client(&self, parsed: &ModelRef) -> Result<(Arc<dyn Model>, Arc<RateGovernor>)> {
        let (wire, transport, governor) = self.endpoint(parsed.provider())?;
        let (provider, name) = (parsed.provider(), parsed.model().to_owned());
        let model: Arc<dyn Model> = match wire {
            WireFormat::Anthropic => Arc::new(Anthropic::over(transport, name).provider(provider)),
            WireFormat::Openai => Arc::new(OpenAiChat::over(transport, name).provider(provider)),
            WireFormat::OpenaiCompatible => Arc::new(
                OpenAiChat::over(transport, name).provider(provider).dialect(ChatDialect::compatible()),
            ),
            WireFormat::OpenaiResponses => {
                Arc::new(OpenAiResponses::over(transport, name).provider(provider))
            }
            WireFormat::Gemini => Arc::new(Gemini::over(transport, name).provider(provider)),
        };
        Ok((model, governor))
    }

    /// Returns the price of a model; `None` if it is unknown.
    pub fn price(&self, model: &ModelRef) -> Option<Price> {
        self.prices.price(model)
    }

    pub(crate) fn endpoint(
        &self,
        provider: &str,
    ) -> Result<(WireFormat, ProviderTransport, Arc<RateGovernor>)> {
        let configured = self.config.providers.get(provider);
        let known = KNOWN.iter().find(|known| known.name == provider);
        let Some(wire) = configured.and_then(|c| c.wire).or(known.map(|known| known.wire)) else {
            return Err(unknown_provider(provider, &self.config));
        };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((transport, governor)) = opened.get(provider) {
            return Ok((wire, transport.clone(), governor.clone()));
        }
        let base_url = self.base_url(provider, wire, configured, known)?;
        let (credential, source) = self.credential(provider, &base_url, configured, known)?;
        let governor = {
            let mut governors = self.governors.lock().unwrap_or_else(PoisonError::into_inner);
            let max = configured.and_then(|c| c.max_in_flight).map_or(MAX_IN_FLIGHT, NonZeroUsize::get);
            let used = (base_url.clone(), source);
            let rates = self.rates.as_deref();
            governors.entry(used).or_insert_with_key(|used| govern(max, rates, used)).clone()
        };
        let mut endpoint = ProviderEndpoint::new(base_url, credential);
        for (name, value) in configured.iter().flat_map(|c| &c.headers) {
            endpoint.headers.push((name.clone(), SecretText::new(value.clone())));
        }
        let transport = ProviderTransport::new(endpoint)?;
        opened.insert(provider.to_owned(), (transport.clone(), governor.clone()));
        Ok((wire, transport, governor))
    }

    fn base_url(
        &self,
        provider: &str,
        wire: WireFormat,
        configured: Option<&ProviderConfig>,
        known: Option<&ProviderPreset>,
    ) -> Result<String> {
        let from_env =
            known.and_then(|known| known.base_env).and_then(|name| Some((name, (self.env)(name)?)));
        let url = match (configured.and_then(|c| c.base_url.clone()), from_env, known) {
            (Some(url), _, _) => url,
            (None, Some(("OLLAMA_HOST", host)), _) => ollama_url(&host),
            (None, Some((_, url)), _) => url,
            (None, None, Some(known)) => known.base_url.to_owned(),
            (None, None, None) => {
                let text = localized!("provider-without-url", provider);
                return Err(
                    Error::new(ErrorCode::ConfigInvalid, text).hint(localized!("provider-without-url-hint"))
                );
            }
        };
        let url = url.trim_end_matches('/');
        // Vendors leave the version out of this variable; our paths start after it.
        let has_path = url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        Ok(if wire == WireFormat::Gemini && !has_path { format!("{url}/v1beta") } else { url.to_owned() })
    }

    /// Finds the key and a name for its source: two providers may share one.
    fn credential(
        &self,
        provider: &str,
        base_url: &str,
        configured: Option<&ProviderConfig>,
        known: Option<&ProviderPreset>,
    ) -> Result<(KeySource, Option<String>)> {
        if let Some(path) = configured.and_then(|c| c.api_key_file.clone()) {
            let source = format!("the file {}", path.display());
            return Ok((key_file(provider, path)?.from_where(&source), Some(source)));
        }
        let named = configured.and_then(|c| c.api_key_env.as_deref());
        let names: Vec<String> = match (named, known) {
            // Explicitly configured without a key.
            (Some(""), _) => Vec::new(),
            (Some(name), _) => vec![name.to_owned()],
            (None, Some(known)) => known.key_envs.iter().map(|name| (*name).to_owned()).collect(),
            (None, None) => Vec::new(),
        };
        let is_vendor = known.is_some_and(|known| known.base_url.trim_end_matches('/') == base_url);
        let env = self.env.clone();
        if let Some(name) = names.iter().find(|name| env(name).is_some()).cloned() {
            let source = format!("the variable {name}");
            let key = KeySource::from_fn(move || env(&name).map(|key| SecretText::new(key.trim())));
            return Ok((key.from_where(&source), Some(source)));
        }
        let Some(name) = names.first() else { return Ok((KeySource::none(), None)) };
        if !is_vendor && named.is_none() {
            // Another server in the vendor's place may need no key.
            return Ok((KeySource::none().from_where(format!("{name} is not set")), None));
        }
        let text = localized!("provider-needs-key", provider, name);
        let hint = match named {
            Some(_) => localized!("provider-needs-key-hint", name, provider),
            None => localized!("provider-needs-key-demo-hint", name),
        };
        Err(Error::new(ErrorCode::ModelNotConfigured, text).hint(hint))
    }
}

/// Reads a key file. An unreadable file is an error now; if it becomes unreadable later, the first key stays in use.
fn key_file(provider: &str, path: PathBuf) -> Result<KeySource> {
    let failed =
        |code, message: LocalizedText| Error::new(code, message).hint(localized!("key-file-hint", provider));
    let text = std::fs::read_to_string(&path).map_err(|e| {
        failed(
            ErrorCode::ConfigUnreadable,
            localized!("key-file-unreadable", provider, path = path.display()),
        )
        .caused_by(e)
    })?;
    if text.trim().is_empty() {
        return Err(failed(
            ErrorCode::ModelNotConfigured,
            localized!("key-file-empty", provider, path = path.display()),
        ));
    }
    let first = SecretText::new(text.trim());
    Ok(KeySource::from_fn(move || {
        let now = std::fs::read_to_string(&path).ok().filter(|text| !text.trim().is_empty());
        Some(now.map_or_else(|| first.clone(), |text| SecretText::new(text.trim())))
    }))
}

/// Model of an agent without one: opening it reports why.
pub const NO_MODEL: &str = "none:none";

impl ModelResolver for ModelSource {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        if agent.model == NO_MODEL {
            self.config.default_model(None, &*self.env)?;
        }
        let resolve = |name: &String| self.config.resolve_alias(name, &*self.env);
        let open = |reference: String| Ok((self.open_one(&reference)?, self.priced(&reference)?));
        let first = resolve(&agent.model)?;
        let custom = first.split_once(':').and_then(|(provider, _)| self.custom.get(provider));
        if let Some(custom) = custom
            && agent.fallback_models.is_empty()
            && !matches!(self.tape, RecordingMode::Replay(_))
        {
            custom.check()?;
        }
        let (first, price) = open(first)?;
        let others = agent.fallback_models.iter().map(|name| open(resolve(name)?));
        let (others, mut prices): (Vec<_>, Vec<_>) = others.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        prices.insert(0, price);
        let default = agent.default_model.as_ref().filter(|model| *model != NO_MODEL);
        // An unusable default must not prevent the agent's own model.
        if let Some((default, (name, price))) = default.and_then(|name| open(resolve(name).ok()?).ok()) {
            let model = Arc::new(FallbackModel::new(first, others).with_default(default));
            return Ok(OpenModel { model, tariff: ModelTariff::new(prices).with_default(name, price) });
        }
        let model: Arc<dyn Model> =
            if others.is_empty() { first } else { Arc::new(FallbackModel::new(first, others)) };
        Ok(OpenModel { model, tariff: ModelTariff::new(prices) })
    }

    fn resolve(&self, reference: &str) -> Result<String> {
        let resolved = self.config.resolve_alias(reference, &*self.env)?;
        self.open_one(&resolved)?;
        Ok(match &self.scripts {
            Some(dir) => anchored(resolved, dir),
            None => resolved,
        })
    }

    fn on_unknown_model(&self) -> OnUnknownModel {
        self.config.on_unknown_model
    }
}

fn unknown_provider(provider: &str, config: &ModelsConfig) -> Error {
    if config.providers.contains_key(provider) {
        return Error::new(ErrorCode::ConfigInvalid, localized!("provider-without-wire", provider))
            .hint(localized!("provider-without-wire-hint"));
    }
    let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
    let own = config.providers.keys().map(String::as_str).filter(|name| !names.contains(name));
    let own: Vec<&str> = own.collect();
    names.extend(own);
    names.push("scripted");
    let likely = nearest(provider, names.iter().copied());
    let likely = likely.map(|name| localized!("did-you-mean", name));
    let there_are = localized!("providers-there-are", names = names.join(", "), provider);
    Error::new(ErrorCode::ModelUnknown, localized!("provider-unknown", provider))
        .hint(LocalizedText::join(likely.iter().chain([&there_are]), " "))
}

/// Parses `OLLAMA_HOST`: a host, a host with a port, or a URL.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let after_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
    let has_port = after_scheme.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    let url = if has_port || url.starts_with("https://") { url } else { format!("{url}:11434") };
    // A server listens on 0.0.0.0, but clients cannot connect to that.
    format!("{}/v1", url.replace("://0.0.0.0", "://127.0.0.1"))
}

#[cfg(test)]
mod tests;
