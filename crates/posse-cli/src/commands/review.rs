//! `posse review`: the changes of a work tree go in, findings come out.

mod diff;
pub mod findings;
mod git;
mod report;

use std::fs::OpenOptions;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use posse_core::agent::{Agent, ModelSettings};
use posse_core::grant::{Access, Rights};
use posse_core::id::TaskId;
use posse_core::outcome::{Outcome, Status};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{fixed, say};
use posse_runtime::session::facades::Facade;

use self::findings::Findings;
use self::git::{Changes, Repository};
use self::report::Report;
use super::drive::{Room, View, Work};
use super::run::{Furniture, furnish};
use crate::args::{Global, How, ReviewArgs};
use crate::retention;
use crate::setup::{Setup, name, new_session_id};
use crate::terminal::{self, Delivery};

const PROMPT: &str = include_str!("../../prompts/review.md");
const SCHEMA: &str = include_str!("../../prompts/review.schema.json");
/// There are findings as grave as `--fail-on` says. Not the code of a review that failed.
const FOUND: u8 = 4;

pub async fn run(global: &Global, args: ReviewArgs) -> Result<ExitCode> {
    let here = std::env::current_dir()
        .map_err(|e| Error::new(ErrorCode::Io, say!("directory-unreadable")).caused_by(e))?;
    let repository = Repository::open(&here).await?;
    let changes = repository.changes(args.base.as_deref(), &args.paths).await?;
    let form = Form::of(global, &args);
    if let Some(path) = &args.output {
        refuse_unwritable(path)?;
    }
    if changes.files.is_empty() {
        return nothing(&args, form, &changes);
    }
    let setup = Setup::load_in(global, repository.root.clone())?;
    let how = args.how();
    setup.meet_servers(&how).await;
    let reviewer = reviewer(&setup, &how)?;
    let fitted = diff::fit(&changes.files, reviewer.limits.context_window);
    let task = task(&args, &changes, &fitted.text);
    let session_id = new_session_id();
    let room = room(&setup, &how, &reviewer, session_id.clone(), &title(&args, &changes))?;
    let (began, id) = (Instant::now(), TaskId::root(&session_id));
    let agent = Box::new(reviewer.clone());
    let outcome = room.work(Work::Start { agent, task, verify: Vec::new(), notes: Vec::new() }).await;
    setup.close_servers().await;
    let outcome = outcome?;

    let (found, tree) = (found(&outcome, &changes, &repository), room.tree(&id, &outcome).await);
    let report = Report {
        files: &changes.files,
        cut: &fitted.cut,
        notes: &changes.notes,
        found: found.as_ref(),
        run: Some(room.envelope(&id, &reviewer, &outcome, &tree, began)),
    };
    room.remark(&id, &reviewer, &outcome, began);
    for remark in report.remarks() {
        terminal::note(&say!("plain-note", note = remark));
    }
    let delivery = deliver(&args, &form.render(&report))?;
    let counted = found.as_ref().map(|found| format!(" · {}", found.counted())).unwrap_or_default();
    terminal::note(&format!("{}{counted}", room.summary(&id, &reviewer, &outcome, &tree)));
    retention::apply_later(global, &setup.config.store, &setup.state);
    Ok(exit_code(&args, &outcome, found.as_ref(), delivery))
}

/// Only an answer in the right form has findings.
fn found(outcome: &Outcome, changes: &Changes, repository: &Repository) -> Option<Findings> {
    let answer = outcome.data.as_ref().filter(|_| outcome.status() == Status::Completed)?;
    Findings::of(answer, &changes.files, |file| repository.lines_of(file))
}

/// As careful as the orchestrator may be, and it only looks.
fn reviewer(setup: &Setup, how: &How) -> Result<Agent> {
    let orchestrator = setup.orchestrator(how)?;
    Ok(Agent {
        name: name("reviewer"),
        description: "Reviews changes and delegates what needs a closer look".to_owned(),
        system_prompt: format!("{}\n\nWorkspace: {}", PROMPT.trim_end(), setup.workspace.display()),
        rights: Rights { access: Access::ReadOnly, ..Rights::default() },
        settings: ModelSettings { output_schema: Some(SCHEMA.to_owned()), ..orchestrator.settings.clone() },
        ..orchestrator
    })
}

fn room(setup: &Setup, how: &How, agent: &Agent, session_id: String, title: &str) -> Result<Room> {
    let found = setup.tools()?;
    let (grant, caps, store) = (setup.grant(how, &found)?, setup.caps(how), setup.store()?);
    let facades = [Facade::RunSubagent].into_iter().collect();
    // The report is what goes to standard output, in one piece; so progress is for people in any case.
    let (json, view) = (false, View::Shown);
    furnish(
        setup,
        how,
        found,
        Furniture {
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

fn title(args: &ReviewArgs, changes: &Changes) -> String {
    let what = match &args.base {
        Some(base) => format!("Review what was changed since `{base}`"),
        None => "Review the uncommitted changes".to_owned(),
    };
    format!("{what} in {}", fixed!("review-files", n = changes.files.len()))
}

fn task(args: &ReviewArgs, changes: &Changes, diff: &str) -> String {
    let mut task =
        format!("{}.\n\n{}\n\n<diff>\n{diff}</diff>", title(args, changes), diff::list(&changes.files));
    for note in &changes.notes {
        task.push_str(&format!("\n\nNote: {note}"));
    }
    task
}

fn nothing(args: &ReviewArgs, form: Form, changes: &Changes) -> Result<ExitCode> {
    terminal::note(&match (&args.base, args.paths.is_empty()) {
        (Some(base), true) => say!("review-nothing-since", base),
        (Some(base), false) => say!("review-nothing-since-within", base),
        (None, true) => say!("review-nothing"),
        (None, false) => say!("review-nothing-within"),
    });
    let found = Findings { summary: "There are no changes to review.".to_owned(), ..Findings::default() };
    let report = Report { files: &[], cut: &[], notes: &changes.notes, found: Some(&found), run: None };
    // A person was told already; programs and files get a report like any other.
    if form == Form::Markdown && args.output.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(match deliver(args, &form.render(&report))? {
        Delivery::Done => ExitCode::SUCCESS,
        Delivery::Failed => ExitCode::FAILURE,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Markdown,
    Json,
    Sarif,
}

impl Form {
    fn of(global: &Global, args: &ReviewArgs) -> Self {
        match (args.sarif, global.json) {
            (true, _) => Form::Sarif,
            (false, true) => Form::Json,
            (false, false) => Form::Markdown,
        }
    }

    fn render(self, report: &Report<'_>) -> String {
        match self {
            Form::Markdown => report::markdown(report),
            Form::Json => report::json(report).to_string(),
            Form::Sarif => format!("{:#}", report::sarif(report)),
        }
    }
}

fn deliver(args: &ReviewArgs, text: &str) -> Result<Delivery> {
    let Some(path) = &args.output else {
        return Ok(terminal::deliver(text.trim_end()));
    };
    if let Err(e) = write(path, text.trim_end()) {
        // What was paid for is not lost with the place for it.
        let _ = terminal::deliver(text.trim_end());
        return Err(e);
    }
    terminal::note(&say!("file-written", file = path.display()));
    Ok(Delivery::Done)
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

fn exit_code(args: &ReviewArgs, outcome: &Outcome, found: Option<&Findings>, delivery: Delivery) -> ExitCode {
    if delivery == Delivery::Failed {
        return ExitCode::FAILURE;
    }
    let is_grave = |found: &Findings| args.fail_on.is_some_and(|at_least| found.has(at_least));
    match (outcome.status(), found) {
        (Status::Completed, Some(found)) if is_grave(found) => ExitCode::from(FOUND),
        (Status::Completed, None) => ExitCode::FAILURE,
        (status, _) => super::exit_code(status),
    }
}
