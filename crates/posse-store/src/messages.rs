//! Messages and questions of tasks as rows.

use posse_core::Result;
use posse_core::id::TaskId;
use posse_runtime::ports::{
    MessageNews, MessageReceipt, NewQuestion, ParentQuestion, QuestionAnswer, QuestionState, RECEIPTS_MAX,
    SteeringMessage, TaskQuestion, UNREAD_MAX,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use crate::fault::{self, StoreRefusal};
use crate::reader::unsigned;
use crate::signed;

/// Marks a message as read in the task's next turn.
pub(crate) const DELIVER: &str = "UPDATE messages SET turn = 1 + (
         SELECT turns + (SELECT count(model) FROM journal
                         WHERE position BETWEEN (number << 32) + counted AND (number << 32) + 4294967295)
         FROM tasks WHERE number = ?1)
     WHERE task = ?1 AND key = ?2 AND turn IS NULL";

/// Marks the queued messages of a task that has ended as missed.
pub(crate) const MISS: &str = "UPDATE messages SET turn = 0 WHERE task = ?1 AND turn IS NULL";

/// Tells whether any message is queued.
pub(crate) const ANY: &str = "SELECT EXISTS (SELECT 1 FROM messages WHERE turn IS NULL)";

/// Returns the number of a task, and whether it runs.
fn number(connection: &Connection, task: &TaskId) -> Result<(i64, bool), StoreRefusal> {
    let found = connection
        .prepare_cached("SELECT number, status = 'running' FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    found.ok_or_else(|| fault::task_not_found(task).into())
}

/// Queues a message for a task.
pub(crate) fn send(
    connection: &Connection,
    message: &SteeringMessage,
) -> Result<MessageReceipt, StoreRefusal> {
    let (task, is_running) = number(connection, &message.task)?;
    let known: Option<Option<u32>> = connection
        .prepare_cached("SELECT turn FROM messages WHERE task = ?1 AND key = ?2")?
        .query_row(params![task, message.key], |row| row.get(0))
        .optional()?;
    match known {
        Some(turn) => return Ok(receipt_of(turn)),
        None if !is_running => return Ok(MessageReceipt::Missed),
        None => {}
    }
    let unread: u64 = connection
        .prepare_cached("SELECT count(*) FROM messages WHERE task = ?1 AND turn IS NULL")?
        .query_row([task], |row| unsigned(row, 0))?;
    if unread >= UNREAD_MAX as u64 {
        return Ok(MessageReceipt::Full);
    }
    connection
        .prepare_cached("INSERT INTO messages (task, key, text, sent_ms) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![task, message.key, message.text, signed(message.sent_ms)])?;
    Ok(MessageReceipt::Queued)
}

/// Reads the `turn` of a message: none while it is queued, 0 if it was missed.
fn receipt_of(turn: Option<u32>) -> MessageReceipt {
    match turn {
        None => MessageReceipt::Queued,
        Some(0) => MessageReceipt::Missed,
        Some(turn) => MessageReceipt::Delivered { turn },
    }
}

/// Lists the keys and receipts of the newest messages to a task, oldest first.
pub(crate) fn receipts(
    connection: &Connection,
    task: &TaskId,
) -> Result<Vec<(String, MessageReceipt)>, StoreRefusal> {
    let (task, _) = number(connection, task)?;
    let mut receipts: Vec<(String, MessageReceipt)> = connection
        .prepare_cached("SELECT key, turn FROM messages WHERE task = ?1 ORDER BY number DESC LIMIT ?2")?
        .query_map(params![task, RECEIPTS_MAX as i64], |row| Ok((row.get(0)?, receipt_of(row.get(1)?))))?
        .collect::<rusqlite::Result<_>>()?;
    receipts.reverse();
    Ok(receipts)
}

/// Columns of a question.
const QUESTION: &str = "SELECT place, text, options, is_open, answer FROM questions";

fn question_row(row: &Row<'_>) -> rusqlite::Result<TaskQuestion> {
    let options: String = row.get(2)?;
    let question = ParentQuestion {
        id: row.get(0)?,
        text: row.get(1)?,
        options: serde_json::from_str(&options).unwrap_or_default(),
    };
    let state = match (row.get::<_, Option<String>>(4)?, row.get(3)?) {
        (Some(answer), _) => QuestionState::Answered(answer),
        (None, true) => QuestionState::Open,
        (None, false) => QuestionState::Closed,
    };
    Ok(TaskQuestion { question, state })
}

/// Stores a question, or opens it again.
pub(crate) fn ask(connection: &Connection, new: &NewQuestion) -> Result<TaskQuestion, StoreRefusal> {
    let (task, _) = number(connection, &new.task)?;
    connection
        .prepare_cached(
            "INSERT INTO questions (task, key, place, text, options, asked_ms, is_open)
             VALUES (?1, ?2, 1 + (SELECT count(*) FROM questions WHERE task = ?1), ?3, ?4, ?5, 1)
             ON CONFLICT (task, key) DO UPDATE SET is_open = answer IS NULL",
        )?
        .execute(params![task, new.key, new.text, json!(new.options).to_string(), signed(new.asked_ms)])?;
    let asked = connection
        .prepare_cached(&format!("{QUESTION} WHERE task = ?1 AND key = ?2"))?
        .query_row(params![task, new.key], question_row)?;
    Ok(asked)
}

/// Answers the newest question of a task, if it is open.
pub(crate) fn answer(
    connection: &Connection,
    given: &QuestionAnswer,
) -> Result<Option<TaskQuestion>, StoreRefusal> {
    let (task, is_running) = number(connection, &given.task)?;
    let by_key = || {
        connection
            .prepare_cached(&format!("{QUESTION} WHERE task = ?1 AND answered_by = ?2"))?
            .query_row(params![task, given.key], question_row)
            .optional()
    };
    if let Some(answered) = by_key()? {
        return Ok(Some(answered));
    }
    if is_running {
        connection
            .prepare_cached(
                "UPDATE questions SET answer = ?3, answered_by = ?2, is_open = 0
                 WHERE number = (SELECT max(number) FROM questions WHERE task = ?1) AND is_open",
            )?
            .execute(params![task, given.key, given.text])?;
    }
    Ok(by_key()?)
}

/// Closes a question, unless it is answered.
pub(crate) fn close(connection: &Connection, task: &TaskId, id: u32) -> Result<TaskQuestion, StoreRefusal> {
    let (task, _) = number(connection, task)?;
    connection
        .prepare_cached("UPDATE questions SET is_open = 0 WHERE task = ?1 AND place = ?2")?
        .execute(params![task, id])?;
    let closed = connection
        .prepare_cached(&format!("{QUESTION} WHERE task = ?1 AND place = ?2"))?
        .query_row(params![task, id], question_row)?;
    Ok(closed)
}

/// Lists unread messages to tasks of a session, oldest first.
pub(crate) fn queued(connection: &Connection, session: &str) -> Result<Vec<SteeringMessage>, StoreRefusal> {
    let message = |row: &Row<'_>| {
        Ok(SteeringMessage {
            task: TaskId::from_store(row.get(0)?),
            key: row.get(1)?,
            text: row.get(2)?,
            sent_ms: unsigned(row, 3)?,
        })
    };
    let mut messages: Vec<SteeringMessage> = connection
        .prepare_cached(
            "SELECT id, key, text, sent_ms FROM messages CROSS JOIN tasks ON tasks.number = task
             WHERE turn IS NULL ORDER BY messages.number",
        )?
        .query_map([], message)?
        .collect::<rusqlite::Result<_>>()?;
    messages.retain(|message| message.task.session() == session);
    Ok(messages)
}

/// Returns the newest question of a task.
/// Lists the open questions of running tasks, oldest first. Few tasks run, so their questions are cheap.
pub(crate) fn open_questions(connection: &Connection) -> Result<Vec<(TaskId, ParentQuestion)>, StoreRefusal> {
    let mut statement = connection.prepare_cached(
        "SELECT place, text, options, is_open, answer, tasks.id FROM tasks
         CROSS JOIN questions ON questions.task = tasks.number
         WHERE status = 'running' AND is_open ORDER BY questions.number",
    )?;
    let rows = statement
        .query_map([], |row| Ok((TaskId::from_store(row.get(5)?), question_row(row)?.question)))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

/// Lists messages that are queued, or were sent after `after`, oldest first.
pub(crate) fn news(connection: &Connection, after: i64) -> Result<Vec<MessageNews>, StoreRefusal> {
    let mut statement = connection.prepare_cached(
        "SELECT messages.number, id, key, turn FROM messages CROSS JOIN tasks ON tasks.number = task
         WHERE messages.number > ?1 OR turn IS NULL ORDER BY messages.number",
    )?;
    let news = |row: &Row<'_>| {
        Ok(MessageNews {
            number: unsigned(row, 0)?,
            task: TaskId::from_store(row.get(1)?),
            key: row.get(2)?,
            receipt: receipt_of(row.get(3)?),
        })
    };
    Ok(statement.query_map([after], news)?.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn newest(connection: &Connection, task: &TaskId) -> Result<Option<TaskQuestion>, StoreRefusal> {
    let (number, _) = number(connection, task)?;
    let newest = connection
        .prepare_cached(&format!("{QUESTION} WHERE task = ?1 ORDER BY number DESC LIMIT 1"))?
        .query_row([number], question_row)
        .optional()?;
    Ok(newest)
}
