//! A review for people, for programs, and for tools that read SARIF.

use std::fmt::Write;

use posse_core::text::visible;
use posse_messages::say;
use serde_json::{Value, json};

use super::diff::FileDiff;
use super::findings::{Finding, Findings, Place, Severity};
use crate::render::{Thing, many};

/// Everything that is told of a review.
pub struct Report<'a> {
    pub files: &'a [FileDiff],
    /// Paths of which the model was not given everything.
    pub cut: &'a [String],
    pub notes: &'a [String],
    /// `None`: the review did not come to an end.
    pub found: Option<&'a Findings>,
    /// The envelope of the task; `None` if there was nothing to do.
    pub run: Option<Value>,
}

/// Reads well as it is, and better where Markdown is shown.
pub fn markdown(report: &Report<'_>) -> String {
    let Some(found) = report.found else {
        let text = report.run.as_ref().and_then(|run| run["text"].as_str()).unwrap_or_default();
        return format!("# {}\n\n{}\n", say!("review-unfinished"), visible(text.trim()));
    };
    let mut text = format!(
        "# {}: {}\n",
        say!("review-of", files = many(report.files.len() as u64, Thing::File)),
        found.counted()
    );
    if !found.summary.trim().is_empty() {
        let _ = write!(text, "\n{}\n", found.summary.trim());
    }
    for finding in &found.findings {
        let _ = write!(text, "\n{}", section(finding));
    }
    for note in report.remarks() {
        let _ = write!(text, "\n> {note}\n");
    }
    visible(&text).into_owned()
}

fn section(finding: &Finding) -> String {
    let Finding { severity, title, explanation, suggestion, place, .. } = finding;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = format!("## {} · {} · {title}\n", severity.word(), finding.location());
    if let Some(remark) = place.remark() {
        let _ = write!(text, "\n({remark})\n");
    }
    if !explanation.trim().is_empty() {
        let _ = write!(text, "\n{}\n", explanation.trim());
    }
    if !suggestion.trim().is_empty() {
        let _ = write!(text, "\n**{}** {}\n", say!("review-suggestion"), suggestion.trim());
    }
    text
}

impl Report<'_> {
    /// What was not looked at.
    pub fn remarks(&self) -> Vec<String> {
        const NAMED: usize = 5;
        let mut remarks = self.notes.to_vec();
        if !self.cut.is_empty() {
            let names = self.cut.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            remarks.push(match self.cut.len().saturating_sub(NAMED) {
                0 => say!("review-cut", names),
                more => say!("review-cut-more", names, more),
            });
        }
        remarks
    }
}

pub fn json(report: &Report<'_>) -> Value {
    let is_cut = |file: &FileDiff| report.cut.contains(&file.path);
    let files = report.files.iter().map(|file| {
        json!({ "path": file.path, "change": file.change.word(), "added": file.added, "removed": file.removed, "cut": is_cut(file) })
    });
    let findings = report.found.map_or(&[][..], |found| &found.findings);
    json!({
        "type": "review",
        "status": report.status(),
        "summary": report.found.map(|found| &found.summary),
        "findings": findings.iter().map(Finding::to_json).collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
        "notes": report.remarks(),
        "run": report.run,
    })
}

impl Report<'_> {
    fn status(&self) -> &str {
        self.run.as_ref().and_then(|run| run["status"].as_str()).unwrap_or("completed")
    }
}

/// SARIF 2.1.0. One rule for each severity, because what a review finds has no rules of its own.
pub fn sarif(report: &Report<'_>) -> Value {
    let rules = Severity::ALL.map(|severity| {
        json!({
            "id": rule(severity),
            "shortDescription": { "text": format!("A finding of severity {}", severity.word()) },
            "defaultConfiguration": { "level": level(severity) },
        })
    });
    let findings = report.found.map_or(&[][..], |found| &found.findings);
    let notify = |text: &String| json!({ "level": "note", "message": { "text": text } });
    let mut notifications: Vec<Value> = report.remarks().iter().map(notify).collect();
    if report.found.is_none() {
        let reason = report.run.as_ref().and_then(|run| run["reason"].as_str()).unwrap_or_default();
        let text = format!("the review was not finished: {}", reason.replace('_', " "));
        notifications.push(json!({ "level": "error", "message": { "text": text } }));
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "posse", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "invocations": [{
                "executionSuccessful": report.found.is_some(),
                "toolExecutionNotifications": notifications,
            }],
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn rule(severity: Severity) -> String {
    format!("review/{}", severity.word())
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn result(finding: &Finding) -> Value {
    let Finding { severity, title, explanation, suggestion, place, .. } = finding;
    let said = match place {
        // Nothing to point to, so the text has to say what was meant.
        Place::Missing => format!("{}: {title}", finding.location()),
        Place::InDiff | Place::Outside => title.clone(),
    };
    let parts = [said.as_str(), explanation.trim(), suggestion.trim()];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let index = Severity::ALL.iter().position(|other| other == severity).expect("all are listed");
    let mut result = json!({
        "ruleId": rule(*severity),
        "ruleIndex": index,
        "level": level(*severity),
        "message": { "text": text },
        "properties": { "severity": severity.word(), "file": finding.file, "line": finding.line, "location": place.word() },
    });
    if *place != Place::Missing {
        let mut physical =
            json!({ "artifactLocation": { "uri": uri(&finding.file), "uriBaseId": "%SRCROOT%" } });
        if let Some(line) = finding.line {
            physical["region"] = json!({ "startLine": line });
        }
        result["locations"] = json!([{ "physicalLocation": physical }]);
    }
    result
}

/// A path as a relative reference: everything but plain characters is escaped.
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
