//! The program behind the HTTP API: agents, files, worktrees and processes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use posse_core::definition::RemarkSeverity;
use posse_core::edits::FileChange;
use posse_core::id::TaskId;
use posse_core::journal::start_of;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_git::AppliedChanges;
use posse_http::ServeHost;
use posse_http::wire::{
    AgentDetail, AgentRemark, AgentSummary, AppliedTask, ApplyBody, ChangedFile, DiscardedChanges,
    ResumeBody, TaskChanges, UndoBody, UndoneFile, UndoneTask,
};
use posse_messages::{LocalizedText, say};
use posse_runtime::liveness as owner;
use posse_runtime::ports::{BoxFuture, JournalStore, LeftoverSweep, TaskRow};
use posse_runtime::session::HostSession;
use posse_sandbox::supervisor::sweep;
use posse_store::SqliteStore;
use posse_telemetry::transcript;
use posse_tools::edits::{self, EditSpan, EditedFile, undo};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::args::GlobalArgs;
use crate::commands::tasks::changes;
use crate::commands::worker::{in_background, joined};
use crate::setup::{PROCESS, Setup};
use crate::worktrees::trees;
use posse_setup::agents::view::{AgentView, inspector};

/// The session that spawns tasks, opened when it is first needed.
pub struct LateSession {
    wanted: Notify,
    opened: watch::Sender<Option<Result<Arc<HostSession>>>>,
}

impl Default for LateSession {
    fn default() -> Self {
        Self { wanted: Notify::new(), opened: watch::Sender::new(None) }
    }
}

impl LateSession {
    /// Asks for the session, and does not wait for it.
    pub fn want(&self) {
        self.wanted.notify_one();
    }

    /// Resolves when somebody asks.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Publishes the session, or why there is none.
    pub fn opened(&self, session: Result<Arc<HostSession>>) {
        self.opened.send_replace(Some(session));
    }

    async fn get(&self) -> Result<Arc<HostSession>> {
        self.want();
        let mut opened = self.opened.subscribe();
        let opened = opened.wait_for(Option::is_some).await.ok().and_then(|opened| opened.clone());
        opened.unwrap_or_else(|| Err(Error::new(ErrorCode::Interrupted, say!("serve-ending"))))
    }
}

/// The program as the HTTP API uses it.
pub struct ProgramHost {
    global: GlobalArgs,
    store: Arc<SqliteStore>,
    session: Arc<LateSession>,
    state: PathBuf,
    workspace: PathBuf,
    shown_workspace: String,
    lease_ms: u64,
    /// The configuration says what becomes of calls that need approval.
    has_approval_mode: bool,
}

impl ProgramHost {
    /// Creates the host of a server in the directory of this setup.
    pub fn new(global: &GlobalArgs, setup: &Setup, session: Arc<LateSession>) -> Result<Self> {
        Ok(Self {
            global: global.clone(),
            store: setup.store()?,
            session,
            state: setup.state.clone(),
            workspace: setup.workspace.clone(),
            shown_workspace: setup.workspace.display().to_string(),
            lease_ms: setup.lease_ms(),
            has_approval_mode: setup.config.approvals.mode.is_some(),
        })
    }

    /// Loads today's configuration, which may have changed since the server started.
    fn setup(&self) -> Result<Setup> {
        Setup::load_in(&self.global, self.workspace.clone())
    }

    /// Returns the changes of a task in the workspace that it shares with its subagents.
    async fn in_place(&self, row: &TaskRow) -> Result<TaskChanges> {
        let found = edits::gather(&*self.store, &row.id, EditSpan::Whole).await?;
        Ok(TaskChanges {
            task_id: row.id.to_string(),
            worktree: false,
            applied: false,
            patch: found.iter().filter_map(EditedFile::diff).collect(),
            notes: found.iter().filter_map(changes::gap_note).collect(),
            files: found.iter().map(changed_file).collect(),
        })
    }
}

fn changed_file(file: &EditedFile) -> ChangedFile {
    let FileChange { path, kind, lines } = &file.change;
    ChangedFile {
        path: path.clone(),
        change: kind.wire().to_owned(),
        added: lines.map(|lines| lines.added),
        removed: lines.map(|lines| lines.removed),
        tasks: file.authors.iter().map(|author| author.task.to_string()).collect(),
        gap: file.gap.map(|gap| gap.wire().to_owned()),
        diff: file.diff(),
    }
}

impl ServeHost for ProgramHost {
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn workspace(&self) -> &str {
        &self.shown_workspace
    }

    fn lease_ms(&self) -> u64 {
        self.lease_ms
    }

    fn sweep(&self) -> LeftoverSweep {
        sweep
    }

    fn session(&self) -> BoxFuture<'_, Result<Arc<HostSession>>> {
        Box::pin(self.session.get())
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentSummary>>> {
        Box::pin(async move {
            let setup = self.setup()?;
            let (eyes, snapshot) = (inspector(&setup, &[])?, setup.snapshot());
            Ok(snapshot.entries().iter().map(|entry| summary(&setup, &eyes, entry).0).collect())
        })
    }

    fn agent<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<AgentDetail>> {
        Box::pin(async move {
            let setup = self.setup()?;
            let (eyes, snapshot) = (inspector(&setup, &[])?, setup.snapshot());
            let Some(entry) = snapshot.entry(name) else {
                // The error names the agents that are alike.
                snapshot.find(name)?;
                return Err(Error::new(
                    ErrorCode::AgentNotFound,
                    say!("agent-or-file-unknown", unknown = name),
                ));
            };
            let (agent, report) = summary(&setup, &eyes, entry);
            let definition = eyes.report(entry).definition;
            let system_prompt = definition.map(|definition| definition.system_prompt());
            Ok(AgentDetail { agent, system_prompt: system_prompt.unwrap_or_default(), report })
        })
    }

    fn transcript<'a>(&'a self, task: &'a TaskId, status: &'a str) -> BoxFuture<'a, Result<Vec<Value>>> {
        Box::pin(async move {
            let row = self.store.task(task).await?;
            transcript::lines(&row, status, &self.store.records(task).await?)
        })
    }

    fn changes<'a>(&'a self, row: &'a TaskRow) -> BoxFuture<'a, Result<TaskChanges>> {
        Box::pin(async move {
            let Some(worktree) = trees(&PROCESS, &self.state, &self.workspace).find(&row.id)? else {
                let start = start_of(&self.store.records(&row.id).await?)?;
                return match start.apart_from {
                    // Changes in a worktree were never in these files.
                    Some(_) => Err(changes::without_worktree(row)),
                    None => self.in_place(row).await,
                };
            };
            let patch = changes::worktree_patch(row, &worktree)?;
            let patch = String::from_utf8_lossy(&patch).into_owned();
            let (task_id, applied) = (row.id.to_string(), worktree.is_applied());
            let files = patch_files(&patch, &task_id);
            Ok(TaskChanges { task_id, worktree: true, applied, files, notes: Vec::new(), patch })
        })
    }

    fn apply<'a>(&'a self, row: &'a TaskRow, how: ApplyBody) -> BoxFuture<'a, Result<AppliedTask>> {
        Box::pin(async move {
            let worktree = trees(&PROCESS, &self.state, &self.workspace).find(&row.id)?;
            let worktree = worktree.ok_or_else(|| changes::without_worktree(row))?;
            let receipt = AppliedTask {
                task_id: row.id.to_string(),
                applied_to: worktree.origin().display().to_string(),
                ..AppliedTask::default()
            };
            let written =
                changes::write_back(&self.global, &self.store, row, worktree, how.protected).await?;
            let Some(changes::AppliedTree { changes, .. }) = written else {
                return Ok(AppliedTask { applied_before: true, ..receipt });
            };
            let AppliedChanges { written, merged, same } = changes;
            Ok(AppliedTask { written, merged, unchanged: same, ..receipt })
        })
    }

    fn discard<'a>(&'a self, row: &'a TaskRow) -> BoxFuture<'a, Result<DiscardedChanges>> {
        Box::pin(async move {
            let worktree = trees(&PROCESS, &self.state, &self.workspace).find(&row.id)?;
            let worktree = worktree.ok_or_else(|| changes::without_worktree(row))?;
            changes::refuse_at_work(row, "discard")?;
            let had_applied = worktree.is_applied();
            worktree.discard()?;
            Ok(DiscardedChanges { task_id: row.id.to_string(), had_applied })
        })
    }

    fn undo<'a>(&'a self, row: &'a TaskRow, span: UndoBody) -> BoxFuture<'a, Result<UndoneTask>> {
        Box::pin(async move {
            changes::refuse_driven(row, "undo")?;
            let start = start_of(&self.store.records(&row.id).await?)?;
            if start.apart_from.is_some() && !std::path::Path::new(&start.workspace).is_dir() {
                return Err(Error::new(ErrorCode::InvalidRequest, say!("undo-apart", task = row.id)));
            }
            let edits = match (span.turn, span.last) {
                (Some(turn), _) => EditSpan::Turn(turn),
                (None, true) => EditSpan::LastMessage,
                (None, false) => EditSpan::Whole,
            };
            let plan = undo::plan(&*self.store, &row.id, edits).await?;
            let steps = if span.dry_run { plan.steps() } else { plan.perform(&*self.store).await? };
            let file = |step: &undo::UndoStep| {
                let step = step.to_json();
                let text = |name: &str| step[name].as_str().map(str::to_owned);
                UndoneFile {
                    path: text("path").unwrap_or_default(),
                    action: text("action").unwrap_or_default(),
                    why: text("why"),
                }
            };
            let files = steps.iter().map(file).collect();
            Ok(UndoneTask { task_id: row.id.to_string(), dry_run: span.dry_run, files })
        })
    }

    fn resume<'a>(&'a self, row: &'a TaskRow, more: ResumeBody) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if row.state.is_running() && owner::lives(row) {
                let text = say!("task-is-driven", task = row.id, process = owner::pid(row));
                return Err(Error::new(ErrorCode::TaskNotResumable, text).hint(say!("task-is-driven-hint")));
            }
            let mut words: Vec<OsString> =
                ["tasks", "resume", "--json", row.id.as_str()].map(OsString::from).into();
            // The people at the dashboard answer.
            words.extend((!self.has_approval_mode).then(|| joined("--approvals", "ask")));
            words.extend(more.max_turns.map(|turns| joined("--max-turns", turns.to_string())));
            words.extend(more.timeout_s.map(|seconds| joined("--timeout", seconds.to_string())));
            words.extend(more.max_cost_usd.map(|cost| joined("--max-cost", cost.to_string())));
            in_background(&self.global, &words, 0)
                .map_err(|e| Error::new(ErrorCode::Io, say!("worker-not-started")).caused_by(e))
        })
    }
}

/// Shows an agent, with the report that `posse agents show` prints.
fn summary(
    setup: &Setup,
    eyes: &posse_definitions::inspect::AgentInspector,
    entry: &posse_definitions::registry::RegistryEntry,
) -> (AgentSummary, Value) {
    let report = AgentView::new(setup, eyes.report(entry)).json();
    let text = |name: &str| report[name].as_str().unwrap_or_default().to_owned();
    let tools = report["tools"].as_array().into_iter().flatten();
    let checked = eyes.check(entry);
    // Files that this one shadows have no effect here.
    let remarks = checked.first().into_iter().flat_map(|file| &file.remarks).map(|remark| AgentRemark {
        severity: match remark.severity {
            RemarkSeverity::Error => "error".to_owned(),
            RemarkSeverity::Warning => "warning".to_owned(),
        },
        line: remark.line,
        text: visible(remark.text.as_str()).into_owned(),
        hint: remark.hint.as_ref().map(LocalizedText::as_str).map(|hint| visible(hint).into_owned()),
    });
    let agent = AgentSummary {
        name: text("name"),
        description: text("description"),
        state: text("state").replace(' ', "_"),
        model: Some(text("model")).filter(|model| !model.is_empty()),
        max_turns: report["max_turns"]
            .as_u64()
            .and_then(|turns| u32::try_from(turns).ok())
            .filter(|turns| *turns > 0),
        tools: tools.filter_map(Value::as_str).map(str::to_owned).collect(),
        source: text("path"),
        remarks: remarks.collect(),
    };
    (agent, report)
}

/// Splits a patch of git by file.
fn patch_files(patch: &str, task: &str) -> Vec<ChangedFile> {
    const HEAD: &str = "diff --git ";
    let mut files: Vec<ChangedFile> = Vec::new();
    for line in patch.split_inclusive('\n') {
        if let Some(names) = line.strip_prefix(HEAD) {
            let path = names.trim_end().rsplit_once(" b/").map_or(names.trim_end(), |(_, path)| path);
            files.push(ChangedFile {
                path: path.to_owned(),
                change: "modified".to_owned(),
                added: Some(0),
                removed: Some(0),
                tasks: vec![task.to_owned()],
                gap: None,
                diff: Some(String::new()),
            });
        }
        let Some(file) = files.last_mut() else { continue };
        match line {
            _ if line.starts_with("new file") => file.change = "created".to_owned(),
            _ if line.starts_with("deleted file") => file.change = "deleted".to_owned(),
            _ if line.starts_with("+++") || line.starts_with("---") => {}
            _ if line.starts_with('+') => file.added = file.added.map(|lines| lines + 1),
            _ if line.starts_with('-') => file.removed = file.removed.map(|lines| lines + 1),
            _ => {}
        }
        if let Some(diff) = &mut file.diff {
            diff.push_str(line);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_split_by_file() {
        let patch = "diff --git a/x y.txt b/x y.txt\nindex 1..2 100644\n--- a/x y.txt\n+++ b/x y.txt\n@@ -1 +1,2 @@\n-a\n+b\n+c\n\
                     diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n";
        let files = patch_files(patch, "s.t_01");
        let shown: Vec<_> =
            files.iter().map(|file| (&file.path[..], &file.change[..], file.added, file.removed)).collect();
        assert_eq!(shown, [("x y.txt", "modified", Some(2), Some(1)), ("new", "created", Some(1), Some(0))]);
        assert_eq!(files.iter().filter_map(|file| file.diff.clone()).collect::<String>(), patch);
        assert!(patch_files("", "t").is_empty());
    }
}
