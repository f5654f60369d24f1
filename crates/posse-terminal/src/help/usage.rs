//! Usage errors: what is wrong with a command line, and the line that was probably meant.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use posse_core::text::{nearest, prefix, visible};
use posse_core::{Error, ErrorCode};
use posse_messages::say;

/// Longest command line that is repeated in a hint.
const REPEATED_BYTES_MAX: usize = 400;

/// Says a usage error in the language of the process; `None` for help and version, which are no errors, and for a
/// command that needs a subcommand, which shows its help.
pub fn complaint(e: &clap::Error, words: &[OsString], root: &Command) -> Option<Error> {
    let words: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let path = command_path(&words, root);
    let named = |kind| e.get(kind).map(ContextValue::to_string);
    let argument = || named(ContextKind::InvalidArg).unwrap_or_default();
    let value = || named(ContextKind::InvalidValue).unwrap_or_default();
    let problem = match e.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::UnknownArgument => say!("usage-unknown-argument", argument = argument()),
        ErrorKind::InvalidSubcommand => {
            let command = named(ContextKind::InvalidSubcommand).unwrap_or_default();
            say!("usage-unknown-command", command = prefix(&command, REPEATED_BYTES_MAX))
        }
        ErrorKind::MissingRequiredArgument => say!("usage-missing", arguments = argument()),
        ErrorKind::ArgumentConflict => {
            let other = named(ContextKind::PriorArg).unwrap_or_default();
            match argument() {
                argument if argument == other => say!("usage-twice", argument),
                argument => say!("usage-conflict", argument, other),
            }
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            match (value().is_empty(), std::error::Error::source(e)) {
                (true, _) => say!("usage-value-missing", argument = argument()),
                (false, Some(why)) => {
                    say!("usage-value-wrong", value = value(), argument = argument(), why)
                }
                (false, None) => say!("usage-value-unknown", value = value(), argument = argument()),
            }
        }
        _ => {
            let said = e.to_string();
            let first = said.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    };
    let hint = near(e, &words, &path, root);
    let hint = hint.unwrap_or_else(|| say!("usage-help-hint", command = path.join(" ")));
    Some(Error::new(ErrorCode::InvalidRequest, problem).hint(hint))
}

/// Says what was probably meant.
fn near(e: &clap::Error, words: &[String], path: &[String], root: &Command) -> Option<String> {
    let named = |kind| e.get(kind).map(first_of);
    match e.kind() {
        ErrorKind::InvalidSubcommand => {
            let unknown = named(ContextKind::InvalidSubcommand).unwrap_or_default();
            suggestion(&unknown, alike(&unknown, path, root).as_deref(), words, path)
        }
        ErrorKind::UnknownArgument => {
            let unknown = named(ContextKind::InvalidArg).unwrap_or_default();
            let near = flag_alike(&unknown, path, root).or_else(|| named(ContextKind::SuggestedArg));
            near.map(|name| say!("usage-did-you-mean", name))
        }
        ErrorKind::InvalidValue => match e.get(ContextKind::ValidValue)? {
            ContextValue::Strings(all) => {
                let value = named(ContextKind::InvalidValue).unwrap_or_default();
                Some(match nearest(&value, all.iter().map(String::as_str)) {
                    Some(name) => say!("usage-did-you-mean", name),
                    None => say!("usage-values", names = all.join(", ")),
                })
            }
            _ => None,
        },
        _ => None,
    }
}

/// Finds the subcommand of `path` that is spelled nearly like this.
fn alike(unknown: &str, path: &[String], root: &Command) -> Option<String> {
    let command = command_at(path, root);
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    nearest(unknown, shown.map(Command::get_name)).map(str::to_owned)
}

/// Finds the flag of `path` that is spelled nearly like this.
fn flag_alike(unknown: &str, path: &[String], root: &Command) -> Option<String> {
    let unknown = unknown.strip_prefix("--")?;
    let command = command_at(path, root);
    let everywhere = root.get_arguments().filter(|arg| arg.is_global_set());
    let flags = command.get_arguments().chain(everywhere).filter(|arg| !arg.is_hide_set());
    let names: Vec<&str> = flags.filter_map(clap::Arg::get_long).collect();
    nearest(unknown, names).map(|name| format!("--{name}"))
}

/// Returns the whole line that was probably meant: a command that is spelled alike, or a task for `posse run`.
fn suggestion(unknown: &str, alike: Option<&str>, words: &[String], path: &[String]) -> Option<String> {
    let at = words.iter().position(|word| word == unknown)?;
    if let Some(alike) = alike {
        let mut line = words.to_vec();
        line[at] = alike.to_owned();
        return Some(say!("usage-did-you-mean", name = shell_line(&line)));
    }
    // Only `posse` itself is given tasks by mistake; a subcommand has few words to choose from. Who asks for help
    // names a command.
    let asks_for_help = words.iter().any(|word| matches!(word.as_str(), "help" | "--help" | "-h"));
    if path.len() > 1 || unknown.starts_with('-') || (asks_for_help && !unknown.contains(' ')) {
        return None;
    }
    let mut line = words.to_vec();
    line.insert(at, "run".to_owned());
    // Words without quotes are one task.
    let rest = line[at + 1..].iter().take_while(|word| !word.starts_with('-')).count();
    let task = line.splice(at + 1..at + 1 + rest, [String::new()]).collect::<Vec<_>>().join(" ");
    line[at + 1] = task;
    Some(say!("usage-run-it", command = shell_line(&line)))
}

/// Formats a command line of `posse` so that a shell reads it as these words.
fn shell_line(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    let quoted = |word: &String| match word {
        word if !word.is_empty() && word.chars().all(is_plain) => word.clone(),
        word if word.contains(['$', '`', '"', '\\', '!']) => format!("'{}'", word.replace('\'', r"'\''")),
        word => format!("\"{word}\""),
    };
    let line = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    format!("posse {}", visible(prefix(&line, REPEATED_BYTES_MAX)))
}

/// Returns the command that these words name, with `posse` before it.
fn command_path(words: &[String], root: &Command) -> Vec<String> {
    let mut command = root.clone();
    let mut path = vec!["posse".to_owned()];
    for word in words {
        if let Some(sub) = command.find_subcommand(word).cloned() {
            path.push(sub.get_name().to_owned());
            command = sub;
        }
    }
    path
}

/// Returns the command of a path that [`command_path`] made.
fn command_at(path: &[String], root: &Command) -> Command {
    let step = |command: Command, name: &String| command.find_subcommand(name).cloned().unwrap_or(command);
    path.iter().skip(1).fold(root.clone(), step)
}

fn first_of(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(all) => all.first().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_a_command_are_a_task_and_stay_quoted_as_a_shell_needs() {
        let line = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            suggestion(&words[0], None, &words, &["posse".to_owned()]).unwrap()
        };
        assert!(line(&["why is it flaky"]).ends_with("posse run \"why is it flaky\""));
        assert!(line(&["fix", "the", "test", "--json"]).ends_with("posse run \"fix the test\" --json"));
        assert!(line(&["what is $HOME, it's odd"]).ends_with(r"posse run 'what is $HOME, it'\''s odd'"));
    }
}
