//! Styled text for a terminal: 16-color spans, measured and cut by display width.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A foreground color that is legible on light and dark backgrounds: no black, white or blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnsiColor {
    /// Failures and removed lines.
    Red,
    /// Success and added lines.
    Green,
    /// Needs a person's input.
    Yellow,
    /// Keywords of code.
    Magenta,
    /// Work under way, inline code.
    Cyan,
}

impl AnsiColor {
    fn code(self) -> u8 {
        match self {
            AnsiColor::Red => 31,
            AnsiColor::Green => 32,
            AnsiColor::Yellow => 33,
            AnsiColor::Magenta => 35,
            AnsiColor::Cyan => 36,
        }
    }
}

/// Attributes of a span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TextStyle {
    /// Foreground color; the terminal's own if `None`.
    pub color: Option<AnsiColor>,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Struck through.
    pub strike: bool,
    /// Foreground and background swapped.
    pub reverse: bool,
}

impl TextStyle {
    /// Text without attributes.
    pub const PLAIN: Self = Self {
        color: None,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        reverse: false,
    };

    /// Bold text.
    pub const BOLD: Self = Self { bold: true, ..Self::PLAIN };

    /// Dim text, for facts that are also said elsewhere.
    pub const DIM: Self = Self { dim: true, ..Self::PLAIN };

    /// Text in this color.
    pub const fn colored(color: AnsiColor) -> Self {
        Self { color: Some(color), ..Self::PLAIN }
    }

    /// Returns the SGR sequence that begins this style, empty for plain text.
    fn sgr(self) -> String {
        let attributes = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underline, 4),
            (self.reverse, 7),
            (self.strike, 9),
        ];
        let set = attributes.iter().filter(|(is_set, _)| *is_set).map(|(_, code)| *code);
        let codes: Vec<String> =
            set.chain(self.color.map(AnsiColor::code)).map(|code| code.to_string()).collect();
        if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
    }
}

/// A piece of text with one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledSpan {
    /// Text without control characters.
    pub text: String,
    /// Its style.
    pub style: TextStyle,
}

/// One line of output, without its line end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledLine {
    spans: Vec<StyledSpan>,
}

impl StyledLine {
    /// Creates an empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a line of plain text.
    pub fn plain(text: impl AsRef<str>) -> Self {
        let mut line = Self::new();
        line.push(text.as_ref(), TextStyle::PLAIN);
        line
    }

    /// Appends text, merged into the last span if the style is the same.
    pub fn push(&mut self, text: &str, style: TextStyle) {
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(StyledSpan { text: text.to_owned(), style }),
        }
    }

    /// Appends another line.
    pub fn extend(&mut self, other: &StyledLine) {
        other.spans.iter().for_each(|span| self.push(&span.text, span.style));
    }

    /// Appends spaces up to this display width.
    pub fn pad_to(&mut self, columns: usize) {
        let missing = columns.saturating_sub(self.width());
        self.push(&" ".repeat(missing), TextStyle::PLAIN);
    }

    /// Returns the spans.
    pub fn spans(&self) -> &[StyledSpan] {
        &self.spans
    }

    /// Returns the text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Tells whether the line has no text.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the display width in columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| columns(&span.text)).sum()
    }

    /// Cuts the line to this many columns, by grapheme; a cut line ends in the ellipsis.
    pub fn cut(&self, columns_max: usize, symbols: SymbolSet) -> StyledLine {
        if self.width() <= columns_max {
            return self.clone();
        }
        let ellipsis = symbols.ellipsis();
        let room = columns_max.saturating_sub(columns(ellipsis));
        let (mut line, mut used) = (StyledLine::new(), 0);
        'spans: for span in &self.spans {
            for grapheme in span.text.graphemes(true) {
                used += columns(grapheme);
                if used > room {
                    break 'spans;
                }
                line.push(grapheme, span.style);
            }
        }
        if columns(ellipsis) <= columns_max {
            let style = line.spans.last().map_or(TextStyle::PLAIN, |span| span.style);
            line.push(ellipsis, style);
        }
        line
    }

    /// Returns the line without spaces at its end.
    pub fn trimmed(&self) -> StyledLine {
        let keep = self.text().trim_end().len();
        let (mut out, mut at) = (StyledLine::new(), 0);
        for span in &self.spans {
            let end = span.text.len().min(keep.saturating_sub(at));
            out.push(&span.text[..end], span.style);
            at += span.text.len();
        }
        out
    }

    /// Breaks the line by grapheme into lines of at most this many columns. Nothing is left out.
    pub fn wrap(&self, columns_max: usize) -> Vec<StyledLine> {
        let (mut lines, mut used) = (vec![StyledLine::new()], 0);
        for span in &self.spans {
            for grapheme in span.text.graphemes(true) {
                let width = columns(grapheme);
                if used > 0 && used + width > columns_max {
                    lines.push(StyledLine::new());
                    used = 0;
                }
                used += width;
                lines.last_mut().expect("there is a line").push(grapheme, span.style);
            }
        }
        lines
    }

    /// Returns the line with SGR sequences, or without any if styles are off.
    pub fn to_ansi(&self, palette: StylePalette) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let sgr = if palette == StylePalette::Ansi { span.style.sgr() } else { String::new() };
            let end = if sgr.is_empty() { "" } else { "\x1b[0m" };
            let _ = write!(out, "{sgr}{}{end}", span.text);
        }
        out
    }
}

impl From<&str> for StyledLine {
    fn from(text: &str) -> Self {
        Self::plain(text)
    }
}

/// Styles that the output may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StylePalette {
    /// No escape sequences: `NO_COLOR`, `TERM=dumb`, `--color never`, a pipe.
    Plain,
    /// The 16 ANSI colors and attributes.
    Ansi,
}

/// Characters for marks, branches and ellipses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolSet {
    /// Box drawing and geometric marks, each one column wide.
    Unicode,
    /// ASCII: without UTF-8, at `TERM=linux`, and in locales where the others may be two columns wide.
    Ascii,
}

impl SymbolSet {
    /// Returns the mark of text that was cut.
    pub fn ellipsis(self) -> &'static str {
        match self {
            SymbolSet::Unicode => "…",
            SymbolSet::Ascii => "...",
        }
    }

    /// Replaces the signs of our own texts that this set does not have.
    pub fn adapt(self, text: &str) -> Cow<'_, str> {
        const SIGNS: [(&str, &str); 4] = [("↑↓", "Up/Down"), ("·", "|"), ("−", "-"), ("↳", ">")];
        match self {
            SymbolSet::Unicode => text.into(),
            SymbolSet::Ascii => {
                SIGNS.iter().fold(text.to_owned(), |text, (sign, ascii)| text.replace(sign, ascii)).into()
            }
        }
    }
}

/// Returns the display width of a text without line ends.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts a text to this many columns, by grapheme; a cut text ends in the ellipsis.
pub fn cut_text(text: &str, columns_max: usize, symbols: SymbolSet) -> String {
    StyledLine::plain(text).cut(columns_max, symbols).text()
}
