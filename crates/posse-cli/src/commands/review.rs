//! `posse review`: the changes of a work tree go in, findings come out.

mod diff;
pub mod findings;
mod git;
mod report;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use posse_core::agent::{Agent, ModelSettings};
use posse_core::grant::{AccessLevel, Rights};
use posse_core::id::TaskId;
use posse_core::journal::TaskStart;
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::output::extract;
use posse_core::provenance::marked;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{fixed, say};
use posse_runtime::session::facades::{Facade, SessionFacades};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::diff::{CutFile, FileDiff};
use self::findings::{FindingSeverity, ReviewFindings};
pub use self::git::ReviewScope;
use self::git::{ReviewChanges, ReviewRepository, content_below};
use self::report::{ReviewGate, ReviewReport};
use super::drive::{ProgressView, RunSession, RunWork};
use super::run::{SessionParts, furnish};
use crate::args::{GlobalArgs, ReviewArgs, RunOptions};
use crate::retention;
use crate::setup::{Setup, name, new_session_id};
use crate::terminal::{self, OutputDelivery};

const PROMPT: &str = include_str!("../../prompts/review.md");
const SCHEMA: &str = include_str!("../../prompts/review.schema.json");
/// There are findings as grave as `--fail-on` says. Not the code of a review that failed.
const FOUND: u8 = 4;
/// Names the plan of a review among the deliveries of tasks.
const DELIVERY: &str = "review";

pub async fn run(global: &GlobalArgs, args: ReviewArgs) -> Result<ExitCode> {
    let here = std::env::current_dir()
        .map_err(|e| Error::new(ErrorCode::Io, say!("directory-unreadable")).caused_by(e))?;
    let repository = ReviewRepository::open(&here).await?;
    let scope = args.scope();
    let mut changes = repository.changes(&scope, &args.paths).await?;
    let mut plan = ReviewPlan::new(global, &args, &here, &repository);
    if let Some(path) = &plan.output {
        refuse_unwritable(path)?;
        // The report of the last review is no change to review.
        changes.files.retain(|file| !is_same(&repository.root.join(&file.path), path));
    }
    if changes.files.is_empty() {
        plan.notes = changes.notes;
        return nothing(&scope, &args.paths, &plan);
    }
    let setup = Setup::load_in(global, repository.root.clone())?;
    let how = args.how();
    setup.meet_servers(&how).await;
    let reviewer = reviewer(&setup, &how)?;
    let fitted = diff::fit(&changes.files, reviewer.limits.context_window);
    let (title, task) = (title(&scope, &changes), task(&scope, &changes, &fitted.text));
    (plan.files, plan.cut, plan.notes) = (changes.files, fitted.cut, changes.notes);
    let session_id = new_session_id();
    let room = room(&setup, &how, &reviewer, session_id.clone(), &title)?;
    let (began, id) = (Instant::now(), TaskId::root(&session_id));
    let agent = Box::new(reviewer.clone());
    let outcome = room.work(RunWork::Deliver { agent, task, delivery: plan.to_delivery() }).await;
    setup.close_servers().await;
    let code = plan.conclude(&room, &id, &reviewer, &*outcome?, began).await;
    retention::apply_later(global, &setup.config.store, &setup.state);
    code
}

/// How a review ends, kept with its task so that a resumed one ends the same way: what was compared, what of it the model
/// was shown, and where the report goes.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReviewPlan {
    form: ReportForm,
    output: Option<PathBuf>,
    fail_on: Option<FindingSeverity>,
    fail_on_unplaced: bool,
    root: PathBuf,
    files: Vec<FileDiff>,
    cut: Vec<CutFile>,
    notes: Vec<String>,
}

impl ReviewPlan {
    fn new(global: &GlobalArgs, args: &ReviewArgs, here: &Path, repository: &ReviewRepository) -> Self {
        Self {
            form: ReportForm::of(global, args),
            // Whoever resumes it may be elsewhere.
            output: args.output.as_ref().map(|path| here.join(path)),
            fail_on: args.fail_on,
            fail_on_unplaced: args.fail_on_unplaced,
            root: repository.root.clone(),
            files: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The plan of a task that is a review.
    pub fn of(start: &TaskStart) -> Option<Self> {
        Self::deserialize(start.delivery.as_ref()?.get(DELIVERY)?).ok()
    }

    fn to_delivery(&self) -> Value {
        json!({ DELIVERY: self })
    }

    /// Tools with which a reviewer delegates.
    pub fn facades() -> SessionFacades {
        [Facade::RunSubagent].into_iter().collect()
    }

    /// As JSON, if whoever resumes it asks for that.
    pub fn in_form_of(mut self, global: &GlobalArgs) -> Self {
        if global.json {
            self.form = ReportForm::Json;
        }
        self
    }

    /// Delivers the report and says how the program ends.
    pub async fn conclude(
        &self,
        room: &RunSession,
        id: &TaskId,
        agent: &Agent,
        outcome: &Outcome,
        began: Instant,
    ) -> Result<ExitCode> {
        let (found, tree) = (self.found(room, id, outcome).await, room.tree(id, outcome).await);
        let status = status(outcome, found.as_ref());
        let run = Some(room.envelope(id, agent, outcome, &tree, began).await);
        let report = ReviewReport { run, ..self.report(found.as_ref(), status) };
        room.remark(id, agent, outcome, began).await;
        for remark in report.remarks() {
            terminal::note(&say!("plain-note", note = remark));
        }
        let delivery = self.deliver(&self.form.render(&report))?;
        let counted = found.as_ref().map(ReviewFindings::counted);
        let ends =
            counted.into_iter().chain(report.verdict()).chain(report.unseen()).map(|end| format!(" · {end}"));
        terminal::note(&format!("{}{}", room.summary(id, agent, outcome, &tree), ends.collect::<String>()));
        Ok(self.exit_code(status, found.as_ref(), delivery))
    }

    /// The findings of the answer; of a run that stopped early, those of the last answer that can be read.
    async fn found(&self, room: &RunSession, id: &TaskId, outcome: &Outcome) -> Option<ReviewFindings> {
        let read = |answer: &Value| {
            ReviewFindings::read(answer, &self.files, |file| content_below(&self.root, file))
        };
        if let Some(found) = outcome.data.as_ref().and_then(read) {
            return Some(found);
        }
        let of_text = |text: &str| read(&extract(text).ok()?.value).filter(ReviewFindings::is_readable);
        if let Some(found) = of_text(&outcome.text) {
            return Some(found);
        }
        let replies = room.replies(id).await;
        // A draft without findings says nothing about what came after it.
        replies.iter().rev().find_map(|reply| of_text(reply).filter(|found| !found.findings.is_empty()))
    }

    fn report<'a>(&'a self, found: Option<&'a ReviewFindings>, status: OutcomeStatus) -> ReviewReport<'a> {
        let Self { files, cut, notes, .. } = self;
        ReviewReport { files, cut, notes, found, gate: self.gate(), status, run: None }
    }

    fn gate(&self) -> Option<ReviewGate> {
        self.fail_on.map(|at_least| ReviewGate { at_least, unplaced: self.fail_on_unplaced })
    }

    fn deliver(&self, text: &str) -> Result<OutputDelivery> {
        let Some(path) = &self.output else {
            return Ok(terminal::deliver(text.trim_end()));
        };
        if let Err(e) = write(path, text.trim_end()) {
            // What was paid for is not lost with the place for it.
            let _ = terminal::deliver(text.trim_end());
            return Err(e);
        }
        terminal::note(&say!("file-written", file = path.display()));
        Ok(OutputDelivery::Done)
    }

    fn exit_code(
        &self,
        status: OutcomeStatus,
        found: Option<&ReviewFindings>,
        delivery: OutputDelivery,
    ) -> ExitCode {
        if delivery == OutputDelivery::Failed {
            return ExitCode::FAILURE;
        }
        match (found, self.gate()) {
            (Some(found), Some(gate)) if gate.is_closed_by(found) => ExitCode::from(FOUND),
            _ => super::exit_code(status),
        }
    }
}

/// The status of the review: a run that failed, but whose answer can be read, has something to show.
fn status(outcome: &Outcome, found: Option<&ReviewFindings>) -> OutcomeStatus {
    match (outcome.status(), found) {
        (OutcomeStatus::Completed, None) => OutcomeStatus::Failed,
        (OutcomeStatus::Failed, Some(_)) => OutcomeStatus::Partial,
        (status, _) => status,
    }
}

/// As careful as the orchestrator may be, and it only looks.
fn reviewer(setup: &Setup, how: &RunOptions) -> Result<Agent> {
    let orchestrator = setup.orchestrator(how)?;
    Ok(Agent {
        name: name("reviewer"),
        description: "Reviews changes and delegates what needs a closer look".to_owned(),
        system_prompt: format!("{}\n\nWorkspace: {}", PROMPT.trim_end(), setup.workspace.display()),
        rights: Rights { access: AccessLevel::ReadOnly, ..Rights::default() },
        settings: ModelSettings { output_schema: Some(SCHEMA.to_owned()), ..orchestrator.settings.clone() },
        ..orchestrator
    })
}

fn room(
    setup: &Setup,
    how: &RunOptions,
    agent: &Agent,
    session_id: String,
    title: &str,
) -> Result<RunSession> {
    let found = setup.tools()?;
    let (grant, caps, store) = (setup.grant(how, &found)?, setup.caps(how), setup.store()?);
    let facades = ReviewPlan::facades();
    // The report is what goes to standard output, in one piece; so progress is for people in any case.
    let (json, view) = (false, ProgressView::Shown);
    furnish(
        setup,
        how,
        found,
        SessionParts {
            session_id,
            agent: Some(agent),
            grant,
            caps,
            json,
            title,
            view,
            store,
            facades,
            apart_from: None,
        },
    )
}

fn title(scope: &ReviewScope, changes: &ReviewChanges) -> String {
    let what = match scope {
        ReviewScope::Uncommitted => "Review the uncommitted changes".to_owned(),
        ReviewScope::Since(base) => format!("Review what was changed since `{base}`"),
        ReviewScope::Staged => "Review the staged changes".to_owned(),
        ReviewScope::Commit(commit) => format!("Review the commit `{commit}`"),
    };
    format!("{what} in {}", fixed!("review-files", n = changes.files.len()))
}

/// Names of files are data like their content, so all of it stands between marks.
fn task(scope: &ReviewScope, changes: &ReviewChanges, diff: &str) -> String {
    let notes: String = changes.notes.iter().map(|note| format!("Note: {note}\n\n")).collect();
    let material = format!("{}\n\n{notes}{}", diff::list(&changes.files), diff.trim_end_matches('\n'));
    format!("{}.\n\n{}", title(scope, changes), marked("git diff", &material))
}

fn nothing(scope: &ReviewScope, paths: &[PathBuf], plan: &ReviewPlan) -> Result<ExitCode> {
    terminal::note(&match (scope, paths.is_empty()) {
        (ReviewScope::Since(base), true) => say!("review-nothing-since", base),
        (ReviewScope::Since(base), false) => say!("review-nothing-since-within", base),
        (ReviewScope::Uncommitted, true) => say!("review-nothing"),
        (ReviewScope::Staged, true) => say!("review-nothing-staged"),
        (ReviewScope::Commit(commit), true) => say!("review-nothing-commit", commit),
        (ReviewScope::Uncommitted | ReviewScope::Staged | ReviewScope::Commit(_), false) => {
            say!("review-nothing-within")
        }
    });
    // A person was told already; programs and files get a report like any other.
    if plan.form == ReportForm::Markdown && plan.output.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let found =
        ReviewFindings { summary: "There are no changes to review.".to_owned(), ..ReviewFindings::default() };
    let report = plan.report(Some(&found), OutcomeStatus::Completed);
    Ok(match plan.deliver(&plan.form.render(&report))? {
        OutputDelivery::Done => ExitCode::SUCCESS,
        OutputDelivery::Failed => ExitCode::FAILURE,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReportForm {
    Markdown,
    Json,
    Sarif,
}

impl ReportForm {
    fn of(global: &GlobalArgs, args: &ReviewArgs) -> Self {
        match (args.sarif, global.json) {
            (true, _) => ReportForm::Sarif,
            (false, true) => ReportForm::Json,
            (false, false) => ReportForm::Markdown,
        }
    }

    fn render(self, report: &ReviewReport<'_>) -> String {
        match self {
            ReportForm::Markdown => report::markdown(report),
            ReportForm::Json => report::json(report).to_string(),
            ReportForm::Sarif => format!("{:#}", report::sarif(report)),
        }
    }
}

/// Whether two paths lead to the same file that exists.
fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
}

/// Before anything is spent on a report that has no place.
fn refuse_unwritable(path: &Path) -> Result<()> {
    let is_new = !path.exists();
    OpenOptions::new().append(true).create(true).open(path).map_err(|e| unwritable(path, e))?;
    if is_new {
        std::fs::remove_file(path).map_err(|e| unwritable(path, e))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, format!("{text}\n")).map_err(|e| unwritable(path, e))
}

fn unwritable(path: &Path, e: std::io::Error) -> Error {
    Error::new(ErrorCode::Io, say!("cannot-be-written", path = path.display())).caused_by(e)
}
