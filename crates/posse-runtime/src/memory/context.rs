//! Sessions and shared context in memory.

use std::collections::BTreeMap;

use crate::ports::{BoxFuture, ChangeRequest, ContextStore, KEPT_AGENTS_MAX, KeptAgent, SessionRow};
use posse_core::Result;
use posse_core::context::{
    self, ChangeResult, ContextAccess, ContextChange, ContextEntry, ContextKey, ContextSnapshot, HISTORY_MAX,
    HistoryAct, HistoryLine, SessionState, SnapshotLabel, ValueHead,
};

use super::MemoryStore;

/// In order of creation.
#[derive(Default)]
pub(super) struct SessionTable(Vec<MemorySession>);

#[derive(Default)]
struct MemorySession {
    id: String,
    workspace: String,
    created_ms: u64,
    archived_ms: Option<u64>,
    deleted: bool,
    entries: BTreeMap<ContextKey, ContextEntry>,
    past: Vec<HistoryLine>,
    snapshots: Vec<(ContextSnapshot, Vec<ContextEntry>)>,
    answered: BTreeMap<String, ChangeResult>,
    agents: Vec<KeptAgent>,
}

impl SessionTable {
    pub fn ensure_session(&mut self, id: &str, workspace: &str, now_ms: u64) {
        match self.0.iter_mut().find(|session| session.id == id) {
            Some(session) if session.workspace.is_empty() => session.workspace = workspace.to_owned(),
            Some(_) => {}
            None => {
                let (id, workspace) = (id.to_owned(), workspace.to_owned());
                self.0.push(MemorySession { id, workspace, created_ms: now_ms, ..MemorySession::default() });
            }
        }
    }

    pub fn change(&mut self, request: &ChangeRequest) -> Result<ChangeResult> {
        let session = self.enter(&request.session, ContextAccess::Change)?;
        let key = request.idempotency_key.as_ref();
        if let Some(answer) = key.and_then(|key| session.answered.get(key)) {
            return Ok(answer.clone());
        }
        let changed = session.change(&request.change, &request.participant, request.now_ms)?;
        session.answered.extend(key.map(|key| (key.clone(), changed.clone())));
        Ok(changed)
    }

    fn enter(&mut self, id: &str, access: ContextAccess) -> Result<&mut MemorySession> {
        let session = self.0.iter_mut().find(|session| session.id == id);
        context::enter(id, session.as_deref().map(MemorySession::state), access)?;
        Ok(session.expect("a session that may be entered is there"))
    }
}

impl MemorySession {
    fn state(&self) -> SessionState {
        match (self.deleted, self.archived_ms) {
            (true, _) => SessionState::Deleted,
            (false, Some(_)) => SessionState::Archived,
            (false, None) => SessionState::Open,
        }
    }

    fn change(&mut self, change: &ContextChange, by: &str, now_ms: u64) -> Result<ChangeResult> {
        match change {
            ContextChange::Write(write) => {
                let heads: Vec<ValueHead> = self.entries.values().map(|entry| entry.head.clone()).collect();
                let last = self.past.iter().rev().find(|past| past.head.key == write.key);
                let head = context::write(&heads, last.map(|past| past.head.version), write, by, now_ms)?;
                let entry = ContextEntry { head: head.clone(), value: write.value.clone() };
                self.entries.insert(write.key.clone(), entry);
                self.remember(HistoryAct::Write, head.clone(), Some(write.value.clone()));
                Ok(ChangeResult::Written(head))
            }
            ContextChange::Delete(key) => {
                let current = self.entries.get(key).map(|entry| &entry.head);
                let deleted = context::delete(current, key, by, now_ms)?;
                self.entries.remove(key);
                let previous_version = deleted.version;
                self.remember(HistoryAct::Delete, deleted, None);
                Ok(ChangeResult::Deleted { key: key.clone(), previous_version })
            }
            ContextChange::Snapshot(label) => {
                let taken: Vec<SnapshotLabel> =
                    self.snapshots.iter().map(|(taken, _)| taken.label.clone()).collect();
                context::snapshot(&taken, label)?;
                let entries: Vec<ContextEntry> = self.live(now_ms).cloned().collect();
                let snapshot = ContextSnapshot {
                    label: label.clone(),
                    taken_by: by.to_owned(),
                    taken_at_ms: now_ms,
                    keys: entries.len() as u64,
                    tokens: entries.iter().map(|entry| entry.head.tokens).sum(),
                };
                self.snapshots.push((snapshot.clone(), entries));
                Ok(ChangeResult::SnapshotTaken(snapshot))
            }
            ContextChange::Restore(label) => {
                let current: Vec<ContextEntry> = self.entries.values().cloned().collect();
                let plan = context::restore(self.snapshot(label)?, &current, now_ms);
                let (mut written, mut deleted) = (0, 0);
                for change in &plan {
                    match self.change(change, by, now_ms)? {
                        ChangeResult::Deleted { .. } => deleted += 1,
                        _ => written += 1,
                    }
                }
                Ok(ChangeResult::Restored { written, deleted })
            }
        }
    }

    fn remember(&mut self, act: HistoryAct, head: ValueHead, value: Option<String>) {
        let key = head.key.clone();
        self.past.push(HistoryLine { act, head, value });
        let mut of_key = self.past.iter_mut().rev().filter(|past| past.head.key == key);
        if let Some(too_old) = of_key.nth(HISTORY_MAX as usize) {
            too_old.value = None;
        }
    }

    fn live(&self, now_ms: u64) -> impl Iterator<Item = &ContextEntry> {
        self.entries.values().filter(move |entry| entry.head.is_live(now_ms))
    }

    fn snapshot(&self, label: &SnapshotLabel) -> Result<&Vec<ContextEntry>> {
        let found = self.snapshots.iter().find(|(taken, _)| taken.label == *label);
        found.map(|(_, entries)| entries).ok_or_else(|| context::no_snapshot(label))
    }
}

impl MemoryStore {
    fn read_context<T>(&self, session: &str, read: impl FnOnce(&MemorySession) -> T) -> Result<T> {
        let mut state = self.lock();
        state.contexts.enter(session, ContextAccess::Read).map(|session| read(session))
    }
}

impl ContextStore for MemoryStore {
    fn create_session<'a>(
        &'a self,
        session: &'a str,
        workspace: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<()>> {
        let (session, workspace) = (session.to_owned(), workspace.to_owned());
        self.write(move |state, _| {
            context::check_session_id(&session)?;
            state.contexts.ensure_session(&session, &workspace, now_ms);
            Ok(())
        })
    }

    fn sessions(&self, limit: u32, now_ms: u64) -> BoxFuture<'_, Result<Vec<SessionRow>>> {
        Box::pin(async move {
            let state = self.lock();
            let tasks = |id: &str| state.tasks.iter().filter(|held| held.row.id.session() == id).count();
            let title = |id: &str| state.tasks.iter().find(|held| held.row.id.as_str() == id);
            let rows = state.contexts.0.iter().rev().filter(|session| !session.deleted);
            let rows = rows.take(limit as usize).map(|session| SessionRow {
                id: session.id.clone(),
                title: title(&session.id).map(|held| held.row.title.clone()).unwrap_or_default(),
                workspace: session.workspace.clone(),
                created_ms: session.created_ms,
                archived_ms: session.archived_ms,
                tasks: tasks(&session.id) as u64,
                keys: session.live(now_ms).count() as u64,
                tokens: session.live(now_ms).map(|entry| entry.head.tokens).sum(),
            });
            Ok(rows.collect())
        })
    }

    fn archive_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>> {
        let session = session.to_owned();
        self.write(move |state, _| {
            state.contexts.enter(&session, ContextAccess::Read)?.archived_ms.get_or_insert(now_ms);
            Ok(())
        })
    }

    fn keep_agent<'a>(&'a self, session: &'a str, agent: KeptAgent, _: u64) -> BoxFuture<'a, Result<()>> {
        let session = session.to_owned();
        self.write(move |state, _| {
            let session = state.contexts.enter(&session, ContextAccess::Change)?;
            session.agents.retain(|known| known.name != agent.name);
            session.agents.push(agent.clone());
            Ok(())
        })
    }

    fn kept_agents<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<KeptAgent>>> {
        let newest = |session: &MemorySession| {
            let over = session.agents.len().saturating_sub(KEPT_AGENTS_MAX);
            session.agents[over..].to_vec()
        };
        let answer = self.read_context(session, newest);
        Box::pin(async { answer })
    }

    fn delete_session<'a>(&'a self, session: &'a str, _: u64) -> BoxFuture<'a, Result<()>> {
        let id = session.to_owned();
        self.write(move |state, _| {
            let session = state.contexts.enter(&id, ContextAccess::Read)?;
            let (id, created_ms) = (id.clone(), session.created_ms);
            *session = MemorySession { id, created_ms, deleted: true, ..MemorySession::default() };
            Ok(())
        })
    }

    fn change_context(&self, request: ChangeRequest) -> BoxFuture<'_, Result<ChangeResult>> {
        self.write(move |state, _| state.contexts.change(&request))
    }

    fn context_keys<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Vec<ValueHead>>> {
        let heads = |session: &MemorySession| session.live(now_ms).map(|entry| entry.head.clone()).collect();
        let answer = self.read_context(session, heads);
        Box::pin(async { answer })
    }

    fn context_values<'a>(
        &'a self,
        session: &'a str,
        keys: &'a [ContextKey],
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>> {
        let values = |session: &MemorySession| {
            let held = keys.iter().filter_map(|key| session.entries.get(key));
            held.filter(|entry| entry.head.is_live(now_ms)).cloned().collect()
        };
        let answer = self.read_context(session, values);
        Box::pin(async { answer })
    }

    fn context_history<'a>(
        &'a self,
        session: &'a str,
        key: &'a ContextKey,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<HistoryLine>>> {
        let history = |session: &MemorySession| {
            let of_key = session.past.iter().rev().filter(|past| past.head.key == *key);
            of_key.take(limit as usize).cloned().collect()
        };
        let answer = self.read_context(session, history);
        Box::pin(async { answer })
    }

    fn snapshots<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<ContextSnapshot>>> {
        let taken =
            |session: &MemorySession| session.snapshots.iter().map(|(taken, _)| taken.clone()).collect();
        let answer = self.read_context(session, taken);
        Box::pin(async { answer })
    }

    fn snapshot<'a>(
        &'a self,
        session: &'a str,
        label: &'a SnapshotLabel,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>> {
        let answer = self.read_context(session, |session| session.snapshot(label).cloned());
        Box::pin(async { answer.flatten() })
    }
}
