//! The writer thread: it drains a channel of jobs into one transaction, so that jobs that arrive together share a commit.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::BoxFuture;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::commit::{GroupCommitter, QueuedJob, WriteJob};
use crate::fault::StoreRefusal;
use crate::journal::WriteTransaction;

/// Maximum queued jobs. Each driver waits for most of its appends, so normal use stays far below; beyond it the disk does
/// not keep up and callers get an error.
const QUEUE_MAX: usize = 4_096;

/// Maximum jobs in one transaction, so that other processes get the lock in between.
const GROUP_MAX: usize = 256;

/// A job with its answer, which its caller gets after the commit.
struct AnsweredJob<W, T> {
    work: W,
    written: Option<T>,
    reply: Option<oneshot::Sender<Result<T>>>,
}

impl<W, T> WriteJob for AnsweredJob<W, T>
where
    W: FnMut(&mut WriteTransaction<'_>) -> Result<T, StoreRefusal> + Send,
    T: Send,
{
    fn write(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), StoreRefusal> {
        self.written = Some((self.work)(transaction)?);
        Ok(())
    }

    fn answer(&mut self, committed: Result<()>) {
        let answer = committed.and_then(|()| self.written.take().ok_or_else(writer_ended));
        if let Some(reply) = self.reply.take() {
            // A caller that stopped waiting gets no answer; the write stays.
            let _ = reply.send(answer);
        }
    }
}

/// Creates a job, and the receiver of its answer.
pub(crate) fn queued<T: Send + 'static>(
    work: impl FnMut(&mut WriteTransaction<'_>) -> Result<T, StoreRefusal> + Send + 'static,
) -> (QueuedJob, oneshot::Receiver<Result<T>>) {
    let (reply, answer) = oneshot::channel();
    (Box::new(AnsweredJob { work, written: None, reply: Some(reply) }), answer)
}

/// Handle of the writer thread. Dropping it writes what is queued and closes the file.
pub(crate) struct StoreWriter {
    jobs: Option<SyncSender<QueuedJob>>,
    thread: Mutex<WriterThread>,
}

/// The thread starts with the first job: a process that only reads needs none.
enum WriterThread {
    Idle(Box<GroupCommitter>, Receiver<QueuedJob>),
    Running(JoinHandle<()>),
    /// The store is open for reading alone.
    Refusing(Error),
    Ended,
}

impl StoreWriter {
    /// Creates a writer on this connection.
    pub fn new(connection: Connection, path: PathBuf, busy_max: Duration) -> Self {
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let committer = Box::new(GroupCommitter::new(connection, path, busy_max));
        Self { jobs: Some(jobs), thread: Mutex::new(WriterThread::Idle(committer, queue)) }
    }

    /// Creates a writer that answers every job with this error.
    pub fn refusing(refusal: Error) -> Self {
        Self { jobs: None, thread: Mutex::new(WriterThread::Refusing(refusal)) }
    }

    /// Queues a job at once; it is written even if the caller stops waiting. The answer comes when it is durable.
    pub fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut WriteTransaction<'_>) -> Result<T, StoreRefusal> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let (job, answer) = queued(work);
        let sent = match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            Some(Ok(())) => self.start_thread(),
            Some(Err(TrySendError::Full(_))) => Err(queue_full()),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(self.refusal()),
        };
        Box::pin(async {
            sent?;
            // The sender is dropped without an answer if a commit panicked.
            answer.await.unwrap_or_else(|_| Err(writer_ended()))
        })
    }

    fn refusal(&self) -> Error {
        match &*self.thread.lock().unwrap_or_else(PoisonError::into_inner) {
            WriterThread::Refusing(refusal) => refusal.clone(),
            WriterThread::Idle(..) | WriterThread::Running(_) | WriterThread::Ended => writer_ended(),
        }
    }

    fn start_thread(&self) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        *thread = match std::mem::replace(&mut *thread, WriterThread::Ended) {
            WriterThread::Idle(mut committer, queue) => {
                let builder = std::thread::Builder::new().name("posse-store".to_owned());
                let started = builder.spawn(move || write_queued(&mut committer, &queue));
                WriterThread::Running(started.map_err(|e| {
                    Error::new(ErrorCode::Internal, localized!("store-writer-ended")).hint(e.to_string())
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
            // All waiting callers got an error of the panic already.
            let _ = thread.join();
        }
    }
}

/// Commits all queued jobs, group by group, until the store is closed.
fn write_queued(committer: &mut GroupCommitter, queue: &Receiver<QueuedJob>) {
    while let Ok(first) = queue.recv() {
        let mut jobs: Vec<QueuedJob> =
            std::iter::once(first).chain(queue.try_iter().take(GROUP_MAX - 1)).collect();
        let committed = committer.commit(&mut jobs);
        for (mut job, committed) in jobs.into_iter().zip(committed) {
            job.answer(committed);
        }
    }
}

fn queue_full() -> Error {
    Error::new(ErrorCode::StoreBusy, localized!("store-queue-full", queue_max = QUEUE_MAX))
        .hint(localized!("store-queue-full-hint"))
}

fn writer_ended() -> Error {
    Error::new(ErrorCode::Internal, localized!("store-writer-ended"))
        .hint(localized!("store-writer-ended-hint"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{appending, creation};
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
                let (job, answer) = queued(creation(new_task(&format!("t{n}"))));
                assert!(jobs.try_send(job).is_ok());
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
        drop(writer.write(creation(new_task("a"))));
        drop(writer.write(appending(TaskId::root("a"), 1, &[asked(1)])));
        drop(writer.write(appending(TaskId::root("a"), 1, &[asked(2)])));
        drop(writer);
        assert_eq!(rows(&directory), 3);
    }

    #[tokio::test]
    async fn a_writer_that_is_gone_is_an_error_and_not_a_hang() {
        let directory = tempfile::tempdir().unwrap();
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        drop((queue, committer(&directory)));
        let writer = StoreWriter { jobs: Some(jobs), thread: Mutex::new(WriterThread::Ended) };
        let error = writer.write(creation(new_task("a"))).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Internal);
    }
}
