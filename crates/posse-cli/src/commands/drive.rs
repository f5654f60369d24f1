//! Session, progress view and stopping, shared by `run`, `chat`, `demo` and `tasks resume`.

use std::io::IsTerminal;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_console::Console;
use posse_console::run::{RunDesk, RunEnd, RunLooks, RunScreen};
use posse_console::top::TopDoor;
use posse_core::agent::Agent;
use posse_core::envelope::envelope;
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::journal::reply_texts;
use posse_core::mode::WorkMode;
use posse_core::outcome::{InDoubtCall, Outcome, OutcomeStatus, StopReason};
use posse_core::refusal::OperatorGrant;
use posse_core::text::{head_and_tail, visible};
use posse_core::usage::{SpendingTotal, dollars};
use posse_core::verify::VerifyEvidence;
use posse_core::{Error, ErrorCode, Result};
use posse_git::WorktreeProvider;
use posse_mcp::registry::ServerRegistry;
use posse_messages::say;
use posse_runtime::driver::ResumeMode;
use posse_runtime::ports::Observer;
use posse_runtime::session::{Session, SessionBuilder, SessionSources};
use posse_tools::edits::{self, EditSpan, EditedFile};
use serde_json::Value;
use tokio::signal::unix::SignalKind;

use crate::render::{self, PartialText, file, tokens, with_subagents};
use crate::{signals, terminal, wire};

/// Time for giving the tasks of an interrupted run back.
const RELEASE_MAX: Duration = Duration::from_millis(500);
/// Exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// A session at this terminal: shown while it runs, stopped by signals, concluded with a report.
pub struct RunSession {
    pub session: Arc<Session>,
    pub json: bool,
    kind: RunKind,
    aids: RunAids,
    screen: Option<Arc<RunScreen>>,
    partial: Arc<PartialText>,
    /// Problems with tools and configuration, for the person.
    pub problems: Vec<String>,
}

/// Values that explain and conclude a run.
pub struct RunAids {
    pub operator: OperatorGrant,
    pub servers: Arc<ServerRegistry>,
    pub worktrees: Option<Arc<WorktreeProvider>>,
    /// True if the person at the terminal is asked about calls.
    pub asks: bool,
    /// The operator chose another mode for the task that is resumed.
    pub regrants: bool,
    /// Shows a task on a full screen.
    pub door: Option<TopDoor>,
}

/// Presentation of a session.
#[derive(Clone, Copy)]
pub struct RunView<'a> {
    pub progress: ProgressView<'a>,
    pub json: bool,
    pub kind: RunKind,
}

impl RunView<'_> {
    /// Tells if a person can answer questions here.
    pub fn is_attended(&self) -> bool {
        !matches!(self.progress, ProgressView::Silent) && !self.json && terminal::is_attended()
    }
}

/// Show progress while running, or not.
#[derive(Clone, Copy)]
pub enum ProgressView<'a> {
    Shown,
    Silent,
    /// A screen of the caller shows it, asks about calls and tells problems. Without an observer nothing runs yet.
    Watched(Option<&'a Arc<dyn Observer>>),
}

/// Sort of a run, which decides what a screen shows and what Ctrl-C does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// A task: its text is streamed, it can be left running, Ctrl-C interrupts it.
    Task,
    /// A task whose answer becomes a report in another form.
    Report,
    /// A task that no other process can drive.
    Demo,
    /// A message of a conversation: Ctrl-C ends the answer, not the conversation.
    Message,
}

/// Work to do in a session.
pub enum RunWork {
    Start {
        agent: Box<Agent>,
        task: String,
        verify: Vec<String>,
        notes: Vec<String>,
        /// Presentation of its outcome, if it has one of its own.
        delivery: Option<Value>,
    },
    GoOn {
        id: TaskId,
        onward: ResumeMode,
    },
}

/// End of the work in a session.
pub enum WorkEnd {
    Ended(Arc<Outcome>),
    /// Interrupted by the person, who was told how to resume it.
    Interrupted(ExitCode),
    /// The person left: a worker is to go on with it.
    Left,
}

impl RunSession {
    /// Builds the session and its view.
    pub fn new(mut parts: SessionBuilder, view: RunView<'_>, aids: RunAids) -> Result<Self> {
        let partial = Arc::new(PartialText::default());
        let mut screen = None;
        if let ProgressView::Shown = view.progress {
            screen = match (view.json, terminal::screen()) {
                (false, Some(io)) => {
                    let root = TaskId::root(&parts.id);
                    let looks = looks(view.kind, aids.door.is_some());
                    Some(Arc::new(RunScreen::new(root, looks, io.size())))
                }
                _ => None,
            };
            let observers = parts.watchers.observers.with(match &screen {
                Some(screen) => screen.clone(),
                None => render::observer(view.json),
            });
            parts.watchers.observers = observers.with(partial.clone());
        }
        if let ProgressView::Watched(Some(observer)) = view.progress {
            parts.watchers.observers = parts.watchers.observers.with(observer.clone());
        }
        let (session, problems) = (parts.build()?, Vec::new());
        Ok(Self { session, json: view.json, kind: view.kind, aids, screen, partial, problems })
    }

    /// Tells whether progress is shown as a live tree.
    pub fn has_screen(&self) -> bool {
        self.screen.is_some()
    }

    /// Returns the operator's grant to this session.
    pub fn grant(&self) -> &Grant {
        &self.aids.operator.grant
    }

    /// Drives the work to its end or until the person stops it. SIGTERM and SIGHUP leave the task as `kill -9` would:
    /// nothing more is written, and the error says how to resume.
    pub async fn work(&self, work: RunWork) -> Result<WorkEnd> {
        let task = match &work {
            RunWork::Start { .. } => TaskId::root(self.session.id()),
            RunWork::GoOn { id, .. } => id.clone(),
        };
        self.partial.watch(&task);
        if let Some(screen) = &self.screen {
            screen.watch(&task);
        }
        let ended = self.drive(&task, work).await;
        for line in self.screen.iter().flat_map(|screen| screen.take_lines()) {
            terminal::note(&line.to_ansi(terminal::looks().palette));
        }
        match ended? {
            DriveEnd::Outcome(outcome) => Ok(WorkEnd::Ended(outcome?)),
            DriveEnd::Stopped(RunEnd::Interrupted) => Ok(WorkEnd::Interrupted(self.interrupt(&task).await)),
            DriveEnd::Stopped(RunEnd::Left) => {
                self.session.release_tasks(&task).await?;
                Ok(WorkEnd::Left)
            }
        }
    }

    /// Drives the work until it ends or is stopped. The work is dropped when this returns.
    async fn drive(&self, task: &TaskId, work: RunWork) -> Result<DriveEnd> {
        let mut working = pin!(self.perform(work));
        let mut attending = pin!(self.attend());
        let stopped = tokio::select! {
            // Signals are received before anything else, so that an early Ctrl-C counts.
            biased;
            stopped = self.listen(task) => stopped?,
            outcome = &mut working => {
                // A person who reads in `top` comes back first, unless a signal ends that.
                tokio::select! {
                    biased;
                    _ = self.listen(task) => {}
                    () = self.is_back() => {}
                    _ = &mut attending => {}
                }
                self.settle_messages().await;
                return Ok(self.outcome(outcome));
            }
            stopped = &mut attending => stopped?,
        };
        if self.kind == RunKind::Message && stopped == RunEnd::Interrupted {
            self.session.stop().now.cancel();
            return Ok(self.outcome(working.await));
        }
        if stopped == RunEnd::Left && self.is_being_cancelled(task).await {
            return tokio::select! {
                biased;
                stopped = self.listen(task) => stopped.map(DriveEnd::Stopped),
                outcome = &mut working => Ok(self.outcome(outcome)),
            };
        }
        Ok(DriveEnd::Stopped(stopped))
    }

    /// Tells whether somebody else cancelled the task, so that there is nothing to leave running.
    async fn is_being_cancelled(&self, task: &TaskId) -> bool {
        let row = self.session.sources().store.task(task).await;
        row.is_ok_and(|row| row.cancel_requested || !row.state.is_running())
    }

    async fn settle_messages(&self) {
        if let Some(screen) = &self.screen {
            screen.settle_messages(self.session.sources().store.clone()).await;
        }
    }

    async fn is_back(&self) {
        if let Some(screen) = &self.screen {
            screen.is_back().await;
        }
    }

    /// Drives the work to its end.
    pub async fn perform(&self, work: RunWork) -> Result<Arc<Outcome>> {
        match work {
            RunWork::Start { agent, task, verify, notes, delivery } => {
                self.session.run_with_delivery(*agent, task, verify, notes, delivery).await
            }
            RunWork::GoOn { id, onward } if self.aids.regrants => {
                self.session.resume_regranted(id, onward).await
            }
            RunWork::GoOn { id, onward } => self.session.resume(id, onward).await,
        }
    }

    /// Prints an answer that was not streamed, while the screen is there.
    fn outcome(&self, outcome: Result<Arc<Outcome>>) -> DriveEnd {
        if let (Some(screen), Ok(outcome)) = (&self.screen, &outcome) {
            screen.print_answer(&outcome.text);
        }
        DriveEnd::Outcome(outcome)
    }

    /// Serves the screen, if there is one, until the person stops the work.
    async fn attend(&self) -> Result<RunEnd> {
        let (Some(screen), Some(io)) = (&self.screen, terminal::screen()) else {
            return std::future::pending().await;
        };
        let failed = |e| Error::new(ErrorCode::Io, say!("screen-not-opened")).caused_by(e);
        let (console, events) = Console::open(io, terminal::looks()).map_err(failed)?;
        let SessionSources { store, owner, .. } = self.session.sources();
        let (asks, door) = (self.aids.asks, self.aids.door.clone());
        let desk = RunDesk { store: store.clone(), owner: owner.clone(), asks, door };
        Ok(screen.attend(console, events, &desk).await)
    }

    /// Resolves when a signal stops the work; SIGTERM and SIGHUP end it with an error.
    async fn listen(&self, task: &TaskId) -> Result<RunEnd> {
        let mut interrupt = signals::receiver(SignalKind::interrupt())?;
        let mut end = signals::EndSignals::listen()?;
        tokio::select! {
            signal = end.recv() => Err(signal.interrupt(task)),
            _ = interrupt.recv() => Ok(RunEnd::Interrupted),
        }
    }

    /// Gives the tasks back, prints what there is, and says how to resume. A second Ctrl-C ends the process at once.
    async fn interrupt(&self, task: &TaskId) -> ExitCode {
        tokio::spawn(async {
            if let Ok(mut interrupt) = signals::receiver(SignalKind::interrupt()) {
                interrupt.recv().await;
                std::process::exit(INTERRUPTED.into());
            }
        });
        // Tasks that are not given back are those of a dead process a moment later.
        let released = tokio::time::timeout(RELEASE_MAX, self.session.release_tasks(task)).await;
        let released = released.ok().and_then(Result::ok).unwrap_or_default();
        let text = self.partial.text();
        if self.json {
            let mut error = wire::error(&signals::interrupted(task));
            error["text"] = text.into();
            terminal::out(&error.to_string());
            return ExitCode::from(INTERRUPTED);
        }
        let is_on_screen = self.screen.is_some() && self.kind != RunKind::Report && stdout_is_terminal();
        if !text.trim().is_empty() && !is_on_screen {
            terminal::deliver(text.trim_end());
        }
        match &self.screen {
            Some(screen) => {
                screen.interrupt(&released);
                self.print_ending(screen, &[say!("end-resume", id = task)]);
            }
            None => terminal::note(&say!("run-interrupted", task)),
        }
        ExitCode::from(INTERRUPTED)
    }

    fn print_ending(&self, screen: &RunScreen, hints: &[String]) {
        let palette = terminal::looks().palette;
        screen.ending(hints).iter().for_each(|line| terminal::note(&line.to_ansi(palette)));
    }

    /// Describes a run that has ended. Its spending is read from the store, with that of its subagents.
    pub async fn ended<'a>(
        &'a self,
        id: &'a TaskId,
        agent: &'a Agent,
        outcome: &'a Outcome,
        began: Instant,
    ) -> EndedRun<'a> {
        let own = outcome.usage.spending(outcome.turns);
        // If the store cannot be read now, the answer still matters more than its exact price.
        let tree = self.session.sources().store.tree_total(id).await.unwrap_or(own);
        EndedRun { room: self, id, agent, outcome, began, tree }
    }
}

/// End of driving: the outcome, or the wish of the person.
enum DriveEnd {
    Outcome(Result<Arc<Outcome>>),
    Stopped(RunEnd),
}

/// Returns what a screen shows of a run.
fn looks(kind: RunKind, can_open: bool) -> RunLooks {
    let options = terminal::looks();
    RunLooks {
        palette: options.palette,
        symbols: options.symbols,
        streams: kind != RunKind::Report,
        can_leave: matches!(kind, RunKind::Task | RunKind::Report),
        can_open,
        clock: terminal::clock,
        notes: render::traces,
    }
}

fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// A run that has ended, to be reported.
pub struct EndedRun<'a> {
    room: &'a RunSession,
    pub id: &'a TaskId,
    agent: &'a Agent,
    pub outcome: &'a Outcome,
    began: Instant,
    /// Spending of the task and its subagents.
    tree: SpendingTotal,
}

impl EndedRun<'_> {
    /// Prints the outcome and returns the exit code.
    pub async fn conclude(&self) -> ExitCode {
        let Self { room, id, outcome, .. } = self;
        let edits = self.edits().await;
        if room.json {
            let mut value = self.envelope().await;
            value["changes"] = edits.iter().map(EditedFile::to_json).collect();
            terminal::out(&value.to_string());
            return super::exit_code(outcome.status());
        }
        let text = outcome.text.trim_end();
        if let Some(screen) = &room.screen {
            self.remark_details().await;
            if !text.is_empty() && !stdout_is_terminal() {
                terminal::deliver(text);
            }
            screen.settle_changes(edits.iter().map(|edit| edit.change.clone()).collect());
            room.print_ending(screen, &self.hints(!edits.is_empty()));
        } else {
            self.remark().await;
            if !text.is_empty() {
                terminal::deliver(text);
            }
            tell_edits(id, &edits);
            terminal::note(&self.summary());
        }
        for task in self.kept_apart() {
            terminal::note(&say!("changes-kept-apart", task));
        }
        super::exit_code(outcome.status())
    }

    /// Lists files changed by the task and its subagents; in a conversation, since the last message.
    async fn edits(&self) -> Vec<EditedFile> {
        let Outcome { changed_files, in_doubt, .. } = self.outcome;
        if self.tree.tasks <= 1 && changed_files.is_empty() && in_doubt.is_empty() {
            return Vec::new();
        }
        let store = &*self.room.session.sources().store;
        let edits = edits::gather(store, self.id, EditSpan::LastMessage).await;
        edits.unwrap_or_else(|e| {
            terminal::warn(&e);
            Vec::new()
        })
    }

    /// Returns the text of every readable reply of the task, in order.
    pub async fn replies(&self) -> Vec<String> {
        let records = self.room.session.sources().store.records(self.id).await.unwrap_or_default();
        reply_texts(&records)
    }

    /// Builds the JSON envelope of the outcome.
    pub async fn envelope(&self) -> Value {
        let Self { room, id, agent, outcome, began, tree } = self;
        let mut value = envelope(id, &agent.model, outcome, self.cost(), tree, began.elapsed());
        let ids = |tasks: &[TaskId]| tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        // Detached tasks; a worker resumes them.
        value["mode"] = WorkMode::of(&self.room.grant().keep(&agent.rights)).wire().into();
        value["left_running"] = ids(&room.session.left_running());
        value["resumes_with"] = ids(&self.stopped_with().await);
        value["kept_apart"] = ids(&self.kept_apart());
        value
    }

    /// Finds tasks that stopped with this one and continue when it is resumed.
    async fn stopped_with(&self) -> Vec<TaskId> {
        if self.outcome.stop == StopReason::Answered {
            return Vec::new();
        }
        self.room.session.stopped_with(self.id).await.unwrap_or_else(|e| {
            terminal::warn(&e);
            Vec::new()
        })
    }

    /// Lists tasks of this run whose worktrees still hold changes.
    fn kept_apart(&self) -> Vec<TaskId> {
        let worktrees = self.room.aids.worktrees.as_ref();
        worktrees.map(|apart| apart.kept(self.id.session())).unwrap_or_default()
    }

    /// Price of the task without its subagents: as journaled, or at today's price for a task journaled without one.
    fn cost(&self) -> Option<u64> {
        let Outcome { usage, answered_by, .. } = self.outcome;
        usage.cost_micros.or_else(|| {
            let open = self.room.session.sources().models.open(self.agent).ok();
            open.and_then(|open| open.tariff.cost(usage, answered_by))
        })
    }

    /// Prints notes that belong before the answer.
    pub async fn remark(&self) {
        let Self { id, agent, outcome, began, .. } = self;
        if outcome.status() != OutcomeStatus::Completed {
            terminal::note(&headline(id, agent, outcome, began.elapsed()));
        }
        self.remark_details().await;
    }

    /// Returns the commands that make sense after this end.
    fn hints(&self, has_edits: bool) -> Vec<String> {
        let Self { id, agent, outcome, .. } = self;
        let resume = match outcome.status() {
            OutcomeStatus::Completed => None,
            OutcomeStatus::Failed => Some(say!("end-try-again", id)),
            OutcomeStatus::Partial | OutcomeStatus::Cancelled => {
                Some(format!("posse tasks resume {id}{}", more_flags(agent, outcome)))
            }
        };
        let edits = has_edits.then(|| ["diff", "undo"].map(|verb| format!("posse tasks {verb} {id}")));
        resume
            .into_iter()
            .chain(edits.into_iter().flatten())
            .chain([format!("posse tasks show {id}")])
            .collect()
    }

    /// Prints what differs from a run without surprises.
    async fn remark_details(&self) {
        let Self { room, agent, outcome, .. } = self;
        for left in room.session.left_running() {
            terminal::note(&say!("goes-on-with-worker", left));
        }
        let stopped = self.stopped_with().await;
        if !stopped.is_empty() {
            let tasks = stopped.iter().map(TaskId::short).collect::<Vec<_>>().join(", ");
            terminal::note(&format!("  {}", say!("resumes-with", tasks)));
        }
        if let Some(remark) = room.session.sources().agents.remark() {
            terminal::note(&remark);
        }
        let is_told = |note: &&String| room.screen.as_ref().is_some_and(|screen| screen.has_told(note));
        let warnings = outcome.warnings.iter().filter(|warning| !is_told(warning));
        for warning in warnings.chain(&room.aids.servers.remarks()) {
            terminal::remark(&say!("warning", text = visible(warning)));
        }
        for error in &outcome.schema_errors {
            terminal::note(&say!("schema-unsatisfied", error = visible(error)));
        }
        for found in outcome.evidence.iter().filter(|found| !found.passed()) {
            terminal::note(&failure(found));
        }
        for line in room.aids.operator.explain(agent, &outcome.refused_tools) {
            terminal::note(&line);
        }
        for InDoubtCall { key, tool, about } in &outcome.in_doubt {
            let call = format!("{tool} {about}");
            terminal::note(&say!("in-doubt-call", call = visible(call.trim_end()), key));
        }
    }

    /// Formats the last line: status and usage.
    pub fn summary(&self) -> String {
        let Outcome { turns, tool_calls, usage, .. } = self.outcome;
        let cost = self.cost().map(|micros| format!(" · ${:.4}", dollars(micros))).unwrap_or_default();
        format!(
            "{} · {} · {} · {} · {}{cost}{}",
            self.id,
            self.outcome.status().wire(),
            say!("many-turns", n = turns),
            say!("many-tools", n = tool_calls),
            tokens(usage.total()),
            with_subagents(&self.tree)
        )
    }
}

/// Changed files that a summary lists; `posse tasks diff` shows all.
const EDITS_SHOWN: usize = 20;

/// Lists changed files and the command that shows the diff.
fn tell_edits(id: &TaskId, edits: &[EditedFile]) {
    if edits.is_empty() {
        return;
    }
    terminal::note(&say!("files-changed", files = say!("many-files", n = edits.len()), task = id));
    for EditedFile { change, gap, .. } in edits.iter().take(EDITS_SHOWN) {
        let gap = gap.map(|gap| format!(" · {}", gap.text())).unwrap_or_default();
        terminal::note(&format!("  {}{gap}", file(change, terminal::colours())));
    }
    if edits.len() > EDITS_SHOWN {
        terminal::note(&format!("  {}", say!("changes-more", n = edits.len() - EDITS_SHOWN)));
    }
}

/// Formats a failed verification command with its output.
fn failure(found: &VerifyEvidence) -> String {
    const SHOWN: usize = 2_000;
    let output = head_and_tail(found.output.trim_end(), SHOWN);
    let failed = say!("verify-failed", command = found.command, ending = found.ending());
    let text = format!("{failed}\n{output}");
    visible(text.trim_end()).replace('\n', "\n  ")
}

/// Formats the first line of a run that stopped early: the reason and the remedy.
fn headline(id: &TaskId, agent: &Agent, outcome: &Outcome, took: Duration) -> String {
    let detail = outcome.detail.as_ref().map(|detail| format!(" ({})", visible(detail))).unwrap_or_default();
    let reason = match outcome.stop {
        StopReason::Answered => say!("answer-is-empty"),
        StopReason::TurnsExhausted => say!("turn-limit-reached", turns = outcome.turns),
        other => other.wire().replace('_', " "),
    };
    let more = more_flags(agent, outcome);
    let seconds = format!("{:.1}", took.as_secs_f64());
    let what = say!("stopped-after", reason = format_args!("{reason}{detail}"), seconds);
    let onward = say!("continue-with", id, more);
    format!("{} · {what}\n  {onward}", outcome.status().wire())
}

/// Returns the flags that give a resumed task more of what it ran out of.
fn more_flags(agent: &Agent, outcome: &Outcome) -> String {
    match outcome.stop {
        StopReason::TurnsExhausted => format!(" --max-turns {}", outcome.turns.max(1) * 2),
        StopReason::DeadlinePassed => {
            format!(" --timeout {}", (agent.limits.wall_ms_max / 1000).max(1).saturating_mul(2))
        }
        _ => String::new(),
    }
}
