//! `posse tasks send`, `answer` and `cancel`: tell a task something, whichever process drives it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use posse_core::state::TaskState;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{localized, say};
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{
    MessageReceipt, MessageStore, ParentQuestion, QuestionAnswer, QuestionState, SteeringMessage, TaskRow,
};
use posse_runtime::worker::{self, CancelEnd};
use posse_sandbox::supervisor::sweep;
use serde_json::{Value, json};

use super::{find, status};
use crate::args::GlobalArgs;
use crate::setup;
use crate::terminal;

/// Time that `send` waits for the task to read the message.
const RECEIPT_WAIT: Duration = Duration::from_secs(3);
const RECEIPT_POLL: Duration = Duration::from_millis(100);

pub async fn send(global: &GlobalArgs, wanted: &str, text: String) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let row = find(&*store, wanted).await?;
    if text.trim().is_empty() {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("message-empty")));
    }
    let message = SteeringMessage { task: row.id.clone(), key: key(), text, sent_ms: now_ms() };
    let id = &row.id;
    let mut receipt = store.send_message(message.clone()).await?;
    if receipt == MessageReceipt::Queued && status(&row) == "running" {
        if !global.json {
            tell(global, &row, json!({}), receipt.wire(), &say!("message-queued"));
        }
        receipt = settled(&*store, message).await?;
        if receipt == MessageReceipt::Queued && !global.json {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let note = match receipt {
        MessageReceipt::Queued if status(&row) != "running" => say!("nobody-drives", id),
        MessageReceipt::Queued => say!("message-queued"),
        MessageReceipt::Delivered { turn } => say!("message-delivered", turn),
        MessageReceipt::Missed => say!("message-missed"),
        MessageReceipt::Full => {
            return Err(Error::new(ErrorCode::InvalidRequest, localized!("messages-unread", id))
                .hint(localized!("messages-unread-hint")));
        }
    };
    let turn = match receipt {
        MessageReceipt::Delivered { turn } => Some(turn),
        MessageReceipt::Queued | MessageReceipt::Missed | MessageReceipt::Full => None,
    };
    let fields = json!({ "receipt": receipt.wire(), "turn": turn, "note": note });
    tell(global, &row, fields, receipt.wire(), &note);
    Ok(if receipt == MessageReceipt::Missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Waits a moment for the task to read a message, and returns the last receipt. The same key sends nothing twice.
async fn settled(store: &dyn MessageStore, message: SteeringMessage) -> Result<MessageReceipt> {
    let deadline = Instant::now() + RECEIPT_WAIT;
    loop {
        tokio::time::sleep(RECEIPT_POLL).await;
        let receipt = store.send_message(message.clone()).await?;
        if receipt != MessageReceipt::Queued || Instant::now() >= deadline {
            return Ok(receipt);
        }
    }
}

/// Answers the open question of a task; without an answer, shows the question.
pub async fn answer(global: &GlobalArgs, wanted: &str, text: Option<String>) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let row = find(&*store, wanted).await?;
    let nothing = || Error::new(ErrorCode::InvalidRequest, say!("question-none", task = row.id));
    let Some(text) = text else {
        let asked = store.question(&row.id).await?.filter(|_| row.state.is_running());
        let open = asked.filter(|asked| asked.state == QuestionState::Open).ok_or_else(nothing)?;
        show(global, &row, &open.question);
        return Ok(ExitCode::SUCCESS);
    };
    let given = QuestionAnswer { task: row.id.clone(), key: key(), text };
    let asked = store.answer_question(given).await?.ok_or_else(nothing)?;
    let fields = json!({ "answered": true, "question": asked.question.text });
    tell(global, &row, fields, "answered", &asked.question.text);
    Ok(ExitCode::SUCCESS)
}

/// Cancels a task. A living process is told through the store; the tasks of a dead one are ended here.
pub async fn cancel(global: &GlobalArgs, wanted: &str) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let (row, end) = worker::cancel(&*store, find(&*store, wanted).await?, sweep).await?;
    let note = match end {
        CancelEnd::Cancelled => String::new(),
        CancelEnd::HadEnded => say!("cancel-had-ended"),
        CancelEnd::TooLate => say!("cancel-too-late"),
        CancelEnd::NotYet => say!("cancel-not-yet", process = owner::pid(&row)),
    };
    let mut text = format!("{} · {}", row.id, row.state);
    if !note.is_empty() {
        text.push_str(&format!(" · {note}"));
    }
    let value = json!({ "task_id": row.id.as_str(), "status": row.state.wire(), "note": note });
    terminal::show(global.json, &text, &value);
    Ok(match row.state {
        TaskState::Running => ExitCode::FAILURE,
        TaskState::Ended(_) => ExitCode::SUCCESS,
    })
}

/// Each process says one thing.
fn key() -> String {
    format!("cli/{}", owner::owner())
}

fn show(global: &GlobalArgs, row: &TaskRow, question: &ParentQuestion) {
    if global.json {
        let ParentQuestion { id, text, options } = question;
        let fields = json!({ "task_id": row.id.as_str(), "id": id, "question": text, "options": options });
        return terminal::out(&fields.to_string());
    }
    terminal::out_foreign(&question.text);
    for option in &question.options {
        terminal::out_foreign(&format!("- {option}"));
    }
}

fn tell(global: &GlobalArgs, row: &TaskRow, mut fields: Value, state: &str, note: &str) {
    if global.json {
        fields["task_id"] = json!(row.id.as_str());
        return terminal::out(&fields.to_string());
    }
    terminal::out_foreign(&format!("{} · {state} · {note}", row.id));
}
