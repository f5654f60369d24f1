//! Retention: which task trees may be deleted, and one pass that deletes them.

use std::collections::BTreeMap;

use posse_core::id::TaskId;
use posse_core::{Result, wire_enum};
use posse_runtime::context::now_ms;
use posse_runtime::liveness;
use posse_runtime::ports::{JournalStore, TaskFilter, TaskQuery, TaskRow};

use crate::SqliteStore;
use crate::retention::{RewriteConsent, SpaceReturn, TaskTree};

/// Largest store that is rewritten while tasks run: it takes less than a second.
const REWRITE_BYTES_MAX: u64 = 64 << 20;

/// Caps beyond which trees are deleted, oldest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionCaps {
    pub age_ms: Option<u64>,
    pub bytes: Option<u64>,
}

impl RetentionCaps {
    /// Tells whether there is no cap.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns the cap that a tree exceeds, if any; `used_bytes` is the current size of the store.
    fn breach(self, tree: &TaskTree, now_ms: u64, used_bytes: u64) -> Option<CapBreach> {
        if self.age_ms.is_some_and(|age| now_ms.saturating_sub(tree.updated_ms) >= age) {
            return Some(CapBreach::Age);
        }
        self.bytes.is_some_and(|most| used_bytes > most).then_some(CapBreach::Size)
    }
}

/// Cap that a tree exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CapBreach {
    Age,
    Size,
}

wire_enum! {
    /// Reason to keep a tree.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum KeepReason {
        Running = "running",
        Interrupted = "interrupted",
        Unapplied = "changes_not_applied",
        Uncollected = "result_not_collected",
        NewestOfRoom = "newest_of_room",
        /// It changed between the scan and the deletion.
        Changed = "changed_meanwhile",
    }
}

/// State of a tree beyond its rows.
#[derive(Debug, Clone, Copy, Default)]
struct TreeState {
    /// True if a process drives one of its tasks.
    is_driven: bool,
    /// True if one of its worktrees holds changes that were neither applied nor discarded.
    has_changes: bool,
}

/// Finds the reason to keep a tree that exceeds a cap or was named. Only the host's process knows which results it
/// collected, so results of a host session count as uncollected until the age cap has passed.
fn obstacle(tree: &TaskTree, state: TreeState, why: Option<CapBreach>) -> Option<KeepReason> {
    match () {
        () if state.is_driven => Some(KeepReason::Running),
        () if tree.running > 0 => Some(KeepReason::Interrupted),
        () if state.has_changes => Some(KeepReason::Unapplied),
        () if tree.is_hosted && why != Some(CapBreach::Age) => Some(KeepReason::Uncollected),
        // The next task of the session is numbered after the newest: an id is never reused.
        () if tree.is_hosted && tree.is_newest => Some(KeepReason::NewestOfRoom),
        () => None,
    }
}

/// Files of tasks outside of the store: their worktrees.
pub trait TaskFiles {
    /// Tells whether the task has changes that were neither applied nor discarded.
    fn has_changes(&self, task: &TaskId) -> bool;

    /// Removes the files of a deleted task.
    fn discard(&self, task: &TaskId) -> Result<()>;
}

/// Tells whether a pass deletes, or only finds what it would delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepMode {
    Delete,
    DryRun,
}

/// One step of a pass.
#[derive(Debug)]
pub enum SweepEvent {
    Deleted {
        root: TaskId,
        tasks: u64,
        /// Bytes of the journals.
        bytes: u64,
        updated_ms: u64,
    },
    Kept {
        root: TaskId,
        reason: KeepReason,
    },
    /// Files of a deleted task could not be removed.
    FilesLeft(posse_core::Error),
}

/// Sums of a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletedTrees {
    pub trees: u64,
    pub tasks: u64,
    /// Bytes of the journals.
    pub bytes: u64,
}

/// One pass over the trees of a store. `tell` gets each step.
pub struct RetentionSweep<'a> {
    store: &'a SqliteStore,
    files: &'a dyn TaskFiles,
    mode: SweepMode,
    tell: &'a mut dyn FnMut(SweepEvent),
    trees: Vec<TaskTree>,
    /// Tasks that have not ended.
    running: Vec<TaskRow>,
    pub deleted: DeletedTrees,
    pub kept: BTreeMap<KeepReason, Vec<TaskId>>,
}

impl<'a> RetentionSweep<'a> {
    /// Reads the trees of the store.
    pub async fn new(
        store: &'a SqliteStore,
        files: &'a dyn TaskFiles,
        mode: SweepMode,
        tell: &'a mut dyn FnMut(SweepEvent),
    ) -> Result<Self> {
        let trees = store.trees().await?;
        let running = store.find_tasks(TaskQuery::running(TaskFilter::All)).await?;
        let (deleted, kept) = (DeletedTrees::default(), BTreeMap::new());
        Ok(Self { store, files, mode, tell, trees, running, deleted, kept })
    }

    /// Deletes the trees that exceed a cap, oldest first.
    pub async fn apply(&mut self, caps: RetentionCaps) -> Result<()> {
        let (now, used) = (now_ms(), self.store.size().await?.used_bytes);
        for tree in std::mem::take(&mut self.trees) {
            let Some(breach) = caps.breach(&tree, now, used.saturating_sub(self.deleted.bytes)) else {
                continue;
            };
            let (tasks, bytes) = self.store.tree_contents(&tree.root).await?;
            match obstacle(&tree, self.state(&tree, &tasks), Some(breach)) {
                Some(reason) => self.keep(reason, tree.root),
                None => self.delete(tree, &tasks, bytes).await?,
            }
        }
        Ok(())
    }

    /// Finds the tree with this root. Trees are deleted whole.
    pub fn tree(&self, root: &TaskId) -> Option<TaskTree> {
        self.trees.iter().find(|tree| tree.root == *root).cloned()
    }

    /// Deletes a tree. `force` also deletes trees that would be kept, except those with tasks that a process drives.
    pub async fn delete_named(&mut self, tree: TaskTree, force: bool) -> Result<()> {
        let (tasks, bytes) = self.store.tree_contents(&tree.root).await?;
        match obstacle(&tree, self.state(&tree, &tasks), None) {
            Some(reason) if !force || reason == KeepReason::Running => self.keep(reason, tree.root),
            _ => self.delete(tree, &tasks, bytes).await?,
        }
        Ok(())
    }

    /// Returns free space to the file system. A store that has to be rewritten for that is left as it is while others use
    /// it, unless it is small.
    pub async fn give_back_space(&self) -> Result<SpaceReturn> {
        if self.mode == SweepMode::DryRun {
            return Ok(SpaceReturn::Done);
        }
        let is_alone = !self.running.iter().any(liveness::lives);
        let is_small = self.store.size().await?.used_bytes <= REWRITE_BYTES_MAX;
        let consent = if is_alone || is_small { RewriteConsent::Given } else { RewriteConsent::Refused };
        self.store.give_back_space(consent).await
    }

    fn state(&self, tree: &TaskTree, tasks: &[TaskId]) -> TreeState {
        let drives = |row: &TaskRow| tasks.contains(&row.id) && liveness::lives(row);
        let is_driven = tree.running > 0 && self.running.iter().any(drives);
        let has_changes = !is_driven && tasks.iter().any(|task| self.files.has_changes(task));
        TreeState { is_driven, has_changes }
    }

    async fn delete(&mut self, tree: TaskTree, tasks: &[TaskId], bytes: u64) -> Result<()> {
        let (root, updated_ms, count) = (tree.root.clone(), tree.updated_ms, tasks.len() as u64);
        if self.mode == SweepMode::Delete && !self.store.delete_tree(tree, now_ms()).await? {
            self.keep(KeepReason::Changed, root);
            return Ok(());
        }
        self.deleted.trees += 1;
        self.deleted.tasks += count;
        self.deleted.bytes += bytes;
        (self.tell)(SweepEvent::Deleted { root, tasks: count, bytes, updated_ms });
        for task in tasks.iter().filter(|_| self.mode == SweepMode::Delete) {
            if let Err(e) = self.files.discard(task) {
                (self.tell)(SweepEvent::FilesLeft(e));
            }
        }
        Ok(())
    }

    fn keep(&mut self, reason: KeepReason, root: TaskId) {
        (self.tell)(SweepEvent::Kept { root: root.clone(), reason });
        self.kept.entry(reason).or_default().push(root);
    }
}
