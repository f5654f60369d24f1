//! One line of typed text, such as a reason or a steering message.

use posse_core::text::{prefix, visible};
use unicode_segmentation::UnicodeSegmentation;

use crate::keys::{KeyCode, KeyEvent, KeyModifiers};
use crate::style::{StyledLine, TextStyle, columns};

/// Longest text in bytes; more than a person types.
const TEXT_BYTES_MAX: usize = 4_096;

/// A line under edit, with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    /// Bytes before the cursor.
    at: usize,
}

/// Effect of a key on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputStep {
    /// The line goes on.
    Editing,
    /// Enter: the text is complete.
    Done,
    /// Esc: the text is given up.
    Dropped,
}

impl LineInput {
    /// Creates a line with its cursor at the end.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), at: text.len() }
    }

    /// Returns the text without spaces around it.
    pub fn text(&self) -> &str {
        self.text.trim()
    }

    /// Takes a key.
    pub fn key(&mut self, key: &KeyEvent) -> InputStep {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return InputStep::Done,
            KeyCode::Esc => return InputStep::Dropped,
            KeyCode::Char('u') if is_control => drop(self.text.drain(..std::mem::take(&mut self.at))),
            KeyCode::Char('a') if is_control => self.at = 0,
            KeyCode::Char('e') if is_control => self.at = self.text.len(),
            KeyCode::Char('w') if is_control => self.erase_word(),
            KeyCode::Char(_) if is_control || key.modifiers.contains(KeyModifiers::ALT) => {}
            KeyCode::Char(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                let from = self.before();
                self.text.drain(from..self.at);
                self.at = from;
            }
            KeyCode::Delete => {
                let to = self.after();
                self.text.drain(self.at..to);
            }
            KeyCode::Left => self.at = self.before(),
            KeyCode::Right => self.at = self.after(),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            _ => {}
        }
        InputStep::Editing
    }

    /// Takes pasted text; its lines become one.
    pub fn paste(&mut self, text: &str) {
        self.insert(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    /// Lays the line out behind a label; returns it with the cursor's column. Of a long text the part around the cursor is shown.
    pub fn line(&self, label: &str, width: usize) -> (StyledLine, usize) {
        let mut line = StyledLine::new();
        line.push(label, TextStyle::BOLD);
        let room = width.saturating_sub(columns(label) + 2).max(1);
        let mut before = visible(&self.text[..self.at]).into_owned();
        while columns(&before) > room {
            let first = before.graphemes(true).next().map_or(1, str::len);
            before.drain(..first);
        }
        line.push(&before, TextStyle::PLAIN);
        let column = line.width();
        line.push(&visible(&self.text[self.at..]), TextStyle::PLAIN);
        (line, column)
    }

    fn insert(&mut self, text: &str) {
        let text = prefix(text, TEXT_BYTES_MAX.saturating_sub(self.text.len()));
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    fn before(&self) -> usize {
        self.at - self.text[..self.at].graphemes(true).next_back().map_or(0, str::len)
    }

    fn after(&self) -> usize {
        self.at + self.text[self.at..].graphemes(true).next().map_or(0, str::len)
    }

    fn erase_word(&mut self) {
        let kept = self.text[..self.at].trim_end();
        let from = kept.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        self.text.drain(from..self.at);
        self.at = from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(line: &mut LineInput, code: KeyCode, modifiers: KeyModifiers) -> InputStep {
        line.key(&KeyEvent::new(code, modifiers))
    }

    #[test]
    fn keys_edit_the_line_by_character_and_word() {
        let mut line = LineInput::default();
        "日本 two".chars().for_each(|c| {
            press(&mut line, KeyCode::Char(c), KeyModifiers::NONE);
        });
        press(&mut line, KeyCode::Char('w'), KeyModifiers::CONTROL);
        press(&mut line, KeyCode::Backspace, KeyModifiers::NONE);
        press(&mut line, KeyCode::Left, KeyModifiers::NONE);
        press(&mut line, KeyCode::Delete, KeyModifiers::NONE);
        assert_eq!(line.text(), "日");
        assert_eq!(press(&mut line, KeyCode::Enter, KeyModifiers::NONE), InputStep::Done);
    }

    #[test]
    fn a_paste_stays_one_bounded_line() {
        let mut line = LineInput::new("a");
        line.paste(&format!("b\nc{}", "x".repeat(TEXT_BYTES_MAX)));
        assert!(line.text().starts_with("ab c"), "{}", line.text());
        assert_eq!(line.text().len(), TEXT_BYTES_MAX);
    }
}
