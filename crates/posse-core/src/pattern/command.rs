//! Whether a command might be one that a pattern denies. A guard rail, not a wall: it sees through what people and
//! models write without thinking, and a program that runs another one is beyond it.

use super::{command_fits, line, wildcard};

/// Programs that run what comes after them, with options of their own.
const WRAPPERS: &[&str] = &[
    "env", "command", "nohup", "time", "exec", "builtin", "sudo", "doas", "nice", "ionice", "timeout",
    "stdbuf", "setsid", "xargs", "busybox", "watch",
];

/// Programs that run a text. With a script instead they are what their words say.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "fish"];

/// More words than this after a wrapper are not looked through.
const WRAPPED_WORDS_MAX: usize = 64;

/// If it might fit, it fits.
pub fn might_fit(pattern: &str, words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return true };
    let program = base_name(program);
    if program == "eval" || (SHELLS.contains(&program) && runs_text(arguments)) {
        return true;
    }
    if fits_here(pattern, words) {
        return true;
    }
    // Which of the words is the program depends on options that only the wrapper knows.
    WRAPPERS.contains(&program)
        && (arguments.len() > WRAPPED_WORDS_MAX
            || (0..arguments.len()).any(|at| might_fit_alone(pattern, &arguments[at..])))
}

/// The same without looking for wrappers again: every word has its turn anyway.
fn might_fit_alone(pattern: &str, words: &[String]) -> bool {
    let program = base_name(&words[0]);
    program == "eval" || (SHELLS.contains(&program) && runs_text(&words[1..])) || fits_here(pattern, words)
}

/// `sh -c text`, or a text from standard input.
fn runs_text(arguments: &[String]) -> bool {
    arguments.first().is_none_or(|first| first.starts_with('-'))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn fits_here(pattern: &str, words: &[String]) -> bool {
    let mut named = words.to_vec();
    named[0] = base_name(&words[0]).to_owned();
    command_fits(pattern, &line(words)) || command_fits(pattern, &line(&named)) || with_flags(pattern, &named)
}

/// As if flags, each with or without a value, were not there: `git -C . push` is `git push`.
fn with_flags(pattern: &str, words: &[String]) -> bool {
    let pattern: Vec<&str> = pattern.split_whitespace().collect();
    let (wanted, open) = match pattern.split_last() {
        Some((&"*", wanted)) => (wanted, true),
        _ => (pattern.as_slice(), false),
    };
    // reachable[i]: what is wanted so far may end before word i.
    let mut reachable = vec![false; words.len() + 1];
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
