//! Completion: words as shells send them, and candidates as their scripts read them.

use std::ffi::OsString;

use clap_complete::Shell;
use clap_complete::engine::CompletionCandidate;
use posse_core::text::prefix;

/// Longest description beside a candidate.
pub const HELP_BYTES_MAX: usize = 60;

/// Joins the words that bash splits at `:` and `=`, as in `anthropic:claude` and `--model=x`.
pub fn joined(words: Vec<OsString>, index: usize) -> (Vec<OsString>, usize) {
    let is_break = |word: &OsString| word == ":" || word == "=" || word == "::";
    let mut all: Vec<OsString> = Vec::new();
    let mut at = 0;
    let mut glue = false;
    for (number, word) in words.into_iter().enumerate() {
        let breaks = is_break(&word);
        match all.last_mut() {
            Some(last) if (breaks && number > 1) || glue => last.push(&word),
            _ => all.push(word),
        }
        glue = breaks;
        if number <= index {
            at = all.len() - 1;
        }
    }
    (all, at)
}

/// Formats a candidate as the script of the shell reads it.
pub fn line(shell: Shell, candidate: &CompletionCandidate, current: &str) -> String {
    let value = candidate.get_value().to_string_lossy();
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let help = prefix(help.lines().next().unwrap_or_default(), HELP_BYTES_MAX);
    match shell {
        // Bash replaces only what follows the last character that it breaks words at.
        Shell::Bash => {
            let kept = current.rfind([':', '=']).map_or(0, |at| at + 1);
            value.get(kept..).unwrap_or(&value).to_owned()
        }
        Shell::Zsh => format!("{}:{help}", value.replace('\\', r"\\").replace(':', r"\:")),
        _ => format!("{value}\t{help}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_bash_split_are_joined_again() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, index, joined_line, at) in [
            ("posse run --model anthropic : cl", 5, "posse run --model anthropic:cl", 3),
            ("posse run --model = anthropic : cl x", 6, "posse run --model=anthropic:cl x", 2),
            ("posse run --model anthropic :", 4, "posse run --model anthropic:", 3),
            ("posse tasks show k3", 3, "posse tasks show k3", 3),
        ] {
            assert_eq!(joined(words(line), index), (words(joined_line), at), "{line}");
        }
    }
}
