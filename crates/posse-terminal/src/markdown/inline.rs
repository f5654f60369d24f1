//! Inline marks of a paragraph: where streamed text may be cut, and the styles of the pieces.
//!
//! A paragraph is parsed in segments. A segment ends at a space outside every open mark, so later text cannot change it,
//! and the cuts depend on the text alone, not on the pieces in which it arrived.

use posse_core::text::visible;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthChar;

use super::wrap::is_ideographic;
use crate::style::{AnsiColor, StylePalette, TextStyle};

/// Longest text that waits for a closing mark. More than a screen of text that waits is no longer a stream.
const HELD_BYTES_MAX: usize = 4_000;
/// Longest text without a space that waits, so that scanning it again with each piece stays cheap.
const WORD_BYTES_MAX: usize = 2 * HELD_BYTES_MAX;
/// Longest run of one mark that is taken at once.
const RUN_MAX: usize = 64;

/// A mark that waits for its end.
enum OpenMark {
    /// A run of `*`, `_` or `~` and its length.
    Emphasis(char, usize),
    Bracket,
    /// The destination of a link, and its open parentheses.
    Destination {
        depth: usize,
    },
}

/// Returns the end of the first segment, or `None` if later text may still belong to it.
pub(super) fn segment_end(text: &str) -> Option<usize> {
    let mut open = OpenMarks::default();
    let (mut at, mut before) = (0, ' ');
    while let Some(c) = text[at..].chars().next() {
        let is_outside = open.marks.is_empty() && open.code.is_none();
        let is_space = matches!(c, ' ' | '\t' | '\n');
        if is_space && (is_outside || at >= HELD_BYTES_MAX) {
            return Some(at + c.len_utf8());
        }
        if at >= WORD_BYTES_MAX {
            return Some(at);
        }
        let run = if matches!(c, '`' | '*' | '_' | '~') { run_length(&text[at..], c) } else { 1 };
        let next = at + run * c.len_utf8();
        let after = text[next..].chars().next();
        match c {
            // A run that may go on decides nothing yet.
            '`' | '*' | '_' | '~' => open.take_run(c, run, before, after?),
            _ if open.code.is_some() => {}
            '\\' => {
                // An escaped character is text. The line end after a last backslash is added by the caller.
                let escaped = after?;
                (at, before) = (next + escaped.len_utf8(), escaped);
                continue;
            }
            '[' | ']' | '(' | ')' => open.take_bracket(c, after),
            // A combining character belongs to the one before it.
            _ if is_outside && is_ideographic(c) && after?.width().is_some_and(|width| width > 0) => {
                return Some(next);
            }
            _ => {}
        }
        (at, before) = (next, c);
    }
    None
}

fn run_length(text: &str, c: char) -> usize {
    text.chars().take(RUN_MAX).take_while(|other| *other == c).count()
}

/// Marks of a segment that wait for their end.
#[derive(Default)]
struct OpenMarks {
    marks: Vec<OpenMark>,
    /// Length of the backtick run that opened a code span.
    code: Option<usize>,
}

impl OpenMarks {
    fn take_run(&mut self, c: char, run: usize, before: char, after: char) {
        match (c, self.code) {
            ('`', None) => self.code = Some(run),
            ('`', Some(open)) if open == run => self.code = None,
            (_, Some(_)) => {}
            // Marks in an address are part of it.
            (_, None) if matches!(self.marks.last(), Some(OpenMark::Destination { .. })) => {}
            (_, None) => toggle(&mut self.marks, c, run, before, after),
        }
    }

    /// Takes a bracket of a link. The parenthesis of a destination follows the bracket at once.
    fn take_bracket(&mut self, c: char, after: Option<char>) {
        let is_destination = matches!(self.marks.last(), Some(OpenMark::Destination { .. }));
        match c {
            '[' => self.marks.push(OpenMark::Bracket),
            ']' => {
                if let Some(at) = self.marks.iter().rposition(|mark| matches!(mark, OpenMark::Bracket)) {
                    self.marks.truncate(at);
                    if after == Some('(') {
                        self.marks.push(OpenMark::Destination { depth: 0 });
                    }
                }
            }
            _ if !is_destination => {}
            _ => {
                if let Some(OpenMark::Destination { depth }) = self.marks.last_mut() {
                    *depth = if c == '(' { *depth + 1 } else { depth.saturating_sub(1) };
                    if *depth == 0 {
                        self.marks.pop();
                    }
                }
            }
        }
    }
}

/// Opens or closes emphasis at a run of marks, by the characters on both sides.
fn toggle(marks: &mut Vec<OpenMark>, c: char, run: usize, before: char, after: char) {
    let (opens, closes) = (!after.is_whitespace(), !before.is_whitespace());
    let is_inside_word = c == '_' && before.is_alphanumeric() && after.is_alphanumeric();
    if is_inside_word || (c == '~' && run != 2) {
        return;
    }
    let same = |mark: &OpenMark| matches!(mark, OpenMark::Emphasis(open, _) if *open == c);
    match marks.iter().rposition(same) {
        Some(at) if closes => {
            marks.truncate(at + 1);
            if let Some(OpenMark::Emphasis(_, open)) = marks.last_mut() {
                *open = open.saturating_sub(run);
                if *open == 0 {
                    marks.pop();
                }
            }
        }
        _ if opens => marks.push(OpenMark::Emphasis(c, run)),
        _ => {}
    }
}

/// A piece of a rendered segment.
pub(super) enum InlinePiece<'a> {
    Text(&'a str, TextStyle),
    LineBreak,
}

/// Renders one segment. Without styles the marks stay, so that nothing is lost.
pub(super) fn render(
    segment: &str,
    palette: StylePalette,
    base: TextStyle,
    put: &mut dyn FnMut(InlinePiece<'_>),
) {
    let text = segment.trim_end_matches([' ', '\t', '\n']);
    if text.contains(['*', '_', '~', '`', '[', '<', '&', '\\']) {
        InlineRenderer { palette, styles: vec![base], links: Vec::new(), put }.run(text);
    } else {
        put(InlinePiece::Text(&visible(text), base));
    }
    for space in segment[text.len()..].chars() {
        put(if space == '\n' { InlinePiece::LineBreak } else { InlinePiece::Text(" ", base) });
    }
}

struct InlineRenderer<'p> {
    palette: StylePalette,
    styles: Vec<TextStyle>,
    /// Destination and title of the open links, and their text so far.
    links: Vec<(String, String, String)>,
    put: &'p mut dyn FnMut(InlinePiece<'_>),
}

impl InlineRenderer<'_> {
    fn run(mut self, text: &str) {
        // The dot keeps the parser from finding blocks: these were found before. It counts as punctuation, so marks after it
        // open as they do at the start of a line.
        let source = format!(".{text}");
        let mut is_first = true;
        for event in Parser::new_ext(&source, Options::ENABLE_STRIKETHROUGH) {
            match event {
                Event::Text(text) => {
                    let text = if std::mem::take(&mut is_first) { &text[1..] } else { &text };
                    self.text(text, self.style());
                }
                Event::Code(code) => self.code(&code),
                Event::Start(tag) => self.open(tag),
                Event::End(tag) => self.close(tag),
                Event::SoftBreak => self.text(" ", self.style()),
                Event::HardBreak => (self.put)(InlinePiece::LineBreak),
                Event::InlineHtml(html) if matches!(&*html, "<br>" | "<br/>") => {
                    (self.put)(InlinePiece::LineBreak);
                }
                Event::Html(text) | Event::InlineHtml(text) => self.text(&text, self.style()),
                // Extensions that are not enabled.
                Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                    self.text(&text, self.style());
                }
                Event::Rule | Event::TaskListMarker(_) => {}
            }
        }
    }

    fn style(&self) -> TextStyle {
        *self.styles.last().expect("the base style is never popped")
    }

    fn text(&mut self, text: &str, style: TextStyle) {
        if let Some((_, _, shown)) = self.links.last_mut() {
            shown.push_str(text);
        }
        (self.put)(InlinePiece::Text(&visible(text), style));
    }

    fn code(&mut self, code: &str) {
        let style = TextStyle { color: Some(AnsiColor::Cyan), ..self.style() };
        let mark = if code.contains('`') { "``" } else { "`" };
        self.mark(mark);
        self.text(code, style);
        self.mark(mark);
    }

    /// Writes a mark where styles cannot say it.
    fn mark(&mut self, mark: &str) {
        if self.palette == StylePalette::Plain {
            let style = self.style();
            (self.put)(InlinePiece::Text(mark, style));
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        let mut style = self.style();
        match tag {
            Tag::Emphasis => {
                self.mark("*");
                style.italic = true;
            }
            Tag::Strong => {
                self.mark("**");
                style.bold = true;
            }
            Tag::Strikethrough => {
                self.mark("~~");
                style.strike = true;
            }
            Tag::Link { dest_url, title, .. } | Tag::Image { dest_url, title, .. } => {
                style.underline = true;
                self.links.push((dest_url.to_string(), title.to_string(), String::new()));
            }
            _ => {}
        }
        self.styles.push(style);
    }

    fn close(&mut self, tag: TagEnd) {
        self.styles.pop();
        match tag {
            TagEnd::Emphasis => self.mark("*"),
            TagEnd::Strong => self.mark("**"),
            TagEnd::Strikethrough => self.mark("~~"),
            TagEnd::Link | TagEnd::Image => self.destination(),
            _ => {}
        }
    }

    /// Writes the destination after a link, unless its text is the destination.
    fn destination(&mut self) {
        let Some((url, title, shown)) = self.links.pop() else { return };
        let title = if title.is_empty() { title } else { format!(", {title}") };
        if url != shown || !title.is_empty() {
            let gap = if shown.is_empty() { "" } else { " " };
            let style = self.style();
            self.text(&format!("{gap}({url}{title})"), style);
        }
    }
}
