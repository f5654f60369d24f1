//! Whether a command is one that a pattern means. A pattern that gives means what it says and nothing that hides behind it;
//! one that takes away also means what looks different and is the same.

use super::hidden::{HiddenEffect, HiddenKind, base_name, hidden, is_option};
use super::{PatternFit, command_ends, command_fits, line, wildcard};
use crate::grant::shell;

/// Longest command that is analyzed. Beyond it every word could begin a command; deny patterns are matched against
/// all of them.
const WORDS_MAX: usize = 200;

/// Deepest nesting of shells that is analyzed.
const SHELLS_MAX: usize = 4;

/// For a pattern that gives.
pub fn given(pattern: &str, words: &[String]) -> PatternFit {
    if !command_fits(pattern, &line(words)) {
        return PatternFit::Not;
    }
    match hidden(words) {
        Some(hidden) if !spells(pattern, &hidden) => PatternFit::Perhaps,
        Some(_) | None => PatternFit::Surely,
    }
}

/// Tells whether the pattern itself spells out the hidden effect, as `xargs *` or `git -c *` do.
fn spells(pattern: &str, hidden: &HiddenEffect<'_>) -> bool {
    let mut literal = pattern.split_whitespace().take_while(|word| !word.contains('*'));
    match hidden.at {
        _ if hidden.kind == HiddenKind::Input => !pattern.contains('*'),
        0 => literal.next().is_some_and(|first| base_name(first) == base_name(hidden.word)),
        _ => literal.skip(1).any(|word| word == hidden.word || is_option(hidden.word, word)),
    }
}

/// For a pattern that takes away: if it might fit, that is said.
pub fn taken(pattern: &str, words: &[String]) -> PatternFit {
    taken_within(pattern, words, SHELLS_MAX)
}

/// The same for a line that is not understood: every piece of it has its turn, and what is left is a doubt.
pub fn taken_of_pieces(pattern: &str, pieces: &[Vec<String>]) -> PatternFit {
    let is_taken = |words: &Vec<String>| taken(pattern, words) == PatternFit::Surely;
    if pieces.iter().any(is_taken) { PatternFit::Surely } else { PatternFit::Perhaps }
}

fn taken_within(pattern: &str, words: &[String], shells: usize) -> PatternFit {
    if words.is_empty() {
        return PatternFit::Perhaps;
    }
    if fits(pattern, words, CommandStart::Here) {
        return PatternFit::Surely;
    }
    let Some(HiddenEffect { kind, at, .. }) = hidden(words) else { return PatternFit::Not };
    // Which of the words is the program depends on options that only the other program knows.
    let behind = || behind(pattern, &words[at + 1..], shells);
    match kind {
        HiddenKind::File => PatternFit::Not,
        HiddenKind::Words if at == 0 => behind(),
        HiddenKind::Words | HiddenKind::MoreWords | HiddenKind::Text | HiddenKind::Input => {
            behind().max(PatternFit::Perhaps)
        }
        HiddenKind::Shell => of_shell(pattern, &words[1..], shells),
    }
}

/// One of these words begins a command.
fn behind(pattern: &str, words: &[String], shells: usize) -> PatternFit {
    if fits(pattern, words, CommandStart::Anywhere) {
        return PatternFit::Surely;
    }
    if words.len() > WORDS_MAX {
        return PatternFit::Perhaps;
    }
    let one = |at: usize| match hidden(&words[at..]).map(|hidden| hidden.kind) {
        Some(HiddenKind::Shell) => of_shell(pattern, &words[at + 1..], shells),
        Some(HiddenKind::Text | HiddenKind::Input | HiddenKind::MoreWords) => PatternFit::Perhaps,
        // What these run is among the words as well.
        Some(HiddenKind::Words | HiddenKind::File) | None => PatternFit::Not,
    };
    (0..words.len()).map(one).max().unwrap_or(PatternFit::Not)
}

/// `sh -c text`: the text is a line like any other. What comes from elsewhere is a doubt.
fn of_shell(pattern: &str, arguments: &[String], shells: usize) -> PatternFit {
    let is_flag = |word: &&String| word.starts_with(['-', '+']);
    let has_text =
        arguments.iter().take_while(is_flag).any(|flag| !flag.starts_with("--") && flag.contains('c'));
    let Some(text) = arguments.iter().find(|word| !is_flag(word)).filter(|_| has_text && shells > 0) else {
        return PatternFit::Perhaps;
    };
    match shell::commands(text) {
        Ok(commands) => commands
            .iter()
            .map(|words| taken_within(pattern, words, shells - 1))
            .max()
            .unwrap_or(PatternFit::Perhaps),
        Err(_) => taken_of_pieces(pattern, &shell::pieces(text)),
    }
}

/// Position of the command within the words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandStart {
    Here,
    /// At any of the words.
    Anywhere,
}

fn fits(pattern: &str, words: &[String], start: CommandStart) -> bool {
    let base = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let named: Vec<String> = match start {
        CommandStart::Here => words
            .iter()
            .enumerate()
            .map(|(at, word)| if at == 0 { base(word) } else { word.clone() })
            .collect(),
        CommandStart::Anywhere => words.iter().map(base).collect(),
    };
    let as_text = |words: &[String]| match start {
        CommandStart::Here => command_fits(pattern, &line(words)),
        CommandStart::Anywhere => command_ends(pattern, &line(words)),
    };
    as_text(words) || as_text(&named) || with_flags(pattern, &named, start)
}

/// As if flags, each with or without a value, were not there: `git -C . push` is `git push`.
fn with_flags(pattern: &str, words: &[String], start: CommandStart) -> bool {
    let pattern: Vec<&str> = pattern.split_whitespace().collect();
    let (wanted, open) = match pattern.split_last() {
        Some((&"*", wanted)) => (wanted, true),
        _ => (pattern.as_slice(), false),
    };
    // reachable[i]: what is wanted so far may end before word i.
    let mut reachable = vec![start == CommandStart::Anywhere; words.len() + 1];
    reachable[0] = true;
    for wanted in wanted {
        let mut next = vec![false; words.len() + 1];
        for (at, word) in words.iter().enumerate().filter(|(at, _)| reachable[*at]) {
            next[at + 1] = wildcard(wanted, word);
        }
        skip_flags(words, &mut next);
        reachable = next;
    }
    if open { reachable.contains(&true) } else { reachable[words.len()] }
}

fn skip_flags(words: &[String], reachable: &mut [bool]) {
    for (at, word) in words.iter().enumerate() {
        // `+nightly` is cargo's way.
        if reachable[at] && word.starts_with(['-', '+']) {
            reachable[at + 1] = true;
            if let Some(after_value) = reachable.get_mut(at + 2) {
                *after_value = true;
            }
        }
    }
}
