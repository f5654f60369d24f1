//! What a group of jobs writes, as one transaction: many tasks share one fsync. A job that is refused is undone alone; a
//! commit that fails is undone for all, and the next group starts afresh.

use std::path::PathBuf;
use std::slice;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use posse_core::approval::ParkedCall;
use posse_core::context::ChangeResult;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::lease::WritePaths;
use posse_core::{ErrorCode, Result};
use posse_runtime::ports::{
    ChangeRequest, LeaseRequest, MessageReceipt, NewTask, ResultDelivery, TaskQuestion,
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::approvals::{self, ApprovalAct};
use crate::context::{self, SessionChange};
use crate::fault::{self, StoreFault};
use crate::journal::{self, EncodedRecords, JournalStatements, SequenceCache};
use crate::leases;
use crate::messages::{self, MessageAct};
use crate::open::retry_busy;
use crate::signed;

/// An owner that was silent for a day is forgotten; nobody waits that long for one.
const SILENT_MS_MAX: i64 = 86_400_000;

/// Result of a write job.
#[derive(Debug, Clone)]
pub(crate) enum JobResult {
    Records,
    Epoch(u64),
    /// Fencing token of a lease.
    Token(u64),
    /// A cancel request or a heartbeat was stored.
    Sign,
    Context(ChangeResult),
    Session,
    Delivery(ResultDelivery),
    Approval(Option<Box<ParkedCall>>),
    Receipt(MessageReceipt),
    Question(TaskQuestion),
    Answered(Option<TaskQuestion>),
}

/// A write job with its records encoded.
pub(crate) enum WriteJob {
    Create {
        task: NewTask,
        entries: EncodedRecords,
    },
    Append {
        task: TaskId,
        epoch: i64,
        entries: EncodedRecords,
    },
    /// `from`: only if it is still at this epoch.
    Claim {
        task: TaskId,
        from: Option<u64>,
        owner: String,
    },
    Cancel {
        task: TaskId,
    },
    Deliver {
        task: TaskId,
        delivery: ResultDelivery,
    },
    Lease {
        task: TaskId,
        epoch: i64,
        request: LeaseRequest,
    },
    EndLease {
        task: TaskId,
        token: u64,
    },
    BeginCommand {
        task: TaskId,
        epoch: i64,
        places: WritePaths,
        now_ms: u64,
    },
    EndCommand {
        task: TaskId,
        token: u64,
    },
    Beat {
        owner: String,
        now_ms: u64,
    },
    Change(Box<ChangeRequest>),
    Approval(ApprovalAct),
    Message(MessageAct),
    Session {
        session: String,
        change: SessionChange,
        now_ms: u64,
    },
}

impl WriteJob {
    /// Creates a job that inserts a task.
    pub fn create(task: NewTask) -> Self {
        let entries = EncodedRecords::of(&task.records);
        WriteJob::Create { task, entries }
    }

    /// Creates a job that appends records.
    pub fn append(task: TaskId, epoch: u64, records: &[Record]) -> Self {
        WriteJob::Append { task, epoch: signed(epoch), entries: EncodedRecords::of(records) }
    }
}

/// The connection that writes, and what is known about the work on it.
pub(crate) struct GroupCommitter {
    connection: Connection,
    path: PathBuf,
    busy_max: Duration,
    known: SequenceCache,
    #[cfg(test)]
    commits: usize,
}

impl GroupCommitter {
    /// Creates the committer on the writing connection.
    pub fn new(connection: Connection, path: PathBuf, busy_max: Duration) -> Self {
        Self {
            connection,
            path,
            busy_max,
            known: SequenceCache::default(),
            #[cfg(test)]
            commits: 0,
        }
    }

    /// Commits a group, waiting for other processes if it must. Either every answer is durable, or nothing of the group
    /// was written.
    pub fn commit(&mut self, group: &[WriteJob]) -> Vec<Result<JobResult, StoreFault>> {
        let begun = retry_busy(self.busy_max, || run(&self.connection, "BEGIN IMMEDIATE"));
        match begun {
            Ok(()) => self.write_and_commit(group),
            Err(e) => vec![Err(self.failed(e)); group.len()],
        }
    }

    /// Number of transactions so far.
    #[cfg(test)]
    pub fn commits(&self) -> usize {
        self.commits
    }

    /// Writes the group inside of an open transaction and commits it.
    fn write_and_commit(&mut self, group: &[WriteJob]) -> Vec<Result<JobResult, StoreFault>> {
        let written = self.write_group(group).and_then(|answers| {
            self.run("COMMIT")?;
            Ok(answers)
        });
        if written.is_err() {
            self.known.forget();
            if !self.connection.is_autocommit() {
                // If even this fails, the next `BEGIN` reports it.
                let _ = run(&self.connection, "ROLLBACK");
            }
        }
        #[cfg(test)]
        {
            self.commits += 1;
        }
        written.unwrap_or_else(|fault| vec![Err(fault); group.len()])
    }

    fn write_group(&mut self, group: &[WriteJob]) -> Result<Vec<Result<JobResult, StoreFault>>, StoreFault> {
        let now = now_ms();
        self.known.forget_what_others_changed(&self.connection).map_err(|e| self.failed(e))?;
        // Almost always all of them are written, and then none has to be undone alone.
        match self.write_together(group, now) {
            Ok(written) => Ok(written.into_iter().map(Ok).collect()),
            Err(fault) if group.len() == 1 || concerns_all(fault.code) => Err(fault),
            Err(_) => {
                self.known.forget();
                self.run("ROLLBACK")?;
                retry_busy(self.busy_max, || run(&self.connection, "BEGIN IMMEDIATE"))
                    .map_err(|e| self.failed(e))?;
                group.iter().map(|job| self.write_apart(job, now)).collect()
            }
        }
    }

    fn write_together(&mut self, group: &[WriteJob], now: i64) -> Result<Vec<JobResult>, StoreFault> {
        let Self { connection, path, known, .. } = self;
        let statements = JournalStatements::new(connection);
        let failed = |e| Err(fault::from_sqlite(path, e));
        group.iter().map(|job| write(&statements, known, job, now).unwrap_or_else(failed)).collect()
    }

    /// `Err`: nothing of the group can be written.
    fn write_apart(&mut self, job: &WriteJob, now: i64) -> Result<Result<JobResult, StoreFault>, StoreFault> {
        self.run("SAVEPOINT job")?;
        let answer = self.write_together(slice::from_ref(job), now).map(|mut written| written.remove(0));
        if let Err(fault) = &answer {
            if concerns_all(fault.code) || self.connection.is_autocommit() {
                return Err(fault.clone());
            }
            self.known.forget();
            self.run("ROLLBACK TO job")?;
        }
        self.run("RELEASE job")?;
        Ok(answer)
    }

    fn run(&self, sql: &str) -> Result<(), StoreFault> {
        run(&self.connection, sql).map_err(|e| self.failed(e))
    }

    fn failed(&self, error: rusqlite::Error) -> StoreFault {
        fault::from_sqlite(&self.path, error)
    }
}

/// A fault of the file, not of the request.
fn concerns_all(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DiskFull | ErrorCode::StoreBusy | ErrorCode::StoreCorrupt | ErrorCode::StoreUnavailable
    )
}

fn write(
    statements: &JournalStatements<'_>,
    known: &mut SequenceCache,
    job: &WriteJob,
    now: i64,
) -> rusqlite::Result<Result<JobResult, StoreFault>> {
    let connection = statements.connection;
    if !matches!(job, WriteJob::Create { .. } | WriteJob::Append { .. } | WriteJob::Beat { .. }) {
        known.forget();
    }
    match job {
        WriteJob::Create { task, entries } => journal::create(statements, known, task, entries, now),
        WriteJob::Append { task, epoch, entries } => {
            journal::append(statements, known, task, *epoch, entries, now)
        }
        WriteJob::Claim { task, from, owner } => journal::claim(connection, task, *from, owner, now),
        WriteJob::Cancel { task } => cancel(connection, task, now),
        WriteJob::Deliver { task, delivery } => deliver(connection, task, delivery),
        WriteJob::Lease { task, epoch, request } => leases::acquire(connection, task, *epoch, request),
        WriteJob::EndLease { task, token } => {
            leases::delete(connection, task, *token).map(|()| Ok(JobResult::Sign))
        }
        WriteJob::BeginCommand { task, epoch, places, now_ms } => {
            leases::begin_command(connection, task, *epoch, places, signed(*now_ms))
        }
        WriteJob::EndCommand { task, token } => {
            leases::end_command(connection, task, *token).map(|()| Ok(JobResult::Sign))
        }
        WriteJob::Beat { owner, now_ms } => beat(connection, owner, signed(*now_ms)),
        WriteJob::Change(request) => Ok(context::change(connection, request)?.map(JobResult::Context)),
        WriteJob::Approval(act) => {
            Ok(approvals::write(connection, act)?.map(|parked| JobResult::Approval(parked.map(Box::new))))
        }
        WriteJob::Message(act) => messages::write(connection, act),
        WriteJob::Session { session, change, now_ms } => {
            Ok(context::change_session(connection, session, change, *now_ms)?.map(|()| JobResult::Session))
        }
    }
}

fn cancel(
    connection: &Connection,
    task: &TaskId,
    now: i64,
) -> rusqlite::Result<Result<JobResult, StoreFault>> {
    let found = connection
        .prepare_cached(
            "UPDATE tasks SET cancel_ms = CASE status WHEN 'running' THEN coalesce(cancel_ms, ?2) END WHERE id = ?1",
        )?
        .execute(params![task.as_str(), now])?;
    Ok(if found == 0 { Err(fault::task_not_found(task)) } else { Ok(JobResult::Sign) })
}

/// Inside the transaction that writes, so that of several collectors the first is the only one.
fn deliver(
    connection: &Connection,
    task: &TaskId,
    next: &ResultDelivery,
) -> rusqlite::Result<Result<JobResult, StoreFault>> {
    let now: Option<Option<String>> = connection
        .prepare_cached("SELECT delivery FROM tasks WHERE id = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    let Some(now) = now else { return Ok(Err(fault::task_not_found(task))) };
    let now = ResultDelivery::from_store(now.as_deref());
    let raised = now.raised_to(next);
    if raised != now {
        connection
            .prepare_cached("UPDATE tasks SET delivery = ?2 WHERE id = ?1")?
            .execute(params![task.as_str(), raised.stored()])?;
    }
    Ok(Ok(JobResult::Delivery(raised)))
}

fn beat(connection: &Connection, owner: &str, now: i64) -> rusqlite::Result<Result<JobResult, StoreFault>> {
    let fresh = connection
        .prepare_cached("UPDATE owners SET beat_ms = ?2 WHERE owner = ?1")?
        .execute(params![owner, now])?;
    if fresh == 0 {
        connection
            .prepare_cached("DELETE FROM owners WHERE beat_ms < ?1")?
            .execute([now.saturating_sub(SILENT_MS_MAX)])?;
        connection.prepare_cached("INSERT INTO owners VALUES (?1, ?2)")?.execute(params![owner, now])?;
    }
    Ok(Ok(JobResult::Sign))
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_core::outcome::StopReason;
    use posse_core::reply::Reply;
    use posse_core::usage::Usage;
    use posse_testkit::store_suite::{asked, finished, new_task, replied, wants};

    fn committer(directory: &tempfile::TempDir) -> GroupCommitter {
        let path = crate::open::prepare_file(&directory.path().join("posse.db")).unwrap();
        let connection = crate::open::connect(&path, Duration::from_secs(1)).unwrap();
        GroupCommitter::new(connection, path, Duration::from_secs(1))
    }

    fn next(task: &str) -> WriteJob {
        WriteJob::append(TaskId::root(task), 1, &[asked(1)])
    }

    #[test]
    fn what_is_refused_is_undone_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut committer = committer(&directory);
        let group =
            [WriteJob::create(new_task("a")), next("unknown"), next("a"), WriteJob::create(new_task("a"))];
        let written: Vec<bool> = committer.commit(&group).iter().map(Result::is_ok).collect();
        assert_eq!(written, [true, false, true, false]);
        assert_eq!(rows(&committer), 2);
    }

    fn rows(committer: &GroupCommitter) -> i64 {
        committer.connection.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_is_known_of_a_task_is_forgotten_when_it_was_undone_or_others_write() {
        let directory = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (committer(&directory), committer(&directory));
        assert!(one.commit(&[WriteJob::create(new_task("a"))])[0].is_ok());
        let append = |committer: &mut GroupCommitter| committer.commit(&[next("a")])[0].is_ok();
        assert!(append(&mut one) && append(&mut other) && append(&mut one));
        let undone = one.commit(&[next("a"), next("unknown"), next("a")]);
        assert!(undone[0].is_ok() && undone[1].is_err() && undone[2].is_ok());
        assert!(append(&mut one));
        assert_eq!(rows(&one), 7);

        // A new driver, by this connection or by another, stops the old one at once.
        let claim =
            |epoch| WriteJob::Claim { task: TaskId::root("a"), from: Some(epoch), owner: "b".to_owned() };
        assert!(one.commit(&[claim(1), next("a")])[1].is_err());
        let at = |epoch| WriteJob::append(TaskId::root("a"), epoch, &[asked(1)]);
        assert!(one.commit(&[at(2)])[0].is_ok());
        assert!(other.commit(&[claim(2)])[0].is_ok());
        assert!(one.commit(&[at(2)])[0].is_err());
        assert!(one.commit(&[at(3)])[0].is_ok());
        assert_eq!(rows(&one), 9);
    }

    #[test]
    fn an_ordinary_append_leaves_the_row_alone_and_the_rest_stays_small() {
        let directory = tempfile::tempdir().unwrap();
        let mut committer = committer(&directory);
        committer.commit(&[WriteJob::create(new_task("a"))]);
        let mut times = 0;
        let mut counted = 0;
        for records in 2..1_000 {
            assert!(committer.commit(&[next("a")])[0].is_ok());
            let now: i64 =
                committer.connection.query_row("SELECT counted FROM tasks", [], |row| row.get(0)).unwrap();
            assert!(
                records - now <= journal::UNCOUNTED_MAX,
                "a listing would have {} records to add",
                records - now
            );
            times += u32::from(now != counted);
            counted = now;
        }
        assert_eq!(times, 15);
    }

    #[test]
    fn a_row_has_the_sums_of_its_records_whoever_wrote_them() {
        let directory = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (committer(&directory), committer(&directory));
        let append = |records: &[Record]| WriteJob::append(TaskId::root("a"), 1, records);
        // Nothing was lost before it, so the row of the task is left alone.
        let reply = |input, output| match replied("", input, output) {
            Record::Replied { turn, reply, elapsed_ms } => {
                Record::Replied { turn, reply: Reply { lost: Usage::default(), ..reply }, elapsed_ms }
            }
            other => other,
        };
        let ended = finished(StopReason::Answered, "");
        let groups: [(bool, &[WriteJob]); 5] = [
            (
                true,
                &[WriteJob::create(new_task("a")), append(&[asked(1)]), append(&[reply(1, 10), asked(2)])],
            ),
            (true, &[append(&[reply(2, 20)]), append(&[reply(3, 30), ended.clone()])]),
            (true, &[append(&[reply(4, 40), asked(5)])]),
            (false, &[append(&[reply(5, 50), asked(6)])]),
            (true, &[append(&[reply(6, 60), asked(7)]), append(&[reply(7, 70), ended])]),
        ];
        for (by_one, group) in groups {
            let committer = if by_one { &mut one } else { &mut other };
            assert!(committer.commit(group).iter().all(Result::is_ok));
        }
        let sql = "SELECT turns, input_tokens, output_tokens FROM tasks";
        let sums = one.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        assert_eq!(sums.unwrap(), (7, 28, 280));
    }

    #[test]
    fn what_a_task_held_ends_with_it_whoever_gave_it() {
        let directory = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (committer(&directory), committer(&directory));
        let end = |task: &str| WriteJob::append(TaskId::root(task), 1, &[finished(StopReason::Answered, "")]);
        let holder =
            |task: &str| WriteJob::create(NewTask { lease: Some(wants(&[task], 1)), ..new_task(task) });
        let held = |committer: &GroupCommitter| -> i64 {
            committer.connection.query_row("SELECT count(*) FROM leases", [], |row| row.get(0)).unwrap()
        };
        // Nothing is held at first, then something is, by the same commit and by another process.
        let group = [WriteJob::create(new_task("a")), end("a"), holder("b"), holder("c")];
        assert!(one.commit(&group).iter().all(Result::is_ok));
        assert_eq!(held(&one), 2);
        assert!(one.commit(&[end("b"), end("c")]).iter().all(Result::is_ok));
        assert_eq!(held(&one), 0);
        assert!(one.commit(&[WriteJob::create(new_task("d"))])[0].is_ok());
        let task = TaskId::root("d");
        assert!(other.commit(&[WriteJob::Lease { task, epoch: 1, request: wants(&["d"], 1) }])[0].is_ok());
        assert_eq!(held(&one), 1);
        assert!(one.commit(&[end("d")])[0].is_ok());
        assert_eq!(held(&one), 0);
    }

    #[test]
    fn what_many_tasks_append_at_once_is_written_into_few_pages() {
        let directory = tempfile::tempdir().unwrap();
        let mut committer = committer(&directory);
        let tasks: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
        committer.commit(&tasks.iter().map(|task| WriteJob::create(new_task(task))).collect::<Vec<_>>());
        let pages = |committer: &GroupCommitter| {
            let copied = committer.connection.query_row("PRAGMA wal_checkpoint", [], |row| row.get(1));
            copied.unwrap_or(i64::MAX)
        };
        pages(&committer);
        let written = committer.commit(&tasks.iter().map(|task| next(task)).collect::<Vec<_>>());
        assert!(written.iter().all(Result::is_ok));
        // Where the rows of a task lie together it is sixteen, and one for each task when they are longer.
        assert!(pages(&committer) < 12, "{} pages", pages(&committer));
    }

    #[test]
    fn no_statement_goes_through_the_whole_journal() {
        let directory = tempfile::tempdir().unwrap();
        let committer = committer(&directory);
        let rows = format!("{} WHERE id = ?1 GROUP BY number", crate::reader::ROWS);
        for sql in [journal::PLACE, journal::COUNT_EARLIER, &rows] {
            let mut plan = committer.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let count = plan.parameter_count();
            let steps = plan.query_map(rusqlite::params_from_iter(vec![0; count]), |row| row.get(3)).unwrap();
            let steps = steps.collect::<rusqlite::Result<Vec<String>>>().unwrap().join("\n");
            assert!(steps.contains("SEARCH journal") && !steps.contains("SCAN"), "{sql}\n{steps}");
        }
    }

    #[test]
    fn what_was_rolled_back_is_not_written_over_what_others_committed() {
        let directory = tempfile::tempdir().unwrap();
        let (one, mut other) = (committer(&directory), committer(&directory));
        assert!(other.commit(&[WriteJob::create(new_task("a"))])[0].is_ok());
        let sql = |sql: &str| one.connection.execute_batch(sql).unwrap();
        sql("PRAGMA wal_checkpoint(RESTART)");
        // A little more than the writer keeps in memory.
        sql("BEGIN IMMEDIATE");
        for task in 2..56 {
            sql(&format!(
                "INSERT INTO journal (position, kind, at_ms, payload) VALUES ({task} << 32, 'x', 0, zeroblob(9000))"
            ));
        }
        sql("ROLLBACK");
        for _ in 0..5 {
            assert!(other.commit(&[next("a")])[0].is_ok());
        }
        assert_eq!(rows(&one), 6);
        let fresh = committer(&directory);
        assert_eq!(rows(&fresh), 6);
        crate::open::integrity(&fresh.connection, &fresh.path).unwrap();
    }
}
