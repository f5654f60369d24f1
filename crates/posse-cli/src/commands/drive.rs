//! What `run`, `chat`, `demo` and `tasks resume` share: a session, its view, and how to stop it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::agent::Agent;
use posse_core::approval::{ApprovalHandling, ApprovalPolicy};
use posse_core::board::BoardLimits;
use posse_core::budget::BudgetCaps;
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::message::Block;
use posse_core::outcome::{InDoubtCall, Outcome, OutcomeStatus, StopReason};
use posse_core::redact::SecretRedactor;
use posse_core::text::{head_and_tail, visible};
use posse_core::usage::{SpendingTotal, dollars};
use posse_core::verify::VerifyEvidence;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::driver::{ResumeMode, StopTokens};
use posse_runtime::observe::Observers;
use posse_runtime::ports::{AgentLookup, ModelResolver, Observer, Store, Tool, Verifier, WorktreeSource};
use posse_runtime::session::facades::SessionFacades;
use posse_runtime::session::{Session, SessionConfig};
use posse_runtime::toolbox::Toolbox;
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind};

use super::refusals::OperatorGrant;
use crate::desk::ApprovalPrompt;
use crate::edits::{self, EditSpan, EditedFile};
use crate::envelope::envelope;
use crate::render::{self, CountedNoun, LiveTree, file, many, tokens, with_subagents};
use crate::servers::ServerRegistry;
use crate::terminal::OutputDelivery;
use crate::worktrees::WorktreeProvider;
use crate::{owner, signals, terminal};

pub struct RunSession {
    pub session: Arc<Session>,
    pub models: Arc<dyn ModelResolver>,
    agents: Arc<dyn AgentLookup>,
    pub live: Option<Arc<LiveTree>>,
    pub json: bool,
    operator: OperatorGrant,
    stop: StopTokens,
    /// Asks the person at the terminal.
    desk: Option<ApprovalPrompt>,
    servers: Arc<ServerRegistry>,
    worktrees: Option<Arc<WorktreeProvider>>,
    store: Arc<dyn Store>,
}

pub struct RunParts {
    pub approvals: ApprovalPolicy,
    /// Somebody sits at the terminal.
    pub attended: bool,
    pub session_id: String,
    pub workspace: String,
    pub store: Arc<dyn Store>,
    pub models: Arc<dyn ModelResolver>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub agents: Arc<dyn AgentLookup>,
    pub grant: Grant,
    /// `--read-only` was said.
    pub read_only: bool,
    /// Tools that the configuration denies.
    pub denied: Vec<String>,
    pub caps: BudgetCaps,
    /// Who watches besides the person at the terminal.
    pub watchers: Vec<Arc<dyn Observer>>,
    pub json: bool,
    pub title: String,
    pub view: ProgressView,
    pub verifier: Option<Arc<dyn Verifier>>,
    pub redactor: SecretRedactor,
    pub facades: SessionFacades,
    pub rules: BoardLimits,
    pub lease_ms: u64,
    pub worktrees: Option<Arc<WorktreeProvider>>,
    pub apart_from: Option<String>,
    pub servers: Arc<ServerRegistry>,
}

/// Whether what happens is shown while it happens.
#[derive(Clone, Copy)]
pub enum ProgressView {
    Shown,
    Silent,
}

/// What to do in a room.
pub enum RunWork {
    Start {
        agent: Box<Agent>,
        task: String,
        verify: Vec<String>,
        notes: Vec<String>,
    },
    /// A task whose outcome is presented in a form of its own.
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
    pub fn new(parts: RunParts) -> Result<Self> {
        let (observers, live) = match parts.view {
            ProgressView::Shown => {
                let (observer, live) = render::observer(parts.json, &parts.title);
                (vec![observer], live)
            }
            ProgressView::Silent => (Vec::new(), None),
        };
        let (desk, asked) = match parts.attended && parts.approvals.mode == ApprovalHandling::Ask {
            true => {
                let (desk, asked) = ApprovalPrompt::new(parts.store.clone());
                (Some(desk), vec![asked as Arc<dyn Observer>])
            }
            false => (None, Vec::new()),
        };
        let (stop, store) = (StopTokens::default(), parts.store.clone());
        let effects = parts.tools.iter().map(|tool| (tool.spec().name.clone(), tool.spec().effect)).collect();
        let (read_only, denied) = (parts.read_only, parts.denied);
        let operator = OperatorGrant { grant: parts.grant.clone(), effects, read_only, denied };
        let session = Session::new(SessionConfig {
            id: parts.session_id,
            owner: owner::owner(),
            lives: owner::lives,
            workspace: parts.workspace,
            store: parts.store,
            models: parts.models.clone(),
            tools: Toolbox::new(parts.tools)?
                .redacted_by(parts.redactor)
                .with_approvals(parts.approvals)
                .swept_by(posse_tools::supervisor::sweep),
            observers: Observers::new([observers, parts.watchers, asked].concat()),
            agents: parts.agents.clone(),
            grant: parts.grant,
            caps: parts.caps,
            rules: parts.rules,
            stop: stop.clone(),
            verifier: parts.verifier,
            facades: parts.facades,
            lease_ms: parts.lease_ms,
            worktrees: parts.worktrees.clone().map(|apart| apart as Arc<dyn WorktreeSource>),
            apart_from: parts.apart_from,
        })?;
        let (models, agents, json) = (parts.models, parts.agents, parts.json);
        let (servers, worktrees) = (parts.servers, parts.worktrees);
        Ok(Self { session, models, agents, live, json, operator, stop, desk, servers, worktrees, store })
    }

    /// Works to the end, or until the person has had enough. SIGTERM and SIGHUP leave the task as `kill -9` does: everything that
    /// was written stays, nothing is written any more, and the error says how to continue.
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
            // Whoever presses Ctrl-C at the first line is heard: the signals are received before anything is done.
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

    /// Asks whoever sits here about what waits for an answer.
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

    /// Ctrl-C once: finish the step and stop. Twice: now. A third time: at once, whatever is under way.
    async fn heed_ctrl_c(&self, interrupt: &mut Signal) {
        interrupt.recv().await;
        self.say(&say!("stopping-after-step"));
        self.stop.soon.cancel();
        interrupt.recv().await;
        self.say(&say!("stopping-now"));
        self.stop.now.cancel();
        interrupt.recv().await;
    }

    fn say(&self, text: &str) {
        match &self.live {
            Some(live) => live.note(text),
            None => terminal::note(text),
        }
    }

    /// Prints the outcome and says how the program ends.
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

    /// Files that the task and those below it changed, of a conversation since the person last said something.
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
        match edits::gather(&*self.store, id, span).await {
            Ok(edits) => edits,
            Err(e) => {
                terminal::warn(&e);
                Vec::new()
            }
        }
    }

    /// Sums of a task with everything below it, as the store has them.
    pub async fn tree(&self, id: &TaskId, outcome: &Outcome) -> SpendingTotal {
        let own = outcome.usage.spending(outcome.turns);
        // A store that cannot be read now was written a moment ago; the answer is worth more than its price.
        self.store.tree_total(id).await.unwrap_or(own)
    }

    /// The texts of all replies of a task, in order. What cannot be read is missing.
    pub async fn replies(&self, id: &TaskId) -> Vec<String> {
        let records = self.store.records(id).await.unwrap_or_default();
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

    /// For programs.
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
        // Detached tasks, which go on when somebody takes them up.
        let left = self.session.left_running();
        value["left_running"] = left.iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        let resumable = self.stopped_with(id, outcome).await;
        value["resumes_with"] = resumable.iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        value["kept_apart"] = self.kept_apart(id).iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        value
    }

    /// Tasks that were stopped with this one and go on when it is resumed.
    async fn stopped_with(&self, id: &TaskId, outcome: &Outcome) -> Vec<TaskId> {
        if outcome.stop == StopReason::Answered {
            return Vec::new();
        }
        self.session.stopped_with(id).await.unwrap_or_else(|e| {
            terminal::warn(&e);
            Vec::new()
        })
    }

    /// Tasks of this run that worked in worktrees of their own, and whose changes are still there.
    fn kept_apart(&self, id: &TaskId) -> Vec<TaskId> {
        self.worktrees.as_ref().map(|apart| apart.kept(id.session())).unwrap_or_default()
    }

    /// The price of the task alone: as it was written down, or of today for a task that was begun before prices were.
    fn cost(&self, agent: &Agent, outcome: &Outcome) -> Option<u64> {
        outcome.usage.cost_micros.or_else(|| {
            let open = self.models.open(agent).ok();
            open.and_then(|open| open.tariff.cost(&outcome.usage, &outcome.answered_by))
        })
    }

    /// What a person should know before the answer.
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
        if let Some(remark) = self.agents.remark() {
            terminal::note(&remark);
        }
        for warning in outcome.warnings.iter().chain(&self.servers.remarks()) {
            terminal::note(&say!("warning", text = visible(warning)));
        }
        for error in &outcome.schema_errors {
            terminal::note(&say!("schema-unsatisfied", error = visible(error)));
        }
        for found in outcome.evidence.iter().filter(|found| !found.passed()) {
            terminal::note(&failure(found));
        }
        for line in self.operator.explain(agent, &outcome.refused_tools) {
            terminal::note(&line);
        }
        for InDoubtCall { key, tool, about } in &outcome.in_doubt {
            let call = format!("{tool} {about}");
            terminal::note(&say!("in-doubt-call", call = visible(call.trim_end()), key));
        }
    }

    /// The last line: how it ended and what it used.
    pub fn summary(&self, id: &TaskId, agent: &Agent, outcome: &Outcome, tree: &SpendingTotal) -> String {
        let cost = self.cost(agent, outcome);
        let cost = cost.map(|micros| format!(" · ${:.4}", dollars(micros))).unwrap_or_default();
        format!(
            "{id} · {} · {} · {} · {}{cost}{}",
            outcome.status().wire(),
            many(outcome.turns, CountedNoun::Turn),
            many(outcome.tool_calls, CountedNoun::Tool),
            tokens(outcome.usage.total()),
            with_subagents(tree)
        )
    }
}

/// Changed files in a summary; `posse tasks diff` names the others.
const EDITS_SHOWN: usize = 20;

/// Names what was changed, and how to look at it.
fn tell_edits(id: &TaskId, edits: &[EditedFile]) {
    if edits.is_empty() {
        return;
    }
    terminal::note(&say!("files-changed", files = many(edits.len() as u64, CountedNoun::File), task = id));
    for EditedFile { change, gap, .. } in edits.iter().take(EDITS_SHOWN) {
        let gap = gap.map(|gap| format!(" · {}", gap.text())).unwrap_or_default();
        terminal::note(&format!("  {}{gap}", file(change, terminal::colours())));
    }
    if edits.len() > EDITS_SHOWN {
        terminal::note(&format!("  {}", say!("changes-more", n = edits.len() - EDITS_SHOWN)));
    }
}

/// A command that should have passed, with what it printed.
fn failure(found: &VerifyEvidence) -> String {
    const SHOWN: usize = 2_000;
    let output = head_and_tail(found.output.trim_end(), SHOWN);
    let failed = say!("verify-failed", command = found.command, ending = found.ending());
    let text = format!("{failed}\n{output}");
    visible(text.trim_end()).replace('\n', "\n  ")
}

/// The first line of a run that stopped early: what happened, and what to do.
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
