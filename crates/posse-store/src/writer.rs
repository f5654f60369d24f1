//! The one thread that writes. It takes everything that is queued, commits it as one transaction, then answers
//! everyone: many tasks share one fsync. A request that is refused is undone alone; a commit that fails is undone
//! for all, and the next group starts afresh.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use posse_core::context::Changed;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::usage::Usage;
use posse_core::{Error, ErrorCode, Result, text};
use posse_runtime::ports::{ChangeRequest, NewTask};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::oneshot;

use crate::context::{self, SessionChange};
use crate::fault::{self, Fault};
use crate::log::Log;
use crate::open::retry_busy;
use crate::signed;

/// Requests that may wait. Each driver waits for most of its appends, so this is far above what honest use needs;
/// beyond it the disk does not keep up and callers should hear it.
const QUEUE_MAX: usize = 4_096;

/// Requests in one transaction, so that other processes get their turn at the lock.
const GROUP_MAX: usize = 256;

/// Bytes of the task text that listings show.
const TITLE_BYTES: usize = 200;

/// An owner that was silent for a day is forgotten; nobody waits that long for one.
const SILENT_MS_MAX: i64 = 86_400_000;

type Reply<T> = oneshot::Sender<Result<T, Fault>>;

pub(crate) enum Request {
    Create { task: NewTask, reply: Reply<()> },
    Append { task: TaskId, epoch: u64, records: Vec<Record>, reply: Reply<()> },
    Claim { task: TaskId, from: Option<u64>, owner: String, reply: Reply<u64> },
    Cancel { task: TaskId, reply: Reply<()> },
    Beat { owner: String, now_ms: u64, reply: Reply<()> },
    Change { request: Box<ChangeRequest>, reply: Reply<Changed> },
    Session { session: String, change: SessionChange, now_ms: u64, reply: Reply<()> },
}

pub(crate) struct Writer {
    // Taken on drop: the thread ends when the queue is closed and empty.
    queue: Option<SyncSender<Request>>,
    thread: Option<JoinHandle<()>>,
}

/// The answer to a request that was queued, or why it was not.
pub(crate) struct Answer<T>(Result<oneshot::Receiver<Result<T, Fault>>, Fault>);

impl<T> Answer<T> {
    pub async fn wait(self) -> Result<T> {
        let answer = self.0?.await.map_err(|_| writer_ended())?;
        Ok(answer?)
    }
}

impl Writer {
    pub fn start(connection: Connection, path: PathBuf, busy_max: Duration) -> Result<Self> {
        let (queue, requests) = sync_channel(QUEUE_MAX);
        let thread = std::thread::Builder::new()
            .name("posse-store".to_owned())
            .spawn(move || write_all(&connection, &path, busy_max, &requests))
            .map_err(|e| {
                Error::new(ErrorCode::Internal, "the store's writer thread cannot be started").caused_by(e)
            })?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues at once and never waits.
    pub fn send<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().expect("the queue is closed only on drop");
        Answer(match queue.try_send(request(reply)) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full(_)) => {
                Err(Fault::new(ErrorCode::StoreBusy, format!("{QUEUE_MAX} writes are waiting for the store"))
                    .hint("the disk does not keep up; run fewer tasks at once"))
            }
            Err(TrySendError::Disconnected(_)) => Err(writer_ended()),
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // Its panic was reported to everyone who waited.
            let _ = thread.join();
        }
    }
}

fn writer_ended() -> Fault {
    Fault::new(ErrorCode::Internal, "the store's writer thread ended")
        .hint("restart the program; what was acknowledged is kept")
}

fn write_all(connection: &Connection, path: &Path, busy_max: Duration, requests: &Receiver<Request>) {
    let mut log = Log::of(path);
    while let Ok(first) = requests.recv() {
        let group = std::iter::once(first).chain(requests.try_iter()).take(GROUP_MAX);
        // Encoding happens before the lock is taken.
        let group: Vec<Job> = group.map(Job::from).collect();
        let answers = match commit(connection, path, busy_max, &mut log, &group) {
            Ok(answers) => answers,
            Err(fault) => vec![Err(fault); group.len()],
        };
        for (job, answer) in group.into_iter().zip(answers) {
            job.reply(answer);
        }
    }
}

/// What a request wrote.
#[derive(Debug, Clone)]
enum Written {
    Records,
    Epoch(u64),
    /// What somebody wants, or that somebody lives.
    Sign,
    Context(Changed),
    Session,
}

/// A request with its records encoded.
enum Job {
    Create { task: NewTask, entries: Entries, reply: Reply<()> },
    Append { task: TaskId, epoch: i64, entries: Entries, reply: Reply<()> },
    Claim { task: TaskId, from: Option<u64>, owner: String, reply: Reply<u64> },
    Cancel { task: TaskId, reply: Reply<()> },
    Beat { owner: String, now_ms: u64, reply: Reply<()> },
    Change { request: Box<ChangeRequest>, reply: Reply<Changed> },
    Session { session: String, change: SessionChange, now_ms: u64, reply: Reply<()> },
}

/// Records as they are stored, and what they change in the task's row.
struct Entries {
    rows: Vec<Entry>,
    input_tokens: i64,
    output_tokens: i64,
    turns: i64,
    /// Said by the last record that says it.
    status: Option<&'static str>,
}

struct Entry {
    kind: &'static str,
    payload: Vec<u8>,
    used: Option<(String, Usage)>,
}

impl From<Request> for Job {
    fn from(request: Request) -> Self {
        match request {
            Request::Create { task, reply } => {
                let entries = Entries::of(&task.records);
                Job::Create { task, entries, reply }
            }
            Request::Append { task, epoch, records, reply } => {
                Job::Append { task, epoch: signed(epoch), entries: Entries::of(&records), reply }
            }
            Request::Claim { task, from, owner, reply } => Job::Claim { task, from, owner, reply },
            Request::Cancel { task, reply } => Job::Cancel { task, reply },
            Request::Beat { owner, now_ms, reply } => Job::Beat { owner, now_ms, reply },
            Request::Change { request, reply } => Job::Change { request, reply },
            Request::Session { session, change, now_ms, reply } => {
                Job::Session { session, change, now_ms, reply }
            }
        }
    }
}

impl Job {
    /// Whoever stopped waiting does not hear it; what was written stays.
    fn reply(self, answer: Result<Written, Fault>) {
        match self {
            Job::Create { reply, .. }
            | Job::Append { reply, .. }
            | Job::Cancel { reply, .. }
            | Job::Beat { reply, .. }
            | Job::Session { reply, .. } => drop(reply.send(answer.map(|_| ()))),
            Job::Claim { reply, .. } => drop(reply.send(answer.map(|written| match written {
                Written::Epoch(epoch) => epoch,
                _ => unreachable!("a claim writes an epoch"),
            }))),
            Job::Change { reply, .. } => drop(reply.send(answer.map(|written| match written {
                Written::Context(changed) => changed,
                _ => unreachable!("a change writes to the context"),
            }))),
        }
    }
}

impl Entries {
    fn of(records: &[Record]) -> Self {
        let mut spent = Usage::default();
        let mut entries = Entries {
            rows: Vec::with_capacity(records.len()),
            input_tokens: 0,
            output_tokens: 0,
            turns: 0,
            status: None,
        };
        for record in records {
            let mut used = None;
            match record {
                Record::Replied { reply, .. } => {
                    spent.add(&reply.usage);
                    spent.add(&reply.lost);
                    entries.turns += 1;
                    used = Some((reply.model.clone(), reply.usage));
                }
                Record::Unanswered { failure, .. } => spent.add(&failure.lost),
                Record::Finished { outcome, .. } => entries.status = Some(outcome.status().wire()),
                Record::Resumed { .. } | Record::Said { .. } => entries.status = Some("running"),
                Record::Started(_)
                | Record::Asked { .. }
                | Record::Intended { .. }
                | Record::Done { .. }
                | Record::Checked { .. }
                | Record::Verifying { .. }
                | Record::Verified { .. }
                | Record::Withdrawn { .. }
                | Record::Steered { .. }
                | Record::BudgetSpent { .. }
                | Record::Cancelled { .. } => {}
            }
            entries.rows.push(Entry { kind: record.kind(), payload: record.encode(), used });
        }
        entries.input_tokens = signed(spent.input);
        entries.output_tokens = signed(spent.output);
        entries
    }
}

/// Either every answer is durable, or nothing of the group was written.
fn commit(
    connection: &Connection,
    path: &Path,
    busy_max: Duration,
    log: &mut Log,
    group: &[Job],
) -> Result<Vec<Result<Written, Fault>>, Fault> {
    let failed = |e| fault::from_sqlite(path, connection, e);
    retry_busy(busy_max, || run(connection, "BEGIN IMMEDIATE")).map_err(failed)?;
    log.make_room();
    let written = write_group(connection, path, group).and_then(|answers| {
        run(connection, "COMMIT").map_err(failed)?;
        Ok(answers)
    });
    if written.is_err() && !connection.is_autocommit() {
        // If even this fails, the next `BEGIN` reports it.
        let _ = run(connection, "ROLLBACK");
    }
    written
}

fn write_group(
    connection: &Connection,
    path: &Path,
    group: &[Job],
) -> Result<Vec<Result<Written, Fault>>, Fault> {
    let failed = |e| fault::from_sqlite(path, connection, e);
    let now = now_ms();
    let mut answers = Vec::with_capacity(group.len());
    // What is alone in its transaction is undone with it.
    let alone = group.len() == 1;
    for job in group {
        if !alone {
            run(connection, "SAVEPOINT job").map_err(failed)?;
        }
        let answer = match write(connection, job, now) {
            Ok(answer) => answer,
            Err(e) => Err(failed(e)),
        };
        if let Err(fault) = &answer {
            if alone || concerns_all(fault.code) || connection.is_autocommit() {
                return Err(fault.clone());
            }
            run(connection, "ROLLBACK TO job").map_err(failed)?;
        }
        if !alone {
            run(connection, "RELEASE job").map_err(failed)?;
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// A fault of the file, not of the request.
fn concerns_all(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DiskFull | ErrorCode::StoreBusy | ErrorCode::StoreCorrupt | ErrorCode::StoreUnavailable
    )
}

fn write(connection: &Connection, job: &Job, now: i64) -> rusqlite::Result<Result<Written, Fault>> {
    match job {
        Job::Create { task, entries, .. } => create(connection, task, entries, now),
        Job::Append { task, epoch, entries, .. } => append(connection, task, *epoch, entries, now),
        Job::Claim { task, from, owner, .. } => claim(connection, task, *from, owner, now),
        Job::Cancel { task, .. } => cancel(connection, task, now),
        Job::Beat { owner, now_ms, .. } => beat(connection, owner, signed(*now_ms)),
        Job::Change { request, .. } => Ok(context::change(connection, request)?.map(Written::Context)),
        Job::Session { session, change, now_ms, .. } => {
            Ok(context::change_session(connection, session, *change, *now_ms)?.map(|()| Written::Session))
        }
    }
}

fn create(
    connection: &Connection,
    task: &NewTask,
    entries: &Entries,
    now: i64,
) -> rusqlite::Result<Result<Written, Fault>> {
    let title = task.records.iter().find_map(|record| match record {
        Record::Started(start) => Some(text::prefix(&start.task, TITLE_BYTES)),
        _ => None,
    });
    let created = connection
        .prepare_cached(
            "INSERT INTO tasks (id, parent, agent, title, status, owner, epoch, next_seq, created_ms, updated_ms,
                                input_tokens, output_tokens, turns)
             VALUES (?1, ?2, ?3, ?4, 'running', ?5, 1, 0, ?6, ?6, 0, 0, 0) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            task.id.as_str(),
            task.parent.as_ref().map(TaskId::as_str),
            task.agent,
            title.unwrap_or_default(),
            task.owner,
            now
        ])?;
    if created == 0 {
        return Ok(Err(Fault::new(
            ErrorCode::InvalidRequest,
            format!("the store already has a task `{}`", task.id),
        )
        .hint("choose another id, or resume the task that has it")));
    }
    context::ensure_session(connection, task.id.session(), now)?;
    append(connection, &task.id, 1, entries, now)
}

fn append(
    connection: &Connection,
    task: &TaskId,
    epoch: i64,
    entries: &Entries,
    now: i64,
) -> rusqlite::Result<Result<Written, Fault>> {
    // One statement checks the epoch, hands out the places and keeps the sums; the sums stop at the largest number.
    let end: Option<i64> = connection
        .prepare_cached(
            "UPDATE tasks SET next_seq = next_seq + ?3, turns = turns + ?4, updated_ms = ?5,
                 input_tokens = min(input_tokens, 9223372036854775807 - ?6) + ?6,
                 output_tokens = min(output_tokens, 9223372036854775807 - ?7) + ?7
             WHERE id = ?1 AND epoch = ?2 RETURNING (number << 32) + next_seq",
        )?
        .query_row(
            params![
                task.as_str(),
                epoch,
                entries.rows.len() as i64,
                entries.turns,
                now,
                entries.input_tokens,
                entries.output_tokens
            ],
            |row| row.get(0),
        )
        .optional()?;
    let Some(end) = end else {
        return why_not_advanced(connection, task, epoch).map(Err);
    };
    for (position, entry) in (end - entries.rows.len() as i64..).zip(&entries.rows) {
        insert(connection, position, entry, now)?;
    }
    if let Some(status) = entries.status {
        // Apart from the above, which would otherwise write to the index of what is running every time.
        connection
            .prepare_cached(
                "UPDATE tasks SET status = ?2, cancel_ms = CASE ?2 WHEN 'running' THEN cancel_ms END WHERE id = ?1",
            )?
            .execute([task.as_str(), status])?;
    }
    Ok(Ok(Written::Records))
}

fn insert(connection: &Connection, position: i64, entry: &Entry, now: i64) -> rusqlite::Result<()> {
    let used = entry.used.as_ref();
    let count = |of: fn(&Usage) -> u64| used.map(|(_, usage)| signed(of(usage)));
    connection
        .prepare_cached("INSERT INTO journal VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute(params![
            position,
            entry.kind,
            now,
            used.map(|(model, _)| model),
            count(|usage| usage.input),
            count(|usage| usage.output),
            count(|usage| usage.cache_read),
            count(|usage| usage.cache_write),
            count(|usage| usage.reasoning),
            entry.payload
        ])
        .map(drop)
}

fn why_not_advanced(connection: &Connection, task: &TaskId, epoch: i64) -> rusqlite::Result<Fault> {
    let current: Option<(i64, String)> = connection
        .prepare_cached("SELECT epoch, owner FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(match current {
        None => fault::task_not_found(task),
        Some((current, owner)) => Fault::new(
            ErrorCode::OwnerLost,
            format!("task `{task}` is driven by `{owner}` at epoch {current}; this driver had epoch {epoch}"),
        )
        .hint("stop this run; the other driver goes on with the task"),
    })
}

fn claim(
    connection: &Connection,
    task: &TaskId,
    from: Option<u64>,
    owner: &str,
    now: i64,
) -> rusqlite::Result<Result<Written, Fault>> {
    let epoch: Option<i64> = connection
        .prepare_cached(
            "UPDATE tasks SET epoch = epoch + 1, owner = ?2, updated_ms = ?3
             WHERE id = ?1 AND epoch = coalesce(?4, epoch) RETURNING epoch",
        )?
        .query_row(params![task.as_str(), owner, now, from.map(signed)], |row| row.get(0))
        .optional()?;
    match epoch {
        Some(epoch) => Ok(Ok(Written::Epoch(epoch.unsigned_abs()))),
        None => why_not_advanced(connection, task, from.map_or(0, signed)).map(Err),
    }
}

fn cancel(connection: &Connection, task: &TaskId, now: i64) -> rusqlite::Result<Result<Written, Fault>> {
    let found = connection
        .prepare_cached(
            "UPDATE tasks SET cancel_ms = CASE status WHEN 'running' THEN coalesce(cancel_ms, ?2) END WHERE id = ?1",
        )?
        .execute(params![task.as_str(), now])?;
    Ok(if found == 0 { Err(fault::task_not_found(task)) } else { Ok(Written::Sign) })
}

fn beat(connection: &Connection, owner: &str, now: i64) -> rusqlite::Result<Result<Written, Fault>> {
    let fresh = connection
        .prepare_cached("UPDATE owners SET beat_ms = ?2 WHERE owner = ?1")?
        .execute(params![owner, now])?;
    if fresh == 0 {
        connection
            .prepare_cached("DELETE FROM owners WHERE beat_ms < ?1")?
            .execute([now.saturating_sub(SILENT_MS_MAX)])?;
        connection.prepare_cached("INSERT INTO owners VALUES (?1, ?2)")?.execute(params![owner, now])?;
    }
    Ok(Ok(Written::Sign))
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
