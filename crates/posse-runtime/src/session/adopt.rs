//! What a dead process left of a delegation: its children go on, and what was defined and collected is remembered. All of
//! it is in the journals.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use posse_core::Result;
use posse_core::board::{Admission, Past};
use posse_core::id::TaskId;
use posse_core::journal::{Record, start_of};
use posse_core::message::{Block, Message};
use posse_core::run::replay;
use posse_core::tool::{DELEGATION, canonical, own_name};
use serde_json::Value;

use super::family::{Family, end_of};
use super::task::{Done, Task};
use super::{Begin, Session, subagent};
use crate::context::now_ms;
use crate::ports::TaskRow;

/// Calls of the `subagent` tool that were answered: the arguments, the idempotency key and the answer.
struct Answered {
    arguments: Value,
    answer: Value,
}

/// Calls that began a task by their idempotency keys.
#[derive(Default)]
struct Begun {
    /// Those whose answer was the task's result.
    answered: HashSet<String>,
    investigations: HashSet<String>,
}

impl Session {
    /// Takes over what belongs to a task that goes on in this process.
    pub(super) async fn adopt(&self, family: &Arc<Family>, records: &[Record]) -> Result<()> {
        let answered = answered(self, records);
        for Answered { arguments, .. } in answered.iter().filter(|call| call.answer["defined"].is_string()) {
            // It was accepted once; if it cannot be now, whoever asks for the agent is told that it does not exist.
            let _ = subagent::define_again(self, arguments);
        }
        let collected: HashSet<&str> = answered
            .iter()
            .filter(|call| call.arguments["action"] == "collect" && call.answer["status"].is_string())
            .filter_map(|call| call.answer["task_id"].as_str())
            .collect();
        let begun = begun(&family.parent.id, self, records);
        let rows = self.store.tasks(u32::MAX).await?;
        let in_session = rows.iter().filter(|row| row.id.session() == self.id);
        let numbers = in_session.filter_map(|row| row.id.short().strip_prefix("t_")?.parse().ok());
        self.spawned.fetch_max(numbers.max().unwrap_or(0), Ordering::Relaxed);
        // What a tool of the application runs is taken up by that tool.
        let ours = |row: &&TaskRow| {
            row.parent.as_ref() == Some(&family.parent.id) && row.id.short().starts_with("t_")
        };
        for row in rows.iter().rev().filter(ours) {
            let was_collected = collected.contains(row.id.short());
            self.adopt_child(family, row, was_collected, &begun).await?;
        }
        Ok(())
    }

    async fn adopt_child(
        &self,
        family: &Arc<Family>,
        row: &TaskRow,
        collected: bool,
        calls: &Begun,
    ) -> Result<()> {
        let records = self.store.records(&row.id).await?;
        let begun = records.iter().any(|record| matches!(record, Record::Asked { .. }));
        let start = start_of(&records)?;
        let has_key = |keys: &HashSet<String>| start.key.as_ref().is_some_and(|key| keys.contains(key));
        let collected = collected || has_key(&calls.answered);
        if has_key(&calls.investigations) {
            self.investigations.recall();
        }
        let stop = if start.detached { self.stop.child() } else { family.parent.stop.child() };
        let task = Arc::new(Task::new(row.id.clone(), start, stop, Begin::Again));
        for record in &records {
            if let Record::Steered { key, .. } = record {
                task.inbox.recall(key.clone(), row.turns);
            }
        }
        let ports = self.child_ports(&family.parent, &task)?;
        if row.status != "running" {
            let done = last_outcome(records.clone());
            if let Ok(outcome) = &done {
                ports.budget.charge(ports.model.tariff.used(&outcome.usage, &outcome.answered_by));
            }
            let past = Past::Ended { end: end_of(&done), collected };
            task.finish(done, row.turns);
            family.recall(&task, past, now_ms());
            return Ok(());
        }
        let past = if begun { Past::AtWork } else { Past::NotBegun };
        match family.recall(&task, past, now_ms()) {
            Admission::Start => self.launch(family, &task, ports, Begin::Again),
            Admission::Queued | Admission::Waiting => {}
            Admission::Dependency => self.fail_dependant(family, &task, "a task it depends on").await,
        }
        if begun {
            let grandchildren = self.family(&task.id)?;
            Box::pin(self.adopt(&grandchildren, &records)).await?;
        }
        Ok(())
    }
}

/// The calls of a journal to `subagent` that have their answer.
fn answered(session: &Session, records: &[Record]) -> Vec<Answered> {
    let Ok(replayed) = replay(records, session.tools.effects(), 0) else { return Vec::new() };
    let mut open = HashMap::new();
    let mut found = Vec::new();
    for message in replayed.run.messages() {
        match message {
            Message::Assistant { blocks } => {
                let calls = blocks.iter().filter_map(Block::as_call);
                for call in calls.filter(|call| canonical(&call.name) == DELEGATION) {
                    let arguments = serde_json::from_str(call.arguments.as_object_text());
                    open.insert(call.key, arguments.unwrap_or(Value::Null));
                }
            }
            Message::Results { results } => {
                for result in results.iter().filter(|result| !result.is_error) {
                    let Some(arguments) = open.remove(&result.key) else { continue };
                    let answer = serde_json::from_str(&result.text).unwrap_or(Value::Null);
                    found.push(Answered { arguments, answer });
                }
            }
            Message::User { .. } => {}
        }
    }
    found
}

/// The calls of a journal that delegate and wait.
fn begun(parent: &TaskId, session: &Session, records: &[Record]) -> Begun {
    let mut begun = Begun::default();
    let Ok(replayed) = replay(records, session.tools.effects(), 0) else { return begun };
    for message in replayed.run.messages() {
        match message {
            Message::Assistant { blocks } => {
                let calls = blocks.iter().filter_map(Block::as_call);
                let ours = calls.filter(|call| own_name(&call.name) == "run_subagent");
                begun.investigations.extend(ours.map(|call| format!("{parent}/{}", call.key)));
            }
            Message::Results { results } => {
                let waited = |name: &str| ["run_subagent", "agent"].contains(&own_name(name).as_str());
                let ours = results.iter().filter(|result| waited(&result.name));
                begun.answered.extend(ours.map(|result| format!("{parent}/{}", result.key)));
            }
            Message::User { .. } => {}
        }
    }
    begun
}

fn last_outcome(records: Vec<Record>) -> Done {
    let finished = records.into_iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome),
        _ => None,
    });
    finished.ok_or_else(|| "its outcome was not written down".to_owned())
}
