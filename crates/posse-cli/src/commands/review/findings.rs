//! What a review found, and whether it is about what was changed.

use posse_messages::say;
use serde::Deserialize;
use serde_json::{Value, json};

use super::diff::{Change, FileDiff};

/// From harmless to grave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    /// The gravest first.
    pub const ALL: [Severity; 5] =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];

    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}

/// Whether what a finding names is there. One that names nothing is kept: it may still be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    InDiff,
    /// The file has this line, but the diff does not show it.
    Outside,
    /// There is no such file or line.
    Missing,
}

impl Place {
    pub fn word(self) -> &'static str {
        match self {
            Place::InDiff => "in_diff",
            Place::Outside => "outside_diff",
            Place::Missing => "not_found",
        }
    }

    /// What a reader should know about it.
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Place::InDiff => None,
            Place::Outside => Some("not a line of the diff"),
            Place::Missing => Some("there is no such file or line"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub file: String,
    /// `None`: the whole file.
    pub line: Option<u64>,
    pub title: String,
    pub explanation: String,
    pub suggestion: String,
    pub place: Place,
}

impl Finding {
    /// `src/a.rs:12`
    pub fn location(&self) -> String {
        self.line.map_or_else(|| self.file.clone(), |line| format!("{}:{line}", self.file))
    }

    pub fn to_json(&self) -> Value {
        json!({
            "severity": self.severity.word(),
            "file": self.file,
            "line": self.line,
            "title": self.title,
            "explanation": self.explanation,
            "suggestion": self.suggestion,
            "location": self.place.word(),
        })
    }
}

#[derive(Debug, Default)]
pub struct Findings {
    pub summary: String,
    /// The gravest first; among equals as they were told.
    pub findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Answer {
    summary: String,
    findings: Vec<Told>,
}

#[derive(Deserialize)]
struct Told {
    severity: Severity,
    file: String,
    line: i64,
    title: String,
    explanation: String,
    suggestion: String,
}

impl Findings {
    /// From an answer that satisfies the schema. `lines_of` says how many lines a file has now.
    pub fn of(answer: &Value, files: &[FileDiff], lines_of: impl Fn(&str) -> Option<u64>) -> Option<Self> {
        let Answer { summary, findings } = Answer::deserialize(answer).ok()?;
        let mut findings: Vec<Finding> = findings
            .into_iter()
            .map(|told| {
                let file = named(&told.file, files);
                let line = u64::try_from(told.line).ok().filter(|line| *line > 0);
                let place = place(&file, line, files, &lines_of);
                let Told { severity, title, explanation, suggestion, .. } = told;
                Finding { severity, file, line, title, explanation, suggestion, place }
            })
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Some(Self { summary, findings })
    }

    /// `2 high, 1 low`, or that there is nothing.
    pub fn counted(&self) -> String {
        let count = |severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        let counts = Severity::ALL.map(|severity| (count(severity), severity.word()));
        let words: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if words.is_empty() { say!("review-no-findings") } else { words.join(", ") }
    }

    pub fn has(&self, at_least: Severity) -> bool {
        self.findings.iter().any(|finding| finding.severity >= at_least)
    }
}

/// The file as the diff calls it: models copy the prefixes of a diff's header.
fn named(told: &str, files: &[FileDiff]) -> String {
    let told = told.trim();
    let told = told.strip_prefix("./").unwrap_or(told);
    let is_known = |name: &str| files.iter().any(|file| file.path == name);
    let bare = told.strip_prefix("b/").or_else(|| told.strip_prefix("a/"));
    match bare {
        Some(bare) if !is_known(told) && is_known(bare) => bare.to_owned(),
        _ => told.to_owned(),
    }
}

fn place(file: &str, line: Option<u64>, files: &[FileDiff], lines_of: impl Fn(&str) -> Option<u64>) -> Place {
    let changed = files.iter().find(|changed| changed.path == file);
    match (changed, line) {
        (Some(_), None) => return Place::InDiff,
        (Some(changed), Some(line)) if changed.shows(line) => return Place::InDiff,
        // Only the diff knows its lines.
        (Some(changed), Some(_)) if changed.change == Change::Deleted => return Place::Missing,
        _ => {}
    }
    match lines_of(file) {
        Some(lines) if line.is_none_or(|line| line <= lines) => Place::Outside,
        _ => Place::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::review::diff::parse;

    #[test]
    fn every_finding_is_kept_and_those_that_name_nothing_of_the_diff_are_marked() {
        let patch = "diff --git a/src/a.rs b/src/a.rs\n@@ -1 +5,2 @@\n+x\n+y\n\
                     diff --git a/gone b/gone\ndeleted file mode 1\n@@ -3 +0,0 @@\n-x\n";
        let files = parse(patch.as_bytes());
        let told = |severity: &str, file: &str, line: i64| json!({ "severity": severity, "file": file, "line": line, "title": "t", "explanation": "e", "suggestion": "" });
        let answer = json!({ "summary": "s", "findings": [
            told("low", "src/a.rs", 5), told("critical", "b/src/a.rs", 6), told("low", "./src/a.rs", 9),
            told("low", "src/a.rs", 10), told("info", "src/a.rs", -1), told("low", "other.rs", 3), told("low", "nowhere.rs", 3),
            told("low", "gone", 3), told("low", "gone", 4), told("low", "other.rs", 0),
        ]});
        let lines_of = |file: &str| match file {
            "src/a.rs" => Some(9),
            "other.rs" => Some(3),
            _ => None,
        };
        let found = Findings::of(&answer, &files, lines_of).unwrap();
        let places: Vec<(String, &str)> =
            found.findings.iter().map(|finding| (finding.location(), finding.place.word())).collect();
        let expected = [
            ("src/a.rs:6", "in_diff"),
            ("src/a.rs:5", "in_diff"),
            ("src/a.rs:9", "outside_diff"),
            ("src/a.rs:10", "not_found"),
            ("other.rs:3", "outside_diff"),
            ("nowhere.rs:3", "not_found"),
            ("gone:3", "in_diff"),
            ("gone:4", "not_found"),
            ("other.rs", "outside_diff"),
            ("src/a.rs", "in_diff"),
        ];
        assert_eq!(places, expected.map(|(place, word)| (place.to_owned(), word)));
        assert_eq!(found.counted(), "1 critical, 8 low, 1 info");
        assert!(found.has(Severity::Critical) && Findings::default().counted() == "no findings");
        assert!(!Findings::default().has(Severity::Info));
    }
}
