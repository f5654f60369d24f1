//! A watcher: lines of the hub as server-sent events, at the pace of one client.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use posse_core::Result;
use posse_core::id::TaskId;
use posse_runtime::ports::JournalArrival;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{EventHub, StreamLine, StreamPosition};

/// Lines that one write takes from the ring.
const BATCH: usize = 256;
/// Appends that one write takes from the store.
const STORE_BATCH: usize = 50;
/// Interval of comments on a silent stream: proxies and sleeping laptops notice a dead connection by it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Tasks of a stream.
#[derive(Debug, Clone)]
pub enum StreamScope {
    /// All tasks.
    All,
    /// Tasks of one session.
    Session(String),
    /// A task and everything below it.
    Tree(TaskId),
    /// One task alone. Its event ids are positions in its journal, and its stream ends with it.
    Task(TaskId),
}

/// Position at which a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamStart {
    Now,
    /// After this event of all tasks.
    After(StreamPosition),
    /// At this record of one task.
    Record(u64),
}

/// Source of the next lines.
#[derive(Debug, Clone, Copy)]
enum WatchMode {
    /// The store, after the last event.
    Store,
    /// The ring, from this line on.
    Ring(u64),
}

/// One watcher of a stream.
pub struct TaskWatcher {
    hub: Arc<EventHub>,
    scope: StreamScope,
    /// Tasks of the tree so far.
    within: HashSet<TaskId>,
    mode: WatchMode,
    /// Last event of all tasks that was considered.
    after: StreamPosition,
    /// Next record of one task.
    next: u64,
    /// Facts are told after the next catch-up.
    owes_facts: bool,
    /// Text to send before anything else.
    queued: VecDeque<Bytes>,
    is_over: bool,
    news: watch::Receiver<u64>,
    ending: CancellationToken,
    /// Tells whether the watcher may go on.
    is_allowed: Box<dyn Fn() -> bool + Send + Sync>,
}

impl TaskWatcher {
    /// Creates a watcher. `is_allowed` is asked before each write; the stream ends when `ending` fires.
    pub async fn new(
        hub: Arc<EventHub>,
        scope: StreamScope,
        start: StreamStart,
        ending: CancellationToken,
        is_allowed: Box<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Self> {
        hub.look_now().await;
        let within = match &scope {
            StreamScope::Tree(top) => {
                let rows = posse_runtime::follow::task_tree(&*hub.store, top).await?;
                rows.into_iter().map(|row| row.id).collect()
            }
            StreamScope::All | StreamScope::Session(_) | StreamScope::Task(_) => HashSet::new(),
        };
        let news = hub.follow();
        let mut queued = VecDeque::from([Bytes::from_static(b"retry: 1000\n\n")]);
        let now = || {
            let state = hub.lock();
            (WatchMode::Ring(state.ring.next()), state.ring.tail)
        };
        let (mode, after, next) = match start {
            StreamStart::Now => {
                let (mode, after) = now();
                (mode, after, 0)
            }
            StreamStart::Record(seq) => (WatchMode::Store, StreamPosition::default(), seq),
            // The store was restored or replaced: nothing follows that position.
            StreamStart::After(position) if position.arrival > hub.store.last_arrival().await? => {
                queued.push_back(Bytes::from_static(b"event: reset\ndata: {}\n\n"));
                let (mode, after) = now();
                (mode, after, 0)
            }
            StreamStart::After(position) => (WatchMode::Store, position, 0),
        };
        let is_over = false;
        let owes_facts = true;
        Ok(Self {
            hub,
            scope,
            within,
            mode,
            after,
            next,
            owes_facts,
            queued,
            is_over,
            news,
            ending,
            is_allowed,
        })
    }

    /// Returns the next bytes to write; `None` ends the stream.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !(self.is_allowed)() || self.ending.is_cancelled() {
                return None;
            }
            if let Some(text) = self.queued.pop_front() {
                return Some(text);
            }
            if self.is_over {
                return None;
            }
            let (frames, from_store) = match self.mode {
                WatchMode::Store => (self.read_store().await.ok()?, true),
                WatchMode::Ring(from) => (self.read_ring(from), false),
            };
            if !frames.is_empty() {
                return Some(frames.into());
            }
            // The source has changed, or the store has more.
            if self.is_over || from_store || matches!(self.mode, WatchMode::Store) {
                continue;
            }
            if self.news.has_changed().unwrap_or(false) {
                self.news.mark_unchanged();
                continue;
            }
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                () = self.ending.cancelled() => return None,
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(Bytes::from_static(b": keep-alive\n\n")),
            }
        }
    }

    /// Takes lines from the ring. Falls back to the store if they are gone.
    fn read_ring(&mut self, from: u64) -> Vec<u8> {
        let lines = self.hub.lock().ring.slice(from, BATCH);
        let Some(lines) = lines else {
            (self.mode, self.owes_facts) = (WatchMode::Store, true);
            return Vec::new();
        };
        let mut frames = Vec::new();
        if std::mem::take(&mut self.owes_facts) {
            self.tell_facts(&mut frames);
        }
        self.mode = WatchMode::Ring(from + lines.len() as u64);
        for line in lines {
            self.tell(&line, &mut frames);
        }
        frames
    }

    /// Takes lines from the store, and changes to the ring once there is nothing before its lines.
    async fn read_store(&mut self) -> Result<Vec<u8>> {
        // The ring's end before the rows: what is in the ring by then is in the store too.
        let (ring, floor) = {
            let state = self.hub.lock();
            (state.ring.next(), state.ring.floor)
        };
        let hub = self.hub.clone();
        let Ok(_turn) = hub.readers.acquire().await else { return Ok(Vec::new()) };
        let mut frames = Vec::new();
        if let StreamScope::Task(task) = self.scope.clone() {
            let records = hub.store.records_from(&task, self.next, STORE_BATCH).await?;
            let is_caught_up = records.len() < STORE_BATCH;
            let row = hub.store.task(&task).await?;
            let (number, parent) = (0, row.parent);
            let arrival = JournalArrival { number, task: task.clone(), parent, records };
            self.tell_arrival(&arrival, &mut frames);
            if let Some(last) = arrival.records.last() {
                self.next = self.next.max(last.seq + 1);
            }
            match is_caught_up {
                true if row.state.is_running() => self.mode = WatchMode::Ring(ring),
                // It had ended before these records were read, so there are no more, unless somebody resumes it.
                true if arrival.records.is_empty() => {
                    self.is_over = true;
                    self.queued.push_back(Bytes::from_static(END));
                }
                true | false => {}
            }
            return Ok(frames);
        }
        if self.after >= floor {
            // All later events are in the ring. Facts before them are older than those that hold now.
            self.mode = WatchMode::Ring(self.hub.lock().ring.after(self.after));
            return Ok(frames);
        }
        let is_read = self.after.seq == u64::MAX;
        let from = self.after.arrival.saturating_sub(u64::from(!is_read));
        let page = hub.store.arrivals(from, STORE_BATCH).await?;
        for arrival in &page {
            self.tell_arrival(arrival, &mut frames);
            self.after = self.after.max(StreamPosition { arrival: arrival.number, seq: u64::MAX });
        }
        if page.is_empty() {
            self.mode = WatchMode::Ring(ring);
        }
        Ok(frames)
    }

    fn tell_arrival(&mut self, arrival: &JournalArrival, frames: &mut Vec<u8>) {
        let lines = StreamLine::of(arrival);
        // A fact belongs to the event after it, and is as old or new.
        let mut facts: Vec<StreamLine> = Vec::new();
        for line in lines {
            if line.at.is_none() {
                facts.push(line);
                continue;
            }
            if self.is_new(&line) {
                facts.drain(..).for_each(|fact| self.tell(&fact, frames));
                self.tell(&line, frames);
            }
            facts.clear();
        }
    }

    fn tell_facts(&mut self, frames: &mut Vec<u8>) {
        let facts = self.hub.lock().facts.lines();
        for line in facts {
            self.tell(&line, frames);
        }
    }

    fn is_new(&self, line: &StreamLine) -> bool {
        match (&self.scope, line.at) {
            (_, None) => true,
            (StreamScope::Task(_), Some(at)) => at.seq >= self.next,
            (_, Some(at)) => at > self.after,
        }
    }

    /// Adds the frame of a line that belongs to this stream and is new.
    fn tell(&mut self, line: &StreamLine, frames: &mut Vec<u8>) {
        let is_wanted = self.wants(line) && self.is_new(line);
        if let Some(at) = line.at.filter(|at| at.arrival > 0) {
            self.after = self.after.max(at);
        }
        if !is_wanted {
            return;
        }
        let id = match (&self.scope, line.at) {
            (_, None) => None,
            (StreamScope::Task(_), Some(at)) => {
                self.next = at.seq + 1;
                Some(at.seq.to_string())
            }
            (_, Some(at)) => Some(format!("{}.{}", at.arrival, at.seq)),
        };
        if let Some(id) = id {
            frames.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        frames.extend_from_slice(b"data: ");
        frames.extend_from_slice(&line.text);
        frames.extend_from_slice(b"\n\n");
        if line.is_end
            && matches!(self.scope, StreamScope::Task(_))
            && matches!(self.mode, WatchMode::Ring(_))
        {
            frames.extend_from_slice(END);
            self.is_over = true;
        }
    }

    fn wants(&mut self, line: &StreamLine) -> bool {
        match &self.scope {
            StreamScope::All => true,
            StreamScope::Session(session) => line.task.session() == session,
            StreamScope::Task(task) => line.task == *task,
            StreamScope::Tree(_) => {
                let is_child = line.parent.as_ref().is_some_and(|parent| self.within.contains(parent));
                self.within.contains(&line.task) || (is_child && self.within.insert(line.task.clone()))
            }
        }
    }
}

/// Frame after the last event of one task.
const END: &[u8] = b"event: end\ndata: {}\n\n";
