//! Session, progress view and stopping, shared by `run`, `chat`, `demo` and `tasks resume`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::agent::Agent;
use posse_core::envelope::envelope;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::message::Block;
use posse_core::outcome::{InDoubtCall, Outcome, OutcomeStatus, StopReason};
use posse_core::refusal::OperatorGrant;
use posse_core::text::{head_and_tail, visible};
use posse_core::usage::{SpendingTotal, dollars};
use posse_core::verify::VerifyEvidence;
use posse_core::{Error, ErrorCode, Result};
use posse_git::WorktreeProvider;
use posse_mcp::registry::ServerRegistry;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::driver::ResumeMode;
use posse_runtime::session::{Session, SessionBuilder};
use posse_tools::edits::{self, EditSpan, EditedFile};
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind};

use crate::desk::ApprovalPrompt;
use crate::render::{self, LiveTree, file, tokens, with_subagents};
use crate::terminal::OutputDelivery;
use crate::{signals, terminal};

/// A session at this terminal: shown while it runs, stopped by signals, concluded with a report.
pub struct RunSession {
    pub session: Arc<Session>,
    pub live: Option<Arc<LiveTree>>,
    pub json: bool,
    aids: RunAids,
    /// Asks about calls at this terminal.
    desk: Option<ApprovalPrompt>,
}

/// Values that explain and conclude a run.
pub struct RunAids {
    pub operator: OperatorGrant,
    pub servers: Arc<ServerRegistry>,
    pub worktrees: Option<Arc<WorktreeProvider>>,
    /// True if the person at the terminal is asked about calls.
    pub asks: bool,
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
    },
    /// A task whose outcome has a presentation of its own.
    Deliver {
        agent: Box<Agent>,
        task: String,
        delivery: Value,
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
        let desk = aids.asks.then(|| {
            let (desk, asked) = ApprovalPrompt::new(parts.stores.store.clone());
            parts.watchers.observers = parts.watchers.observers.with(asked);
            desk
        });
        Ok(Self { session: parts.build()?, live, json: view.json, aids, desk })
    }

    /// Drives the work to its end or until the person stops it. SIGTERM and SIGHUP leave the task as `kill -9` would:
    /// nothing more is written, and the error says how to resume.
    pub async fn work(&self, work: RunWork) -> Result<Arc<Outcome>> {
        let task = match &work {
            RunWork::Start { .. } | RunWork::Deliver { .. } => TaskId::root(self.session.id()),
            RunWork::GoOn { id, .. } => id.clone(),
        };
        let working = async {
            match work {
                RunWork::Start { agent, task, verify, notes } => {
                    self.session.run(*agent, task, verify, notes).await
                }
                RunWork::Deliver { agent, task, delivery } => {
                    let (verify, notes) = (Vec::new(), Vec::new());
                    self.session.run_to_deliver(*agent, task, verify, notes, Some(delivery)).await
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
        match &self.desk {
            Some(desk) => desk.work(self.live.as_deref()).await,
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

    /// Prints the outcome and returns the exit code.
    pub async fn conclude(&self, id: &TaskId, agent: &Agent, outcome: &Outcome, began: Instant) -> ExitCode {
        let tree = self.tree(id, outcome).await;
        let edits = self.edits(id, outcome, &tree, began).await;
        if self.json {
            let mut value = self.envelope(id, agent, outcome, &tree, began).await;
            value["changes"] = edits.iter().map(EditedFile::to_json).collect();
            terminal::out(&value.to_string());
            return super::exit_code(outcome.status());
        }
        self.remark(id, agent, outcome, began).await;
        let delivery = match outcome.text.trim_end() {
            "" => OutputDelivery::Done,
            text => terminal::deliver(text),
        };
        tell_edits(id, &edits);
        terminal::note(&self.summary(id, agent, outcome, &tree));
        for task in self.kept_apart(id) {
            terminal::note(&say!("changes-kept-apart", task));
        }
        match delivery {
            OutputDelivery::Done => super::exit_code(outcome.status()),
            OutputDelivery::Failed => ExitCode::FAILURE,
        }
    }

    /// Lists files changed by the task and its subagents; in a conversation, since the last message.
    async fn edits(
        &self,
        id: &TaskId,
        outcome: &Outcome,
        tree: &SpendingTotal,
        began: Instant,
    ) -> Vec<EditedFile> {
        if tree.tasks <= 1 && outcome.changed_files.is_empty() && outcome.in_doubt.is_empty() {
            return Vec::new();
        }
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let span = EditSpan::LastMessage { since_ms: now_ms().saturating_sub(took) };
        match edits::gather(&*self.session.stores().store, id, span).await {
            Ok(edits) => edits,
            Err(e) => {
                terminal::warn(&e);
                Vec::new()
            }
        }
    }

    /// Sums the spending of a task and its subagents, as stored.
    pub async fn tree(&self, id: &TaskId, outcome: &Outcome) -> SpendingTotal {
        let own = outcome.usage.spending(outcome.turns);
        // If the store cannot be read now, the answer still matters more than its exact price.
        self.session.stores().store.tree_total(id).await.unwrap_or(own)
    }

    /// Returns the text of every readable reply of a task, in order.
    pub async fn replies(&self, id: &TaskId) -> Vec<String> {
        let records = self.session.stores().store.records(id).await.unwrap_or_default();
        let text = |block: &Block| match block {
            Block::Text { text, .. } => Some(text.clone()),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
        };
        let reply = |record: &Record| match record {
            Record::Replied { reply, .. } => Some(reply.blocks.iter().filter_map(text).collect()),
            _ => None,
        };
        records.iter().filter_map(reply).collect()
    }

    /// Builds the JSON envelope of the outcome.
    pub async fn envelope(
        &self,
        id: &TaskId,
        agent: &Agent,
        outcome: &Outcome,
        tree: &SpendingTotal,
        began: Instant,
    ) -> Value {
        let cost = self.cost(agent, outcome);
        let mut value = envelope(id, &agent.model, outcome, cost, tree, began.elapsed());
        // Detached tasks; a worker resumes them.
        let left = self.session.left_running();
        value["left_running"] = left.iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        let resumable = self.stopped_with(id, outcome).await;
        value["resumes_with"] = resumable.iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        value["kept_apart"] = self.kept_apart(id).iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        value
    }

    /// Finds tasks that stopped with this one and continue when it is resumed.
    async fn stopped_with(&self, id: &TaskId, outcome: &Outcome) -> Vec<TaskId> {
        if outcome.stop == StopReason::Answered {
            return Vec::new();
        }
        self.session.stopped_with(id).await.unwrap_or_else(|e| {
            terminal::warn(&e);
            Vec::new()
        })
    }

    /// Lists tasks of this run whose worktrees still hold changes.
    fn kept_apart(&self, id: &TaskId) -> Vec<TaskId> {
        self.aids.worktrees.as_ref().map(|apart| apart.kept(id.session())).unwrap_or_default()
    }

    /// Price of the task without its subagents: as journaled, or at today's price for a task journaled without one.
    fn cost(&self, agent: &Agent, outcome: &Outcome) -> Option<u64> {
        outcome.usage.cost_micros.or_else(|| {
            let open = self.session.stores().models.open(agent).ok();
            open.and_then(|open| open.tariff.cost(&outcome.usage, &outcome.answered_by))
        })
    }

    /// Prints notes that belong before the answer.
    pub async fn remark(&self, id: &TaskId, agent: &Agent, outcome: &Outcome, began: Instant) {
        for left in self.session.left_running() {
            terminal::note(&say!("goes-on-with-worker", left));
        }
        if outcome.status() != OutcomeStatus::Completed {
            terminal::note(&headline(id, agent, outcome, began.elapsed()));
        }
        let stopped = self.stopped_with(id, outcome).await;
        if !stopped.is_empty() {
            let tasks = stopped.iter().map(TaskId::short).collect::<Vec<_>>().join(", ");
            terminal::note(&format!("  {}", say!("resumes-with", tasks)));
        }
        if let Some(remark) = self.session.stores().agents.remark() {
            terminal::note(&remark);
        }
        for warning in outcome.warnings.iter().chain(&self.aids.servers.remarks()) {
            terminal::note(&say!("warning", text = visible(warning)));
        }
        for error in &outcome.schema_errors {
            terminal::note(&say!("schema-unsatisfied", error = visible(error)));
        }
        for found in outcome.evidence.iter().filter(|found| !found.passed()) {
            terminal::note(&failure(found));
        }
        for line in self.aids.operator.explain(agent, &outcome.refused_tools) {
            terminal::note(&line);
        }
        for InDoubtCall { key, tool, about } in &outcome.in_doubt {
            let call = format!("{tool} {about}");
            terminal::note(&say!("in-doubt-call", call = visible(call.trim_end()), key));
        }
    }

    /// Formats the last line: status and usage.
    pub fn summary(&self, id: &TaskId, agent: &Agent, outcome: &Outcome, tree: &SpendingTotal) -> String {
        let cost = self.cost(agent, outcome);
        let cost = cost.map(|micros| format!(" · ${:.4}", dollars(micros))).unwrap_or_default();
        format!(
            "{id} · {} · {} · {} · {}{cost}{}",
            outcome.status().wire(),
            say!("many-turns", n = outcome.turns),
            say!("many-tools", n = outcome.tool_calls),
            tokens(outcome.usage.total()),
            with_subagents(tree)
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
