//! Resumes a task: replays its journal into a fresh run, answers calls in doubt, and enters the loop.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_core::agent::ChosenModel;
use posse_core::event::Event;
use posse_core::fact::{LiveFact, SteerReceipt};
use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::{Record, TaskStart, lost_usage, start_of};
use posse_core::message::find_fault;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::run::{CallAction, PlannedCall, ReplayedRun, Run, RunStep, replay};
use posse_core::tool::ToolEffect;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use super::calls::in_doubt;
use super::{ContextUse, DriverContext, DriverPorts, RunDriver, drive, fixed_tokens, task_fact};
use crate::images::ImageLedger;
use crate::inbox::InboxMessage;
use crate::journal::TaskJournal;
use crate::leases;
use crate::ports::{ObservedPayload, SteeringMessage, Store};

/// Ways to continue a task.
#[derive(Debug, Clone, PartialEq)]
pub enum ResumeMode {
    /// Continue to the answer, with higher limits if given. A task that was answered keeps its answer.
    Finish { turns_max: Option<u32>, wall_ms_max: Option<u64> },
    /// Continue with another message of the person.
    Message(String),
    /// Continue with another message, which another model answers from now on.
    MessageTo { text: String, model: Box<ChosenModel> },
}

impl ResumeMode {
    /// Returns the model that the person chose, if it is another one.
    pub fn chosen_model(&self) -> Option<&ChosenModel> {
        match self {
            ResumeMode::MessageTo { model, .. } => Some(model),
            ResumeMode::Message(_) | ResumeMode::Finish { .. } => None,
        }
    }

    /// Tells whether a person continues the conversation.
    pub fn is_message(&self) -> bool {
        !matches!(self, ResumeMode::Finish { .. })
    }
}

/// Rights of a resumed task.
#[derive(Clone, Copy)]
pub(crate) enum ResumeGrant<'a> {
    /// The task's own grant, intersected with this one.
    Within(&'a Grant),
    /// This grant, which the operator chose for the task.
    Chosen(&'a Grant),
}

/// Resumes a task that was interrupted, ended early, or gets another message. Its grant is intersected with `allowed`.
pub async fn resume(
    ports: &DriverPorts,
    id: TaskId,
    owner: &str,
    onward: ResumeMode,
    allowed: &Grant,
) -> Result<Arc<Outcome>> {
    resume_with(ports, id, owner, onward, ResumeGrant::Within(allowed)).await
}

/// Claims and resumes a task.
pub(crate) async fn resume_with(
    ports: &DriverPorts,
    id: TaskId,
    owner: &str,
    onward: ResumeMode,
    rights: ResumeGrant<'_>,
) -> Result<Arc<Outcome>> {
    let (found, _) = read(ports, &id).await?;
    if let Some(outcome) = answer_of(&id, &found, &onward)? {
        return Ok(outcome);
    }
    let epoch = ports.store.claim(&id, owner).await?;
    resume_claimed(ports, id, epoch, onward, rights).await
}

/// Resumes a task that this process has claimed at `epoch`.
pub(crate) async fn resume_claimed(
    ports: &DriverPorts,
    id: TaskId,
    epoch: u64,
    onward: ResumeMode,
    rights: ResumeGrant<'_>,
) -> Result<Arc<Outcome>> {
    // Read after the claim: the last owner may have written until then.
    let (replayed, next) = read(ports, &id).await?;
    if let Some(outcome) = answer_of(&id, &replayed, &onward)? {
        return Ok(outcome);
    }
    if !replayed.run.is_finished() {
        // Before any write: a command of the dead driver may still be running.
        ports.tools.sweep(&id, epoch).await;
    }
    let images = Arc::new(ImageLedger::from_run(&replayed));
    let ReplayedRun {
        mut start, mut run, elapsed_ms, unresolved, lost_tokens, finished_calls, steered, ..
    } = replayed;
    if let Some(choice) = onward.chosen_model() {
        start.agent.choose_model(choice);
    }
    fill_inbox(ports, &id, steered).await?;
    let tariff = &*ports.model.tariff.after(run.answered_by());
    ports.budget.charge(tariff.used(run.usage(), run.answered_by()));
    let lost = tariff.priced_lost(lost_usage(lost_tokens, None));
    ports.budget.charge(tariff.of_lost(&lost));
    let had_commands = has_commands(&start.grant);
    let change;
    (start.grant, change) = match rights {
        ResumeGrant::Within(allowed) => {
            (run.grant().meet(allowed), GrantChange::Withdrawn(run.grant().beyond(allowed)))
        }
        ResumeGrant::Chosen(grant) => (grant.clone(), GrantChange::Chosen),
    };
    let commands_withdrawn = had_commands && !has_commands(&start.grant);
    let opening = (start.opening().0, ports.tools.offered(&start.grant));
    let journal = TaskJournal::new(ports.store.clone(), ports.observers.clone(), id.clone(), epoch, next);
    let mut driver = RunDriver::new(ports, id, Arc::new(start), opening, journal, elapsed_ms);
    driver.context.images = images;
    driver.context.commands_withdrawn = commands_withdrawn;
    run.on_lost(&lost);
    let lost_cost_micros = lost.cost_micros;
    let facts = TakeoverFacts { epoch, elapsed_ms, lost_tokens, lost_cost_micros, unresolved, change };
    let takeover = driver.context.take_up(&mut run, onward, facts).await?;
    let in_doubt = takeover.iter().filter(|record| matches!(record, Record::Done { .. })).count();
    let resumed = Event::Resumed {
        agent: driver.context.start.agent.name.to_string(),
        model: driver.context.start.agent.model.clone(),
        context_window: run.limits().context_window,
        epoch,
        finished_calls,
        in_doubt: u32::try_from(in_doubt).unwrap_or(u32::MAX),
        turns: run.turns(),
        turns_max: run.limits().turns_max,
        tool_calls: run.tool_calls(),
        usage: *run.usage(),
    };
    driver.context.take_over(resumed, takeover, &mut run).await?;
    leases::wait(ports, &driver.context.id, &driver.context.journal, &driver.context.start).await?;
    drive(ports, driver, Box::new(run)).await
}

/// Ends a task without a driver, and without calling anything: calls that had started are in doubt. `epoch` is from the
/// claim; a task that ends `with_parent` is resumed with its orchestrator.
pub async fn end_cancelled(
    store: &dyn Store,
    id: &TaskId,
    epoch: u64,
    why: &str,
    with_parent: bool,
) -> Result<Arc<Outcome>> {
    let records = store.records(id).await?;
    let start = start_of(&records)?;
    // The declared effects do not matter: no tool is called.
    let tools: BTreeMap<_, _> =
        start.grant.tools().map(|name| (name.to_owned(), ToolEffect::Unsafe)).collect();
    let ReplayedRun { mut run, elapsed_ms, unresolved, lost_tokens, .. } = replay(&records, tools, 0)?;
    if let RunStep::Finish(outcome) = run.next_step(0)
        && matches!(records.last(), Some(Record::Finished { .. }))
    {
        return Ok(outcome);
    }
    // No model is opened here, so the cost of the lost call is unknown.
    run.on_lost(&lost_usage(lost_tokens, None));
    run.on_resume(None, None);
    let (turns_max, wall_ms_max, lost_cost_micros) = (None, None, None);
    let mut ending =
        vec![Record::Resumed { epoch, turns_max, wall_ms_max, lost_tokens, lost_cost_micros, elapsed_ms }];
    if let RunStep::CallTools(open) = run.next_step(0) {
        let begun = |planned: &&PlannedCall| unresolved.iter().any(|(key, _)| *key == planned.call.key);
        for planned in open.iter().filter(begun) {
            let result = in_doubt(&planned.call);
            ending.push(Record::done(result.clone(), elapsed_ms));
            run.on_results(vec![result]);
        }
    }
    run.on_cancel(&[]);
    ending.push(Record::Cancelled { elapsed_ms, with_parent });
    let RunStep::Finish(mut outcome) = run.next_step(elapsed_ms) else {
        return Err(Error::new(ErrorCode::Internal, localized!("cancel-without-end", id)));
    };
    Arc::make_mut(&mut outcome).detail.get_or_insert_with(|| why.to_owned());
    ending.push(Record::Finished { outcome: outcome.clone(), elapsed_ms });
    store.append(id, epoch, &ending).await?;
    Ok(outcome)
}

impl DriverContext<'_> {
    /// Commits the records of a takeover and notifies observers, of the takeover first.
    async fn take_over(&self, resumed: Event, records: Vec<Record>, run: &mut Run) -> Result<()> {
        let journal = &self.journal;
        let noted = run.take_events().into_iter().map(|event| Record::Observed { event });
        let records = std::iter::once(Record::Observed { event: resumed }).chain(records).chain(noted);
        let events: Vec<_> = records.map(|record| journal.hold(record)).collect();
        journal.commit().await?;
        let parent = self.ports.store.task(&self.id).await?.parent;
        self.fact(&task_fact(parent.as_ref(), &self.start));
        self.payload(ObservedPayload::Start(&self.start));
        events.into_iter().for_each(|entry| journal.tell(entry));
        Ok(())
    }
}

/// Facts about the run that a takeover continues.
struct TakeoverFacts {
    epoch: u64,
    elapsed_ms: u64,
    /// Input tokens of the interrupted model call, and their cost.
    lost_tokens: u64,
    lost_cost_micros: Option<u64>,
    /// Calls with an `Intended` record and no result.
    unresolved: Vec<(CallKey, ToolEffect)>,
    change: GrantChange,
}

/// Difference between the journaled grant of a task and the one it continues with.
enum GrantChange {
    /// Tools that the task had and may no longer use.
    Withdrawn(Vec<String>),
    /// Another grant, chosen by the operator.
    Chosen,
}

impl DriverContext<'_> {
    /// Applies the takeover to the run; returns its records.
    async fn take_up(&self, run: &mut Run, onward: ResumeMode, facts: TakeoverFacts) -> Result<Vec<Record>> {
        let TakeoverFacts { epoch, elapsed_ms, lost_tokens, lost_cost_micros, unresolved, change } = facts;
        let mut takeover = Vec::new();
        let text = match onward {
            ResumeMode::Finish { turns_max, wall_ms_max } => {
                run.on_resume(turns_max, wall_ms_max);
                takeover.push(Record::Resumed {
                    epoch,
                    turns_max,
                    wall_ms_max,
                    lost_tokens,
                    lost_cost_micros,
                    elapsed_ms,
                });
                takeover.extend(self.change_grant(run, change));
                // Pure calls and calls with an idempotency key are repeated, if they are still allowed.
                takeover.extend(self.answer_in_doubt(run, |planned| {
                    let intended = unresolved.iter().find(|(key, _)| *key == planned.call.key);
                    match &planned.action {
                        CallAction::Execute(_) | CallAction::Ask(..) => {
                            intended.is_some_and(|(_, effect)| *effect == ToolEffect::Unsafe)
                        }
                        CallAction::Refuse(_) => intended.is_some(),
                    }
                }));
                return Ok(takeover);
            }
            ResumeMode::Message(text) => text,
            ResumeMode::MessageTo { text, model } => {
                run.on_model_chosen(&model);
                takeover.push(Record::ModelChosen { choice: *model, elapsed_ms });
                text
            }
        };
        // These calls are not repeated, so every one that had started is in doubt.
        let begun = |planned: &PlannedCall| unresolved.iter().any(|(open, _)| *open == planned.call.key);
        takeover.extend(self.answer_in_doubt(run, begun));
        let (store, why) = (&self.ports.store, "the conversation went on without it");
        store.close_approvals(&self.id, why).await?;
        run.on_message(&text, elapsed_ms);
        self.payload(ObservedPayload::Message(&text));
        takeover.push(Record::Said { text, epoch, lost_tokens, lost_cost_micros, elapsed_ms });
        takeover.extend(self.change_grant(run, change));
        Ok(takeover)
    }

    fn change_grant(&self, run: &mut Run, change: GrantChange) -> Option<Record> {
        let (grant, elapsed_ms) = (&self.start.grant, self.elapsed_ms());
        let tools = match change {
            GrantChange::Withdrawn(tools) => tools,
            GrantChange::Chosen if run.grant() == grant => return None,
            GrantChange::Chosen => {
                run.on_regranted(grant);
                return Some(Record::Regranted { grant: grant.clone(), elapsed_ms });
            }
        };
        let left = (run.grant().without(&tools) != *grant).then(|| Box::new(grant.clone()));
        if tools.is_empty() && left.is_none() {
            return None;
        }
        run.on_withdrawn(&tools, left.as_deref());
        Some(Record::Withdrawn { tools, left, elapsed_ms })
    }

    /// Answers the open calls that `doubtful` picks with "may or may not have happened".
    fn answer_in_doubt(&self, run: &mut Run, doubtful: impl Fn(&PlannedCall) -> bool) -> Vec<Record> {
        let RunStep::CallTools(open) = run.next_step(0) else { return Vec::new() };
        let answered = open.into_iter().filter(doubtful).map(|planned| {
            let result = in_doubt(&planned.call);
            run.on_results(vec![result.clone()]);
            Record::done(result, self.elapsed_ms())
        });
        answered.collect()
    }
}

/// Fills the inbox with unread messages. `steered` are the keys of those in the journal.
async fn fill_inbox(ports: &DriverPorts, id: &TaskId, steered: Vec<String>) -> Result<()> {
    steered.into_iter().for_each(|key| ports.inbox.recall(key));
    for SteeringMessage { task, key, text, .. } in ports.store.queued_messages(id.session()).await? {
        if task == *id {
            let queued = LiveFact::Steer { key: key.clone(), receipt: SteerReceipt::Queued, turn: None };
            if ports.inbox.push(InboxMessage::sent(key, text)) {
                ports.observers.fact(id, &queued);
            }
        }
    }
    Ok(())
}

/// Measures the next request of a stored task: what fills the window.
pub(crate) async fn context_use(ports: &DriverPorts, id: &TaskId) -> Result<ContextUse> {
    let (replayed, _) = read(ports, id).await?;
    let ReplayedRun { start, run, .. } = replayed;
    let start = TaskStart { grant: run.grant().clone(), ..start };
    Ok(ContextUse::of(ports, &start, &run))
}

/// Replays the journal and counts its records. Refuses a conversation that no provider would accept.
async fn read(ports: &DriverPorts, id: &TaskId) -> Result<(ReplayedRun, u64)> {
    let records = ports.store.records(id).await?;
    let fixed = match records.first() {
        Some(Record::Started(start)) => fixed_tokens(&start.opening().0, &ports.tools.offered(&start.grant)),
        _ => 0,
    };
    let replayed = replay(&records, ports.tools.effects(), fixed)?;
    match (replayed.run.next_step(0), find_fault(replayed.run.messages())) {
        (RunStep::CallModel(_), Some(fault)) => {
            Err(Error::new(ErrorCode::JournalInvalid, localized!("conversation-broken", id, fault)))
        }
        _ => Ok((replayed, records.len() as u64)),
    }
}

/// Returns the answer that a finished task keeps. Fails if a task that ended early has no turns or time left.
fn answer_of(id: &TaskId, found: &ReplayedRun, onward: &ResumeMode) -> Result<Option<Arc<Outcome>>> {
    let ResumeMode::Finish { turns_max, wall_ms_max } = onward else { return Ok(None) };
    match found.run.next_step(0) {
        RunStep::Finish(outcome) if outcome.stop == StopReason::Answered => Ok(Some(outcome)),
        RunStep::Finish(_) => {
            refuse_without_time(id, found, *wall_ms_max)?;
            refuse_without_turns(id, &found.run, *turns_max)?;
            Ok(None)
        }
        // An interrupted task without time left ends now, with the text so far.
        _ => Ok(None),
    }
}

fn has_commands(grant: &Grant) -> bool {
    grant.tools().any(|tool| tool == "bash")
}

/// Refuses a task without turns left, unless its limit is raised.
fn refuse_without_turns(id: &TaskId, run: &Run, turns_max: Option<u32>) -> Result<()> {
    let had = run.limits().turns_max;
    if run.turns_left() > 0 || turns_max.is_some_and(|turns| turns > had) {
        return Ok(());
    }
    Err(Error::new(ErrorCode::TaskNotResumable, localized!("task-out-of-turns", id, turns = had))
        .hint(localized!("task-out-of-turns-hint", turns = had.saturating_mul(2).max(1))))
}

fn refuse_without_time(id: &TaskId, found: &ReplayedRun, wall_ms_max: Option<u64>) -> Result<()> {
    let allowed = wall_ms_max.unwrap_or(0).max(found.run.limits().wall_ms_max);
    let used = found.run.limits().wall_ms_max - found.run.time_left_ms(found.elapsed_ms);
    if used < allowed {
        return Ok(());
    }
    Err(Error::new(ErrorCode::TaskNotResumable, localized!("task-out-of-time", id, seconds = allowed / 1000))
        .hint(localized!("task-out-of-time-hint", seconds = allowed / 1000 * 2)))
}
