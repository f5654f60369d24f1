//! Layout of a story: a label, text that flows over two lines, and figures at the right.

use posse_core::text::visible;
use posse_terminal::style::{StyledLine, TextStyle, columns};

use super::StoryStyle;

/// Lines that a text takes at most.
const LINES_MAX: usize = 2;
/// Spaces between label, text and figures.
const GAP: usize = 2;
/// Narrowest text; below it the figures go.
const TEXT_COLUMNS_MIN: usize = 24;

/// A piece of text with its style.
pub type TextPiece = (String, TextStyle);

/// One row: a label, a text and figures.
#[derive(Debug)]
pub struct StoryRow {
    pub label: String,
    pub label_style: TextStyle,
    pub text: Vec<TextPiece>,
    pub figures: String,
}

impl StoryRow {
    /// Creates a row.
    pub fn new(label: String, text: Vec<TextPiece>, figures: String) -> Self {
        Self { label, label_style: TextStyle::BOLD, text, figures }
    }

    /// Lays the row out, with labels of this width.
    pub fn lines(&self, label_columns: usize, style: StoryStyle) -> Vec<StyledLine> {
        let mut label = StyledLine::new();
        label.push(&style.symbols.adapt(&self.label), self.label_style);
        label.pad_to(label_columns + GAP);
        let indent = label.width();
        let Some(width) = style.width else {
            for (text, piece_style) in &self.text {
                label.push(text, *piece_style);
            }
            if !self.figures.is_empty() {
                label.push(&format!("{}{}", " ".repeat(GAP), self.figures), TextStyle::DIM);
            }
            return vec![label];
        };
        let taken = if self.figures.is_empty() { 0 } else { columns(&self.figures) + GAP };
        let room = width.saturating_sub(indent + taken);
        let (room, figures) = match room < TEXT_COLUMNS_MIN {
            true => (width.saturating_sub(indent).max(1), ""),
            false => (room, self.figures.as_str()),
        };
        let mut flowed = flow(&self.text, room, style);
        if flowed.is_empty() {
            flowed.push(StyledLine::new());
        }
        let mut lines = Vec::new();
        for (number, text) in flowed.iter().enumerate() {
            let mut line = if number == 0 { label.clone() } else { StyledLine::plain(" ".repeat(indent)) };
            line.extend(text);
            if number == 0 && !figures.is_empty() {
                line.pad_to(width.saturating_sub(columns(figures)));
                line.push(figures, TextStyle::DIM);
            }
            lines.push(line);
        }
        lines
    }
}

/// Makes one plain piece of a text, on one line.
pub fn pieces(text: &str) -> Vec<TextPiece> {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    vec![(line, TextStyle::PLAIN)]
}

/// Breaks a text at spaces; what does not fit is cut with an ellipsis.
fn flow(text: &[TextPiece], width: usize, style: StoryStyle) -> Vec<StyledLine> {
    let words: Vec<(&str, TextStyle)> =
        text.iter().flat_map(|(text, style)| text.split_inclusive(' ').map(|word| (word, *style))).collect();
    let mut lines = vec![StyledLine::new()];
    for (at, (word, word_style)) in words.iter().enumerate() {
        let bare = columns(word.trim_end());
        let last = lines.len();
        let Some(line) = lines.last_mut() else { break };
        if line.width() > 0 && line.width() + bare > width {
            if last == LINES_MAX {
                // The rest in one piece, so that it is cut.
                words[at..].iter().for_each(|(word, style)| line.push(word, *style));
                break;
            }
            lines.push(StyledLine::new());
        }
        if let Some(line) = lines.last_mut() {
            push_word(line, word, *word_style, width);
        }
    }
    lines.into_iter().map(|line| line.cut(width, style.symbols)).collect()
}

/// Appends a word; its space is left out where the line ends.
fn push_word(line: &mut StyledLine, word: &str, style: TextStyle, width: usize) {
    let fits = line.width() + columns(word) <= width;
    line.push(if fits { word } else { word.trim_end() }, style);
}

/// Breaks a line at spaces into lines of this width, each but the first indented.
pub fn wrapped(line: &StyledLine, width: usize) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::new()];
    for span in line.spans() {
        for word in span.text.split_inclusive(' ') {
            let is_full = lines
                .last()
                .is_some_and(|line| line.width() > GAP && line.width() + columns(word.trim_end()) > width);
            if is_full {
                lines.push(StyledLine::plain(" ".repeat(GAP)));
            }
            if let Some(line) = lines.last_mut() {
                push_word(line, word, span.style, width);
            }
        }
    }
    lines
}
