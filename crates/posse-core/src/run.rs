//! One execution of the loop, as a state machine without I/O. The driver asks for the next step, performs it and feeds
//! back the result; whether to continue, stop, refuse or truncate is decided here.
//!
//! A `Run` is rebuilt by feeding it the same replies and results again (see `replay`), so every decision depends only on
//! its inputs and, for the deadline, on the elapsed time that is passed in.

mod context;
mod cycle;
mod judge;
mod plan;
mod replay;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::ChosenModel;
use crate::approval::{ApprovalVerdict, DecidedBy};
use crate::budget::CallNeed;
use crate::edits::FileChange;
use crate::event::{Event, summary};
use crate::grant::Grant;
use crate::id::CallKey;
use crate::journal::{Record, TaskStart, remaining};
use crate::limits::Limits;
use crate::message::{Block, Message, ToolCall, ToolResult};
use crate::mode::WorkMode;
use crate::outcome::{InDoubtCall, Outcome, StopReason};
use crate::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use crate::text::counted;
use crate::tool::{ToolEffect, canonical};
use crate::usage::{ByModel, Usage};

pub use context::ConversationSize;
pub use plan::{CallAction, PlannedCall, batches};
pub use replay::{ReplayedRun, replay, replay_each};
pub use rules::DecisionRules;

/// Maximum warnings kept for the outcome; the events have them all.
const WARNINGS_MAX: usize = 50;

/// Message to a model whose answer hit the output limit.
const CONTINUE_ANSWER: &str = "Your answer was cut off by the output limit. Continue exactly where it stopped, \
                               without repeating anything.";

/// The agent loop as a pure state machine: it decides, the driver performs.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    policy: RunPolicy,
    history: context::MessageHistory,
    phase: RunPhase,
    /// Work of the whole task.
    work: WorkCount,
    /// Work before the current user message; limits count from there.
    earlier: EarlierTurns,
    spending: ModelSpending,
    /// The parts of an answer that was cut off and continued.
    answer: String,
    /// The last text the model wrote beside its calls: the text of a stopped run.
    last_text: String,
    attempt: RunAttempt,
    /// Output limit of the next model call.
    output_tokens: u32,
    facts: OutcomeFacts,
    judgement: judge::AnswerJudge,
    /// The turn in which the run was cancelled, if calls of it are repeated when the run is resumed.
    kept: Option<Box<RunPhase>>,
    events: Vec<Event>,
}

/// Rules, limits and rights of a run.
#[derive(Debug, Clone, PartialEq)]
struct RunPolicy {
    rules: DecisionRules,
    limits: Limits,
    grant: Grant,
    /// Base of relative paths.
    workspace: String,
    /// Every tool that exists here, granted or not, with its effect.
    tools: Arc<BTreeMap<String, ToolEffect>>,
}

/// Work that limits count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct WorkCount {
    turns: u32,
    tool_calls: u32,
    file_operations: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct EarlierTurns {
    work: WorkCount,
    elapsed_ms: u64,
}

/// Usage of the run's model calls.
#[derive(Debug, Clone, Default, PartialEq)]
struct ModelSpending {
    usage: Usage,
    /// The part of `usage` that replies took, by model.
    answered_by: ByModel,
    /// Model calls without an answer since the last reply.
    unanswered: u32,
}

/// Facts that the outcome names beside the answer.
#[derive(Debug, Clone, Default, PartialEq)]
struct OutcomeFacts {
    changed_files: Vec<String>,
    in_doubt: Vec<InDoubtCall>,
    refused_tools: Vec<String>,
    warnings: Vec<String>,
}

/// A run that is asked for its report, and why.
#[derive(Debug, Clone, PartialEq)]
struct WrapUp {
    reason: StopReason,
    detail: Option<String>,
}

/// Second chances used since the last user message or resume, which reset them.
#[derive(Debug, Clone, Default, PartialEq)]
struct RunAttempt {
    /// Set once the run may only report its results.
    wrapping_up: Option<WrapUp>,
    cycles: cycle::CycleDetector,
    mistakes: u32,
    continuations: u32,
    pauses: u32,
    nudges: u32,
    compactions: u32,
    broken_promises: u32,
    repairs: u32,
    corrections: u32,
}

#[derive(Debug, Clone, PartialEq)]
enum RunPhase {
    Asking,
    Calling {
        calls: Vec<PlannedCall>,
        answers: Vec<Option<ToolResult>>,
    },
    /// The answer's value has to satisfy the output schema.
    Checking(Box<Value>),
    /// The next command that verifies the result.
    Verifying(String),
    Finished(Arc<Outcome>),
}

/// One instruction to the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStep {
    CallModel(ModelAsk),
    /// Calls of one reply that have no result yet, in call order.
    CallTools(Vec<PlannedCall>),
    /// Compare the value of the answer with the agent's output schema.
    Check(Value),
    /// Run one command that verifies the result.
    Verify(String),
    Finish(Arc<Outcome>),
}

/// Parameters of the next model call. The conversation is `Run::messages`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAsk {
    pub turn: u32,
    /// False for the wrap-up and for the last request that `turns_max` allows: the model has to answer.
    pub with_tools: bool,
    pub output_tokens_max: u32,
    /// Estimated input tokens of the call.
    pub estimate: u64,
}

impl ModelAsk {
    /// Returns the tokens that the call takes, with the wrap-up that has to be affordable after a step.
    pub fn need(&self, limits: &Limits) -> CallNeed {
        match self.with_tools {
            true => CallNeed::step(self.estimate, self.output_tokens_max, limits.wrap_up_tokens),
            false => CallNeed::answer(self.estimate, self.output_tokens_max),
        }
    }

    /// Returns the record to write before the call is made.
    pub fn announced(&self, limits: &Limits, elapsed_ms: u64) -> Record {
        let (turn, turns_max, estimate) = (self.turn, limits.turns_max, self.estimate);
        Record::Asked { turn, turns_max, estimate, elapsed_ms }
    }
}

impl Run {
    /// Starts the run of a task. `fixed_tokens` are sent beside the conversation: the system prompt and the tool specs.
    pub fn new(
        start: &TaskStart,
        tools: impl Into<Arc<BTreeMap<String, ToolEffect>>>,
        fixed_tokens: u64,
    ) -> Self {
        let (_, task) = start.opening();
        let mut run = Self {
            policy: RunPolicy {
                rules: start.rules,
                limits: start.agent.limits.clone(),
                grant: start.grant.clone(),
                workspace: start.workspace.clone(),
                tools: tools.into(),
            },
            history: context::MessageHistory::new(task, fixed_tokens),
            phase: RunPhase::Asking,
            work: WorkCount::default(),
            earlier: EarlierTurns::default(),
            spending: ModelSpending::default(),
            answer: String::new(),
            last_text: String::new(),
            attempt: RunAttempt::default(),
            output_tokens: start.agent.limits.output_tokens_per_call,
            facts: OutcomeFacts::default(),
            judgement: judge::AnswerJudge::default(),
            kept: None,
            events: Vec::new(),
        };
        run.check_limits();
        run.judgement = judge::AnswerJudge::for_task(start);
        for note in &start.notes {
            run.note(note.clone());
        }
        run
    }

    /// Returns the turn of the next model call, if one comes next.
    pub fn turn_to_ask(&self) -> Option<u32> {
        matches!(self.phase, RunPhase::Asking).then_some(self.work.turns + 1)
    }

    /// Returns the next instruction for the driver.
    pub fn next_step(&self, elapsed_ms: u64) -> RunStep {
        if let RunPhase::Finished(outcome) = &self.phase {
            return RunStep::Finish(outcome.clone());
        }
        if elapsed_ms.saturating_sub(self.earlier.elapsed_ms) >= self.policy.limits.wall_ms_max {
            let detail = format!("{} s", self.policy.limits.wall_ms_max / 1000);
            return RunStep::Finish(Arc::new(self.outcome(StopReason::DeadlinePassed, Some(detail))));
        }
        match &self.phase {
            RunPhase::Calling { calls, answers } => {
                let open = || calls.iter().zip(answers).filter(|(_, answer)| answer.is_none());
                // Exact capacity: a growing `Vec` starts with room for four.
                let mut planned = Vec::with_capacity(open().count());
                planned.extend(open().map(|(planned, _)| planned.clone()));
                RunStep::CallTools(planned)
            }
            RunPhase::Checking(value) => RunStep::Check((**value).clone()),
            RunPhase::Verifying(command) => RunStep::Verify(command.clone()),
            RunPhase::Asking | RunPhase::Finished(_) => RunStep::CallModel(ModelAsk {
                turn: self.work.turns + 1,
                with_tools: self.attempt.wrapping_up.is_none() && self.turns_left() > 1,
                output_tokens_max: match self.attempt.wrapping_up {
                    // A truncated value is no value.
                    Some(_) if !self.judgement.wants_json() => self.policy.limits.wrap_up_tokens,
                    Some(_) | None => self.output_tokens,
                },
                estimate: self.history.tokens_max,
            }),
        }
    }

    /// Feeds a model's reply.
    pub fn on_reply(&mut self, mut reply: Reply) {
        self.spending.usage.add(&reply.usage);
        self.spending.usage.add(&reply.lost);
        self.spending.answered_by.add(&reply.model, &reply.usage);
        self.spending.unanswered = 0;
        for note in reply.notes.drain(..) {
            self.note(note);
        }
        // A refusal or an unknown stop reason is no basis for calls.
        if matches!(reply.stop, ReplyStop::Refusal | ReplyStop::Other(_)) {
            reply.blocks.retain(|block| block.as_call().is_none());
        }
        let has_calls = reply.blocks.iter().any(|block| block.as_call().is_some());
        if reply.stop != ReplyStop::Paused || has_calls || self.policy.rules.counts_pauses() {
            self.work.turns += 1;
        }
        self.history.tokens = reply.usage.total();
        self.history.tokens_max = self.history.tokens;
        self.name_calls(&mut reply);
        let called = || reply.blocks.iter().filter_map(Block::as_call);
        let mut calls = Vec::with_capacity(called().count());
        calls.extend(called().cloned());
        let text = text_of(&reply.blocks);
        if !text.trim().is_empty() {
            self.last_text = format!("{}{text}", self.answer);
        }
        if self.attempt.wrapping_up.is_some() || self.turns_left() == 0 {
            // Forbidden calls do not enter the history: they get no result.
            reply.blocks.retain(|block| block.as_call().is_none());
        }
        if self.attempt.wrapping_up.is_some() {
            self.history.push_assistant(reply.blocks);
            return self.report(!text.trim().is_empty());
        }
        if self.turns_left() == 0 && !calls.is_empty() {
            self.history.push_assistant(reply.blocks);
            return self.finish(StopReason::TurnsExhausted, None);
        }
        if calls.is_empty() {
            return self.on_text(reply, text);
        }
        self.answer.clear();
        if reply.stop == ReplyStop::MaxTokens {
            self.raise_output_limit();
        }
        self.history.messages.push(Message::Assistant { blocks: reply.blocks });
        let calls = self.plan(calls, &reply.stop);
        let answers = vec![None; calls.len()];
        self.phase = RunPhase::Calling { calls, answers };
    }

    /// Feeds a failed model call.
    pub fn on_failure(&mut self, failure: &ModelFailure) {
        self.spending.usage.add(&failure.lost);
        self.spending.unanswered += 1;
        match failure.kind {
            FailureKind::ContextTooLong => return self.compact(),
            // The caller that cut the call off says next why the run ends.
            FailureKind::Cancelled => return,
            FailureKind::BudgetSpent => return self.on_budget_spent(&failure.message, 0),
            _ => {}
        }
        let reason =
            self.attempt.wrapping_up.as_ref().map_or(StopReason::ModelFailed, |wrap_up| wrap_up.reason);
        self.finish(reason, Some(failure.to_string()));
    }

    /// Feeds the text of a reply that was cut off: the model finds it in the conversation, and it is the text of a stopped run.
    pub fn on_cut_off(&mut self, said: &str) {
        if !said.trim().is_empty() {
            self.last_text = format!("{}{said}", self.answer);
            self.history.count_tokens(said);
            self.history.push_assistant(vec![Block::text(said)]);
        }
    }

    /// Feeds results in any order; the conversation gets them in call order once all are there.
    pub fn on_results(&mut self, results: Vec<ToolResult>) {
        let RunPhase::Calling { calls, answers } = &mut self.phase else { return };
        for result in results {
            let at = calls.iter().position(|planned| planned.call.key == result.key);
            let Some(at) = at.filter(|at| answers[*at].is_none()) else { continue };
            // Counted at once: the run may end before the other calls of the turn do.
            if result.in_doubt {
                let PlannedCall { call, .. } = &calls[at];
                let (tool, about) = (call.name.clone(), summary(call));
                self.facts.in_doubt.push(InDoubtCall { key: call.key, tool, about });
            }
            for FileChange { path, .. } in &result.changed {
                if !self.facts.changed_files.contains(path) {
                    self.facts.changed_files.push(path.clone());
                }
            }
            answers[at] = Some(result);
        }
        if answers.iter().any(Option::is_none) {
            return;
        }
        // Exact capacity: they are kept.
        let mut results = Vec::with_capacity(calls.len());
        let answered = calls.iter().zip(std::mem::take(answers));
        results.extend(answered.filter_map(|(planned, answer)| Some(planned.marked(answer?))));
        let calls: Vec<Arc<ToolCall>> =
            std::mem::take(calls).into_iter().map(|planned| planned.call).collect();
        self.phase = RunPhase::Asking;
        self.conclude_batch(&calls, results);
    }

    /// Feeds the decision on a call. Decisions without a person are noted for the recipient of the answer.
    pub fn on_resolved(&mut self, key: CallKey, verdict: ApprovalVerdict, by: &DecidedBy) {
        let RunPhase::Calling { calls, .. } = &self.phase else { return };
        let Some(planned) = calls.iter().find(|planned| planned.call.key == key) else { return };
        let (tool, yes) = (canonical(&planned.call.name), verdict == ApprovalVerdict::Approve);
        let note = match by {
            DecidedBy::Policy if yes => {
                format!("`{tool}` was allowed by `approvals.allow`; nobody was asked")
            }
            DecidedBy::Policy => format!("`{tool}` needs a person's yes and was refused; nobody was asked"),
            DecidedBy::Deadline if yes => {
                format!("nobody answered in time about `{tool}`; it was allowed by default")
            }
            DecidedBy::Deadline => format!("nobody answered in time about `{tool}`; it was refused"),
            DecidedBy::Person(_) | DecidedBy::Standing(_) => return,
        };
        self.note(note);
    }

    /// Cancels the run. The turn continues on resume if some of its calls, by these keys, were started, can be repeated
    /// and have no result.
    pub fn on_cancel(&mut self, begun: &[CallKey]) {
        if self.is_finished() {
            return;
        }
        if let RunPhase::Calling { calls, answers } = &self.phase {
            let mut open = calls.iter().zip(answers).filter(|(_, answer)| answer.is_none());
            let keeps = open.any(|(planned, _)| begun.contains(&planned.call.key));
            self.kept = keeps.then(|| Box::new(self.phase.clone()));
        }
        self.finish(StopReason::Cancelled, None);
    }

    /// Returns the calls of a cancelled run that are repeated on resume.
    pub fn kept_calls(&self) -> Vec<CallKey> {
        let Some(RunPhase::Calling { calls, answers }) = self.kept.as_deref() else { return Vec::new() };
        let open = calls.iter().zip(answers).filter(|(_, answer)| answer.is_none());
        open.map(|(planned, _)| planned.call.key).collect()
    }

    /// Records that the budget does not cover the next call. If the input is too long by `input_excess` tokens, old
    /// results are elided; otherwise the run reports, or ends if it cannot afford that.
    pub fn on_budget_spent(&mut self, shortfall: &str, input_excess: u64) {
        if input_excess > 0 && self.make_room(input_excess) {
            return;
        }
        match &self.attempt.wrapping_up {
            None => {
                let why = format!("The budget does not allow another step ({shortfall}).");
                self.wrap_up(StopReason::BudgetExhausted, why, Some(shortfall.to_owned()));
            }
            Some(wrap_up) => self.finish(wrap_up.reason, Some(shortfall.to_owned())),
        }
    }

    /// Records the journaled outcome: it is final, also if a deadline caused it that only the clock knew.
    pub fn on_finished(&mut self, outcome: &Arc<Outcome>) {
        self.close_open_calls();
        self.phase = RunPhase::Finished(outcome.clone());
    }

    /// Feeds another message of the person: the conversation continues, with fresh limits.
    pub fn on_message(&mut self, text: &str, elapsed_ms: u64) {
        self.close_open_calls();
        self.kept = None;
        self.earlier = EarlierTurns { work: self.work, elapsed_ms };
        self.attempt = RunAttempt::default();
        self.answer.clear();
        self.last_text.clear();
        self.judgement.reset();
        self.history.push_user(text.to_owned());
        self.phase = RunPhase::Asking;
        self.guard_context();
        self.check_limits();
    }

    /// Feeds a steering message before the next model call. It changes no limit.
    pub fn on_steer(&mut self, text: &str) {
        self.history.push_user(text.to_owned());
    }

    /// Records a model call that its process did not survive; the provider may have worked and charged.
    pub fn on_lost(&mut self, lost: &Usage) {
        self.spending.usage.add(lost);
    }

    /// Resumes a run that was interrupted or ended early. An answered run stays answered.
    pub fn on_resume(&mut self, turns_max: Option<u32>, wall_ms_max: Option<u64>) {
        self.policy.limits.turns_max = turns_max.unwrap_or(0).max(self.policy.limits.turns_max);
        self.policy.limits.wall_ms_max = wall_ms_max.unwrap_or(0).max(self.policy.limits.wall_ms_max);
        let RunPhase::Finished(outcome) = &self.phase else { return };
        let onward = match outcome.stop {
            StopReason::Answered => return,
            StopReason::Truncated => {
                self.answer.clone_from(&outcome.text);
                CONTINUE_ANSWER.to_owned()
            }
            _ => {
                let unsaid = self.judgement.unsaid.take();
                unsaid.unwrap_or_else(|| "You may go on with the task from where you stopped.".to_owned())
            }
        };
        self.judgement.reset();
        self.phase = RunPhase::Asking;
        self.attempt = RunAttempt::default();
        if let Some(calling) = self.kept.take() {
            // Its calls were answered when the run ended, and no provider has seen that.
            self.history.messages.pop();
            self.phase = *calling;
            return;
        }
        if matches!(self.history.messages.last(), Some(Message::Assistant { .. })) {
            self.history.push_user(onward);
        }
        self.check_limits();
    }

    /// Withdraws tools: calls that were not made yet are refused, and the model is notified.
    pub fn on_withdrawn(&mut self, tools: &[String], left: Option<&Grant>) {
        self.policy.grant = remaining(&self.policy.grant, tools, left);
        let names = tools.iter().map(|name| format!("`{name}`"));
        let names: Vec<String> = names.chain(left.map(|_| "some calls".to_owned())).collect();
        let names = names.join(", ");
        self.note(format!("not allowed any more: {names}"));
        match &mut self.phase {
            RunPhase::Calling { calls, .. } => {
                for planned in calls {
                    planned.refuse_unless_granted(&self.policy.grant, &self.policy.workspace);
                }
            }
            // In the last two, a failed check asks the model again, which must know.
            RunPhase::Asking | RunPhase::Checking(_) | RunPhase::Verifying(_) => {
                let text = match left {
                    None => format!("You are not allowed to use these tools any more: {names}."),
                    Some(_) => format!("You have fewer rights than before. Not allowed any more: {names}."),
                };
                self.history.push_user(text);
            }
            RunPhase::Finished(_) => {}
        }
    }

    /// Replaces the grant by one that the operator chose: open calls that it does not allow are refused, refused ones
    /// stay refused, and the model is notified.
    pub fn on_regranted(&mut self, grant: &Grant) {
        self.policy.grant = grant.clone();
        let mode = WorkMode::of(grant);
        self.note(format!("the mode is now {mode}"));
        match &mut self.phase {
            RunPhase::Calling { calls, .. } => {
                for planned in calls {
                    planned.refuse_unless_granted(&self.policy.grant, &self.policy.workspace);
                }
            }
            RunPhase::Asking | RunPhase::Checking(_) | RunPhase::Verifying(_) => {
                let tools: Vec<&str> = grant.tools().collect();
                let text = format!(
                    "The person changed the mode to {mode}: {}. Your tools are now: {}.",
                    mode.told(),
                    tools.join(", ")
                );
                self.history.push_user(text);
            }
            RunPhase::Finished(_) => {}
        }
    }

    /// Takes the limits of another model, which a person chose. It reads the same conversation.
    pub fn on_model_chosen(&mut self, choice: &ChosenModel) {
        choice.limits.apply(&mut self.policy.limits);
        self.output_tokens = self.policy.limits.output_tokens_per_call;
    }

    /// Returns the conversation.
    pub fn messages(&self) -> &[Message] {
        &self.history.messages
    }

    /// Incremented when an old message was changed; until then `messages` only grows.
    pub fn generation(&self) -> u64 {
        self.history.generation
    }

    /// Returns the wall time left for the current message.
    pub fn time_left_ms(&self, elapsed_ms: u64) -> u64 {
        self.policy.limits.wall_ms_max.saturating_sub(elapsed_ms.saturating_sub(self.earlier.elapsed_ms))
    }

    /// Returns the current grant.
    pub fn grant(&self) -> &Grant {
        &self.policy.grant
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.policy.limits
    }

    /// Returns the number of answered requests of the whole task.
    pub fn turns(&self) -> u32 {
        self.work.turns
    }

    /// Returns the requests that `turns_max` still allows for the current message.
    pub fn turns_left(&self) -> u32 {
        self.policy.rules.requests_max(self.policy.limits.turns_max).saturating_sub(self.turns_used())
    }

    /// Returns the number of tool calls made.
    pub fn tool_calls(&self) -> u32 {
        self.work.tool_calls
    }

    /// Returns the usage so far.
    pub fn usage(&self) -> &Usage {
        &self.spending.usage
    }

    /// Returns the number of model calls without an answer since the last reply.
    pub fn unanswered(&self) -> u32 {
        self.spending.unanswered
    }

    /// Returns the part of `usage` that replies took, by model.
    pub fn answered_by(&self) -> &ByModel {
        &self.spending.answered_by
    }

    /// Tells whether the run has ended.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, RunPhase::Finished(_))
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Feeds a reply without calls: an answer, or one of the many ways not to give one.
    fn on_text(&mut self, reply: Reply, text: String) {
        let is_empty = text.trim().is_empty();
        let RunAttempt { pauses, nudges, continuations, broken_promises, .. } = self.attempt;
        match reply.stop {
            // Each of these needs another request.
            ReplyStop::ContextFull | ReplyStop::Paused | ReplyStop::ToolUse if self.turns_left() == 0 => {
                self.history.push_assistant(reply.blocks);
                self.finish(StopReason::TurnsExhausted, None);
            }
            ReplyStop::ContextFull => self.compact(),
            ReplyStop::Paused if pauses < self.policy.limits.pauses_max && !reply.blocks.is_empty() => {
                self.attempt.pauses += 1;
                self.history.push_assistant(reply.blocks);
            }
            ReplyStop::MaxTokens
                if !is_empty
                    && continuations < self.policy.limits.continuations_max
                    && self.turns_left() > 0 =>
            {
                self.continue_answer(reply.blocks, &text);
            }
            ReplyStop::ToolUse if broken_promises == 0 => {
                self.attempt.broken_promises += 1;
                self.note("the model announced a tool call and made none; asking again".to_owned());
                self.check_limits();
            }
            ReplyStop::EndTurn | ReplyStop::MaxTokens if is_empty && nudges == 0 && self.turns_left() > 0 => {
                self.nudge(reply.blocks)
            }
            last => {
                self.history.push_assistant(reply.blocks);
                match verdict(last, is_empty, continuations) {
                    (StopReason::Answered, _) => self.judge(),
                    (reason, detail) => self.finish(reason, detail),
                }
            }
        }
    }

    fn continue_answer(&mut self, blocks: Vec<Block>, text: &str) {
        self.attempt.continuations += 1;
        self.answer.push_str(text);
        self.raise_output_limit();
        self.history.messages.push(Message::Assistant { blocks });
        self.history.push_user(CONTINUE_ANSWER.to_owned());
    }

    /// Gives an empty answer one second chance: models sometimes stop right after a tool result.
    fn nudge(&mut self, blocks: Vec<Block>) {
        self.attempt.nudges += 1;
        self.raise_output_limit();
        self.history.push_assistant(blocks);
        self.history.push_user("Your last message had no text. Give your answer to the task now.".to_owned());
    }

    /// Continues after a finished batch of calls.
    fn conclude_batch(&mut self, calls: &[Arc<ToolCall>], mut results: Vec<ToolResult>) {
        for result in &results {
            self.history.count_tokens(&result.text);
        }
        let all_mistaken = results.iter().all(|result| result.mistake);
        self.attempt.mistakes = if all_mistaken { self.attempt.mistakes + 1 } else { 0 };
        // Polls that are answered "not yet" are bounded by turns and time; they are no cycle.
        let polls = results.iter().all(|result| result.pending);
        let verdict =
            if polls { cycle::CycleVerdict::Fine } else { self.attempt.cycles.observe(calls, &results) };
        if let (cycle::CycleVerdict::Warn(note), Some(last)) = (&verdict, results.last_mut()) {
            last.text = format!("{}\n\n[{note}]", last.text);
        }
        self.history.messages.push(Message::Results { results });
        if let cycle::CycleVerdict::Stop(why) = verdict {
            return self.finish(StopReason::Stalled, Some(why));
        }
        if self.attempt.mistakes >= self.policy.limits.mistakes_max {
            let why = format!("{} turns in a row had only wrong tool calls", self.attempt.mistakes);
            return self.finish(StopReason::Stalled, Some(why));
        }
        self.guard_context();
        self.check_limits();
    }

    /// Ends the run if no request is left, and makes the next one the wrap-up if it is the last or tool calls are used up.
    /// A task of one turn is asked without tools: it has nothing to report yet.
    fn check_limits(&mut self) {
        if self.attempt.wrapping_up.is_some() || self.is_finished() {
            return;
        }
        let Limits { turns_max, tool_calls_max, .. } = self.policy.limits;
        if self.turns_left() == 0 {
            self.finish(StopReason::TurnsExhausted, None);
        } else if self.turns_left() == 1 && self.turns_used() > 0 {
            self.wrap_up(
                StopReason::TurnsExhausted,
                format!("This is the last of your {turns_max} turns."),
                None,
            );
        } else if self.tool_calls_used() >= tool_calls_max {
            let (why, detail) = (
                format!("The limit of {tool_calls_max} tool calls is reached."),
                format!("the limit is {}", counted(tool_calls_max as usize, "tool call")),
            );
            self.wrap_up(StopReason::ToolCallsExhausted, why, Some(detail));
        }
    }

    fn wrap_up(&mut self, reason: StopReason, why: String, detail: Option<String>) {
        self.attempt.wrapping_up = Some(WrapUp { reason, detail });
        self.events.push(Event::WrappingUp { reason });
        self.close_open_calls();
        let report = match self.judgement.wants_json() {
            true => format!(
                "{why} You cannot call tools any more. Answer now with what you have: only JSON that \
                 satisfies the schema, without a fence and without any other text."
            ),
            false => format!(
                "{why} You cannot call tools any more. Report now: what you found and did, and what is \
                 still open."
            ),
        };
        self.history.push_user(report);
    }

    /// Answers the open calls of a run that ends, so that the history stays valid.
    fn close_open_calls(&mut self) {
        let RunPhase::Calling { calls, answers } = std::mem::replace(&mut self.phase, RunPhase::Asking)
        else {
            return;
        };
        let answered = calls.into_iter().zip(answers).map(|(planned, answer)| match answer {
            Some(result) => planned.marked(result),
            None => ToolResult::error(&planned.call, "not run: the task was stopped"),
        });
        let results = answered.collect();
        self.history.messages.push(Message::Results { results });
    }

    fn turns_used(&self) -> u32 {
        self.work.turns - self.earlier.work.turns
    }

    fn tool_calls_used(&self) -> u32 {
        self.work.tool_calls - self.earlier.work.tool_calls
    }

    fn raise_output_limit(&mut self) {
        self.output_tokens = self
            .output_tokens
            .saturating_mul(2)
            .min(self.policy.limits.output_tokens_per_call_max)
            .max(self.output_tokens);
    }

    fn note(&mut self, note: String) {
        if self.facts.warnings.contains(&note) {
            return;
        }
        self.events.push(Event::Noted { note: note.clone() });
        if self.facts.warnings.len() < WARNINGS_MAX {
            self.facts.warnings.push(note);
        }
    }

    fn finish(&mut self, stop: StopReason, detail: Option<String>) {
        self.close_open_calls();
        self.phase = RunPhase::Finished(Arc::new(self.outcome(stop, detail)));
    }

    fn outcome(&self, stop: StopReason, detail: Option<String>) -> Outcome {
        Outcome {
            stop,
            detail,
            text: self.last_text.clone(),
            sections: crate::sections::marked(&self.last_text),
            data: self.judgement.data.clone(),
            schema_errors: self.judgement.errors.clone(),
            evidence: self.judgement.evidence.clone(),
            turns: self.turns_used(),
            tool_calls: self.tool_calls_used(),
            usage: self.spending.usage,
            answered_by: self.spending.answered_by.clone(),
            changed_files: self.facts.changed_files.clone(),
            in_doubt: self.facts.in_doubt.clone(),
            refused_tools: self.facts.refused_tools.clone(),
            warnings: self.facts.warnings.iter().cloned().chain(self.unverified(stop)).collect(),
        }
    }
}

/// Derives the stop reason of a run whose last reply had no calls and gets no second chance.
fn verdict(stop: ReplyStop, is_empty: bool, continuations: u32) -> (StopReason, Option<String>) {
    let failed = |why: String| (StopReason::ModelFailed, Some(why));
    match stop {
        ReplyStop::Refusal => (StopReason::Refused, None),
        ReplyStop::Other(raw) => failed(format!("unknown stop reason `{raw}`")),
        ReplyStop::Paused => failed("paused too often".to_owned()),
        ReplyStop::ToolUse if is_empty => failed("a tool call was announced twice and not made".to_owned()),
        _ if is_empty => failed("empty_response".to_owned()),
        ReplyStop::MaxTokens => {
            let detail = format!(
                "the answer was still cut off after {}",
                counted(continuations as usize, "continuation")
            );
            (StopReason::Truncated, Some(detail))
        }
        ReplyStop::EndTurn | ReplyStop::ToolUse | ReplyStop::ContextFull => (StopReason::Answered, None),
    }
}

fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
    });
    texts.collect()
}
