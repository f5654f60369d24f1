//! Replay of a journal into a run. Every prefix of a journal gives the run as it was at that moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_messages::localized;

use super::Run;
use crate::edits::FileChange;
use crate::error::{Error, ErrorCode, Result};
use crate::id::CallKey;
use crate::journal::{Record, TaskStart};
use crate::tool::ToolEffect;
use crate::usage::Usage;

/// A run rebuilt from its journal.
#[derive(Debug)]
pub struct ReplayedRun {
    pub start: TaskStart,
    pub run: Run,
    /// Elapsed time of the run at its last record.
    pub elapsed_ms: u64,
    pub epoch: u64,
    /// Calls with an `Intended` record and no result, in the order of the intents.
    pub unresolved: Vec<(CallKey, ToolEffect)>,
    /// Input tokens of the interrupted model call; the provider may have worked and charged.
    pub lost_tokens: u64,
    /// Calls that have their result: they are never repeated.
    pub finished_calls: u32,
    /// Keys of the steering messages that the run has read.
    pub steered: Vec<String>,
    /// Bytes of all before-images.
    pub image_bytes: u64,
    /// Changes announced by a before-image whose call has no result.
    pub unfinished: Vec<(CallKey, FileChange)>,
}

/// Replays a journal into a fresh run. `tools` are the tools of the resuming process.
pub fn replay(
    records: &[Record],
    tools: impl Into<Arc<BTreeMap<String, ToolEffect>>>,
    fixed_tokens: u64,
) -> Result<ReplayedRun> {
    replay_each(records, tools, fixed_tokens, |_, _| {})
}

/// Like `replay`, and shows the run after each record.
pub fn replay_each(
    records: &[Record],
    tools: impl Into<Arc<BTreeMap<String, ToolEffect>>>,
    fixed_tokens: u64,
    mut look: impl FnMut(&Record, &Run),
) -> Result<ReplayedRun> {
    let Some((Record::Started(start), rest)) = records.split_first() else {
        return Err(Error::new(ErrorCode::JournalInvalid, localized!("journal-without-start")));
    };
    let run = Run::new(start, tools, fixed_tokens);
    let mut replayed = ReplayedRun {
        start: (**start).clone(),
        run,
        elapsed_ms: 0,
        epoch: 1,
        unresolved: Vec::new(),
        lost_tokens: 0,
        finished_calls: 0,
        steered: Vec::new(),
        image_bytes: 0,
        unfinished: Vec::new(),
    };
    look(&records[0], &replayed.run);
    for record in rest {
        replayed.feed(record)?;
        look(record, &replayed.run);
    }
    replayed.run.take_events();
    Ok(replayed)
}

impl ReplayedRun {
    fn feed(&mut self, record: &Record) -> Result<()> {
        // It may be written during a call, and changes nothing.
        if let Record::Observed { .. } = record {
            return Ok(());
        }
        self.elapsed_ms = record.elapsed_ms().unwrap_or(self.elapsed_ms);
        // All other records are written while no call is running.
        self.lost_tokens = 0;
        match record {
            Record::Started(_) => {
                return Err(Error::new(ErrorCode::JournalInvalid, localized!("journal-two-starts")));
            }
            Record::Asked { estimate, .. } => self.lost_tokens = *estimate,
            Record::Replied { reply, .. } => self.run.on_reply(reply.clone()),
            Record::Unanswered { failure, said, .. } => {
                self.run.on_cut_off(said);
                self.run.on_failure(failure);
            }
            Record::Intended { key, effect, .. } => self.unresolved.push((*key, *effect)),
            Record::Resolved { key, verdict, by, .. } => self.run.on_resolved(*key, *verdict, by),
            Record::Saved { image } => {
                self.image_bytes = self.image_bytes.saturating_add(image.before.size());
                self.unfinished.push((image.key, image.change.clone()));
            }
            Record::Done { result, .. } => {
                self.finished_calls += 1;
                self.unfinished.retain(|(key, _)| *key != result.key);
                self.unresolved.retain(|(key, _)| *key != result.key);
                self.run.on_results(vec![result.clone()]);
            }
            Record::Checked { errors, .. } => self.run.on_checked(errors),
            // The command is run again: verification commands must be repeatable.
            Record::Verifying { .. } | Record::Observed { .. } => {}
            Record::Verified { evidence, .. } => self.run.on_verified(evidence.clone()),
            Record::Resumed { epoch, turns_max, wall_ms_max, .. } => {
                self.taken_over(*epoch, &record.spent());
                self.run.on_resume(*turns_max, *wall_ms_max);
            }
            Record::Said { text, epoch, elapsed_ms, .. } => {
                self.taken_over(*epoch, &record.spent());
                self.run.on_message(text, *elapsed_ms);
            }
            Record::Steered { text, key, .. } => {
                self.steered.push(key.clone());
                self.run.on_steer(text);
            }
            Record::Withdrawn { tools, left, .. } => self.run.on_withdrawn(tools, left.as_deref()),
            Record::Regranted { grant, .. } => self.run.on_regranted(grant),
            Record::ModelChosen { choice, .. } => {
                self.start.agent.choose_model(choice);
                self.run.on_model_chosen(choice);
            }
            Record::BudgetSpent { shortfall, input_excess, .. } => {
                self.run.on_budget_spent(shortfall, *input_excess)
            }
            Record::Cancelled { .. } => {
                let begun: Vec<CallKey> = self.unresolved.iter().map(|(key, _)| *key).collect();
                self.run.on_cancel(&begun);
            }
            Record::Finished { outcome, .. } => self.run.on_finished(outcome),
        }
        Ok(())
    }

    fn taken_over(&mut self, epoch: u64, lost: &Usage) {
        self.epoch = epoch;
        self.run.on_lost(lost);
    }
}
