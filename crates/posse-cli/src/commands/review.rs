//! `posse review`: reviews the changes of a work tree and prints findings.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use posse_core::id::TaskId;
use posse_core::outcome::OutcomeStatus;
use posse_core::{Error, ErrorCode, Result};
use posse_git::{ChangeScope, HardenedGit, RepositoryView};
use posse_mcp::files::unwritable;
use posse_messages::say;
use posse_review::{
    ReportForm, ReviewFindings, ReviewPlan, ReviewReport, ReviewRequest, ReviewTarget, reviewer,
};
use posse_runtime::session::facades::{Facade, SessionFacades};
use posse_runtime::session::fresh_id;
use serde_json::Value;

use super::drive::{EndedRun, ProgressView, RunKind, RunView, RunWork, WorkEnd};
use super::exit_code;
use super::run::{self, LeadAgent};
use crate::args::{GlobalArgs, ReviewArgs};
use crate::retention;
use crate::setup::process_env;
use crate::setup::{Setup, search};
use crate::terminal;

/// Exit code for findings at or above `--fail-on`, distinct from a failed review.
const FOUND: u8 = 4;

pub async fn run(global: &GlobalArgs, args: ReviewArgs) -> Result<ExitCode> {
    let here = std::env::current_dir()
        .map_err(|e| Error::new(ErrorCode::Io, say!("directory-unreadable")).caused_by(e))?;
    // Nothing else runs yet that would have to wait.
    let repository = RepositoryView::open(&here, &std::env::temp_dir(), git_outside)?;
    let scope = args.scope();
    let mut changes = repository.changes(&scope, &args.paths)?;
    let target = target(global, &args, &here, &repository);
    if let Some(path) = &target.output {
        refuse_unwritable(path)?;
        // The previous report is not a change to review.
        changes.files.retain(|file| !is_same(&repository.root.join(&file.path), path));
    }
    if changes.files.is_empty() {
        let plan = ReviewPlan { target, files: Vec::new(), cut: Vec::new(), notes: changes.notes };
        return nothing(&scope, &args.paths, &plan);
    }
    let setup = Setup::load_in(global, repository.root.clone())?;
    let how = args.how();
    setup.meet_servers(&how).await;
    let agent = reviewer(setup.orchestrator(&how)?, &setup.workspace);
    let lead = LeadAgent { facades: Some(facades()), ..LeadAgent::of(agent) };
    let request = ReviewRequest::new(&scope, &changes, lead.agent.limits.context_window);
    let plan = ReviewPlan { target, files: changes.files, cut: request.cut, notes: changes.notes };
    let id = TaskId::root(&fresh_id());
    // The report goes to standard output in one piece, so progress is shown to people only.
    let view = RunView { progress: ProgressView::Shown, json: false, kind: RunKind::Report };
    let room = run::room(&setup, &how, setup.tools()?, &lead, id.session().to_owned(), view)?;
    let began = Instant::now();
    let (agent, delivery) = (Box::new(lead.agent.clone()), Some(plan.to_delivery()));
    let (task, verify, notes) = (request.task, Vec::new(), Vec::new());
    let ended = room.work(RunWork::Start { agent, task, verify, notes, delivery }).await;
    setup.close_servers().await;
    let outcome = match ended? {
        WorkEnd::Ended(outcome) => outcome,
        WorkEnd::Interrupted(code) => return Ok(code),
        WorkEnd::Left => return run::leave(global, &id, &how),
    };
    let code = conclude(&plan, &room.ended(&id, &lead.agent, &outcome, began).await).await;
    retention::apply_later(global, &setup.config.store, &setup.state);
    code
}

/// Returns the git of the user, never one that lies in the work tree.
fn git_outside(root: &Path) -> HardenedGit {
    let variable = |name: &str| Some((name.into(), process_env(name)?.into()));
    HardenedGit::of_user(
        search(&[root]),
        ["HOME", "XDG_CONFIG_HOME"].into_iter().filter_map(variable).collect(),
    )
}

fn target(global: &GlobalArgs, args: &ReviewArgs, here: &Path, repository: &RepositoryView) -> ReviewTarget {
    ReviewTarget {
        form: match (args.sarif, global.json) {
            (true, _) => ReportForm::Sarif,
            (false, true) => ReportForm::Json,
            (false, false) => ReportForm::Markdown,
        },
        // Absolute, because a review may be resumed from another directory.
        output: args.output.as_ref().map(|path| here.join(path)),
        fail_on: args.fail_on,
        fail_on_unplaced: args.fail_on_unplaced,
        root: repository.root.clone(),
    }
}

/// Delegation tools of a reviewer.
pub fn facades() -> SessionFacades {
    [Facade::RunSubagent].into_iter().collect()
}

/// The findings of a review that has ended, if there are any, and its envelope.
struct EndedReview {
    found: Option<ReviewFindings>,
    status: OutcomeStatus,
    envelope: Value,
}

impl EndedReview {
    async fn read(plan: &ReviewPlan, run: &EndedRun<'_>) -> Self {
        let found = match plan.found(run.outcome) {
            None => plan.found_in(&run.replies().await),
            found => found,
        };
        let status = ReviewFindings::status(found.as_ref(), run.outcome);
        Self { found, status, envelope: run.envelope().await }
    }

    fn report<'a>(&'a self, plan: &'a ReviewPlan) -> ReviewReport<'a> {
        ReviewReport { run: Some(self.envelope.clone()), ..plan.report(self.found.as_ref(), self.status) }
    }
}

/// Writes the report and returns the exit code.
pub async fn conclude(plan: &ReviewPlan, run: &EndedRun<'_>) -> Result<ExitCode> {
    let ended = EndedReview::read(plan, run).await;
    let report = ended.report(plan);
    run.remark().await;
    for remark in report.remarks() {
        terminal::note(&say!("plain-note", note = remark));
    }
    deliver(&plan.target, &plan.target.form.render(&report))?;
    let counted = ended.found.as_ref().map(ReviewFindings::counted);
    let ends =
        counted.into_iter().chain(report.verdict()).chain(report.unseen()).map(|end| format!(" · {end}"));
    terminal::note(&format!("{}{}", run.summary(), ends.collect::<String>()));
    Ok(match (&ended.found, plan.target.gate()) {
        (Some(found), Some(gate)) if gate.is_closed_by(found) => ExitCode::from(FOUND),
        _ => exit_code(ended.status),
    })
}

/// Writes the report of a review that a worker finished. Without `--output` it stays in the store.
pub async fn write_report(plan: &ReviewPlan, run: &EndedRun<'_>) -> Result<()> {
    let Some(path) = &plan.target.output else { return Ok(()) };
    let ended = EndedReview::read(plan, run).await;
    write(path, plan.target.form.render(&ended.report(plan)).trim_end())?;
    terminal::note(&say!("file-written", file = path.display()));
    Ok(())
}

fn deliver(target: &ReviewTarget, text: &str) -> Result<()> {
    let Some(path) = &target.output else {
        terminal::deliver(text.trim_end());
        return Ok(());
    };
    if let Err(e) = write(path, text.trim_end()) {
        // The report was paid for: it goes to standard output if the file fails.
        terminal::deliver(text.trim_end());
        return Err(e);
    }
    terminal::note(&say!("file-written", file = path.display()));
    Ok(())
}

fn nothing(scope: &ChangeScope, paths: &[PathBuf], plan: &ReviewPlan) -> Result<ExitCode> {
    terminal::note(&match (scope, paths.is_empty()) {
        (ChangeScope::Since(base), true) => say!("review-nothing-since", base),
        (ChangeScope::Since(base), false) => say!("review-nothing-since-within", base),
        (ChangeScope::Uncommitted, true) => say!("review-nothing"),
        (ChangeScope::Staged, true) => say!("review-nothing-staged"),
        (ChangeScope::Commit(commit), true) => say!("review-nothing-commit", commit),
        (ChangeScope::Uncommitted | ChangeScope::Staged | ChangeScope::Commit(_), false) => {
            say!("review-nothing-within")
        }
    });
    // A person was told already; programs and files get a regular report.
    if plan.target.form == ReportForm::Markdown && plan.target.output.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    deliver(&plan.target, &plan.nothing())?;
    Ok(ExitCode::SUCCESS)
}

/// Tells if two paths lead to the same existing file.
fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
}

/// Fails early if the report could not be written.
fn refuse_unwritable(path: &Path) -> Result<()> {
    let is_new = !path.exists();
    OpenOptions::new().append(true).create(true).open(path).map_err(|e| unwritable(path).caused_by(e))?;
    if is_new {
        std::fs::remove_file(path).map_err(|e| unwritable(path).caused_by(e))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, format!("{text}\n")).map_err(|e| unwritable(path).caused_by(e))
}
