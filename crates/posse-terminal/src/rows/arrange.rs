//! Order of the rows, and which of them are folded into one.

use posse_core::id::TaskId;

use super::model::{RowState, TreeModel, number_key};
use crate::style::SymbolSet;

/// Groups of rows, the most urgent first. Folding starts at the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowGroup {
    NeedsInput,
    Working,
    Failed,
    Queued,
    Completed,
    /// Rows of several groups, where even folded groups do not fit.
    Mixed,
}

impl RowGroup {
    const ALL: [RowGroup; 5] =
        [RowGroup::NeedsInput, RowGroup::Working, RowGroup::Failed, RowGroup::Queued, RowGroup::Completed];

    fn of(state: RowState) -> Self {
        match state {
            RowState::NeedsInput => RowGroup::NeedsInput,
            RowState::Working | RowState::Waiting => RowGroup::Working,
            RowState::Failed | RowState::Partial | RowState::Interrupted | RowState::Cancelled => {
                RowGroup::Failed
            }
            RowState::Queued => RowGroup::Queued,
            RowState::Completed => RowGroup::Completed,
        }
    }

    /// Returns the name of the group in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            RowGroup::NeedsInput => "input",
            RowGroup::Working => "working",
            RowGroup::Failed => "failed",
            RowGroup::Queued => "queued",
            RowGroup::Completed => "completed",
            RowGroup::Mixed => "mixed",
        }
    }

    pub(super) fn state(self) -> RowState {
        match self {
            RowGroup::NeedsInput => RowState::NeedsInput,
            RowGroup::Working | RowGroup::Mixed => RowState::Working,
            RowGroup::Failed => RowState::Failed,
            RowGroup::Queued => RowState::Queued,
            RowGroup::Completed => RowState::Completed,
        }
    }
}

/// A row, with the branch that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeItem {
    pub(super) branch: String,
    pub(super) content: ItemContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ItemContent {
    Task(TaskId),
    Fold {
        group: RowGroup,
        tasks: Vec<TaskId>,
        /// Tasks of the same group stand above it.
        is_rest: bool,
    },
}

/// Arranges the tree in at most this many rows. Where it has to be folded, all subagents are shown as one list.
pub(super) fn arrange(tree: &TreeModel, rows_max: usize, symbols: SymbolSet) -> Vec<TreeItem> {
    let below = tree.subtree(tree.root());
    let root = TreeItem { branch: String::new(), content: ItemContent::Task(tree.root().clone()) };
    let mut items = vec![root];
    if below.len() <= rows_max {
        nest(tree, tree.root(), RowOrder::Urgency, "", symbols, &mut items);
    } else {
        // A single row is the root's.
        let room = rows_max.saturating_sub(1);
        let rows = if room > 0 { fold(group(tree), room) } else { Vec::new() };
        items.extend(branched(rows, symbols));
    }
    items
}

/// Arranges the subagents of a tree that has ended: by number, or one row per group if they are more than `rows_max`.
pub(super) fn arrange_ended(tree: &TreeModel, rows_max: usize, symbols: SymbolSet) -> Vec<TreeItem> {
    let mut items = Vec::new();
    if tree.subtree(tree.root()).len() <= rows_max + 1 {
        nest(tree, tree.root(), RowOrder::Number, "", symbols, &mut items);
    } else {
        items.extend(branched(fold(group(tree), 0), symbols));
    }
    items
}

/// Order of siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowOrder {
    Urgency,
    Number,
}

/// Gives the rows of one list their branches.
fn branched(rows: Vec<ItemContent>, symbols: SymbolSet) -> impl Iterator<Item = TreeItem> {
    let last = rows.len().saturating_sub(1);
    let item = move |(at, content)| TreeItem { branch: branches(symbols, at == last).0.to_owned(), content };
    rows.into_iter().enumerate().map(item)
}

/// Returns the branch to a row, and what stands below it before the branches of its children.
fn branches(symbols: SymbolSet, is_last: bool) -> (&'static str, &'static str) {
    match (symbols, is_last) {
        (SymbolSet::Unicode, false) => ("├─ ", "│  "),
        (SymbolSet::Unicode, true) => ("└─ ", "   "),
        (SymbolSet::Ascii, false) => ("|- ", "|  "),
        (SymbolSet::Ascii, true) => ("`- ", "   "),
    }
}

fn nest(
    tree: &TreeModel,
    parent: &TaskId,
    order: RowOrder,
    before: &str,
    symbols: SymbolSet,
    items: &mut Vec<TreeItem>,
) {
    let mut children = tree.children(parent);
    if order == RowOrder::Urgency {
        children.sort_by_key(|child| (urgency(tree, child), number_key(child)));
    }
    for (at, child) in children.iter().enumerate() {
        let (branch, below) = branches(symbols, at + 1 == children.len());
        let content = ItemContent::Task((*child).clone());
        items.push(TreeItem { branch: format!("{before}{branch}"), content });
        nest(tree, child, order, &format!("{before}{below}"), symbols, items);
    }
}

/// Returns the most urgent group of a task and everything below it.
fn urgency(tree: &TreeModel, task: &TaskId) -> RowGroup {
    let below = tree.subtree(task);
    below.iter().filter_map(|task| tree.state(task)).map(RowGroup::of).min().unwrap_or(RowGroup::Queued)
}

/// Returns the subagents by their group, in the order of `RowGroup::ALL`.
fn group(tree: &TreeModel) -> Vec<Vec<TaskId>> {
    let mut groups: Vec<Vec<TaskId>> = vec![Vec::new(); RowGroup::ALL.len()];
    for task in tree.subtree(tree.root()).into_iter().filter(|task| task != tree.root()) {
        let group = tree.state(&task).map_or(RowGroup::Queued, RowGroup::of);
        groups[group as usize].push(task);
    }
    groups.iter_mut().for_each(|group| group.sort_by_key(number_key));
    groups
}

/// Folds groups, the last first, until the rows fit. Without room every group is one row.
fn fold(groups: Vec<Vec<TaskId>>, rows_max: usize) -> Vec<ItemContent> {
    let mut total = groups.iter().map(Vec::len).sum::<usize>();
    // Tasks of each group that keep a row of their own.
    let mut kept: Vec<usize> = groups.iter().map(Vec::len).collect();
    for (group, kept) in groups.iter().zip(&mut kept).rev() {
        if total > rows_max && group.len() > 1 {
            let others = total - group.len();
            *kept = rows_max.saturating_sub(others + 1);
            total = others + *kept + 1;
        }
    }
    let mut rows = Vec::new();
    for ((group, tasks), kept) in RowGroup::ALL.into_iter().zip(groups).zip(kept) {
        rows.extend(tasks[..kept].iter().cloned().map(ItemContent::Task));
        if kept < tasks.len() {
            let rest = tasks[kept..].to_vec();
            rows.push(ItemContent::Fold { group, tasks: rest, is_rest: kept > 0 });
        }
    }
    if rows_max > 0 && rows.len() > rows_max {
        mix(&mut rows, rows_max);
    }
    rows
}

/// Joins the rows that do not fit.
fn mix(rows: &mut Vec<ItemContent>, rows_max: usize) {
    let rest = rows.split_off(rows_max - 1);
    let of = |content| match content {
        ItemContent::Task(task) => vec![task],
        ItemContent::Fold { tasks, .. } => tasks,
    };
    let mut tasks: Vec<TaskId> = rest.into_iter().flat_map(of).collect();
    tasks.sort_by_key(number_key);
    rows.push(ItemContent::Fold { group: RowGroup::Mixed, tasks, is_rest: true });
}
