//! Localized command line. English comes from the doc comments in `args.rs`; other languages replace them with
//! catalog texts, keyed by the names of commands and flags.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches, Parser};
use posse_messages::{Language, find, language, say};

use crate::args::CliArgs;

pub fn parse() -> Result<CliArgs, clap::Error> {
    let words = without_help(std::env::args_os().collect());
    match language() {
        Language::English => CliArgs::try_parse_from(words),
        _ => {
            let matches =
                translated(CliArgs::command(), "help", HelpHeadings::new()).try_get_matches_from(words)?;
            CliArgs::from_arg_matches(&matches)
        }
    }
}

/// Rewrites `posse help tasks list` to `posse tasks list --help`.
fn without_help(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// Translates a usage error; `None` in English and for kinds without a translation.
pub fn complaint(error: &clap::Error) -> Option<String> {
    if language() == Language::English {
        return None;
    }
    let named = |kind| error.get(kind).map(ContextValue::to_string);
    let argument = || named(ContextKind::InvalidArg);
    Some(match error.kind() {
        ErrorKind::UnknownArgument => say!("usage-unknown-argument", argument = argument()?),
        ErrorKind::InvalidSubcommand => {
            say!("usage-unknown-command", command = named(ContextKind::InvalidSubcommand)?)
        }
        ErrorKind::MissingRequiredArgument => say!("usage-missing", arguments = argument()?),
        ErrorKind::ArgumentConflict => {
            say!("usage-conflict", argument = argument()?, other = named(ContextKind::PriorArg)?)
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = named(ContextKind::InvalidValue)?;
            match (value.is_empty(), std::error::Error::source(error)) {
                (true, _) => say!("usage-value-missing", argument = argument()?),
                (false, Some(why)) => say!("usage-value-wrong", value, argument = argument()?, why),
                (false, None) => say!("usage-value-unknown", value, argument = argument()?),
            }
        }
        _ => return None,
    })
}

/// Headings with a static lifetime, which clap needs. The command line is built once per process.
#[derive(Clone, Copy)]
struct HelpHeadings {
    commands: &'static str,
    arguments: &'static str,
    options: &'static str,
}

impl HelpHeadings {
    fn new() -> Self {
        Self {
            commands: say!("usage-commands").leak(),
            arguments: say!("usage-arguments").leak(),
            options: say!("usage-options").leak(),
        }
    }
}

/// Translates a command; `key` is its catalog key, such as `help-tasks-list` for `posse tasks list`.
fn translated(command: Command, key: &str, headings: HelpHeadings) -> Command {
    let template =
        format!("{{about-with-newline}}\n{} {{usage}}\n\n{{all-args}}{{after-help}}", say!("usage-heading"));
    let mut command = command
        .help_template(template)
        .subcommand_help_heading(headings.commands)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .mut_args(|arg| {
            let text = text_of(key, arg.get_id().as_str());
            let heading = if arg.is_positional() { headings.arguments } else { headings.options };
            let arg = arg.help_heading(heading);
            match text {
                Some(text) => arg.help(text),
                None => arg,
            }
        })
        .mut_subcommands(|sub| {
            let key = format!("{key}-{}", sub.get_name());
            translated(sub, &key, headings)
        });
    if let Some(about) = find(language(), key, &[]) {
        command = command.about(about);
    }
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help(say!("usage-help"));
    let version =
        Arg::new("version").short('V').long("version").action(ArgAction::Version).help(say!("usage-version"));
    command.arg(help.help_heading(headings.options)).arg(version.help_heading(headings.options))
}

/// Finds a flag's text: under its command, or else the text shared by all commands.
fn text_of(command: &str, id: &str) -> Option<String> {
    let id = id.replace('_', "-");
    find(language(), &format!("{command}_{id}"), &[]).or_else(|| find(language(), &format!("help_{id}"), &[]))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use posse_messages::entries;

    use super::*;

    /// Every text with the keys that may name it, the more special one first.
    fn texts(command: &Command, key: &str, found: &mut Vec<(Vec<String>, String)>) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        found.push((vec![key.to_owned()], about));
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str().replace('_', "-");
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            found.push((vec![format!("{key}_{id}"), format!("help_{id}")], help));
        }
        for sub in command.get_subcommands() {
            texts(sub, &format!("{key}-{}", sub.get_name()), found);
        }
    }

    #[test]
    fn the_catalogue_says_what_the_doc_comments_say() {
        let catalogue: BTreeMap<&str, &str> =
            entries(Language::English, "help").lines().filter_map(|line| line.split_once(" = ")).collect();
        let mut found = Vec::new();
        texts(&CliArgs::command(), "help", &mut found);
        let mut unused: BTreeSet<&str> = catalogue.keys().copied().collect();
        let mut wrong = Vec::new();
        for (keys, text) in &found {
            let key = keys.iter().find(|key| catalogue.contains_key(key.as_str()));
            unused.retain(|known| Some(*known) != key.map(String::as_str));
            if key.is_none_or(|key| catalogue[key.as_str()] != text) {
                wrong.push(format!("{} = {text}", keys[0]));
            }
        }
        assert_eq!(wrong, [""; 0], "put these into locales/en/help.ftl, and their translations beside it");
        assert_eq!(unused, BTreeSet::new(), "nothing is called like this");
    }

    #[test]
    fn a_translated_command_line_is_still_a_sound_one() {
        translated(CliArgs::command(), "help", HelpHeadings::new()).debug_assert();
    }
}
