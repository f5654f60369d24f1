//! Patterns that name tools and what they are called with: `Read`, `mcp__github__*`, `Bash(git *)`.

mod command;
mod hidden;

use std::borrow::Cow;
use std::fmt;

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode, Result};
use crate::glob::Glob;
use crate::grant::HostPattern;
use crate::text::prefix;
use crate::tool::{canonical, expand};
use crate::web::WebAddress;

/// Longest pattern; longer ones are a mistake or an attack.
const PATTERN_BYTES_MAX: usize = 1_024;

/// A tool by name, with `*` for any part of it, and optionally only some of its calls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern {
    /// Canonical, possibly with `*`.
    name: String,
    /// Pattern for the call's subject: a command, a path, an agent's name.
    argument: Option<String>,
}

impl ToolPattern {
    /// Everything that one entry of somebody's list of tools stands for: `search` is two tools, `Agent(a, b)` two calls.
    pub fn parse(raw: &str) -> Result<Vec<Self>> {
        let text = raw.trim();
        let wrong = |why: LocalizedText| {
            Error::new(
                ErrorCode::InvalidTool,
                localized!("tool-pattern-invalid", pattern = prefix(text, 80).escape_debug(), why),
            )
            .hint(localized!("tool-pattern-invalid-hint"))
        };
        if text.is_empty() {
            return Err(wrong(localized!("pattern-empty")));
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(wrong(localized!("pattern-too-long")));
        }
        if text.chars().any(char::is_control) {
            return Err(wrong(localized!("pattern-control-character")));
        }
        let (name, argument) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(argument) => (name.trim(), Some(argument.trim())),
                None => return Err(wrong(localized!("pattern-not-closed"))),
            },
        };
        let legal = |c: char| c.is_alphanumeric() || "_-*./:@".contains(c);
        if name.is_empty() || !name.chars().all(legal) {
            return Err(wrong(localized!("pattern-name-invalid")));
        }
        let names = match name.contains('*') {
            true => vec![canonical(name).into_owned()],
            false => expand(name).into_iter().map(whole_server).collect(),
        };
        let arguments = arguments_of(&names, argument);
        if arguments.is_empty() {
            return Err(wrong(localized!("pattern-no-name")));
        }
        let mut patterns = Vec::with_capacity(names.len() * arguments.len());
        for name in names {
            for argument in &arguments {
                patterns.push(Self { name: name.clone(), argument: argument.clone() });
            }
        }
        Ok(patterns)
    }

    /// Any call of one tool.
    pub fn tool(name: &str) -> Self {
        Self { name: canonical(name).into_owned(), argument: None }
    }

    /// The calls of one tool whose subject looks like this.
    pub fn call(name: &str, argument: &str) -> Self {
        Self { argument: (argument != "*").then(|| argument.to_owned()), ..Self::tool(name) }
    }

    /// Returns the tool name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the pattern for the subject.
    pub fn argument(&self) -> Option<&str> {
        self.argument.as_deref()
    }

    /// `tool` is a canonical name.
    pub fn names(&self, tool: &str) -> bool {
        wildcard(&self.name, tool)
    }
}

/// `mcp__github` is everything that the server has.
fn whole_server(name: String) -> String {
    match name.strip_prefix("mcp__") {
        Some(server) if !server.is_empty() && !server.contains("__") => format!("{name}__*"),
        Some(_) | None => name,
    }
}

/// `Agent(a, b)` lists names, `Bash(npm run test:*)` is the older way to write a beginning, `Bash(*)` is no restriction.
fn arguments_of(names: &[String], argument: Option<&str>) -> Vec<Option<String>> {
    let Some(argument) = argument.filter(|argument| !matches!(*argument, "" | "*" | ":*")) else {
        return vec![None];
    };
    if names.iter().any(|name| name == "subagent") {
        let names = argument.split(',').map(str::trim).filter(|name| !name.is_empty());
        return names.map(|name| Some(name.to_owned())).collect();
    }
    match argument.strip_suffix(":*") {
        Some(beginning) => vec![Some(format!("{beginning} *"))],
        None => vec![Some(argument.to_owned())],
    }
}

/// The subject of a call, as far as patterns can match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallSubject<'a> {
    /// The call has nothing that patterns restrict, such as asking for a task's status.
    Free,
    Text(Cow<'a, str>),
    /// The words of one simple command, at least one.
    Command(Vec<String>),
    /// A line that is more than simple commands: why, and the commands that can be made out in it.
    Line {
        why: &'static str,
        pieces: Vec<Vec<String>>,
    },
    /// Relative to the workspace, `.` and `..` resolved by their spelling.
    Path(String),
    Address(WebAddress),
    /// There is something, but it cannot be compared with a pattern; why.
    Unclear(&'static str),
}

/// The use of a pattern: allow or deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternPurpose {
    /// It must fit for certain.
    Give,
    /// It fits if it might.
    Take,
}

/// Result of matching a pattern. Later variants match more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PatternFit {
    Not,
    /// A person could tell.
    Perhaps,
    Surely,
}

impl From<bool> for PatternFit {
    fn from(fits: bool) -> Self {
        if fits { PatternFit::Surely } else { PatternFit::Not }
    }
}

impl CallSubject<'_> {
    /// Matches the pattern against the subject.
    pub fn fit(&self, pattern: &str, purpose: PatternPurpose) -> PatternFit {
        match (self, purpose) {
            (CallSubject::Free, _) => PatternFit::Surely,
            (CallSubject::Text(text), _) => command_fits(pattern, text).into(),
            (CallSubject::Command(words), PatternPurpose::Give) => command::given(pattern, words),
            (CallSubject::Command(words), PatternPurpose::Take) => command::taken(pattern, words),
            (CallSubject::Line { .. }, PatternPurpose::Give) => PatternFit::Perhaps,
            (CallSubject::Line { pieces, .. }, PatternPurpose::Take) => {
                command::taken_of_pieces(pattern, pieces)
            }
            (CallSubject::Path(path), purpose) => path_fits(pattern, path, purpose).into(),
            (CallSubject::Address(address), purpose) => address_fits(pattern, address, purpose).into(),
            (CallSubject::Unclear(_), PatternPurpose::Give) => PatternFit::Not,
            (CallSubject::Unclear(_), PatternPurpose::Take) => PatternFit::Surely,
        }
    }
}

/// `domain:docs.rs`, or an address whose path may have `*`. A host is always compared as a host.
fn address_fits(pattern: &str, address: &WebAddress, purpose: PatternPurpose) -> bool {
    let host_fits =
        |host: &str| HostPattern::parse(host).is_ok_and(|host| host.fits(address.host(), address.port()));
    let (scheme, rest) = match pattern.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, pattern),
    };
    let (host, path) = rest.find('/').map_or((rest, "/*"), |at| rest.split_at(at));
    let fits = scheme.is_none_or(|scheme| scheme == address.scheme().wire() || scheme == "*")
        && host_fits(host)
        && wildcard(path, address.path());
    fits || (purpose == PatternPurpose::Take && wildcard(pattern, &address.to_string()))
}

/// Words with one space between them. A space inside of a word is not one between words.
fn line(words: &[String]) -> String {
    let inside = |word: &String| match word.is_empty() {
        true => "\u{1}".to_owned(),
        false => word.replace(char::is_whitespace, "\u{1}"),
    };
    words.iter().map(inside).collect::<Vec<_>>().join(" ")
}

/// `git *` is also `git` alone, but not `github`.
fn command_fits(pattern: &str, text: &str) -> bool {
    wildcard(pattern, text) || pattern.strip_suffix(" *").is_some_and(|beginning| wildcard(beginning, text))
}

/// Tells whether a suffix of the text, starting at any word, matches.
fn command_ends(pattern: &str, text: &str) -> bool {
    let ends = |pattern: &str| wildcard_from(pattern, text, |before| before == ' ');
    ends(pattern) || pattern.strip_suffix(" *").is_some_and(ends)
}

fn path_fits(pattern: &str, path: &str, purpose: PatternPurpose) -> bool {
    if purpose == PatternPurpose::Take && (folded(path) != path || folded(pattern) != pattern) {
        let (pattern, path) = (folded(pattern), folded(path));
        if path_fits_exactly(&pattern, &path, purpose) {
            return true;
        }
    }
    path_fits_exactly(pattern, path, purpose)
}

fn path_fits_exactly(pattern: &str, path: &str, purpose: PatternPurpose) -> bool {
    let place = Glob::place(pattern);
    let inside = |path: &str| place.fits(path);
    match (path.strip_prefix('/'), purpose) {
        (None, _) => inside(path),
        (Some(_), PatternPurpose::Give) => inside(path),
        // Where the workspace is, is not known here: the path may end in what the pattern means.
        (Some(rest), PatternPurpose::Take) => {
            let starts = std::iter::once(0).chain(rest.match_indices('/').map(|(at, _)| at + 1));
            inside(path) || starts.into_iter().any(|at| inside(&rest[at..]))
        }
    }
}

/// Some file systems do not tell `.ENV` from `.env`, and Windows reads `.env::$DATA` and `.env.` as `.env`.
fn folded(path: &str) -> String {
    let names =
        path.split('/').map(|name| name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']));
    names.collect::<Vec<_>>().join("/").to_lowercase()
}

/// `*` stands for any characters.
pub fn wildcard(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == text;
    }
    wildcard_from(pattern, text, |_| false)
}

/// The same where the text may begin again after some characters. Linear in `pattern` times `text`.
fn wildcard_from(pattern: &str, text: &str, begins_after: impl Fn(char) -> bool) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // reachable[i]: the text so far can end at pattern position i.
    let mut reachable = vec![false; pattern.len() + 1];
    reachable[0] = true;
    spread(&pattern, &mut reachable);
    for &c in &text {
        let mut next = vec![false; pattern.len() + 1];
        for (at, &p) in pattern.iter().enumerate().filter(|(at, _)| reachable[*at]) {
            match p {
                '*' => next[at] = true,
                '?' => next[at + 1] = true,
                _ => next[at + 1] |= p == c,
            }
        }
        next[0] |= begins_after(c);
        spread(&pattern, &mut next);
        reachable = next;
    }
    reachable[pattern.len()]
}

/// A star may stand for nothing.
fn spread(pattern: &[char], reachable: &mut [bool]) {
    for at in 0..pattern.len() {
        if reachable[at] && pattern[at] == '*' {
            reachable[at + 1] = true;
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            None => f.write_str(&self.name),
            Some(argument) => write!(f, "{}({argument})", self.name),
        }
    }
}

impl TryFrom<String> for ToolPattern {
    type Error = Error;
    /// For what `Display` wrote: one pattern, canonical already.
    fn try_from(raw: String) -> Result<Self> {
        match raw.split_once('(').and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?))) {
            Some((name, argument)) => Ok(Self { name: name.to_owned(), argument: Some(argument.to_owned()) }),
            None => Ok(Self { name: raw, argument: None }),
        }
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> Self {
        pattern.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(raw: &str) -> Vec<String> {
        ToolPattern::parse(raw).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_entry_of_a_list_can_stand_for_several_patterns() {
        assert_eq!(shown("Read"), ["read"]);
        assert_eq!(shown(" search "), ["grep", "glob"]);
        assert_eq!(shown("Bash(git *)"), ["bash(git *)"]);
        assert_eq!(shown("Bash(npm run test:*)"), ["bash(npm run test *)"]);
        assert_eq!(shown("Bash(*)"), ["bash"]);
        assert_eq!(shown("Bash(:*)"), ["bash"]);
        assert_eq!(shown("Agent(researcher, writer)"), ["subagent(researcher)", "subagent(writer)"]);
        assert_eq!(shown("mcp__github__*"), ["mcp__github__*"]);
        assert_eq!(shown("mcp__github"), ["mcp__github__*"]);
        assert_eq!(shown("mcp__github__push"), ["mcp__github__push"]);
        assert_eq!(shown("*"), ["*"]);
        assert_eq!(shown("Agent(a,, b,)"), ["subagent(a)", "subagent(b)"]);
        for wrong in ["", "  ", "Agent(,)", "Bash(git", "(x)", "a b", "rm\u{0}", &"x".repeat(2000)] {
            assert_eq!(ToolPattern::parse(wrong).unwrap_err().code(), ErrorCode::InvalidTool, "{wrong:?}");
        }
    }

    #[test]
    fn a_command_pattern_ends_at_a_word() {
        let git = |command: &str| {
            let words = command.split(' ').map(str::to_owned).collect();
            CallSubject::Command(words).fit("git *", PatternPurpose::Give) == PatternFit::Surely
        };
        assert!(git("git status") && git("git"));
        assert!(!git("github login") && !git("sudo git status"));
    }

    #[test]
    fn a_path_pattern_keeps_to_names_and_to_what_is_below() {
        for (pattern, path, fits) in [
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**", "src/a/b.rs", true),
            ("src/**/b.rs", "src/b.rs", true),
            ("**/b.rs", "b.rs", true),
            ("docs", "docs/a.md", true),
            ("docs", "docs2/a.md", false),
            ("?.md", "a.md", true),
            ("*", "a/b", true),
        ] {
            let fit = CallSubject::Path(path.to_owned()).fit(pattern, PatternPurpose::Give);
            assert_eq!(fit, fits.into(), "{pattern} {path}");
        }
        let elsewhere = CallSubject::Path("/home/me/project/.env".to_owned());
        assert_eq!(elsewhere.fit(".env", PatternPurpose::Take), PatternFit::Surely);
        assert_eq!(elsewhere.fit(".env", PatternPurpose::Give), PatternFit::Not);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(raw in "[a-zA-Z_*]{1,8}(\\([a-z *]{0,8}\\))?") {
            for pattern in ToolPattern::parse(&raw).unwrap_or_default() {
                prop_assert_eq!(ToolPattern::try_from(pattern.to_string()).unwrap(), pattern);
            }
        }

        #[test]
        fn any_text_is_a_pattern_or_an_error(raw in "\\PC{0,60}") {
            let _ = ToolPattern::parse(&raw);
        }

        #[test]
        fn a_wildcard_matches_what_was_put_in_its_place(before in "[a-c/]{0,4}", middle in "[a-c/]{0,6}", after in "[a-c/]{0,4}") {
            let text = format!("{before}{middle}{after}");
            let (star, stars) = (format!("{before}*{after}"), format!("{before}**{after}"));
            let glob = |pattern: &str, path: &str| Glob::exact(pattern).fits(path);
            prop_assert!(wildcard(&star, &text));
            prop_assert!(glob(&stars, &text));
            prop_assert_eq!(glob(&star, &text), !middle.contains('/') || wildcard_without_slash(&star, &text));
        }
    }

    /// The same by trying every place.
    fn wildcard_without_slash(pattern: &str, text: &str) -> bool {
        let (before, after) = pattern.split_once('*').unwrap();
        text.len() >= before.len() + after.len()
            && text.starts_with(before)
            && text.ends_with(after)
            && !text[before.len()..text.len() - after.len()].contains('/')
    }
}
