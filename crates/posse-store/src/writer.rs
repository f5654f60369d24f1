//! The writer thread: it drains a channel of jobs into one transaction, so that jobs that arrive together share a commit.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use posse_core::{ErrorCode, Result};
use posse_messages::localized;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::commit::{GroupCommitter, JobResult, WriteJob};
use crate::fault::StoreFault;

/// Jobs that may wait. Each driver waits for most of its appends, so honest use stays far below; beyond it the disk does not keep
/// up and callers should hear it.
const QUEUE_MAX: usize = 4_096;

/// Jobs in one transaction, so that other processes get their turn at the lock.
const GROUP_MAX: usize = 256;

type JobAnswer = Result<JobResult, StoreFault>;
type QueuedJob = (WriteJob, oneshot::Sender<JobAnswer>);

/// Handle of the writer thread. Dropping it writes what is queued and closes the file.
pub(crate) struct StoreWriter {
    jobs: Option<SyncSender<QueuedJob>>,
    thread: Mutex<WriterThread>,
}

/// The thread starts with the first job: a process that only reads never needs it.
enum WriterThread {
    Idle(Box<GroupCommitter>, Receiver<QueuedJob>),
    Running(JoinHandle<()>),
    Ended,
}

impl StoreWriter {
    /// Creates a writer on this connection.
    pub fn new(connection: Connection, path: PathBuf, busy_max: Duration) -> Self {
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let committer = Box::new(GroupCommitter::new(connection, path, busy_max));
        Self { jobs: Some(jobs), thread: Mutex::new(WriterThread::Idle(committer, queue)) }
    }

    /// Queues a job at once; it is written whether or not anybody waits for the answer.
    pub fn write(&self, job: WriteJob) -> PendingAnswer {
        let (reply, answer) = oneshot::channel();
        let queued = match &self.jobs {
            Some(jobs) => jobs.try_send((job, reply)),
            None => return PendingAnswer(Err(writer_ended())),
        };
        PendingAnswer(match queued {
            Ok(()) => self.start_thread().map(|()| answer),
            Err(TrySendError::Full(_)) => Err(queue_full()),
            Err(TrySendError::Disconnected(_)) => Err(writer_ended()),
        })
    }

    fn start_thread(&self) -> Result<(), StoreFault> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        *thread = match std::mem::replace(&mut *thread, WriterThread::Ended) {
            WriterThread::Idle(mut committer, queue) => {
                let builder = std::thread::Builder::new().name("posse-store".to_owned());
                let started = builder.spawn(move || write_queued(&mut committer, &queue));
                WriterThread::Running(started.map_err(|e| {
                    StoreFault::new(ErrorCode::Internal, localized!("store-writer-ended")).hint(e.to_string())
                })?)
            }
            other => other,
        };
        Ok(())
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.jobs = None;
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let WriterThread::Running(thread) = std::mem::replace(thread, WriterThread::Ended) {
            // Everyone who waited heard of a panic already.
            let _ = thread.join();
        }
    }
}

/// The answer to a queued job.
pub(crate) struct PendingAnswer(Result<oneshot::Receiver<JobAnswer>, StoreFault>);

impl PendingAnswer {
    /// Waits until the job is durable.
    pub async fn wait(self) -> Result<JobResult> {
        // The sender is gone without an answer if a commit panicked.
        Ok(self.0?.await.unwrap_or_else(|_| Err(writer_ended()))?)
    }
}

/// Commits everything that is queued, group by group, until the store is closed.
fn write_queued(committer: &mut GroupCommitter, queue: &Receiver<QueuedJob>) {
    while let Ok(first) = queue.recv() {
        let (jobs, replies): (Vec<WriteJob>, Vec<_>) =
            std::iter::once(first).chain(queue.try_iter().take(GROUP_MAX - 1)).unzip();
        for (reply, answer) in replies.into_iter().zip(committer.commit(&jobs)) {
            // A caller that stopped waiting does not hear it; the write stays.
            let _ = reply.send(answer);
        }
    }
}

fn queue_full() -> StoreFault {
    StoreFault::new(ErrorCode::StoreBusy, localized!("store-queue-full", queue_max = QUEUE_MAX))
        .hint(localized!("store-queue-full-hint"))
}

fn writer_ended() -> StoreFault {
    StoreFault::new(ErrorCode::Internal, localized!("store-writer-ended"))
        .hint(localized!("store-writer-ended-hint"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use posse_core::id::TaskId;
    use posse_testkit::store_suite::{asked, new_task};

    fn committer(directory: &tempfile::TempDir) -> GroupCommitter {
        let busy_max = Duration::from_secs(1);
        let path = open::prepare_file(&directory.path().join("posse.db")).unwrap();
        let connection = open::connect(&path, busy_max).unwrap();
        GroupCommitter::new(connection, path, busy_max)
    }

    fn rows(directory: &tempfile::TempDir) -> i64 {
        let connection = Connection::open(directory.path().join("posse.db")).unwrap();
        connection.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn jobs_that_wait_together_share_commits_and_each_gets_its_answer() {
        let directory = tempfile::tempdir().unwrap();
        let mut committer = committer(&directory);
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let answers: Vec<_> = (0..GROUP_MAX + 10)
            .map(|n| {
                let (reply, answer) = oneshot::channel();
                assert!(jobs.try_send((WriteJob::create(new_task(&format!("t{n}"))), reply)).is_ok());
                answer
            })
            .collect();
        drop(jobs);
        write_queued(&mut committer, &queue);
        assert!(answers.into_iter().all(|answer| answer.blocking_recv().unwrap().is_ok()));
        assert_eq!(committer.commits(), 2);
    }

    #[test]
    fn jobs_that_nobody_waits_for_are_written_before_the_store_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let committer = committer(&directory);
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let thread = Mutex::new(WriterThread::Idle(Box::new(committer), queue));
        let writer = StoreWriter { jobs: Some(jobs), thread };
        drop(writer.write(WriteJob::create(new_task("a"))));
        drop(writer.write(WriteJob::append(TaskId::root("a"), 1, &[asked(1)])));
        drop(writer.write(WriteJob::append(TaskId::root("a"), 1, &[asked(2)])).wait());
        drop(writer);
        assert_eq!(rows(&directory), 3);
    }

    #[tokio::test]
    async fn a_writer_that_is_gone_is_an_error_and_not_a_hang() {
        let directory = tempfile::tempdir().unwrap();
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        drop((queue, committer(&directory)));
        let writer = StoreWriter { jobs: Some(jobs), thread: Mutex::new(WriterThread::Ended) };
        let error = writer.write(WriteJob::create(new_task("a"))).wait().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Internal);
    }
}
