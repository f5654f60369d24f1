//! Review reports: Markdown, JSON and SARIF.

use std::collections::HashMap;
use std::fmt::Write;

use posse_core::outcome::OutcomeStatus;
use posse_core::text::visible;
use posse_git::diff::{FileDiff, quoted};
use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cut::CutFile;
use crate::findings::{
    DroppedFinding, FindingLocation, FindingSeverity, LineAnchor, ReviewFinding, ReviewFindings,
};

/// Results that GitHub shows per run, most severe first. It refuses files with five times as many.
const RESULTS_MAX: usize = 5_000;

/// Form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportForm {
    Markdown,
    Json,
    Sarif,
}

impl ReportForm {
    /// Formats a report.
    pub fn render(self, report: &ReviewReport<'_>) -> String {
        match self {
            ReportForm::Markdown => markdown(report),
            ReportForm::Json => json(report).to_string(),
            ReportForm::Sarif => format!("{:#}", sarif(report)),
        }
    }
}

/// All inputs of a report.
pub struct ReviewReport<'a> {
    pub files: &'a [FileDiff],
    pub cut: &'a [CutFile],
    pub notes: &'a [String],
    /// Findings; `None` if the review did not finish.
    pub found: Option<&'a ReviewFindings>,
    pub gate: Option<ReviewGate>,
    pub status: OutcomeStatus,
    /// Envelope of the task; `None` if there was nothing to review.
    pub run: Option<Value>,
}

/// Threshold of `--fail-on`.
#[derive(Debug, Clone, Copy)]
pub struct ReviewGate {
    pub at_least: FindingSeverity,
    /// Also count findings that point nowhere.
    pub unplaced: bool,
}

impl ReviewGate {
    /// Tells whether the findings fail the review.
    pub fn is_closed_by(&self, found: &ReviewFindings) -> bool {
        let grave = found.grave(self.at_least);
        grave.placed > 0 || (self.unplaced && grave.nowhere > 0)
    }
}

/// Formats Markdown that also reads well as plain text.
fn markdown(report: &ReviewReport<'_>) -> String {
    let Some(found) = report.found else {
        let text = report.run.as_ref().and_then(|run| run["text"].as_str()).unwrap_or_default();
        let text = format!("# {}\n\n{}\n{}", localized!("review-unfinished"), text.trim(), report.quotes());
        return visible(&text).into_owned();
    };
    let files = counted_files(report.files.len());
    let title = match report.status {
        OutcomeStatus::Completed => localized!("review-of", files),
        OutcomeStatus::Partial | OutcomeStatus::Failed | OutcomeStatus::Cancelled => {
            localized!("review-of-partial", files)
        }
    };
    let mut text = format!("# {title}: {}\n", found.counted());
    if !found.summary.trim().is_empty() {
        let _ = write!(text, "\n{}\n", found.summary.trim());
    }
    for finding in &found.findings {
        let _ = write!(text, "\n{}", section(finding));
    }
    text.push_str(&report.quotes());
    visible(&text).into_owned()
}

fn section(finding: &ReviewFinding) -> String {
    let ReviewFinding { severity, title, explanation, suggestion, place, .. } = finding;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = format!("## {} · {} · {title}\n", severity.word(), finding.location());
    if let Some(remark) = place.remark() {
        let _ = write!(text, "\n({remark})\n");
    }
    if !explanation.trim().is_empty() {
        let _ = write!(text, "\n{}\n", explanation.trim());
    }
    if !suggestion.trim().is_empty() {
        let _ = write!(text, "\n**{}** {}\n", localized!("review-suggestion"), suggestion.trim());
    }
    text
}

fn counted_files(n: usize) -> LocalizedText {
    localized!("many-files", n)
}

impl ReviewReport<'_> {
    /// Lists what was not reviewed, not parsed or not counted.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.notes.to_vec();
        remarks.extend(self.cut_remark());
        if let Some(found) = self.found {
            if self.status != OutcomeStatus::Completed {
                remarks.push(localized!("review-stopped-early", reason = self.reason()).to_string());
            }
            remarks.extend(found.dropped.iter().map(DroppedFinding::remark));
            remarks.extend(self.gate.and_then(|gate| uncounted(gate, found)));
        }
        remarks
    }

    /// Explains why the review exits with its own code.
    pub fn verdict(&self) -> Option<String> {
        let (gate, found) = (self.gate?, self.found?);
        let grave = found.grave(gate.at_least);
        let n = grave.placed + if gate.unplaced { grave.nowhere } else { 0 };
        let severity = gate.at_least.word();
        gate.is_closed_by(found).then(|| localized!("review-gate-closed", n, severity).to_string())
    }

    /// Names the lines that a gated review did not see, for its last line.
    pub fn unseen(&self) -> Option<String> {
        self.gate?;
        let lines: u64 = self.cut.iter().map(|cut| cut.lines).sum();
        let files = counted_files(self.cut.len());
        (!self.cut.is_empty()).then(|| localized!("review-unseen", lines, files).to_string())
    }

    fn cut_remark(&self) -> Option<String> {
        const NAMED: usize = 5;
        let names: Vec<String> = self.cut.iter().take(NAMED).map(|cut| quoted(&cut.path)).collect();
        let names = names.join(", ");
        match self.cut.len() {
            0 => None,
            1..=NAMED => Some(localized!("review-cut", names).to_string()),
            all => Some(localized!("review-cut-more", names, more = all - NAMED).to_string()),
        }
    }

    /// Formats each remark as a quotation.
    fn quotes(&self) -> String {
        let unseen = self.unseen();
        let remarks = self.remarks().into_iter().chain(unseen);
        remarks.map(|remark| format!("\n> {}\n", remark.replace('\n', "\n> "))).collect()
    }

    fn reason(&self) -> String {
        let reason = self.run.as_ref().and_then(|run| run["reason"].as_str()).unwrap_or("unknown");
        reason.replace('_', " ")
    }
}

/// Remarks on findings that would close the gate if they pointed to something.
fn uncounted(gate: ReviewGate, found: &ReviewFindings) -> Option<String> {
    let nowhere = found.grave(gate.at_least).nowhere;
    let severity = gate.at_least.word();
    let counts = nowhere == 0 || gate.is_closed_by(found);
    (!counts).then(|| localized!("review-uncounted", n = nowhere, severity).to_string())
}

fn json(report: &ReviewReport<'_>) -> Value {
    let unseen =
        |file: &FileDiff| report.cut.iter().find(|cut| cut.path == file.path).map_or(0, |cut| cut.lines);
    let files = report.files.iter().map(|file| {
        let unseen = unseen(file);
        json!({ "path": file.path, "change": file.change.word(), "added": file.added, "removed": file.removed,
                "cut": unseen > 0, "unseen_lines": unseen })
    });
    let findings = report.found.map_or(&[][..], |found| &found.findings);
    let dropped = report.found.map_or(&[][..], |found| &found.dropped);
    json!({
        "type": "review",
        "status": report.status.wire(),
        "summary": report.found.map(|found| &found.summary),
        "findings": findings,
        "dropped": dropped,
        "files": files.collect::<Vec<_>>(),
        "notes": report.remarks().into_iter().chain(report.unseen()).collect::<Vec<_>>(),
        "run": report.run,
    })
}

/// Formats SARIF 2.1.0 for GitHub code scanning: each result has a location. Findings about missing files become
/// notifications. Each severity is one rule, because reviews have no rules of their own.
fn sarif(report: &ReviewReport<'_>) -> Value {
    let findings = report.found.map_or(&[][..], |found| &found.findings);
    let anchored = findings.iter().filter_map(|finding| Some((finding, finding.anchor.as_ref()?)));
    let mut seen = HashMap::new();
    let results: Vec<Value> =
        anchored.take(RESULTS_MAX).map(|(finding, anchor)| result(finding, anchor, &mut seen)).collect();
    let is_complete = report.found.is_some() && report.status == OutcomeStatus::Completed;
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver() },
            "invocations": [{
                "executionSuccessful": is_complete,
                "toolExecutionNotifications": notifications(report, findings),
            }],
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    })
}

fn driver() -> Value {
    let rules = FindingSeverity::ALL.map(|severity| {
        let short = format!("A finding of severity {}", severity.word());
        json!({
            "id": rule(severity),
            "name": format!("Review{severity:?}"),
            "shortDescription": { "text": short },
            "fullDescription": { "text": severity.meaning() },
            "help": { "text": format!("{} A model found it; check it before you act on it.", severity.meaning()) },
            "defaultConfiguration": { "level": level(severity) },
            "properties": { "tags": ["review"], "precision": "medium", "problem.severity": problem(severity) },
        })
    });
    let version = env!("CARGO_PKG_VERSION");
    json!({ "name": "posse", "version": version, "semanticVersion": version, "rules": rules })
}

fn notifications(report: &ReviewReport<'_>, findings: &[ReviewFinding]) -> Vec<Value> {
    let notify = |level: &str, text: String| json!({ "level": level, "message": { "text": text } });
    let mut told: Vec<Value> = Vec::new();
    if report.found.is_none() {
        told.push(notify("error", format!("the review was not finished: {}", report.reason())));
    }
    let nowhere = findings.iter().filter(|finding| finding.anchor.is_none());
    told.extend(nowhere.map(|finding| notify(level(finding.severity), message(finding))));
    let anchored = findings.iter().filter(|finding| finding.anchor.is_some()).count();
    if anchored > RESULTS_MAX {
        told.push(notify("warning", format!("{} more findings are left out", anchored - RESULTS_MAX)));
    }
    told.extend(report.remarks().into_iter().chain(report.unseen()).map(|remark| notify("note", remark)));
    told
}

fn rule(severity: FindingSeverity) -> String {
    format!("review-{}", severity.word())
}

fn level(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Critical | FindingSeverity::High => "error",
        FindingSeverity::Medium => "warning",
        FindingSeverity::Low | FindingSeverity::Info => "note",
    }
}

/// Maps a severity to GitHub's scale.
fn problem(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Critical | FindingSeverity::High => "error",
        FindingSeverity::Medium => "warning",
        FindingSeverity::Low | FindingSeverity::Info => "recommendation",
    }
}

/// Number of findings per file, rule and line hash.
type Occurrences = HashMap<(String, FindingSeverity, String), u32>;

fn result(finding: &ReviewFinding, anchor: &LineAnchor, seen: &mut Occurrences) -> Value {
    let ReviewFinding { severity, file, line, place, .. } = finding;
    let index = FindingSeverity::ALL.iter().position(|other| other == severity).expect("all are listed");
    let LineAnchor { line: at, end_column, hash } = anchor;
    let occurrence = seen.entry((file.clone(), *severity, hash.clone())).or_default();
    *occurrence += 1;
    let region = json!({ "startLine": at, "startColumn": 1, "endLine": at, "endColumn": end_column });
    let artifact = json!({ "uri": uri(file), "uriBaseId": "%SRCROOT%" });
    json!({
        "ruleId": rule(*severity),
        "ruleIndex": index,
        "level": level(*severity),
        "message": { "text": message(finding) },
        "locations": [{ "physicalLocation": { "artifactLocation": artifact, "region": region } }],
        "partialFingerprints": { "primaryLocationLineHash": format!("{hash}:{occurrence}") },
        "properties": { "severity": severity.word(), "file": file, "line": line, "location": place },
    })
}

/// Formats the title as a sentence, because some viewers show nothing else, then the rest.
fn message(finding: &ReviewFinding) -> String {
    let ReviewFinding { title, explanation, suggestion, place, .. } = finding;
    let title = title.trim();
    let title = match title.ends_with(['.', '!', '?', '。']) {
        true => title.to_owned(),
        false => format!("{title}."),
    };
    let said = match place {
        // The location is missing or elsewhere, so the text names it.
        FindingLocation::Missing => format!("{}: {title}", finding.location()),
        FindingLocation::InDiff | FindingLocation::Outside => title,
    };
    let parts = [said.as_str(), explanation.trim(), suggestion.trim()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Escapes a path as a relative URI reference.
fn uri(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte))
            }
            other => {
                let _ = write!(text, "%{other:02X}");
            }
        }
    }
    text
}
