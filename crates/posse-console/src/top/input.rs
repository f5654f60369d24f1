//! One line of typed text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use posse_core::text::prefix;

/// Longest text: a steering message or a reason, not a document.
const BYTES_MAX: usize = 4_000;

/// A line that a person types, with its cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedLine {
    text: String,
    /// Byte position of the cursor.
    cursor: usize,
}

impl TypedLine {
    /// Creates a line with its cursor at the end.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len() }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor.
    pub fn head(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts text at the cursor; line ends become spaces.
    pub fn insert(&mut self, text: &str) {
        let room = BYTES_MAX.saturating_sub(self.text.len());
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let text = prefix(&text, room);
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Takes a key that edits the line; returns false for any other.
    pub fn edit(&mut self, key: &KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => self.remove(0, self.cursor),
            KeyCode::Char('w') if control => self.remove(self.word_start(), self.cursor),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => return false,
            KeyCode::Char(typed) => self.insert(&typed.to_string()),
            KeyCode::Backspace => self.remove(self.before(), self.cursor),
            KeyCode::Delete => self.remove(self.cursor, self.after()),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        self.head().char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].chars().next();
        self.cursor + next.map_or(0, char::len_utf8)
    }

    fn word_start(&self) -> usize {
        let word = self.head().trim_end();
        word.rfind(char::is_whitespace).map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(line: &mut TypedLine, code: KeyCode, modifiers: KeyModifiers) -> bool {
        line.edit(&KeyEvent::new(code, modifiers))
    }

    #[test]
    fn keys_edit_the_line_by_character_and_word() {
        let mut line = TypedLine::default();
        "日本 two".chars().for_each(|c| {
            press(&mut line, KeyCode::Char(c), KeyModifiers::NONE);
        });
        press(&mut line, KeyCode::Char('w'), KeyModifiers::CONTROL);
        press(&mut line, KeyCode::Backspace, KeyModifiers::NONE);
        press(&mut line, KeyCode::Left, KeyModifiers::NONE);
        press(&mut line, KeyCode::Delete, KeyModifiers::NONE);
        assert_eq!((line.text(), line.head()), ("日", "日"));
        assert!(!press(&mut line, KeyCode::Enter, KeyModifiers::NONE));
    }

    #[test]
    fn a_paste_stays_one_bounded_line() {
        let mut line = TypedLine::new("a");
        line.insert(&format!("b\nc{}", "x".repeat(BYTES_MAX)));
        assert!(line.text().starts_with("ab c"), "{}", line.text());
        assert_eq!(line.text().len(), BYTES_MAX);
    }
}
