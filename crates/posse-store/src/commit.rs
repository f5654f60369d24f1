//! Group commit: a group of jobs is one transaction, so that many tasks share one fsync. A refused job is rolled back
//! alone; a failed commit is rolled back for all, and the next group starts afresh.

use std::path::PathBuf;
use std::slice;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use posse_core::{Error, ErrorCode, Result};
use rusqlite::Connection;

use crate::fault::{self, StoreRefusal};
use crate::journal::{SequenceCache, WriteTransaction};
use crate::open::retry_busy;

/// A write that waits for its commit. It is repeated if others of its group are refused.
pub(crate) trait WriteJob: Send {
    /// Writes inside the open transaction.
    fn write(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), StoreRefusal>;

    /// Answers the caller, after the commit.
    fn answer(&mut self, committed: Result<()>);
}

/// A job in the queue.
pub(crate) type QueuedJob = Box<dyn WriteJob>;

/// The writing connection, with its caches and counters.
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
    pub fn commit(&mut self, group: &mut [QueuedJob]) -> Vec<Result<()>> {
        let written = self.begin().and_then(|()| self.write_group(group)).and_then(|answers| {
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

    /// Number of transactions so far.
    #[cfg(test)]
    pub fn commits(&self) -> usize {
        self.commits
    }

    fn begin(&self) -> Result<()> {
        let begun = retry_busy(self.busy_max, || run(&self.connection, "BEGIN IMMEDIATE"));
        begun.map_err(|e| self.failed(e))
    }

    fn write_group(&mut self, group: &mut [QueuedJob]) -> Result<Vec<Result<()>>> {
        let now = now_ms();
        self.known.forget_what_others_changed(&self.connection).map_err(|e| self.failed(e))?;
        // Almost always all jobs succeed, and no savepoint is needed.
        match self.write_together(group, now) {
            Ok(()) => Ok(vec![Ok(()); group.len()]),
            Err(fault) if group.len() == 1 || concerns_all(fault.code()) => Err(fault),
            Err(_) => {
                self.known.forget();
                self.run("ROLLBACK")?;
                self.begin()?;
                group.iter_mut().map(|job| self.write_apart(job, now)).collect()
            }
        }
    }

    fn write_together(&mut self, group: &mut [QueuedJob], now: i64) -> Result<()> {
        let mut transaction = WriteTransaction::new(&self.connection, &mut self.known, now);
        let mut written = group.iter_mut().map(|job| job.write(&mut transaction));
        written.try_for_each(|written| written.map_err(|refusal| refusal.into_error(&self.path)))
    }

    /// Writes one job under a savepoint. `Err`: nothing of the group can be written.
    fn write_apart(&mut self, job: &mut QueuedJob, now: i64) -> Result<Result<()>> {
        self.run("SAVEPOINT job")?;
        let answer = self.write_together(slice::from_mut(job), now);
        if let Err(fault) = &answer {
            if concerns_all(fault.code()) || self.connection.is_autocommit() {
                return Err(fault.clone());
            }
            self.known.forget();
            self.run("ROLLBACK TO job")?;
        }
        self.run("RELEASE job")?;
        Ok(answer)
    }

    fn run(&self, sql: &str) -> Result<()> {
        run(&self.connection, sql).map_err(|e| self.failed(e))
    }

    fn failed(&self, error: rusqlite::Error) -> Error {
        fault::from_sqlite(&self.path, error)
    }
}

/// Tells whether the fault is of the file, not of the request.
fn concerns_all(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DiskFull | ErrorCode::StoreBusy | ErrorCode::StoreCorrupt | ErrorCode::StoreUnavailable
    )
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
    use crate::writer::queued;
    use crate::{journal, leases};
    use posse_core::id::TaskId;
    use posse_core::journal::Record;
    use posse_core::outcome::StopReason;
    use posse_core::reply::Reply;
    use posse_core::usage::Usage;
    use posse_runtime::ports::NewTask;
    use posse_testkit::store_suite::{asked, finished, new_task, replied, wants};

    fn committer(directory: &tempfile::TempDir) -> GroupCommitter {
        let path = crate::open::prepare_file(&directory.path().join("posse.db")).unwrap();
        let connection = crate::open::connect(&path, Duration::from_secs(1)).unwrap();
        GroupCommitter::new(connection, path, Duration::from_secs(1))
    }

    fn create(task: NewTask) -> QueuedJob {
        queued(journal::creation(task)).0
    }

    fn append(task: &str, epoch: u64, records: &[Record]) -> QueuedJob {
        queued(journal::appending(TaskId::root(task), epoch, records)).0
    }

    fn next(task: &str) -> QueuedJob {
        append(task, 1, &[asked(1)])
    }

    #[test]
    fn what_is_refused_is_undone_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut committer = committer(&directory);
        let mut group = [create(new_task("a")), next("unknown"), next("a"), create(new_task("a"))];
        let written: Vec<bool> = committer.commit(&mut group).iter().map(Result::is_ok).collect();
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
        assert!(one.commit(&mut [create(new_task("a"))])[0].is_ok());
        let advance = |committer: &mut GroupCommitter| committer.commit(&mut [next("a")])[0].is_ok();
        assert!(advance(&mut one) && advance(&mut other) && advance(&mut one));
        let undone = one.commit(&mut [next("a"), next("unknown"), next("a")]);
        assert!(undone[0].is_ok() && undone[1].is_err() && undone[2].is_ok());
        assert!(advance(&mut one));
        assert_eq!(rows(&one), 7);

        // A new driver, by this connection or by another, stops the old one at once.
        let claim = |epoch| {
            queued(move |transaction| {
                let (connection, now) = (transaction.connection(), transaction.now);
                journal::claim(connection, &TaskId::root("a"), Some(epoch), "b", now)
            })
            .0
        };
        assert!(one.commit(&mut [claim(1), next("a")])[1].is_err());
        let at = |epoch| append("a", epoch, &[asked(1)]);
        assert!(one.commit(&mut [at(2)])[0].is_ok());
        assert!(other.commit(&mut [claim(2)])[0].is_ok());
        assert!(one.commit(&mut [at(2)])[0].is_err());
        assert!(one.commit(&mut [at(3)])[0].is_ok());
        assert_eq!(rows(&one), 9);
    }

    #[test]
    fn an_ordinary_append_leaves_the_row_alone_and_the_rest_stays_small() {
        let directory = tempfile::tempdir().unwrap();
        let mut committer = committer(&directory);
        committer.commit(&mut [create(new_task("a"))]);
        let mut times = 0;
        let mut counted = 0;
        for records in 2..1_000 {
            assert!(committer.commit(&mut [next("a")])[0].is_ok());
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
        let append = |records: &[Record]| append("a", 1, records);
        // Nothing was lost before it, so the row of the task is left alone.
        let reply = |input, output| match replied("", input, output) {
            Record::Replied { turn, reply, elapsed_ms } => {
                Record::Replied { turn, reply: Reply { lost: Usage::default(), ..reply }, elapsed_ms }
            }
            other => other,
        };
        let ended = finished(StopReason::Answered, "");
        let groups: [(bool, Vec<QueuedJob>); 5] = [
            (true, vec![create(new_task("a")), append(&[asked(1)]), append(&[reply(1, 10), asked(2)])]),
            (true, vec![append(&[reply(2, 20)]), append(&[reply(3, 30), ended.clone()])]),
            (true, vec![append(&[reply(4, 40), asked(5)])]),
            (false, vec![append(&[reply(5, 50), asked(6)])]),
            (true, vec![append(&[reply(6, 60), asked(7)]), append(&[reply(7, 70), ended])]),
        ];
        for (by_one, mut group) in groups {
            let committer = if by_one { &mut one } else { &mut other };
            assert!(committer.commit(&mut group).iter().all(Result::is_ok));
        }
        let sql = "SELECT turns, input_tokens, output_tokens FROM tasks";
        let sums = one.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        assert_eq!(sums.unwrap(), (7, 28, 280));
    }

    #[test]
    fn what_a_task_held_ends_with_it_whoever_gave_it() {
        let directory = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (committer(&directory), committer(&directory));
        let end = |task: &str| append(task, 1, &[finished(StopReason::Answered, "")]);
        let holder = |task: &str| create(NewTask { lease: Some(wants(&[task], 1)), ..new_task(task) });
        let held = |committer: &GroupCommitter| -> i64 {
            committer.connection.query_row("SELECT count(*) FROM leases", [], |row| row.get(0)).unwrap()
        };
        // Nothing is held at first, then something is, by the same commit and by another process.
        let mut group = [create(new_task("a")), end("a"), holder("b"), holder("c")];
        assert!(one.commit(&mut group).iter().all(Result::is_ok));
        assert_eq!(held(&one), 2);
        assert!(one.commit(&mut [end("b"), end("c")]).iter().all(Result::is_ok));
        assert_eq!(held(&one), 0);
        assert!(one.commit(&mut [create(new_task("d"))])[0].is_ok());
        let lease = queued(|transaction| {
            leases::acquire(transaction.connection(), &TaskId::root("d"), 1, &wants(&["d"], 1))
        });
        assert!(other.commit(&mut [lease.0])[0].is_ok());
        assert_eq!(held(&one), 1);
        assert!(one.commit(&mut [end("d")])[0].is_ok());
        assert_eq!(held(&one), 0);
    }

    #[test]
    fn what_many_tasks_append_at_once_is_written_into_few_pages() {
        let directory = tempfile::tempdir().unwrap();
        let mut committer = committer(&directory);
        let tasks: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
        committer.commit(&mut tasks.iter().map(|task| create(new_task(task))).collect::<Vec<_>>());
        let pages = |committer: &GroupCommitter| {
            let copied = committer.connection.query_row("PRAGMA wal_checkpoint", [], |row| row.get(1));
            copied.unwrap_or(i64::MAX)
        };
        pages(&committer);
        let written = committer.commit(&mut tasks.iter().map(|task| next(task)).collect::<Vec<_>>());
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
        assert!(other.commit(&mut [create(new_task("a"))])[0].is_ok());
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
            assert!(other.commit(&mut [next("a")])[0].is_ok());
        }
        assert_eq!(rows(&one), 6);
        let fresh = committer(&directory);
        assert_eq!(rows(&fresh), 6);
        crate::open::integrity(&fresh.connection, &fresh.path).unwrap();
    }
}
