//! Deletion of task trees, and return of their space to the file system.
//!
//! A tree is deleted in one transaction, so no reader sees a part of one. Space is returned by incremental vacuum, in
//! slices that hold the write lock for milliseconds: `VACUUM` would hold it while it copies the whole store, and other
//! processes give up after `StoreSettings::busy_max`. A store from before retention lacks the pointer map for this; it
//! gets one by a single `VACUUM` on a connection of its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};

use crate::context;
use crate::fault::{self, StoreRefusal};
use crate::open::{self, retry_busy};
use crate::reader::unsigned;

/// Pages moved in one transaction of the vacuum: 1 MiB.
const SLICE_PAGES: u32 = 256;

/// The value of `PRAGMA auto_vacuum` for vacuum on request.
const INCREMENTAL: i64 = 2;

/// A task without a parent in the store, with its descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTree {
    pub root: TaskId,
    /// The root was delegated by an external program, in a session without a task of its own.
    pub is_hosted: bool,
    pub tasks: u64,
    /// Tasks that have not ended, whether a process drives them or not.
    pub running: u64,
    /// The last change of any of them.
    pub updated_ms: u64,
    /// No task of the session is newer.
    pub is_newest: bool,
    /// Together with the rest it differs when a task was claimed or continued meanwhile.
    epochs: u64,
}

/// Size of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSize {
    /// Bytes of the file, without its log.
    pub file_bytes: u64,
    /// Bytes of the pages in use.
    pub used_bytes: u64,
}

/// The outcome of a vacuum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceReturn {
    Done,
    /// The store has to be rewritten once, which blocks other writers.
    NeedsRewrite,
}

/// Permission to rewrite a store without a pointer map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteConsent {
    Given,
    Refused,
}

const TREES: &str = "WITH RECURSIVE tree (root, number, id) AS (
         SELECT number, number, id FROM tasks AS top
         WHERE parent IS NULL OR NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = top.parent)
         UNION ALL SELECT root, tasks.number, tasks.id FROM tree JOIN tasks ON tasks.parent = tree.id)
     SELECT (SELECT id FROM tasks WHERE number = root), (SELECT parent IS NOT NULL FROM tasks WHERE number = root),
         count(*), sum(status = 'running'), max(updated_ms), sum(epoch), max(tasks.number)
     FROM tree CROSS JOIN tasks ON tasks.number = tree.number GROUP BY root ORDER BY max(updated_ms), root";

/// Returns a task and its descendants.
const MEMBERS: &str = "WITH RECURSIVE tree (number, id) AS (
         SELECT number, id FROM tasks WHERE id = ?1
         UNION ALL SELECT tasks.number, tasks.id FROM tree JOIN tasks ON tasks.parent = tree.id)
     SELECT tasks.number, tasks.id, status = 'running', updated_ms, epoch
     FROM tree CROSS JOIN tasks ON tasks.number = tree.number";

/// Keeps the usage of a deleted task: one row for each model and day.
const KEEP_SPENDING: &str =
    "INSERT INTO spent (task, agent, model, at_ms, turns, input, output, cost, unpriced, cached)
     SELECT ?2, (SELECT agent FROM tasks WHERE number = ?1), model, max(at_ms), count(model),
         CAST(total(input) AS INTEGER), CAST(total(output) AS INTEGER), CAST(total(cost) AS INTEGER),
         CAST(total(iif(cost IS NULL, input + output, 0)) AS INTEGER), CAST(total(cache_read) AS INTEGER)
     FROM journal WHERE position BETWEEN (?1 << 32) AND (?1 << 32) + 4294967295 AND input IS NOT NULL
     GROUP BY model, date(at_ms / 1000, 'unixepoch', 'localtime')";

/// The deleting connection, opened on first use and used on a blocking thread. It is not the writer's, so commits wait for
/// a deletion of this process no longer than for one of another.
pub(crate) struct Keeper {
    path: PathBuf,
    busy_max: Duration,
    connection: Arc<Mutex<Option<Connection>>>,
}

impl Keeper {
    pub fn new(path: PathBuf, busy_max: Duration) -> Self {
        Self { path, busy_max, connection: Arc::default() }
    }

    /// Runs `work` on a blocking thread. After a failure the connection is closed, because it may hold rolled-back pages.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Site<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (path, busy_max, shared) = (self.path.clone(), self.busy_max, Arc::clone(&self.connection));
        let work = move || {
            let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let connection = match kept.take() {
                Some(connection) => connection,
                None => open::connect(&path, busy_max)?,
            };
            let done = work(&Site { connection: &connection, path: &path, busy_max })?;
            *kept = Some(connection);
            Ok(done)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| {
            Err(Error::new(ErrorCode::Internal, localized!("store-query-endless")).caused_by(e))
        })
    }
}

/// The store during a deletion.
pub(crate) struct Site<'a> {
    connection: &'a Connection,
    path: &'a Path,
    busy_max: Duration,
}

/// The number of the newest append to any journal.
const NEWEST_ARRIVAL: &str = "SELECT coalesce(max(arrival), 0) FROM journal";

/// Keeps the number of the newest append when its row is deleted, in a row of no task: followers read on from a number, so none may be
/// given twice.
const KEEP_ARRIVALS: &str = "INSERT OR REPLACE INTO journal (arrival, position, kind, at_ms, payload)
     SELECT ?1, -1, '', 0, x'' WHERE ?1 > (SELECT coalesce(max(arrival), 0) FROM journal)";

impl Site<'_> {
    fn failed(&self, error: rusqlite::Error) -> Error {
        fault::from_sqlite(self.path, error)
    }

    /// Begins, writes and commits; waits for other processes only before the first write.
    fn transact<T>(&self, write: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let begin = || Transaction::new_unchecked(self.connection, TransactionBehavior::Immediate);
        let transaction = retry_busy(self.busy_max, begin).map_err(|e| self.failed(e))?;
        let written = write(&transaction).map_err(|e| self.failed(e))?;
        transaction.commit().map_err(|e| self.failed(e))?;
        Ok(written)
    }

    /// Deletes a tree that has not changed since it was seen; otherwise returns `false` and deletes nothing.
    pub fn delete(&self, tree: &TaskTree, now_ms: u64) -> Result<bool> {
        self.transact(|connection| {
            let members = members(connection, &tree.root)?;
            if !tree.matches(&members) {
                return Ok(false);
            }
            let newest = connection.query_row(NEWEST_ARRIVAL, [], |row| row.get::<_, i64>(0))?;
            for member in &members {
                delete_task(connection, member)?;
            }
            connection.prepare_cached(KEEP_ARRIVALS)?.execute([newest])?;
            // A session is deleted with its own task. One without stays: external programs reconnect to it.
            if tree.root.as_str() == tree.root.session() {
                context::forget_session(connection, tree.root.session(), crate::signed(now_ms))?;
            }
            Ok(true)
        })
    }

    /// Returns free pages to the file system, slice by slice.
    pub fn give_back(&self, consent: RewriteConsent) -> Result<SpaceReturn> {
        self.transact(drop_orphaned_approvals)?;
        if self.number("PRAGMA auto_vacuum")? != INCREMENTAL {
            match (self.number("PRAGMA freelist_count")?, consent) {
                (0, _) => return Ok(SpaceReturn::Done),
                (_, RewriteConsent::Refused) => return Ok(SpaceReturn::NeedsRewrite),
                (_, RewriteConsent::Given) => self.rewrite()?,
            }
        }
        let mut free = self.number("PRAGMA freelist_count")?;
        while free > 0 {
            self.transact(vacuum_slice)?;
            let left = self.number("PRAGMA freelist_count")?;
            if left >= free {
                break;
            }
            free = left;
        }
        // A checkpoint truncates the file: now, or later if a reader still uses an older state.
        self.number("PRAGMA wal_checkpoint(PASSIVE)").map(drop)?;
        Ok(SpaceReturn::Done)
    }

    /// Adds the pointer map to a store without one. Writers wait meanwhile.
    fn rewrite(&self) -> Result<()> {
        let rewrite = || {
            self.connection.execute_batch(&format!(
                "PRAGMA cache_spill = ON; PRAGMA auto_vacuum = {INCREMENTAL}; VACUUM; PRAGMA cache_spill = OFF;"
            ))
        };
        retry_busy(self.busy_max, rewrite).map_err(|e| self.failed(e))
    }

    fn number(&self, sql: &str) -> Result<i64> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.failed(e))
    }
}

/// A task in the transaction that deletes it.
struct Member {
    number: i64,
    id: TaskId,
    is_running: bool,
    updated_ms: u64,
    epoch: u64,
}

impl TaskTree {
    fn matches(&self, members: &[Member]) -> bool {
        let sum = |of: fn(&Member) -> u64| members.iter().map(of).sum::<u64>();
        self.tasks == members.len() as u64
            && self.running == sum(|member| u64::from(member.is_running))
            && self.epochs == sum(|member| member.epoch)
            && members.iter().all(|member| member.updated_ms <= self.updated_ms)
    }
}

fn members(connection: &Connection, root: &TaskId) -> rusqlite::Result<Vec<Member>> {
    let member = |row: &Row<'_>| {
        Ok(Member {
            number: row.get(0)?,
            id: TaskId::from_store(row.get(1)?),
            is_running: row.get(2)?,
            updated_ms: unsigned(row, 3)?,
            epoch: unsigned(row, 4)?,
        })
    };
    connection.prepare_cached(MEMBERS)?.query_map([root.as_str()], member)?.collect()
}

fn delete_task(connection: &Connection, task: &Member) -> rusqlite::Result<()> {
    let Member { number, id, .. } = task;
    connection.prepare_cached(KEEP_SPENDING)?.execute(params![number, id.as_str()])?;
    for sql in [
        "DELETE FROM journal WHERE position BETWEEN (?1 << 32) AND (?1 << 32) + 4294967295",
        "DELETE FROM leases WHERE task = ?1",
        "DELETE FROM commands WHERE task = ?1",
        "DELETE FROM messages WHERE task = ?1",
        "DELETE FROM questions WHERE task = ?1",
        "DELETE FROM tasks WHERE number = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([number])?;
    }
    connection
        .prepare_cached(
            "DELETE FROM approvals WHERE task = ?1 AND number < (SELECT max(number) FROM approvals)",
        )?
        .execute([id.as_str()])
        .map(drop)
}

/// Deletes approvals of deleted tasks, except the newest one of all: its number must not be reused.
fn drop_orphaned_approvals(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute(
            "DELETE FROM approvals WHERE number < (SELECT max(number) FROM approvals)
                 AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task)",
            [],
        )
        .map(drop)
}

fn vacuum_slice(connection: &Connection) -> rusqlite::Result<()> {
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({SLICE_PAGES})"))?;
    let mut moved = vacuum.query([])?;
    // Each step returns one page.
    while moved.next()?.is_some() {}
    Ok(())
}

/// Lists all trees of the store, the last changed one at the end.
pub(crate) fn trees(connection: &Connection) -> Result<Vec<TaskTree>, StoreRefusal> {
    let mut rows: Vec<(TaskTree, i64)> =
        connection.prepare_cached(TREES)?.query_map([], tree_row)?.collect::<rusqlite::Result<_>>()?;
    let mut newest = std::collections::HashMap::new();
    for (tree, number) in &rows {
        let known = newest.entry(tree.root.session().to_owned()).or_insert(*number);
        *known = (*known).max(*number);
    }
    for (tree, number) in &mut rows {
        tree.is_newest = newest.get(tree.root.session()) == Some(number);
    }
    Ok(rows.into_iter().map(|(tree, _)| tree).collect())
}

/// With the number of its newest task.
fn tree_row(row: &Row<'_>) -> rusqlite::Result<(TaskTree, i64)> {
    let tree = TaskTree {
        root: TaskId::from_store(row.get(0)?),
        is_hosted: row.get(1)?,
        tasks: unsigned(row, 2)?,
        running: unsigned(row, 3)?,
        updated_ms: unsigned(row, 4)?,
        epochs: unsigned(row, 5)?,
        is_newest: false,
    };
    Ok((tree, row.get(6)?))
}

/// Returns the ids of a tree's tasks, and the bytes of their journals.
pub(crate) fn contents(connection: &Connection, root: &TaskId) -> Result<(Vec<TaskId>, u64), StoreRefusal> {
    let members = members(connection, root)?;
    let mut lengths = connection.prepare_cached(
        "SELECT coalesce(sum(length(payload)), 0) FROM journal
         WHERE position BETWEEN (?1 << 32) AND (?1 << 32) + 4294967295",
    )?;
    let mut bytes: u64 = 0;
    for member in &members {
        bytes = bytes.saturating_add(lengths.query_row([member.number], |row| unsigned(row, 0))?);
    }
    Ok((members.into_iter().map(|member| member.id).collect(), bytes))
}

pub(crate) fn size(connection: &Connection, path: &Path) -> Result<StoreSize, StoreRefusal> {
    let (pages, free, page): (u64, u64, u64) = connection.query_row(
        "SELECT page_count, freelist_count, page_size
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
        [],
        |row| Ok((unsigned(row, 0)?, unsigned(row, 1)?, unsigned(row, 2)?)),
    )?;
    let file_bytes = std::fs::metadata(path).map_err(|e| fault::from_io(path, e))?.len();
    Ok(StoreSize { file_bytes, used_bytes: pages.saturating_sub(free).saturating_mul(page) })
}
