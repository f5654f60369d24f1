//! A command line as far as it can be understood without a shell: words, quoted text without substitutions, and simple
//! commands joined by `|`, `&&`, `||` or `;`. Everything else is not understood, and says so.

/// Refusal of a line that is more than plain commands.
pub const UNCLEAR: &str = "only plain commands can be checked: words and quoted text, joined by |, &&, || or ;, without \
                           substitution, redirection or wildcards";
const EMPTY: &str = "the command is empty";
const VARIABLES: &str = "a command that sets variables cannot be checked";

/// Words that begin something other than a simple command.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select",
    "in", "function", "coproc",
];

/// Characters that mean themselves outside of quotes, beside letters and digits.
const PLAIN: &str = "_-./,:@%+=^";

/// The simple commands of a line, each with at least one word; or why they cannot be told.
pub fn commands(line: &str) -> Result<Vec<Vec<String>>, &'static str> {
    let mut lexer = ShellLexer::default();
    let mut chars = line.trim_matches([' ', '\t', '\n']).chars().peekable();
    if chars.peek().is_none() {
        return Err(EMPTY);
    }
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => lexer.end_word(),
            '\'' | '"' => lexer.quoted(c, &mut chars)?,
            ';' => lexer.end_command(CommandJoint::Semicolon)?,
            '|' => {
                chars.next_if_eq(&'|');
                lexer.end_command(CommandJoint::Operator)?;
            }
            '&' if chars.next_if_eq(&'&').is_some() => lexer.end_command(CommandJoint::Operator)?,
            _ if c.is_alphanumeric() || PLAIN.contains(c) => lexer.push(c),
            // `HEAD~1`; only at the beginning of a name does it stand for a home directory.
            '~' if lexer
                .word
                .as_ref()
                .is_some_and(|word| word.ends_with(|c: char| c.is_ascii_alphanumeric())) =>
            {
                lexer.push(c);
            }
            _ => return Err(UNCLEAR),
        }
    }
    lexer.finish()
}

/// Splits a line that is not understood into everything that could be a command, ignoring quotes and backslashes.
/// For deny patterns only; the line as a whole stays undecidable.
pub fn pieces(line: &str) -> Vec<Vec<String>> {
    let bare: String = line.replace("\\\n", "").chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let mut pieces = Vec::new();
    for piece in bare.split([';', '&', '|', '(', ')', '{', '}', '`', '\n', '\r', '!', '$', '\0', ',']) {
        let mut words: Vec<&str> = Vec::new();
        let mut skipped = false;
        // The word behind an arrow is a file; what comes after it goes on.
        for (at, part) in piece.split(['<', '>']).enumerate() {
            let mut part = part.split_whitespace();
            if at > 0 {
                skipped |= part.next().is_some();
            }
            words.extend(part);
        }
        let is_prefix = |word: &&&str| {
            RESERVED.contains(*word) || word.contains('=') || word.bytes().all(|b| b.is_ascii_digit())
        };
        let begin = words.iter().take_while(is_prefix).count();
        for words in [&words[..], &words[begin..]] {
            if !words.is_empty() {
                pieces.push(words.iter().map(|word| (*word).to_owned()).collect());
            }
        }
        if skipped {
            pieces.push(piece.replace(['<', '>'], " ").split_whitespace().map(str::to_owned).collect());
        }
    }
    pieces
}

#[derive(Default)]
struct ShellLexer {
    /// `Some` once a word has begun: quotes can make an empty one.
    word: Option<String>,
    command: Vec<String>,
    commands: Vec<Vec<String>>,
    last: Option<CommandJoint>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandJoint {
    /// Another command need not follow.
    Semicolon,
    Operator,
}

impl ShellLexer {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// Text in quotes is plain if nothing in it could stand for something else, in either kind of quotes.
    fn quoted(&mut self, quote: char, chars: &mut impl Iterator<Item = char>) -> Result<(), &'static str> {
        let word = self.word.get_or_insert_default();
        loop {
            match chars.next() {
                Some(c) if c == quote => return Ok(()),
                Some('$' | '`' | '\\' | '\0') | None => return Err(UNCLEAR),
                Some(c) => word.push(c),
            }
        }
    }

    fn end_word(&mut self) {
        self.command.extend(self.word.take());
    }

    fn end_command(&mut self, joint: CommandJoint) -> Result<(), &'static str> {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        let first = command.first().ok_or(UNCLEAR)?;
        if first.contains('=') {
            return Err(VARIABLES);
        }
        if first.is_empty() || RESERVED.contains(&first.as_str()) {
            return Err(UNCLEAR);
        }
        self.commands.push(command);
        self.last = Some(joint);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Vec<String>>, &'static str> {
        self.end_word();
        if !self.command.is_empty() || self.last != Some(CommandJoint::Semicolon) {
            self.end_command(CommandJoint::Operator)?;
        }
        Ok(self.commands)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<Vec<String>> {
        commands(line).unwrap_or_else(|why| panic!("{line}: {why}"))
    }

    #[test]
    fn plain_words_quotes_and_joints_are_understood() {
        assert_eq!(words("git  log\t-1"), [["git", "log", "-1"]]);
        assert_eq!(
            words("git commit -m \"It's done; really\""),
            [["git", "commit", "-m", "It's done; really"]]
        );
        assert_eq!(words("git log --format='%h %s' a'b'\"c\""), [["git", "log", "--format=%h %s", "abc"]]);
        assert_eq!(words("grep '' x"), [["grep", "", "x"]]);
        assert_eq!(words("git diff HEAD~1"), [["git", "diff", "HEAD~1"]]);
        assert_eq!(
            words("ls|head -1 && pwd || id; true;"),
            [vec!["ls"], vec!["head", "-1"], vec!["pwd"], vec!["id"], vec!["true"]]
        );
        assert_eq!(words("git commit -m 'two\nlines'\n"), [["git", "commit", "-m", "two\nlines"]]);
    }

    #[test]
    fn what_a_shell_would_act_on_is_not_understood() {
        for line in [
            "",
            " ",
            "a $b",
            "a `b`",
            "a $(b)",
            "a \"$b\"",
            "a '$b'",
            "a \\b",
            "a > b",
            "a < b",
            "a 2>&1",
            "a & b",
            "a &",
            "a |& b",
            "(a)",
            "{ a; }",
            "a *",
            "a ?",
            "a [b]",
            "a {b,c}",
            "~ a",
            "a ~/b",
            "a --c=~/b",
            "! a",
            "a # b",
            "a\nb",
            "a\rb",
            "a\u{b}b",
            "X=1 a",
            "'X=1' a",
            "a 'b",
            "a \"b",
            "a ;; b",
            "; a",
            "a && && b",
            "a |",
            "a &&",
            "'' a",
            "if a; then b; fi",
            "for a in b; do c; done",
            "a\u{a0}b",
            "a\0b",
        ] {
            assert!(commands(line).is_err(), "{line:?}: {:?}", commands(line));
        }
    }

    /// Runs a shell on the words and returns them, each behind a mark.
    fn as_the_shell_reads(line: &str) -> String {
        // Nothing can be written there, and a wildcard would find something.
        let output = Command::new("sh")
            .args(["-c", &format!("printf '<%s>' {line}")])
            .current_dir("/proc/self")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
        #[test]
        fn a_shell_reads_the_same_words(line in "a [a-c ~=\"'$`;&|<>(){}*?#!^%:@1\n\t\\\\\\[\\]-]{0,8}") {
            if let Ok(commands) = commands(&line)
                && let [command] = commands.as_slice()
            {
                let ours: String = command.iter().map(|word| format!("<{word}>")).collect();
                // A trailing semicolon ends the line for both.
                prop_assert_eq!(as_the_shell_reads(&line), ours, "{:?}", line);
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_understood_has_nothing_special_outside_of_quotes(line in "\\PC{0,40}") {
            if commands(&line).is_ok() {
                let (mut quote, mut bare) = (None, String::new());
                for c in line.chars() {
                    match quote {
                        Some(open) if c == open => quote = None,
                        Some(_) => {}
                        None if matches!(c, '\'' | '"') => quote = Some(c),
                        None => bare.push(c),
                    }
                }
                prop_assert!(quote.is_none() && !line.contains(['$', '`', '\\']), "{:?}", line);
                prop_assert!(!bare.contains(['<', '>', '(', ')', '{', '}', '*', '?', '[', ']', '!', '#']), "{:?}", line);
                prop_assert!(!bare.replace("&&", "").contains('&'), "{:?}", line);
            }
        }
    }
}
