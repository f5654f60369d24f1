//! Write leases as rows. A row lives from the acquisition to the task's end; the holder and its last heartbeat are in the
//! task's own row.

use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::lease::{self, Lease, WritePaths, WriteState, WritingCommand, conflict, has_ended};
use posse_runtime::ports::LeaseRequest;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::{self, StoreRefusal};
use crate::reader::unsigned;
use crate::{journal, signed};

/// The last sign of life of a task's owner, as in listings of tasks.
const SEEN: &str = "max(updated_ms,
         coalesce((SELECT max(at_ms) FROM journal
             WHERE position BETWEEN (number << 32) + counted AND (number << 32) + 4294967295), 0),
         coalesce((SELECT beat_ms FROM owners WHERE owners.owner = tasks.owner), 0))";

/// Leases paths to a task, unless a living task holds one of them.
pub(crate) fn acquire(
    connection: &Connection,
    task: &TaskId,
    epoch: i64,
    request: &LeaseRequest,
) -> Result<u64, StoreRefusal> {
    let number = number(connection, task, epoch)?;
    let held = all(connection)?;
    if let Some(own) = held.iter().find(|lease| lease.task == *task && lease.places == request.places) {
        return Ok(own.token);
    }
    let ancestors = ancestors(connection, task)?;
    let conflicting = lease::conflicting_leases(&request.places, task, &ancestors, &held);
    let (ended, kept): (Vec<&Lease>, Vec<&Lease>) =
        conflicting.into_iter().partition(|lease| request.ends(lease));
    if !kept.is_empty() {
        return Err(conflict(&request.places, &kept).into());
    }
    for lease in ended {
        delete(connection, &lease.task, lease.token)?;
    }
    release(connection, number)?;
    connection
        .prepare_cached("INSERT INTO leases (task, workspace, paths, since_ms) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            number,
            request.places.workspace,
            request.places.paths.join("\n"),
            signed(request.now_ms)
        ])?;
    Ok(connection.last_insert_rowid().unsigned_abs())
}

/// Ends the lease of a task, by its number.
pub(crate) fn release(connection: &Connection, task: i64) -> rusqlite::Result<()> {
    connection.prepare_cached(RELEASE)?.execute([task]).map(drop)
}

pub(crate) const RELEASE: &str = "DELETE FROM leases WHERE task = ?1";

/// Query whether any task has a lease or a running command.
pub(crate) const ANY: &str = "SELECT EXISTS (SELECT 1 FROM leases) OR EXISTS (SELECT 1 FROM commands)";

/// Statement that removes the command notes of a task that ends.
pub(crate) const END_COMMANDS: &str = "DELETE FROM commands WHERE task = ?1";

pub(crate) fn begin_command(
    connection: &Connection,
    task: &TaskId,
    epoch: i64,
    places: &WritePaths,
    now_ms: i64,
) -> Result<u64, StoreRefusal> {
    let number = number(connection, task, epoch)?;
    connection
        .prepare_cached(
            "INSERT INTO commands (task, at_epoch, workspace, paths, since_ms, after) VALUES (?1, ?2, ?3, ?4, ?5,
                 coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'leases'), 0))",
        )?
        .execute(params![number, epoch, places.workspace, places.paths.join("\n"), now_ms])?;
    Ok(connection.last_insert_rowid().unsigned_abs())
}

pub(crate) fn end_command(connection: &Connection, task: &TaskId, token: u64) -> Result<(), StoreRefusal> {
    connection
        .prepare_cached(
            "DELETE FROM commands WHERE token = ?2 AND task = (SELECT number FROM tasks WHERE id = ?1)",
        )?
        .execute(params![task.as_str(), signed(token)])?;
    Ok(())
}

pub(crate) fn commands(connection: &Connection) -> Result<Vec<WritingCommand>, StoreRefusal> {
    let command = |row: &Row<'_>| Ok(WritingCommand { by: lease(row)?, after: unsigned(row, 8)? });
    let query = format!(
        "SELECT token, id, workspace, paths, since_ms, owner, epoch, {SEEN}, after
         FROM commands JOIN tasks ON number = task AND epoch = at_epoch ORDER BY token"
    );
    Ok(connection.prepare_cached(&query)?.query_map([], command)?.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn delete(connection: &Connection, task: &TaskId, token: u64) -> Result<(), StoreRefusal> {
    connection
        .prepare_cached(
            "DELETE FROM leases WHERE token = ?2 AND task = (SELECT number FROM tasks WHERE id = ?1)",
        )?
        .execute(params![task.as_str(), signed(token)])?;
    Ok(())
}

/// Reads the state that a writing task checks.
pub(crate) fn writing(connection: &Connection, task: &TaskId) -> Result<WriteState, StoreRefusal> {
    // One transaction: all three reads see the same state.
    let instant = connection.unchecked_transaction()?;
    let found: Option<(u64, u64)> = instant
        .prepare_cached(&format!("SELECT epoch, {SEEN} FROM tasks WHERE id = ?1"))?
        .query_row([task.as_str()], |row| Ok((unsigned(row, 0)?, unsigned(row, 1)?)))
        .optional()?;
    let (epoch, seen_ms) = found.ok_or_else(|| fault::task_not_found(task))?;
    let (ancestors, leases) = (ancestors(&instant, task)?, all(&instant)?);
    Ok(WriteState { epoch, seen_ms, ancestors, leases })
}

/// Returns the number of a running task that this epoch may write to.
fn number(connection: &Connection, task: &TaskId, epoch: i64) -> Result<i64, StoreRefusal> {
    let found = connection
        .prepare_cached("SELECT number, status = 'running' FROM tasks WHERE id = ?1 AND epoch = ?2")?
        .query_row(params![task.as_str(), epoch], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((number, true)) => Ok(number),
        Some((_, false)) => Err(has_ended(task).into()),
        None => Err(journal::why_not_advanced(connection, task, epoch)),
    }
}

/// Lists all leases, oldest first.
pub(crate) fn all(connection: &Connection) -> Result<Vec<Lease>, StoreRefusal> {
    let query = format!(
        "SELECT token, id, workspace, paths, since_ms, owner, epoch, {SEEN}
         FROM leases JOIN tasks ON number = task ORDER BY token"
    );
    Ok(connection.prepare_cached(&query)?.query_map([], lease)?.collect::<rusqlite::Result<_>>()?)
}

/// Returns the ids of a task's ancestors, whether they are in the store or not.
fn ancestors(connection: &Connection, task: &TaskId) -> rusqlite::Result<Vec<TaskId>> {
    connection
        .prepare_cached(
            "WITH RECURSIVE above (id) AS (
                 SELECT parent FROM tasks WHERE tasks.id = ?1
                 UNION SELECT parent FROM tasks JOIN above ON tasks.id = above.id)
             SELECT id FROM above WHERE id IS NOT NULL",
        )?
        .query_map([task.as_str()], |row| Ok(TaskId::from_store(row.get(0)?)))?
        .collect()
}

fn lease(row: &Row<'_>) -> rusqlite::Result<Lease> {
    let paths: String = row.get(3)?;
    let paths = paths.split('\n').map(str::to_owned).collect();
    Ok(Lease {
        token: unsigned(row, 0)?,
        task: TaskId::from_store(row.get(1)?),
        places: WritePaths { workspace: row.get(2)?, paths },
        since_ms: unsigned(row, 4)?,
        owner: row.get(5)?,
        epoch: unsigned(row, 6)?,
        seen_ms: unsigned(row, 7)?,
    })
}
