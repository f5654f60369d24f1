//! `posse agents`: list, show, check, create and export agents.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use posse_core::definition::{Format, RemarkSeverity};
use posse_core::id::AgentName;
use posse_core::text::visible;
use posse_core::tool_names::suggestion;
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::inspect::AgentReport;
use posse_definitions::inspect::{AgentStanding, definition};
use posse_definitions::registry::RegistrySnapshot;
use posse_mcp::files::unwritable;
use posse_messages::say;
use posse_setup::agents::view::{AgentView, inspector, tool_list};
use posse_setup::agents::{check, mistakes};
use posse_terminal::table::{ColumnFit, TableCell, TableColumn, TextTable};
use serde_json::json;

use crate::args::{AgentsCommand, GlobalArgs, RunOptions};
use crate::columns::PaddedCell;
use crate::commands::init::write_new;
use crate::setup::{Setup, user_config_dir};
use crate::{lists, terminal};

/// Warns about the mistakes in an agent's file that `posse agents check` would report.
pub fn warn_about(setup: &Setup, how: &RunOptions, name: &str) -> Result<()> {
    if let Some(text) = mistakes(setup, how, name)? {
        terminal::note(&say!("warning", text = visible(&text)));
    }
    Ok(())
}

pub fn run(global: &GlobalArgs, command: AgentsCommand) -> Result<ExitCode> {
    match command {
        AgentsCommand::Schema => {
            terminal::out(&format!("{:#}", posse_definitions::schema::schema()));
            Ok(ExitCode::SUCCESS)
        }
        AgentsCommand::New { name, user } => new(global, &name, user),
        AgentsCommand::List { allow } => list(global, &allow),
        AgentsCommand::Show { name } => show(global, &name),
        AgentsCommand::Check { which, allow } => check(global, &which, &allow),
        AgentsCommand::Export { name, to, out, force } => export(global, &name, &to, out.as_deref(), force),
    }
}

fn list(global: &GlobalArgs, allow: &[String]) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let (eyes, snapshot) = (inspector(&setup, allow)?, setup.snapshot());
    let see = |entry| AgentView::new(&setup, eyes.report(entry));
    let seen: Vec<AgentView<'_>> = snapshot.entries().iter().map(see).collect();
    if global.json {
        seen.iter().for_each(|seen| terminal::out(&seen.json().to_string()));
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::new(vec![
        TableColumn::text(say!("column-agent"), ColumnFit::Fixed),
        TableColumn::text(say!("column-state"), ColumnFit::Optional(1)),
        TableColumn::text(say!("column-model"), ColumnFit::Optional(2)),
        TableColumn::number(say!("column-turns"), ColumnFit::Optional(3)),
        TableColumn::text(say!("column-about"), ColumnFit::Flexible(20)),
    ]);
    seen.iter().for_each(|seen| add_to(&mut table, seen));
    lists::print(&table);
    let untrusted = seen.iter().filter(|seen| seen.report.state == AgentStanding::NotTrusted).count();
    if untrusted > 0 {
        terminal::note(&say!("agents-not-trusted", untrusted));
    }
    say_remarks(&snapshot);
    Ok(ExitCode::SUCCESS)
}

/// Appends the agent to a list: a row, and remarks on where it is from and what it may use.
fn add_to(table: &mut TextTable, view: &AgentView<'_>) {
    let AgentReport { entry, state, effective, problems, .. } = &view.report;
    let first = view.description.lines().next().unwrap_or_default();
    let about = match (state, problems.first()) {
        (AgentStanding::Error, Some(problem)) => problem.to_string(),
        _ if view.is_hidden() => format!("{} · {first}", say!("row-hidden")),
        _ => first.to_owned(),
    };
    let agent = effective.as_ref().map(|effective| &effective.agent);
    let shown = |text: &str| TableCell::from(visible(text).into_owned());
    table.row(vec![
        shown(&entry.name),
        view.state_word().into(),
        shown(agent.map_or("", |agent| agent.model.as_str())),
        agent.map_or(String::new(), |agent| agent.limits.turns_max.to_string()).into(),
        shown(&about),
    ]);
    let mut about = vec![view.from.clone()];
    about.extend(effective.as_ref().map(|effective| tool_list(&effective.tools)));
    table.remark(visible(&about.join(" · ")).into_owned());
    let withheld = effective.iter().flat_map(|effective| &effective.withheld);
    withheld.for_each(|told| table.remark(visible(told).into_owned()));
}

fn show(global: &GlobalArgs, name: &str) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let (eyes, snapshot) = (inspector(&setup, &[])?, setup.snapshot());
    let Some(entry) = snapshot.entry(name) else {
        return snapshot.find(name).map(|_| ExitCode::SUCCESS);
    };
    let seen = AgentView::new(&setup, eyes.report(entry));
    let prompt =
        seen.report.definition.as_ref().map(|definition| definition.system_prompt()).unwrap_or_default();
    if global.json {
        let mut value = seen.json();
        value["system_prompt"] = prompt.into();
        terminal::out(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    for (name, text) in seen.page() {
        terminal::out(&visible(&format!("{:<12} {text}", PaddedCell(name))));
    }
    if !prompt.is_empty() {
        terminal::out(&visible(&format!("\n{prompt}")));
    }
    Ok(ExitCode::SUCCESS)
}

fn check(global: &GlobalArgs, which: &[String], allow: &[String]) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let snapshot = setup.snapshot();
    let reports = check::reports(&setup, allow, &snapshot, which)?;
    let errors = check::count(&reports, RemarkSeverity::Error);
    for report in &reports {
        terminal::show(global.json, &report.text(), &report.json());
    }
    if !global.json {
        say_remarks(&snapshot);
        let warnings = check::count(&reports, RemarkSeverity::Warning);
        let (errors, warnings) = (say!("many-errors", n = errors), say!("many-warnings", n = warnings));
        terminal::note(&format!("{} · {errors} · {warnings}", say!("many-files", n = reports.len())));
    }
    Ok(if errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn say_remarks(snapshot: &RegistrySnapshot) {
    for remark in snapshot.remarks() {
        terminal::note(&say!("warning", text = visible(&remark.text)));
    }
}

fn new(global: &GlobalArgs, name: &str, user: bool) -> Result<ExitCode> {
    let name = AgentName::parse(name)?;
    let dir = match (user, user_config_dir()) {
        (false, _) => PathBuf::from(".posse"),
        (true, Some(dir)) => dir,
        (true, None) => {
            return Err(
                Error::new(ErrorCode::Io, say!("no-place-for-agents")).hint(say!("no-place-for-agents-hint"))
            );
        }
    };
    let path = dir.join("agents").join(format!("{name}.md"));
    let text = include_str!("../../templates/agent.md").replace("NAME", name.as_str());
    write_new(&path, &text).map_err(|e| {
        let hint = match e.kind() {
            std::io::ErrorKind::AlreadyExists => say!("exists-edit-it"),
            _ => say!("check-writable"),
        };
        unwritable(&path).caused_by(e).hint(hint)
    })?;
    let (shadows, hidden_by) = around(&Setup::load(global)?.snapshot(), name.as_str(), &path);
    if global.json {
        let value = json!({ "path": path.display().to_string(), "shadows": shadows, "hidden_by": hidden_by });
        terminal::out(&value.to_string());
    } else {
        terminal::out(&path.display().to_string());
    }
    for other in &shadows {
        terminal::note(&visible(&say!("agent-shadows", name, other)));
    }
    if let Some(other) = &hidden_by {
        terminal::note(&visible(&say!("agent-is-shadowed", name, other)));
    }
    let next = match user {
        true => [say!("seen-everywhere"), say!("agent-next", name)],
        false => [say!("seen-here"), say!("agent-next-trust", name)],
    };
    next.iter().for_each(|line| terminal::note(line));
    Ok(ExitCode::SUCCESS)
}

/// Finds the files that a new agent file shadows, and the file that shadows it.
fn around(snapshot: &RegistrySnapshot, name: &str, path: &Path) -> (Vec<String>, Option<String>) {
    let written = path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    let Some(entry) = snapshot.entry(name) else { return (Vec::new(), None) };
    let all = std::iter::once(&entry.chosen).chain(&entry.shadowed);
    let mut paths: Vec<String> = all.map(|file| file.read.origin.path.clone()).collect();
    let at = paths.iter().position(|path| *path == written).unwrap_or(0);
    (paths.split_off(at + 1), (at > 0).then(|| paths.swap_remove(0)))
}

fn export(global: &GlobalArgs, name: &str, to: &str, out: Option<&Path>, force: bool) -> Result<ExitCode> {
    let Some(format) = Format::ALL.iter().copied().find(|format| format.wire() == to) else {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.wire()).collect();
        return Err(Error::new(ErrorCode::InvalidRequest, say!("format-unknown", format = visible(to)))
            .hint(suggestion(to, &known)));
    };
    let setup = Setup::load(global)?;
    let snapshot = setup.snapshot();
    // Exporting a file needs no trust in it.
    let definition = match snapshot.entry(name).and_then(definition) {
        Some(definition) => definition,
        None => snapshot.find(name)?,
    };
    let export = posse_definitions::export::export(&definition, format);
    if let Some(excess) = &export.excess
        && !force
    {
        let text = say!("export-excess", agent = definition.name, format = format.wire(), excess);
        return Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("export-excess-hint")));
    }
    match out {
        Some(path) => {
            write_new(path, &export.text)
                .map_err(|e| unwritable(path).caused_by(e).hint(say!("nothing-overwritten")))?;
            if !global.json {
                terminal::out(&path.display().to_string());
            }
        }
        None if global.json => {}
        None => terminal::out_foreign(export.text.trim_end()),
    }
    if global.json {
        let value = json!({
            "format": format.wire(),
            "file_name": export.file_name,
            "path": out.map(|path| path.display().to_string()),
            "text": export.text,
            "lost": export.lost,
            "excess": export.excess,
        });
        terminal::out(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(excess) = &export.excess {
        terminal::note(&say!("warning", text = excess));
    }
    for lost in &export.lost {
        terminal::note(&say!("export-lost", text = visible(lost)));
    }
    if out.is_none() {
        terminal::note(&say!("export-read-as", format = format.wire(), file = export.file_name));
    }
    Ok(ExitCode::SUCCESS)
}
