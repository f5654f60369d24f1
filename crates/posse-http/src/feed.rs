//! The journals of all tasks as one stream. One poller reads every append once and keeps the newest lines in a bounded
//! ring; watchers take from the ring at their own pace, and whoever falls off it reads on from the store.

mod facts;
mod watcher;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use posse_core::Result;
use posse_core::event::EventEntry;
use posse_core::fact::{LiveEntry, LiveFact, answer_line};
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_runtime::context::now_ms;
use posse_runtime::driver::task_fact;
use posse_runtime::ports::{CatalogStore, JournalArrival, TaskFilter, TaskQuery};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::facts::{OwnerLooks, StandingFacts};
pub use self::watcher::{StreamScope, StreamStart, TaskWatcher};
use crate::progress::TaskProgress;

/// Lines that the ring keeps: some seconds of a thousand busy tasks.
const LINES_MAX: usize = 8_192;
/// Bytes of the lines that the ring keeps.
const RING_BYTES_MAX: usize = 8 << 20;
/// Poll interval while somebody watches. People do not notice less.
const LOOK: Duration = Duration::from_millis(100);
/// Poll interval while nobody watches.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// Interval of looks at the processes that drive tasks.
const LIVENESS_LOOK: Duration = Duration::from_secs(2);
/// Appends read at a time.
const PAGE: usize = 200;
/// Watchers that read from the store at once; others wait their turn.
const READERS_MAX: usize = 4;
/// Appends from which the present doing of a task is read.
const RECENT: u32 = 60;

/// Position of an event in the stream over all tasks: the append, and the record in its journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamPosition {
    pub arrival: u64,
    pub seq: u64,
}

impl StreamPosition {
    /// Parses an event id; `None` for anything else.
    pub fn parse(id: &str) -> Option<Self> {
        let (arrival, seq) = id.split_once('.')?;
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse().ok(),
            false => None,
        };
        Some(Self { arrival: number(arrival)?, seq: number(seq)? })
    }
}

/// A line of the stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamLine {
    pub task: TaskId,
    pub parent: Option<TaskId>,
    /// Position of an event; `None` for a live fact.
    pub at: Option<StreamPosition>,
    /// The task has ended with this event.
    pub is_end: bool,
    /// One line of JSON.
    pub text: Bytes,
}

impl StreamLine {
    pub fn fact(task: &TaskId, parent: Option<&TaskId>, fact: LiveFact) -> Self {
        Self {
            task: task.clone(),
            parent: parent.cloned(),
            at: None,
            is_end: false,
            text: LiveEntry::new(task, now_ms(), fact).to_line().into(),
        }
    }

    /// Returns the lines of an append: its events, with the live facts that its records state.
    pub fn of(arrival: &JournalArrival) -> Vec<Self> {
        let JournalArrival { number, task, parent, records } = arrival;
        let mut lines = Vec::new();
        for stored in records {
            let fact = match &stored.record {
                Record::Started(start) => Some(task_fact(parent.as_ref(), start)),
                Record::Finished { outcome, .. } => {
                    answer_line(&outcome.text).map(|line| LiveFact::Answer { line })
                }
                _ => None,
            };
            lines.extend(fact.map(|fact| Self::fact(task, parent.as_ref(), fact)));
            let entry = EventEntry::from_record(task, stored.seq, stored.at_ms, &stored.record);
            lines.extend(entry.map(|entry| Self {
                task: task.clone(),
                parent: parent.clone(),
                at: Some(StreamPosition { arrival: *number, seq: stored.seq }),
                is_end: matches!(stored.record, Record::Finished { .. }),
                text: entry.to_line().into(),
            }));
        }
        lines
    }
}

/// The newest lines, in order.
#[derive(Default)]
struct LineRing {
    /// Number of the first line.
    first: u64,
    lines: VecDeque<Arc<StreamLine>>,
    bytes: usize,
    /// Every event after this position is in the ring.
    floor: StreamPosition,
    /// No event in the ring is after this position.
    tail: StreamPosition,
}

impl LineRing {
    fn next(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    fn push(&mut self, line: StreamLine) {
        self.bytes += line.text.len();
        self.lines.push_back(Arc::new(line));
        while self.lines.len() > LINES_MAX || self.bytes > RING_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.first += 1;
            self.bytes -= oldest.text.len();
            self.floor = oldest.at.unwrap_or(self.floor);
        }
    }

    /// Returns the number of the first event after a position, or that of the next line.
    fn after(&self, position: StreamPosition) -> u64 {
        let is_later = |line: &Arc<StreamLine>| line.at.is_some_and(|at| at > position);
        self.first + self.lines.iter().position(is_later).unwrap_or(self.lines.len()) as u64
    }

    /// Returns at most `most` lines from number `from` on; `None` if they are gone.
    fn slice(&self, from: u64, most: usize) -> Option<Vec<Arc<StreamLine>>> {
        let skipped = usize::try_from(from.checked_sub(self.first)?).ok()?;
        Some(self.lines.iter().skip(skipped).take(most).cloned().collect())
    }
}

/// Everything that the poller knows.
#[derive(Default)]
struct HubState {
    ring: LineRing,
    facts: StandingFacts,
    progress: HashMap<TaskId, TaskProgress>,
}

/// Follows the store for all watchers of a server.
pub struct EventHub {
    store: Arc<dyn CatalogStore>,
    state: Mutex<HubState>,
    /// Number of the next line.
    news: watch::Sender<u64>,
    readers: Semaphore,
    /// Wakes the poller when a watcher begins.
    watched: Notify,
    cursor: tokio::sync::Mutex<Option<PollCursor>>,
}

/// Position of the poller.
struct PollCursor {
    mark: Option<u64>,
    arrival: u64,
    message: u64,
    liveness_due: Instant,
}

impl EventHub {
    /// Creates a hub; `run` has to be polled for it to follow.
    pub fn new(store: Arc<dyn CatalogStore>) -> Arc<Self> {
        Arc::new(Self {
            store,
            state: Mutex::default(),
            news: watch::Sender::new(0),
            readers: Semaphore::new(READERS_MAX),
            watched: Notify::new(),
            cursor: tokio::sync::Mutex::default(),
        })
    }

    /// Follows the store until `ending` fires.
    pub async fn run(&self, ending: CancellationToken) {
        loop {
            self.look_now().await;
            let pause = if self.news.receiver_count() > 0 { LOOK } else { IDLE_LOOK };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.watched.notified() => {}
                () = ending.cancelled() => return,
            }
        }
    }

    /// Takes in everything that was written before. A store that is busy or gone for a while is read again later.
    pub async fn look_now(&self) {
        let mut cursor = self.cursor.lock().await;
        let _ = match &mut *cursor {
            Some(cursor) => self.look(cursor).await,
            None => self.begin().await.map(|begun| *cursor = Some(begun)),
        };
    }

    /// Returns a receiver that hears of every change. While there is one, the store is looked at often.
    pub fn follow(&self) -> watch::Receiver<u64> {
        let receiver = self.news.subscribe();
        self.watched.notify_one();
        receiver
    }

    /// Returns the present doing of a task that has not ended, as far as it is known.
    pub fn progress(&self, task: &TaskId) -> Option<TaskProgress> {
        self.lock().progress.get(task).cloned()
    }

    /// Returns the facts that hold now.
    pub fn facts(&self) -> StandingFacts {
        self.lock().facts.clone()
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn begin(&self) -> Result<PollCursor> {
        let arrival = self.store.last_arrival().await?;
        let mut cursor = PollCursor { mark: None, arrival, message: 0, liveness_due: Instant::now() };
        cursor.message = self.store.message_news(0).await?.iter().map(|news| news.number).max().unwrap_or(0);
        let mut progress = HashMap::new();
        for row in self.store.find_tasks(TaskQuery::running(TaskFilter::All)).await? {
            progress.insert(row.id.clone(), self.recent(&row.id).await?);
        }
        {
            let mut state = self.lock();
            state.progress = progress;
            state.ring.floor = StreamPosition { arrival, seq: u64::MAX };
            state.ring.tail = state.ring.floor;
        }
        self.look(&mut cursor).await?;
        Ok(cursor)
    }

    /// Reads the present doing of a task from its first and its newest records.
    async fn recent(&self, task: &TaskId) -> Result<TaskProgress> {
        let mut progress = TaskProgress::default();
        progress.follow(&self.store.records_from(task, 0, 1).await?);
        progress.follow(&self.store.recent_records(task, RECENT).await?);
        Ok(progress)
    }

    /// Reads what is new.
    async fn look(&self, cursor: &mut PollCursor) -> Result<()> {
        // The mark before the rows: a write in between changes the mark of the next look.
        let mark = self.store.change_mark().await?;
        let is_due = Instant::now() >= cursor.liveness_due;
        let has_owners_to_see = is_due && !self.lock().progress.is_empty();
        if cursor.mark == Some(mark) && !has_owners_to_see {
            return Ok(());
        }
        while cursor.mark != Some(mark) {
            let page = self.store.arrivals(cursor.arrival, PAGE).await?;
            let Some(last) = page.last() else { break };
            let last = last.number;
            self.take(&page).await;
            cursor.arrival = last;
        }
        let changes = self.changed_facts(cursor, is_due).await?;
        if !changes.is_empty() {
            let mut state = self.lock();
            changes.into_iter().for_each(|line| state.ring.push(line));
        }
        cursor.mark = Some(mark);
        let next = self.lock().ring.next();
        self.news.send_if_modified(|known| std::mem::replace(known, next) != next);
        Ok(())
    }

    /// Adds appends to the ring and to the present doings.
    async fn take(&self, page: &[JournalArrival]) {
        for arrival in page {
            let begins = arrival.records.first().is_some_and(|stored| stored.seq == 0);
            // A task that had ended and goes on.
            if !begins && !is_end(arrival) && self.progress(&arrival.task).is_none() {
                let recent = self.recent(&arrival.task).await.unwrap_or_default();
                self.lock().progress.insert(arrival.task.clone(), recent);
            }
            let mut state = self.lock();
            StreamLine::of(arrival).into_iter().for_each(|line| state.ring.push(line));
            state.ring.tail = StreamPosition { arrival: arrival.number, seq: u64::MAX };
            if is_end(arrival) {
                state.progress.remove(&arrival.task);
            } else {
                state.progress.entry(arrival.task.clone()).or_default().follow(&arrival.records);
            }
        }
        let next = self.lock().ring.next();
        self.news.send_replace(next);
    }

    async fn changed_facts(&self, cursor: &mut PollCursor, is_due: bool) -> Result<Vec<StreamLine>> {
        let mut known = self.facts();
        let mut lines = known.refresh(&*self.store).await?;
        for news in self.store.message_news(cursor.message).await? {
            cursor.message = cursor.message.max(news.number);
            lines.extend(known.note_message(news));
        }
        lines.extend(known.settle_messages(&*self.store).await?);
        if is_due {
            cursor.liveness_due = Instant::now() + LIVENESS_LOOK;
            let rows = self.store.find_tasks(TaskQuery::running(TaskFilter::All)).await?;
            let running: HashSet<&TaskId> = rows.iter().map(|row| &row.id).collect();
            self.lock().progress.retain(|task, _| running.contains(task));
            lines.extend(known.note_owners(&rows));
        }
        self.lock().facts = known;
        Ok(lines)
    }
}

fn is_end(arrival: &JournalArrival) -> bool {
    arrival.records.last().is_some_and(|stored| matches!(stored.record, Record::Finished { .. }))
}
