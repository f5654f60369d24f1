//! Actions on tasks: steering, answering, deciding and cancelling through the store, each with its receipt.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use posse_core::Result;
use posse_core::approval::{ApprovalAnswer, ApprovalScope, ApprovalVerdict, DecidedBy, ParkedCall};
use posse_core::id::TaskId;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness::owner;
use posse_runtime::ports::{MessageReceipt, QuestionAnswer, SteeringMessage, Store, TaskRow};
use posse_runtime::worker::CancelEnd;
use posse_terminal::rows::{ApprovalCard, RowState};
use posse_terminal::style::SymbolSet;
use tokio::sync::mpsc;

use super::TopHost;

/// Time between two looks at a receipt.
const RECEIPT_LOOK: Duration = Duration::from_secs(1);
/// Looks at a receipt: a turn rarely takes longer than ten minutes.
const RECEIPT_LOOKS_MAX: usize = 600;

/// An action on a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskAction {
    /// Sends a message to a running task.
    Steer { task: TaskId, text: String },
    /// Answers the question of a task.
    Answer { task: TaskId, text: String },
    /// Decides on a call that waits for approval.
    Decide { parked: Box<ParkedCall>, verdict: ApprovalVerdict, scope: ApprovalScope, reason: Option<String> },
    /// Ends a task and everything below it.
    Cancel(Box<TaskRow>),
}

/// The result of an action, for the last row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionNotice {
    /// State whose mark stands before the text.
    pub state: RowState,
    /// Text for the person.
    pub text: String,
}

impl ActionNotice {
    fn new(state: RowState, text: impl Into<String>) -> Self {
        Self { state, text: text.into() }
    }
}

/// Performs actions beside the screen.
pub struct TopActions {
    store: Arc<dyn Store>,
    host: Arc<dyn TopHost>,
    told: mpsc::Sender<ActionNotice>,
    person: String,
}

impl TopActions {
    /// Creates it; notices go to `told`.
    pub fn new(
        store: Arc<dyn Store>,
        host: Arc<dyn TopHost>,
        told: mpsc::Sender<ActionNotice>,
        person: String,
    ) -> Self {
        Self { store, host, told, person }
    }

    /// Starts an action; its notices follow.
    pub fn perform(&self, action: TaskAction) {
        let Self { store, host, told, person } = self;
        let work = ActionWork {
            store: store.clone(),
            host: host.clone(),
            told: told.clone(),
            person: person.clone(),
        };
        tokio::spawn(async move {
            if let Err(e) = work.perform(action).await {
                work.tell(RowState::Failed, e.message().to_string()).await;
            }
        });
    }
}

struct ActionWork {
    store: Arc<dyn Store>,
    host: Arc<dyn TopHost>,
    told: mpsc::Sender<ActionNotice>,
    person: String,
}

impl ActionWork {
    async fn perform(&self, action: TaskAction) -> Result<()> {
        match action {
            TaskAction::Steer { task, text } => self.steer(task, text).await,
            TaskAction::Answer { task, text } => self.answer(task, text).await,
            TaskAction::Decide { parked, verdict, scope, reason } => {
                self.decide(&parked, verdict, scope, reason).await
            }
            TaskAction::Cancel(row) => self.cancel(*row).await,
        }
    }

    /// Sends the message, and reports again when the task has read it.
    async fn steer(&self, task: TaskId, text: String) -> Result<()> {
        let message = SteeringMessage { task: task.clone(), key: key(), text, sent_ms: now_ms() };
        let mut known = None;
        for _ in 0..RECEIPT_LOOKS_MAX {
            // The same key again returns the receipt of the first.
            let receipt = self.store.send_message(message.clone()).await?;
            if known != Some(receipt) {
                known = Some(receipt);
                let (state, text) = receipt_text(receipt, &task);
                self.tell(state, text).await;
            }
            if receipt != MessageReceipt::Queued || self.told.is_closed() {
                break;
            }
            tokio::time::sleep(RECEIPT_LOOK).await;
        }
        Ok(())
    }

    async fn answer(&self, task: TaskId, text: String) -> Result<()> {
        let answer = QuestionAnswer { task: task.clone(), key: key(), text };
        let task = task.short();
        match self.store.answer_question(answer).await? {
            Some(_) => self.tell(RowState::Completed, say!("top-answered", task)).await,
            None => self.tell(RowState::Waiting, say!("top-nothing-asked")).await,
        }
        Ok(())
    }

    async fn decide(
        &self,
        parked: &ParkedCall,
        verdict: ApprovalVerdict,
        scope: ApprovalScope,
        reason: Option<String>,
    ) -> Result<()> {
        let by = DecidedBy::Person(self.person.clone());
        let answer = ApprovalAnswer { scope, reason, ..ApprovalAnswer::new(verdict, by, now_ms()) };
        self.store.answer(&parked.id, &parked.request.hash, answer).await?;
        let receipt = ApprovalCard::new(parked).receipt(verdict, scope, SymbolSet::Unicode);
        let (_, text) = receipt.spans().split_at(1);
        let text: String = text.iter().map(|span| span.text.trim_start()).collect();
        let state = match verdict {
            ApprovalVerdict::Approve => RowState::Completed,
            ApprovalVerdict::Deny => RowState::Cancelled,
        };
        self.tell(state, text).await;
        Ok(())
    }

    async fn cancel(&self, row: TaskRow) -> Result<()> {
        let task = row.id.clone();
        let task = task.short();
        self.tell(RowState::Waiting, say!("top-cancelling", task)).await;
        let (_, end) = self.host.cancel(row).await?;
        let (state, text) = match end {
            CancelEnd::Cancelled => (RowState::Cancelled, say!("top-cancelled", task)),
            CancelEnd::HadEnded | CancelEnd::TooLate => (RowState::Waiting, say!("top-has-ended", task)),
            CancelEnd::NotYet => (RowState::Waiting, say!("top-cancel-not-yet", task)),
        };
        self.tell(state, text).await;
        Ok(())
    }

    async fn tell(&self, state: RowState, text: String) {
        // The screen is gone.
        let _ = self.told.send(ActionNotice::new(state, text)).await;
    }
}

fn receipt_text(receipt: MessageReceipt, task: &TaskId) -> (RowState, String) {
    let task = task.short();
    match receipt {
        MessageReceipt::Queued => (RowState::Queued, say!("top-steer-queued", task)),
        MessageReceipt::Delivered { turn } => (RowState::Completed, say!("top-steer-delivered", task, turn)),
        MessageReceipt::Missed => (RowState::Failed, say!("top-steer-missed", task)),
        MessageReceipt::Full => (RowState::Failed, say!("top-steer-full", task)),
    }
}

/// Creates a key for one message; no other process or message has it.
fn key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("top/{}/{}", owner(), NEXT.fetch_add(1, Ordering::Relaxed))
}
