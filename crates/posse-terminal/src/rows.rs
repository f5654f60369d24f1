//! Rows of the live tree: one per task, filled from events, laid out for the width and height of the terminal.
//!
//! [`TreeModel`] holds the facts, [`TreeModel::lines`] lays them out. Columns are taken in the order of their importance
//! while task and action keep their room; widths depend on the terminal and the set of rows, never on the action.

mod approval;
mod arrange;
mod ending;
pub mod figures;
mod layout;
mod model;
mod reasons;

use posse_messages::say;

pub use approval::ApprovalCard;
pub use layout::{RowFigures, RowView, TreeLayout};
pub use model::{ProviderLimit, RowDelta, RowState, TreeModel, TreeTask, TreeUse, call_text, stop_text};
pub use reasons::{AnnouncedWait, question_text, queue_text};

use crate::style::{StyledLine, SymbolSet, columns};

impl TreeModel {
    /// Returns the line of keys below the live tree. Where it is too long, the last ones but `?`, which lists all, give way.
    pub fn key_line(&self, layout: &TreeLayout, can_leave: bool) -> StyledLine {
        let asking = self.tasks().iter().find(|(_, view)| view.state == RowState::NeedsInput);
        let answer = asking.map(|(task, _)| say!("live-keys-answer", task = task.short()));
        let keys = match (self.tasks().len() > 1, can_leave) {
            (true, true) => say!("live-keys-tree"),
            (true, false) => say!("live-keys-tree-stay"),
            (false, true) => say!("live-keys-one"),
            (false, false) => say!("live-keys-one-stay"),
        };
        let keys = layout.symbols.adapt(&keys).into_owned();
        let mut keys: Vec<&str> = answer.as_deref().into_iter().chain(keys.split(KEY_GAP)).collect();
        let room = layout.columns.saturating_sub(1);
        let line = |keys: &[&str]| StyledLine::plain(format!("  {}", keys.join(KEY_GAP)));
        while keys.len() > 2 && line(&keys).width() > room {
            keys.remove(keys.len() - 2);
        }
        line(&keys).cut(room, layout.symbols)
    }
}

/// Lays out keys and what they do, separated by three spaces, on as few lines as have room for them.
pub fn key_lines(keys: &str, width: usize, symbols: SymbolSet) -> Vec<StyledLine> {
    let room = width.saturating_sub(1);
    let keys = symbols.adapt(keys).into_owned();
    let mut lines: Vec<String> = Vec::new();
    for key in keys.lines().flat_map(|line| line.split(KEY_GAP)).map(str::trim) {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(KEY_GAP) + columns(key) <= room => {
                line.push_str(KEY_GAP);
                line.push_str(key);
            }
            _ => lines.push(format!("  {key}")),
        }
    }
    lines.iter().map(|line| StyledLine::plain(line).cut(room, symbols)).collect()
}

/// Space between two keys of the line of keys.
const KEY_GAP: &str = "   ";
