//! Sessions and their shared context as rows. The rules are those of `posse_core::context`, applied inside the writer's
//! transaction.

use posse_core::Result;
use posse_core::context::{
    self, Audience, ChangeResult, ContextAccess, ContextChange, ContextEntry, ContextKey, ContextSnapshot,
    HISTORY_MAX, HistoryAct, HistoryLine, SessionState, SnapshotLabel, ValueHead,
};
use posse_runtime::ports::{ChangeRequest, KEPT_AGENTS_MAX, KeptAgent, SessionRow};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::StoreRefusal;
use crate::reader::unsigned;
use crate::signed;

/// Tables whose rows are deleted with a session.
const OF_SESSION: [&str; 5] =
    ["context", "context_history", "context_snapshots", "context_snapshot_entries", "session_agents"];

const HEAD: &str = "key, version, tokens, written_by, written_ms, previous_version, expires_ms, audience";

fn head(row: &Row<'_>) -> rusqlite::Result<ValueHead> {
    let optional = |column| match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => unsigned(row, column).map(Some),
    };
    Ok(ValueHead {
        key: ContextKey::from_store(row.get(0)?),
        version: unsigned(row, 1)?,
        tokens: unsigned(row, 2)?,
        written_by: row.get(3)?,
        written_at_ms: unsigned(row, 4)?,
        previous_version: optional(5)?,
        expires_at_ms: optional(6)?,
        audience: Audience::from_store(row.get::<_, Option<String>>(7)?.as_deref()),
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ContextEntry> {
    Ok(ContextEntry { head: head(row)?, value: row.get(8)? })
}

/// Returns the number of a session that may be entered.
fn enter(connection: &Connection, session: &str, access: ContextAccess) -> Result<i64, StoreRefusal> {
    let found = find(connection, session)?;
    context::enter(session, found.map(|(_, state)| state), access)?;
    Ok(found.map_or(0, |(number, _)| number))
}

pub(crate) fn state(connection: &Connection, session: &str) -> Result<Option<SessionState>, StoreRefusal> {
    Ok(find(connection, session)?.map(|(_, state)| state))
}

/// Finds the number and the state of a session.
fn find(connection: &Connection, session: &str) -> rusqlite::Result<Option<(i64, SessionState)>> {
    connection
        .prepare_cached(
            "SELECT number, archived_ms IS NOT NULL, deleted_ms IS NOT NULL FROM sessions WHERE id = ?1",
        )?
        .query_row([session], |row| {
            let state = match (row.get(1)?, row.get(2)?) {
                (_, true) => SessionState::Deleted,
                (true, false) => SessionState::Archived,
                (false, false) => SessionState::Open,
            };
            Ok((row.get(0)?, state))
        })
        .optional()
}

/// Creates the session of a task, unless it exists.
pub(crate) fn ensure_session(
    connection: &Connection,
    session: &str,
    workspace: &str,
    now: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, created_ms, workspace) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET workspace = excluded.workspace WHERE workspace = ''",
        )?
        .execute(params![session, now, workspace])
        .map(drop)
}

/// Creates a session before it has a task.
pub(crate) fn create_session(
    connection: &Connection,
    session: &str,
    workspace: &str,
    now: i64,
) -> Result<(), StoreRefusal> {
    context::check_session_id(session)?;
    Ok(ensure_session(connection, session, workspace, now)?)
}

/// Makes a session read-only.
pub(crate) fn archive_session(connection: &Connection, session: &str, now: i64) -> Result<(), StoreRefusal> {
    let number = enter(connection, session, ContextAccess::Read)?;
    connection
        .prepare_cached("UPDATE sessions SET archived_ms = coalesce(archived_ms, ?2) WHERE number = ?1")?
        .execute([number, now])?;
    Ok(())
}

/// Stores an agent of a session.
pub(crate) fn keep_agent(
    connection: &Connection,
    session: &str,
    agent: &KeptAgent,
) -> Result<(), StoreRefusal> {
    let number = enter(connection, session, ContextAccess::Change)?;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO session_agents (session, name, version, made_by, arguments)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![number, agent.name, agent.version, agent.key, agent.arguments])?;
    Ok(())
}

/// Deletes a session.
pub(crate) fn delete_session(connection: &Connection, session: &str, now: i64) -> Result<(), StoreRefusal> {
    enter(connection, session, ContextAccess::Read)?;
    Ok(forget_session(connection, session, now)?)
}

/// Deletes the rows of a session except its tasks. The session itself stays as a tombstone.
pub(crate) fn forget_session(connection: &Connection, session: &str, now: i64) -> rusqlite::Result<()> {
    for table in OF_SESSION {
        connection
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE session = (SELECT number FROM sessions WHERE id = ?1)"
            ))?
            .execute([session])?;
    }
    connection
        .prepare_cached("UPDATE sessions SET deleted_ms = coalesce(deleted_ms, ?2) WHERE id = ?1")?
        .execute(params![session, now])
        .map(drop)
}

/// Makes one change of a session's context.
pub(crate) fn change(connection: &Connection, request: &ChangeRequest) -> Result<ChangeResult, StoreRefusal> {
    let number = enter(connection, &request.session, ContextAccess::Change)?;
    let place = SessionEdit { connection, number, by: &request.participant, now_ms: request.now_ms };
    let key = request.idempotency_key.as_deref();
    if let Some(answer) = key.map(|key| place.answered_before(key)).transpose()?.flatten() {
        return Ok(answer);
    }
    match &request.change {
        ContextChange::Write(write) => Ok(ChangeResult::Written(place.write(write, key)?)),
        ContextChange::Delete(wanted) => {
            let previous_version = place.delete(wanted, key)?;
            Ok(ChangeResult::Deleted { key: wanted.clone(), previous_version })
        }
        ContextChange::Snapshot(label) => Ok(ChangeResult::SnapshotTaken(place.take_snapshot(label, key)?)),
        ContextChange::Restore(label) => place.restore(label),
    }
}

/// A session during a change.
struct SessionEdit<'a> {
    connection: &'a Connection,
    number: i64,
    by: &'a str,
    now_ms: u64,
}

impl SessionEdit<'_> {
    /// Returns the stored answer of a change with this idempotency key.
    fn answered_before(&self, key: &str) -> rusqlite::Result<Option<ChangeResult>> {
        let past = self
            .connection
            .prepare_cached(&format!(
                "SELECT {HEAD}, act FROM context_history WHERE session = ?1 AND request = ?2"
            ))?
            .query_row(params![self.number, key], |row| Ok((head(row)?, act(row, 8)?)))
            .optional()?;
        if let Some((head, act)) = past {
            return Ok(Some(match act {
                HistoryAct::Write => ChangeResult::Written(head),
                HistoryAct::Delete => ChangeResult::Deleted { key: head.key, previous_version: head.version },
            }));
        }
        let taken = self
            .connection
            .prepare_cached(&format!("{SNAPSHOTS} AND request = ?2"))?
            .query_row(params![self.number, key], snapshot_row)
            .optional()?;
        Ok(taken.map(ChangeResult::SnapshotTaken))
    }

    fn write(&self, write: &context::ContextWrite, request: Option<&str>) -> Result<ValueHead, StoreRefusal> {
        let last_version = self
            .connection
            .prepare_cached(
                "SELECT version FROM context_history WHERE session = ?1 AND key = ?2 ORDER BY number DESC LIMIT 1",
            )?
            .query_row(params![self.number, write.key.as_str()], |row| unsigned(row, 0))
            .optional()?;
        self.forget_what_is_over()?;
        let heads = heads(self.connection, self.number)?;
        let head = context::write(&heads, last_version, write, self.by, self.now_ms)?;
        self.connection
            .prepare_cached(&format!(
                "INSERT OR REPLACE INTO context (session, {HEAD}, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
            ))?
            .execute(params![
                self.number,
                head.key.as_str(),
                signed(head.version),
                signed(head.tokens),
                head.written_by,
                signed(head.written_at_ms),
                head.previous_version.map(signed),
                head.expires_at_ms.map(signed),
                head.audience.to_store(),
                write.value
            ])?;
        self.remember(HistoryAct::Write, &head, Some(&write.value), request)?;
        Ok(head)
    }

    /// Deletes expired values, which are invisible already. Their history stays.
    fn forget_what_is_over(&self) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("DELETE FROM context WHERE session = ?1 AND expires_ms <= ?2")?
            .execute([self.number, signed(self.now_ms)])
            .map(drop)
    }

    fn delete(&self, key: &ContextKey, request: Option<&str>) -> Result<u64, StoreRefusal> {
        let current = heads(self.connection, self.number)?.into_iter().find(|head| head.key == *key);
        let deleted = context::delete(current.as_ref(), key, self.by, self.now_ms)?;
        self.connection
            .prepare_cached("DELETE FROM context WHERE session = ?1 AND key = ?2")?
            .execute(params![self.number, key.as_str()])?;
        self.remember(HistoryAct::Delete, &deleted, None, request)?;
        Ok(deleted.version)
    }

    /// Adds an entry to the history and deletes the value that is now too old. The entry itself stays: it is the log of
    /// changes, and finds the answer of a repeated change.
    fn remember(
        &self,
        act: HistoryAct,
        head: &ValueHead,
        value: Option<&str>,
        request: Option<&str>,
    ) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(&format!(
                "INSERT INTO context_history (session, {HEAD}, act, request, value)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
            ))?
            .execute(params![
                self.number,
                head.key.as_str(),
                signed(head.version),
                signed(head.tokens),
                head.written_by,
                signed(head.written_at_ms),
                head.previous_version.map(signed),
                head.expires_at_ms.map(signed),
                head.audience.to_store(),
                act.wire(),
                request,
                value
            ])?;
        self.connection
            .prepare_cached(
                "UPDATE context_history SET value = NULL WHERE number =
                     (SELECT number FROM context_history WHERE session = ?1 AND key = ?2
                      ORDER BY number DESC LIMIT 1 OFFSET ?3)",
            )?
            .execute(params![self.number, head.key.as_str(), HISTORY_MAX])
            .map(drop)
    }

    fn take_snapshot(
        &self,
        label: &SnapshotLabel,
        request: Option<&str>,
    ) -> Result<ContextSnapshot, StoreRefusal> {
        let taken = snapshot_rows(self.connection, self.number)?;
        let labels: Vec<SnapshotLabel> = taken.into_iter().map(|snapshot| snapshot.label).collect();
        context::snapshot(&labels, label)?;
        let now = signed(self.now_ms);
        self.connection
            .prepare_cached(
                "INSERT INTO context_snapshots (session, label, taken_by, taken_ms, request)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![self.number, label.as_str(), self.by, now, request])?;
        self.connection
            .prepare_cached(&format!(
                "INSERT INTO context_snapshot_entries (session, label, {HEAD}, value)
                 SELECT session, ?2, {HEAD}, value FROM context
                 WHERE session = ?1 AND (expires_ms IS NULL OR expires_ms > ?3)"
            ))?
            .execute(params![self.number, label.as_str(), now])?;
        let rows = snapshot_rows(self.connection, self.number)?;
        let found = rows.into_iter().find(|snapshot| snapshot.label == *label);
        found.ok_or_else(|| context::no_snapshot(label).into())
    }

    fn restore(&self, label: &SnapshotLabel) -> Result<ChangeResult, StoreRefusal> {
        let wanted = copied(self.connection, self.number, label)?;
        let current = entries(self.connection, self.number)?;
        let (mut written, mut deleted) = (0, 0);
        for change in context::restore(&wanted, &current, self.now_ms) {
            match change {
                ContextChange::Write(write) => {
                    self.write(&write, None)?;
                    written += 1;
                }
                ContextChange::Delete(key) => {
                    self.delete(&key, None)?;
                    deleted += 1;
                }
                ContextChange::Snapshot(_) | ContextChange::Restore(_) => {
                    unreachable!("a plan has neither of these")
                }
            }
        }
        Ok(ChangeResult::Restored { written, deleted })
    }
}

fn heads(connection: &Connection, number: i64) -> rusqlite::Result<Vec<ValueHead>> {
    connection
        .prepare_cached(&format!("SELECT {HEAD} FROM context WHERE session = ?1 ORDER BY key"))?
        .query_map([number], head)?
        .collect()
}

fn entries(connection: &Connection, number: i64) -> rusqlite::Result<Vec<ContextEntry>> {
    connection
        .prepare_cached(&format!("SELECT {HEAD}, value FROM context WHERE session = ?1 ORDER BY key"))?
        .query_map([number], entry)?
        .collect()
}

const SNAPSHOTS: &str = "
    SELECT label, taken_by, taken_ms,
        (SELECT count(*) FROM context_snapshot_entries e WHERE e.session = s.session AND e.label = s.label),
        (SELECT coalesce(sum(tokens), 0) FROM context_snapshot_entries e
         WHERE e.session = s.session AND e.label = s.label)
    FROM context_snapshots s WHERE session = ?1";

fn snapshot_row(row: &Row<'_>) -> rusqlite::Result<ContextSnapshot> {
    Ok(ContextSnapshot {
        label: SnapshotLabel::from_store(row.get(0)?),
        taken_by: row.get(1)?,
        taken_at_ms: unsigned(row, 2)?,
        keys: unsigned(row, 3)?,
        tokens: unsigned(row, 4)?,
    })
}

fn snapshot_rows(connection: &Connection, number: i64) -> rusqlite::Result<Vec<ContextSnapshot>> {
    connection
        .prepare_cached(&format!("{SNAPSHOTS} ORDER BY number"))?
        .query_map([number], snapshot_row)?
        .collect()
}

pub(crate) fn copied(
    connection: &Connection,
    number: i64,
    label: &SnapshotLabel,
) -> Result<Vec<ContextEntry>, StoreRefusal> {
    let is_there = connection
        .prepare_cached("SELECT 1 FROM context_snapshots WHERE session = ?1 AND label = ?2")?
        .exists(params![number, label.as_str()])?;
    if !is_there {
        return Err(context::no_snapshot(label).into());
    }
    let entries = connection
        .prepare_cached(&format!(
            "SELECT {HEAD}, value FROM context_snapshot_entries WHERE session = ?1 AND label = ?2 ORDER BY key"
        ))?
        .query_map(params![number, label.as_str()], entry)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(entries)
}

fn act(row: &Row<'_>, column: usize) -> rusqlite::Result<HistoryAct> {
    Ok(match row.get_ref(column)?.as_str()? {
        "delete" => HistoryAct::Delete,
        _ => HistoryAct::Write,
    })
}

/// Reads everything as of one instant.
pub(crate) fn read<T>(
    connection: &Connection,
    session: &str,
    query: impl FnOnce(&Connection, i64) -> Result<T, StoreRefusal>,
) -> Result<T, StoreRefusal> {
    let _reading = connection.unchecked_transaction()?;
    let number = enter(connection, session, ContextAccess::Read)?;
    query(connection, number)
}

pub(crate) fn live_heads(
    connection: &Connection,
    number: i64,
    now_ms: u64,
) -> Result<Vec<ValueHead>, StoreRefusal> {
    Ok(heads(connection, number)?.into_iter().filter(|head| head.is_live(now_ms)).collect())
}

pub(crate) fn values(
    connection: &Connection,
    number: i64,
    keys: &[ContextKey],
    now_ms: u64,
) -> Result<Vec<ContextEntry>, StoreRefusal> {
    let mut statement = connection
        .prepare_cached(&format!("SELECT {HEAD}, value FROM context WHERE session = ?1 AND key = ?2"))?;
    let mut found = Vec::new();
    for key in keys {
        let held = statement.query_row(params![number, key.as_str()], entry).optional()?;
        found.extend(held.filter(|entry| entry.head.is_live(now_ms)));
    }
    Ok(found)
}

pub(crate) fn history(
    connection: &Connection,
    number: i64,
    key: &ContextKey,
    limit: u32,
) -> Result<Vec<HistoryLine>, StoreRefusal> {
    let past = connection
        .prepare_cached(&format!(
            "SELECT {HEAD}, act, value FROM context_history WHERE session = ?1 AND key = ?2
             ORDER BY number DESC LIMIT ?3"
        ))?
        .query_map(params![number, key.as_str(), limit], |row| {
            Ok(HistoryLine { head: head(row)?, act: act(row, 8)?, value: row.get(9)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(past)
}

pub(crate) fn kept_agents(connection: &Connection, number: i64) -> Result<Vec<KeptAgent>, StoreRefusal> {
    let mut kept: Vec<KeptAgent> = connection
        .prepare_cached(
            "SELECT name, version, made_by, arguments FROM session_agents WHERE session = ?1
             ORDER BY number DESC LIMIT ?2",
        )?
        .query_map(params![number, KEPT_AGENTS_MAX as i64], |row| {
            let (name, version, key) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(KeptAgent { name, version, key, arguments: row.get(3)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    kept.reverse();
    Ok(kept)
}

pub(crate) fn snapshots(connection: &Connection, number: i64) -> Result<Vec<ContextSnapshot>, StoreRefusal> {
    Ok(snapshot_rows(connection, number)?)
}

/// A session's row, with `?1` for the present. A dot ends the session in a task's id, and `/` is the character after it.
const SESSIONS: &str =
    "SELECT id, coalesce((SELECT title FROM tasks WHERE id = s.id), ''), workspace, created_ms, archived_ms,
         (SELECT count(*) FROM tasks WHERE id = s.id)
             + (SELECT count(*) FROM tasks WHERE id > s.id || '.' AND id < s.id || '/'),
         (SELECT count(*) FROM context
          WHERE session = s.number AND (expires_ms IS NULL OR expires_ms > ?1)),
         (SELECT coalesce(sum(tokens), 0) FROM context
          WHERE session = s.number AND (expires_ms IS NULL OR expires_ms > ?1)),
         number
     FROM sessions s WHERE deleted_ms IS NULL";

pub(crate) fn sessions(
    connection: &Connection,
    limit: u32,
    now_ms: u64,
) -> Result<Vec<SessionRow>, StoreRefusal> {
    let page = session_page(connection, None, limit, now_ms)?;
    Ok(page.into_iter().map(|(_, row)| row).collect())
}

/// Lists sessions with numbers below `before`, newest first.
pub(crate) fn session_page(
    connection: &Connection,
    before: Option<u64>,
    limit: u32,
    now_ms: u64,
) -> Result<Vec<(u64, SessionRow)>, StoreRefusal> {
    let before = before.map_or(i64::MAX, signed);
    let rows = connection
        .prepare_cached(&format!("{SESSIONS} AND number < ?2 ORDER BY number DESC LIMIT ?3"))?
        .query_map(params![signed(now_ms), before, limit], |row| Ok((unsigned(row, 8)?, session_row(row)?)))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(crate) fn session_named(
    connection: &Connection,
    session: &str,
    now_ms: u64,
) -> Result<Option<SessionRow>, StoreRefusal> {
    Ok(connection
        .prepare_cached(&format!("{SESSIONS} AND id = ?2"))?
        .query_row(params![signed(now_ms), session], session_row)
        .optional()?)
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let archived: Option<i64> = row.get(4)?;
    Ok(SessionRow {
        id: row.get(0)?,
        title: row.get(1)?,
        workspace: row.get(2)?,
        created_ms: unsigned(row, 3)?,
        archived_ms: archived.map(i64::unsigned_abs),
        tasks: unsigned(row, 5)?,
        keys: unsigned(row, 6)?,
        tokens: unsigned(row, 7)?,
    })
}
