//! The dialog about a question: a number takes one of the possible answers, any other one is typed.

use posse_core::text::visible;
use posse_messages::say;

use super::{ARMED_AFTER_MS, DialogLayout};
use crate::input::{InputStep, LineInput};
use crate::keys::{KeyCode, KeyEvent, KeyModifiers};
use crate::markdown::wrap_words;
use crate::painter::CursorSpot;
use crate::rows::RowState;
use crate::style::{StyledLine, TextStyle};

/// Answers that have a number.
const OPTIONS_MAX: usize = 9;

/// Effect of a key on the dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionStep {
    /// The dialog goes on.
    Open,
    /// The person answered.
    Answered(String),
    /// The person answers later.
    Later,
}

/// A question of a task to the person at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionDialog {
    /// Short id of the task.
    task: String,
    question: String,
    options: Vec<String>,
    /// Time at which keys begin to count.
    armed_ms: u64,
    input: Option<LineInput>,
}

impl QuestionDialog {
    /// Opens the dialog about a question that is shown from now on.
    pub fn new(task: &str, question: &str, options: &[String], now_ms: u64) -> Self {
        let one_line = |text: &str| visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            task: task.to_owned(),
            question: one_line(question),
            options: options.iter().take(OPTIONS_MAX).map(|option| option.trim().to_owned()).collect(),
            armed_ms: now_ms + ARMED_AFTER_MS,
            input: None,
        }
    }

    /// Opens it again after [`QuestionStep::Later`]; keys count anew after a moment.
    pub fn reopen(&mut self, now_ms: u64) {
        self.armed_ms = now_ms + ARMED_AFTER_MS;
    }

    /// Tells whether keys count.
    pub fn is_armed(&self, now_ms: u64) -> bool {
        now_ms >= self.armed_ms
    }

    /// Tells whether an answer is being typed.
    pub fn is_typing(&self) -> bool {
        self.input.is_some()
    }

    /// Begins to type an answer.
    pub fn type_answer(&mut self) {
        self.input.get_or_insert_default();
    }

    /// Returns the answer with this number.
    pub fn option(&self, digit: char, now_ms: u64) -> Option<&str> {
        let at = (digit as usize).checked_sub('1' as usize)?;
        self.options.get(at).filter(|_| now_ms >= self.armed_ms).map(String::as_str)
    }

    /// Takes a key: the number of an answer, or text that becomes one.
    pub fn key(&mut self, key: &KeyEvent, now_ms: u64) -> QuestionStep {
        if now_ms < self.armed_ms {
            return QuestionStep::Open;
        }
        if let Some(input) = &mut self.input {
            match input.key(key) {
                InputStep::Editing => {}
                InputStep::Dropped => self.input = None,
                InputStep::Done if input.text().is_empty() => self.input = None,
                InputStep::Done => return QuestionStep::Answered(input.text().to_owned()),
            }
            return QuestionStep::Open;
        }
        let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Esc => return QuestionStep::Later,
            KeyCode::Char(digit @ '1'..='9') if is_plain && self.option(digit, now_ms).is_some() => {
                let answer = self.option(digit, now_ms).unwrap_or_default().to_owned();
                return QuestionStep::Answered(answer);
            }
            KeyCode::Char(_) if is_plain => {
                self.type_answer();
                return self.key(key, now_ms);
            }
            _ => {}
        }
        QuestionStep::Open
    }

    /// Takes pasted text as an answer that is being typed.
    pub fn paste(&mut self, text: &str) {
        self.input.get_or_insert_default().paste(text);
    }

    /// Lays the dialog out with a line of keys; returns its rows and where the cursor is, if it is typed into.
    pub fn lines(&self, layout: &DialogLayout, keys: &str) -> (Vec<StyledLine>, Option<CursorSpot>) {
        let width = layout.columns.saturating_sub(1);
        let mut mark = StyledLine::new();
        mark.push(RowState::NeedsInput.mark(layout.symbols), RowState::NeedsInput.style());
        mark.push(" ", TextStyle::PLAIN);
        let asks = say!("card-asks", task = &self.task, question = &self.question);
        let mut rows = wrap_words(&asks, TextStyle::BOLD, (mark, indent()), width);
        let numbered = |(at, option): (usize, &String)| format!("{} {}", at + 1, visible(option));
        let options: Vec<String> = self.options.iter().enumerate().map(numbered).collect();
        let Some(input) = &self.input else {
            let all: Vec<&str> = options.iter().map(String::as_str).chain([keys]).collect();
            rows.extend(wrap_words(&all.join("   "), TextStyle::PLAIN, (indent(), indent()), width));
            rows.truncate(layout.rows_max.max(2));
            return (rows, None);
        };
        if !options.is_empty() {
            let options = options.join("   ");
            rows.extend(wrap_words(&options, TextStyle::PLAIN, (indent(), indent()), width));
        }
        rows.truncate(layout.rows_max.saturating_sub(1).max(1));
        let (line, column) = input.line(&format!("  {} ", say!("card-answer")), layout.columns);
        let row = rows.len();
        rows.push(line);
        (rows, Some(CursorSpot { row, column }))
    }
}

fn indent() -> StyledLine {
    StyledLine::plain("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::SymbolSet;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn dialog() -> QuestionDialog {
        QuestionDialog::new("t_02", "Keep  it?\n", &["yes".to_owned(), "no".to_owned()], 1_000)
    }

    #[test]
    fn a_number_answers_but_not_one_that_was_typed_ahead() {
        let mut dialog = dialog();
        assert_eq!(dialog.key(&key(KeyCode::Char('2')), 1_400), QuestionStep::Open);
        assert_eq!(dialog.key(&key(KeyCode::Char('2')), 1_600), QuestionStep::Answered("no".to_owned()));
        assert_eq!(dialog.key(&key(KeyCode::Esc), 1_600), QuestionStep::Later);
    }

    #[test]
    fn other_text_is_an_answer_of_its_own_also_if_it_begins_with_a_number_without_an_option() {
        let mut dialog = dialog();
        for letter in "3 of them".chars() {
            assert_eq!(dialog.key(&key(KeyCode::Char(letter)), 2_000), QuestionStep::Open);
        }
        let layout = DialogLayout { columns: 60, rows_max: 8, symbols: SymbolSet::Unicode };
        let (rows, spot) = dialog.lines(&layout, "");
        let texts: Vec<String> = rows.iter().map(StyledLine::text).collect();
        assert_eq!(texts, ["? t_02 asks: Keep it?", "  1 yes   2 no", "  answer: 3 of them"]);
        assert_eq!(spot, Some(CursorSpot { row: 2, column: 19 }));
        let answered = QuestionStep::Answered("3 of them".to_owned());
        assert_eq!(dialog.key(&key(KeyCode::Enter), 2_000), answered);
    }

    #[test]
    fn escape_gives_the_typed_answer_up_before_the_question() {
        let mut dialog = dialog();
        dialog.key(&key(KeyCode::Char('x')), 2_000);
        assert_eq!(dialog.key(&key(KeyCode::Esc), 2_000), QuestionStep::Open);
        assert!(!dialog.is_typing());
        assert_eq!(dialog.key(&key(KeyCode::Esc), 2_000), QuestionStep::Later);
    }
}
