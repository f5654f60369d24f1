//! `posse setup`, and `posse` without a command: provider, key, one test request, and the key file. Nothing is stored
//! before the provider has answered.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use posse_console::hidden::read_hidden;
use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_models::listing::ListedModel;
use posse_setup::provider::{
    self, DEMO, OFFERED, OTHER, SetupTarget, StoredProvider, TriedProvider, chosen, no_model, try_out,
};

use super::{chat, demo};
use crate::args::{ChatArgs, GlobalArgs, RunOptions, SetupArgs};
use crate::setup::Setup;
use crate::terminal;

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
        Some(name) => SetupTarget::known(setup, name, args.base_url.as_deref()),
    };
    for attempt in 1.. {
        let Some(key) = read_key(&target, asks)? else { return Ok(SetupEnd::Declined) };
        match try_out(setup, &target, &key, args.model.as_deref(), |target, models| {
            pick_model(target, models, asks)
        })
        .await
        {
            Ok(tried) => return finish(setup, &target, &key, &tried),
            Err(e) if asks && attempt < ATTEMPTS_MAX => terminal::error(&e),
            Err(e) => return Err(e),
        }
    }
    Ok(SetupEnd::Declined)
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

/// Stores what worked, and says so.
fn finish(setup: &Setup, target: &SetupTarget, key: &str, tried: &TriedProvider) -> Result<SetupEnd> {
    let seconds = format!("{:.1}", tried.report.took.as_secs_f64());
    let StoredProvider { stored, default } = provider::store(setup, target, key, tried)?;
    terminal::note(&say!("setup-answered", seconds, models = tried.models, model = default));
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
        true => read_hidden(&say!("setup-ask-key", provider = target.name)),
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
