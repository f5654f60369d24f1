//! Help: the command line with texts in the language of the process, grouped options and examples, and its man pages.
//! English comes from the doc comments in `args.rs`; other languages replace them with catalog texts, keyed by the names
//! of commands and flags.

mod examples;
mod groups;
mod usage;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches, Parser};
use posse_core::Result;
use posse_mcp::files::unwritable;
use posse_messages::{Language, find, language, say};

pub use usage::fail;

use crate::args::{CliArgs, HelpArgs};
use crate::terminal;

/// Parses the command line. Only a mistake or a question pays for texts: it is parsed again with them.
pub fn parse(words: &[OsString]) -> Result<CliArgs, clap::Error> {
    CliArgs::try_parse_from(words).or_else(|_| {
        let matches = command().try_get_matches_from(words)?;
        CliArgs::from_arg_matches(&matches)
    })
}

/// Returns the whole command line with its texts.
pub fn command() -> Command {
    dressed(CliArgs::command(), ROOT, HelpHeadings::new())
}

/// Shows the help of a command, or writes the man pages.
pub fn run(args: &HelpArgs) -> Result<ExitCode> {
    if let Some(directory) = &args.man {
        return write_man_pages(directory);
    }
    let words = std::iter::once("posse").chain(args.topic.iter().map(String::as_str)).chain(["--help"]);
    let words: Vec<OsString> = words.map(OsString::from).collect();
    match parse(&words) {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(e) => fail(&e, &words),
    }
}

/// Prints the help of `posse` itself to standard error, for a command line that asks for nothing.
pub fn show_short() {
    terminal::note(command().render_help().to_string().trim_end());
}

fn write_man_pages(directory: &Path) -> Result<ExitCode> {
    let failed = |e: std::io::Error| unwritable(directory).caused_by(e).hint(say!("check-writable-here"));
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(command().disable_help_subcommand(true), directory).map_err(failed)?;
    terminal::note(&say!("man-pages-written", directory = directory.display()));
    Ok(ExitCode::SUCCESS)
}

/// Catalog key of the root command; its subcommands append their names.
const ROOT: &str = "help";

/// Headings with a static lifetime, which clap needs. The command line is built once per process.
#[derive(Clone, Copy)]
struct HelpHeadings {
    commands: &'static str,
    arguments: &'static str,
    options: &'static str,
    global: &'static str,
    model: &'static str,
    rights: &'static str,
    limits: &'static str,
    examples: &'static str,
}

impl HelpHeadings {
    fn new() -> Self {
        Self {
            commands: say!("usage-commands").leak(),
            arguments: say!("usage-arguments").leak(),
            options: say!("usage-options").leak(),
            global: say!("usage-global").leak(),
            model: say!("usage-model").leak(),
            rights: say!("usage-rights").leak(),
            limits: say!("usage-limits").leak(),
            examples: say!("usage-examples").leak(),
        }
    }

    /// Returns the heading of an argument. Commands with few options need no groups.
    fn of(self, command: &str, arg: &Arg) -> &'static str {
        const GROUPED: &[&str] = &["help-run", "help-chat", "help-review", "help-mcp"];
        let is_grouped = GROUPED.contains(&command);
        match arg.get_id().as_str() {
            _ if arg.is_positional() => self.arguments,
            _ if arg.is_global_set() && arg.get_id() != "session" => self.global,
            "model" | "effort" | "no_stream" | "record" | "replay" if is_grouped => self.model,
            "mode" | "allow" | "read_only" | "write" | "approvals" | "trust" | "isolation" if is_grouped => {
                self.rights
            }
            "max_turns" | "timeout" | "max_cost" if is_grouped => self.limits,
            _ => self.options,
        }
    }
}

/// Gives a command its texts; `key` is its catalog key, such as `help-tasks-list` for `posse tasks list`.
fn dressed(command: Command, key: &str, headings: HelpHeadings) -> Command {
    let usage = say!("usage-heading");
    let template = format!("{{about-with-newline}}\n{usage} {{usage}}\n\n{{all-args}}{{after-help}}");
    let mut command = command
        .help_template(template)
        .subcommand_help_heading(headings.commands)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .mut_args(|arg| {
            let heading = headings.of(key, &arg);
            let text = translation(key, arg.get_id().as_str());
            let arg = arg.help_heading(heading);
            match text {
                Some(text) => arg.help(text),
                None => arg,
            }
        })
        .mut_subcommands(|sub| {
            let key = format!("{key}-{}", sub.get_name());
            dressed(sub, &key, headings)
        });
    if language() != Language::English
        && let Some(about) = find(language(), key, &[])
    {
        command = command.about(about);
    }
    if let Some(examples) = examples::of(key, headings.examples) {
        command = command.after_help(examples);
    }
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help(say!("usage-help"));
    let version =
        Arg::new("version").short('V').long("version").action(ArgAction::Version).help(say!("usage-version"));
    let command = command.arg(help.help_heading(headings.global)).arg(version.help_heading(headings.global));
    match key {
        // The first page lists commands by what they are for.
        ROOT => {
            let (listed, global) = (groups::listed(&command), groups::heading(headings.global));
            command.help_template(format!(
                "{{about-with-newline}}\n{usage} {{usage}}\n\n{listed}{global}\n{{options}}{{after-help}}"
            ))
        }
        _ => command,
    }
}

/// Finds a flag's translation: under its command, or else the text shared by all commands.
fn translation(command: &str, id: &str) -> Option<String> {
    if language() == Language::English {
        return None;
    }
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
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
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
    fn a_command_line_with_texts_is_still_a_sound_one() {
        command().debug_assert();
    }

    fn keys_of(command: &Command, key: &str, found: &mut BTreeSet<String>) {
        found.insert(key.to_owned());
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            keys_of(sub, &format!("{key}-{}", sub.get_name()), found);
        }
    }

    #[test]
    fn every_command_has_examples_that_can_be_parsed() {
        let mut keys = BTreeSet::new();
        keys_of(&CliArgs::command(), ROOT, &mut keys);
        assert_eq!(examples::keys(), keys, "each command has examples, and only commands have them");
        for key in &keys {
            let lines = examples::lines(key);
            assert!((1..=3).contains(&lines.len()), "{key}: {lines:?}");
            for line in lines {
                // A pipe or a redirection is the shell's, as are the quotes around words.
                let command = line.rsplit(" | ").next().unwrap_or_default();
                let command = command.split(['>', '<']).next().unwrap_or_default().trim_end();
                let mut quoted = false;
                let words: Vec<String> = command
                    .split(['"', '\''])
                    .flat_map(|part| {
                        quoted = !quoted;
                        let words = if quoted { part.split_whitespace().collect() } else { vec![part] };
                        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
                    })
                    .collect();
                assert_eq!(words[0], "posse", "{line}");
                if words.len() > 1 {
                    assert!(CliArgs::try_parse_from(words).is_ok(), "{line}");
                }
            }
        }
    }
}
