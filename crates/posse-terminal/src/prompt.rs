//! The prompt of a conversation: text under edit, history, menus below it, and their layout.
//!
//! [`PromptEditor`] turns key strokes into edits and actions; [`PromptEditor::lines`] lays it out. Files, the clock and the
//! terminal belong to the caller.

mod buffer;
mod editor;
mod file;
mod history;
mod layout;
mod matching;
mod menu;
mod picker;

pub use buffer::{CursorMove, PromptBuffer, TextSpan};
pub use editor::{PromptAction, PromptEditor};
pub use file::HistoryFile;
pub use history::{HISTORY_ENTRIES_MAX, PromptHistory, decode_history, encode_entry};
pub use layout::{LiveRows, PromptLayout};
pub use matching::match_score;
pub use menu::{MENU_ROWS_MAX, MenuEntry, MenuQuery, MenuSources, PromptMenu};
pub use picker::{ListPicker, PickerAction, PickerEntry};
