//! Help: a command line with texts in the language of the process, grouped options and examples, and its usage errors.
//! English comes from the doc comments of the command line; other languages replace them with catalog texts, keyed by the names
//! of commands and flags.

pub mod examples;
mod groups;
mod usage;

use clap::{Arg, ArgAction, Command};
use posse_messages::{Language, find, language, say};

pub use usage::complaint;

/// Catalog key of the root command; its subcommands append their names.
pub const ROOT: &str = "help";

/// Gives a whole command line its texts.
pub fn with_texts(command: Command) -> Command {
    dressed(command, ROOT, HelpHeadings::new())
}

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
        const GROUPED: &[&str] = &["help-run", "help-chat", "help-review", "help-mcp", "help-serve"];
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
