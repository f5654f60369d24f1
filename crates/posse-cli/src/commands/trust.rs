//! `posse trust`: trust the agent files of a project, by content hash.

use std::process::ExitCode;

use posse_core::definition::{DefinitionScope, RemarkSeverity};
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::inspect::{AgentInspector, AgentStanding};
use posse_definitions::registry::{
    AgentCandidate, AgentState, RegistryEntry, RegistrySnapshot, TrustStanding,
};
use posse_definitions::trust::TrustStore;
use posse_mcp::registry::ProjectFile;
use posse_messages::say;
use posse_sandbox::supervisor::TASK_MARK;
use serde_json::{Value, json};

use super::agents::view::{AgentView, inspector, tool_list};
use crate::args::{GlobalArgs, TrustArgs};
use crate::setup::{Setup, trust_store};
use crate::terminal;

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
    let files = files(&snapshot, &args.names)?;
    let eyes = inspector(&setup, &[])?;
    let reports: Vec<TrustReport<'_>> =
        files.iter().map(|(entry, file)| TrustReport::of(&setup, &eyes, entry, file)).collect();
    let agreed = reports
        .iter()
        .filter(|report| report.standing == TrustAnswer::Now || report.standing == TrustAnswer::Before);
    let agreed: Vec<&str> = agreed.map(|report| report.file.read.origin.hash.as_str()).collect();
    let servers = servers(&setup, &args.names)?;
    let of_servers = servers.as_ref().map(|(file, _)| file.hash());
    store.trust(&root, agreed.into_iter().chain(of_servers.as_deref()))?;
    // Printed only after the store has it.
    for report in &reports {
        report.tell(global);
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
fn say_what_is_missing(after: &RegistrySnapshot, reports: &[TrustReport<'_>]) {
    for report in reports.iter().filter(|report| report.standing == TrustAnswer::Now && report.seen.is_some())
    {
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

/// Collects the project's agent files, or those with these names.
fn files<'a>(
    snapshot: &'a RegistrySnapshot,
    names: &[String],
) -> Result<Vec<(&'a RegistryEntry, &'a AgentCandidate)>> {
    let mut files: Vec<(&RegistryEntry, &AgentCandidate)> = Vec::new();
    for entry in snapshot.entries() {
        let all = std::iter::once(&entry.chosen).chain(&entry.shadowed);
        let of_project = all.filter(|file| matches!(file.read.origin.scope, DefinitionScope::Project { .. }));
        files.extend(of_project.map(|file| (entry, file)));
    }
    if let Some(unknown) = names.iter().find(|name| !files.iter().any(|(entry, _)| entry.name == **name)) {
        let text = say!("project-agent-unknown", agent = visible(unknown));
        return Err(Error::new(ErrorCode::AgentNotFound, text).hint(say!("project-agent-unknown-hint")));
    }
    files.retain(|(entry, _)| names.is_empty() || names.contains(&entry.name));
    Ok(files)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TrustAnswer {
    Before,
    Now,
    NotOurs,
    /// Not trusted: it cannot run anyway.
    Broken,
}

impl TrustAnswer {
    /// Localized answer for people; programs get `wire`.
    fn words(self) -> String {
        match self {
            TrustAnswer::Before => say!("trusted-before"),
            TrustAnswer::Now => say!("trusted-now"),
            TrustAnswer::NotOurs => say!("trusted-not-ours"),
            TrustAnswer::Broken => say!("trusted-not-broken"),
        }
    }

    fn wire(self) -> &'static str {
        match self {
            TrustAnswer::Before => "trusted before",
            TrustAnswer::Now => "trusted now",
            TrustAnswer::NotOurs => "belongs to another user: not trusted",
            TrustAnswer::Broken => "has errors: not trusted",
        }
    }
}

struct TrustReport<'a> {
    file: &'a AgentCandidate,
    standing: TrustAnswer,
    errors: usize,
    warnings: usize,
    /// The effective agent; `None` if another file shadows it or it cannot run.
    seen: Option<AgentView<'a>>,
}

impl<'a> TrustReport<'a> {
    fn of(setup: &Setup, eyes: &AgentInspector, entry: &'a RegistryEntry, file: &'a AgentCandidate) -> Self {
        let of = |severity| file.remarks().filter(|remark| remark.severity == severity).count();
        let is_chosen = std::ptr::eq(file, &entry.chosen);
        let seen = is_chosen.then(|| AgentView::new(setup, eyes.report(entry)));
        let seen = seen.filter(|seen| seen.report.state != AgentStanding::Error);
        let is_broken = file.read.definition.is_none() || (is_chosen && seen.is_none());
        let errors = of(RemarkSeverity::Error).max(usize::from(is_broken));
        let standing = match file.standing {
            TrustStanding::NotOurs => TrustAnswer::NotOurs,
            _ if is_broken => TrustAnswer::Broken,
            TrustStanding::Trusted => TrustAnswer::Before,
            TrustStanding::NotTrusted => TrustAnswer::Now,
        };
        Self { file, standing, errors, warnings: of(RemarkSeverity::Warning), seen }
    }

    fn tell(&self, global: &GlobalArgs) {
        let read = &self.file.read;
        let mut line = format!("{:<24} {} · {}", read.name, read.origin.path, self.standing.words());
        if self.errors > 0 {
            line.push_str(&format!(" · {}", say!("many-errors", n = self.errors)));
        }
        if self.warnings > 0 {
            line.push_str(&format!(" · {}", say!("many-warnings", n = self.warnings)));
        }
        let effective = self.seen.as_ref().and_then(|seen| Some((seen, seen.report.effective.as_ref()?)));
        if let Some((AgentView { rules, .. }, effective)) = effective {
            let rules: String = rules.iter().map(|rule| format!(" · {rule}")).collect();
            let (model, tools) = (&effective.agent.model, tool_list(&effective.tools));
            line.push_str(&format!("\n{:<24} {model} · {tools}{rules}", ""));
        }
        let value = json!({
            "agent": read.name,
            "path": read.origin.path,
            "state": self.standing.wire(),
            "errors": self.errors,
            "warnings": self.warnings,
            "model": effective.map(|(_, effective)| &effective.agent.model),
            "tools": effective.map(|(_, effective)| &effective.tools),
            "rules": effective.map(|(seen, _)| &seen.rules),
        });
        terminal::show(global.json, &line, &value);
    }
}
