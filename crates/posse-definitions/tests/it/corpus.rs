//! Reads every file below `tests/fixtures/<format>/` and compares the result with the `.report` beside it:
//! each key with its fate, each remark, and the normal form. `UPDATE=1` rewrites the reports; review the
//! diff.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use posse_core::definition::{
    AgentMode, Definition, DefinitionScope, FieldFate, Format, Isolation, ParsedFile, RemarkSeverity,
};
use posse_core::grant::{AccessLevel, RuleVerdict};
use posse_definitions::{DefinitionFile, read};

#[test]
fn every_file_of_the_corpus_is_read_as_its_report_says() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut differing = Vec::new();
    let mut seen = 0;
    for (format, relative, path) in fixtures() {
        let bytes = std::fs::read(&path).unwrap();
        let shown_path = format!("fixtures/{}", relative);
        let file = DefinitionFile {
            path: &shown_path,
            relative: &relative,
            format,
            scope: DefinitionScope::Project { distance: 0 },
            bytes: &bytes,
        };
        let report = read(file).iter().map(render).collect::<Vec<_>>().join("\n");
        let beside = PathBuf::from(format!("{}.report", path.display()));
        if update {
            std::fs::write(&beside, &report).unwrap();
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if expected != report {
            differing.push(format!("{}\n--- expected\n{expected}\n--- is\n{report}", beside.display()));
        }
        seen += 1;
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    assert!(seen >= 6 * Format::ALL.len(), "six files for each format, {seen} in all");
}

#[test]
fn each_format_has_at_least_six_files() {
    for format in Format::ALL {
        let count = fixtures().iter().filter(|(of, ..)| *of == Some(*format)).count();
        assert!(count >= 6, "{} has {count}", format.wire());
    }
}

/// Lists the fixtures: the format of the directory, the path below it, and the full path.
pub fn fixtures() -> Vec<(Option<Format>, String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for directory in sorted(&root).into_iter().filter(|path| path.is_dir()) {
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        let format = Format::ALL.iter().copied().find(|format| format.wire() == name);
        assert!(format.is_some() || name == "detect", "{name} is no format");
        let mut pending = vec![directory.clone()];
        while let Some(at) = pending.pop() {
            for path in sorted(&at) {
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_none_or(|extension| extension != "report") {
                    let relative =
                        path.strip_prefix(&directory).unwrap().to_str().unwrap().replace('\\', "/");
                    found.push((format, relative, path));
                }
            }
        }
    }
    found
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

pub fn render(read: &ParsedFile) -> String {
    let mut out = String::new();
    let state = if read.definition.is_some() { "usable" } else { "not usable" };
    writeln!(out, "{} ({}, {state})", read.name, read.origin.format.wire()).unwrap();
    writeln!(out, "\nkeys").unwrap();
    for field in &read.fields {
        let fate = match &field.fate {
            FieldFate::Honoured => "honoured".to_owned(),
            FieldFate::Mapped(into) => format!("mapped: {into}"),
            FieldFate::Ignored(why) => format!("ignored: {why}"),
        };
        writeln!(out, "  {}: {fate}", field.key).unwrap();
    }
    writeln!(out, "\nremarks").unwrap();
    for remark in &read.remarks {
        let severity = if remark.severity == RemarkSeverity::Error { "error" } else { "warning" };
        let line = remark.line.map_or_else(String::new, |line| format!(" line {line}"));
        writeln!(out, "  {severity}{line}: {}", remark.text).unwrap();
        if let Some(hint) = &remark.hint {
            writeln!(out, "    hint: {hint}").unwrap();
        }
    }
    if let Some(definition) = &read.definition {
        writeln!(out, "\ndefinition").unwrap();
        normal_form(&mut out, definition);
    }
    out
}

/// Writes the normal form: one line for each setting that differs from the default.
fn normal_form(out: &mut String, d: &Definition) {
    let mut line = |name: &str, value: String| writeln!(out, "  {name}: {value}").unwrap();
    line("name", d.name.to_string());
    line("description", format!("{:?}", d.description));
    line("prompt", format!("{:?}", d.prompt));
    let mut some = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            line(name, value);
        }
    };
    some("prompt_append", d.prompt_append.clone());
    some("extends", d.extends.as_ref().map(ToString::to_string));
    some("task_in", d.task_in.map(|place| format!("{place:?}")));
    some("models", (!d.model.candidates.is_empty()).then(|| d.model.candidates.join(", ")));
    some("effort", d.model.effort.map(|effort| effort.wire().to_owned()));
    some("temperature", d.model.temperature.map(|number| number.to_string()));
    some("options", (!d.model.options.is_empty()).then(|| serde_json::to_string(&d.model.options).unwrap()));
    let patterns = |patterns: &[posse_core::pattern::ToolPattern]| {
        patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    some("tools", d.rights.tools.as_ref().map(|tools| format!("[{}]", patterns(tools))));
    some("written", d.kept.tools_written.as_ref().map(|tools| format!("{tools:?}")));
    some("deny", (!d.rights.deny.is_empty()).then(|| patterns(&d.rights.deny)));
    for rule in &d.rights.rules {
        let verdict = match rule.verdict {
            RuleVerdict::Allow => "allow",
            RuleVerdict::Ask => "ask",
            RuleVerdict::Deny => "deny",
        };
        some("rule", Some(format!("{verdict} {}", rule.pattern)));
    }
    some("access", (d.rights.access == AccessLevel::ReadOnly).then(|| "read-only".to_owned()));
    some("write_paths", d.rights.write_paths.as_ref().map(|paths| format!("{paths:?}")));
    some("read_roots", d.rights.read_roots.as_ref().map(|roots| format!("{roots:?}")));
    some("network", d.rights.network.as_ref().map(ToString::to_string));
    some("approval", d.approval.map(|approval| format!("{approval:?}")));
    some("limits", (d.limits != Default::default()).then(|| format!("{:?}", d.limits)));
    some("isolation", (d.mode.isolation != Isolation::None).then(|| format!("{:?}", d.mode.isolation)));
    some("output_schema", d.answer.output_schema.as_ref().map(ToString::to_string));
    some("verify", (!d.answer.verify.is_empty()).then(|| format!("{:?}", d.answer.verify)));
    some("mcp_servers", (!d.mcp_servers.is_empty()).then(|| serde_json::to_string(&d.mcp_servers).unwrap()));
    some("skills", (!d.kept.skills.is_empty()).then(|| d.kept.skills.join(", ")));
    let AgentMode { background, hidden, disabled, .. } = d.mode;
    let mode = format!("AgentMode {{ background: {background}, hidden: {hidden}, disabled: {disabled} }}");
    some("mode", (background || hidden || disabled).then_some(mode));
    some("color", d.kept.color.clone());
    some("display_name", d.kept.display_name.clone());
    some("extra", (!d.kept.extra.is_empty()).then(|| serde_json::to_string(&d.kept.extra).unwrap()));
}
