//! Word wrap by grapheme and display width.

use unicode_segmentation::UnicodeSegmentation;

use crate::style::{StyledLine, TextStyle, columns};

/// Fills lines of one block with words. A line is finished when the next word does not fit.
#[derive(Debug, Clone)]
pub(super) struct WordWrapper {
    width: usize,
    /// Prefix of every line after the first.
    hang: StyledLine,
    line: StyledLine,
    column: usize,
    has_words: bool,
    /// True until a line was finished.
    is_first: bool,
    /// True while the first line is due even without words, as that of an empty list item.
    is_owed: bool,
    /// Spaces between the last word and the next one.
    gap: StyledLine,
    word: StyledLine,
    word_columns: usize,
    /// True while the rest of a word that is longer than a line arrives.
    is_splitting: bool,
    /// True if a line may break after the word as it is.
    ends_ideographic: bool,
    finished: Vec<StyledLine>,
}

/// Wraps a text between words. The first line stands behind `first`, the others behind `hang`.
pub fn wrap_words(
    text: &str,
    style: TextStyle,
    (first, hang): (StyledLine, StyledLine),
    width: usize,
) -> Vec<StyledLine> {
    let mut wrapper = WordWrapper::new(width, first, hang).owing_first_line();
    wrapper.put(text, style);
    wrapper.finish()
}

impl WordWrapper {
    pub(super) fn new(width: usize, first: StyledLine, hang: StyledLine) -> Self {
        Self {
            // A prefix as wide as the terminal still leaves room for a wide grapheme.
            width: width.max(first.width().max(hang.width()) + 2),
            hang,
            column: first.width(),
            line: first,
            has_words: false,
            is_first: true,
            is_owed: false,
            gap: StyledLine::new(),
            word: StyledLine::new(),
            word_columns: 0,
            is_splitting: false,
            ends_ideographic: false,
            finished: Vec::new(),
        }
    }

    /// Tells whether no line was finished and the first one has no mark of a list.
    pub(super) fn is_untouched(&self) -> bool {
        self.is_first && !self.is_owed
    }

    /// Makes the first line appear even if the block stays empty.
    pub(super) fn owing_first_line(mut self) -> Self {
        self.is_owed = true;
        self
    }

    /// Appends text; spaces separate words and are kept inside a line.
    pub(super) fn put(&mut self, text: &str, style: TextStyle) {
        for grapheme in text.graphemes(true) {
            if grapheme.chars().all(|c| c == ' ' || c == '\t') {
                self.end_word();
                if self.has_words {
                    self.gap.push(" ", style);
                }
            } else {
                let first = grapheme.chars().next().unwrap_or(' ');
                let is_breakable = is_ideographic(first);
                if (is_breakable || self.ends_ideographic) && !is_closing(first) {
                    self.end_word();
                }
                self.put_grapheme(grapheme, style);
                self.ends_ideographic = is_breakable;
            }
        }
    }

    /// Appends to the word. A word that is longer than a line does not wait for its end.
    fn put_grapheme(&mut self, grapheme: &str, style: TextStyle) {
        if self.is_splitting {
            return self.put_split(grapheme, style);
        }
        self.word.push(grapheme, style);
        self.word_columns += columns(grapheme);
        if self.word_columns > self.width {
            self.end_word();
            self.is_splitting = true;
        }
    }

    /// Ends the line here.
    pub(super) fn break_line(&mut self) {
        self.end_word();
        self.finish_line();
    }

    /// Takes the lines that are finished.
    pub(super) fn take_finished(&mut self) -> Vec<StyledLine> {
        std::mem::take(&mut self.finished)
    }

    /// Ends the block; returns the lines that were not taken.
    pub(super) fn finish(mut self) -> Vec<StyledLine> {
        self.end_word();
        if self.has_words || self.is_owed {
            self.finish_line();
        }
        self.finished
    }

    /// Ends the word before a place where a line may break.
    fn end_word(&mut self) {
        let (word, width) = (std::mem::take(&mut self.word), std::mem::take(&mut self.word_columns));
        (self.ends_ideographic, self.is_splitting) = (false, false);
        if word.is_empty() {
            return;
        }
        let gap = std::mem::take(&mut self.gap);
        let needed = gap.width() + width;
        if self.has_words && self.column + needed > self.width {
            self.finish_line();
        } else {
            self.column += gap.width();
            self.line.extend(&gap);
        }
        if self.column + width <= self.width {
            self.column += width;
            self.line.extend(&word);
            self.has_words = true;
        } else {
            self.put_long_word(&word);
        }
    }

    /// Breaks a word that is longer than a line between graphemes.
    fn put_long_word(&mut self, word: &StyledLine) {
        for span in word.spans() {
            span.text.graphemes(true).for_each(|grapheme| self.put_split(grapheme, span.style));
        }
    }

    fn put_split(&mut self, grapheme: &str, style: TextStyle) {
        let width = columns(grapheme);
        if self.has_words && self.column + width > self.width {
            self.finish_line();
        }
        self.column += width;
        self.line.push(grapheme, style);
        self.has_words = true;
    }

    fn finish_line(&mut self) {
        let next = self.hang.clone();
        self.column = next.width();
        self.finished.push(std::mem::replace(&mut self.line, next));
        self.gap = StyledLine::new();
        (self.has_words, self.is_first, self.is_owed) = (false, false, false);
    }
}

impl StyledLine {
    /// Splits the line between words, so that each piece has at most this many columns. Later pieces begin with `hang`.
    pub fn wrap_words(&self, columns_max: usize, hang: &str) -> Vec<StyledLine> {
        let indent: String = self.text().chars().take_while(|c| *c == ' ').collect();
        let hang = StyledLine::plain(format!("{indent}{hang}"));
        let mut wrapper = WordWrapper::new(columns_max, StyledLine::plain(&indent), hang).owing_first_line();
        self.spans().iter().for_each(|span| wrapper.put(&span.text, span.style));
        wrapper.finish()
    }
}

/// Tells whether a line may break before and after this character: Chinese, Japanese and Korean text has no spaces.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

/// Tells whether no line begins with this character: it belongs to the text before it.
fn is_closing(c: char) -> bool {
    "、。，．・：；？！」』）】〕》〉｝］ー".contains(c)
}
