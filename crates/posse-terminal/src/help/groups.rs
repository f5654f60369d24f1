//! Commands on the first page of the help, grouped by what they are for.

use clap::Command;
use posse_messages::say;

use crate::style::columns;

/// Columns of a line, as in the rest of the help.
const WIDTH: usize = 100;

/// Commands that do work.
const WORK: &[&str] = &["run", "chat", "review", "demo"];
/// Commands that show what was done.
const LOOK: &[&str] = &["tasks", "top", "approvals", "context", "sessions", "leases", "cost"];
/// Commands that set something up.
const CONFIGURE: &[&str] =
    &["setup", "models", "config", "init", "agents", "trust", "servers", "doctor", "completions", "help"];

/// Lists the commands under the headings of their groups; what is in none of them serves others.
pub fn listed(command: &Command) -> String {
    let all: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    let name_columns = all.iter().map(|sub| columns(sub.get_name())).max().unwrap_or(0);
    let of = |names: &[&str]| -> Vec<&Command> {
        names.iter().filter_map(|name| all.iter().find(|sub| sub.get_name() == *name).copied()).collect()
    };
    let is_rest =
        |sub: &&Command| ![WORK, LOOK, CONFIGURE].iter().any(|group| group.contains(&sub.get_name()));
    let groups = [
        (say!("usage-work"), of(WORK)),
        (say!("usage-look"), of(LOOK)),
        (say!("usage-configure"), of(CONFIGURE)),
        (say!("usage-serve"), all.iter().copied().filter(is_rest).collect()),
    ];
    let mut text = String::new();
    for (title, commands) in groups.iter().filter(|(_, commands)| !commands.is_empty()) {
        text.push_str(&heading(title));
        text.push('\n');
        commands.iter().for_each(|sub| text.push_str(&entry(sub, name_columns)));
        text.push('\n');
    }
    text
}

/// Formats a heading as clap does.
pub fn heading(title: &str) -> String {
    let style = clap::builder::Styles::styled();
    let header = style.get_header();
    format!("{header}{title}:{header:#}")
}

/// Formats a command with what it does, wrapped below its beginning.
fn entry(sub: &Command, name_columns: usize) -> String {
    let styles = clap::builder::Styles::styled();
    let (literal, name) = (styles.get_literal(), sub.get_name());
    let gap = " ".repeat(name_columns - columns(name) + 2);
    let indent = name_columns + 4;
    let mut text = format!("  {literal}{name}{literal:#}{gap}");
    let mut used = indent;
    let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
    for (number, word) in about.split(' ').enumerate() {
        let width = columns(word);
        if number > 0 && used + 1 + width > WIDTH {
            text.push_str(&format!("\n{}", " ".repeat(indent)));
            used = indent;
        } else if number > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += width;
    }
    text.push('\n');
    text
}
