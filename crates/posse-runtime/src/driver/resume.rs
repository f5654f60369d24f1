//! Taking a task up again: its record is fed to a fresh run, what is in doubt is said, and the loop goes on.

use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::run::{Replayed, Step, replay};
use posse_core::tool::Effect;
use posse_core::usage::Usage;
use posse_core::{Error, ErrorCode, Result};

use super::calls::in_doubt;
use super::{Life, Ports, drive};
use crate::budget::amount;

/// How to go on with a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Onward {
    /// Finish what was begun. A task that was answered keeps its answer.
    Finish { turns_max: Option<u32> },
    /// The person says something more.
    Message(String),
}

/// Goes on with a task that another process left, that ended early, or that was answered and is talked to again.
pub async fn resume(ports: &Ports, id: TaskId, owner: &str, onward: Onward) -> Result<Outcome> {
    let before = replay(&ports.store.records(&id).await?, ports.tools.effects())?;
    if let (Onward::Finish { .. }, Step::Finish(outcome)) = (&onward, before.run.next_step(0))
        && outcome.stop == StopReason::Answered
    {
        return Ok(outcome);
    }
    let epoch = ports.store.claim(&id, owner).await?;
    // The last owner may have written until the moment of the claim.
    let replayed = replay(&ports.store.records(&id).await?, ports.tools.effects())?;
    let out_of_time = replayed.run.time_left_ms(replayed.elapsed_ms) == 0;
    if out_of_time && matches!(onward, Onward::Finish { .. }) {
        return Err(Error::new(
            ErrorCode::TaskNotResumable,
            format!("the task `{id}` has used all of its time"),
        )
        .hint("start it again with a longer time limit"));
    }
    let Replayed { start, mut run, elapsed_ms, unresolved, lost_tokens, finished_calls, .. } = replayed;
    ports.budget.charge(amount(run.usage(), ports.model.price.as_ref()));
    ports
        .budget
        .charge(amount(&Usage { input: lost_tokens, ..Usage::default() }, ports.model.price.as_ref()));
    let mut life = Life::new(ports, id, start, epoch, elapsed_ms);
    let turns_max = match &onward {
        Onward::Finish { turns_max } => *turns_max,
        Onward::Message(_) => None,
    };
    run.on_resume(turns_max, lost_tokens);
    life.journal.note(Record::Resumed { epoch, turns_max, lost_tokens, elapsed_ms });
    let open = match run.next_step(elapsed_ms) {
        Step::CallTools(calls) => calls,
        Step::CallModel(_) | Step::Finish(_) => Vec::new(),
    };
    let mut doubtful = 0;
    for planned in open {
        // Pure calls and calls with an idempotency key are simply made again.
        if unresolved.contains(&(planned.call.key, Effect::Unsafe)) {
            doubtful += 1;
            let result = in_doubt(&planned.call);
            life.journal.note(Record::Done { result: result.clone(), full_text: None, elapsed_ms });
            run.on_results(vec![result]);
        }
    }
    if let Onward::Message(text) = onward {
        run.on_message(&text, elapsed_ms);
        life.journal.note(Record::Said { text, elapsed_ms });
    }
    life.journal.commit().await?;
    life.scene.event(Event::Resumed { epoch, finished_calls, in_doubt: doubtful });
    drive(ports, life, run).await
}
