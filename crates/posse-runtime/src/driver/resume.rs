//! Taking a task up again: its record is fed to a fresh run, what is in doubt is said, and the loop goes on.

use posse_core::event::Event;
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::Record;
use posse_core::message::find_fault;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::run::{Replayed, Run, Step, replay};
use posse_core::tool::Effect;
use posse_core::usage::Usage;
use posse_core::{Error, ErrorCode, Result};

use super::calls::in_doubt;
use super::{Life, Ports, drive, fixed_tokens};
use crate::budget::amount;

/// How to go on with a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Onward {
    /// Finish what was begun, with more room if that is given. A task that was answered keeps its answer.
    Finish { turns_max: Option<u32>, wall_ms_max: Option<u64> },
    /// The person says something more.
    Message(String),
}

/// Goes on with a task that another process left, that ended early, or that was answered and is talked to again.
pub async fn resume(ports: &Ports, id: TaskId, owner: &str, onward: Onward) -> Result<Outcome> {
    let found = read(ports, &id).await?;
    if let Onward::Finish { wall_ms_max, .. } = &onward {
        match found.run.next_step(0) {
            Step::Finish(outcome) if outcome.stop == StopReason::Answered => return Ok(outcome),
            _ => refuse_without_time(&id, &found, *wall_ms_max)?,
        }
    }
    let epoch = ports.store.claim(&id, owner).await?;
    // The last owner may have written until the moment of the claim.
    let Replayed { start, mut run, elapsed_ms, unresolved, lost_tokens, finished_calls, .. } =
        read(ports, &id).await?;
    let price = ports.model.price.as_ref();
    ports.budget.charge(amount(run.usage(), price));
    ports.budget.charge(amount(&Usage { input: lost_tokens, ..Usage::default() }, price));
    let mut life = Life::new(ports, id, start, epoch, elapsed_ms);
    run.on_lost(lost_tokens);
    let doubtful = match onward {
        Onward::Finish { turns_max, wall_ms_max } => {
            run.on_resume(turns_max, wall_ms_max);
            life.journal.note(Record::Resumed { epoch, turns_max, wall_ms_max, lost_tokens, elapsed_ms });
            // Pure calls and calls with an idempotency key are simply made again.
            life.say_doubt(&mut run, |key| unresolved.contains(&(key, Effect::Unsafe)))
        }
        Onward::Message(text) => {
            // Nobody will make these calls again, so whatever was begun is in doubt.
            let doubtful = life.say_doubt(&mut run, |key| unresolved.iter().any(|(open, _)| *open == key));
            run.on_message(&text, elapsed_ms);
            life.journal.note(Record::Said { text, epoch, lost_tokens, elapsed_ms });
            doubtful
        }
    };
    life.journal.commit().await?;
    let agent = life.scene.start.agent.name.to_string();
    life.scene.event(|| Event::Resumed { agent, epoch, finished_calls, in_doubt: doubtful });
    drive(ports, life, run).await
}

impl Life<'_> {
    /// Answers the open calls that `doubtful` picks with "may or may not have happened".
    fn say_doubt(&mut self, run: &mut Run, doubtful: impl Fn(CallKey) -> bool) -> u32 {
        let Step::CallTools(open) = run.next_step(0) else { return 0 };
        let mut said = 0;
        for planned in open.into_iter().filter(|planned| doubtful(planned.call.key)) {
            said += 1;
            let result = in_doubt(&planned.call);
            let elapsed_ms = self.elapsed_ms();
            self.journal.note(Record::Done { result: result.clone(), full_text: None, elapsed_ms });
            run.on_results(vec![result]);
        }
        said
    }
}

/// A journal as the run it describes; one that no provider would accept is refused here, with the place.
async fn read(ports: &Ports, id: &TaskId) -> Result<Replayed> {
    let records = ports.store.records(id).await?;
    let fixed = match records.first() {
        Some(Record::Started(start)) => fixed_tokens(ports, start),
        _ => 0,
    };
    let replayed = replay(&records, ports.tools.effects(), fixed)?;
    match (replayed.run.next_step(0), find_fault(replayed.run.messages())) {
        (Step::CallModel(_), Some(fault)) => Err(Error::new(
            ErrorCode::JournalInvalid,
            format!("the conversation of `{id}` is broken: {fault}"),
        )),
        _ => Ok(replayed),
    }
}

fn refuse_without_time(id: &TaskId, found: &Replayed, wall_ms_max: Option<u64>) -> Result<()> {
    let allowed = wall_ms_max.unwrap_or(0).max(found.run.limits().wall_ms_max);
    let used = found.run.limits().wall_ms_max - found.run.time_left_ms(found.elapsed_ms);
    if used < allowed {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::TaskNotResumable,
        format!("the task `{id}` has used all of its {} s", allowed / 1000),
    )
    .hint(format!("give it more: --timeout {}", allowed / 1000 * 2)))
}
