//! Pages of lists, and the journal of all tasks in arrival order.

use posse_core::Result;
use posse_core::approval::ParkedCall;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;
use posse_runtime::ports::{
    ApprovalPageQuery, BoxFuture, CatalogStore, CatalogTask, JournalArrival, MessageNews, ParentQuestion,
    SessionRow, SpendingGroup, SpendingLine, StoredRecord, TaskPageQuery,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::fault::{self, StoreRefusal};
use crate::reader::{self, ROWS, unsigned};
use crate::{SqliteStore, context, messages, signed};

/// Bytes of the records that one page of arrivals reads: large replies stay within memory.
const ARRIVAL_BYTES_MAX: usize = 4 << 20;
/// Words of a search that count.
const WORDS_MAX: usize = 5;

impl CatalogStore for SqliteStore {
    fn task_page(&self, query: TaskPageQuery) -> BoxFuture<'_, Result<Vec<CatalogTask>>> {
        self.reader.read(move |connection| task_page(connection, &query))
    }

    fn catalog_task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<CatalogTask>> {
        let task = task.clone();
        self.reader.read(move |connection| {
            let number = number(connection, &task)?;
            Ok(connection.prepare_cached(&catalog_row())?.query_row([number], catalog_task)?)
        })
    }

    fn subtree_totals(&self, tasks: Vec<TaskId>) -> BoxFuture<'_, Result<Vec<SpendingTotal>>> {
        Box::pin(self.tree_totals(tasks))
    }

    fn spending_by(&self, by: SpendingGroup, since_ms: u64) -> BoxFuture<'_, Result<Vec<SpendingLine>>> {
        Box::pin(self.spending(by, since_ms))
    }

    fn session_page(
        &self,
        before: Option<u64>,
        limit: u32,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Vec<(u64, SessionRow)>>> {
        self.reader.read(move |connection| context::session_page(connection, before, limit, now_ms))
    }

    fn session_named<'a>(
        &'a self,
        session: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Option<SessionRow>>> {
        let session = session.to_owned();
        self.reader.read(move |connection| context::session_named(connection, &session, now_ms))
    }

    fn approval_page(&self, query: ApprovalPageQuery) -> BoxFuture<'_, Result<Vec<(u64, ParkedCall)>>> {
        self.reader.read(move |connection| approval_page(connection, &query))
    }

    fn open_questions(&self) -> BoxFuture<'_, Result<Vec<(TaskId, ParentQuestion)>>> {
        self.reader.read(messages::open_questions)
    }

    fn message_news(&self, after: u64) -> BoxFuture<'_, Result<Vec<MessageNews>>> {
        self.reader.read(move |connection| messages::news(connection, signed(after)))
    }

    fn arrivals(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<JournalArrival>>> {
        self.reader.read(move |connection| arrivals(connection, signed(after), limit))
    }

    fn recent_records<'a>(
        &'a self,
        task: &'a TaskId,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<StoredRecord>>> {
        let task = task.clone();
        self.reader.read(move |connection| recent_records(connection, &task, limit))
    }

    fn last_arrival(&self) -> BoxFuture<'_, Result<u64>> {
        self.reader.read(|connection| {
            let newest = "SELECT coalesce(max(arrival), 0) FROM journal";
            Ok(connection.prepare_cached(newest)?.query_row([], |row| unsigned(row, 0))?)
        })
    }

    fn change_mark(&self) -> BoxFuture<'_, Result<u64>> {
        self.reader.read(|connection| {
            Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| unsigned(row, 0))?)
        })
    }
}

fn number(connection: &Connection, task: &TaskId) -> Result<i64, StoreRefusal> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    number.ok_or_else(|| fault::task_not_found(task).into())
}

fn recent_records(
    connection: &Connection,
    task: &TaskId,
    limit: u32,
) -> Result<Vec<StoredRecord>, StoreRefusal> {
    let number = number(connection, task)?;
    let mut statement = connection.prepare_cached(
        "SELECT position & 4294967295, at_ms, payload FROM journal
         WHERE position BETWEEN (?1 << 32) AND (?1 << 32) + 4294967295 ORDER BY position DESC LIMIT ?2",
    )?;
    let mut rows = statement.query(params![number, limit])?;
    let mut appends = Vec::new();
    while let Some(row) = rows.next()? {
        let payload = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        appends.push(stored_records(unsigned(row, 0)?, unsigned(row, 1)?, payload)?);
    }
    Ok(appends.into_iter().rev().flatten().collect())
}

/// A task by its number, with the directory of its person.
fn catalog_row() -> String {
    format!(
        "SELECT shown.*, (SELECT origin FROM tasks WHERE number = ?1), ?1
         FROM ({ROWS} WHERE number = ?1 GROUP BY number) AS shown"
    )
}

fn catalog_task(row: &Row<'_>) -> rusqlite::Result<CatalogTask> {
    Ok(CatalogTask { row: reader::task_row(row)?, workspace: row.get(18)?, number: unsigned(row, 19)? })
}

/// Lists tasks, newest first. Numbers are found by an index or in order, so a page of an unfiltered list reads no more of a
/// large store than of a small one.
fn task_page(connection: &Connection, query: &TaskPageQuery) -> Result<Vec<CatalogTask>, StoreRefusal> {
    let mut clauses: Vec<String> = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    let mut clause = |text: &str, value: Value| {
        values.push(value);
        clauses.push(text.replace("?", &format!("?{}", values.len())));
    };
    if let Some(before) = query.before {
        clause("number < ?", signed(before).into());
    }
    if let Some(session) = &query.session {
        clause("(id = ? OR (id > ? || '.' AND id < ? || '/'))", session.clone().into());
    }
    if let Some(workspace) = &query.workspace {
        clause("origin = ?", workspace.clone().into());
    }
    if let Some(agent) = &query.agent {
        clause("agent = ?", agent.clone().into());
    }
    if let Some(parent) = &query.parent {
        clause("parent = ?", parent.as_str().to_owned().into());
    }
    if query.since_ms > 0 {
        clause("created_ms >= ?", signed(query.since_ms).into());
    }
    for word in query.words.iter().take(WORDS_MAX) {
        clause("instr(lower(title || ' ' || agent), ?) > 0", word.clone().into());
    }
    if let Some(state @ TaskState::Ended(_)) = query.state {
        clause("status = ?", state.wire().to_owned().into());
    }
    // A literal state lets SQLite use the partial index of running tasks.
    if query.state == Some(TaskState::Running) {
        clauses.push("status = 'running'".to_owned());
    }
    if query.has_ended {
        clauses.push("status <> 'running'".to_owned());
    }
    if query.is_root {
        // The host of an MCP session is a parent without a row.
        clauses.push(
            "(parent IS NULL OR NOT EXISTS (SELECT 1 FROM tasks AS above WHERE above.id = tasks.parent))"
                .to_owned(),
        );
    }
    if clauses.is_empty() {
        clauses.push("TRUE".to_owned());
    }
    let sql = format!(
        "SELECT number FROM tasks WHERE {} ORDER BY number DESC LIMIT {}",
        clauses.join(" AND "),
        query.limit
    );
    let numbers: Vec<i64> = connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(values), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut statement = connection.prepare_cached(&catalog_row())?;
    let rows = numbers.into_iter().map(|number| statement.query_row([number], catalog_task));
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn approval_page(
    connection: &Connection,
    query: &ApprovalPageQuery,
) -> Result<Vec<(u64, ParkedCall)>, StoreRefusal> {
    let before = query.before.map_or(i64::MAX, signed);
    let mut statement = connection.prepare_cached(
        "SELECT number, payload FROM approvals
         WHERE number < ?1 AND (?2 IS NULL OR task = ?2) AND (?3 IS NULL OR state = ?3)
         ORDER BY number DESC LIMIT ?4",
    )?;
    let task = query.task.as_ref().map(TaskId::as_str);
    let rows: Vec<(u64, Vec<u8>)> = statement
        .query_map(params![before, task, query.state, query.limit], |row| {
            Ok((unsigned(row, 0)?, row.get(1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let parked = |(number, held): (u64, Vec<u8>)| Ok((number, ParkedCall::decode(&held)?));
    Ok(rows.into_iter().map(parked).collect::<Result<_>>()?)
}

/// Reads appends after `after`, up to `limit` of them or `ARRIVAL_BYTES_MAX`, and at least one.
fn arrivals(connection: &Connection, after: i64, limit: usize) -> Result<Vec<JournalArrival>, StoreRefusal> {
    let mut statement = connection.prepare_cached(
        "SELECT arrival, position & 4294967295, at_ms, payload, id, parent
         FROM journal CROSS JOIN tasks ON tasks.number = position >> 32
         WHERE arrival > ?1 ORDER BY arrival",
    )?;
    let mut rows = statement.query([after])?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let payload = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
        bytes += payload.len();
        found.push(JournalArrival {
            number: unsigned(row, 0)?,
            task: TaskId::from_store(row.get(4)?),
            parent: row.get::<_, Option<String>>(5)?.map(TaskId::from_store),
            // A damaged append must not keep the others from being read.
            records: stored_records(unsigned(row, 1)?, unsigned(row, 2)?, payload).unwrap_or_default(),
        });
        if found.len() >= limit || bytes >= ARRIVAL_BYTES_MAX {
            break;
        }
    }
    Ok(found)
}

/// Decodes the records of one row, whose last one has the position `last`.
fn stored_records(last: u64, at_ms: u64, payload: &[u8]) -> Result<Vec<StoredRecord>> {
    let lines: Vec<&[u8]> = payload.split(|byte| *byte == b'\n').collect();
    let first = (last + 1).saturating_sub(lines.len() as u64);
    let stored = |(seq, line): (u64, &[u8])| Ok(StoredRecord { seq, at_ms, record: Record::decode(line)? });
    (first..).zip(lines).map(stored).collect()
}
