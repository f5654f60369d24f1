//! Earlier messages: walking through them, searching them, and the form of their file.

use std::collections::HashSet;

/// Entries that are kept; more are never looked at.
pub const HISTORY_ENTRIES_MAX: usize = 1_000;
/// Longest entry that is kept, in bytes: a paste of a whole log is not worth remembering.
const ENTRY_BYTES_MAX: usize = 64 * 1024;

/// Messages of this and earlier conversations, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptHistory {
    entries: Vec<String>,
    /// Entry that is shown, and the text that was typed before.
    walk: Option<HistoryWalk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HistoryWalk {
    at: usize,
    draft: String,
}

impl PromptHistory {
    /// Creates a history of these entries, oldest first. Only the last of equal ones is kept.
    pub fn new(entries: impl IntoIterator<Item = String>) -> Self {
        let all: Vec<String> = entries.into_iter().filter(|entry| is_kept(entry)).collect();
        let mut seen = HashSet::new();
        let newest = all.iter().rev().filter(|entry| seen.insert(entry.as_str()));
        let mut entries: Vec<String> = newest.take(HISTORY_ENTRIES_MAX).cloned().collect();
        entries.reverse();
        Self { entries, walk: None }
    }

    /// Adds an entry and ends the walk; returns false for one that is not kept, such as an empty one.
    pub fn push(&mut self, entry: &str) -> bool {
        self.walk = None;
        if !is_kept(entry) {
            return false;
        }
        self.entries.retain(|known| known != entry);
        self.entries.push(entry.to_owned());
        if self.entries.len() > HISTORY_ENTRIES_MAX {
            self.entries.remove(0);
        }
        true
    }

    /// Returns the entry before the shown one. `current` is the text under edit, which [`PromptHistory::newer`] gives back.
    pub fn older(&mut self, current: &str) -> Option<&str> {
        let (at, draft) = match self.walk.take() {
            Some(HistoryWalk { at, draft }) => (at.saturating_sub(1), draft),
            None if self.entries.is_empty() => return None,
            None => (self.entries.len() - 1, current.to_owned()),
        };
        self.walk = Some(HistoryWalk { at, draft });
        Some(&self.entries[at])
    }

    /// Returns the entry after the shown one, and after the last one the text that was typed before.
    pub fn newer(&mut self) -> Option<String> {
        let HistoryWalk { at, draft } = self.walk.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                self.walk = Some(HistoryWalk { at: at + 1, draft });
                Some(entry.clone())
            }
            None => Some(draft),
        }
    }

    /// Ends the walk: the shown entry was edited.
    pub fn stop_walk(&mut self) {
        self.walk = None;
    }

    /// Finds the newest entry before `before` that contains the text, ignoring case; returns its place.
    pub fn find(&self, text: &str, before: usize) -> Option<(usize, &str)> {
        let wanted = text.to_lowercase();
        let entries = self.entries[..before.min(self.entries.len())].iter().enumerate().rev();
        entries
            .map(|(at, entry)| (at, entry.as_str()))
            .find(|(_, entry)| !wanted.is_empty() && entry.to_lowercase().contains(&wanted))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tells whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn is_kept(entry: &str) -> bool {
    !entry.trim().is_empty() && entry.len() <= ENTRY_BYTES_MAX
}

/// Encodes an entry as one line with its end: `\` is `\\`, a line feed `\n`, a carriage return `\r`.
pub fn encode_entry(entry: &str) -> String {
    let escaped = entry.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
    format!("{escaped}\n")
}

/// Decodes the lines of a history file. A last line without its end was cut off by a crash, and is left out.
pub fn decode_history(text: &str) -> Vec<String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(decode_entry).filter(|entry| is_kept(entry)).collect()
}

fn decode_entry(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => {}
            },
            (other, false) => out.push(other),
        }
    }
    out
}
