//! `posse trust`: trust the agent files of a project, by content hash.

use std::process::ExitCode;

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::inspect::{FileTrust, TrustAnswer, conditions};
use posse_definitions::registry::{AgentState, RegistrySnapshot};
use posse_definitions::trust::TrustStore;
use posse_mcp::registry::ProjectFile;
use posse_messages::say;
use posse_sandbox::supervisor::TASK_MARK;
use serde_json::{Value, json};

use crate::args::{GlobalArgs, TrustArgs};
use crate::setup::{Setup, trust_store};
use crate::terminal;
use posse_setup::agents::view::{inspector, tool_list};

pub fn run(global: &GlobalArgs, args: &TrustArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = trust_store(&setup.state);
    if args.list {
        return list(global, &store);
    }
    refuse_inside_a_task()?;
    let places = setup.places();
    let Some(root) = places.root().map(|root| root.to_owned()) else {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("no-project-to-trust"))
            .hint(say!("no-project-to-trust-hint")));
    };
    if args.revoke {
        let was_trusted = store.revoke(&root)?;
        let text = match was_trusted {
            true => say!("project-not-trusted-any-more", project = root.display()),
            false => say!("project-was-not-trusted", project = root.display()),
        };
        let value = json!({ "project": root.display().to_string(), "was_trusted": was_trusted });
        terminal::show(global.json, &text, &value);
        return Ok(ExitCode::SUCCESS);
    }
    let snapshot = setup.snapshot();
    let reports = inspector(&setup, &[])?.trust(&snapshot, &args.names)?;
    let agreed =
        reports.iter().filter(|report| matches!(report.answer, TrustAnswer::Now | TrustAnswer::Before));
    let agreed: Vec<&str> = agreed.map(|report| report.file.read.origin.hash.as_str()).collect();
    let servers = servers(&setup, &args.names)?;
    let of_servers = servers.as_ref().map(|(file, _)| file.hash());
    store.trust(&root, agreed.into_iter().chain(of_servers.as_deref()))?;
    // Printed only after the store has it.
    for report in &reports {
        tell(global, report);
    }
    if let Some((file, lines)) = &servers {
        tell_servers(global, file, lines);
    }
    say_what_is_missing(&setup.snapshot(), &reports);
    if reports.is_empty() && servers.is_none() {
        terminal::note(&say!("project-without-agents"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Notes agents that extend an untrusted file: they do not run before that is trusted too.
fn say_what_is_missing(after: &RegistrySnapshot, reports: &[FileTrust<'_>]) {
    for report in reports.iter().filter(|report| report.answer == TrustAnswer::Now && report.seen.is_some()) {
        let name = &report.file.read.name;
        if let Some(AgentState::NotTrusted { path, .. }) = after.entry(name).map(|entry| &entry.state) {
            terminal::note(&visible(&say!("extends-untrusted", name, path)));
        }
    }
}

/// Finds the project's MCP server file and describes each server. Trusting single agents does not trust it.
fn servers(setup: &Setup, names: &[String]) -> Result<Option<(ProjectFile, Vec<String>)>> {
    if !names.is_empty() {
        return Ok(None);
    }
    let Some(file) = ProjectFile::find(&setup.root()).transpose()? else { return Ok(None) };
    let described = |(name, value): (&String, &Value)| format!("{name} {value}");
    let lines = file.servers()?.iter().map(described).collect();
    Ok(Some((file, lines)))
}

fn tell_servers(global: &GlobalArgs, file: &ProjectFile, lines: &[String]) {
    let path = file.path.display();
    let text = say!("trust-servers", path, state = say!("trusted-now"));
    let whole = [&[text], lines].concat().join("\n  ");
    terminal::show(
        global.json,
        &whole,
        &json!({ "path": path.to_string(), "state": "trusted now", "servers": lines }),
    );
}

fn list(global: &GlobalArgs, store: &TrustStore) -> Result<ExitCode> {
    for (root, files) in store.list()? {
        let line = format!("{} · {}", root.display(), say!("many-files", n = files));
        let value = json!({ "project": root.display().to_string(), "files": files });
        terminal::show(global.json, &line, &value);
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses inside a task: an agent must not trust its own files.
pub(super) fn refuse_inside_a_task() -> Result<()> {
    if std::env::var_os(TASK_MARK).is_none() {
        return Ok(());
    }
    let text = say!("trust-inside-task");
    Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("trust-inside-task-hint")))
}

/// Localized answer for people; programs get `TrustAnswer::wire`.
fn words(answer: TrustAnswer) -> String {
    match answer {
        TrustAnswer::Before => say!("trusted-before"),
        TrustAnswer::Now => say!("trusted-now"),
        TrustAnswer::NotOurs => say!("trusted-not-ours"),
        TrustAnswer::Broken => say!("trusted-not-broken"),
    }
}

fn tell(global: &GlobalArgs, trust: &FileTrust<'_>) {
    let read = &trust.file.read;
    let mut line = format!("{:<24} {} · {}", read.name, read.origin.path, words(trust.answer));
    if trust.errors > 0 {
        line.push_str(&format!(" · {}", say!("many-errors", n = trust.errors)));
    }
    if trust.warnings > 0 {
        line.push_str(&format!(" · {}", say!("many-warnings", n = trust.warnings)));
    }
    let effective = trust.seen.as_ref().and_then(|seen| seen.effective.as_ref());
    let definition = trust.seen.as_ref().and_then(|seen| seen.definition.as_deref());
    let rules = definition.map(conditions).unwrap_or_default();
    if let Some(effective) = effective {
        let rules: String = rules.iter().map(|rule| format!(" · {rule}")).collect();
        let (model, tools) = (&effective.agent.model, tool_list(&effective.tools));
        line.push_str(&format!("\n{:<24} {model} · {tools}{rules}", ""));
    }
    let value = json!({
        "agent": read.name,
        "path": read.origin.path,
        "state": trust.answer.wire(),
        "errors": trust.errors,
        "warnings": trust.warnings,
        "model": effective.map(|effective| &effective.agent.model),
        "tools": effective.map(|effective| &effective.tools),
        "rules": effective.map(|_| &rules),
    });
    terminal::show(global.json, &line, &value);
}
