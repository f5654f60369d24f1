//! `posse gc` and `posse tasks delete`: the end of what is not needed any more.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{Store, TaskQuery, TaskRow};
use posse_store::{RewriteConsent, SpaceReturn, SqliteStore, TaskTree};
use posse_tools::worktree::GitWorktrees;
use serde_json::{Value, json};

use super::tasks::{age, find};
use crate::args::{GcArgs, GlobalArgs};
use crate::render::{CountedNoun, many};
use crate::retention::{KeepReason, REPORT, RetentionCaps, TreeState, millis, obstacle};
use crate::setup::Setup;
use crate::worktrees::trees;
use crate::{owner, sizes, terminal};

/// A store of an earlier version is rewritten beside running tasks only if that takes less than a second.
const REWRITE_BYTES_MAX: u64 = 64 << 20;

/// Ids that are named for one reason.
const NAMED_MAX: usize = 5;

pub async fn run(global: &GlobalArgs, args: &GcArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let caps = match args.older_than {
        Some(span) => RetentionCaps { age_ms: Some(millis(span)), bytes: None },
        None => RetentionCaps::of(&setup.config.store),
    };
    if caps.is_none() {
        return Err(Error::new(ErrorCode::InvalidRequest, say!("gc-no-rule")).hint(say!("gc-no-rule-hint")));
    }
    let mut sweep = Sweep::new(&setup, args.dry_run, global.json).await?;
    sweep.apply(caps).await?;
    sweep.finish(&setup.state).await?;
    Ok(ExitCode::SUCCESS)
}

/// Deletes the trees of these tasks. `force` also takes what would be kept, except tasks that a process drives.
pub async fn delete(global: &GlobalArgs, wanted: &[String], force: bool) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let mut sweep = Sweep::new(&setup, false, global.json).await?;
    let mut named = Vec::new();
    for wanted in wanted {
        let row = find(&*sweep.store, wanted).await?;
        named.push(sweep.tree_of(&row).await?);
    }
    named.dedup_by(|a, b| a.root == b.root);
    for tree in named {
        sweep.delete_named(tree, force).await?;
    }
    sweep.finish(&setup.state).await?;
    Ok(if sweep.kept.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One pass over the trees of a store.
struct Sweep {
    store: Arc<SqliteStore>,
    worktrees: GitWorktrees,
    trees: Vec<TaskTree>,
    /// Tasks that have not ended.
    running: Vec<TaskRow>,
    dry_run: bool,
    json: bool,
    deleted: Deleted,
    kept: BTreeMap<KeepReason, Vec<TaskId>>,
}

#[derive(Default)]
struct Deleted {
    trees: u64,
    tasks: u64,
    /// Of their journals.
    bytes: u64,
}

impl Sweep {
    async fn new(setup: &Setup, dry_run: bool, json: bool) -> Result<Self> {
        let store = setup.store()?;
        let running = TaskQuery { status: Some("running".to_owned()), ..TaskQuery::default() };
        Ok(Self {
            trees: store.trees().await?,
            running: store.find_tasks(running).await?,
            worktrees: trees(&setup.state, &setup.workspace),
            store,
            dry_run,
            json,
            deleted: Deleted::default(),
            kept: BTreeMap::new(),
        })
    }

    async fn apply(&mut self, caps: RetentionCaps) -> Result<()> {
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

    /// A tree is deleted whole, so a task inside of one is not deleted alone.
    async fn tree_of(&self, row: &TaskRow) -> Result<TaskTree> {
        if let Some(tree) = self.trees.iter().find(|tree| tree.root == row.id) {
            return Ok(tree.clone());
        }
        let mut root = row.clone();
        while let Some(parent) = &root.parent
            && let Ok(above) = self.store.task(parent).await
        {
            root = above;
        }
        let text = say!("task-inside-tree", task = row.id);
        Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("task-inside-tree-hint", root = root.id)))
    }

    async fn delete_named(&mut self, tree: TaskTree, force: bool) -> Result<()> {
        let (tasks, bytes) = self.store.tree_contents(&tree.root).await?;
        match obstacle(&tree, self.state(&tree, &tasks), None) {
            Some(reason) if !force || reason == KeepReason::Running => self.keep(reason, tree.root),
            _ => self.delete(tree, &tasks, bytes).await?,
        }
        Ok(())
    }

    fn state(&self, tree: &TaskTree, tasks: &[TaskId]) -> TreeState {
        let drives = |row: &TaskRow| tasks.contains(&row.id) && owner::lives(row);
        let is_driven = tree.running > 0 && self.running.iter().any(drives);
        TreeState { is_driven, has_changes: !is_driven && tasks.iter().any(|task| self.has_changes(task)) }
    }

    /// What cannot be looked at counts as changed.
    fn has_changes(&self, task: &TaskId) -> bool {
        match self.worktrees.find(task) {
            Ok(None) => false,
            Ok(Some(made)) => made.keep().map_or(true, |changed| !changed.is_empty()),
            Err(_) => true,
        }
    }

    async fn delete(&mut self, tree: TaskTree, tasks: &[TaskId], bytes: u64) -> Result<()> {
        let (root, updated_ms) = (tree.root.clone(), tree.updated_ms);
        if !self.dry_run && !self.store.delete_tree(tree, now_ms()).await? {
            self.keep(KeepReason::Changed, root);
            return Ok(());
        }
        self.deleted.trees += 1;
        self.deleted.tasks += tasks.len() as u64;
        self.deleted.bytes += bytes;
        if self.json {
            terminal::out(&json!({ "type": "deleted", "task_id": root.as_str(), "tasks": tasks.len(), "bytes": bytes, "dry_run": self.dry_run }).to_string());
        } else if self.dry_run {
            let count = many(tasks.len() as u64, CountedNoun::Task);
            terminal::out(&format!(
                "{root:<14} {count:>10} {:>10} {:>6}",
                sizes::in_words(bytes),
                age(updated_ms)
            ));
        }
        if !self.dry_run {
            for task in tasks {
                self.discard(task);
            }
        }
        Ok(())
    }

    /// The task is gone; a directory that cannot be removed is named.
    fn discard(&self, task: &TaskId) {
        let discarded = self.worktrees.find(task).and_then(|made| made.map_or(Ok(()), |made| made.discard()));
        if let Err(e) = discarded {
            terminal::warn(&e);
        }
    }

    fn keep(&mut self, reason: KeepReason, root: TaskId) {
        if self.json {
            terminal::out(
                &json!({ "type": "kept", "task_id": root.as_str(), "why": reason.wire() }).to_string(),
            );
        }
        self.kept.entry(reason).or_default().push(root);
    }

    /// Gives the space back and tells what was done.
    async fn finish(&self, state: &Path) -> Result<()> {
        let mut returned = SpaceReturn::Done;
        if !self.dry_run {
            let is_alone = !self.running.iter().any(owner::lives);
            let is_small = self.store.size().await?.used_bytes <= REWRITE_BYTES_MAX;
            let consent = if is_alone || is_small { RewriteConsent::Given } else { RewriteConsent::Refused };
            returned = self.store.give_back_space(consent).await?;
        }
        let file_bytes = self.store.size().await?.file_bytes;
        let report = self.report(file_bytes, returned);
        if !self.dry_run {
            // What the last one did is told by `posse doctor`; nothing depends on it.
            let _ = std::fs::write(state.join(REPORT), report.to_string());
        }
        if self.json {
            terminal::out(&report.to_string());
            return Ok(());
        }
        terminal::note(&self.summary(file_bytes));
        for (reason, roots) in &self.kept {
            terminal::note(&kept_text(*reason, roots));
        }
        if returned == SpaceReturn::NeedsRewrite {
            terminal::note(&say!("gc-needs-rewrite"));
        }
        Ok(())
    }

    fn report(&self, file_bytes: u64, returned: SpaceReturn) -> Value {
        let kept: BTreeMap<&str, usize> =
            self.kept.iter().map(|(reason, roots)| (reason.wire(), roots.len())).collect();
        json!({
            "type": "gc",
            "at_ms": now_ms(),
            "dry_run": self.dry_run,
            "trees": self.deleted.trees,
            "tasks": self.deleted.tasks,
            "bytes": self.deleted.bytes,
            "kept": kept,
            "store_bytes": file_bytes,
            "space_returned": returned == SpaceReturn::Done && !self.dry_run,
        })
    }

    fn summary(&self, file_bytes: u64) -> String {
        let Deleted { trees, tasks, bytes } = self.deleted;
        let (trees, tasks) = (many(trees, CountedNoun::Tree), many(tasks, CountedNoun::Task));
        let (size, now) = (sizes::in_words(bytes), sizes::in_words(file_bytes));
        match self.dry_run {
            true => say!("gc-would-delete", trees, tasks, size, now),
            false => say!("gc-deleted", trees, tasks, size, now),
        }
    }
}

fn kept_text(reason: KeepReason, roots: &[TaskId]) -> String {
    let named: Vec<&str> = roots.iter().take(NAMED_MAX).map(TaskId::as_str).collect();
    let mut tasks = named.join(", ");
    if roots.len() > NAMED_MAX {
        tasks = say!("gc-and-more", tasks, n = roots.len() - NAMED_MAX);
    }
    match reason {
        KeepReason::Running => say!("gc-kept-running", tasks),
        KeepReason::Interrupted => say!("gc-kept-interrupted", tasks),
        KeepReason::Unapplied => say!("gc-kept-unapplied", tasks),
        KeepReason::Uncollected => say!("gc-kept-uncollected", tasks),
        KeepReason::NewestOfRoom => say!("gc-kept-newest", tasks),
        KeepReason::Changed => say!("gc-kept-changed", tasks),
    }
}
