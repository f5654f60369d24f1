//! From `provider:model` to a model that can be asked: keys from the vendors' own environment variables, base URLs from
//! there or from the configuration, and the wrappers every provider gets.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::agent::Agent;
use posse_core::definition::OnUnknownModel;
use posse_core::text::nearest;
use posse_core::usage::Price;
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::trust::hash;
use posse_mcp::server::{ANY, ConnectedHosts, HostModel, PROVIDER as HOST};
use posse_messages::{LocalizedText, fixed, localized};
use posse_models::anthropic::{self, Anthropic};
use posse_models::catalogue::{ModelRef, PriceTable, vendor_of};
use posse_models::fallback::FallbackModel;
use posse_models::gemini::{self, Gemini};
use posse_models::governor::{MAX_IN_FLIGHT, RateGovernor};
use posse_models::http::{KeySource, ProviderEndpoint, ProviderTransport, SecretText};
use posse_models::openai_chat::{self, ChatDialect, OpenAiChat};
use posse_models::openai_responses::OpenAiResponses;
use posse_models::record::{RecordedModel, RecordingFile, ReplayModel};
use posse_models::retry::{RetryModel, RetryPolicy};
use posse_models::scripted::ScriptedModel;
use posse_models::watch::{StallTimeouts, WatchedModel};
use posse_runtime::budget::ModelTariff;
use posse_runtime::ports::{Model, ModelResolver, OpenModel};

use crate::config::{Config, ProviderConfig, WireFormat};

/// A provider that needs no configuration.
pub struct ProviderPreset {
    pub name: &'static str,
    pub wire: WireFormat,
    pub base_url: &'static str,
    /// The variable that overrides the base URL, if the vendor has one.
    pub base_env: Option<&'static str>,
    pub key_envs: &'static [&'static str],
    /// What `posse run` uses when only this provider's key is set.
    pub default_model: Option<&'static str>,
}

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
    known(
        "openrouter",
        WireFormat::OpenaiCompatible,
        "https://openrouter.ai/api/v1",
        None,
        &["OPENROUTER_API_KEY"],
        None,
    ),
    known(
        "groq",
        WireFormat::OpenaiCompatible,
        "https://api.groq.com/openai/v1",
        None,
        &["GROQ_API_KEY"],
        None,
    ),
    known(
        "deepseek",
        WireFormat::OpenaiCompatible,
        "https://api.deepseek.com/v1",
        None,
        &["DEEPSEEK_API_KEY"],
        None,
    ),
    known(
        "mistral",
        WireFormat::OpenaiCompatible,
        "https://api.mistral.ai/v1",
        None,
        &["MISTRAL_API_KEY"],
        None,
    ),
    known("vllm", WireFormat::OpenaiCompatible, "http://127.0.0.1:8000/v1", None, &[], None),
    known("llamacpp", WireFormat::OpenaiCompatible, "http://127.0.0.1:8080/v1", None, &[], None),
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

/// Reads a variable of the process's environment; an empty one counts as not set.
pub type Env = fn(&str) -> Option<String>;

pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The model that the flags, the environment or the configuration name, or that of the first provider with a key.
pub fn configured_model(config: &Config, asked: Option<&str>, env: Env) -> Result<Option<String>> {
    let named = asked.map(str::to_owned).or_else(|| env("POSSE_MODEL")).or_else(|| config.model.clone());
    if let Some(name) = named {
        return resolve_alias(config, &name, env).map(Some);
    }
    Ok(KNOWN.iter().find_map(|known| {
        let model = known.default_model?;
        has_key(known, config, env).then(|| format!("{}:{model}", known.name))
    }))
}

fn has_key(known: &ProviderPreset, config: &Config, env: Env) -> bool {
    // Hosts keep the environment from the servers they start, so a key may also be in a file.
    let in_file = config.providers.get(known.name).is_some_and(|provider| provider.api_key_file.is_some());
    in_file || known.key_envs.iter().any(|key| env(key).is_some())
}

/// The model to use when nobody names one.
pub fn default_model(config: &Config, asked: Option<&str>, env: Env) -> Result<String> {
    configured_model(config, asked, env)?.ok_or_else(|| {
        let hint = match env("OLLAMA_HOST") {
            Some(_) => localized!("ollama-hint"),
            None => {
                localized!("no-model-hint")
            }
        };
        Error::new(ErrorCode::ModelNotConfigured, localized!("no-model")).hint(hint)
    })
}

/// Names that other tools use for models, where the configuration does not say what they mean.
const ALIASES: &[(&str, &str)] = &[
    ("haiku", "anthropic:claude-haiku-4-5"),
    ("sonnet", "anthropic:claude-sonnet-4-5"),
    ("opus", "anthropic:claude-opus-4-5"),
    ("fable", "anthropic:claude-fable-5"),
];

/// The `provider:model` that an alias, a reference or a model's bare name stands for.
pub fn resolve_alias(config: &Config, name: &str, env: Env) -> Result<String> {
    // A vendor's short name may stand after the vendor: `anthropic:sonnet`.
    let short = name.strip_prefix("anthropic:").unwrap_or(name);
    let usual = || ALIASES.iter().find(|(alias, _)| *alias == short).map(|(_, model)| *model);
    let resolved = config.aliases.get(name).map(String::as_str).or_else(usual).unwrap_or(name);
    if resolved == HOST {
        return Ok(format!("{HOST}:{ANY}"));
    }
    let resolved = resolved.trim();
    if resolved.contains(':') {
        return Ok(ModelRef::parse(resolved)?.to_string());
    }
    match serving(config, resolved, env).as_slice() {
        [] => match vendor_of(resolved) {
            // Opening it says what its vendor's provider lacks.
            Some(vendor) => Ok(ModelRef::parse(&format!("{vendor}:{resolved}"))?.to_string()),
            None => Ok(ModelRef::parse(resolved)?.to_string()),
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

/// The configured providers that serve a model of this name: those that speak its vendor's protocol, and those with which the
/// configuration names it.
fn serving<'a>(config: &'a Config, model: &str, env: Env) -> Vec<&'a str> {
    let names = config.aliases.values().chain(&config.model).chain(&config.fallback_models);
    let named = names.chain(config.prices.keys()).filter_map(|reference| {
        let (provider, named) = reference.trim().split_once(':')?;
        (named == model).then_some(provider)
    });
    let vendor = vendor_of(model);
    let built_in = KNOWN.iter().filter(|known| {
        let is_set_up =
            || has_key(known, config, env) || known.base_env.is_some_and(|name| env(name).is_some());
        Some(known.name) == vendor && is_set_up()
    });
    let own = config.providers.iter().filter(|(name, provider)| {
        let known = || KNOWN.iter().find(|known| known.name == name.as_str()).map(|known| known.wire);
        let wire = provider.wire.or_else(known);
        vendor.is_some() && wire.and_then(vendor_speaking) == vendor
    });
    let own = own.map(|(name, _)| name.as_str());
    let all: BTreeSet<&str> = named.chain(built_in.map(|known| known.name)).chain(own).collect();
    all.into_iter().collect()
}

/// The vendor whose models a provider with this protocol serves under their own names.
fn vendor_speaking(wire: WireFormat) -> Option<&'static str> {
    match wire {
        WireFormat::Anthropic => Some("anthropic"),
        WireFormat::Openai | WireFormat::OpenaiResponses => Some("openai"),
        WireFormat::Gemini => Some("gemini"),
        WireFormat::OpenaiCompatible => None,
    }
}

/// A script's path must mean the same when the task is taken up from another directory.
pub fn anchored(model: String, here: &Path) -> String {
    match model.strip_prefix("scripted:") {
        Some(path) => format!("scripted:{}", here.join(path).display()),
        None => model,
    }
}

pub enum RecordingMode {
    None,
    Record(Arc<RecordingFile>),
    Replay(PathBuf),
}

/// Opens models by reference. Models of one provider share their connections, models of one key their governor, and a
/// recording is read once, so that an answer of it is given once.
pub struct ModelSource {
    config: Config,
    env: Env,
    prices: PriceTable,
    tape: RecordingMode,
    opened: Mutex<HashMap<String, (ProviderTransport, Arc<RateGovernor>)>>,
    governors: Mutex<HashMap<KeyUse, Arc<RateGovernor>>>,
    /// Where processes agree on the use of a key; without it each is alone.
    rates: Option<PathBuf>,
    replays: Mutex<HashMap<String, Arc<ReplayModel>>>,
    hosts: Arc<ConnectedHosts>,
}

/// Where a key is used and where it comes from.
type KeyUse = (String, Option<String>);

fn govern(max: usize, rates: Option<&Path>, (base_url, source): &KeyUse) -> Arc<RateGovernor> {
    let Some(rates) = rates else { return RateGovernor::new(max) };
    let name = hash(format!("{base_url} {}", source.as_deref().unwrap_or_default()).as_bytes());
    RateGovernor::shared(max, &rates.join(&name[..16])).unwrap_or_else(|error| {
        tracing::warn!(%error, "other processes are not asked before a model is called");
        RateGovernor::new(max)
    })
}

impl ModelSource {
    pub fn new(config: Config, env: Env, tape: RecordingMode) -> Result<Self> {
        Ok(Self {
            prices: prices(&config)?,
            config,
            env,
            tape,
            opened: Mutex::default(),
            governors: Mutex::default(),
            rates: None,
            replays: Mutex::default(),
            hosts: ConnectedHosts::none(),
        })
    }

    /// With the models of these hosts.
    pub fn lent_by(mut self, hosts: Arc<ConnectedHosts>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Shares the use of keys with all processes whose state is in the same directory.
    pub fn sharing(mut self, state: &Path) -> Self {
        self.rates = Some(state.join("rates"));
        self
    }

    fn open_one(&self, reference: &str) -> Result<Arc<dyn Model>> {
        let reference = resolve_alias(&self.config, reference, self.env)?;
        if let RecordingMode::Replay(path) = &self.tape {
            return Ok(self.replay(path, reference)?);
        }
        let model: Arc<dyn Model> = match reference.split_once(':') {
            Some(("scripted", script)) => Arc::new(ScriptedModel::from_reference(script)?),
            Some((HOST, model)) => Arc::new(HostModel::new(self.hosts.clone(), model)),
            Some(_) | None => self.open_provider(&reference)?,
        };
        Ok(match &self.tape {
            RecordingMode::Record(recorder) => Arc::new(RecordedModel::new(model, recorder.clone())),
            RecordingMode::None | RecordingMode::Replay(_) => model,
        })
    }

    /// The name of a model as it is in replies, and its price.
    fn priced(&self, name: &str) -> Result<(String, Option<Price>)> {
        let reference = ModelRef::parse(&resolve_alias(&self.config, name, self.env)?)?;
        Ok((reference.to_string(), self.prices.price(&reference)))
    }

    fn replay(&self, path: &Path, reference: String) -> Result<Arc<ReplayModel>> {
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(replay) = replays.get(&reference) {
            return Ok(replay.clone());
        }
        let replay = Arc::new(ReplayModel::load(path, &reference)?);
        replays.insert(reference, replay.clone());
        Ok(replay)
    }

    fn open_provider(&self, reference: &str) -> Result<Arc<dyn Model>> {
        let parsed = ModelRef::parse(reference)?;
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
        let watched = Arc::new(WatchedModel::new(model, StallTimeouts::default()));
        Ok(Arc::new(RetryModel::new(watched, RetryPolicy::default(), governor)))
    }

    fn endpoint(&self, provider: &str) -> Result<(WireFormat, ProviderTransport, Arc<RateGovernor>)> {
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
        // Vendors leave the version out of their variable; our paths begin after it.
        let has_path = url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        Ok(if wire == WireFormat::Gemini && !has_path { format!("{url}/v1beta") } else { url.to_owned() })
    }

    /// The key, and a name for where it comes from: two providers may have the same.
    fn credential(
        &self,
        provider: &str,
        base_url: &str,
        configured: Option<&ProviderConfig>,
        known: Option<&ProviderPreset>,
    ) -> Result<(KeySource, Option<String>)> {
        if let Some(path) = configured.and_then(|c| c.api_key_file.clone()) {
            let source = fixed!("key-from-file", path = path.display());
            return Ok((key_file(provider, path)?.from_where(&source), Some(source)));
        }
        let named = configured.and_then(|c| c.api_key_env.as_deref());
        let names: Vec<String> = match (named, known) {
            // Said in so many words that it wants no key.
            (Some(""), _) => Vec::new(),
            (Some(name), _) => vec![name.to_owned()],
            (None, Some(known)) => known.key_envs.iter().map(|name| (*name).to_owned()).collect(),
            (None, None) => Vec::new(),
        };
        let is_vendor = known.is_some_and(|known| known.base_url.trim_end_matches('/') == base_url);
        let env = self.env;
        if let Some(name) = names.iter().find(|name| env(name).is_some()).cloned() {
            let source = fixed!("key-from-variable", name);
            let key = KeySource::from_fn(move || env(&name).map(|key| SecretText::new(key.trim())));
            return Ok((key.from_where(&source), Some(source)));
        }
        let Some(name) = names.first() else { return Ok((KeySource::none(), None)) };
        if !is_vendor && named.is_none() {
            // Another server in the vendor's place may want none.
            return Ok((KeySource::none().from_where(fixed!("variable-not-set", name)), None));
        }
        let text = localized!("provider-needs-key", provider, name);
        let hint = match named {
            Some(_) => localized!("provider-needs-key-hint", name, provider),
            None => localized!("provider-needs-key-demo-hint", name),
        };
        Err(Error::new(ErrorCode::ModelNotConfigured, text).hint(hint))
    }
}

/// A file that cannot be read is an error now, not a request without a key later. When it cannot be read again, the
/// key that was there first has to do.
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

/// The model of an agent that has none yet: opening it says why.
pub const NONE: &str = "none:none";

impl ModelResolver for ModelSource {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        if agent.model == NONE {
            default_model(&self.config, None, self.env)?;
        }
        let is_lent = resolve_alias(&self.config, &agent.model, self.env)?.starts_with(&format!("{HOST}:"));
        if is_lent && agent.fallback_models.is_empty() && !matches!(self.tape, RecordingMode::Replay(_)) {
            self.hosts.check()?;
        }
        let first = self.open_one(&agent.model)?;
        let others =
            agent.fallback_models.iter().map(|name| self.open_one(name)).collect::<Result<Vec<_>>>()?;
        let names = std::iter::once(&agent.model).chain(&agent.fallback_models);
        let prices = names.map(|name| self.priced(name)).collect::<Result<Vec<_>>>()?;
        let default = agent.default_model.as_ref().filter(|model| *model != NONE);
        // A default that cannot be used here is no reason not to use the agent's own model.
        if let Some((default, (name, price))) =
            default.and_then(|name| Some((self.open_one(name).ok()?, self.priced(name).ok()?)))
        {
            let model = Arc::new(FallbackModel::new(first, others).with_default(default));
            return Ok(OpenModel { model, tariff: ModelTariff::new(prices).with_default(name, price) });
        }
        let model: Arc<dyn Model> =
            if others.is_empty() { first } else { Arc::new(FallbackModel::new(first, others)) };
        Ok(OpenModel { model, tariff: ModelTariff::new(prices) })
    }

    fn resolve(&self, reference: &str) -> Result<String> {
        self.open_one(reference)?;
        Ok(match (resolve_alias(&self.config, reference, self.env)?, std::env::current_dir()) {
            (resolved, Ok(here)) => anchored(resolved, &here),
            (resolved, Err(_)) => resolved,
        })
    }

    fn on_unknown_model(&self) -> OnUnknownModel {
        self.config.on_unknown_model
    }
}

/// The built-in prices with those of the configuration before them: also for dated names, and with `*`.
pub fn prices(config: &Config) -> Result<PriceTable> {
    let table = toml::to_string(&config.prices)
        .map_err(|e| Error::new(ErrorCode::ConfigInvalid, localized!("prices-unreadable")).caused_by(e))?;
    PriceTable::built_in().with("`prices`", &table)
}

fn unknown_provider(provider: &str, config: &Config) -> Error {
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

/// `OLLAMA_HOST` is a host, a host with a port, or a URL.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let after_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
    let has_port = after_scheme.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    let url = if has_port || url.starts_with("https://") { url } else { format!("{url}:11434") };
    // A server listens on 0.0.0.0; one cannot connect to it there.
    format!("{}/v1", url.replace("://0.0.0.0", "://127.0.0.1"))
}

#[cfg(test)]
mod tests {
    use posse_core::agent::ModelSettings;
    use posse_core::board::Urgency;
    use posse_runtime::ports::{ModelMemo, ModelRequest, NoDeltas, ToolUse, UnlimitedCalls};

    use super::*;

    #[test]
    fn ollama_host_is_understood_in_all_its_forms() {
        for (host, url) in [
            ("localhost", "http://localhost:11434/v1"),
            ("0.0.0.0:4000", "http://127.0.0.1:4000/v1"),
            ("http://box:4000/", "http://box:4000/v1"),
            ("https://ollama.example", "https://ollama.example/v1"),
            ("http://[::1]", "http://[::1]:11434/v1"),
        ] {
            assert_eq!(ollama_url(host), url, "{host}");
        }
    }

    #[test]
    fn without_a_key_the_message_says_what_to_set_and_that_the_demo_needs_none() {
        let e = default_model(&Config::default(), None, |_| None).unwrap_err();
        assert_eq!(e.code(), ErrorCode::ModelNotConfigured);
        let hint = e.advice().unwrap();
        assert!(hint.contains("ANTHROPIC_API_KEY") && hint.contains("posse demo"), "{hint}");
        let e = source("", |_| None).open_one("openai:gpt-5").err().unwrap();
        assert!(e.message().contains("OPENAI_API_KEY is not set"), "{e}");
    }

    #[test]
    fn the_first_key_that_is_set_picks_the_model() {
        let env: Env = |name| (name == "GEMINI_API_KEY").then(|| "k".to_owned());
        assert_eq!(default_model(&Config::default(), None, env).unwrap(), "gemini:gemini-2.5-pro");
        assert_eq!(default_model(&Config::default(), Some("ollama:x"), env).unwrap(), "ollama:x");
    }

    #[test]
    fn a_variable_that_is_named_and_not_set_is_an_error_unless_no_key_is_wanted() {
        let open = |more: &str| {
            let at = "[providers.work]\nwire = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
            source(&format!("{at}{more}"), |_| None).open_one("work:big").map(|_| ())
        };
        let e = open("api_key_env = \"WORK_KEY\"").unwrap_err();
        assert_eq!(e.code(), ErrorCode::ModelNotConfigured);
        assert_eq!(e.message(), "`work` needs a key and WORK_KEY is not set");
        assert!(e.advice().unwrap().contains("export WORK_KEY=…"), "{e}");
        for keyless in ["", "api_key_env = \"\""] {
            assert!(open(keyless).is_ok(), "{keyless}");
        }
    }

    #[test]
    fn a_provider_that_is_spelled_wrong_is_guessed() {
        let config = "[providers.work]\nwire = \"openai\"\n";
        for (wrong, right) in [("antropic", "anthropic"), ("opnai", "openai"), ("wrk", "work")] {
            let e = source(config, |_| None).open_one(&format!("{wrong}:x")).err().unwrap();
            assert!(e.advice().unwrap().starts_with(&format!("did you mean `{right}`? ")), "{e:?}");
        }
        let e = source(config, |_| None).open_one("nobody:x").err().unwrap();
        assert!(e.advice().unwrap().starts_with("there are: "), "{e:?}");
    }

    fn source(config: &str, env: Env) -> ModelSource {
        ModelSource::new(toml::from_str(config).unwrap(), env, RecordingMode::None).unwrap()
    }

    #[test]
    fn configured_prices_hold_for_dated_names_and_patterns_and_win() {
        let config = "[prices]\n\"work:big\" = { input = 1.0, output = 4.0 }\n\"work:s*\" = { input = 0.5, output = 1.0 }\n\
                      \"gpt-5\" = { input = 9.0, output = 9.0 }\n";
        let prices = prices(&toml::from_str(config).unwrap()).unwrap();
        let input = |model| prices.price(&ModelRef::parse(model).unwrap()).map(|price| price.input);
        assert_eq!(input("work:big"), Some(1.0));
        assert_eq!(input("work:big-2026-01-31"), Some(1.0));
        assert_eq!(input("work:small-7b"), Some(0.5));
        assert_eq!(input("openai:gpt-5"), Some(9.0));
        assert_eq!(input("work:other"), None);
    }

    #[test]
    fn providers_with_the_same_key_wait_together() {
        let source = source("", |name| name.ends_with("_API_KEY").then(|| "k".to_owned()));
        let governor = |provider| source.endpoint(provider).unwrap().2;
        assert!(Arc::ptr_eq(&governor("openai"), &governor("openai-responses")));
        assert!(Arc::ptr_eq(&governor("openai"), &governor("openai")));
        assert!(!Arc::ptr_eq(&governor("openai"), &governor("anthropic")));
        assert!(!Arc::ptr_eq(&governor("vllm"), &governor("llamacpp")), "two servers without a key");
    }

    #[test]
    fn a_key_file_that_cannot_be_read_or_is_empty_is_an_error_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let config = format!(
            "[providers.x]\nwire = \"openai\"\nbase_url = \"http://localhost\"\napi_key_file = \"{}\"\n",
            path.display()
        );
        let open = || source(&config, |_| None).open_one("x:y").map(|_| ());
        assert_eq!(open().unwrap_err().code(), ErrorCode::ConfigUnreadable);
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(open().unwrap_err().code(), ErrorCode::ModelNotConfigured);
        std::fs::write(&path, "canary\n").unwrap();
        assert!(open().is_ok());
    }

    #[test]
    fn all_who_open_a_recorded_model_share_what_was_given_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let (tape, script) = (dir.path().join("tape.jsonl"), dir.path().join("script.yaml"));
        std::fs::write(&script, "[{text: One.}]").unwrap();
        let reference = format!("scripted:{}", script.display());
        let recorder = RecordingFile::open(&tape).unwrap();
        let recording =
            ModelSource::new(Config::default(), |_| None, RecordingMode::Record(recorder)).unwrap();
        assert!(ask(&*recording.open_one(&reference).unwrap()).is_ok());
        let replaying = ModelSource::new(Config::default(), |_| None, RecordingMode::Replay(tape)).unwrap();
        let (first, second) =
            (replaying.open_one(&reference).unwrap(), replaying.open_one(&reference).unwrap());
        assert!(ask(&*first).is_ok(), "a script is recorded too");
        assert!(ask(&*second).is_err(), "the one answer was given");
    }

    fn ask(model: &dyn Model) -> Result<(), String> {
        let (mut memo, settings) = (ModelMemo::default(), ModelSettings::default());
        let request = ModelRequest {
            system: "",
            messages: &[],
            tools: &[],
            tool_use: ToolUse::Auto,
            output_tokens_max: 100,
            settings: &settings,
            answered_by: posse_core::usage::ByModel::nobody(),
            unanswered: 0,
            generation: 0,
            memo: &mut memo,
            allowance: &UnlimitedCalls,
            urgency: Urgency::Interactive,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(model.call(request, &NoDeltas)).map(|_| ()).map_err(|e| e.to_string())
    }
}
