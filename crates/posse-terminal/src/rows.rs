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
pub use model::{RowDelta, RowState, TreeModel, TreeTask, call_text, stop_text};
pub use reasons::{AnnouncedWait, question_text, queue_text};

use crate::style::StyledLine;

impl TreeModel {
    /// Returns the line of keys below the live tree.
    pub fn key_line(&self, layout: &TreeLayout) -> StyledLine {
        let asking = self.tasks().iter().find(|(_, view)| view.state == RowState::NeedsInput);
        let answer = asking.map(|(task, _)| say!("live-keys-answer", task = task.short()));
        let keys = if self.tasks().len() > 1 { say!("live-keys-tree") } else { say!("live-keys-one") };
        let keys: Vec<String> = answer.into_iter().chain([keys]).collect();
        let line = StyledLine::plain(layout.symbols.adapt(&format!("  {}", keys.join("   "))));
        line.cut(layout.columns.saturating_sub(1), layout.symbols)
    }
}
