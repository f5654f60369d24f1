//! What `run`, `chat`, `demo` and `tasks resume` share: a session, its view, and how to stop it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::agent::Agent;
use posse_core::approval::{Mode, Policy};
use posse_core::budget::Caps;
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::outcome::{Doubt, Outcome, Status, StopReason};
use posse_core::redact::Redactor;
use posse_core::text::{head_and_tail, visible};
use posse_core::verify::Evidence;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::driver::{Onward, Stop};
use posse_runtime::observe::Observers;
use posse_runtime::ports::{Agents, Models, Observer, Store, Tool, Verifier, Worktrees};
use posse_runtime::session::facades::Facades;
use posse_runtime::session::{RULES, Session, SessionConfig};
use posse_runtime::toolbox::Toolbox;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use super::refusals::Operator;
use crate::desk::Desk;
use crate::envelope::envelope;
use crate::render::{self, Live, Thing, count, many, tokens};
use crate::servers::Servers;
use crate::terminal::Delivery;
use crate::worktrees::Apart;
use crate::{owner, terminal};

/// How long a program that is asked to end may finish its step.
const TERM_GRACE: Duration = Duration::from_secs(3);

pub struct Room {
    pub session: Arc<Session>,
    pub models: Arc<dyn Models>,
    agents: Arc<dyn Agents>,
    pub live: Option<Arc<Live>>,
    pub json: bool,
    operator: Operator,
    stop: Stop,
    /// Asks the person at the terminal.
    desk: Option<Desk>,
    servers: Arc<Servers>,
    worktrees: Option<Arc<Apart>>,
}

pub struct Parts {
    pub approvals: Policy,
    /// Somebody sits at the terminal.
    pub attended: bool,
    pub session_id: String,
    pub workspace: String,
    pub store: Arc<dyn Store>,
    pub models: Arc<dyn Models>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub agents: Arc<dyn Agents>,
    pub grant: Grant,
    /// `--read-only` was said.
    pub read_only: bool,
    /// Tools that the configuration denies.
    pub denied: Vec<String>,
    pub caps: Caps,
    /// Who watches besides the person at the terminal.
    pub watchers: Vec<Arc<dyn Observer>>,
    pub json: bool,
    pub title: String,
    pub view: View,
    pub verifier: Option<Arc<dyn Verifier>>,
    pub redactor: Redactor,
    pub facades: Facades,
    pub lease_ms: u64,
    pub worktrees: Option<Arc<Apart>>,
    pub apart_from: Option<String>,
    pub servers: Arc<Servers>,
}

/// Whether what happens is shown while it happens.
#[derive(Clone, Copy)]
pub enum View {
    Shown,
    Silent,
}

/// What to do in a room.
pub enum Work {
    Start { agent: Box<Agent>, task: String, verify: Vec<String>, notes: Vec<String> },
    GoOn { id: TaskId, onward: Onward },
}

impl Room {
    pub fn new(parts: Parts) -> Result<Self> {
        let (observers, live) = match parts.view {
            View::Shown => {
                let (observer, live) = render::observer(parts.json, &parts.title);
                (vec![observer], live)
            }
            View::Silent => (Vec::new(), None),
        };
        let (desk, asked) = match parts.attended && parts.approvals.mode == Mode::Ask {
            true => {
                let (desk, asked) = Desk::new(parts.store.clone());
                (Some(desk), vec![asked as Arc<dyn Observer>])
            }
            false => (None, Vec::new()),
        };
        let stop = Stop::default();
        let effects = parts.tools.iter().map(|tool| (tool.spec().name.clone(), tool.spec().effect)).collect();
        let (read_only, denied) = (parts.read_only, parts.denied);
        let operator = Operator { grant: parts.grant.clone(), effects, read_only, denied };
        let session = Session::new(SessionConfig {
            id: parts.session_id,
            owner: owner::owner(),
            lives: owner::lives,
            workspace: parts.workspace,
            store: parts.store,
            models: parts.models.clone(),
            tools: Toolbox::new(parts.tools)?.redacted_by(parts.redactor).with_approvals(parts.approvals),
            observers: Observers::new([observers, parts.watchers, asked].concat()),
            agents: parts.agents.clone(),
            grant: parts.grant,
            caps: parts.caps,
            rules: RULES,
            stop: stop.clone(),
            verifier: parts.verifier,
            facades: parts.facades,
            lease_ms: parts.lease_ms,
            worktrees: parts.worktrees.clone().map(|apart| apart as Arc<dyn Worktrees>),
            apart_from: parts.apart_from,
        })?;
        let (models, agents, json) = (parts.models, parts.agents, parts.json);
        let (servers, worktrees) = (parts.servers, parts.worktrees);
        Ok(Self { session, models, agents, live, json, operator, stop, desk, servers, worktrees })
    }

    /// Works to the end, or until the person has had enough.
    pub async fn work(&self, work: Work) -> Result<Arc<Outcome>> {
        let working = async {
            match work {
                Work::Start { agent, task, verify, notes } => {
                    self.session.run(*agent, task, verify, notes).await
                }
                Work::GoOn { id, onward } => self.session.resume(id, onward).await,
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
            e = self.listen() => Err(e),
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

    /// Ctrl-C once: finish the step and stop. Twice: now. A third time: at once, whatever is under way.
    async fn listen(&self) -> Error {
        let listened = async {
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            let mut hang_up = signal(SignalKind::hangup())?;
            tokio::select! {
                _ = interrupt.recv() => self.say(&say!("stopping-after-step")),
                _ = terminate.recv() => self.stop_within(TERM_GRACE),
                _ = hang_up.recv() => self.stop_within(TERM_GRACE),
            }
            self.stop.soon.cancel();
            interrupt.recv().await;
            self.say(&say!("stopping-now"));
            self.stop.now.cancel();
            interrupt.recv().await;
            std::io::Result::Ok(())
        };
        match listened.await {
            Ok(()) => Error::new(ErrorCode::Io, say!("stopped-by-third")).hint(say!("stopped-by-third-hint")),
            Err(e) => Error::new(ErrorCode::Io, say!("signals-unavailable")).caused_by(e),
        }
    }

    fn stop_within(&self, grace: Duration) {
        self.say(&say!("stopping-now"));
        let now = self.stop.now.clone();
        tokio::spawn(async move {
            tokio::time::sleep(grace).await;
            now.cancel();
        });
    }

    fn say(&self, text: &str) {
        match &self.live {
            Some(live) => live.note(text),
            None => terminal::note(text),
        }
    }

    /// Prints the outcome and says how the program ends.
    pub fn conclude(&self, id: &TaskId, agent: &Agent, outcome: &Outcome, began: Instant) -> ExitCode {
        if self.json {
            terminal::out(&self.envelope(id, agent, outcome, began).to_string());
            return super::exit_code(outcome.status());
        }
        self.remark(id, agent, outcome, began);
        let delivery = match outcome.text.trim_end() {
            "" => Delivery::Done,
            text => terminal::deliver(text),
        };
        terminal::note(&self.summary(id, agent, outcome));
        for task in self.kept_apart(id) {
            terminal::note(&say!("changes-kept-apart", task));
        }
        match delivery {
            Delivery::Done => super::exit_code(outcome.status()),
            Delivery::Failed => ExitCode::FAILURE,
        }
    }

    /// For programs.
    pub fn envelope(&self, id: &TaskId, agent: &Agent, outcome: &Outcome, began: Instant) -> Value {
        let (cost, spent) = (self.cost(agent, outcome), self.session.spent());
        let mut value = envelope(id, &agent.model, outcome, cost, &spent, began.elapsed());
        // Detached tasks, which go on when somebody takes them up.
        let left = self.session.left_running();
        value["left_running"] = left.iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        value["kept_apart"] = self.kept_apart(id).iter().map(TaskId::as_str).collect::<Vec<_>>().into();
        value
    }

    /// Tasks of this run that worked in worktrees of their own, and whose changes are still there.
    fn kept_apart(&self, id: &TaskId) -> Vec<TaskId> {
        self.worktrees.as_ref().map(|apart| apart.kept(id.session())).unwrap_or_default()
    }

    fn cost(&self, agent: &Agent, outcome: &Outcome) -> Option<u64> {
        let open = self.models.open(agent).ok();
        open.and_then(|open| open.tariff.cost(&outcome.usage, &outcome.answered_by))
    }

    /// What a person should know before the answer.
    pub fn remark(&self, id: &TaskId, agent: &Agent, outcome: &Outcome, began: Instant) {
        for left in self.session.left_running() {
            terminal::note(&say!("goes-on-with-worker", left));
        }
        if outcome.status() != Status::Completed {
            terminal::note(&headline(id, agent, outcome, began.elapsed()));
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
        for Doubt { key, tool, about } in &outcome.in_doubt {
            let call = format!("{tool} {about}");
            terminal::note(&say!("in-doubt-call", call = visible(call.trim_end()), key));
        }
    }

    /// The last line: how it ended and what it used.
    pub fn summary(&self, id: &TaskId, agent: &Agent, outcome: &Outcome) -> String {
        let cost = self.cost(agent, outcome);
        let cost = cost.map(|micros| format!(" · ${:.4}", micros as f64 / 1e6)).unwrap_or_default();
        format!(
            "{id} · {} · {} · {} · {}{cost}{}",
            outcome.status().wire(),
            many(outcome.turns, Thing::Turn),
            many(outcome.tool_calls, Thing::Tool),
            tokens(outcome.usage.total()),
            self.with_subagents(outcome)
        )
    }

    /// What the whole tree used, where that is more than the task itself did.
    fn with_subagents(&self, outcome: &Outcome) -> String {
        let spent = self.session.spent();
        let tokens = spent.input_tokens.saturating_add(spent.output_tokens);
        if tokens <= outcome.usage.total() {
            return String::new();
        }
        format!(" · {}", say!("tokens-with-subagents", tokens = count(tokens)))
    }
}

/// A command that should have passed, with what it printed.
fn failure(found: &Evidence) -> String {
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
