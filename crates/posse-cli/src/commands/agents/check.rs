//! `posse agents check`: for each file, which keys are honoured, mapped or ignored, and why.

use std::fmt::Write;

use posse_core::definition::{Definition, FieldFate, Remark, RemarkSeverity};
use posse_core::grant::RuleVerdict;
use posse_core::text::estimate_tokens;
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::registry::{
    AgentCandidate, AgentState, RegistryEntry, RegistrySnapshot, TrustStanding,
};
use posse_messages::{LocalizedText, say};
use serde_json::{Value, json};

use super::view::{AgentInspector, conditions, severity, severity_word};
use crate::render::{CountedNoun, many};

pub struct CheckReport<'a> {
    candidate: &'a AgentCandidate,
    place: String,
    /// Path of the file that shadows this one.
    hidden_by: Option<&'a str>,
    shadows: Vec<&'a str>,
    remarks: Vec<Remark>,
    /// Effective model; empty if the agent cannot run.
    model: String,
    tools: Vec<String>,
    /// Tools that it asks for and a run would not grant.
    withheld: Vec<String>,
    /// Conditions on its calls, in words.
    rules: Vec<String>,
    /// True if a pattern denies some commands.
    has_guard_rail: bool,
    /// MCP servers that it names, each described in a line.
    servers: Vec<String>,
}

/// Builds one report per file, sorted by agent name; shadowed files follow the file that shadows them.
pub fn reports<'a>(
    eyes: &AgentInspector,
    snapshot: &'a RegistrySnapshot,
    which: &[String],
) -> Result<Vec<CheckReport<'a>>> {
    let mut reports = Vec::new();
    for entry in snapshot.entries() {
        let path = entry.chosen.read.origin.path.as_str();
        reports.push(CheckReport::of(eyes, &entry.chosen, Some(entry), None));
        for other in &entry.shadowed {
            reports.push(CheckReport::of(eyes, other, None, Some(path)));
        }
    }
    let names = |report: &CheckReport<'_>, wanted: &str| {
        let read = &report.candidate.read;
        let wanted_path = wanted.strip_prefix("./").unwrap_or(wanted);
        read.name == wanted
            || read.origin.path == wanted
            || read.origin.path.ends_with(&format!("/{wanted_path}"))
    };
    if let Some(unknown) = which.iter().find(|wanted| !reports.iter().any(|report| names(report, wanted))) {
        let text = say!("agent-or-file-unknown", unknown);
        return Err(Error::new(ErrorCode::AgentNotFound, text).hint(say!("agents-list-hint")));
    }
    reports.retain(|report| which.is_empty() || which.iter().any(|wanted| names(report, wanted)));
    Ok(reports)
}

/// Counts errors and warnings.
pub fn count(reports: &[CheckReport<'_>]) -> (usize, usize) {
    let of = |severity: RemarkSeverity| {
        reports.iter().flat_map(|report| &report.remarks).filter(|remark| remark.severity == severity).count()
    };
    (of(RemarkSeverity::Error), of(RemarkSeverity::Warning))
}

fn denies_commands(definition: &Definition) -> bool {
    let rights = &definition.rights;
    let denied =
        rights.rules.iter().filter(|rule| rule.verdict == RuleVerdict::Deny).map(|rule| &rule.pattern);
    rights.deny.iter().chain(denied).any(|pattern| pattern.names("bash") && pattern.argument().is_some())
}

impl<'a> CheckReport<'a> {
    fn of(
        eyes: &AgentInspector,
        candidate: &'a AgentCandidate,
        entry: Option<&'a RegistryEntry>,
        hidden_by: Option<&'a str>,
    ) -> Self {
        let mut remarks: Vec<Remark> = candidate.remarks().cloned().collect();
        if let Some(AgentState::Invalid(errors)) = entry.map(|entry| entry.state.once_trusted()) {
            remarks
                .extend(errors.iter().filter(|error| !remarks.contains(error)).cloned().collect::<Vec<_>>());
        }
        let flat = entry.and_then(super::view::definition);
        let definition = flat.as_deref().or(candidate.read.definition.as_ref());
        let mut problems = Vec::new();
        let agent = definition.and_then(|definition| eyes.fit(definition, &mut problems));
        problems.extend(agent.as_ref().and_then(|agent| eyes.exposure(agent)));
        let severity = if definition.is_some() && agent.is_none() {
            RemarkSeverity::Error
        } else {
            RemarkSeverity::Warning
        };
        remarks.extend(problems.into_iter().map(|text| Remark {
            severity,
            text: text.into(),
            line: None,
            hint: None,
        }));
        Self {
            candidate,
            place: eyes.place(&candidate.read.origin.path),
            hidden_by,
            shadows: entry
                .iter()
                .flat_map(|entry| &entry.shadowed)
                .map(|c| c.read.origin.path.as_str())
                .collect(),
            remarks,
            withheld: agent.as_ref().map(|agent| eyes.withheld(agent)).unwrap_or_default(),
            rules: definition.map(conditions).unwrap_or_default(),
            has_guard_rail: definition.is_some_and(denies_commands),
            servers: definition.map(|definition| eyes.servers(definition)).unwrap_or_default(),
            model: agent.as_ref().map(|agent| agent.model.clone()).unwrap_or_default(),
            tools: agent.as_ref().map(|agent| eyes.effective_tools(agent)).unwrap_or_default(),
        }
    }

    fn standing(&self) -> String {
        match self.candidate.standing {
            TrustStanding::Trusted => say!("standing-trusted"),
            TrustStanding::NotTrusted if self.has_errors() => say!("standing-broken"),
            TrustStanding::NotTrusted => say!("standing-not-trusted"),
            TrustStanding::NotOurs => say!("standing-not-ours"),
        }
    }

    fn has_errors(&self) -> bool {
        self.remarks.iter().any(|remark| remark.severity == RemarkSeverity::Error)
    }

    fn description_tokens(&self) -> u64 {
        self.candidate.read.definition.as_ref().map_or(0, |d| estimate_tokens(&d.description))
    }

    pub fn text(&self) -> String {
        let read = &self.candidate.read;
        let mut text = format!(
            "{}\n  {:<12} {} ({})",
            self.place,
            say!("row-agent"),
            read.name,
            read.origin.format.wire()
        );
        let mut row = |name: &str, value: &str| {
            let _ = write!(text, "\n  {name:<12} {value}");
        };
        row(&say!("row-standing"), &self.standing());
        if let Some(path) = self.hidden_by {
            row(&say!("row-hidden-by"), path);
        }
        self.shadows.iter().for_each(|path| row(&say!("row-shadows"), path));
        for field in &read.fields {
            match &field.fate {
                FieldFate::Honoured => row(&field.key, &say!("field-honoured")),
                FieldFate::Mapped(into) => row(&field.key, &say!("field-mapped", into)),
                FieldFate::Ignored(why) => row(&field.key, &say!("field-ignored", why)),
            }
        }
        if !self.model.is_empty() {
            row(&format!("→ {}", say!("row-model")), &self.model);
            row(
                &format!("→ {}", say!("row-tools")),
                &if self.tools.is_empty() { say!("none") } else { self.tools.join(", ") },
            );
            self.servers.iter().for_each(|line| row(&format!("→ {}", say!("row-server")), line));
            self.withheld.iter().for_each(|told| row(&format!("→ {}", say!("row-not-given")), told));
            self.rules.iter().for_each(|rule| row(&format!("→ {}", say!("row-rule")), rule));
            if self.has_guard_rail {
                row(&format!("→ {}", say!("row-rule")), &say!("guard-rail"));
            }
            let tokens = many(self.description_tokens(), CountedNoun::Token);
            row(&format!("→ {}", say!("row-costs")), &say!("costs-in-list", tokens));
        }
        for remark in &self.remarks {
            let line = remark.line.map(|line| format!("{}: ", say!("line-number", line))).unwrap_or_default();
            let hint = remark.hint.as_ref().map(|hint| format!(" · {hint}")).unwrap_or_default();
            row(&severity_word(remark), &format!("{line}{}{hint}", remark.text));
        }
        text.push('\n');
        text
    }

    pub fn json(&self) -> Value {
        let read = &self.candidate.read;
        let fields: Vec<Value> = read
            .fields
            .iter()
            .map(|field| {
                let (fate, detail) = match &field.fate {
                    FieldFate::Honoured => ("honoured", None),
                    FieldFate::Mapped(into) => ("mapped", Some(into)),
                    FieldFate::Ignored(why) => ("ignored", Some(why)),
                };
                json!({ "key": field.key, "fate": fate, "detail": detail.map(LocalizedText::as_str) })
            })
            .collect();
        let remarks: Vec<Value> = self.remarks.iter().map(|remark| {
            let hint = remark.hint.as_ref().map(LocalizedText::as_str);
            json!({ "severity": severity(remark), "text": remark.text.as_str(), "line": remark.line, "hint": hint })
        }).collect();
        json!({
            "path": read.origin.path,
            "name": read.name,
            "format": read.origin.format.wire(),
            "trusted": self.candidate.standing == TrustStanding::Trusted,
            "hidden_by": self.hidden_by,
            "shadows": self.shadows,
            "fields": fields,
            "model": self.model,
            "tools": self.tools,
            "servers": self.servers,
            "not_given": self.withheld,
            "rules": self.rules,
            "description_tokens": self.description_tokens(),
            "remarks": remarks,
        })
    }
}
