//! What is written down about a task, in the order it happened. Resuming a task is feeding this to a fresh `Run`.
//!
//! A tool call leaves `Intended` before its effect and `Done` after it. An `Intended` without `Done` is in doubt.

use std::sync::Arc;

use posse_messages::localized;
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, ChosenModel};
use crate::approval::{ApprovalScope, ApprovalVerdict, DecidedBy};
use crate::board::SpawnTerms;
use crate::budget::BudgetCaps;
use crate::definition::insert_task;
use crate::edits::FileImage;
use crate::error::{Error, ErrorCode, Result};
use crate::event::Event;
use crate::grant::{Grant, snapshot};
use crate::id::CallKey;
use crate::message::{Block, ToolResult};
use crate::outcome::Outcome;
use crate::reply::{ModelFailure, Reply};
use crate::run::DecisionRules;
use crate::state::TaskState;
use crate::tool::ToolEffect;
use crate::usage::{SpendingTotal, Usage};
use crate::verify::VerifyEvidence;

/// One record of a task's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    Started(Arc<TaskStart>),
    /// A model call is about to be made. If nothing follows, the provider may have worked. What follows is its `Replied` or `Unanswered`,
    /// or, for one that was written down with the task, why it was not made.
    Asked {
        turn: u32,
        #[serde(default)]
        turns_max: u32,
        estimate: u64,
        elapsed_ms: u64,
    },
    Replied {
        #[serde(default)]
        turn: u32,
        reply: Reply,
        elapsed_ms: u64,
    },
    Unanswered {
        failure: ModelFailure,
        /// Text that the model had written when the call was cut off.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        said: String,
        elapsed_ms: u64,
    },
    /// A call with an effect is about to be made by the driver of this epoch.
    Intended {
        key: CallKey,
        #[serde(default)]
        tool: String,
        /// See `event::summary`.
        #[serde(default)]
        summary: String,
        arguments_hash: String,
        effect: ToolEffect,
        epoch: u64,
    },
    /// The decision on a call that needed an approval. `approval` is the id of the parked call.
    Resolved {
        key: CallKey,
        #[serde(default)]
        tool: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<String>,
        verdict: ApprovalVerdict,
        #[serde(default)]
        scope: ApprovalScope,
        by: DecidedBy,
        elapsed_ms: u64,
    },
    /// A file is about to be replaced by a call; this is what it was.
    Saved {
        image: FileImage,
    },
    /// The result of the call, and the full text where that is longer.
    Done {
        result: ToolResult,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full_text: Option<String>,
        #[serde(default, skip_serializing_if = "ResultOrigin::is_usual")]
        origin: ResultOrigin,
        #[serde(default)]
        duration_ms: u64,
        elapsed_ms: u64,
    },
    /// The JSON value of an answer was compared with the output schema; without errors it satisfies it.
    Checked {
        errors: Vec<String>,
        elapsed_ms: u64,
    },
    /// A command that checks the result is about to be run. Without a `Verified` after it, it is run again.
    Verifying {
        command: String,
        epoch: u64,
    },
    Verified {
        evidence: VerifyEvidence,
        elapsed_ms: u64,
    },
    /// Another process took the task over. Limits can be raised by the person who resumed it.
    /// `lost_tokens` is what a model call cut off by the end of the last process may have consumed.
    Resumed {
        epoch: u64,
        turns_max: Option<u32>,
        wall_ms_max: Option<u64>,
        lost_tokens: u64,
        /// Price of the lost tokens at most; `None` if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost_cost_micros: Option<u64>,
        elapsed_ms: u64,
    },
    /// A steering message from the parent or a person.
    Steered {
        text: String,
        /// Key of the message; it prevents a second delivery.
        key: String,
        elapsed_ms: u64,
    },
    /// The person went on talking; whoever wrote this has taken the task over.
    Said {
        text: String,
        epoch: u64,
        lost_tokens: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost_cost_micros: Option<u64>,
        elapsed_ms: u64,
    },
    /// Tools the task had and that the operator does not allow any more.
    Withdrawn {
        tools: Vec<String>,
        /// The remaining grant, if more than tools was withdrawn.
        #[serde(default, with = "snapshot::option", skip_serializing_if = "Option::is_none")]
        left: Option<Box<Grant>>,
        elapsed_ms: u64,
    },
    /// The operator chose another mode for the task, whose grant this is from now on. Nothing else widens a grant.
    Regranted {
        #[serde(with = "snapshot")]
        grant: Grant,
        elapsed_ms: u64,
    },
    /// A person chose another model, which answers from now on.
    ModelChosen {
        choice: ChosenModel,
        elapsed_ms: u64,
    },
    /// The budget did not allow the next model call.
    BudgetSpent {
        shortfall: String,
        /// Input tokens without which it would have fitted.
        #[serde(default, skip_serializing_if = "is_zero")]
        input_excess: u64,
        elapsed_ms: u64,
    },
    /// Someone asked the run to stop.
    Cancelled {
        elapsed_ms: u64,
        /// The task ended only because its orchestrator did, and goes on when that is resumed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        with_parent: bool,
    },
    Finished {
        outcome: Arc<Outcome>,
        elapsed_ms: u64,
    },
    /// An event that no other record states. Replay passes over it.
    Observed {
        event: Event,
    },
}

/// Origin of a call's result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultOrigin {
    /// The tool ran, or may have run.
    #[default]
    Ran,
    /// Another task did the work. The files it changed are in that task's journal.
    Delegated,
    /// The call was not made.
    Refused,
}

impl ResultOrigin {
    fn is_usual(&self) -> bool {
        *self == Self::Ran
    }
}

/// Everything a run needs to start, so that another process can start it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStart {
    pub agent: Agent,
    pub task: String,
    #[serde(with = "snapshot")]
    pub grant: Grant,
    /// Budget caps of the whole session.
    #[serde(default)]
    pub caps: BudgetCaps,
    pub workspace: String,
    /// Commands that must succeed in the workspace before the task counts as done. They may be run more than once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Notes for the recipient of the answer on how the task was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// When it may run.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub terms: SpawnTerms,
    #[serde(flatten)]
    pub link: ParentLink,
    /// Globs that it holds for itself while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_lease: Vec<String>,
    /// The workspace that the task's worktree was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_from: Option<String>,
    /// Presentation of the outcome, in a form of the program that started the task. A resumed task ends the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Box<serde_json::Value>>,
    /// It did not begin when it was created.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// Revision of the rules that its run decides by.
    #[serde(default)]
    pub rules: DecisionRules,
}

/// Link between a task and its parent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ParentLink {
    /// Idempotency key of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The task goes on when its parent ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// Its result is in the announcement of its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pushed: bool,
}

/// Longest title of a task.
const TITLE_BYTES_MAX: usize = 200;

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_usual(terms: &SpawnTerms) -> bool {
    *terms == SpawnTerms::default()
}

impl TaskStart {
    /// Without limits on what it costs, in the current directory.
    pub fn new(agent: Agent, task: impl Into<String>, grant: Grant) -> Self {
        Self {
            agent,
            task: task.into(),
            grant,
            caps: BudgetCaps::default(),
            workspace: ".".to_owned(),
            verify: Vec::new(),
            notes: Vec::new(),
            terms: SpawnTerms::default(),
            link: ParentLink::default(),
            write_lease: Vec::new(),
            apart_from: None,
            delivery: None,
            queued: false,
            rules: DecisionRules::LATEST,
        }
    }

    /// Returns the beginning of the task text, as listings and views show it.
    pub fn title(&self) -> &str {
        crate::text::prefix(&self.task, TITLE_BYTES_MAX)
    }

    /// The directory that the person works in: the workspace, or what that is a worktree of.
    pub fn origin(&self) -> &str {
        self.apart_from.as_ref().unwrap_or(&self.workspace)
    }

    /// The system prompt and the first message, with the task in one of them.
    pub fn opening(&self) -> (String, String) {
        insert_task(&self.agent.system_prompt, &self.task, self.agent.task_in)
    }
}

/// Returns the text of a reply.
pub fn reply_text(reply: &Reply) -> String {
    let text = |block: &Block| match block {
        Block::Text { text, .. } => Some(text.clone()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
    };
    reply.blocks.iter().filter_map(text).collect()
}

/// Returns the text of every reply, in order.
pub fn reply_texts(records: &[Record]) -> Vec<String> {
    let replies = records.iter().filter_map(|record| match record {
        Record::Replied { reply, .. } => Some(reply_text(reply)),
        _ => None,
    });
    replies.collect()
}

/// Returns how a task was started, with the grant and the model that it has now.
pub fn start_of(records: &[Record]) -> Result<TaskStart> {
    let Some((Record::Started(start), rest)) = records.split_first() else {
        return Err(Error::new(ErrorCode::JournalInvalid, localized!("journal-without-start")));
    };
    let mut start = (**start).clone();
    for record in rest {
        match record {
            Record::Withdrawn { tools, left, .. } => {
                start.grant = remaining(&start.grant, tools, left.as_deref());
            }
            Record::Regranted { grant, .. } => start.grant = grant.clone(),
            Record::ModelChosen { choice, .. } => start.agent.choose_model(choice),
            _ => {}
        }
    }
    Ok(start)
}

/// Applies a `Withdrawn` record to a grant. Never widens it.
pub fn remaining(grant: &Grant, tools: &[String], left: Option<&Grant>) -> Grant {
    let grant = grant.without(tools);
    left.map_or(grant.clone(), |left| grant.meet(left))
}

/// Usage of a model call that was cut off by the end of its process: the provider may have worked and charged.
pub fn lost_usage(tokens: u64, cost_micros: Option<u64>) -> Usage {
    match tokens {
        0 => Usage::default(),
        input => Usage { input, estimated: true, ..Usage::default() }.costing(cost_micros),
    }
}

impl Record {
    /// Returns the record of a result that fits into the conversation and took no time here.
    pub fn done(result: ToolResult, elapsed_ms: u64) -> Self {
        Record::Done { result, full_text: None, origin: ResultOrigin::Ran, duration_ms: 0, elapsed_ms }
    }

    /// Returns the task's state from this record on; `None` if the record does not change it.
    pub fn state(&self) -> Option<TaskState> {
        match self {
            Record::Finished { outcome, .. } => Some(TaskState::Ended(outcome.status())),
            Record::Resumed { .. } | Record::Said { .. } => Some(TaskState::Running),
            _ => None,
        }
    }

    /// Returns the usage that this record adds.
    pub fn spent(&self) -> Usage {
        match self {
            Record::Replied { reply, .. } => {
                let mut spent = reply.usage;
                spent.add(&reply.lost);
                spent
            }
            Record::Unanswered { failure, .. } => failure.lost,
            Record::Resumed { lost_tokens, lost_cost_micros, .. }
            | Record::Said { lost_tokens, lost_cost_micros, .. } => {
                lost_usage(*lost_tokens, *lost_cost_micros)
            }
            Record::Started(_)
            | Record::Asked { .. }
            | Record::Intended { .. }
            | Record::Resolved { .. }
            | Record::Saved { .. }
            | Record::Done { .. }
            | Record::Checked { .. }
            | Record::Verifying { .. }
            | Record::Verified { .. }
            | Record::Withdrawn { .. }
            | Record::Regranted { .. }
            | Record::ModelChosen { .. }
            | Record::Steered { .. }
            | Record::BudgetSpent { .. }
            | Record::Cancelled { .. }
            | Record::Finished { .. }
            | Record::Observed { .. } => Usage::default(),
        }
    }

    /// Returns what this record adds to the sums of its task.
    pub fn spending(&self) -> SpendingTotal {
        let turns = u32::from(matches!(self, Record::Replied { .. }));
        SpendingTotal { tasks: 0, ..self.spent().spending(turns) }
    }

    /// Returns the wire name of the record's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Record::Started(_) => "started",
            Record::Asked { .. } => "asked",
            Record::Replied { .. } => "replied",
            Record::Unanswered { .. } => "unanswered",
            Record::Intended { .. } => "intended",
            Record::Resolved { .. } => "resolved",
            Record::Saved { .. } => "saved",
            Record::Done { .. } => "done",
            Record::Checked { .. } => "checked",
            Record::Verifying { .. } => "verifying",
            Record::Verified { .. } => "verified",
            Record::Resumed { .. } => "resumed",
            Record::Steered { .. } => "steered",
            Record::Said { .. } => "said",
            Record::Withdrawn { .. } => "withdrawn",
            Record::Regranted { .. } => "regranted",
            Record::ModelChosen { .. } => "model_chosen",
            Record::BudgetSpent { .. } => "budget_spent",
            Record::Cancelled { .. } => "cancelled",
            Record::Finished { .. } => "finished",
            Record::Observed { .. } => "observed",
        }
    }

    /// Encodes the record as JSON.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoded = Vec::new();
        self.encode_into(&mut encoded);
        encoded
    }

    /// Appends the record as one line without its end.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, self)
            .expect("records hold no maps with foreign keys and no failing serializers");
    }

    /// Decodes a record; fails with `JOURNAL_INVALID`.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes)
            .map_err(|e| Error::new(ErrorCode::JournalInvalid, localized!("record-unreadable")).caused_by(e))
    }

    /// Time the run had used when this was written, where the record says so.
    pub fn elapsed_ms(&self) -> Option<u64> {
        match self {
            Record::Asked { elapsed_ms, .. }
            | Record::Replied { elapsed_ms, .. }
            | Record::Unanswered { elapsed_ms, .. }
            | Record::Resolved { elapsed_ms, .. }
            | Record::Done { elapsed_ms, .. }
            | Record::Checked { elapsed_ms, .. }
            | Record::Verified { elapsed_ms, .. }
            | Record::Resumed { elapsed_ms, .. }
            | Record::Steered { elapsed_ms, .. }
            | Record::Said { elapsed_ms, .. }
            | Record::Withdrawn { elapsed_ms, .. }
            | Record::Regranted { elapsed_ms, .. }
            | Record::ModelChosen { elapsed_ms, .. }
            | Record::BudgetSpent { elapsed_ms, .. }
            | Record::Cancelled { elapsed_ms, .. }
            | Record::Finished { elapsed_ms, .. } => Some(*elapsed_ms),
            Record::Started(_)
            | Record::Intended { .. }
            | Record::Saved { .. }
            | Record::Verifying { .. }
            | Record::Observed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_earlier_versions_are_read_and_state_what_they_say() {
        let done = r#"{"record":"done","result":{"key":{"turn":1,"index":0},"id":"a","name":"read","text":"no such file","is_error":true,"mistake":false,"in_doubt":false,"pending":false,"changed":["a.rs"]},"elapsed_ms":5}"#;
        for (line, event) in [
            (r#"{"record":"asked","turn":2,"estimate":10,"elapsed_ms":5}"#, Some("turn")),
            (
                r#"{"record":"intended","key":{"turn":1,"index":0},"arguments_hash":"00","effect":"unsafe","epoch":1}"#,
                None,
            ),
            (
                r#"{"record":"resolved","key":{"turn":1,"index":0},"verdict":"approve","by":"policy","elapsed_ms":5}"#,
                Some("approval_resolved"),
            ),
            (done, Some("tool_finished")),
        ] {
            let record = Record::decode(line.as_bytes()).unwrap();
            assert_eq!(Event::from_record(&record).as_ref().map(Event::kind), event, "{line}");
        }
    }
    use crate::edits::FileChange;

    #[test]
    fn the_link_to_a_parent_is_written_among_the_fields_of_its_task() {
        let agent = Agent::new(crate::id::AgentName::parse("a").unwrap(), "p:m", "");
        let link = ParentLink { key: Some("s/1.0".to_owned()), detached: true, pushed: true };
        let write_lease = vec!["a".to_owned()];
        let start = TaskStart { link, write_lease, ..TaskStart::new(agent, "t", Grant::root([], 0)) };
        let record = Record::Started(Arc::new(start));
        let line = String::from_utf8(record.encode()).unwrap();
        let fields = r#","workspace":".","key":"s/1.0","detached":true,"pushed":true,"write_lease":["a"],"rules":"v2"}"#;
        assert!(line.starts_with(r#"{"record":"started","agent":{"name":"a""#), "{line}");
        assert!(line.ends_with(fields), "{line}");
        assert_eq!(Record::decode(line.as_bytes()).unwrap(), record);
    }

    #[test]
    fn a_result_is_the_same_after_the_journal() {
        let line = "tab\t quote\" back\\slash ümlaut \u{1}\n\"text\":\"\" ";
        for (id, changed) in [("1", Vec::new()), (r#""text":"""#, vec![FileChange::named(r#""text":"""#)])] {
            let result = ToolResult {
                key: CallKey { turn: 3, index: 1 },
                id: id.to_owned(),
                name: id.to_owned(),
                text: line.repeat(100),
                is_error: true,
                mistake: false,
                in_doubt: true,
                pending: false,
                changed,
            };
            let record = Record::done(result, 7);
            assert_eq!(Record::decode(&record.encode()).unwrap(), record);
        }
    }
}
