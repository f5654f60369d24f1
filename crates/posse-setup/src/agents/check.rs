//! `posse agents check`: for each file, which keys are honoured, mapped or ignored, and why.

use std::fmt::Write;

use posse_core::definition::{Definition, FieldFate, Remark, RemarkSeverity};
use posse_core::text::{estimate_tokens, nearest};
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::inspect::{EffectiveAgent, FileReport, conditions};
use posse_definitions::registry::{RegistrySnapshot, TrustStanding};
use posse_mcp::registry::{NamedServer, ServerFilter, is_about_servers};
use posse_messages::{LocalizedText, say};
use serde_json::{Value, json};

use super::view::{inspector, place};
use crate::setup::Setup;

/// Report on one file.
pub struct CheckView<'a> {
    report: FileReport<'a>,
    place: String,
    /// Conditions on its calls, in words.
    rules: Vec<String>,
    /// MCP servers that it names, each described in a line.
    servers: Vec<String>,
}

/// Builds one report per file, sorted by agent name; shadowed files follow the file that shadows them.
pub fn reports<'a>(
    setup: &Setup,
    allow: &[String],
    snapshot: &'a RegistrySnapshot,
    which: &[String],
) -> Result<Vec<CheckView<'a>>> {
    let eyes = inspector(setup, allow)?;
    let mut reports: Vec<FileReport<'a>> =
        snapshot.entries().iter().flat_map(|entry| eyes.check(entry)).collect();
    if let Some(unknown) = which.iter().find(|wanted| !reports.iter().any(|report| report.is_called(wanted)))
    {
        let text = say!("agent-or-file-unknown", unknown);
        let names: Vec<&str> = snapshot.entries().iter().map(|entry| entry.name.as_str()).collect();
        let near = nearest(unknown, names).map(|name| format!("{} ", say!("usage-did-you-mean", name)));
        let hint = format!("{}{}", near.unwrap_or_default(), say!("agents-list-hint"));
        return Err(Error::new(ErrorCode::AgentNotFound, text).hint(hint));
    }
    reports.retain(|report| which.is_empty() || which.iter().any(|wanted| report.is_called(wanted)));
    Ok(reports.into_iter().map(|report| CheckView::new(setup, report)).collect())
}

/// Counts remarks of a severity.
pub fn count(reports: &[CheckView<'_>], severity: RemarkSeverity) -> usize {
    let remarks = reports.iter().flat_map(|view| &view.report.remarks);
    remarks.filter(|remark| remark.severity == severity).count()
}

/// Describes the MCP servers that a server list or tool list names: state and sandbox, one line each.
fn servers(setup: &Setup, definition: &Definition) -> Vec<String> {
    let of_tools = definition.rights.tools.iter().flatten().map(|pattern| pattern.name().to_owned());
    let tools: Vec<String> = of_tools.filter(|name| is_about_servers(name)).collect();
    let is_named = |named: &&NamedServer| {
        let name = named.server.config().name.as_str();
        definition.mcp_servers.contains_key(name) || tools.iter().any(|entry| named.is_meant(entry))
    };
    setup.servers(ServerFilter::All).all().iter().filter(is_named).map(NamedServer::line).collect()
}

impl<'a> CheckView<'a> {
    fn new(setup: &Setup, report: FileReport<'a>) -> Self {
        let definition = report.definition.as_deref();
        let rules = definition.map(conditions).unwrap_or_default();
        let servers = definition.map(|definition| servers(setup, definition)).unwrap_or_default();
        Self { place: place(setup, &report.candidate.read.origin.path), rules, servers, report }
    }

    fn standing(&self) -> String {
        match self.report.candidate.standing {
            TrustStanding::Trusted => say!("standing-trusted"),
            TrustStanding::NotTrusted if self.report.has_errors() => say!("standing-broken"),
            TrustStanding::NotTrusted => say!("standing-not-trusted"),
            TrustStanding::NotOurs => say!("standing-not-ours"),
        }
    }

    fn description_tokens(&self) -> u64 {
        let own = self.report.candidate.read.definition.as_ref();
        own.map_or(0, |definition| estimate_tokens(&definition.description))
    }

    fn shadows(&self) -> impl Iterator<Item = &str> {
        self.report.shadows.iter().map(|other| other.read.origin.path.as_str())
    }

    /// Formats the report for people.
    pub fn text(&self) -> String {
        let FileReport { candidate, hidden_by, remarks, effective, .. } = &self.report;
        let read = &candidate.read;
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
        if let Some(path) = hidden_by {
            row(&say!("row-hidden-by"), path);
        }
        self.shadows().for_each(|path| row(&say!("row-shadows"), path));
        for field in &read.fields {
            match &field.fate {
                FieldFate::Honoured => row(&field.key, &say!("field-honoured")),
                FieldFate::Mapped(into) => row(&field.key, &say!("field-mapped", into)),
                FieldFate::Ignored(why) => row(&field.key, &say!("field-ignored", why)),
            }
        }
        if let Some(EffectiveAgent { agent, tools, withheld, .. }) = effective {
            let mut row = |name: String, value: &str| row(&format!("→ {name}"), value);
            row(say!("row-model"), &agent.model);
            row(say!("row-tools"), &if tools.is_empty() { say!("none") } else { tools.join(", ") });
            self.servers.iter().for_each(|line| row(say!("row-server"), line));
            withheld.iter().for_each(|told| row(say!("row-not-given"), told));
            self.rules.iter().for_each(|rule| row(say!("row-rule"), rule));
            if self.report.denies_commands() {
                row(say!("row-rule"), &say!("guard-rail"));
            }
            let tokens = say!("many-tokens", n = self.description_tokens());
            row(say!("row-costs"), &say!("costs-in-list", tokens));
        }
        for remark in remarks {
            let line = remark.line.map(|line| format!("{}: ", say!("line-number", line))).unwrap_or_default();
            let hint = remark.hint.as_ref().map(|hint| format!(" · {hint}")).unwrap_or_default();
            let severity = match remark.severity {
                RemarkSeverity::Error => say!("state-error"),
                RemarkSeverity::Warning => say!("state-warning"),
            };
            row(&severity, &format!("{line}{}{hint}", remark.text));
        }
        text.push('\n');
        text
    }

    /// Formats the report for programs.
    pub fn json(&self) -> Value {
        let FileReport { candidate, hidden_by, remarks, effective, .. } = &self.report;
        let read = &candidate.read;
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
        let remark = |remark: &Remark| {
            let severity = match remark.severity {
                RemarkSeverity::Error => "error",
                RemarkSeverity::Warning => "warning",
            };
            let hint = remark.hint.as_ref().map(LocalizedText::as_str);
            json!({ "severity": severity, "text": remark.text.as_str(), "line": remark.line, "hint": hint })
        };
        let effective = effective.as_ref();
        json!({
            "path": read.origin.path,
            "name": read.name,
            "format": read.origin.format.wire(),
            "trusted": candidate.standing == TrustStanding::Trusted,
            "hidden_by": hidden_by,
            "shadows": self.shadows().collect::<Vec<_>>(),
            "fields": fields,
            "model": effective.map(|effective| &effective.agent.model[..]).unwrap_or_default(),
            "tools": effective.map(|effective| &effective.tools[..]).unwrap_or_default(),
            "servers": self.servers,
            "not_given": effective.map(|effective| &effective.withheld[..]).unwrap_or_default(),
            "rules": self.rules,
            "description_tokens": self.description_tokens(),
            "remarks": remarks.iter().map(remark).collect::<Vec<_>>(),
        })
    }
}
