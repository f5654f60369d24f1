//! News of the store for `top`: rows, events and the content of the open pane, polled by a task of its own, so that keys
//! never wait for a query.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::Result;
use posse_core::approval::ParkedCall;
use posse_core::context::{ContextEntry, ContextKey};
use posse_core::event::EventEntry;
use posse_core::id::TaskId;
use posse_core::journal::{Record, TaskStart};
use posse_core::lease::Lease;
use posse_core::state::TaskState;
use posse_core::usage::SpendingTotal;
use posse_runtime::context::now_ms;
use posse_runtime::lookup::is_of_project;
use posse_runtime::ports::{
    ApprovalQuery, ParentQuestion, QuestionState, Store, StoredRecord, TaskFilter, TaskQuery, TaskRow,
};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::view::PaneKind;
use super::{TaskPatch, TopHost, TopScope};

/// Time between two polls.
const LOOK: Duration = Duration::from_millis(400);
/// Time between two polls of values that change rarely or cost more: questions, changes, spending.
const SLOW_LOOK: Duration = Duration::from_secs(2);
const SPENT_LOOK: Duration = Duration::from_secs(30);
/// Newest tasks that are listed.
const RECENT_MAX: u32 = 400;
/// Running tasks that are listed, however old.
const RUNNING_MAX: u32 = 400;
/// Tasks of one tree that are listed.
const TREE_MAX: u32 = 1_000;
/// Running tasks whose events are followed.
const FOLLOWED_MAX: usize = 100;
/// Sessions that are looked up at once.
const SESSIONS_MAX: u32 = 500;
/// Records read at a time, and pages of one poll: a long journal arrives piece by piece.
const PAGE: usize = 200;
const PAGES_MAX: usize = 10;
/// News that wait for the screen.
const NEWS_MAX: usize = 4;
/// Values of the shared context that are shown.
const KEYS_MAX: usize = 200;

/// Panes on the screen, so that only their data is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedInterest {
    /// Tasks that are listed.
    pub scope: TopScope,
    /// Rows on the screen: their journals say why they ended.
    pub shown: Vec<TaskId>,
    /// Task and content of the pane.
    pub open: Option<(TaskId, PaneKind)>,
}

/// Result of one poll.
#[derive(Debug, Default)]
pub struct FeedNews {
    /// Listed tasks, newest first.
    pub rows: Vec<TaskRow>,
    /// Running tasks whose process is gone.
    pub dead: BTreeSet<TaskId>,
    /// Sessions of the project.
    pub here: BTreeSet<String>,
    /// New events.
    pub events: Vec<EventEntry>,
    /// First lines of answers.
    pub answers: Vec<(TaskId, String)>,
    /// Calls that wait for approval.
    pub approvals: Vec<ParkedCall>,
    /// Open questions.
    pub questions: Vec<(TaskId, ParentQuestion)>,
    /// Leases of all tasks.
    pub leases: Vec<Lease>,
    /// New content of panes.
    pub panes: Vec<PaneNews>,
    /// Spending of the last 24 hours, if it was asked.
    pub spent: Option<SpendingTotal>,
    /// Error of the store; the last good content stays.
    pub failure: Option<String>,
}

/// New content of a pane.
#[derive(Debug)]
pub enum PaneNews {
    /// The next records of the journal; `is_first` if earlier ones are void.
    Records { task: TaskId, records: Vec<StoredRecord>, is_first: bool },
    /// Changes of files.
    Patch { task: TaskId, patch: std::result::Result<TaskPatch, String> },
    /// The whole shared context.
    Context { task: TaskId, entries: Vec<ContextEntry> },
    /// Start record of the task.
    Limits { task: TaskId, start: Arc<TaskStart> },
}

/// Handle of the task that polls. Dropping it ends the polling.
pub struct TopFeed {
    interest: watch::Sender<Option<FeedInterest>>,
    polling: AbortHandle,
}

impl TopFeed {
    /// Starts polling once the screen said what it shows.
    pub fn start(store: Arc<dyn Store>, host: Arc<dyn TopHost>) -> (Self, mpsc::Receiver<FeedNews>) {
        let (interest, wanted) = watch::channel(None);
        let (sender, news) = mpsc::channel(NEWS_MAX);
        let reader = FeedReader::new(store, host);
        let polling = tokio::spawn(reader.work(wanted, sender)).abort_handle();
        (Self { interest, polling }, news)
    }

    /// Tells what the screen shows now.
    pub fn attend(&mut self, interest: FeedInterest) {
        self.interest.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&interest);
            *known = Some(interest);
            is_new
        });
    }
}

impl Drop for TopFeed {
    fn drop(&mut self) {
        self.polling.abort();
    }
}

/// Positions in the store, and what is known about its rows.
struct FeedReader {
    store: Arc<dyn Store>,
    host: Arc<dyn TopHost>,
    /// Next record of each followed journal.
    cursors: HashMap<TaskId, u64>,
    /// Journals that were read to their end, with the state and epoch of then.
    settled: HashMap<TaskId, (TaskState, u64)>,
    /// Sessions, and whether they belong to the project.
    sessions: HashMap<String, bool>,
    /// Owners that are gone, with their last sign of life.
    dead_owners: HashSet<(String, u64)>,
    /// Transcript that is read, and its next record.
    transcript: Option<(TaskId, u64)>,
    questions: Vec<(TaskId, ParentQuestion)>,
    asked: Option<Instant>,
    /// Pane that was read last.
    pane: Option<((TaskId, PaneKind), Instant)>,
    spent: Option<(TopScope, Instant)>,
    /// More records wait than one poll reads.
    has_more: bool,
    /// The list was read once.
    has_listed: bool,
}

impl FeedReader {
    fn new(store: Arc<dyn Store>, host: Arc<dyn TopHost>) -> Self {
        Self {
            store,
            host,
            cursors: HashMap::new(),
            settled: HashMap::new(),
            sessions: HashMap::new(),
            dead_owners: HashSet::new(),
            transcript: None,
            questions: Vec::new(),
            asked: None,
            pane: None,
            spent: None,
            has_more: false,
            has_listed: false,
        }
    }

    async fn work(
        mut self,
        mut wanted: watch::Receiver<Option<FeedInterest>>,
        sender: mpsc::Sender<FeedNews>,
    ) {
        loop {
            let interest = wanted.borrow_and_update().clone();
            if let Some(interest) = interest {
                let news = match self.poll(&interest).await {
                    Ok(news) => news,
                    Err(e) => FeedNews { failure: Some(e.message().to_string()), ..FeedNews::default() },
                };
                if sender.send(news).await.is_err() {
                    return;
                }
            }
            if !std::mem::take(&mut self.has_more) {
                tokio::select! {
                    changed = wanted.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        }
    }

    async fn poll(&mut self, interest: &FeedInterest) -> Result<FeedNews> {
        // The rows before the records: whatever is written in between is then part of the records.
        let rows = self.rows(&interest.scope).await?;
        let mut news = FeedNews { here: self.here(&rows).await?, ..FeedNews::default() };
        news.dead = self.dead(&rows);
        self.forget(&rows);
        let followed = self.followed(&rows, &news, interest);
        for row in followed {
            self.follow(row, &mut news).await?;
        }
        news.approvals = self.store.approvals(ApprovalQuery::Open).await?;
        news.leases = self.store.leases().await?;
        news.questions = self.questions(&rows, &news.dead).await?;
        if let Some((task, pane)) = &interest.open {
            self.read_pane(task, *pane, &rows, &mut news).await?;
        }
        let is_known =
            |(scope, at): &(TopScope, Instant)| *scope == interest.scope && at.elapsed() < SPENT_LOOK;
        // The list comes first: summing up a large store takes longer.
        if !std::mem::replace(&mut self.has_listed, true) {
            self.has_more = true;
        } else if !matches!(interest.scope, TopScope::Tree(_)) && !self.spent.as_ref().is_some_and(is_known) {
            news.spent = Some(self.host.spent(interest.scope.clone()).await?);
            self.spent = Some((interest.scope.clone(), Instant::now()));
        }
        news.rows = rows;
        Ok(news)
    }

    async fn rows(&self, scope: &TopScope) -> Result<Vec<TaskRow>> {
        let tree = |session: &str| TaskQuery {
            limit: TREE_MAX,
            ..TaskQuery::of(TaskFilter::Session(session.to_owned()))
        };
        if let TopScope::Tree(top) = scope {
            return self.store.find_tasks(tree(top.session())).await;
        }
        let mut rows = self.store.tasks(RECENT_MAX).await?;
        let known: HashSet<TaskId> = rows.iter().map(|row| row.id.clone()).collect();
        let running = TaskQuery { limit: RUNNING_MAX, ..TaskQuery::running(TaskFilter::All) };
        let older: Vec<TaskRow> = self
            .store
            .find_tasks(running)
            .await?
            .into_iter()
            .filter(|row| !known.contains(&row.id))
            .collect();
        // Of an older task the whole tree is listed, so that its cost is right.
        let sessions: BTreeSet<String> = older.iter().map(|row| row.id.session().to_owned()).collect();
        rows.retain(|row| !sessions.contains(row.id.session()));
        for session in sessions {
            rows.extend(self.store.find_tasks(tree(&session)).await?);
        }
        Ok(rows)
    }

    /// Returns the sessions of the project among these rows.
    async fn here(&mut self, rows: &[TaskRow]) -> Result<BTreeSet<String>> {
        let sessions: BTreeSet<&str> = rows.iter().map(|row| row.id.session()).collect();
        if sessions.iter().any(|session| !self.sessions.contains_key(*session)) {
            for row in self.store.sessions(SESSIONS_MAX, now_ms()).await? {
                let host = &self.host;
                self.sessions.entry(row.id).or_insert_with(|| host.is_here(&row.workspace));
            }
        }
        for row in rows {
            let session = row.id.session();
            if !self.sessions.contains_key(session) {
                // An older session: its tasks know their workspace too.
                let is_here = |workspace: &Path| self.host.is_here(&workspace.to_string_lossy());
                let is_here = is_of_project(&*self.store, row, is_here).await?;
                self.sessions.insert(session.to_owned(), is_here);
            }
        }
        let is_here = |session: &&str| self.sessions.get(*session).copied().unwrap_or(false);
        Ok(sessions.into_iter().filter(is_here).map(str::to_owned).collect())
    }

    fn dead(&mut self, rows: &[TaskRow]) -> BTreeSet<TaskId> {
        let mut dead = BTreeSet::new();
        let mut owners = HashSet::new();
        for row in rows.iter().filter(|row| row.state.is_running()) {
            // A process that is gone does not come back; another sign of life is looked at again.
            let owner = (row.owner.clone(), row.seen_ms);
            if self.dead_owners.contains(&owner) || !self.host.lives(row) {
                owners.insert(owner);
                dead.insert(row.id.clone());
            }
        }
        self.dead_owners = owners;
        dead
    }

    /// Forgets journals of sessions that are not listed any more: the screen forgot their trees too.
    fn forget(&mut self, rows: &[TaskRow]) {
        let sessions: HashSet<&str> = rows.iter().map(|row| row.id.session()).collect();
        self.cursors.retain(|task, _| sessions.contains(task.session()));
        self.settled.retain(|task, _| sessions.contains(task.session()));
    }

    /// Selects the journals to read: of all tasks at work, and of rows on the screen whose end was not read yet.
    fn followed<'a>(
        &self,
        rows: &'a [TaskRow],
        news: &FeedNews,
        interest: &FeedInterest,
    ) -> Vec<&'a TaskRow> {
        let is_active = |row: &&TaskRow| row.state.is_running() && !news.dead.contains(&row.id);
        let is_unread = |row: &&TaskRow| {
            self.settled.get(&row.id) != Some(&(row.state, row.epoch)) && interest.shown.contains(&row.id)
        };
        let active = rows.iter().filter(is_active).take(FOLLOWED_MAX);
        let shown = rows.iter().filter(|row| !is_active(row) && is_unread(row));
        active.chain(shown).collect()
    }

    async fn follow(&mut self, row: &TaskRow, news: &mut FeedNews) -> Result<()> {
        let next = self.cursors.entry(row.id.clone()).or_default();
        for _ in 0..PAGES_MAX {
            let records = self.store.records_from(&row.id, *next, PAGE).await?;
            let Some(last) = records.last() else {
                self.settled.insert(row.id.clone(), (row.state, row.epoch));
                return Ok(());
            };
            *next = last.seq + 1;
            for StoredRecord { seq, at_ms, record } in &records {
                news.events.extend(EventEntry::from_record(&row.id, *seq, *at_ms, record));
                if let Record::Finished { outcome, .. } = record {
                    let line = outcome.text.lines().map(str::trim).find(|line| !line.is_empty());
                    news.answers.extend(line.map(|line| (row.id.clone(), line.to_owned())));
                }
            }
        }
        self.has_more = true;
        Ok(())
    }

    async fn questions(
        &mut self,
        rows: &[TaskRow],
        dead: &BTreeSet<TaskId>,
    ) -> Result<Vec<(TaskId, ParentQuestion)>> {
        if self.asked.is_none_or(|asked| asked.elapsed() > SLOW_LOOK) {
            let active = rows.iter().filter(|row| row.state.is_running() && !dead.contains(&row.id));
            let mut open = Vec::new();
            // The orchestrator has no parent to ask.
            for row in active.filter(|row| row.parent.is_some()).take(FOLLOWED_MAX) {
                let asked = self.store.question(&row.id).await?;
                let asked = asked.filter(|asked| asked.state == QuestionState::Open);
                open.extend(asked.map(|asked| (row.id.clone(), asked.question)));
            }
            (self.questions, self.asked) = (open, Some(Instant::now()));
        }
        Ok(self.questions.clone())
    }

    async fn read_pane(
        &mut self,
        task: &TaskId,
        pane: PaneKind,
        rows: &[TaskRow],
        news: &mut FeedNews,
    ) -> Result<()> {
        let Some(row) = rows.iter().find(|row| row.id == *task) else { return Ok(()) };
        if pane == PaneKind::Transcript {
            return self.read_transcript(task, news).await;
        }
        let is_new = self.pane.as_ref().is_none_or(|(open, _)| *open != (task.clone(), pane));
        // The changes of an ended task stay as they are.
        let can_change = row.state.is_running() || pane != PaneKind::Diff;
        let is_due = self.pane.as_ref().is_some_and(|(_, at)| at.elapsed() > SLOW_LOOK);
        if is_new || is_due && can_change {
            news.panes.extend(self.pane_content(task, pane).await?);
            self.pane = Some(((task.clone(), pane), Instant::now()));
        }
        Ok(())
    }

    async fn pane_content(&self, task: &TaskId, pane: PaneKind) -> Result<Option<PaneNews>> {
        let task = task.clone();
        Ok(match pane {
            PaneKind::Transcript => None,
            PaneKind::Diff => {
                let patch = self.host.patch(&task).await.map_err(|e| e.message().to_string());
                Some(PaneNews::Patch { task, patch })
            }
            PaneKind::Context => {
                let heads = self.store.context_keys(task.session(), now_ms()).await?;
                let keys: Vec<ContextKey> = heads.into_iter().take(KEYS_MAX).map(|head| head.key).collect();
                let entries = self.store.context_values(task.session(), &keys, now_ms()).await?;
                Some(PaneNews::Context { task, entries })
            }
            PaneKind::Limits => {
                let first = self.store.records_from(&task, 0, 1).await?.into_iter().next();
                first.and_then(|stored| match stored.record {
                    Record::Started(start) => Some(PaneNews::Limits { task, start }),
                    _ => None,
                })
            }
        })
    }

    async fn read_transcript(&mut self, task: &TaskId, news: &mut FeedNews) -> Result<()> {
        let known = self.transcript.as_ref().filter(|(open, _)| open == task).map(|(_, next)| *next);
        let (mut next, mut is_first) = (known.unwrap_or(0), known.is_none());
        for _ in 0..PAGES_MAX {
            let records = self.store.records_from(task, next, PAGE).await?;
            let Some(last) = records.last() else {
                if is_first {
                    news.panes.push(PaneNews::Records { task: task.clone(), records, is_first });
                }
                self.transcript = Some((task.clone(), next));
                return Ok(());
            };
            next = last.seq + 1;
            news.panes.push(PaneNews::Records { task: task.clone(), records, is_first });
            is_first = false;
        }
        self.transcript = Some((task.clone(), next));
        self.has_more = true;
        Ok(())
    }
}
