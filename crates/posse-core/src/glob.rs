//! Globs of paths: which paths one fits, whether two of them fit a common path, and whether one stays within others.
//!
//! `*` stays inside one name, `**` does not, `?` is one character; `**/` at the beginning of a name may also be nothing.

use std::collections::{BTreeSet, HashSet};

/// So many states are looked at before a question is given up as too hard. Globs that people write need a few dozen.
const STATES_MAX: usize = 20_000;

/// A glob as the positions of a small automaton: from each one a token leads on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<GlobToken>,
    /// Accepting states.
    ends: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlobToken {
    Char(char),
    /// `?`
    One,
    /// `*`
    Star,
    /// `**`
    Deep,
    /// Stands before the `**/` that begins a name: it and the `/` may be left out.
    MaybeNone,
}

impl Glob {
    /// Only the paths that look like this.
    pub fn exact(pattern: &str) -> Self {
        let tokens = tokens(pattern);
        let ends = vec![tokens.len()];
        Self { tokens, ends }
    }

    /// A place: the paths that look like this, and everything below them. `.` is the whole workspace.
    pub fn place(pattern: &str) -> Self {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let pattern = match pattern.trim_end_matches('/') {
            "" | "." if !pattern.starts_with('/') => return Self::exact("**"),
            pattern => pattern,
        };
        let mut tokens = tokens(pattern);
        let own_end = tokens.len();
        tokens.extend([GlobToken::Char('/'), GlobToken::Deep]);
        let ends = vec![own_end, tokens.len()];
        Self { tokens, ends }
    }

    /// Tells whether the path matches.
    pub fn fits(&self, path: &str) -> bool {
        let mut reached = self.closure([0]);
        for c in path.chars() {
            reached = self.closure(reached.iter().filter_map(|at| self.step(*at, c)));
        }
        reached.iter().any(|at| self.ends.contains(at))
    }

    /// Tells whether some path matches both globs.
    pub fn overlaps(&self, other: &Glob) -> bool {
        let mut seen = HashSet::from([(0, 0)]);
        let mut open = vec![(0, 0)];
        while let Some((mine, theirs)) = open.pop() {
            if self.ends.contains(&mine) && other.ends.contains(&theirs) {
                return true;
            }
            let without_a_character =
                self.free(mine).map(|at| (at, theirs)).chain(other.free(theirs).map(|at| (mine, at)));
            let with_one = self.common(mine, other, theirs);
            for next in without_a_character.chain(with_one) {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }

    /// Tells whether every path that matches this glob surely matches one of the others. A directory counts as
    /// within the globs below it.
    pub fn is_within(&self, others: &[Glob]) -> bool {
        let alphabet = self.alphabet(others);
        let start: Vec<BTreeSet<usize>> = others.iter().map(|other| other.closure([0])).collect();
        let mut seen = HashSet::from([(0, start.clone())]);
        let mut open = vec![(0, start)];
        while let Some((at, reached)) = open.pop() {
            if self.ends.contains(&at) && !covers(others, &reached) {
                return false;
            }
            if seen.len() > STATES_MAX {
                return false;
            }
            let mut nexts: Vec<(usize, Vec<BTreeSet<usize>>)> =
                self.free(at).map(|next| (next, reached.clone())).collect();
            for c in &alphabet {
                let Some(next) = self.step(at, *c) else { continue };
                let after = others.iter().zip(&reached).map(|(other, reached)| {
                    other.closure(reached.iter().filter_map(|at| other.step(*at, *c)))
                });
                nexts.push((next, after.collect()));
            }
            open.extend(nexts.into_iter().filter(|next| seen.insert(next.clone())));
        }
        true
    }

    /// The position after this character, if it leads on from here.
    fn step(&self, at: usize, c: char) -> Option<usize> {
        match self.tokens.get(at)? {
            GlobToken::Char(wanted) => (*wanted == c).then_some(at + 1),
            GlobToken::One => (c != '/').then_some(at + 1),
            GlobToken::Star => (c != '/').then_some(at),
            GlobToken::Deep => Some(at),
            GlobToken::MaybeNone => None,
        }
    }

    /// Iterates over the states reachable without consuming a character.
    fn free(&self, at: usize) -> impl Iterator<Item = usize> {
        let (after, skipped) = match self.tokens.get(at) {
            Some(GlobToken::Star | GlobToken::Deep) => (Some(at + 1), None),
            Some(GlobToken::MaybeNone) => (Some(at + 1), Some(at + 3)),
            Some(GlobToken::Char(_) | GlobToken::One) | None => (None, None),
        };
        after.into_iter().chain(skipped)
    }

    fn closure(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<usize> = from.into_iter().collect();
        while let Some(at) = open.pop() {
            if reached.insert(at) {
                open.extend(self.free(at));
            }
        }
        reached
    }

    /// Returns the pair of states after one character that advances both.
    fn common(&self, mine: usize, other: &Glob, theirs: usize) -> Option<(usize, usize)> {
        let (a, b) = (*self.tokens.get(mine)?, *other.tokens.get(theirs)?);
        let c = match (a, b) {
            (GlobToken::Char(c), _) | (_, GlobToken::Char(c)) => c,
            _ => OTHER,
        };
        Some((self.step(mine, c)?, other.step(theirs, c)?))
    }

    /// Characters that make a difference, and one that makes none.
    fn alphabet(&self, others: &[Glob]) -> BTreeSet<char> {
        let tokens = others.iter().chain([self]).flat_map(|glob| &glob.tokens);
        let named = tokens.filter_map(|token| match token {
            GlobToken::Char(c) => Some(*c),
            GlobToken::One | GlobToken::Star | GlobToken::Deep | GlobToken::MaybeNone => None,
        });
        named.chain(['/', OTHER]).collect()
    }
}

/// Stands for all characters that no pattern names.
const OTHER: char = '\u{1}';

fn tokens(pattern: &str) -> Vec<GlobToken> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let begins_name = matches!(tokens.last(), None | Some(GlobToken::Char('/')));
        let (token, taken) = match c {
            '*' if rest.starts_with("**") => {
                if begins_name && rest.starts_with("**/") {
                    tokens.push(GlobToken::MaybeNone);
                }
                (GlobToken::Deep, 2)
            }
            '*' => (GlobToken::Star, 1),
            '?' => (GlobToken::One, 1),
            c => (GlobToken::Char(c), c.len_utf8()),
        };
        tokens.push(token);
        rest = &rest[taken..];
    }
    tokens
}

fn covers(globs: &[Glob], reached: &[BTreeSet<usize>]) -> bool {
    globs.iter().zip(reached).any(|(glob, reached)| {
        let all_below = |at: usize| {
            glob.tokens.get(at) == Some(&GlobToken::Char('/'))
                && glob.tokens.get(at + 1) == Some(&GlobToken::Deep)
                && glob.ends.contains(&(at + 2))
        };
        reached.iter().any(|at| glob.ends.contains(at) || all_below(*at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn overlap(a: &str, b: &str) -> bool {
        let (a, b) = (Glob::place(a), Glob::place(b));
        assert_eq!(a.overlaps(&b), b.overlaps(&a));
        a.overlaps(&b)
    }

    #[test]
    fn two_places_overlap_when_a_path_could_be_in_both() {
        for (a, b, expected) in [
            ("src/**", "src/a.rs", true),
            ("src/**", "docs/**", false),
            ("src", "src/deep/down.rs", true),
            ("src", "src2", false),
            ("src/*.rs", "src/*.ts", false),
            ("src/a*", "src/*b", true),
            ("src/*.rs", "src/deep/x.rs", false),
            ("src/*.rs", "src/deep", false),
            ("src/*", "src/deep/x.rs", true),
            ("**/*.md", "docs", true),
            ("*/*.md", "docs/?.txt", false),
            ("**/*.md", "docs/?.txt", true),
            ("a/**/b/**/c", "a/x/b/c", true),
            (".", "anything", true),
            ("./docs", "docs/", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
        ] {
            assert_eq!(overlap(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_place_is_within_what_covers_all_of_it() {
        let within = |inner: &str, outer: &[&str]| {
            let outer: Vec<Glob> = outer.iter().map(|outer| Glob::place(outer)).collect();
            Glob::place(inner).is_within(&outer)
        };
        assert!(within("src/a.rs", &["src/**"]) && within("src", &["src/**"]) && within("src/**", &["src"]));
        assert!(within("src/*.rs", &["src/*"]) && within("a/b", &["."]) && within("x", &["y", "x"]));
        assert!(within("docs/a/**", &["docs/a", "docs/b"]));
        assert!(!within("src/**", &["src/*.rs"]) && !within("**", &["src/**"]) && !within("a*", &["ab*"]));
        assert!(!within("src", &[]) && !within("src/*.rs", &["src/a.rs"]));
    }

    #[test]
    fn a_question_that_is_too_hard_is_answered_with_no() {
        let hard = format!("{}?", "*a".repeat(40));
        let others: Vec<Glob> = (0..20).map(|n| Glob::place(&format!("*{}b*", "a".repeat(n)))).collect();
        assert!(!Glob::place(&hard).is_within(&others));
    }

    fn pattern() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![Just("a"), Just("b"), Just("/"), Just("*"), Just("**"), Just("**/"), Just("?")],
            0..7,
        )
        .prop_map(|parts| parts.concat())
    }

    fn path() -> impl Strategy<Value = String> {
        "[abc/]{0,6}"
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// Two leases whose globs fit one path are never both given.
        #[test]
        fn what_fits_two_globs_makes_them_overlap(a in pattern(), b in pattern(), paths in proptest::collection::vec(path(), 20)) {
            let (one, two) = (Glob::place(&a), Glob::place(&b));
            for path in &paths {
                if one.fits(path) && two.fits(path) {
                    prop_assert!(one.overlaps(&two), "{} {} {}", a, b, path);
                }
            }
        }

        #[test]
        fn what_is_within_fits_what_it_is_within(a in pattern(), b in pattern(), paths in proptest::collection::vec(path(), 20)) {
            let (inner, outer) = (Glob::place(&a), Glob::place(&b));
            let within = inner.is_within(std::slice::from_ref(&outer));
            for path in paths.iter().filter(|path| inner.fits(path)) {
                prop_assert!(!within || outer.fits(path) || outer.fits(&format!("{path}/x")), "{} {} {}", a, b, path);
            }
            prop_assert!(inner.is_within(std::slice::from_ref(&inner)));
        }

        /// The same, by trying every way to read the pattern.
        #[test]
        fn a_glob_fits_what_its_meaning_says(a in pattern(), path in path()) {
            prop_assert_eq!(Glob::exact(&a).fits(&path), by_hand(&a, &path, true), "{} {}", a, path);
        }
    }

    fn by_hand(pattern: &str, path: &str, begins_name: bool) -> bool {
        let mut chars = path.chars();
        let first = chars.next();
        let rest = chars.as_str();
        if let Some(after) = pattern.strip_prefix("**") {
            let nothing = by_hand(after, path, false)
                || (begins_name && after.strip_prefix('/').is_some_and(|after| by_hand(after, path, true)));
            return nothing || (first.is_some() && by_hand(pattern, rest, false));
        }
        if let Some(after) = pattern.strip_prefix('*') {
            return by_hand(after, path, false)
                || (first.is_some_and(|c| c != '/') && by_hand(pattern, rest, false));
        }
        match (pattern.chars().next(), first) {
            (None, None) => true,
            (Some('?'), Some(c)) => c != '/' && by_hand(&pattern[1..], rest, false),
            (Some(p), Some(c)) => p == c && by_hand(&pattern[p.len_utf8()..], rest, p == '/'),
            _ => false,
        }
    }
}
