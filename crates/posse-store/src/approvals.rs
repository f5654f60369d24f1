//! Parked calls and approvals as rows. The rules are those of `posse_core::approval`, applied inside the writer's
//! transaction.

use posse_core::Result;
use posse_core::approval::{ApprovalAnswer, ApprovalRequest, ParkedCall, closed_with_task};
use posse_core::id::TaskId;
use posse_runtime::ports::{ApprovalQuery, unknown_approval};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use crate::fault::StoreRefusal;

/// Parks a call, or finds the parked one.
pub(crate) fn park(connection: &Connection, request: &ApprovalRequest) -> Result<ParkedCall, StoreRefusal> {
    let (task, call) = (request.task.as_str(), request.key.to_string());
    let held: Option<Vec<u8>> = connection
        .prepare_cached("SELECT payload FROM approvals WHERE task = ?1 AND call = ?2")?
        .query_row(params![task, call], |row| row.get(0))
        .optional()?;
    if let Some(held) = held {
        return update(connection, ParkedCall::decode(&held)?.park_again(request.clone())?);
    }
    connection
        .prepare_cached(
            "INSERT INTO approvals (task, call, session, state, standing, payload) VALUES (?1, ?2, ?3, 'open', 0, x'')",
        )?
        .execute(params![task, call, request.task.session()])?;
    let parked = ParkedCall::new(format!("a{}", connection.last_insert_rowid()), request.clone());
    update(connection, parked)
}

/// Answers a parked call.
pub(crate) fn answer(
    connection: &Connection,
    id: &str,
    hash: &str,
    answer: &ApprovalAnswer,
) -> Result<ParkedCall, StoreRefusal> {
    let held: Option<(Vec<u8>, Option<String>)> = connection
        .prepare_cached(
            "SELECT payload, status FROM approvals LEFT JOIN tasks ON tasks.id = task WHERE approvals.number = ?1",
        )?
        .query_row([number(id)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (held, status) = held.ok_or_else(|| unknown_approval(id))?;
    let held = ParkedCall::decode(&held)?;
    if held.is_open() && status.as_deref() != Some("running") {
        return Err(closed_with_task(id).into());
    }
    update(connection, held.answer(hash, answer.clone())?)
}

/// Closes the open approvals of a task.
pub(crate) fn close(connection: &Connection, task: &TaskId, why: &str) -> Result<(), StoreRefusal> {
    let open: Vec<Vec<u8>> = connection
        .prepare_cached("SELECT payload FROM approvals WHERE task = ?1 AND state = 'open'")?
        .query_map([task.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for held in open {
        update(connection, ParkedCall::decode(&held)?.close(why))?;
    }
    Ok(())
}

fn update(connection: &Connection, parked: ParkedCall) -> Result<ParkedCall, StoreRefusal> {
    connection
        .prepare_cached("UPDATE approvals SET state = ?2, standing = ?3, payload = ?4 WHERE number = ?1")?
        .execute(params![number(&parked.id), parked.state.wire(), parked.is_standing(), parked.encode()])?;
    Ok(parked)
}

/// Finds the row of an id; an invalid id has none.
fn number(id: &str) -> i64 {
    id.strip_prefix('a').and_then(|number| number.parse().ok()).unwrap_or(-1)
}

pub(crate) fn find(connection: &Connection, id: &str) -> Result<ParkedCall, StoreRefusal> {
    let held: Option<Vec<u8>> = connection
        .prepare_cached("SELECT payload FROM approvals WHERE number = ?1")?
        .query_row([number(id)], |row| row.get(0))
        .optional()?;
    Ok(ParkedCall::decode(&held.ok_or_else(|| unknown_approval(id))?)?)
}

pub(crate) fn list(connection: &Connection, query: &ApprovalQuery) -> Result<Vec<ParkedCall>, StoreRefusal> {
    let (which, parameters): (&str, Vec<Value>) = match query {
        ApprovalQuery::Newest(limit) => (
            "WHERE number IN (SELECT number FROM approvals ORDER BY number DESC LIMIT ?1)",
            vec![i64::from(*limit).into()],
        ),
        ApprovalQuery::Open => (
            "WHERE state = 'open' AND (SELECT status FROM tasks WHERE tasks.id = task) = 'running'",
            Vec::new(),
        ),
        ApprovalQuery::Standing(session) => {
            ("WHERE session = ?1 AND standing = 1", vec![session.clone().into()])
        }
        ApprovalQuery::Call(task, key) => {
            ("WHERE task = ?1 AND call = ?2", vec![task.to_string().into(), key.to_string().into()])
        }
    };
    let held: Vec<Vec<u8>> = connection
        .prepare_cached(&format!("SELECT payload FROM approvals {which} ORDER BY number"))?
        .query_map(params_from_iter(parameters), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(held.iter().map(|held| ParkedCall::decode(held)).collect::<Result<_>>()?)
}
