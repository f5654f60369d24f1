//! `posse setup`, and `posse` without a command: provider, key, one test request, and the key file. Nothing is stored
//! before the provider has answered.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_models::listing::{ListedModel, ProbeReport};
use posse_models::providers::{
    KNOWN, ModelSource, ProviderConfig, ProviderPreset, RecordingMode, WireFormat,
};

use super::{chat, demo};
use crate::args::{ChatArgs, GlobalArgs, RunOptions, SetupArgs};
use crate::keys::{self, KeyEntry};
use crate::setup::Setup;
use crate::setup::process_env;
use crate::terminal;

/// Providers that are offered by name; the others can be typed.
const OFFERED: &[&str] = &["anthropic", "openai", "gemini", "openrouter", "ollama"];
const OTHER: &str = "other";
const DEMO: &str = "demo";
/// Times that a key is asked for.
const ATTEMPTS_MAX: u32 = 3;
/// Longest line that is read as a key from a pipe.
const LINE_BYTES_MAX: u64 = 16 << 10;

/// Starts a chat; asks for a provider first if no model is configured.
pub async fn start(global: &GlobalArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    if setup.configured_model(&RunOptions::default())?.is_none() {
        terminal::note(&say!("setup-no-model"));
        match set_up(global, &setup, &SetupArgs::default()).await? {
            SetupEnd::Stored => {}
            SetupEnd::Demo => return demo::run(global).await,
            SetupEnd::Declined => return Ok(ExitCode::FAILURE),
        }
    }
    chat::run(global, ChatArgs::default()).await
}

/// Sets up a provider on purpose.
pub async fn run(global: &GlobalArgs, args: SetupArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    match set_up(global, &setup, &args).await? {
        SetupEnd::Stored => {
            terminal::note(&say!("setup-next"));
            Ok(ExitCode::SUCCESS)
        }
        SetupEnd::Demo => demo::run(global).await,
        SetupEnd::Declined => Ok(ExitCode::FAILURE),
    }
}

enum SetupEnd {
    Stored,
    Demo,
    /// The person gave up; nothing was stored.
    Declined,
}

async fn set_up(global: &GlobalArgs, setup: &Setup, args: &SetupArgs) -> Result<SetupEnd> {
    if global.config.is_some() {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("setup-with-config")));
    }
    let asks = terminal::is_attended();
    let choice = match &args.provider {
        Some(name) => Some(chosen(setup, name)?),
        None if asks => ask_provider(setup),
        None => {
            let error = Error::new(ErrorCode::InvalidRequest, say!("setup-needs-provider"));
            return Err(error.hint(say!("setup-needs-provider-hint")));
        }
    };
    let target = match choice.as_deref() {
        None => return Ok(SetupEnd::Declined),
        Some(DEMO) => return Ok(SetupEnd::Demo),
        Some(OTHER) => match other_provider(args, asks)? {
            Some(target) => target,
            None => return Ok(SetupEnd::Declined),
        },
        Some(name) => SetupTarget::known(setup, name, args),
    };
    for attempt in 1.. {
        let Some(key) = read_key(&target, asks)? else { return Ok(SetupEnd::Declined) };
        match try_out(setup, &target, &key, args.model.as_deref(), asks).await {
            Ok(tried) => return finish(setup, &target, &key, &tried),
            Err(e) if asks && attempt < ATTEMPTS_MAX => terminal::error(&e),
            Err(e) => return Err(e),
        }
    }
    Ok(SetupEnd::Declined)
}

/// A provider that is being set up.
struct SetupTarget {
    name: String,
    preset: Option<&'static ProviderPreset>,
    /// Address to store, if it is not the vendor's.
    base_url: Option<String>,
}

impl SetupTarget {
    fn known(setup: &Setup, name: &str, args: &SetupArgs) -> Self {
        let preset = KNOWN.iter().find(|known| known.name == name);
        let configured = setup.config.models.providers.get(name).and_then(|own| own.base_url.clone());
        // Without the address that its variable names, the key would go to the vendor later.
        let from_env = || preset.and_then(|known| known.base_env).and_then(process_env);
        let base_url = args.base_url.clone().or(configured).or_else(from_env);
        Self { name: name.to_owned(), preset, base_url }
    }

    fn needs_key(&self) -> bool {
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
        let env = move |name: &str| match name {
            VARIABLE => Some(key.clone()).filter(|key| !key.is_empty()),
            other => process_env(other),
        };
        ModelSource::new(config, Arc::new(env), RecordingMode::None)
    }
}

/// Answer of the provider to the test.
struct TriedProvider {
    report: ProbeReport,
    models: usize,
    /// The person named the model.
    is_named: bool,
}

async fn try_out(
    setup: &Setup,
    target: &SetupTarget,
    key: &str,
    wanted: Option<&str>,
    asks: bool,
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
        (None, None, Ok(models)) => pick_model(target, models, asks)?,
        (None, None, Err(_)) => return Err(listed.err().unwrap_or_else(|| no_model(target))),
    };
    let report = source.probe(&format!("{}:{model}", target.name)).await?;
    let models = listed.map_or(0, |models| models.len());
    Ok(TriedProvider { report, models, is_named: wanted.is_some() })
}

fn no_model(target: &SetupTarget) -> Error {
    let error = Error::new(ErrorCode::ModelUnknown, say!("setup-which-model", provider = target.name));
    error.hint(say!("setup-which-model-hint", provider = target.name))
}

/// Asks for a model of a provider without a usual one. A single model needs no question.
fn pick_model(target: &SetupTarget, models: &[ListedModel], asks: bool) -> Result<String> {
    let names: Vec<&str> =
        models.iter().filter_map(|model| Some(model.reference.split_once(':')?.1)).collect();
    match names.as_slice() {
        [only] => return Ok((*only).to_owned()),
        _ if !asks => return Err(no_model(target)),
        _ => {}
    }
    const SHOWN_MAX: usize = 20;
    terminal::note(&say!("setup-models", names = names[..names.len().min(SHOWN_MAX)].join("  ")));
    match ask(&say!("setup-ask-model")) {
        Some(name) if names.contains(&name.as_str()) => Ok(name),
        Some(name) => Ok(nearest(&name, names.iter().copied()).map_or(name, str::to_owned)),
        None => Err(no_model(target)),
    }
}

/// Stores what worked.
fn finish(setup: &Setup, target: &SetupTarget, key: &str, tried: &TriedProvider) -> Result<SetupEnd> {
    let TriedProvider { report, models, is_named } = tried;
    let seconds = format!("{:.1}", report.took.as_secs_f64());
    // The model of a configuration stays, unless another one was asked for.
    let kept = setup.config.models.model.as_ref().filter(|_| !*is_named);
    let default = kept.unwrap_or(&report.reference);
    terminal::note(&say!("setup-answered", seconds, models = *models, model = default));
    let model = kept.is_none().then_some(report.reference.as_str());
    let entry = KeyEntry {
        provider: &target.name,
        key,
        model,
        base_url: target.base_url.as_deref().filter(|_| target.name != "ollama"),
        wire: target.preset.is_none().then_some("openai-compatible"),
    };
    let stored = keys::store(&setup.process, &entry)?;
    match &stored.file {
        Some(file) => terminal::note(&say!("setup-stored", file = file.display())),
        None => terminal::note(&say!("setup-configured", file = stored.config.display())),
    }
    Ok(SetupEnd::Stored)
}

/// Asks which provider, until the answer is one; `None` at the end of input.
fn ask_provider(setup: &Setup) -> Option<String> {
    let offered: Vec<String> =
        OFFERED.iter().map(|name| (*name).to_owned()).chain([OTHER.to_owned(), DEMO.to_owned()]).collect();
    terminal::note(&say!("setup-which-provider"));
    terminal::note(&format!("  {}", offered.join("   ")));
    loop {
        match chosen(setup, &ask("> ")?) {
            Ok(name) => return Some(name),
            Err(e) => terminal::error(&e),
        }
    }
}

/// Resolves a typed provider: its name, the beginning of one that is offered, or one of the configuration.
fn chosen(setup: &Setup, typed: &str) -> Result<String> {
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

fn other_provider(args: &SetupArgs, asks: bool) -> Result<Option<SetupTarget>> {
    let base_url = match &args.base_url {
        Some(url) => Some(url.clone()),
        None if asks => ask(&say!("setup-ask-url")),
        None => return Err(Error::new(ErrorCode::InvalidRequest, say!("setup-needs-url"))),
    };
    Ok(base_url.map(|url| SetupTarget { name: OTHER.to_owned(), preset: None, base_url: Some(url) }))
}

/// Reads the key: hidden at a terminal, one line of standard input elsewhere. `None` if the person gave up.
fn read_key(target: &SetupTarget, asks: bool) -> Result<Option<String>> {
    if !target.needs_key() {
        return Ok(Some(String::new()));
    }
    let key = match asks {
        true => terminal::read_hidden(&say!("setup-ask-key", provider = target.name)),
        false => {
            let mut line = String::new();
            let read = std::io::Read::take(std::io::stdin().lock(), LINE_BYTES_MAX).read_line(&mut line);
            read.ok().map(|_| line)
        }
    };
    let key = key.map(|key| key.trim().to_owned());
    match key {
        // A server of one's own may need no key.
        Some(key) if key.is_empty() && target.preset.is_some() => match asks {
            true => Ok(None),
            false => {
                Err(Error::new(ErrorCode::InvalidRequest, say!("setup-needs-key", provider = target.name)))
            }
        },
        key => Ok(key),
    }
}

/// Asks a question and reads a line; `None` at the end of input.
fn ask(question: &str) -> Option<String> {
    terminal::prompt(question);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok_and(|bytes| bytes > 0).then(|| line.trim().to_owned())
}

/// Tells if a person sits here and sees everything: only then `posse` alone starts a chat.
pub fn is_interactive() -> bool {
    terminal::is_attended() && std::io::stdout().is_terminal()
}
