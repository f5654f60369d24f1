//! Tasks that `top` knows, grouped by what they need.

use std::collections::{BTreeMap, BTreeSet};

use posse_core::approval::ParkedCall;
use posse_core::event::EventEntry;
use posse_core::fact::LiveFact;
use posse_core::id::TaskId;
use posse_core::state::TaskState;
use posse_core::text::prefix;
use posse_core::usage::{SpendingTotal, Usage};
use posse_messages::say;
use posse_runtime::ports::{ParentQuestion, TaskRow};
use posse_terminal::rows::{RowState, RowView, TreeModel, TreeTask};

use super::TopScope;

/// Rows of ended tasks that are listed; `posse tasks list` has the rest.
const ENDED_MAX: usize = 200;

/// Letters of a session that are shown where they are unique.
const SESSION_LETTERS: usize = 4;

/// Groups of the list, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskGroup {
    /// Waits for a person.
    NeedsInput,
    /// Has not ended: at work, waiting, queued or interrupted.
    Working,
    /// Ended, however it did.
    Completed,
}

impl TaskGroup {
    /// Returns the group of a state. An interrupted task goes on when a worker adopts it, so it has not ended.
    pub fn of(state: RowState) -> Self {
        match state {
            RowState::NeedsInput => TaskGroup::NeedsInput,
            RowState::Working | RowState::Waiting | RowState::Queued | RowState::Interrupted => {
                TaskGroup::Working
            }
            RowState::Completed | RowState::Partial | RowState::Failed | RowState::Cancelled => {
                TaskGroup::Completed
            }
        }
    }
}

/// Restrictions of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardFilter {
    /// Tasks to list.
    pub scope: TopScope,
    /// Text that a row must contain, in any case; empty for all.
    pub search: String,
    /// Ended trees whose subagents are listed too.
    pub unfolded: BTreeSet<TaskId>,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardLine {
    /// Title of a group: its tasks by state.
    Heading(TaskGroup, BTreeMap<RowState, usize>),
    /// A task.
    Task(Box<BoardTask>),
}

/// A task of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardTask {
    /// Its id.
    pub id: TaskId,
    /// Id for people: short where all rows belong to one tree.
    pub label: String,
    /// Cells of its row.
    pub view: RowView,
    /// Subagents that are not listed.
    pub folded: usize,
}

/// Tasks with their trees, approvals and questions.
#[derive(Debug, Default)]
pub struct TopBoard {
    rows: BTreeMap<TaskId, TaskRow>,
    children: BTreeMap<TaskId, Vec<TaskId>>,
    trees: BTreeMap<String, TreeModel>,
    /// Sessions of the project.
    here: BTreeSet<String>,
    approvals: BTreeMap<TaskId, ParkedCall>,
    questions: BTreeMap<TaskId, ParentQuestion>,
}

impl TopBoard {
    /// Takes the rows of the store; tasks that are not among them are forgotten. `dead` are running tasks without a living
    /// process.
    pub fn take_rows(&mut self, rows: Vec<TaskRow>, dead: &BTreeSet<TaskId>) {
        let sessions: BTreeSet<&str> = rows.iter().map(|row| row.id.session()).collect();
        self.trees.retain(|session, _| sessions.contains(session.as_str()));
        for row in &rows {
            let session = row.id.session();
            let tree =
                self.trees.entry(session.to_owned()).or_insert_with(|| TreeModel::new(TaskId::root(session)));
            tree.list(&row.id, listed(row));
            let (agent, parent, title) = (row.agent.clone(), row.parent.clone(), row.title.clone());
            tree.learn(&row.id, &LiveFact::Task { agent, parent, title });
            if dead.contains(&row.id) {
                tree.learn(&row.id, &LiveFact::Interrupted);
            }
        }
        self.children.clear();
        for row in rows.iter().rev() {
            if let Some(parent) = &row.parent {
                self.children.entry(parent.clone()).or_default().push(row.id.clone());
            }
        }
        self.rows = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    }

    /// Takes the sessions of the project.
    pub fn take_sessions(&mut self, here: BTreeSet<String>) {
        self.here = here;
    }

    /// Takes an event.
    pub fn observe(&mut self, entry: &EventEntry) {
        if let Some(tree) = self.trees.get_mut(entry.task_id.session()) {
            tree.observe(entry);
        }
    }

    /// Takes a fact that no event states.
    pub fn learn(&mut self, task: &TaskId, fact: &LiveFact) {
        if let Some(tree) = self.trees.get_mut(task.session()) {
            tree.learn(task, fact);
        }
    }

    /// Takes the calls that wait for approval, and the open questions.
    pub fn take_waiting(&mut self, approvals: Vec<ParkedCall>, questions: Vec<(TaskId, ParentQuestion)>) {
        for (task, question) in std::mem::take(&mut self.questions) {
            if !questions.iter().any(|(asking, _)| *asking == task) {
                self.learn(&task, &LiveFact::QuestionClosed { id: question.id });
            }
        }
        for (task, ParentQuestion { id, text, options }) in &questions {
            let (question, options) = (text.clone(), options.clone());
            self.learn(task, &LiveFact::Question { id: *id, question, options });
        }
        self.approvals = approvals.into_iter().map(|parked| (parked.request.task.clone(), parked)).collect();
        self.questions = questions.into_iter().collect();
    }

    /// Returns the row of a task as the store lists it.
    pub fn row(&self, task: &TaskId) -> Option<&TaskRow> {
        self.rows.get(task)
    }

    /// Returns the cells of a task.
    pub fn view(&self, task: &TaskId, now_ms: u64) -> Option<RowView> {
        self.trees.get(task.session())?.view(task, now_ms)
    }

    /// Returns the state of a task as its row shows it.
    pub fn state(&self, task: &TaskId) -> Option<RowState> {
        self.trees.get(task.session())?.state(task)
    }

    /// Returns the call of a task that waits for approval.
    pub fn approval(&self, task: &TaskId) -> Option<&ParkedCall> {
        self.approvals.get(task)
    }

    /// Returns the open question of a task.
    pub fn question(&self, task: &TaskId) -> Option<&ParentQuestion> {
        self.questions.get(task)
    }

    /// Sums up a task and everything below it.
    pub fn tree_total(&self, task: &TaskId) -> SpendingTotal {
        let mut total = SpendingTotal::default();
        let mut open = vec![task.clone()];
        while let Some(next) = open.pop() {
            if let Some(row) = self.rows.get(&next) {
                total.add(&row.total);
            }
            open.extend(self.children(&next).iter().cloned());
        }
        total
    }

    /// Returns the subagents of a task.
    pub fn children(&self, task: &TaskId) -> &[TaskId] {
        self.children.get(task).map_or(&[], Vec::as_slice)
    }

    /// Counts the tasks in scope that have begun, have not ended and have a living process.
    pub fn running(&self, scope: &TopScope) -> usize {
        let is_live = |row: &&TaskRow| {
            let state = self.state(&row.id);
            row.state.is_running()
                && state.is_some_and(|state| !matches!(state, RowState::Interrupted | RowState::Queued))
        };
        self.rows.values().filter(|row| self.is_in(scope, row)).filter(is_live).count()
    }

    /// Lists the tasks that fit the filter, group by group.
    pub fn list(&self, filter: &BoardFilter, now_ms: u64) -> Vec<BoardLine> {
        let rows: Vec<&TaskRow> = self.rows.values().filter(|row| self.is_in(&filter.scope, row)).collect();
        let sessions: BTreeSet<&str> = rows.iter().map(|row| row.id.session()).collect();
        let mut groups: BTreeMap<TaskGroup, Vec<(&TaskRow, RowView)>> = BTreeMap::new();
        for row in rows {
            let Some(view) = self.view(&row.id, now_ms) else { continue };
            if self.is_listed(row, &view, filter) {
                groups.entry(TaskGroup::of(view.state)).or_default().push((row, view));
            }
        }
        let listed = groups.values().flatten().map(|(row, _)| &row.id);
        let labels = LabelScope {
            parents: listed.filter(|id| !id.is_root()).map(TaskId::session).collect(),
            sessions,
        };
        let mut lines = Vec::new();
        for (group, mut tasks) in groups {
            let mut counts = BTreeMap::new();
            tasks.iter().for_each(|(_, view)| *counts.entry(view.state).or_default() += 1);
            lines.push(BoardLine::Heading(group, counts));
            match group {
                TaskGroup::NeedsInput | TaskGroup::Working => {
                    tasks.sort_by_cached_key(|(row, view)| (rank(view.state), self.tree_order(row)));
                }
                TaskGroup::Completed => {
                    tasks.sort_by_cached_key(|(row, _)| self.ended_order(row, filter));
                    tasks.truncate(ENDED_MAX);
                }
            }
            lines.extend(tasks.into_iter().map(|(row, view)| {
                let label = labels.label(&row.id);
                let folded = match group {
                    TaskGroup::Completed if !filter.unfolded.contains(&row.id) => {
                        self.hidden_below(row, filter)
                    }
                    _ => 0,
                };
                BoardLine::Task(Box::new(BoardTask { id: row.id.clone(), label, view, folded }))
            }));
        }
        lines
    }

    fn is_in(&self, scope: &TopScope, row: &TaskRow) -> bool {
        match scope {
            TopScope::Everything => true,
            TopScope::Project => self.here.contains(row.id.session()),
            TopScope::Tree(top) => self.is_below(row, top),
        }
    }

    fn is_below(&self, row: &TaskRow, top: &TaskId) -> bool {
        let mut at = Some(row);
        while let Some(next) = at {
            if next.id == *top {
                return true;
            }
            at = next.parent.as_ref().and_then(|parent| self.rows.get(parent));
        }
        false
    }

    fn is_listed(&self, row: &TaskRow, view: &RowView, filter: &BoardFilter) -> bool {
        if !filter.search.is_empty() {
            let text = format!("{} {} {} {}", row.id, view.agent, view.task, view.action).to_lowercase();
            return text.contains(&filter.search.to_lowercase());
        }
        !self.is_folded(row, filter)
    }

    /// Tells whether an ended subagent is part of the row of its ended parent.
    fn is_folded(&self, row: &TaskRow, filter: &BoardFilter) -> bool {
        if row.state.is_running() || matches!(filter.scope, TopScope::Tree(_)) {
            return false;
        }
        let parent = row.parent.as_ref().and_then(|parent| self.rows.get(parent));
        parent.is_some_and(|parent| {
            !parent.state.is_running()
                && (!filter.unfolded.contains(&parent.id) || self.is_folded(parent, filter))
        })
    }

    fn hidden_below(&self, row: &TaskRow, filter: &BoardFilter) -> usize {
        if !filter.search.is_empty() || matches!(filter.scope, TopScope::Tree(_)) {
            return 0;
        }
        let has_ended = |child: &&TaskId| self.rows.get(*child).is_some_and(|row| !row.state.is_running());
        self.children(&row.id).iter().filter(has_ended).count()
    }

    /// Sorts by tree, the newest first, and by number inside of it.
    fn tree_order(&self, row: &TaskRow) -> (std::cmp::Reverse<u64>, u64, TaskId) {
        (std::cmp::Reverse(self.root_of(row).created_ms), row.created_ms, row.id.clone())
    }

    /// Sorts by end, the latest first. Unfolded subagents stand below their parent.
    fn ended_order(&self, row: &TaskRow, filter: &BoardFilter) -> (std::cmp::Reverse<u64>, u64, TaskId) {
        let parent = row.parent.as_ref().filter(|parent| filter.unfolded.contains(*parent));
        let leader = parent.and_then(|parent| self.rows.get(parent));
        match leader {
            Some(leader) => (std::cmp::Reverse(leader.updated_ms), 1 + row.created_ms, row.id.clone()),
            None => (std::cmp::Reverse(row.updated_ms), 0, row.id.clone()),
        }
    }

    fn root_of<'a>(&'a self, row: &'a TaskRow) -> &'a TaskRow {
        let mut at = row;
        while let Some(parent) = at.parent.as_ref().and_then(|parent| self.rows.get(parent)) {
            at = parent;
        }
        at
    }
}

/// Sessions of the list, for ids that are short and unique in it.
struct LabelScope<'a> {
    sessions: BTreeSet<&'a str>,
    /// Sessions with listed subagents.
    parents: BTreeSet<&'a str>,
}

impl LabelScope<'_> {
    /// Formats an id: as much of the session as tells it from the others, and the short id of a subagent.
    fn label(&self, task: &TaskId) -> String {
        let session = task.session();
        let is_unique = |length: usize| {
            let start = prefix(session, length);
            self.sessions.iter().filter(|other| other.starts_with(start)).count() <= 1
        };
        let length = (SESSION_LETTERS..session.len()).find(|length| is_unique(*length));
        let session = prefix(session, length.unwrap_or(session.len()));
        match (task.is_root(), self.parents.len() > 1) {
            (true, _) => session.to_owned(),
            (false, true) => format!("{session} {}", task.short()),
            (false, false) => task.short().to_owned(),
        }
    }
}

/// Order inside a group: a wait is short, so it does not move a row.
fn rank(state: RowState) -> u8 {
    match state {
        RowState::Queued => 1,
        RowState::Interrupted => 2,
        _ => 0,
    }
}

fn listed(row: &TaskRow) -> TreeTask {
    let SpendingTotal { input_tokens, output_tokens, cost_micros, unpriced_tokens, .. } = row.total;
    let usage = Usage { input: input_tokens, output: output_tokens, ..Usage::default() };
    TreeTask {
        agent: row.agent.clone(),
        ended: match row.state {
            TaskState::Running => None,
            TaskState::Ended(status) => Some(status),
        },
        created_ms: row.created_ms,
        updated_ms: row.updated_ms,
        turns: row.turns(),
        usage: usage.costing((unpriced_tokens == 0).then_some(cost_micros)),
    }
}

/// Formats the title of a group, such as `COMPLETED 10 · 1 failed`.
pub fn heading(group: TaskGroup, counts: &BTreeMap<RowState, usize>) -> String {
    let all: usize = counts.values().sum();
    let of = |state: RowState| counts.get(&state).copied().unwrap_or(0);
    let parts = |states: &[(RowState, &str)]| -> Vec<String> {
        let named = states.iter().filter(|(state, _)| of(*state) > 0);
        named.map(|(state, name)| say!("top-count", state = *name, n = of(*state))).collect()
    };
    let (title, rest) = match group {
        TaskGroup::NeedsInput => (say!("top-needs-input", n = all), Vec::new()),
        TaskGroup::Working => {
            let rest = [(RowState::Queued, "queued"), (RowState::Interrupted, "interrupted")];
            let n = all - of(RowState::Queued) - of(RowState::Interrupted);
            (say!("top-working", n), parts(&rest))
        }
        TaskGroup::Completed => {
            let rest = [
                (RowState::Partial, "partial"),
                (RowState::Failed, "failed"),
                (RowState::Cancelled, "cancelled"),
            ];
            (say!("top-completed", n = of(RowState::Completed)), parts(&rest))
        }
    };
    [vec![title], rest].concat().join(" · ")
}
