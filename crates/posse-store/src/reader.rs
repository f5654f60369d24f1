//! The reading connection, opened on first use and used on a blocking thread.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{BoxFuture, ResultDelivery, StoredRecord, TaskFilter, TaskQuery, TaskRow};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::{self, StoreRefusal};
use crate::{ListedRow, SpendingGroup, SpendingLine, TaskListing, open, signed};

/// A task's row, the sums of records that are not counted in it yet, and its owner's last sign of life.
pub(crate) const ROWS: &str =
    "SELECT id, parent, agent, title, status, owner, epoch, created_ms, max(updated_ms, coalesce(max(at_ms), 0)),
         cancel_ms IS NOT NULL,
         max(updated_ms, coalesce(max(at_ms), 0),
             coalesce((SELECT beat_ms FROM owners WHERE owners.owner = tasks.owner), 0)),
         1, turns + count(model),
         min(input_tokens, 9223372036854775807 - coalesce(sum(input), 0)) + coalesce(sum(input), 0),
         min(output_tokens, 9223372036854775807 - coalesce(sum(output), 0)) + coalesce(sum(output), 0),
         min(cost_micros, 9223372036854775807 - coalesce(sum(cost), 0)) + coalesce(sum(cost), 0),
         min(unpriced_tokens, 9223372036854775807 - coalesce(sum(iif(cost IS NULL, input + output, 0)), 0))
             + coalesce(sum(iif(cost IS NULL, input + output, 0)), 0), delivery
     FROM tasks LEFT JOIN journal ON position BETWEEN (number << 32) + counted AND (number << 32) + 4294967295";

pub(crate) struct StoreReader {
    path: PathBuf,
    connection: Arc<Mutex<Option<Connection>>>,
}

impl StoreReader {
    /// Creates a reader; it opens its connection at the first query.
    pub fn new(path: PathBuf) -> Self {
        Self { path, connection: Arc::default() }
    }

    /// Creates a reader of an open connection.
    pub fn opened(path: PathBuf, connection: Connection) -> Self {
        Self { path, connection: Arc::new(Mutex::new(Some(connection))) }
    }

    /// Runs `query` on a blocking thread. Queries of one store run one after the other.
    pub fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, StoreRefusal> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let path = self.path.clone();
        let shared = Arc::clone(&self.connection);
        let work = move || {
            // A query that panicked leaves a usable connection: its statements were reset on the way out.
            let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let connection = match guard.take() {
                Some(connection) => connection,
                None => open::connect_reader(&path)?,
            };
            query(guard.insert(connection)).map_err(|refusal| refusal.into_error(&path))
        };
        Box::pin(async {
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| {
                Err(Error::new(ErrorCode::Internal, localized!("store-query-endless")).caused_by(e))
            })
        })
    }
}

/// Reads the records of a task from position `from` on, at most `limit`.
pub(crate) fn records(
    connection: &Connection,
    path: &Path,
    task: &TaskId,
    from: u64,
    limit: usize,
) -> Result<Vec<StoredRecord>, StoreRefusal> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    let number = number.ok_or_else(|| fault::task_not_found(task))?;
    let mut statement = connection.prepare_cached(
        "SELECT position & 4294967295, at_ms, payload FROM journal
         WHERE position BETWEEN (?1 << 32) + ?2 AND (?1 << 32) + 4294967295 ORDER BY position",
    )?;
    // Positions have 32 bits.
    let from = i64::try_from(from).unwrap_or(i64::MAX).min(1 << 32);
    let mut rows = statement.query(params![number, from])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let (last, at_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
        let payload = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let lines: Vec<&[u8]> = payload.split(|byte| *byte == b'\n').collect();
        // The first row may start before `from`.
        let first = last + 1 - lines.len() as i64;
        let wanted = (first..).zip(lines).filter(|(seq, _)| *seq >= from);
        for (seq, line) in wanted {
            if records.len() == limit {
                return Ok(records);
            }
            let record = Record::decode(line).map_err(|e| unreadable(task, last, path, e))?;
            records.push(StoredRecord { seq: seq.unsigned_abs(), at_ms: at_ms.unsigned_abs(), record });
        }
    }
    Ok(records)
}

pub(crate) fn task(connection: &Connection, task: &TaskId) -> Result<TaskRow, StoreRefusal> {
    let found = connection
        .prepare_cached(&format!("{ROWS} WHERE id = ?1 GROUP BY number"))?
        .query_row([task.as_str()], task_row)
        .optional()?;
    found.ok_or_else(|| fault::task_not_found(task).into())
}

pub(crate) fn tasks(connection: &Connection, query: &TaskQuery) -> Result<Vec<TaskRow>, StoreRefusal> {
    // `/` is the character after `.`, and no id has a character as large as the one after a prefix.
    let (which, text) = match &query.of {
        TaskFilter::All => ("?1 = ''", ""),
        TaskFilter::Session(session) => {
            ("(id = ?1 OR (id > ?1 || '.' AND id < ?1 || '/'))", session.as_str())
        }
        TaskFilter::ChildrenOf(parent) => ("parent = ?1", parent.as_str()),
        TaskFilter::Prefix(prefix) => ("id >= ?1 AND id < ?1 || char(1114111)", prefix.as_str()),
        TaskFilter::Short(short) => {
            ("(id = ?1 OR substr(id, -length(?1) - 1) = '.' || ?1) AND instr(?1, '.') = 0", short.as_str())
        }
    };
    // A literal state lets SQLite use the partial index of running tasks.
    let state = match query.state {
        None => "?2 IS NULL",
        Some(TaskState::Running) => "status = 'running' AND ?2 = 'running'",
        Some(TaskState::Ended(_)) => "status = ?2",
    };
    let sql = format!("{ROWS} WHERE {which} AND {state} GROUP BY number ORDER BY number DESC LIMIT ?3");
    let rows = connection
        .prepare_cached(&sql)?
        .query_map(params![text, query.state.map(TaskState::wire), query.limit], task_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

/// Largest step back of the clock between two tasks.
const CLOCK_SLACK_MS: i64 = 24 * 3_600_000;

/// Lists tasks, newest first. Of other workspaces nothing is read.
pub(crate) fn listing(connection: &Connection, query: &TaskListing) -> Result<Vec<ListedRow>, StoreRefusal> {
    let mut numbers = Vec::new();
    match (&query.session, &query.workspaces) {
        (None, Some(workspaces)) => {
            for workspace in workspaces {
                numbers.extend(numbers_of(connection, query, "origin = ?1", workspace)?);
            }
        }
        (Some(session), _) => {
            let which = "(id = ?1 OR (id > ?1 || '.' AND id < ?1 || '/'))";
            numbers.extend(numbers_of(connection, query, which, session)?);
        }
        (None, None) => numbers.extend(numbers_of(connection, query, "?1 = ''", "")?),
    }
    numbers.sort_unstable_by_key(|number| Reverse(*number));
    numbers.truncate(query.limit_max as usize);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT shown.*, (SELECT origin FROM tasks WHERE number = ?1)
         FROM ({ROWS} WHERE number = ?1 GROUP BY number) AS shown"
    ))?;
    let listed = |row: &Row<'_>| Ok(ListedRow { row: task_row(row)?, workspace: row.get(18)? });
    let rows = numbers.into_iter().map(|number| statement.query_row([number], listed));
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Finds the numbers of matching tasks in one group, newest first.
fn numbers_of(
    connection: &Connection,
    query: &TaskListing,
    which: &str,
    text: &str,
) -> rusqlite::Result<Vec<i64>> {
    // A literal state lets SQLite use the partial index of running tasks; the plus keeps it from the other one.
    let (which, state) = match query.state {
        None => (which.to_owned(), "?2 IS NULL"),
        Some(TaskState::Running) => (format!("+{which}"), "status = 'running' AND ?2 = 'running'"),
        Some(TaskState::Ended(_)) => (which.to_owned(), "status = ?2"),
    };
    // The host of an MCP session is a parent without a row.
    let root = match query.is_root {
        true => "(parent IS NULL OR NOT EXISTS (SELECT 1 FROM tasks AS above WHERE above.id = tasks.parent))",
        false => "TRUE",
    };
    let sql = format!(
        "SELECT number, created_ms FROM tasks WHERE {which} AND {state} AND {root} ORDER BY number DESC"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![text, query.state.map(TaskState::wire)])?;
    let since_ms = signed(query.since_ms);
    let mut numbers = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, created_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
        if created_ms.saturating_add(CLOCK_SLACK_MS) < since_ms || numbers.len() >= query.limit_max as usize {
            break;
        }
        if created_ms >= since_ms {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

/// Lists the workspaces of tasks that are this directory or below it, by skipping through the index.
pub(crate) fn workspaces(connection: &Connection, directory: &str) -> Result<Vec<String>, StoreRefusal> {
    let mut next = connection.prepare_cached("SELECT min(origin) FROM tasks WHERE origin >= ?1")?;
    let below = format!("{}/", directory.trim_end_matches('/'));
    let mut found = Vec::new();
    let exact: Option<String> = next.query_row([directory], |row| row.get(0))?;
    found.extend(exact.filter(|workspace| workspace == directory));
    let mut from = below.clone();
    loop {
        let workspace: Option<String> = next.query_row([&from], |row| row.get(0))?;
        let Some(workspace) = workspace.filter(|workspace| workspace.starts_with(&below)) else {
            return Ok(found);
        };
        // The smallest text after this one.
        from = format!("{workspace}\0");
        found.push(workspace);
    }
}

/// Counts the descendants of a task by state.
pub(crate) fn states_below(
    connection: &Connection,
    task: &TaskId,
) -> Result<Vec<(TaskState, u64)>, StoreRefusal> {
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE tree (id) AS (
             SELECT id FROM tasks WHERE parent = ?1
             UNION ALL SELECT tasks.id FROM tree JOIN tasks ON tasks.parent = tree.id)
         SELECT status, count(*) FROM tree CROSS JOIN tasks ON tasks.id = tree.id GROUP BY status",
    )?;
    let states = statement.query_map([task.as_str()], |row| Ok((state(row, 0)?, unsigned(row, 1)?)))?;
    Ok(states.collect::<rusqlite::Result<_>>()?)
}

/// Sums up a task and its descendants. Real numbers saturate where integers would overflow. `CROSS JOIN` fixes the join
/// order: the planner would scan all tasks and look each one up in the tree.
const TREE: &str = "WITH RECURSIVE tree (number, id) AS (
         SELECT number, id FROM tasks WHERE id = ?1
         UNION ALL SELECT tasks.number, tasks.id FROM tree JOIN tasks ON tasks.parent = tree.id)
     SELECT count(*), coalesce(sum(turns), 0), CAST(total(input) AS INTEGER), CAST(total(output) AS INTEGER),
         CAST(total(cost) AS INTEGER), CAST(total(unpriced) AS INTEGER)
     FROM (SELECT turns + count(model) AS turns, input_tokens + total(input) AS input,
               output_tokens + total(output) AS output, cost_micros + total(cost) AS cost,
               unpriced_tokens + total(iif(cost IS NULL, input + output, 0)) AS unpriced
           FROM tree CROSS JOIN tasks ON tasks.number = tree.number
           LEFT JOIN journal ON position BETWEEN (tasks.number << 32) + counted AND (tasks.number << 32) + 4294967295
           GROUP BY tasks.number)";

pub(crate) fn tree_totals(
    connection: &Connection,
    tasks: &[TaskId],
) -> Result<Vec<SpendingTotal>, StoreRefusal> {
    let total =
        |task: &TaskId| connection.prepare_cached(TREE)?.query_row([task.as_str()], |row| summed(row, 0));
    Ok(tasks.iter().map(total).collect::<rusqlite::Result<_>>()?)
}

/// Reads tasks, turns, tokens and prices from six columns, from `first` on.
fn summed(row: &Row<'_>, first: usize) -> rusqlite::Result<SpendingTotal> {
    Ok(SpendingTotal {
        tasks: unsigned(row, first)?,
        turns: unsigned(row, first + 1)?,
        input_tokens: unsigned(row, first + 2)?,
        output_tokens: unsigned(row, first + 3)?,
        cost_micros: unsigned(row, first + 4)?,
        unpriced_tokens: unsigned(row, first + 5)?,
    })
}

/// Sums up spending since an instant, one line for each group, the most expensive first.
pub(crate) fn spending(
    connection: &Connection,
    by: SpendingGroup,
    since_ms: i64,
) -> Result<Vec<SpendingLine>, StoreRefusal> {
    let (name, join) = match by {
        SpendingGroup::Agent => ("agent", ""),
        SpendingGroup::Model => ("coalesce(model, '')", ""),
        SpendingGroup::Day => ("date(at_ms / 1000, 'unixepoch', 'localtime')", ""),
        SpendingGroup::Session => ("substr(task, 1, instr(task || '.', '.') - 1)", ""),
        SpendingGroup::Workspace => (
            "coalesce(workspace, '')",
            "LEFT JOIN sessions ON sessions.id = substr(task, 1, instr(task || '.', '.') - 1)",
        ),
    };
    // Tasks that ended before are skipped as a whole. Usage of deleted tasks is in a table of its own.
    let sql = format!(
        "SELECT count(DISTINCT task), sum(turns), CAST(total(input) AS INTEGER), CAST(total(output) AS INTEGER),
             CAST(total(cost) AS INTEGER), CAST(total(unpriced) AS INTEGER), {name} AS name,
             CAST(total(cached) AS INTEGER)
         FROM (SELECT tasks.id AS task, agent, model, at_ms, model IS NOT NULL AS turns, input, output, cost,
                   iif(cost IS NULL, input + output, 0) AS unpriced, cache_read AS cached
               FROM tasks CROSS JOIN journal
                   ON position BETWEEN (tasks.number << 32) AND (tasks.number << 32) + 4294967295
               WHERE input IS NOT NULL AND at_ms >= ?1 AND (updated_ms >= ?1 OR status = 'running')
               UNION ALL SELECT * FROM spent WHERE at_ms >= ?1) {join}
         GROUP BY name ORDER BY total(cost) DESC, name"
    );
    let line = |row: &Row<'_>| {
        Ok(SpendingLine { name: row.get(6)?, total: summed(row, 0)?, cached_tokens: unsigned(row, 7)? })
    };
    let lines =
        connection.prepare_cached(&sql)?.query_map([since_ms], line)?.collect::<rusqlite::Result<_>>()?;
    Ok(lines)
}

pub(crate) fn count(connection: &Connection) -> Result<u64, StoreRefusal> {
    Ok(connection.query_row("SELECT count(*) FROM tasks", [], |row| unsigned(row, 0))?)
}

pub(crate) fn cancel_requests(connection: &Connection) -> Result<Vec<TaskId>, StoreRefusal> {
    let requested = connection
        .prepare_cached("SELECT id FROM tasks WHERE cancel_ms IS NOT NULL ORDER BY number")?
        .query_map([], |row| Ok(TaskId::from_store(row.get(0)?)))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(requested)
}

pub(crate) fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: TaskId::from_store(row.get(0)?),
        parent: row.get::<_, Option<String>>(1)?.map(TaskId::from_store),
        agent: row.get(2)?,
        title: row.get(3)?,
        state: state(row, 4)?,
        owner: row.get(5)?,
        epoch: unsigned(row, 6)?,
        created_ms: unsigned(row, 7)?,
        updated_ms: unsigned(row, 8)?,
        cancel_requested: row.get(9)?,
        seen_ms: unsigned(row, 10)?,
        total: summed(row, 11)?,
        delivery: ResultDelivery::from_store(row.get_ref(17)?.as_str_or_null()?),
    })
}

fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<TaskState> {
    let text = row.get_ref(column)?.as_str()?;
    TaskState::parse(text).ok_or_else(|| FromSqlError::Other(format!("no state `{text}`").into()).into())
}

/// Numbers are stored signed; the writer never stores a negative one.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

fn unreadable(task: &TaskId, last: i64, path: &Path, error: Error) -> Error {
    Error::new(ErrorCode::JournalInvalid, localized!("store-record-unreadable", task, last))
        .hint(localized!("store-record-unreadable-hint", path = path.display()))
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use posse_runtime::ports::ApprovalQuery;

    use super::*;
    use crate::approvals;

    /// Pages that this thread has read from files so far.
    fn pages_read() -> u64 {
        let told = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        let bytes = told.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        bytes.parse::<u64>().unwrap() / 4_096
    }

    #[test]
    fn a_listing_reads_as_much_of_a_hundred_thousand_tasks_as_of_a_hundred() {
        let directory = tempfile::tempdir().unwrap();
        let path = open::prepare_file(&directory.path().join("posse.db")).unwrap();
        let writer = open::connect(&path, Duration::from_secs(1)).unwrap();
        // A root with nine below it each, and an approval for every hundredth.
        let fill = |from: u32, to: u32| {
            writer
                .execute_batch(&format!(
                    "BEGIN;
                     WITH RECURSIVE n (n) AS (VALUES ({from}) UNION ALL SELECT n + 1 FROM n WHERE n < {to} - 1)
                     INSERT INTO tasks (id, parent, agent, title, status, owner, epoch, counted, created_ms, updated_ms,
                                        input_tokens, output_tokens, turns, origin)
                     SELECT printf('s%d%s', n / 10, iif(n % 10, printf('.t_%02d', n % 10), '')),
                         iif(n % 10, printf('s%d', n / 10), NULL),
                         'helper', 'do it', 'completed', 'o', 1, 3, n, n, 1, 1, 1,
                         iif(n < 100 AND n % 20 < 10, '/home/app', '/home/other') FROM n;
                     INSERT INTO journal (position, kind, at_ms, payload)
                     SELECT (number << 32) + 2, 'started asked finished', 1, zeroblob(600) FROM tasks
                     WHERE created_ms BETWEEN {from} AND {to};
                     INSERT INTO approvals (task, call, session, state, standing, payload)
                     SELECT id, '1.0', id, 'denied', 0, x'' FROM tasks WHERE created_ms BETWEEN {from} AND {to} AND number % 100 = 0;
                     COMMIT"
                ))
                .unwrap();
        };
        let listing = || {
            let connection = open::connect_reader(&path).unwrap();
            let before = pages_read();
            let query = TaskQuery { limit: 20, ..TaskQuery::of(TaskFilter::All) };
            assert_eq!(tasks(&connection, &query).unwrap().len(), 20);
            // A project with five old roots.
            assert_eq!(workspaces(&connection, "/home/app").unwrap(), ["/home/app"]);
            let query = TaskListing { limit_max: 20, is_root: true, ..TaskListing::default() };
            let of_project = TaskListing { workspaces: Some(vec!["/home/app".into()]), ..query.clone() };
            assert_eq!(listing(&connection, &of_project).unwrap().len(), 5);
            let rows = listing(&connection, &query).unwrap();
            assert_eq!(rows.len(), 20.min(rows.len()));
            let ids: Vec<TaskId> = rows.into_iter().map(|listed| listed.row.id).collect();
            assert!(approvals::list(&connection, &ApprovalQuery::Open).unwrap().is_empty());
            assert!(tree_totals(&connection, &ids).unwrap().iter().any(|total| total.tasks == 10));
            pages_read() - before
        };
        fill(0, 100);
        let few = listing();
        fill(100, 100_000);
        let many = listing();
        // Deeper indexes are the only difference.
        assert!(few > 0 && many < few + 60, "{few} pages of a hundred tasks, {many} of a hundred thousand");
    }
}
