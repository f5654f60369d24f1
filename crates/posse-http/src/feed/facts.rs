//! Facts that hold until they change: questions, approvals, messages on their way, and tasks without a process.

use std::collections::{BTreeMap, HashMap, HashSet};

use posse_core::Result;
use posse_core::fact::LiveFact;
use posse_core::id::TaskId;
use posse_runtime::liveness::lives;
use posse_runtime::ports::{
    ApprovalQuery, CatalogStore, MessageNews, MessageReceipt, ParentQuestion, TaskRow,
};

use super::StreamLine;

/// Facts of all tasks that hold now.
#[derive(Debug, Clone, Default)]
pub struct StandingFacts {
    /// Open approvals by id, with their tasks.
    approvals: BTreeMap<String, (TaskId, LiveFact)>,
    questions: HashMap<TaskId, ParentQuestion>,
    interrupted: HashSet<TaskId>,
    /// Queued messages: task and key.
    queued: HashSet<(TaskId, String)>,
}

impl StandingFacts {
    /// Returns the open question of a task.
    pub fn question(&self, task: &TaskId) -> Option<&ParentQuestion> {
        self.questions.get(task)
    }

    /// Returns the oldest open approval of a task.
    pub fn approval(&self, task: &TaskId) -> Option<&str> {
        let oldest = self.approvals.iter().filter(|(_, (of, _))| of == task).map(|(id, _)| id.as_str());
        oldest.min_by_key(|id| (id.len(), id.to_owned()))
    }

    /// Returns the facts as lines, for a watcher that begins.
    pub(super) fn lines(&self) -> Vec<StreamLine> {
        let approvals = self.approvals.values().map(|(task, fact)| (task, fact.clone()));
        let questions = self.questions.iter().map(|(task, question)| (task, question.fact()));
        let interrupted = self.interrupted.iter().map(|task| (task, LiveFact::Interrupted));
        let queued = self.queued.iter();
        let queued = queued.filter_map(|(task, key)| Some((task, MessageReceipt::Queued.fact(key)?)));
        let all = approvals.chain(questions).chain(interrupted).chain(queued);
        all.map(|(task, fact)| StreamLine::fact(task, None, fact)).collect()
    }

    /// Reads approvals and questions, and returns the changes.
    pub(super) async fn refresh(&mut self, store: &dyn CatalogStore) -> Result<Vec<StreamLine>> {
        let mut lines = Vec::new();
        let parked = store.approvals(ApprovalQuery::Open).await?;
        let approvals: BTreeMap<String, (TaskId, LiveFact)> =
            parked.iter().map(|call| (call.id.clone(), (call.request.task.clone(), call.fact()))).collect();
        for (id, (task, fact)) in &approvals {
            if !self.approvals.contains_key(id) {
                lines.push(StreamLine::fact(task, None, fact.clone()));
            }
        }
        let questions: HashMap<TaskId, ParentQuestion> = store.open_questions().await?.into_iter().collect();
        for (task, closed) in &self.questions {
            if questions.get(task).is_none_or(|open| open.id != closed.id) {
                lines.push(StreamLine::fact(task, None, LiveFact::QuestionClosed { id: closed.id }));
            }
        }
        for (task, open) in &questions {
            if self.questions.get(task).is_none_or(|known| known.id != open.id) {
                lines.push(StreamLine::fact(task, None, open.fact()));
            }
        }
        (self.approvals, self.questions) = (approvals, questions);
        Ok(lines)
    }

    /// Takes a message that is new or queued, and returns its state if that is news.
    pub(super) fn note_message(&mut self, news: MessageNews) -> Option<StreamLine> {
        let is_news = match news.receipt {
            MessageReceipt::Queued => self.queued.insert((news.task.clone(), news.key.clone())),
            MessageReceipt::Delivered { .. } | MessageReceipt::Missed | MessageReceipt::Full => {
                self.queued.remove(&(news.task.clone(), news.key.clone()));
                true
            }
        };
        let fact = news.receipt.fact(&news.key).filter(|_| is_news)?;
        Some(StreamLine::fact(&news.task, None, fact))
    }

    /// Looks up messages that were queued and are not any more.
    pub(super) async fn settle_messages(&mut self, store: &dyn CatalogStore) -> Result<Vec<StreamLine>> {
        let tasks: HashSet<TaskId> = self.queued.iter().map(|(task, _)| task.clone()).collect();
        let mut lines = Vec::new();
        for task in tasks {
            // The receipts of a deleted task are gone with it.
            let receipts = store.receipts(&task).await.unwrap_or_default();
            let of_task = self.queued.extract_if(|(of, key)| {
                *of == task
                    && !receipts.iter().any(|(of, receipt)| of == key && *receipt == MessageReceipt::Queued)
            });
            for (_, key) in of_task {
                let receipt = receipts.iter().find(|(of, _)| *of == key).map(|(_, receipt)| *receipt);
                let fact = receipt.and_then(|receipt| receipt.fact(&key));
                lines.extend(fact.map(|fact| StreamLine::fact(&task, None, fact)));
            }
        }
        Ok(lines)
    }

    /// Looks at the processes of running tasks, and returns those that were interrupted.
    pub(super) fn note_owners(&mut self, rows: &[TaskRow]) -> Vec<StreamLine> {
        let mut owners = OwnerLooks::default();
        let interrupted: HashSet<TaskId> = rows
            .iter()
            .filter(|row| (!row.owner.is_empty() || row.epoch > 1) && !owners.lives(row))
            .map(|row| row.id.clone())
            .collect();
        let news = interrupted.difference(&self.interrupted);
        let lines = news.map(|task| StreamLine::fact(task, None, LiveFact::Interrupted)).collect();
        self.interrupted = interrupted;
        lines
    }
}

/// Looks at owners, each once: many tasks have one, and finding out if it lives reads a file.
#[derive(Default)]
pub struct OwnerLooks(HashMap<String, bool>);

impl OwnerLooks {
    /// Tells whether the process that drives a running task is alive.
    pub fn lives(&mut self, row: &TaskRow) -> bool {
        match self.0.get(&row.owner) {
            Some(lives) => *lives,
            None => *self.0.entry(row.owner.clone()).or_insert(lives(row)),
        }
    }
}
