//! Completion in a shell: the scripts of `posse completions`, and the candidates that they ask for. Names come from the
//! files, the configuration and the store of the directory that the shell is in; nothing is created and nothing asked.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use posse_core::Result;
use posse_core::text::{prefix, visible};
use posse_models::catalogue::known_models;
use posse_models::providers::KNOWN;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{ContextStore, JournalStore, TaskQuery};
use posse_terminal::complete::{HELP_BYTES_MAX, joined, line};

use crate::args::{CliArgs, CompleteArgs, GlobalArgs};
use crate::config_edit::SETTINGS;
use crate::setup::{self, Setup};
use crate::terminal;

/// Hidden command that the scripts call.
pub const COMMAND: &str = "__complete";
/// Maximum number of tasks and sessions to offer, the newest ones.
const NEWEST_MAX: u32 = 50;
/// Prints the completion script of a shell.
pub fn script(shell: Shell) -> ExitCode {
    let text = match shell {
        Shell::Bash => include_str!("complete/posse.bash").to_owned(),
        Shell::Zsh => include_str!("complete/posse.zsh").to_owned(),
        Shell::Fish => include_str!("complete/posse.fish").to_owned(),
        other => {
            // Into a buffer first: the generator panics when standard output is closed.
            let mut script = Vec::new();
            clap_complete::generate(other, &mut CliArgs::command(), "posse", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    terminal::out(text.trim_end());
    ExitCode::SUCCESS
}

/// Prints the candidates for one word of a command line, one per line.
pub fn run(global: &GlobalArgs, args: CompleteArgs) -> Result<ExitCode> {
    let CompleteArgs { shell, index, words } = args;
    let (words, index) = match shell {
        Shell::Bash => joined(words, index),
        _ => (words, index),
    };
    let current = words.get(index).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let mut command = with_candidates(CliArgs::command(), "", &of_line(global, &words));
    let here = std::env::current_dir().ok();
    let found = clap_complete::engine::complete(&mut command, words, index, here.as_deref());
    let mut found = found.unwrap_or_default();
    found.retain(|candidate| !candidate.is_hide_set());
    // Flags are for those who type a dash, unless there is nothing else.
    let is_flag =
        |candidate: &CompletionCandidate| candidate.get_value().as_encoded_bytes().starts_with(b"-");
    if !current.starts_with('-') && !found.iter().all(is_flag) {
        found.retain(|candidate| !is_flag(candidate));
    }
    for candidate in &found {
        terminal::out(&line(shell, candidate, &current));
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the flags that decide where to look: the line to complete may name a configuration or a store.
fn of_line(global: &GlobalArgs, words: &[OsString]) -> GlobalArgs {
    let value = |flag: &str| {
        let at = words.iter().position(|word| word == flag)?;
        words.get(at + 1).map(Into::into)
    };
    let mut global = global.clone();
    global.config = value("--config").or(global.config);
    global.state = value("--state").or(global.state);
    global
}

/// Tells the arguments of a command what they may be called; `path` is the command with its parents.
fn with_candidates(command: Command, path: &str, global: &GlobalArgs) -> Command {
    command
        .mut_args(|arg| match source(path, &arg) {
            Some(source) => {
                let global = global.clone();
                arg.add(ArgValueCandidates::new(move || source(&global)))
            }
            None => arg,
        })
        .mut_subcommands(|sub| {
            let path = format!("{path} {}", sub.get_name()).trim_start().to_owned();
            with_candidates(sub, &path, global)
        })
}

type CandidateSource = fn(&GlobalArgs) -> Vec<CompletionCandidate>;

fn source(path: &str, arg: &Arg) -> Option<CandidateSource> {
    let in_tasks = path.starts_with("tasks") || path.starts_with("leases");
    Some(match arg.get_id().as_str() {
        "model" => models,
        "agent" => agents,
        "name" | "names" | "which" if path.starts_with("agents") || path == "trust" => agents,
        "task" | "tasks" if in_tasks || path == "worker" || path == "top" => tasks,
        "resume" if path == "chat" => tasks,
        "session" => sessions,
        "key" if path.starts_with("config") => settings,
        "provider" => providers,
        _ => return None,
    })
}

fn candidate(value: impl Into<OsString>, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(visible(help).replace('\n', " ").into()))
}

fn agents(global: &GlobalArgs) -> Vec<CompletionCandidate> {
    let Ok(setup) = Setup::load(global) else { return Vec::new() };
    let snapshot = setup.snapshot();
    let described = |name: &str| {
        let definition = snapshot.find(name).ok()?;
        Some(prefix(&definition.description, HELP_BYTES_MAX).to_owned())
    };
    let names = snapshot.entries().iter().map(|entry| entry.name.clone());
    names.map(|name| candidate(name.clone(), &described(&name).unwrap_or_default())).collect()
}

/// Offers aliases, models that the configuration names, and those of the price table whose provider is set up.
fn models(global: &GlobalArgs) -> Vec<CompletionCandidate> {
    let Ok(setup) = Setup::load(global) else { return Vec::new() };
    let config = &setup.config.models;
    let mut names: Vec<String> = config.aliases.keys().cloned().collect();
    names.extend(config.model.clone());
    names.extend(config.fallback_models.iter().cloned());
    names.extend(config.prices.keys().filter(|name| name.contains(':') && !name.contains('*')).cloned());
    for known in KNOWN.iter().filter(|known| config.is_set_up(known, &crate::setup::process_env)) {
        names.extend(known_models(known.name).map(|model| format!("{}:{model}", known.name)));
    }
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| candidate(name, "")).collect()
}

fn settings(_: &GlobalArgs) -> Vec<CompletionCandidate> {
    SETTINGS.iter().map(|key| candidate(*key, "")).collect()
}

fn providers(_: &GlobalArgs) -> Vec<CompletionCandidate> {
    KNOWN.iter().map(|known| candidate(known.name, "")).collect()
}

fn tasks(global: &GlobalArgs) -> Vec<CompletionCandidate> {
    from_store(global, async |store| {
        let rows = store.find_tasks(TaskQuery { limit: NEWEST_MAX, ..TaskQuery::default() }).await?;
        Ok(rows.iter().map(|row| candidate(row.id.as_str(), &row.title)).collect())
    })
}

fn sessions(global: &GlobalArgs) -> Vec<CompletionCandidate> {
    from_store(global, async |store| {
        let sessions = store.sessions(NEWEST_MAX, now_ms()).await?;
        Ok(sessions.iter().map(|session| candidate(&session.id, &session.workspace)).collect())
    })
}

/// Reads candidates from the store, if there is one.
fn from_store(
    global: &GlobalArgs,
    read: impl AsyncFnOnce(&posse_store::SqliteStore) -> Result<Vec<CompletionCandidate>>,
) -> Vec<CompletionCandidate> {
    let Some(store) = setup::existing_store(global) else { return Vec::new() };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    runtime.block_on(read(&store)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_printed_for_each_shell_and_calls_the_hidden_command() {
        for script in [
            include_str!("complete/posse.bash"),
            include_str!("complete/posse.zsh"),
            include_str!("complete/posse.fish"),
        ] {
            assert!(script.contains(&format!("posse {COMMAND} ")), "{script}");
        }
    }
}
