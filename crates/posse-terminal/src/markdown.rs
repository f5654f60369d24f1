//! Streaming Markdown: a model's answer as finished lines.
//!
//! Blocks are recognized line by line and inline marks segment by segment, each from the text alone. So the lines are the same
//! however the text was split, and a committed line never changes. Constructs that need later text to be understood
//! (underlined headings, reference definitions) are shown as they were written.

mod block;
mod code;
mod inline;
mod table;
mod wrap;

use posse_core::text::visible;

use block::{FenceMark, ItemMark, LineKind, classify, is_decided, quote_marks};
pub use code::CodeColors;
use code::{BlockColors, CodeSpan};
use inline::InlinePiece;
use table::{TableBlock, is_delimiter_row};
use wrap::WordWrapper;
pub use wrap::wrap_words;

use crate::style::{StylePalette, StyledLine, SymbolSet, TextStyle, columns};

/// Indentation of code, so that it stands apart without a frame.
const CODE_INDENT: &str = "    ";
const TAB_COLUMNS: usize = 4;
/// Columns of a horizontal rule; longer ones would wrap when the window narrows.
const RULE_COLUMNS: usize = 40;
/// Deepest quote that is told apart.
const QUOTES_MAX: usize = 8;

/// Settings of a Markdown stream.
#[derive(Debug, Clone)]
pub struct MarkdownStyle {
    /// Columns of the terminal. Prose ends one column before the edge.
    pub width: usize,
    /// Colors and attributes, or none. Without them the marks of emphasis and code stay.
    pub palette: StylePalette,
    /// Characters for quotes, rules and tables.
    pub symbols: SymbolSet,
    /// Colors of fenced code.
    pub code: CodeColors,
}

/// Turns streamed Markdown into finished lines.
#[derive(Debug)]
pub struct MarkdownStream {
    style: MarkdownStyle,
    /// The source line whose end was not seen yet.
    line: String,
    /// Bytes of `line` that a paragraph already has.
    fed: usize,
    quotes: usize,
    levels: Vec<ListLevel>,
    block: OpenBlock,
    gap: LineGap,
    finished: Vec<StyledLine>,
}

/// Empty lines before the next block.
#[derive(Debug, Clone, Copy)]
struct LineGap {
    is_due: bool,
    has_output: bool,
    /// Quote depth of the last block.
    quotes: usize,
}

/// An open list.
#[derive(Debug, Clone, Copy)]
struct ListLevel {
    /// Source column of its marks.
    mark_column: usize,
    /// Output column of its text.
    text_column: usize,
}

#[derive(Debug)]
enum OpenBlock {
    None,
    Paragraph(ParagraphBlock),
    Fence(FenceBlock),
    Table(TableBlock),
}

#[derive(Debug)]
struct ParagraphBlock {
    wrapper: WordWrapper,
    base: TextStyle,
    /// Text that waits for the end of a word or a mark.
    held: String,
    /// The only line so far, if it may be the header of a table.
    header: Option<String>,
    lines: usize,
    /// True while all text is held: the first line starts like the row of a table.
    is_waiting: bool,
}

struct FenceBlock {
    mark: FenceMark,
    colors: Option<Box<dyn BlockColors + Send>>,
}

impl std::fmt::Debug for FenceBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FenceBlock").field("mark", &self.mark).finish_non_exhaustive()
    }
}

impl MarkdownStream {
    /// Creates a stream at the start of a text.
    pub fn new(style: MarkdownStyle) -> Self {
        Self {
            style,
            line: String::new(),
            fed: 0,
            quotes: 0,
            levels: Vec::new(),
            block: OpenBlock::None,
            gap: LineGap { is_due: false, has_output: false, quotes: 0 },
            finished: Vec::new(),
        }
    }

    /// Uses another width from the next block on.
    pub fn set_width(&mut self, width: usize) {
        self.style.width = width;
    }

    /// Takes the next piece of text; returns the lines that it finished.
    pub fn push(&mut self, text: &str) -> Vec<StyledLine> {
        for piece in text.split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(rest) => {
                    self.line.push_str(rest);
                    self.take_line(true);
                    self.line.clear();
                    self.fed = 0;
                }
                None => {
                    self.line.push_str(piece);
                    self.take_line(false);
                }
            }
        }
        std::mem::take(&mut self.finished)
    }

    /// Returns the lines that later text may still change, as they would look now: usually one.
    pub fn pending(&self) -> Vec<StyledLine> {
        let unfed = visible(self.line[self.fed..].trim_end()).replace('\t', " ");
        let mut lines = match &self.block {
            OpenBlock::Paragraph(paragraph) => {
                let mut wrapper = paragraph.wrapper.clone();
                put_segment(&mut wrapper, &paragraph.held, self.style.palette, paragraph.base);
                wrapper.finish()
            }
            OpenBlock::Fence(_) if !unfed.is_empty() => {
                let mut line = self.prefix(self.text_column());
                line.push(CODE_INDENT, TextStyle::PLAIN);
                line.push(&unfed, TextStyle::PLAIN);
                return vec![line];
            }
            OpenBlock::None | OpenBlock::Fence(_) | OpenBlock::Table(_) => Vec::new(),
        };
        if !unfed.is_empty() {
            lines.push(StyledLine::plain(unfed));
        }
        lines
    }

    /// Ends the text; returns the lines that were left. The stream then starts anew.
    pub fn finish(&mut self) -> Vec<StyledLine> {
        if !self.line.is_empty() {
            self.take_line(true);
        }
        self.close_block();
        let finished = std::mem::take(&mut self.finished);
        *self = Self::new(self.style.clone());
        finished
    }

    /// Takes the source line, or the part of it that was not taken yet.
    fn take_line(&mut self, is_complete: bool) {
        if self.fed > 0 {
            return self.feed(self.fed, is_complete);
        }
        if let OpenBlock::Fence(_) = self.block {
            if !is_complete || self.take_code_line() {
                return;
            }
        } else if !is_complete && !is_decided(&self.line) {
            return;
        }
        let (quotes, start) = quote_marks(&self.line, QUOTES_MAX);
        if quotes != self.quotes {
            self.close_block();
            self.levels.clear();
            self.quotes = quotes;
        }
        self.take_content(start, is_complete);
    }

    /// Takes a line inside a fence. Returns false if the line ends the quote around the fence and is still to be taken.
    fn take_code_line(&mut self) -> bool {
        let (quotes, start) = quote_marks(&self.line, self.quotes);
        let OpenBlock::Fence(fence) = &self.block else { return false };
        if quotes < self.quotes {
            self.close_block();
            return false;
        }
        let code = &self.line[start..];
        if fence.mark.is_closed_by(code) {
            self.close_block();
            return true;
        }
        let spaces = code.len() - code.trim_start_matches(' ').len();
        let code = code[spaces.min(fence.mark.indent)..].trim_end_matches('\r').to_owned();
        self.put_code(&code);
        true
    }

    /// Takes a line after its quote marks.
    fn take_content(&mut self, offset: usize, is_complete: bool) {
        let rest = self.line[offset..].to_owned();
        if is_complete && self.open_table(&rest) {
            return;
        }
        let (items, start, kind) = split_items(&rest);
        let is_continued = items.is_empty() && matches!(self.block, OpenBlock::Paragraph(_));
        if let (LineKind::Text { .. }, OpenBlock::Table(_), true) = (&kind, &self.block, items.is_empty()) {
            if !is_complete {
                return;
            }
            if rest.contains('|') {
                return self.add_table_row(&rest);
            }
        }
        let is_new = items.is_empty() && !is_continued;
        let is_code = matches!(kind, LineKind::Text { indent, .. }
            if is_new && indent >= TAB_COLUMNS && self.levels.iter().all(|level| !level.has_text_at(indent)));
        if !is_complete && (is_code || !matches!(kind, LineKind::Text { .. })) {
            return;
        }
        items.iter().for_each(|item| self.open_item(item));
        match kind {
            LineKind::Blank if items.is_empty() => {
                self.close_block();
                self.gap.is_due = true;
            }
            LineKind::Blank | LineKind::Item(_) => {}
            LineKind::Heading { level, text } => self.put_heading(level, &text, items.is_empty()),
            LineKind::Rule => self.put_rule(),
            LineKind::Fence(mark) => self.open_fence(mark, items.is_empty()),
            LineKind::Text { .. } if is_code => {
                self.close_block();
                self.levels.clear();
                self.begin_block();
                self.put_code(rest.trim_end_matches('\r').strip_prefix(CODE_INDENT).unwrap_or(rest.trim()));
            }
            LineKind::Text { indent, start: inner } => {
                if is_new {
                    self.close_block();
                    self.leave_levels(indent);
                    let is_row = rest[inner..].starts_with('|');
                    self.open_paragraph(TextStyle::PLAIN, is_row);
                }
                self.feed(offset + start + inner, is_complete);
            }
        }
    }

    /// Gives the open paragraph the source line from this byte on.
    fn feed(&mut self, from: usize, is_complete: bool) {
        let OpenBlock::Paragraph(paragraph) = &mut self.block else { return };
        if paragraph.lines > 0 {
            (paragraph.is_waiting, paragraph.header) = (false, None);
        }
        paragraph.held.push_str(&self.line[from..]);
        self.fed = self.line.len();
        if is_complete {
            if paragraph.held.ends_with('\r') {
                paragraph.held.pop();
            }
            let line = self.line.trim_end_matches('\r');
            let backslashes = line.len() - line.trim_end_matches('\\').len();
            if backslashes % 2 == 1 {
                paragraph.held.pop();
                paragraph.held.push_str("  \n");
            } else if line.ends_with("  ") {
                paragraph.held.push('\n');
            } else if !line.ends_with([' ', '\t']) {
                paragraph.held.push(' ');
            }
            paragraph.lines += 1;
        }
        self.drain_paragraph();
        let OpenBlock::Paragraph(paragraph) = &mut self.block else { return };
        if is_complete && paragraph.lines == 1 && paragraph.wrapper.is_untouched() && self.line.contains('|')
        {
            paragraph.header = Some(self.line[quote_marks(&self.line, QUOTES_MAX).1..].to_owned());
        }
    }

    /// Commits the segments of the open paragraph that are complete.
    fn drain_paragraph(&mut self) {
        let OpenBlock::Paragraph(paragraph) = &mut self.block else { return };
        if paragraph.is_waiting {
            return;
        }
        let mut taken = 0;
        while let Some(end) = inline::segment_end(&paragraph.held[taken..]) {
            let segment = &paragraph.held[taken..taken + end];
            put_segment(&mut paragraph.wrapper, segment, self.style.palette, paragraph.base);
            taken += end;
        }
        paragraph.held.drain(..taken);
        self.finished.extend(paragraph.wrapper.take_finished());
    }

    fn open_paragraph(&mut self, base: TextStyle, is_waiting: bool) {
        self.begin_block();
        let prefix = self.prefix(self.text_column());
        let wrapper = WordWrapper::new(self.text_width(), prefix.clone(), prefix);
        self.block = OpenBlock::Paragraph(ParagraphBlock::new(wrapper, base, is_waiting));
    }

    fn open_item(&mut self, item: &ItemMark) {
        self.close_block();
        self.leave_levels(item.indent);
        self.begin_block();
        let column = self.text_column();
        let mark = format!("{} ", item.shown);
        // Deeper lists than half the width leave no room for text.
        let text_column = (column + columns(&mark)).min(self.text_width() / 2);
        self.levels.push(ListLevel { mark_column: item.indent, text_column });
        let (mut first, hang) = (self.prefix(column), self.prefix(text_column));
        first.push(&mark, TextStyle::PLAIN);
        let wrapper = WordWrapper::new(self.text_width(), first, hang).owing_first_line();
        self.block = OpenBlock::Paragraph(ParagraphBlock::new(wrapper, TextStyle::PLAIN, false));
    }

    fn put_heading(&mut self, level: usize, text: &str, is_alone: bool) {
        let base = TextStyle { underline: level == 1, ..TextStyle::BOLD };
        if is_alone {
            self.close_block();
            self.levels.clear();
            self.open_paragraph(base, false);
        }
        if let OpenBlock::Paragraph(paragraph) = &mut self.block {
            paragraph.base = base;
            if self.style.palette == StylePalette::Plain {
                paragraph.wrapper.put(&format!("{} ", "#".repeat(level)), base);
            }
            paragraph.held.push_str(text);
        }
        self.close_block();
    }

    fn put_rule(&mut self) {
        self.close_block();
        self.levels.clear();
        self.begin_block();
        let dash = match self.style.symbols {
            SymbolSet::Unicode => "─",
            SymbolSet::Ascii => "-",
        };
        let mut line = self.prefix(0);
        let room = self.text_width().saturating_sub(line.width());
        line.push(&dash.repeat(RULE_COLUMNS.min(room)), TextStyle::DIM);
        self.finished.push(line);
    }

    fn open_fence(&mut self, mark: FenceMark, is_alone: bool) {
        self.close_block();
        if is_alone {
            self.leave_levels(mark.indent);
        }
        self.begin_block();
        let has_colors = self.style.palette == StylePalette::Ansi;
        let colors = if has_colors { self.style.code.block(&mark.info) } else { None };
        self.block = OpenBlock::Fence(FenceBlock { mark, colors });
    }

    /// Commits a line of code, whole: a terminal that wraps it copies it as one line.
    fn put_code(&mut self, code: &str) {
        let spans = match &mut self.block {
            OpenBlock::Fence(FenceBlock { colors: Some(colors), .. }) => colors.next_line(code),
            _ => None,
        };
        let mut line = self.prefix(self.text_column());
        if code.is_empty() {
            return self.finished.push(trimmed(&line));
        }
        line.push(CODE_INDENT, TextStyle::PLAIN);
        push_code(&mut line, code, &spans.unwrap_or_else(|| vec![(code.len(), TextStyle::PLAIN)]));
        self.finished.push(line);
    }

    /// Turns the open paragraph into a table if this line is the delimiter row of one.
    fn open_table(&mut self, line: &str) -> bool {
        let OpenBlock::Paragraph(ParagraphBlock { header: Some(header), .. }) = &self.block else {
            return false;
        };
        if !is_delimiter_row(line) {
            return false;
        }
        let Some(table) = TableBlock::open(header, line) else { return false };
        self.block = OpenBlock::Table(table);
        true
    }

    fn add_table_row(&mut self, line: &str) {
        let OpenBlock::Table(table) = &mut self.block else { return };
        table.add_row(line);
        if table.is_full() {
            self.flush_table();
        }
    }

    fn flush_table(&mut self) {
        let prefix = self.prefix(self.text_column());
        let width = self.text_width().saturating_sub(prefix.width());
        let OpenBlock::Table(table) = &mut self.block else { return };
        for row in table.flush(width, self.style.palette, self.style.symbols) {
            let mut line = prefix.clone();
            line.extend(&row);
            self.finished.push(line);
        }
    }

    fn close_block(&mut self) {
        self.flush_table();
        match std::mem::replace(&mut self.block, OpenBlock::None) {
            OpenBlock::Paragraph(mut paragraph) => {
                let held = std::mem::take(&mut paragraph.held);
                let mut rest = held.as_str();
                while let Some(end) = inline::segment_end(rest) {
                    put_segment(&mut paragraph.wrapper, &rest[..end], self.style.palette, paragraph.base);
                    rest = &rest[end..];
                }
                put_segment(&mut paragraph.wrapper, rest, self.style.palette, paragraph.base);
                self.finished.extend(paragraph.wrapper.finish());
            }
            OpenBlock::None | OpenBlock::Fence(_) | OpenBlock::Table(_) => {}
        }
    }

    /// Writes the empty line that separates blocks in the source.
    fn begin_block(&mut self) {
        if self.gap.is_due && self.gap.has_output {
            let line = trimmed(&self.quote_prefix(self.gap.quotes.min(self.quotes)));
            self.finished.push(line);
        }
        self.gap = LineGap { is_due: false, has_output: true, quotes: self.quotes };
    }

    /// Leaves the lists that text at this column does not belong to.
    fn leave_levels(&mut self, indent: usize) {
        while self.levels.last().is_some_and(|level| !level.has_text_at(indent)) {
            self.levels.pop();
        }
    }

    fn text_column(&self) -> usize {
        self.levels.last().map_or(0, |level| level.text_column)
    }

    fn text_width(&self) -> usize {
        self.style.width.saturating_sub(1)
    }

    fn prefix(&self, column: usize) -> StyledLine {
        let mut line = self.quote_prefix(self.quotes);
        line.push(&" ".repeat(column), TextStyle::PLAIN);
        line
    }

    fn quote_prefix(&self, quotes: usize) -> StyledLine {
        let bar = match self.style.symbols {
            SymbolSet::Unicode => "│ ",
            SymbolSet::Ascii => "> ",
        };
        let mut line = StyledLine::new();
        line.push(&bar.repeat(quotes), TextStyle::DIM);
        line
    }
}

impl ListLevel {
    /// Tells whether text at this column belongs to an item. Models indent by two columns below `1.`, which needs three.
    fn has_text_at(&self, indent: usize) -> bool {
        indent >= self.mark_column + 2
    }
}

impl ParagraphBlock {
    fn new(wrapper: WordWrapper, base: TextStyle, is_waiting: bool) -> Self {
        Self { wrapper, base, held: String::new(), header: None, lines: 0, is_waiting }
    }
}

/// Splits the list marks from a line; returns them, the byte after them, and the kind of the rest.
fn split_items(line: &str) -> (Vec<ItemMark>, usize, LineKind) {
    let (mut items, mut start) = (Vec::new(), 0);
    loop {
        match classify(&line[start..]) {
            LineKind::Item(mark) => {
                let next = start + mark.start;
                items.push(ItemMark { indent: start + mark.indent, ..mark });
                start = next;
            }
            kind => return (items, start, kind),
        }
    }
}

fn put_segment(wrapper: &mut WordWrapper, segment: &str, palette: StylePalette, base: TextStyle) {
    inline::render(segment, palette, base, &mut |piece| match piece {
        InlinePiece::Text(text, style) => wrapper.put(text, style),
        InlinePiece::LineBreak => wrapper.break_line(),
    });
}

/// Appends code with its styles; tabs become spaces, so that every column is known.
fn push_code(line: &mut StyledLine, code: &str, spans: &[CodeSpan]) {
    let (mut at, mut column) = (0, 0);
    for (length, style) in spans {
        let piece = code.get(at..at + length).unwrap_or_default();
        at += length;
        for (number, part) in piece.split('\t').enumerate() {
            if number > 0 {
                let spaces = TAB_COLUMNS - column % TAB_COLUMNS;
                line.push(&" ".repeat(spaces), *style);
                column += spaces;
            }
            let shown = visible(part);
            column += columns(&shown);
            line.push(&shown, *style);
        }
    }
}

/// Returns a prefix without the spaces at its end.
fn trimmed(line: &StyledLine) -> StyledLine {
    let text = line.text();
    let mut out = StyledLine::new();
    out.push(text.trim_end(), line.spans().first().map_or(TextStyle::PLAIN, |span| span.style));
    out
}
