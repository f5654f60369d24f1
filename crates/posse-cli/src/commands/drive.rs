//! Session, progress view and stopping, shared by `run`, `chat`, `demo` and `tasks resume`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
use posse_runtime::session::{Session, SessionBuilder};
use posse_tools::edits::{self, EditSpan, EditedFile};
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind};

use crate::approval_prompt::ApprovalPrompt;
use crate::render::{self, LiveTree, file, tokens, with_subagents};
use crate::{signals, terminal};

/// A session at this terminal: shown while it runs, stopped by signals, concluded with a report.
pub struct RunSession {
    pub session: Arc<Session>,
    pub live: Option<Arc<LiveTree>>,
    pub json: bool,
    aids: RunAids,
    /// Asks about calls at this terminal.
    prompt: Option<ApprovalPrompt>,
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
}

/// Presentation of a session.
#[derive(Clone, Copy)]
pub struct RunView<'a> {
    pub progress: ProgressView,
    pub json: bool,
    pub title: &'a str,
}

impl RunView<'_> {
    /// Tells if a person can answer questions here.
    pub fn is_attended(&self) -> bool {
        matches!(self.progress, ProgressView::Shown) && !self.json && terminal::is_attended()
    }
}

/// Show progress while running, or not.
#[derive(Clone, Copy)]
pub enum ProgressView {
    Shown,
    Silent,
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

impl RunSession {
    /// Builds the session and its view.
    pub fn new(mut parts: SessionBuilder, view: RunView<'_>, aids: RunAids) -> Result<Self> {
        let mut live = None;
        if let ProgressView::Shown = view.progress {
            let (observer, tree) = render::observer(view.json, view.title);
            parts.watchers.observers = parts.watchers.observers.with(observer);
            live = tree;
        }
        let prompt = aids.asks.then(|| {
            let (prompt, asked) = ApprovalPrompt::new(parts.sources.store.clone());
            parts.watchers.observers = parts.watchers.observers.with(asked);
            prompt
        });
        Ok(Self { session: parts.build()?, live, json: view.json, aids, prompt })
    }

    /// Returns the operator's grant to this session.
    pub fn grant(&self) -> &Grant {
        &self.aids.operator.grant
    }

    /// Drives the work to its end or until the person stops it. SIGTERM and SIGHUP leave the task as `kill -9` would:
    /// nothing more is written, and the error says how to resume.
    pub async fn work(&self, work: RunWork) -> Result<Arc<Outcome>> {
        let task = match &work {
            RunWork::Start { .. } => TaskId::root(self.session.id()),
            RunWork::GoOn { id, .. } => id.clone(),
        };
        let working = async {
            match work {
                RunWork::Start { agent, task, verify, notes, delivery } => {
                    self.session.run_with_delivery(*agent, task, verify, notes, delivery).await
                }
                RunWork::GoOn { id, onward } if self.aids.regrants => {
                    self.session.resume_regranted(id, onward).await
                }
                RunWork::GoOn { id, onward } => self.session.resume(id, onward).await,
            }
        };
        let ticking = async {
            match &self.live {
                Some(live) => live.tick().await,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            // Signals are received before anything else, so that an early Ctrl-C counts.
            biased;
            e = self.listen(&task) => Err(e),
            outcome = working => outcome,
            () = ticking => unreachable!("the ticker never ends"),
            e = self.answer() => Err(e),
        };
        if let Some(live) = &self.live {
            live.finish();
        }
        outcome
    }

    /// Asks the person here about waiting calls.
    async fn answer(&self) -> Error {
        match &self.prompt {
            Some(prompt) => prompt.work(self.live.as_deref()).await,
            None => std::future::pending().await,
        }
    }

    /// Resolves when a signal ends the work: the third Ctrl-C, SIGTERM or SIGHUP.
    async fn listen(&self, task: &TaskId) -> Error {
        let receivers = signals::receiver(SignalKind::interrupt())
            .and_then(|interrupt| Ok((interrupt, signals::EndSignals::listen()?)));
        let (mut interrupt, mut end) = match receivers {
            Ok(receivers) => receivers,
            Err(e) => return e,
        };
        tokio::select! {
            signal = end.recv() => signal.interrupt(task),
            () = self.heed_ctrl_c(&mut interrupt) => {
                Error::new(ErrorCode::Io, say!("stopped-by-third")).hint(say!("stopped-by-third-hint", task))
            }
        }
    }

    /// Handles Ctrl-C: the first stops after the current step, the second stops now, the third ends the process at
    /// once.
    async fn heed_ctrl_c(&self, interrupt: &mut Signal) {
        interrupt.recv().await;
        self.say(&say!("stopping-after-step"));
        self.session.stop().soon.cancel();
        interrupt.recv().await;
        self.say(&say!("stopping-now"));
        self.session.stop().now.cancel();
        interrupt.recv().await;
    }

    fn say(&self, text: &str) {
        match &self.live {
            Some(live) => live.note(text),
            None => terminal::note(text),
        }
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
        self.remark().await;
        let text = outcome.text.trim_end();
        if !text.is_empty() {
            terminal::deliver(text);
        }
        tell_edits(id, &edits);
        terminal::note(&self.summary());
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
        let Self { room, id, agent, outcome, began, .. } = self;
        for left in room.session.left_running() {
            terminal::note(&say!("goes-on-with-worker", left));
        }
        if outcome.status() != OutcomeStatus::Completed {
            terminal::note(&headline(id, agent, outcome, began.elapsed()));
        }
        let stopped = self.stopped_with().await;
        if !stopped.is_empty() {
            let tasks = stopped.iter().map(TaskId::short).collect::<Vec<_>>().join(", ");
            terminal::note(&format!("  {}", say!("resumes-with", tasks)));
        }
        if let Some(remark) = room.session.sources().agents.remark() {
            terminal::note(&remark);
        }
        for warning in outcome.warnings.iter().chain(&room.aids.servers.remarks()) {
            terminal::note(&say!("warning", text = visible(warning)));
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
    let more = match outcome.stop {
        StopReason::TurnsExhausted => format!(" --max-turns {}", outcome.turns.max(1) * 2),
        StopReason::DeadlinePassed => {
            format!(" --timeout {}", (agent.limits.wall_ms_max / 1000).max(1).saturating_mul(2))
        }
        _ => String::new(),
    };
    let seconds = format!("{:.1}", took.as_secs_f64());
    let what = say!("stopped-after", reason = format_args!("{reason}{detail}"), seconds);
    let onward = say!("continue-with", id, more);
    format!("{} · {what}\n  {onward}", outcome.status().wire())
}
