//! A list to choose from: type to search, arrows to select, Enter to take.

use posse_core::text::visible;
use posse_messages::say;

use super::layout::{LiveRows, PromptLayout};
use super::matching::match_score;
use crate::keys::{KeyCode, KeyEvent, KeyModifiers};
use crate::painter::CursorSpot;
use crate::style::{StyledLine, SymbolSet, TextStyle, columns, cut_text};

/// Longest search text, in bytes.
const QUERY_BYTES_MAX: usize = 200;

/// One row of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PickerEntry {
    /// Value that is chosen.
    pub key: String,
    /// Age, such as `5m ago`.
    pub age: String,
    /// Subject; the search looks here.
    pub title: String,
    /// State that is worth a word, such as `interrupted`.
    pub state: String,
    /// Figures, right-aligned in columns.
    pub figures: Vec<String>,
    /// Project, if several are listed: searched, and shown as the last column.
    pub project: String,
}

/// Meaning of a key stroke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickerAction {
    /// The list took it.
    Taken,
    /// This entry was chosen, by its key.
    Chosen(String),
    /// Esc, Ctrl-C or Ctrl-D.
    Cancelled,
    /// Ctrl-A: the caller lists this project, or all of them.
    ToggleAll,
}

/// A list with a search line.
#[derive(Debug, Clone, Default)]
pub struct ListPicker {
    title: String,
    /// Shown until something is typed, instead of the usual hint.
    hint: Option<String>,
    entries: Vec<PickerEntry>,
    query: String,
    selected: usize,
}

impl ListPicker {
    /// Creates a list under this title.
    pub fn new(title: impl Into<String>, entries: Vec<PickerEntry>) -> Self {
        Self { title: title.into(), entries, ..Self::default() }
    }

    /// Shows another hint until something is typed.
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Replaces title and entries and keeps the search text.
    pub fn replace(&mut self, title: impl Into<String>, entries: Vec<PickerEntry>) {
        (self.title, self.entries, self.selected) = (title.into(), entries, 0);
    }

    /// Takes a key stroke.
    pub fn key(&mut self, key: KeyEvent) -> PickerAction {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let count = self.found().len();
        match (key.code, has_control) {
            (KeyCode::Esc, _) | (KeyCode::Char('c' | 'd'), true) => return PickerAction::Cancelled,
            (KeyCode::Char('a'), true) => return PickerAction::ToggleAll,
            (KeyCode::Enter, _) => {
                let chosen = self.found().get(self.selected).map(|entry| entry.key.clone());
                return chosen.map_or(PickerAction::Taken, PickerAction::Chosen);
            }
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => self.selected = self.selected.saturating_sub(1),
            (KeyCode::Down, _) | (KeyCode::Char('n'), true) => {
                self.selected = (self.selected + 1).min(count.saturating_sub(1));
            }
            (KeyCode::PageUp, _) => self.selected = self.selected.saturating_sub(10),
            (KeyCode::PageDown, _) => self.selected = (self.selected + 10).min(count.saturating_sub(1)),
            (KeyCode::Backspace, _) => {
                self.query.pop();
                self.selected = 0;
            }
            (KeyCode::Char('u'), true) => {
                self.query.clear();
                self.selected = 0;
            }
            (KeyCode::Char(character), false) if self.query.len() < QUERY_BYTES_MAX => {
                self.query.push(character);
                self.selected = 0;
            }
            _ => {}
        }
        PickerAction::Taken
    }

    /// Adds pasted text to the search.
    pub fn paste(&mut self, text: &str) {
        let line: String =
            text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
        let room = QUERY_BYTES_MAX.saturating_sub(self.query.len());
        self.query.push_str(&line[..line.floor_char_boundary(room)]);
        self.selected = 0;
    }

    /// Returns the entries that match the search, in their order.
    fn found(&self) -> Vec<&PickerEntry> {
        let words: Vec<&str> = self.query.split_whitespace().collect();
        let fits = |entry: &&PickerEntry| {
            let text = format!("{} {} {} {}", entry.title, entry.state, entry.project, entry.key);
            // A scattered match of a long title says nothing: a word is found whole.
            words.iter().all(|word| match_score(&text, word).is_some_and(|score| score > 5_000))
        };
        self.entries.iter().filter(fits).collect()
    }

    /// Lays the list out, with the cursor in the search line.
    pub fn lines(&self, layout: &PromptLayout) -> LiveRows {
        let (width, symbols) = (layout.size.columns.saturating_sub(1), layout.symbols);
        let hint = match (&self.hint, self.query.is_empty()) {
            (_, false) => self.query.clone(),
            (Some(hint), true) => hint.clone(),
            (None, true) => say!("picker-hint"),
        };
        let head = symbols.adapt(&format!("{} · ", self.title)).into_owned();
        let head = cut_text(&head, width.saturating_sub(12), symbols);
        let column = columns(&head) + columns(&self.query);
        let mut title = StyledLine::plain(&head);
        title.push(&symbols.adapt(&hint), TextStyle::PLAIN);
        let mut rows = vec![title.cut(width, symbols)];
        let found = self.found();
        let room = layout.rows_max().saturating_sub(1).max(1);
        let first = (self.selected + 1).saturating_sub(room);
        let shown = &found[first.min(found.len())..(first + room).min(found.len())];
        let table = PickerTable::of(shown, width);
        for (at, entry) in shown.iter().enumerate() {
            rows.push(table.line(entry, first + at == self.selected, symbols).cut(width, symbols));
        }
        if found.is_empty() {
            rows.push(StyledLine::plain(format!("   {}", say!("picker-nothing"))).cut(width, symbols));
        }
        LiveRows { rows, cursor: CursorSpot { row: 0, column: column.min(width) } }
    }
}

/// Widths of the columns.
struct PickerTable {
    age: usize,
    title: usize,
    state: usize,
    figures: Vec<usize>,
    project: usize,
}

impl PickerTable {
    fn of(entries: &[&PickerEntry], width: usize) -> Self {
        let widest = |text: fn(&PickerEntry) -> &str| {
            entries.iter().map(|entry| columns(text(entry))).max().unwrap_or(0)
        };
        let (age, state) = (widest(|entry| &entry.age), widest(|entry| &entry.state));
        let count = entries.iter().map(|entry| entry.figures.len()).max().unwrap_or(0);
        let figure = |at: usize| {
            let wide = |entry: &&PickerEntry| entry.figures.get(at).map_or(0, |text| columns(text));
            entries.iter().map(wide).max().unwrap_or(0)
        };
        let mut figures: Vec<usize> = (0..count).map(figure).collect();
        let gaps = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>();
        // A list without ages begins with its titles.
        let fixed = 2 + if age > 0 { age + 2 } else { 0 } + if state > 0 { state + 2 } else { 0 };
        let project = widest(|entry| &entry.project).min(width / 4);
        let project = if project > 0 && fixed + project + 2 + 20 <= width { project } else { 0 };
        let fixed = fixed + if project > 0 { project + 2 } else { 0 };
        // The title keeps 20 columns; figures give way from the right.
        while !figures.is_empty() && fixed + gaps(&figures) + 20 > width {
            figures.pop();
        }
        let title = width.saturating_sub(fixed + gaps(&figures));
        Self { age, title, state, figures, project }
    }

    fn line(&self, entry: &PickerEntry, is_selected: bool, symbols: SymbolSet) -> StyledLine {
        let style = TextStyle { reverse: is_selected, ..TextStyle::PLAIN };
        let mut line = StyledLine::plain(if is_selected { "> " } else { "  " });
        if self.age > 0 {
            line.push(&" ".repeat(self.age.saturating_sub(columns(&entry.age))), TextStyle::PLAIN);
            line.push(&entry.age, TextStyle::PLAIN);
            line.push("  ", TextStyle::PLAIN);
        }
        let mut end = line.width() + self.title;
        let title = visible(&entry.title).replace(['\n', '\t'], " ");
        line.push(&cut_text(&title, self.title, symbols), style);
        line.pad_to(end);
        if self.state > 0 {
            line.push(&format!("  {}", entry.state), TextStyle::PLAIN);
            end += self.state + 2;
            line.pad_to(end);
        }
        for (at, width) in self.figures.iter().enumerate() {
            let text = entry.figures.get(at).map_or("", String::as_str);
            line.push(&" ".repeat(2 + width.saturating_sub(columns(text))), TextStyle::PLAIN);
            line.push(text, TextStyle::PLAIN);
        }
        if self.project > 0 {
            line.push(&format!("  {}", cut_text(&entry.project, self.project, symbols)), TextStyle::PLAIN);
        }
        line.trimmed()
    }
}
