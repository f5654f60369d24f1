//! The block that stays after a run: state, subagents, changed files, and what to type next.

use posse_core::edits::{ChangeKind, FileChange};
use posse_core::outcome::StopReason;
use posse_core::text::visible;
use posse_messages::say;

use super::arrange::arrange_ended;
use super::figures;
use super::layout::TreeLayout;
use super::model::{RowState, TreeModel, stop_text};
use crate::style::{StyledLine, TextStyle, columns};

/// Subagents that get a row of their own at the end; more are folded by state.
const CHILDREN_MAX: usize = 6;
/// Files named at the end.
const FILES_MAX: usize = 6;

impl TreeModel {
    /// Lays out the end of the run. `hints` are the commands that make sense now.
    pub fn ending(&self, layout: &TreeLayout, hints: &[String], now_ms: u64) -> Vec<StyledLine> {
        let mut lines = vec![self.headline(layout, now_ms)];
        let below = arrange_ended(self, CHILDREN_MAX, layout.symbols);
        if !below.is_empty() {
            lines.extend(self.table(&below, layout, false, now_ms));
        }
        let changed = self.changed();
        let has_failed = self.state(self.root()) == Some(RowState::Failed);
        let mut last = hints.to_vec();
        if !changed.is_empty() {
            lines.push(
                StyledLine::plain(layout.symbols.adapt(&files(&changed)))
                    .cut(layout.columns.saturating_sub(1), layout.symbols),
            );
        } else if has_failed {
            last.insert(0, say!("task-end-no-file"));
        }
        lines.extend(hint_lines(&last, layout));
        lines
    }

    /// Formats state, time, reason and cost of the whole tree.
    fn headline(&self, layout: &TreeLayout, now_ms: u64) -> StyledLine {
        let root = self.tasks().get(self.root());
        let state = root.map_or(RowState::Queued, |view| view.state);
        let took = figures::time(root.and_then(|view| view.elapsed_ms(now_ms)).unwrap_or(0));
        let mut parts = vec![match state {
            RowState::Completed => say!("task-end-completed", took),
            RowState::Partial => say!("task-end-partial", took),
            RowState::Failed => say!("task-end-failed", took),
            RowState::Cancelled => say!("task-end-cancelled", took),
            RowState::NeedsInput
            | RowState::Working
            | RowState::Waiting
            | RowState::Interrupted
            | RowState::Queued => say!("task-end-interrupted", took),
        }];
        match root.and_then(|view| view.stop().map(|stop| (view, stop))) {
            Some((view, _)) if state == RowState::Completed => {
                parts.push(say!("task-end-turns", n = view.turn))
            }
            Some((view, (stop, answer))) => {
                parts.extend(match stop {
                    StopReason::TurnsExhausted => Some(say!("task-end-turn-limit", n = view.turns_max)),
                    StopReason::ModelFailed if !answer.is_empty() => None,
                    other => Some(stop_text(other)),
                });
                parts.extend(Some(answer.to_owned()).filter(|answer| !answer.is_empty()));
            }
            None => {}
        }
        let cost = self.cost(&self.subtree(self.root()));
        match self.tasks().len().saturating_sub(1) {
            _ if cost.is_empty() => {}
            0 => parts.push(cost),
            n => parts.push(say!("task-end-cost-with", cost, n)),
        }
        let mut line = StyledLine::new();
        line.push(state.mark(layout.symbols), state.style());
        line.push(&layout.symbols.adapt(&format!(" {}", parts.join(" · "))), TextStyle::PLAIN);
        line.cut(layout.columns.saturating_sub(1), layout.symbols)
    }
}

/// Puts commands on as few lines as have room for them. None is cut: it is there to be copied.
fn hint_lines(hints: &[String], layout: &TreeLayout) -> Vec<StyledLine> {
    let mut lines: Vec<String> = Vec::new();
    for hint in hints {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(hint) + 3 < layout.columns => {
                line.push_str(" · ");
                line.push_str(hint);
            }
            _ => lines.push(format!("  {hint}")),
        }
    }
    lines.iter().map(|line| StyledLine::plain(layout.symbols.adapt(line))).collect()
}

/// Formats changed files, such as `2 files changed: src/auth.rs +2 −1 · tests/auth_test.rs +48 new`.
fn files(changed: &[FileChange]) -> String {
    let mut parts: Vec<String> = changed.iter().take(FILES_MAX).map(file).collect();
    if changed.len() > FILES_MAX {
        parts.push(say!("task-end-more-files", n = changed.len() - FILES_MAX));
    }
    say!("task-end-files", n = changed.len(), files = parts.join(" · "))
}

fn file(change: &FileChange) -> String {
    let mut parts = vec![visible(&change.path).into_owned()];
    if let Some(lines) = change.lines {
        if lines.added > 0 || lines.removed == 0 {
            parts.push(format!("+{}", lines.added));
        }
        if lines.removed > 0 {
            parts.push(format!("−{}", lines.removed));
        }
    }
    match change.kind {
        ChangeKind::Created => parts.push(say!("task-end-new")),
        ChangeKind::Deleted => parts.push(say!("task-end-deleted")),
        ChangeKind::Modified => {}
    }
    parts.join(" ")
}
