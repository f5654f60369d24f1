//! The command line, its texts and its examples agree.

use std::collections::{BTreeMap, BTreeSet};

use posse_messages::{Language, entries};

use posse_terminal::help::{ROOT, examples};

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
