//! Tasks and their journals as rows.

use std::cell::RefCell;
use std::collections::HashMap;

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::state::TaskState;
use posse_core::usage::{SpendingTotal, Usage};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{NewTask, ResultDelivery};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, params};

use crate::context;
use crate::fault::{self, StoreRefusal};
use crate::leases;
use crate::messages;
use crate::signed;

/// Maximum records of a task that its row does not count yet: a listing adds them up each time.
pub(crate) const UNCOUNTED_MAX: i64 = 64;

/// Maximum tokens of a reply that is counted later: a sum of so few records cannot overflow.
const TOKENS_LATER_MAX: u64 = 1 << 40;

/// Age at which a heartbeat is deleted.
const SILENT_MS_MAX: i64 = 86_400_000;

/// Maximum tasks in the position cache; beyond it they are looked up again.
const PLACES_MAX: usize = 4_096;

/// Initial capacity of a row's payload, so that it does not grow in small steps.
const PAYLOAD_BYTES: usize = 640;

/// Query for the number of a task at this epoch, its counted records, and the last used position up to its own end.
pub(crate) const PLACE: &str =
    "SELECT number, counted, (SELECT position FROM journal WHERE position <= (number << 32) + 4294967295
         ORDER BY position DESC LIMIT 1) FROM tasks WHERE id = ?1 AND epoch = ?2";

/// Adds the records that are not counted yet to the task's row. Sums saturate. Tokens of a reply without a price count as
/// unpriced.
pub(crate) const COUNT_EARLIER: &str =
    "UPDATE tasks SET (turns, input_tokens, output_tokens, cost_micros, unpriced_tokens) = (
         SELECT turns + count(model),
             min(input_tokens, 9223372036854775807 - coalesce(sum(input), 0)) + coalesce(sum(input), 0),
             min(output_tokens, 9223372036854775807 - coalesce(sum(output), 0)) + coalesce(sum(output), 0),
             min(cost_micros, 9223372036854775807 - coalesce(sum(cost), 0)) + coalesce(sum(cost), 0),
             min(unpriced_tokens, 9223372036854775807 - coalesce(sum(iif(cost IS NULL, input + output, 0)), 0))
                 + coalesce(sum(iif(cost IS NULL, input + output, 0)), 0)
         FROM journal WHERE position BETWEEN (number << 32) + counted AND (number << 32) + 4294967295)
     WHERE number = ?1";

/// Encoded records, and their changes of the task's row.
pub(crate) struct EncodedRecords {
    rows: Vec<JournalEntry>,
    records: i64,
    /// They change a column of the task's row.
    change_row: bool,
    sums: SpendingTotal,
    /// Keys of messages that a run has read.
    steered: Vec<String>,
    /// State after the last record that changes it.
    pub state: Option<TaskState>,
}

/// A row of the journal: records of one append, of which at most the first is a reply.
struct JournalEntry {
    records: i64,
    /// Kinds of the records, in order.
    kinds: String,
    /// One line for each record.
    payload: Vec<u8>,
    /// The model that replied.
    model: Option<String>,
    /// Usage of all records, including attempts without a reply.
    spent: Usage,
}

impl JournalEntry {
    fn new(model: Option<String>) -> Self {
        Self {
            records: 0,
            kinds: String::with_capacity(32),
            payload: Vec::with_capacity(PAYLOAD_BYTES),
            model,
            spent: Usage::default(),
        }
    }

    fn add(&mut self, record: &Record) {
        if self.records > 0 {
            self.kinds.push(' ');
            self.payload.push(b'\n');
        }
        self.records += 1;
        self.kinds.push_str(record.kind());
        self.spent.add(&record.spent());
        record.encode_into(&mut self.payload);
    }
}

impl EncodedRecords {
    /// Encodes records into rows.
    pub fn encode(records: &[Record]) -> Self {
        let mut entries = EncodedRecords {
            rows: Vec::with_capacity(1),
            records: records.len() as i64,
            change_row: false,
            sums: SpendingTotal::default(),
            steered: Vec::new(),
            state: None,
        };
        for record in records {
            entries.sums.add(&record.spending());
            entries.state = record.state().or(entries.state);
            if let Record::Steered { key, .. } = record {
                entries.steered.push(key.clone());
            }
            let model = match record {
                Record::Replied { reply, .. } => {
                    entries.change_row |= !reply.lost.is_nothing()
                        || reply.usage.input.max(reply.usage.output) > TOKENS_LATER_MAX;
                    Some(reply.model.clone())
                }
                other => {
                    entries.change_row |= !other.spent().is_nothing();
                    None
                }
            };
            if model.is_some() || entries.rows.is_empty() {
                entries.rows.push(JournalEntry::new(model));
            }
            if let Some(row) = entries.rows.last_mut() {
                row.add(record);
            }
        }
        entries.change_row |= entries.state.is_some();
        entries
    }
}

/// The open transaction, with prepared statements: preparing a statement costs a good part of running it.
pub(crate) struct WriteTransaction<'a> {
    connection: &'a Connection,
    known: &'a mut SequenceCache,
    /// Time of the group.
    pub now: i64,
    insert: Prepared<'a>,
    count: Prepared<'a>,
    count_earlier: Prepared<'a>,
    release: Prepared<'a>,
    end_commands: Prepared<'a>,
}

type Prepared<'a> = RefCell<Option<CachedStatement<'a>>>;

impl<'a> WriteTransaction<'a> {
    /// Prepares the statements lazily on this connection.
    pub fn new(connection: &'a Connection, known: &'a mut SequenceCache, now: i64) -> Self {
        Self {
            connection,
            known,
            now,
            insert: RefCell::default(),
            count: RefCell::default(),
            count_earlier: RefCell::default(),
            release: RefCell::default(),
            end_commands: RefCell::default(),
        }
    }

    /// Returns the connection for a write that bypasses `append`.
    pub fn connection(&mut self) -> &'a Connection {
        self.known.forget();
        self.connection
    }

    fn run(&self, prepared: &Prepared<'a>, sql: &str, values: impl Params) -> rusqlite::Result<()> {
        let mut prepared = prepared.borrow_mut();
        let statement = match &mut *prepared {
            Some(statement) => statement,
            None => prepared.insert(self.connection.prepare_cached(sql)?),
        };
        statement.execute(values).map(drop)
    }
}

/// Returns the work that creates a task with its first records.
pub(crate) fn creation(
    task: NewTask,
) -> impl FnMut(&mut WriteTransaction<'_>) -> Result<(), StoreRefusal> + Send + 'static {
    let entries = EncodedRecords::encode(&task.records);
    move |transaction| create(transaction, &task, &entries)
}

/// Returns the work that appends records.
pub(crate) fn appending(
    task: TaskId,
    epoch: u64,
    records: &[Record],
) -> impl FnMut(&mut WriteTransaction<'_>) -> Result<(), StoreRefusal> + Send + 'static {
    let entries = EncodedRecords::encode(records);
    move |transaction| append(transaction, &task, signed(epoch), &entries)
}

fn create(
    transaction: &mut WriteTransaction<'_>,
    task: &NewTask,
    entries: &EncodedRecords,
) -> Result<(), StoreRefusal> {
    let (connection, now) = (transaction.connection, transaction.now);
    let known = &mut *transaction.known;
    let start = task.records.iter().find_map(|record| match record {
        Record::Started(start) => Some(start),
        _ => None,
    });
    let title = start.map(|start| start.title());
    let workspace = start.map(|start| start.origin()).unwrap_or_default();
    let created = connection
        .prepare_cached(
            "INSERT INTO tasks (id, parent, agent, title, status, owner, epoch, counted, created_ms, updated_ms,
                                input_tokens, output_tokens, turns, origin)
             VALUES (?1, ?2, ?3, ?4, 'running', ?5, 1, 0, ?6, ?6, 0, 0, 0, ?7) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            task.id.as_str(),
            task.parent.as_ref().map(TaskId::as_str),
            task.agent,
            title.unwrap_or_default(),
            task.owner,
            now,
            workspace
        ])?;
    if created == 0 {
        let text = localized!("store-task-exists", task = task.id);
        let exists = Error::new(ErrorCode::InvalidRequest, text);
        return Err(exists.hint(localized!("store-task-exists-hint")).into());
    }
    let number = connection.last_insert_rowid();
    known.keep(
        &task.id,
        1,
        JournalPosition { task: number, counted: 0, next: 0, uncounted: Some(SpendingTotal::default()) },
    );
    if known.session.as_deref() != Some(task.id.session()) {
        context::ensure_session(connection, task.id.session(), workspace, now)?;
        known.session = Some(task.id.session().to_owned());
    }
    if let Some(request) = &task.lease {
        known.something_held = Some(true);
        leases::acquire(connection, &task.id, 1, request)?;
    }
    append(transaction, &task.id, 1, entries)
}

fn append(
    transaction: &mut WriteTransaction<'_>,
    task: &TaskId,
    epoch: i64,
    entries: &EncodedRecords,
) -> Result<(), StoreRefusal> {
    let connection = transaction.connection;
    let Some(mut place) = transaction.known.find(connection, task, epoch)? else {
        return Err(why_not_advanced(connection, task, epoch));
    };
    let end = place.next + entries.records;
    if entries.change_row || end - place.counted > UNCOUNTED_MAX {
        if place.uncounted.is_none() {
            transaction.run(&transaction.count_earlier, COUNT_EARLIER, [place.task])?;
        }
        let mut sums = place.uncounted.unwrap_or_default();
        sums.add(&entries.sums);
        count(transaction, &place, entries, sums)?;
        (place.counted, place.uncounted) = (end, Some(SpendingTotal::default()));
    } else if let Some(uncounted) = &mut place.uncounted {
        uncounted.add(&entries.sums);
    }
    let mut position = (place.task << 32) + place.next - 1;
    for entry in &entries.rows {
        position += entry.records;
        insert(transaction, position, entry)?;
    }
    if entries.state.is_some_and(|state| !state.is_running())
        && transaction.known.something_is_held(connection)?
    {
        transaction.run(&transaction.release, leases::RELEASE, [place.task])?;
        transaction.run(&transaction.end_commands, leases::END_COMMANDS, [place.task])?;
    }
    let ended = entries.state.is_some_and(|state| !state.is_running());
    if (ended || !entries.steered.is_empty()) && transaction.known.message_is_queued(connection)? {
        for key in &entries.steered {
            connection.prepare_cached(messages::DELIVER)?.execute(params![place.task, key])?;
        }
        if ended {
            connection.prepare_cached(messages::MISS)?.execute([place.task])?;
        }
    }
    transaction.known.keep(task, epoch, JournalPosition { next: end, ..place });
    Ok(())
}

/// Cached positions of tasks' next records, the session of the newest task and whether any lease exists; valid
/// while no other process writes.
#[derive(Default)]
pub(crate) struct SequenceCache {
    /// Differs when another connection has written.
    version: i64,
    places: HashMap<TaskId, (i64, JournalPosition)>,
    /// A session that exists.
    session: Option<String>,
    /// `false`: no task has a lease or runs a command.
    something_held: Option<bool>,
    /// `false`: no message is queued.
    message_queued: Option<bool>,
}

impl SequenceCache {
    /// Clears the cache if another connection has written. Called after `BEGIN`, so that none writes later.
    pub fn forget_what_others_changed(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let version = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.version || self.places.len() > PLACES_MAX {
            self.forget();
            self.version = version;
        }
        Ok(())
    }

    /// Clears the cache after a rollback or a write that bypassed `append`.
    pub fn forget(&mut self) {
        self.places.clear();
        self.session = None;
        self.something_held = None;
        self.message_queued = None;
    }

    fn message_is_queued(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        if let Some(queued) = self.message_queued {
            return Ok(queued);
        }
        let queued = connection.prepare_cached(messages::ANY)?.query_row([], |row| row.get(0))?;
        self.message_queued = Some(queued);
        Ok(queued)
    }

    fn something_is_held(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        if let Some(held) = self.something_held {
            return Ok(held);
        }
        let held = connection.prepare_cached(leases::ANY)?.query_row([], |row| row.get(0))?;
        self.something_held = Some(held);
        Ok(held)
    }

    /// Finds the position of a task; `None` if there is no such task, or it has another epoch.
    fn find(
        &self,
        connection: &Connection,
        task: &TaskId,
        epoch: i64,
    ) -> rusqlite::Result<Option<JournalPosition>> {
        match self.places.get(task) {
            Some((at, place)) if *at == epoch => Ok(Some(*place)),
            _ => place(connection, task, epoch),
        }
    }

    fn keep(&mut self, task: &TaskId, epoch: i64, place: JournalPosition) {
        match self.places.get_mut(task) {
            Some(known) => *known = (epoch, place),
            None => drop(self.places.insert(task.clone(), (epoch, place))),
        }
    }
}

/// Position of a task's next record.
#[derive(Clone, Copy)]
struct JournalPosition {
    /// The task's number.
    task: i64,
    counted: i64,
    next: i64,
    /// Sums of the records from `counted` on, if known without reading.
    uncounted: Option<SpendingTotal>,
}

/// Reads the position of a task; `None` if there is no such task, or it has another epoch.
fn place(connection: &Connection, task: &TaskId, epoch: i64) -> rusqlite::Result<Option<JournalPosition>> {
    connection
        .prepare_cached(PLACE)?
        .query_row(params![task.as_str(), epoch], |row| {
            let (task, last): (i64, Option<i64>) = (row.get(0)?, row.get(2)?);
            // The last position may be of an earlier task.
            let next = last.map_or(0, |last| last + 1 - (task << 32)).max(0);
            let counted = row.get(1)?;
            let uncounted = (counted == next).then(SpendingTotal::default);
            Ok(JournalPosition { task, counted, next, uncounted })
        })
        .optional()
}

fn count(
    transaction: &WriteTransaction<'_>,
    place: &JournalPosition,
    entries: &EncodedRecords,
    sums: SpendingTotal,
) -> rusqlite::Result<()> {
    transaction.run(
        &transaction.count,
        "UPDATE tasks SET counted = ?2, turns = turns + ?3, updated_ms = ?4, status = coalesce(?5, status),
             cancel_ms = CASE coalesce(?5, status) WHEN 'running' THEN cancel_ms END,
             input_tokens = min(input_tokens, 9223372036854775807 - ?6) + ?6,
             output_tokens = min(output_tokens, 9223372036854775807 - ?7) + ?7,
             cost_micros = min(cost_micros, 9223372036854775807 - ?8) + ?8,
             unpriced_tokens = min(unpriced_tokens, 9223372036854775807 - ?9) + ?9
         WHERE number = ?1",
        params![
            place.task,
            place.next + entries.records,
            signed(sums.turns),
            transaction.now,
            entries.state.map(TaskState::wire),
            signed(sums.input_tokens),
            signed(sums.output_tokens),
            signed(sums.cost_micros),
            signed(sums.unpriced_tokens)
        ],
    )
}

fn insert(transaction: &WriteTransaction<'_>, position: i64, entry: &JournalEntry) -> rusqlite::Result<()> {
    let used = (!entry.spent.is_nothing()).then_some(&entry.spent);
    let count = |of: fn(&Usage) -> u64| used.map(|usage| signed(of(usage)));
    transaction.run(
        &transaction.insert,
        "INSERT INTO journal (position, kind, at_ms, model, input, output, cache_read, cache_write, reasoning, cost, payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            position,
            entry.kinds,
            transaction.now,
            entry.model,
            count(|usage| usage.input),
            count(|usage| usage.output),
            count(|usage| usage.cache_read),
            count(|usage| usage.cache_write),
            count(|usage| usage.reasoning),
            entry.spent.cost_micros.map(signed),
            entry.payload
        ],
    )
}

/// Explains why a task is not at this epoch.
pub(crate) fn why_not_advanced(connection: &Connection, task: &TaskId, epoch: i64) -> StoreRefusal {
    let read = || {
        connection
            .prepare_cached("SELECT epoch, owner FROM tasks WHERE id = ?1")?
            .query_row([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    };
    let current: Option<(i64, String)> = match read() {
        Ok(current) => current,
        Err(e) => return e.into(),
    };
    let lost = |(current, owner): (i64, String)| {
        let text = localized!("owner-lost", task, owner, current, epoch);
        Error::new(ErrorCode::OwnerLost, text).hint(localized!("owner-lost-hint"))
    };
    current.map_or_else(|| fault::task_not_found(task), lost).into()
}

pub(crate) fn claim(
    connection: &Connection,
    task: &TaskId,
    from: Option<u64>,
    owner: &str,
    now: i64,
) -> Result<u64, StoreRefusal> {
    let epoch: Option<i64> = connection
        .prepare_cached(
            "UPDATE tasks SET epoch = epoch + 1, owner = ?2, updated_ms = ?3
             WHERE id = ?1 AND epoch = coalesce(?4, epoch) RETURNING epoch",
        )?
        .query_row(params![task.as_str(), owner, now, from.map(signed)], |row| row.get(0))
        .optional()?;
    let epoch = epoch.ok_or_else(|| why_not_advanced(connection, task, from.map_or(0, signed)))?;
    Ok(epoch.unsigned_abs())
}

/// Stores a cancel request.
pub(crate) fn cancel(connection: &Connection, task: &TaskId, now: i64) -> Result<(), StoreRefusal> {
    let found = connection
        .prepare_cached(
            "UPDATE tasks SET cancel_ms = CASE status WHEN 'running' THEN coalesce(cancel_ms, ?2) END WHERE id = ?1",
        )?
        .execute(params![task.as_str(), now])?;
    if found == 0 { Err(fault::task_not_found(task).into()) } else { Ok(()) }
}

/// Advances the delivery state of a result inside the writing transaction, so that of several collectors the first wins.
pub(crate) fn deliver(
    connection: &Connection,
    task: &TaskId,
    next: &ResultDelivery,
) -> Result<ResultDelivery, StoreRefusal> {
    let now: Option<Option<String>> = connection
        .prepare_cached("SELECT delivery FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    let now = ResultDelivery::from_store(now.ok_or_else(|| fault::task_not_found(task))?.as_deref());
    let raised = now.raised_to(next);
    if raised != now {
        connection
            .prepare_cached("UPDATE tasks SET delivery = ?2 WHERE id = ?1")?
            .execute(params![task.as_str(), raised.stored()])?;
    }
    Ok(raised)
}

/// Stores a heartbeat of an owner.
pub(crate) fn beat(transaction: &WriteTransaction<'_>, owner: &str, now: i64) -> Result<(), StoreRefusal> {
    let connection = transaction.connection;
    let fresh = connection
        .prepare_cached("UPDATE owners SET beat_ms = ?2 WHERE owner = ?1")?
        .execute(params![owner, now])?;
    if fresh == 0 {
        connection
            .prepare_cached("DELETE FROM owners WHERE beat_ms < ?1")?
            .execute([now.saturating_sub(SILENT_MS_MAX)])?;
        connection.prepare_cached("INSERT INTO owners VALUES (?1, ?2)")?.execute(params![owner, now])?;
    }
    Ok(())
}
