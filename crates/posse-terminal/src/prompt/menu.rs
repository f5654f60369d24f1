//! The menu below the prompt: commands after `/`, files and agents after `@`.

use super::buffer::PromptBuffer;
use super::matching::match_score;
use crate::style::{StyledLine, SymbolSet, TextStyle, columns, cut_text};

/// Rows of a menu at most.
pub const MENU_ROWS_MAX: usize = 8;
/// Entries that a menu holds; nobody scrolls further.
const ENTRIES_MAX: usize = 100;
/// Columns of the first part of an entry at most.
const VALUE_COLUMNS_MAX: usize = 48;

/// One choice of a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuEntry {
    /// Text that replaces the typed word.
    pub value: String,
    /// Text in the menu.
    pub label: String,
    /// Short explanation beside it.
    pub note: String,
}

impl MenuEntry {
    /// Creates an entry that is shown as it is inserted.
    pub fn new(value: impl Into<String>, note: impl Into<String>) -> Self {
        let value = value.into();
        Self { label: value.clone(), value, note: note.into() }
    }
}

/// Everything that menus offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MenuSources {
    /// Commands with their slash.
    pub commands: Vec<MenuEntry>,
    /// Paths of files, relative to the workspace.
    pub files: Vec<String>,
    /// Names of agents with their note.
    pub agents: Vec<MenuEntry>,
}

/// The word under the cursor that opens a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MenuQuery {
    /// A slash at the start of the text and letters after it.
    Command {
        /// Letters with the slash.
        typed: String,
    },
    /// An `@` and what follows.
    Mention {
        /// Number of units before the `@`.
        start: usize,
        /// Text after the `@`.
        typed: String,
    },
}

impl MenuQuery {
    /// Reads the word before the cursor.
    pub fn of(buffer: &PromptBuffer) -> Option<Self> {
        let (start, word) = buffer.word();
        if let Some(typed) = word.strip_prefix('@') {
            return Some(Self::Mention { start, typed: typed.to_owned() });
        }
        let is_name = |rest: &str| rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        (start == 0 && word.strip_prefix('/').is_some_and(is_name)).then_some(Self::Command { typed: word })
    }

    fn start(&self) -> usize {
        match self {
            Self::Command { .. } => 0,
            Self::Mention { start, .. } => *start,
        }
    }
}

/// An open menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMenu {
    query: MenuQuery,
    entries: Vec<MenuEntry>,
    selected: usize,
}

impl PromptMenu {
    /// Opens a menu for a query; `None` if nothing matches.
    pub fn open(query: MenuQuery, sources: &MenuSources) -> Option<Self> {
        let entries = match &query {
            MenuQuery::Command { typed } => commands(typed, &sources.commands),
            MenuQuery::Mention { typed, .. } => mentions(typed, sources),
        };
        (!entries.is_empty()).then_some(Self { query, entries, selected: 0 })
    }

    /// Returns the word that the menu is for.
    pub fn query(&self) -> &MenuQuery {
        &self.query
    }

    /// Returns the entries, best first.
    pub fn entries(&self) -> &[MenuEntry] {
        &self.entries
    }

    /// Returns the selected entry.
    pub fn selected(&self) -> &MenuEntry {
        &self.entries[self.selected]
    }

    /// Selects the entry above or below; the ends are connected.
    pub fn step(&mut self, is_down: bool) {
        let count = self.entries.len();
        self.selected = (self.selected + if is_down { 1 } else { count - 1 }) % count;
    }

    /// Tells whether the selected entry is what was typed.
    pub fn is_typed(&self) -> bool {
        match &self.query {
            MenuQuery::Command { typed } => *typed == self.selected().value,
            MenuQuery::Mention { typed, .. } => {
                self.selected().value.strip_prefix('@') == Some(typed.as_str())
            }
        }
    }

    /// Puts the selected entry into the text, with a space after it.
    pub fn take(self, buffer: &mut PromptBuffer) {
        let value = format!("{} ", self.selected().value);
        buffer.replace_from(self.query.start(), &value);
    }

    /// Lays the menu out: at most eight rows, the selected one reversed.
    pub fn lines(&self, width: usize, rows_max: usize, symbols: SymbolSet) -> Vec<StyledLine> {
        let rows = rows_max.min(MENU_ROWS_MAX);
        if rows == 0 {
            return Vec::new();
        }
        let first = (self.selected + 1).saturating_sub(rows).min(self.entries.len().saturating_sub(rows));
        let shown = &self.entries[first..(first + rows).min(self.entries.len())];
        let widest = shown.iter().map(|entry| columns(&entry.label)).max().unwrap_or(0);
        let column = widest.min(VALUE_COLUMNS_MAX).min(width.saturating_sub(4));
        let line = |(at, entry): (usize, &MenuEntry)| {
            let is_selected = first + at == self.selected;
            let style = TextStyle { reverse: is_selected, ..TextStyle::PLAIN };
            // Without reverse the mark alone tells which one is selected.
            let mut line = StyledLine::plain(if is_selected { "> " } else { "  " });
            line.push(&cut_text(&entry.label, column, symbols), style);
            if !entry.note.is_empty() {
                line.pad_to(2 + column + 2);
                line.push(&entry.note, TextStyle::PLAIN);
            }
            line.cut(width.saturating_sub(1), symbols)
        };
        shown.iter().enumerate().map(line).collect()
    }
}

fn commands(typed: &str, all: &[MenuEntry]) -> Vec<MenuEntry> {
    let starts = |entry: &&MenuEntry| entry.value.starts_with(typed);
    let mut found: Vec<MenuEntry> = all.iter().filter(starts).cloned().collect();
    if found.is_empty() {
        let scored = all.iter().filter_map(|entry| Some((match_score(&entry.value, typed)?, entry)));
        found = best(scored.map(|(score, entry)| (score, entry.clone())).collect());
    }
    found.truncate(ENTRIES_MAX);
    found
}

fn mentions(typed: &str, sources: &MenuSources) -> Vec<MenuEntry> {
    let agents = sources.agents.iter().filter_map(|agent| {
        let entry = MenuEntry::new(format!("@{}", agent.value), &agent.note);
        Some((match_score(&agent.value, typed)?, entry))
    });
    let files = sources.files.iter().filter_map(|file| {
        let entry = MenuEntry { label: file.clone(), ..MenuEntry::new(format!("@{file}"), "") };
        Some((match_score(file, typed)?, entry))
    });
    best(files.chain(agents).collect())
}

fn best(mut scored: Vec<(i64, MenuEntry)>) -> Vec<MenuEntry> {
    scored.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.value.cmp(&right.value)));
    scored.into_iter().take(ENTRIES_MAX).map(|(_, entry)| entry).collect()
}
