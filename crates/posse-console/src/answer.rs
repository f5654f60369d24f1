//! The text of the topmost task as it is written: Markdown, with thinking folded.

use std::time::Duration;

use posse_messages::say;
use posse_terminal::markdown::{CodeColors, MarkdownStream, MarkdownStyle};
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet, TextStyle};

/// Thinking kept for Ctrl-T, in bytes; the beginning of a longer one is dropped.
const THINKING_BYTES_MAX: usize = 64 * 1_024;
/// Time that the colors of one block of code may take.
const CODE_BUDGET: Duration = Duration::from_millis(20);
/// Shorter thinking is not worth a line.
const THOUGHT_MS_MIN: u64 = 1_000;

/// Turns streamed replies into finished lines.
pub(crate) struct AnswerStream {
    markdown: MarkdownStream,
    symbols: SymbolSet,
    width: usize,
    /// Text of the reply that is being streamed.
    said: String,
    /// Text of the last whole reply.
    last: String,
    /// Lines of the reply that is being streamed were printed.
    is_printed: bool,
    /// Lines of any reply were printed.
    has_output: bool,
    thought: ThinkingFold,
}

/// Thinking of the model: shown on request, else a line that says how long it took.
#[derive(Default)]
struct ThinkingFold {
    began_ms: Option<u64>,
    text: String,
    /// Bytes of the text that were printed.
    printed: usize,
    is_shown: bool,
}

impl AnswerStream {
    pub(crate) fn new(width: usize, palette: StylePalette, symbols: SymbolSet) -> Self {
        let code = match palette {
            StylePalette::Ansi => CodeColors::start(CODE_BUDGET),
            StylePalette::Plain => CodeColors::off(),
        };
        Self {
            markdown: MarkdownStream::new(MarkdownStyle { width, palette, symbols, code }),
            symbols,
            width,
            said: String::new(),
            last: String::new(),
            is_printed: false,
            has_output: false,
            thought: ThinkingFold::default(),
        }
    }

    /// Uses another width from the next block on.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width;
        self.markdown.set_width(width);
    }

    /// Forgets earlier replies: the next text begins without an empty line.
    pub(crate) fn begin(&mut self) {
        self.has_output = false;
        self.last.clear();
    }

    /// Returns the text of the reply under way, or else of the last one.
    pub(crate) fn text(&self) -> &str {
        if self.said.trim().is_empty() { &self.last } else { &self.said }
    }

    /// Returns the lines that later text may still change.
    pub(crate) fn pending(&self) -> Vec<StyledLine> {
        self.markdown.pending()
    }

    /// Takes a piece of text; returns the lines that it finished.
    pub(crate) fn push(&mut self, text: &str, now_ms: u64) -> Vec<StyledLine> {
        let mut lines = self.fold_thought(now_ms);
        self.said.push_str(text);
        let finished = self.markdown.push(text);
        lines.extend(self.spaced(finished));
        lines
    }

    /// Takes a piece of thinking; returns the lines to print.
    pub(crate) fn think(&mut self, text: &str, now_ms: u64) -> Vec<StyledLine> {
        let thought = &mut self.thought;
        if thought.began_ms.is_none() {
            *thought =
                ThinkingFold { began_ms: Some(now_ms), is_shown: thought.is_shown, ..Default::default() };
        }
        thought.text.push_str(text);
        let excess = thought.text.len().saturating_sub(THINKING_BYTES_MAX);
        if excess > 0 {
            let cut = thought.text.ceil_char_boundary(excess);
            thought.text.drain(..cut);
            thought.printed = thought.printed.saturating_sub(cut);
        }
        self.show_thought(ThoughtEnd::Open)
    }

    /// Shows or folds thinking from now on; returns what was thought last.
    pub(crate) fn toggle_thinking(&mut self) -> Vec<StyledLine> {
        self.thought.is_shown = !self.thought.is_shown;
        match self.thought.is_shown {
            true => self.show_thought(ThoughtEnd::Whole),
            false => Vec::new(),
        }
    }

    /// Ends a reply; prints what was not streamed.
    pub(crate) fn end_reply(&mut self, text: &str, now_ms: u64) -> Vec<StyledLine> {
        let mut lines = self.fold_thought(now_ms);
        if self.said.is_empty() && !text.trim().is_empty() {
            lines.extend(self.push(text, now_ms));
        }
        lines.extend(self.flush());
        lines
    }

    /// Drops a reply that broke off. Printed lines stay, so a line says that they do not count.
    pub(crate) fn void(&mut self) -> Vec<StyledLine> {
        self.markdown.finish();
        self.said.clear();
        self.thought.began_ms = None;
        match std::mem::take(&mut self.is_printed) {
            true => vec![note(&say!("run-text-void"), self.symbols)],
            false => Vec::new(),
        }
    }

    /// Ends the text under way; returns the lines that were left.
    pub(crate) fn flush(&mut self) -> Vec<StyledLine> {
        let finished = self.markdown.finish();
        let lines = self.spaced(finished);
        if !self.said.trim().is_empty() {
            self.last = std::mem::take(&mut self.said);
        }
        self.said.clear();
        self.is_printed = false;
        lines
    }

    /// Puts an empty line between the texts of two replies.
    fn spaced(&mut self, lines: Vec<StyledLine>) -> Vec<StyledLine> {
        if lines.is_empty() {
            return lines;
        }
        let gap = (self.has_output && !self.is_printed).then(StyledLine::new);
        (self.has_output, self.is_printed) = (true, true);
        gap.into_iter().chain(lines).collect()
    }

    fn fold_thought(&mut self, now_ms: u64) -> Vec<StyledLine> {
        let Some(began_ms) = self.thought.began_ms.take() else { return Vec::new() };
        let mut lines = self.show_thought(ThoughtEnd::Whole);
        let took_ms = now_ms.saturating_sub(began_ms);
        if !self.thought.is_shown && took_ms >= THOUGHT_MS_MIN {
            lines.push(note(&say!("run-thought", seconds = took_ms / 1_000), self.symbols));
        }
        lines
    }

    fn show_thought(&mut self, end: ThoughtEnd) -> Vec<StyledLine> {
        let thought = &mut self.thought;
        if !thought.is_shown {
            return Vec::new();
        }
        let rest = &thought.text[thought.printed..];
        let length = match end {
            ThoughtEnd::Open => rest.rfind('\n').map_or(0, |end| end + 1),
            ThoughtEnd::Whole => rest.len(),
        };
        let width = self.width.saturating_sub(3);
        let lines = rest[..length].lines().flat_map(|line| dim(line, width)).collect();
        thought.printed += length;
        lines
    }
}

/// Part of the thinking that is printed.
#[derive(Clone, Copy)]
enum ThoughtEnd {
    /// Whole lines.
    Open,
    Whole,
}

fn dim(text: &str, width: usize) -> Vec<StyledLine> {
    let mut line = StyledLine::new();
    line.push(&posse_core::text::visible(text), TextStyle::DIM);
    let indented = |piece: StyledLine| {
        let mut line = StyledLine::plain("  ");
        line.extend(&piece);
        line
    };
    line.wrap(width).into_iter().map(indented).collect()
}

/// Formats a remark of our own about the text.
fn note(text: &str, symbols: SymbolSet) -> StyledLine {
    let mut line = StyledLine::new();
    line.push(&symbols.adapt(&format!("· {text}")), TextStyle::DIM);
    line
}
