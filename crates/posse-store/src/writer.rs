//! Who writes: the first caller that comes back for its answer, for everybody who has queued something by then, or one thread
//! where a caller would be held up. Either way everything that is queued becomes one transaction.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use posse_core::{ErrorCode, Result};
use posse_messages::localized;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::commit::{Committer, Job, Written};
use crate::fault::Fault;

/// Jobs that may wait. Each driver waits for most of its appends, so this is far above what honest use needs; beyond
/// it the disk does not keep up and callers should hear it.
const QUEUE_MAX: usize = 4_096;

/// Jobs in one transaction, so that other processes get their turn at the lock.
const GROUP_MAX: usize = 256;

/// How often whoever gathers looks for more.
const LOOKS_MAX: usize = 64;

/// How often it looks in vain where fewer than half of those have come who came the last time. All of that costs less than another
/// commit.
const VAIN_LOOKS_MAX: usize = 16;

type Reply = oneshot::Sender<Result<Written, Fault>>;

pub(crate) struct Writer {
    desk: Arc<Desk>,
}

/// What callers and the thread share. Whoever commits takes the committer first and then the jobs, so that they are written in the
/// order in which they were queued.
struct Desk {
    committer: Mutex<Committer>,
    queue: Mutex<Queue>,
    filled: Condvar,
    /// Started when it is first needed: what comes and goes quickly never needs it.
    thread: Mutex<Option<JoinHandle<()>>>,
    /// How many jobs the last transaction had.
    last_count: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(Job, Reply)>,
    /// The thread is to take them.
    is_for_thread: bool,
    /// Somebody waits a moment for more of them, and then writes all.
    is_gathered: bool,
    is_closed: bool,
}

impl Queue {
    /// Whether there is nothing left for whoever gathered.
    fn ends_empty(&mut self) -> bool {
        self.is_gathered &= !self.jobs.is_empty();
        self.jobs.is_empty()
    }
}

impl Desk {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics while it holds this lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call_thread(self: &Arc<Self>) {
        let mut queue = self.queue();
        queue.is_gathered = false;
        if queue.jobs.is_empty() {
            return;
        }
        queue.is_for_thread = true;
        self.filled.notify_one();
        drop(queue);
        self.start_thread();
    }

    /// Where the system has no thread for it, whoever needs one does its work.
    fn start_thread(self: &Arc<Self>) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let desk = self.clone();
        let started = std::thread::Builder::new().name("posse-store".to_owned());
        match started.spawn(move || write_queued(&desk)) {
            Ok(started) => *thread = Some(started),
            Err(_) => {
                drop(thread);
                let _ = write_once(self);
            }
        }
    }

    /// Whether nobody else does. Whoever gathers writes what is queued, or calls the thread if it cannot, also when it is dropped.
    fn begin_to_gather(&self) -> bool {
        !std::mem::replace(&mut self.queue().is_gathered, true)
    }

    /// Others that are ready now get the time to queue theirs first; and so do those whose answers have come over the network, where
    /// there were others the last time, for as long as looking at it brings more: not every look, as an answer has a way to go from the
    /// network to the journal, and there may be many looks in vain while few of them have come.
    async fn gather(&self) {
        let (mut gathered, mut in_vain) = (0, 0);
        for _ in 0..LOOKS_MAX {
            let expected = self.last_count.load(Ordering::Relaxed);
            let queued = self.queue().jobs.len();
            in_vain = if queued > gathered { 0 } else { in_vain + 1 };
            if in_vain > vain_looks(queued, expected) {
                return;
            }
            gathered = queued;
            match expected > 1 {
                true => tokio::task::yield_now().await,
                false => let_others_run().await,
            }
        }
    }

    /// Commits what is queued on the caller's thread, if that takes no time to speak of.
    fn commit_here(self: &Arc<Self>) -> bool {
        let _leaving = Leaving(self);
        let Ok(mut committer) = self.committer.try_lock() else { return false };
        if self.queue().ends_empty() {
            return true;
        }
        if !committer.begin_at_once() {
            return false;
        }
        let (jobs, replies) = self.take();
        answer(replies, committer.write_and_commit(&jobs));
        drop(committer);
        if self.queue().is_for_thread {
            self.call_thread();
        }
        true
    }

    /// By whoever has the committer. What is left is for the thread: whoever gathered does not come back for it.
    fn take(&self) -> (Vec<Job>, Vec<Reply>) {
        let mut queue = self.queue();
        let count = queue.jobs.len().min(GROUP_MAX);
        if count > 0 {
            self.last_count.store(count, Ordering::Relaxed);
        }
        queue.is_for_thread = count < queue.jobs.len();
        queue.is_gathered = false;
        queue.jobs.drain(..count).unzip()
    }
}

fn answer(replies: Vec<Reply>, answers: Vec<Result<Written, Fault>>) {
    for (reply, answer) in replies.into_iter().zip(answers) {
        // Whoever stopped waiting does not hear it; what was written stays.
        let _ = reply.send(answer);
    }
}

/// The answer to a job that was queued.
pub(crate) struct Answer {
    /// Not kept alive by whoever forgot to wait: the last one to leave closes the file.
    desk: Weak<Desk>,
    coming: Result<oneshot::Receiver<Result<Written, Fault>>, Fault>,
    stage: Stage,
}

#[derive(PartialEq)]
enum Stage {
    /// Nobody has been told to write it yet.
    Unwritten,
    /// Somebody writes it.
    Waiting,
}

impl Answer {
    /// The first one to wait gathers: it writes for all who come meanwhile.
    pub async fn wait(mut self) -> Result<Written> {
        if self.stage == Stage::Unwritten
            && let Some(desk) = self.desk.upgrade()
        {
            match desk.begin_to_gather() {
                true => desk.gather().await,
                false => self.stage = Stage::Waiting,
            }
        }
        Ok(self.await?)
    }
}

fn vain_looks(queued: usize, expected: usize) -> usize {
    match queued {
        // Somebody else has written them.
        0 => 0,
        few if few * 2 < expected => VAIN_LOOKS_MAX,
        most => usize::from(most < expected),
    }
}

/// Without a look at the network in between, as `yield_now` takes one.
async fn let_others_run() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Future for Answer {
    type Output = Result<Written, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Also if its own answer is there already: others may count on it.
        if std::mem::replace(&mut self.stage, Stage::Waiting) == Stage::Unwritten
            && let Some(desk) = self.desk.upgrade()
            && !desk.commit_here()
        {
            desk.call_thread();
        }
        match &mut self.coming {
            Ok(coming) => {
                Pin::new(coming).poll(context).map(|answer| answer.unwrap_or_else(|_| Err(writer_ended())))
            }
            Err(fault) => Poll::Ready(Err(fault.clone())),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.stage == Stage::Unwritten
            && let Some(desk) = self.desk.upgrade()
        {
            desk.call_thread();
        }
    }
}

impl Writer {
    pub fn new(connection: Connection, path: PathBuf, busy_max: Duration) -> Self {
        let desk = Arc::new(Desk {
            committer: Mutex::new(Committer::new(connection, path, busy_max)),
            queue: Mutex::default(),
            filled: Condvar::new(),
            thread: Mutex::default(),
            last_count: AtomicUsize::new(0),
        });
        Self { desk }
    }

    /// Queues at once and never waits; it is on its way whether or not anybody asks for the answer.
    pub fn send(&self, job: Job) -> Answer {
        let mut answer = self.write(job);
        answer.stage = Stage::Waiting;
        self.desk.call_thread();
        answer
    }

    /// For a caller that is in no hurry: queues if somebody is about to write.
    pub fn write_along(&self, job: impl FnOnce() -> Job) -> Option<Answer> {
        if !self.desk.queue().is_gathered {
            return None;
        }
        let job = job();
        let queue = self.desk.queue();
        if !queue.is_gathered || queue.jobs.len() >= QUEUE_MAX {
            return None;
        }
        let mut answer = self.queue(queue, job);
        answer.stage = Stage::Waiting;
        Some(answer)
    }

    /// For a caller that does nothing else until the answer is there: it, or another one like it, writes what is queued.
    pub fn write(&self, job: Job) -> Answer {
        self.queue(self.desk.queue(), job)
    }

    fn queue(&self, mut queue: MutexGuard<'_, Queue>, job: Job) -> Answer {
        let (reply, answer) = oneshot::channel();
        let coming = if queue.jobs.len() >= QUEUE_MAX {
            Err(Fault::new(ErrorCode::StoreBusy, localized!("store-queue-full", queue_max = QUEUE_MAX))
                .hint(localized!("store-queue-full-hint")))
        } else if self.desk.committer.is_poisoned() {
            Err(writer_ended())
        } else {
            queue.jobs.push_back((job, reply));
            Ok(answer)
        };
        Answer { desk: Arc::downgrade(&self.desk), coming, stage: Stage::Unwritten }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.desk.queue().is_closed = true;
        self.desk.filled.notify_one();
        let thread = self.desk.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread {
            // Its panic was reported to everyone who waited.
            Some(thread) => drop(thread.join()),
            None => {
                let _ = write_once(&self.desk);
            }
        }
    }
}

fn writer_ended() -> Fault {
    Fault::new(ErrorCode::Internal, localized!("store-writer-ended"))
        .hint(localized!("store-writer-ended-hint"))
}

/// Whoever queued something for somebody who panicked is told so.
struct Leaving<'a>(&'a Desk);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.0.committer.is_poisoned() {
            self.0.queue().jobs.clear();
        }
    }
}

fn write_queued(desk: &Desk) {
    while wait_for_jobs(desk) {
        if write_once(desk).is_none() {
            return;
        }
    }
}

/// Writes what is queued, however long it takes. `None`: a commit that panicked may have left a transaction open, so nothing more is
/// written.
fn write_once(desk: &Desk) -> Option<()> {
    let _leaving = Leaving(desk);
    loop {
        let mut committer = desk.committer.lock().ok()?;
        let (jobs, replies) = desk.take();
        if jobs.is_empty() {
            return Some(());
        }
        let answers = committer.commit(&jobs);
        drop(committer);
        answer(replies, answers);
    }
}

/// Whether there may be any.
fn wait_for_jobs(desk: &Desk) -> bool {
    let mut queue = desk.queue();
    while !queue.is_for_thread && !queue.is_closed {
        queue = desk.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    !queue.jobs.is_empty() || !queue.is_closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use posse_core::id::TaskId;
    use posse_testkit::store_suite::{asked, new_task};
    use std::task::Waker;

    fn writer(directory: &tempfile::TempDir) -> Writer {
        let busy_max = Duration::from_secs(1);
        let path = open::prepare_file(&directory.path().join("posse.db")).unwrap();
        let connection = open::connect(&path, busy_max).unwrap();
        Writer::new(connection, path, busy_max)
    }

    fn poll(answer: &mut Answer) -> Option<Result<Written, Fault>> {
        match Pin::new(answer).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(written) => Some(written),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_first_to_come_back_writes_for_all_that_came_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        let mut answers = ["a", "b", "c"].map(|task| writer.write(Job::create(new_task(task))));
        assert_eq!(writer.desk.queue().jobs.len(), 3);
        assert!(poll(&mut answers[1]).is_some_and(|written| written.is_ok()));
        assert_eq!(writer.desk.queue().jobs.len(), 0);
        assert!(
            answers.iter_mut().step_by(2).all(|answer| poll(answer).is_some_and(|written| written.is_ok()))
        );
    }

    #[tokio::test]
    async fn those_that_are_ready_at_the_same_time_share_a_commit() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        let write = async |task| {
            let earlier = writer.desk.queue().jobs.len();
            writer.write(Job::create(new_task(task))).wait().await.unwrap();
            earlier
        };
        assert_eq!(tokio::join!(write("a"), write("b"), write("c")), (0, 1, 2));
    }

    #[tokio::test]
    async fn where_many_came_the_last_time_somebody_waits_a_little_for_them() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        let write = async |task: &str, looks: usize| {
            for _ in 0..looks {
                tokio::task::yield_now().await;
            }
            writer.write(Job::create(new_task(task))).wait().await.unwrap();
        };
        let last_count = || writer.desk.last_count.load(Ordering::Relaxed);
        tokio::join!(write("a", 0), write("b", 5));
        assert_eq!(last_count(), 1);
        writer.desk.last_count.store(5, Ordering::Relaxed);
        tokio::join!(write("c", 0), write("d", 5), write("e", 10));
        assert_eq!(last_count(), 3);
    }

    #[tokio::test]
    async fn what_is_in_no_hurry_goes_along_with_what_is_about_to_be_written() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        let job = |task| Job::create(new_task(task));
        assert!(writer.write_along(|| job("a")).is_none());
        let mut gathers = Box::pin(writer.write(job("b")).wait());
        assert!(gathers.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let along = writer.write_along(|| job("c")).unwrap();
        gathers.await.unwrap();
        assert_eq!(writer.desk.last_count.load(Ordering::Relaxed), 2);
        along.await.unwrap();
        assert!(writer.write_along(|| job("d")).is_none());
    }

    #[tokio::test]
    async fn those_who_count_on_one_that_leaves_are_written_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        let wait = |task| Box::pin(writer.write(Job::create(new_task(task))).wait());
        let (mut gathers, mut counts_on_it) = (wait("a"), wait("b"));
        let mut context = Context::from_waker(Waker::noop());
        assert!(gathers.as_mut().poll(&mut context).is_pending());
        assert!(counts_on_it.as_mut().poll(&mut context).is_pending());
        drop(gathers);
        counts_on_it.await.unwrap();
        assert!(!writer.desk.queue().is_gathered);
        wait("c").await.unwrap();
    }

    #[test]
    fn one_whose_answer_came_meanwhile_writes_for_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        let mut first = writer.write(Job::create(new_task("a")));
        assert!(writer.desk.begin_to_gather());
        assert!(writer.desk.commit_here());
        let mut second = writer.write(Job::create(new_task("b")));
        second.stage = Stage::Waiting;
        assert!(poll(&mut first).is_some());
        // Here, or by the thread because the first commit took long.
        while poll(&mut second).is_none() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn one_behind_a_long_queue_writes_all_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        let mut answers: Vec<_> =
            (0..GROUP_MAX + 10).map(|n| writer.write(Job::create(new_task(&format!("t{n}"))))).collect();
        let last = answers.last_mut().unwrap();
        // Either here, or by the thread because the first part took long.
        while poll(last).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(writer.desk.queue().jobs.len(), 0);
    }

    #[test]
    fn what_nobody_comes_back_for_is_written_by_the_thread() {
        let directory = tempfile::tempdir().unwrap();
        let writer = writer(&directory);
        drop(writer.write(Job::create(new_task("a"))));
        drop(writer.write(Job::append(TaskId::root("a"), 1, &[asked(1)])).wait());
        drop(writer.send(Job::append(TaskId::root("a"), 1, &[asked(2)])));
        let path = directory.path().join("posse.db");
        drop(writer);
        let rows: i64 = Connection::open(path)
            .unwrap()
            .query_row("SELECT count(*) FROM journal", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 3);
    }
}
