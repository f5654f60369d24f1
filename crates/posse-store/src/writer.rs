//! Who writes: one thread, which takes everything that is queued and commits it as one transaction, or the caller itself
//! when it is the only one with work.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::commit::{Committer, Job, Written};
use crate::fault::Fault;

/// Jobs that may wait. Each driver waits for most of its appends, so this is far above what honest use needs; beyond
/// it the disk does not keep up and callers should hear it.
const QUEUE_MAX: usize = 4_096;

/// Jobs in one transaction, so that other processes get their turn at the lock.
const GROUP_MAX: usize = 256;

type Reply = oneshot::Sender<Result<Written, Fault>>;

pub(crate) struct Writer {
    committer: Arc<Mutex<Committer>>,
    /// Jobs that were queued and not answered yet. Nobody may overtake them.
    waiting: Arc<AtomicUsize>,
    // Taken on drop: the thread ends when the queue is closed and empty.
    queue: Option<SyncSender<(Job, Reply)>>,
    thread: Option<JoinHandle<()>>,
}

/// The answer to a job, now or when the thread has written it.
pub(crate) enum Answer {
    Here(Result<Written, Fault>),
    Coming(oneshot::Receiver<Result<Written, Fault>>),
}

impl Answer {
    pub async fn wait(self) -> Result<Written> {
        let answer = match self {
            Answer::Here(answer) => answer,
            Answer::Coming(answer) => answer.await.map_err(|_| writer_ended())?,
        };
        Ok(answer?)
    }
}

impl Writer {
    pub fn start(connection: Connection, path: PathBuf, busy_max: Duration) -> Result<Self> {
        let committer = Arc::new(Mutex::new(Committer::new(connection, path, busy_max)));
        let waiting = Arc::new(AtomicUsize::new(0));
        let (queue, jobs) = sync_channel(QUEUE_MAX);
        let (theirs, unanswered) = (committer.clone(), waiting.clone());
        let thread = std::thread::Builder::new()
            .name("posse-store".to_owned())
            .spawn(move || write_queued(&theirs, &jobs, &unanswered))
            .map_err(|e| Error::new(ErrorCode::Internal, say!("store-writer-not-started")).caused_by(e))?;
        Ok(Self { committer, waiting, queue: Some(queue), thread: Some(thread) })
    }

    /// Queues at once and never waits.
    pub fn send(&self, job: Job) -> Answer {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().expect("the queue is closed only on drop");
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let fault = match queue.try_send((job, reply)) {
            Ok(()) => return Answer::Coming(answer),
            Err(TrySendError::Full(_)) => {
                Fault::new(ErrorCode::StoreBusy, say!("store-queue-full", queue_max = QUEUE_MAX))
                    .hint(say!("store-queue-full-hint"))
            }
            Err(TrySendError::Disconnected(_)) => writer_ended(),
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        Answer::Here(Err(fault))
    }

    /// For a caller that has nothing else to do until the answer is there: writes at once where that holds nobody up.
    pub fn write(&self, job: Job) -> Answer {
        if self.waiting.load(Ordering::SeqCst) == 0
            && let Ok(mut committer) = self.committer.try_lock()
            && let Some(answer) = committer.commit_for_caller(&job)
        {
            return Answer::Here(answer);
        }
        self.send(job)
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
    Fault::new(ErrorCode::Internal, say!("store-writer-ended")).hint(say!("store-writer-ended-hint"))
}

fn write_queued(committer: &Mutex<Committer>, queue: &Receiver<(Job, Reply)>, waiting: &AtomicUsize) {
    while let Ok(first) = queue.recv() {
        // A commit that panicked may have left a transaction open: nothing more is written.
        let Ok(mut committer) = committer.lock() else { return };
        let group = std::iter::once(first).chain(queue.try_iter()).take(GROUP_MAX);
        let (jobs, replies): (Vec<Job>, Vec<Reply>) = group.unzip();
        let answers = committer.commit(&jobs);
        drop(committer);
        waiting.fetch_sub(jobs.len(), Ordering::SeqCst);
        for (reply, answer) in replies.into_iter().zip(answers) {
            // Whoever stopped waiting does not hear it; what was written stays.
            let _ = reply.send(answer);
        }
    }
}
