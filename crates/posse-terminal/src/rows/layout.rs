//! Columns of the rows: which are shown, and how wide they are.

use std::collections::BTreeSet;

use posse_core::id::TaskId;
use posse_messages::say;

use super::arrange::{ItemContent, RowGroup, TreeItem, arrange};
use super::figures::{self, COST_COLUMNS, TIME_COLUMNS};
use super::model::{RowState, TreeModel};
use crate::style::{StyledLine, SymbolSet, TextStyle, columns, cut_text};

/// Least columns that task and action keep together.
const TEXT_COLUMNS_MIN: usize = 36;
/// Share of the terminal that task and action keep together, in percent.
const TEXT_SHARE: usize = 42;
/// Share of these columns that the task takes at most, in percent.
const TASK_SHARE: usize = 45;
const GAP: usize = 2;

/// Size and looks of the live tree.
#[derive(Debug, Clone)]
pub struct TreeLayout {
    /// Columns of the terminal; a row ends one before the edge.
    pub columns: usize,
    /// Rows that the tree may take.
    pub rows_max: usize,
    /// Characters of marks and branches.
    pub symbols: SymbolSet,
    /// The task whose row is highlighted.
    pub selected: Option<TaskId>,
}

impl TreeLayout {
    /// Tells whether a terminal of this size has room for a tree. In a smaller one, changes are lines as in a pipe.
    pub fn has_room(columns: usize, rows: usize) -> bool {
        columns >= 40 && rows >= 8
    }
}

/// The cells of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowView {
    /// Branch of the tree that leads to the row.
    pub branch: String,
    /// State, which says the mark.
    pub state: RowState,
    /// Short id; the topmost task is called `root`.
    pub id: String,
    /// Name of the agent.
    pub agent: String,
    /// Short description of the task.
    pub task: String,
    /// Last action, or why it waits.
    pub action: String,
    /// Numbers of the row.
    pub figures: RowFigures,
    is_root: bool,
}

/// The numbers of one task, as text. Unknown ones are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowFigures {
    /// Model without its provider.
    pub model: String,
    /// Turn of the highest number of turns.
    pub turn: String,
    /// Share of the context window that is used.
    pub context: String,
    /// Tokens of the task.
    pub tokens: String,
    /// Cost of the task and everything below it.
    pub cost: String,
    /// Time since the start.
    pub elapsed: String,
}

/// A column that is shown where there is room, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowColumn {
    Cost,
    Agent,
    Elapsed,
    Turn,
    Context,
    Tokens,
    Model,
}

impl RowColumn {
    const BY_IMPORTANCE: [RowColumn; 7] = [
        RowColumn::Cost,
        RowColumn::Agent,
        RowColumn::Elapsed,
        RowColumn::Turn,
        RowColumn::Context,
        RowColumn::Tokens,
        RowColumn::Model,
    ];
    /// From left to right, behind the action.
    const BY_PLACE: [RowColumn; 6] = [
        RowColumn::Model,
        RowColumn::Turn,
        RowColumn::Context,
        RowColumn::Tokens,
        RowColumn::Cost,
        RowColumn::Elapsed,
    ];

    fn text(self, row: &RowView) -> &str {
        match self {
            RowColumn::Cost => &row.figures.cost,
            RowColumn::Agent => &row.agent,
            RowColumn::Elapsed => &row.figures.elapsed,
            RowColumn::Turn => &row.figures.turn,
            RowColumn::Context => &row.figures.context,
            RowColumn::Tokens => &row.figures.tokens,
            RowColumn::Model => &row.figures.model,
        }
    }
}

/// Shown columns and widths of a set of rows.
struct ColumnPlan {
    label: usize,
    has_agent: bool,
    task: usize,
    action: usize,
    figures: Vec<(RowColumn, usize)>,
}

impl TreeModel {
    /// Lays out the live tree.
    pub fn lines(&self, layout: &TreeLayout, now_ms: u64) -> Vec<StyledLine> {
        let items = arrange(self, layout.rows_max, layout.symbols);
        // A task that stands alone was typed right above.
        let has_task = items.len() > 1;
        self.table(&items, layout, has_task, now_ms)
    }

    /// Returns the tasks that have a row of their own, from the first row on.
    pub fn order(&self, layout: &TreeLayout) -> Vec<TaskId> {
        let items = arrange(self, layout.rows_max, layout.symbols).into_iter();
        let task = |item: TreeItem| match item.content {
            ItemContent::Task(task) => Some(task),
            ItemContent::Fold { .. } => None,
        };
        items.filter_map(task).collect()
    }

    /// Returns the cells of a task, for a painter with its own columns.
    pub fn view(&self, task: &TaskId, now_ms: u64) -> Option<RowView> {
        self.tasks().contains_key(task).then(|| self.row(String::new(), task, now_ms))
    }

    pub(super) fn table(
        &self,
        items: &[TreeItem],
        layout: &TreeLayout,
        has_task: bool,
        now_ms: u64,
    ) -> Vec<StyledLine> {
        let limits = self.limits();
        let row = |branch: &str, task: &TaskId| {
            let row = self.row(branch.to_owned(), task, now_ms);
            match limits.iter().any(|limit| limit.tasks.contains(task)) {
                true => RowView { action: say!("task-row-rate-limited"), ..row },
                false => row,
            }
        };
        let rows: Vec<Option<RowView>> = items
            .iter()
            .map(|item| match &item.content {
                ItemContent::Task(task) => Some(row(&item.branch, task)),
                ItemContent::Fold { .. } => None,
            })
            .collect();
        let shown: Vec<&RowView> = rows.iter().flatten().collect();
        let plan = self.plan(&shown, layout, has_task);
        let names: Vec<String> = items.iter().map(|item| fold_name(&item.content)).collect();
        let name_width = names.iter().map(|name| columns(name)).max().unwrap_or(0);
        let line = |(at, item): (usize, &TreeItem)| match (&rows[at], &item.content) {
            (Some(row), ItemContent::Task(task)) => {
                let line = row_line(row, &plan, layout.symbols);
                if layout.selected.as_ref() == Some(task) { reversed(&line) } else { line }
            }
            (_, content) => self.fold_line(item, content, &names[at], name_width, &plan, layout),
        };
        items.iter().enumerate().map(line).collect()
    }

    fn row(&self, branch: String, task: &TaskId, now_ms: u64) -> RowView {
        let is_root = task == self.root();
        let id = if is_root { say!("task-row-root") } else { task.short().to_owned() };
        let Some(view) = self.tasks().get(task) else {
            let (agent, task, action) = (id.clone(), String::new(), String::new());
            let (state, figures) = (RowState::Queued, RowFigures::default());
            return RowView { branch, state, id, agent, task, action, figures, is_root };
        };
        let total = view.model.usage.total();
        let figures = RowFigures {
            model: view.model.name.clone(),
            turn: match view.turns_max {
                0 => String::new(),
                turns_max => say!("task-row-turn", turn = view.turn, turns_max),
            },
            context: view
                .model
                .context_percent()
                .map_or_else(String::new, |percent| say!("task-row-context", percent)),
            tokens: if total == 0 {
                String::new()
            } else {
                say!("task-row-tokens", count = figures::count(total))
            },
            cost: self.cost(&self.subtree(task)),
            elapsed: view.elapsed_ms(now_ms).map_or_else(String::new, figures::time),
        };
        RowView {
            branch,
            state: view.state,
            agent: if view.agent.is_empty() { id.clone() } else { view.agent.clone() },
            id,
            task: view.title.clone(),
            action: self.action(task, now_ms),
            figures,
            is_root,
        }
    }

    /// Takes columns in the order of their importance while task and action keep their room.
    fn plan(&self, rows: &[&RowView], layout: &TreeLayout, has_task: bool) -> ColumnPlan {
        let line = layout.columns.saturating_sub(1);
        let label = |has_agent| rows.iter().map(|row| columns(&label(row, has_agent))).max().unwrap_or(0) + 2;
        let text_min = TEXT_COLUMNS_MIN.max((layout.columns * TEXT_SHARE).div_ceil(100));
        let gaps = if has_task { 2 * GAP } else { GAP };
        let (mut has_agent, mut figures) = (false, Vec::new());
        let mut text = line.saturating_sub(label(false) + gaps);
        for column in RowColumn::BY_IMPORTANCE {
            let needed = match column {
                RowColumn::Agent => label(true).saturating_sub(label(false)),
                _ => match self.width(column, rows) {
                    0 => continue,
                    width => width + GAP,
                },
            };
            if text < text_min + needed {
                break;
            }
            text -= needed;
            match column {
                RowColumn::Agent => has_agent = true,
                _ => figures.push((column, needed - GAP)),
            }
        }
        figures.sort_by_key(|(column, _)| RowColumn::BY_PLACE.iter().position(|place| place == column));
        let widest = rows.iter().map(|row| columns(&row.task)).max().unwrap_or(0);
        let task = if has_task { widest.min((text * TASK_SHARE).div_ceil(100)) } else { 0 };
        ColumnPlan { label: label(has_agent), has_agent, task, action: text - task, figures }
    }

    /// Returns the width of a column: fixed, or that of the set of rows; 0 if no row can have it.
    fn width(&self, column: RowColumn, rows: &[&RowView]) -> usize {
        let natural = || rows.iter().map(|row| columns(column.text(row))).max().unwrap_or(0);
        match column {
            RowColumn::Cost => COST_COLUMNS,
            // One agent alone counts seconds for most of its time.
            RowColumn::Elapsed if self.tasks().len() == 1 => natural().max(TIME_COLUMNS - 1),
            RowColumn::Elapsed => TIME_COLUMNS,
            RowColumn::Turn => {
                let highest = self.tasks().values().map(|view| view.turns_max).max().unwrap_or(0).max(10);
                columns(&say!("task-row-turn", turn = highest, turns_max = highest))
            }
            RowColumn::Context if self.tasks().values().all(|view| view.model.window.is_none()) => 0,
            RowColumn::Context => columns(&say!("task-row-context", percent = 99)),
            RowColumn::Tokens => columns(&say!("task-row-tokens", count = "9.9k")),
            RowColumn::Agent | RowColumn::Model => natural(),
        }
    }

    fn fold_line(
        &self,
        item: &TreeItem,
        content: &ItemContent,
        name: &str,
        name_width: usize,
        plan: &ColumnPlan,
        layout: &TreeLayout,
    ) -> StyledLine {
        let ItemContent::Fold { group, tasks, .. } = content else { return StyledLine::new() };
        let mut line = StyledLine::plain(&item.branch);
        push_mark(&mut line, group.state(), *group, layout.symbols);
        line.push(
            &format!("{name:<0$}", name_width + name.chars().count() - columns(name)),
            TextStyle::PLAIN,
        );
        line.push("  ", TextStyle::PLAIN);
        let end = plan.label + GAP + plan.task + if plan.task > 0 { GAP } else { 0 } + plan.action;
        let room = end.saturating_sub(line.width());
        line.push(&cut_text(&ranges(tasks, layout.symbols), room, layout.symbols), TextStyle::PLAIN);
        let below: BTreeSet<TaskId> = tasks.iter().flat_map(|task| self.subtree(task)).collect();
        let cost = self.cost(&below);
        line.pad_to(end);
        for (column, width) in &plan.figures {
            let text = if *column == RowColumn::Cost { cost.as_str() } else { "" };
            push_right(&mut line, text, *width);
        }
        line.trimmed()
    }
}

/// Formats agent and id of a row.
fn label(row: &RowView, has_agent: bool) -> String {
    match (has_agent, row.is_root) {
        (true, true) => format!("{}{}", row.branch, row.agent),
        (true, false) => format!("{}{} {}", row.branch, row.agent, row.id),
        (false, _) => format!("{}{}", row.branch, row.id),
    }
}

fn push_mark(line: &mut StyledLine, state: RowState, group: RowGroup, symbols: SymbolSet) {
    let style = if group == RowGroup::Mixed { TextStyle::PLAIN } else { state.style() };
    line.push(state.mark(symbols), style);
    line.push(" ", TextStyle::PLAIN);
}

fn row_line(row: &RowView, plan: &ColumnPlan, symbols: SymbolSet) -> StyledLine {
    let mut line = StyledLine::plain(&row.branch);
    push_mark(&mut line, row.state, RowGroup::Working, symbols);
    line.push(&label(row, plan.has_agent)[row.branch.len()..], TextStyle::PLAIN);
    let mut end = plan.label;
    let mut push_cell = |line: &mut StyledLine, text: &str, width: usize| {
        line.pad_to(end + GAP);
        line.push(&cut_text(text, width, symbols), TextStyle::PLAIN);
        end += GAP + width;
        line.pad_to(end);
    };
    if plan.task > 0 {
        push_cell(&mut line, &row.task, plan.task);
    }
    push_cell(&mut line, &row.action, plan.action);
    for (column, width) in &plan.figures {
        push_right(&mut line, column.text(row), *width);
    }
    line.trimmed()
}

fn push_right(line: &mut StyledLine, text: &str, width: usize) {
    let free = (GAP + width).saturating_sub(columns(text));
    line.push(&format!("{}{text}", " ".repeat(free)), TextStyle::PLAIN);
}

fn reversed(line: &StyledLine) -> StyledLine {
    let mut out = StyledLine::new();
    line.spans().iter().for_each(|span| out.push(&span.text, TextStyle { reverse: true, ..span.style }));
    out
}

/// Formats the name of a folded group, such as `12 more queued`; empty for a task.
fn fold_name(content: &ItemContent) -> String {
    match content {
        ItemContent::Task(_) => String::new(),
        ItemContent::Fold { group, tasks, is_rest: false } => {
            say!("task-row-folded", state = group.name(), n = tasks.len())
        }
        ItemContent::Fold { group, tasks, is_rest: true } => {
            say!("task-row-folded-more", state = group.name(), n = tasks.len())
        }
    }
}

/// Formats ids, runs of three and more as a range: `t_01 … t_03, t_06`.
fn ranges(tasks: &[TaskId], symbols: SymbolSet) -> String {
    let number = |task: &TaskId| task.short().strip_prefix("t_").and_then(|n| n.parse::<u64>().ok());
    let mut parts = Vec::new();
    let mut rest = tasks;
    while let Some(first) = rest.first() {
        let next = |pair: &&[TaskId]| number(&pair[0]).zip(number(&pair[1])).is_some_and(|(a, b)| a + 1 == b);
        let run = rest.windows(2).take_while(next).count() + 1;
        if run >= 3 {
            parts.push(format!("{} {} {}", first.short(), symbols.ellipsis(), rest[run - 1].short()));
            rest = &rest[run..];
        } else {
            parts.push(first.short().to_owned());
            rest = &rest[1..];
        }
    }
    parts.join(", ")
}
