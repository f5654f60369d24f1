//! Findings of a review, matched against the changes.

use posse_core::text::prefix;
use posse_git::diff::{DiffKind, FileDiff, quoted};
use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Longest excerpt of an unreadable finding.
const EXCERPT_BYTES_MAX: usize = 500;

/// Severity of a finding, from harmless to grave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

impl FindingSeverity {
    /// All severities, most severe first.
    pub const ALL: [FindingSeverity; 5] = [
        FindingSeverity::Critical,
        FindingSeverity::High,
        FindingSeverity::Medium,
        FindingSeverity::Low,
        FindingSeverity::Info,
    ];

    /// Parses a severity in any case, and `informational` for `info`.
    pub fn read(told: &str) -> Option<Self> {
        let told = told.trim().to_ascii_lowercase();
        let told = if told == "informational" { "info" } else { &told };
        Self::ALL.into_iter().find(|severity| severity.word() == told)
    }

    /// Explanation of a severity, as given to the reviewer.
    pub fn meaning(self) -> &'static str {
        match self {
            FindingSeverity::Critical => {
                "Loses or leaks data, lets someone in, or breaks what everybody uses."
            }
            FindingSeverity::High => "A mistake that people will meet in normal use.",
            FindingSeverity::Medium => "A mistake in rare cases, or something that will cause one soon.",
            FindingSeverity::Low => "A small weakness that is worth mending.",
            FindingSeverity::Info => "Worth knowing, nothing to mend.",
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            FindingSeverity::Info => "info",
            FindingSeverity::Low => "low",
            FindingSeverity::Medium => "medium",
            FindingSeverity::High => "high",
            FindingSeverity::Critical => "critical",
        }
    }
}

/// Location of a finding relative to the diff. A finding that names nothing is kept: it may still be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingLocation {
    InDiff,
    /// The file has this line, but the diff does not show it.
    #[serde(rename = "outside_diff")]
    Outside,
    /// There is no such file or line.
    #[serde(rename = "not_found")]
    Missing,
}

impl FindingLocation {
    /// Remark for the reader about the location.
    pub fn remark(self) -> Option<String> {
        match self {
            FindingLocation::InDiff => None,
            FindingLocation::Outside => Some(localized!("review-place-outside").to_string()),
            FindingLocation::Missing => Some(localized!("review-place-missing").to_string()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewFinding {
    pub severity: FindingSeverity,
    pub file: String,
    /// Line number; `None` for the whole file.
    pub line: Option<u64>,
    pub title: String,
    pub explanation: String,
    pub suggestion: String,
    #[serde(rename = "location")]
    pub place: FindingLocation,
    /// Anchor line; `None` if there is no such file.
    #[serde(skip)]
    pub anchor: Option<LineAnchor>,
}

/// A line of an existing file: the one the finding is about, or the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineAnchor {
    pub line: u64,
    /// One past the last column, in UTF-16 code units.
    pub end_column: u64,
    /// Hash of the trimmed line, so that it survives reformatting.
    pub hash: String,
}

impl LineAnchor {
    fn of(line: u64, content: &[u8]) -> Self {
        let at = usize::try_from(line - 1).unwrap_or(usize::MAX);
        let text = content.split(|byte| *byte == b'\n').nth(at).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches('\r');
        let hash =
            Sha256::digest(text.trim().as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { line, end_column: text.encode_utf16().count() as u64 + 1, hash }
    }
}

impl ReviewFinding {
    /// Formats `src/a.rs:12` on one line, whatever the file is called.
    pub fn location(&self) -> String {
        let file = quoted(&self.file);
        self.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))
    }
}

/// A finding that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DroppedFinding {
    /// Number in the answer, from 1.
    pub number: usize,
    pub reason: DropReason,
    /// Beginning of its text.
    pub excerpt: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    NotAnObject,
    SeverityUnreadable,
    FileMissing,
    TextMissing,
}

impl DropReason {
    fn told(self) -> LocalizedText {
        match self {
            DropReason::NotAnObject => localized!("review-dropped-form"),
            DropReason::SeverityUnreadable => localized!("review-dropped-severity"),
            DropReason::FileMissing => localized!("review-dropped-file"),
            DropReason::TextMissing => localized!("review-dropped-text"),
        }
    }
}

impl DroppedFinding {
    pub fn remark(&self) -> String {
        localized!("review-dropped", number = self.number, why = self.reason.told(), excerpt = self.excerpt)
            .to_string()
    }
}

#[derive(Debug, Default)]
pub struct ReviewFindings {
    pub summary: String,
    /// Findings, most severe first, then in the order of the answer.
    pub findings: Vec<ReviewFinding>,
    pub dropped: Vec<DroppedFinding>,
}

impl ReviewFindings {
    /// Parses an answer, whether or not it satisfies the schema; `None` if it has no list of findings. `content`
    /// reads the current content of a file.
    pub fn read(
        answer: &Value,
        files: &[FileDiff],
        content: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let told = answer.get("findings")?.as_array()?;
        let mut found = Self { summary: text(answer, "summary"), ..Self::default() };
        for (at, value) in told.iter().enumerate() {
            match ReviewFinding::read(value) {
                Ok(told) => found.findings.push(told.placed(files, &content)),
                Err(reason) => {
                    let excerpt = prefix(&value.to_string(), EXCERPT_BYTES_MAX).to_owned();
                    found.dropped.push(DroppedFinding { number: at + 1, reason, excerpt });
                }
            }
        }
        found.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Some(found)
    }

    /// Tells if anything could be parsed.
    pub fn is_readable(&self) -> bool {
        !self.findings.is_empty() || self.dropped.is_empty()
    }

    /// Formats the counts, such as `2 high, 1 low`.
    pub fn counted(&self) -> String {
        let count = |severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        let counts = FindingSeverity::ALL.map(|severity| (count(severity), severity.word()));
        let words: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if words.is_empty() { localized!("review-no-findings").to_string() } else { words.join(", ") }
    }

    /// Counts findings of at least this severity, by whether they point to something.
    pub fn grave(&self, at_least: FindingSeverity) -> GraveFindings {
        let grave = self.findings.iter().filter(|finding| finding.severity >= at_least);
        let (nowhere, placed): (Vec<&ReviewFinding>, Vec<&ReviewFinding>) =
            grave.partition(|finding| finding.place == FindingLocation::Missing);
        GraveFindings { placed: placed.len(), nowhere: nowhere.len() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraveFindings {
    pub placed: usize,
    pub nowhere: usize,
}

impl ReviewFinding {
    /// Reads a finding as the model wrote it, not yet matched against the files.
    /// Parses leniently but unambiguously: severity in any case, line as text, optional fields missing.
    fn read(value: &Value) -> Result<Self, DropReason> {
        if !value.is_object() {
            return Err(DropReason::NotAnObject);
        }
        let severity =
            FindingSeverity::read(&text(value, "severity")).ok_or(DropReason::SeverityUnreadable)?;
        let file = text(value, "file");
        if file.trim().is_empty() {
            return Err(DropReason::FileMissing);
        }
        let (mut title, mut explanation) = (text(value, "title"), text(value, "explanation"));
        if title.trim().is_empty() {
            title = explanation.lines().next().unwrap_or_default().to_owned();
        }
        if title.trim().is_empty() {
            return Err(DropReason::TextMissing);
        }
        let line = line_of(&value["line"]).unwrap_or_else(|odd| {
            // Keeps an unreadable line in the explanation, and applies the finding to the whole file.
            explanation = format!("{explanation}\n\n(line: {odd})").trim().to_owned();
            None
        });
        let (suggestion, place) = (text(value, "suggestion"), FindingLocation::Missing);
        Ok(Self { severity, file, line, title, explanation, suggestion, place, anchor: None })
    }

    fn placed(self, files: &[FileDiff], content: &impl Fn(&str) -> Option<Vec<u8>>) -> Self {
        let (file, line) = (named(&self.file, files), self.line);
        let now = content(&file);
        let lines = now.as_ref().map(|bytes| bytes.split_inclusive(|byte| *byte == b'\n').count() as u64);
        let place = place(&file, line, files, lines);
        let is_file = now.is_some() || files.iter().any(|changed| changed.path == file);
        let line_now = line.filter(|_| place != FindingLocation::Missing).unwrap_or(1);
        let anchor = is_file.then(|| LineAnchor::of(line_now, &now.unwrap_or_default()));
        Self { file, place, anchor, ..self }
    }
}

/// Returns a text field; empty if it is missing or no string.
fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// Parses a line: `10`, `10.0`, `"10"`, `"L10"` and `"10-12"` are line 10; 0, negative and missing mean the whole
/// file. Returns what cannot be parsed as the error.
fn line_of(told: &Value) -> Result<Option<u64>, String> {
    let number = match told {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64().map(|number| number as i64),
        Value::String(text) => {
            let digits = text.trim().trim_start_matches(['L', 'l']);
            let first = digits.split_once(['-', ':', '–']).map_or(digits, |(first, _)| first);
            match (text.trim(), first.trim().parse::<i64>()) {
                ("", _) => return Ok(None),
                (negative, _) if negative.starts_with('-') => negative.parse().ok(),
                (_, first) => first.ok(),
            }
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let number = number.ok_or_else(|| prefix(&told.to_string(), EXCERPT_BYTES_MAX).to_owned())?;
    Ok(u64::try_from(number).ok().filter(|line| *line > 0))
}

/// Resolves the file name as the diff writes it: models copy the prefixes of diff headers.
fn named(told: &str, files: &[FileDiff]) -> String {
    let told = told.trim();
    let told = told.strip_prefix("./").unwrap_or(told);
    let is_known = |name: &str| files.iter().any(|file| file.path == name);
    // The model sees names with control characters quoted.
    if let Some(file) = files.iter().find(|file| quoted(&file.path) == told) {
        return file.path.clone();
    }
    let bare = told.strip_prefix("b/").or_else(|| told.strip_prefix("a/"));
    match bare {
        Some(bare) if !is_known(told) && is_known(bare) => bare.to_owned(),
        _ => told.to_owned(),
    }
}

fn place(file: &str, line: Option<u64>, files: &[FileDiff], lines: Option<u64>) -> FindingLocation {
    let changed = files.iter().find(|changed| changed.path == file);
    match (changed, line) {
        (Some(_), None) => return FindingLocation::InDiff,
        (Some(changed), Some(line)) if changed.shows(line) => return FindingLocation::InDiff,
        // Only the diff has the lines of a deleted file.
        (Some(changed), Some(_)) if changed.change == DiffKind::Deleted => return FindingLocation::Missing,
        _ => {}
    }
    match lines {
        Some(lines) if line.is_none_or(|line| line <= lines) => FindingLocation::Outside,
        _ => FindingLocation::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_git::diff::parse;
    use serde_json::json;

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
        let content = |file: &str| match file {
            "src/a.rs" => Some(b"x\n".repeat(9)),
            "other.rs" => Some(b"x\n".repeat(3)),
            _ => None,
        };
        let found = ReviewFindings::read(&answer, &files, content).unwrap();
        let places: Vec<(String, Value)> =
            found.findings.iter().map(|finding| (finding.location(), json!(finding.place))).collect();
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
        assert_eq!(places, expected.map(|(place, word)| (place.to_owned(), json!(word))));
        assert_eq!(found.counted(), "1 critical, 8 low, 1 info");
        assert_eq!(ReviewFindings::default().counted(), "no findings");
        let grave =
            |found: &ReviewFindings, at_least| (found.grave(at_least).placed, found.grave(at_least).nowhere);
        assert_eq!(grave(&found, FindingSeverity::Critical), (1, 0));
        assert_eq!(grave(&found, FindingSeverity::Low), (6, 3));
        assert_eq!(grave(&ReviewFindings::default(), FindingSeverity::Info), (0, 0));
        let anchors: Vec<Option<u64>> =
            found.findings.iter().map(|finding| finding.anchor.as_ref().map(|anchor| anchor.line)).collect();
        let expected =
            [Some(6), Some(5), Some(9), Some(1), Some(3), None, Some(3), Some(1), Some(1), Some(1)];
        assert_eq!(anchors, expected, "what has a file has a line of it");
    }

    #[test]
    fn lines_are_read_in_every_form_that_leaves_no_doubt() {
        for (told, line) in [
            (json!(10), Some(10)),
            (json!(10.0), Some(10)),
            (json!("10"), Some(10)),
            (json!(" L10 "), Some(10)),
            (json!("10-12"), Some(10)),
            (json!(0), None),
            (json!(-1), None),
            (json!("-1"), None),
            (json!(""), None),
            (json!(null), None),
        ] {
            assert_eq!(line_of(&told), Ok(line), "{told}");
        }
        for told in [json!("near the end"), json!([1]), json!(true)] {
            assert!(line_of(&told).is_err(), "{told}");
        }
    }
}
