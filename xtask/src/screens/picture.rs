//! A terminal screen as an SVG picture.

use std::fmt::Write;

/// Width of a column and height of a row, in pixels.
const CELL: (f64, f64) = (8.4, 19.0);
/// Space around the screen.
const MARGIN: f64 = 14.0;
/// Height of the title bar.
const BAR: f64 = 30.0;

const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
const DIM: &str = "#8b919c";
/// The 16 colors of the terminal, as a theme may show them.
const PALETTE: [&str; 16] = [
    "#3b4048", "#f2777a", "#7fc98f", "#e6c06f", "#7aa6f0", "#c792ea", "#6cc7d9", "#d7dae0", "#6b717d",
    "#ff8f8f", "#98e0a8", "#ffd88a", "#9bbcff", "#d9a9f5", "#8adbe9", "#ffffff",
];

/// Attributes of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PieceStyle {
    color: Option<u8>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reverse: bool,
}

impl PieceStyle {
    /// Applies the parameters of an SGR sequence.
    fn apply(&mut self, parameters: &str) {
        let mut codes = parameters.split([';', ':']).map(|code| code.parse::<u8>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.reverse = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.reverse = false,
                30..=37 => self.color = Some(code - 30),
                // A color of the palette; the first sixteen are those of the theme.
                38 if codes.next() == Some(5) => self.color = codes.next().filter(|color| *color < 16),
                39 => self.color = None,
                90..=97 => self.color = Some(code - 90 + 8),
                _ => {}
            }
        }
    }

    fn ink(self) -> &'static str {
        match self.color {
            _ if self.reverse => BACKGROUND,
            Some(color) => PALETTE[usize::from(color).min(PALETTE.len() - 1)],
            None if self.dim => DIM,
            None => FOREGROUND,
        }
    }

    fn attributes(self) -> String {
        let mut attributes = format!(" fill=\"{}\"", self.ink());
        if self.bold {
            attributes.push_str(" font-weight=\"bold\"");
        }
        if self.italic {
            attributes.push_str(" font-style=\"italic\"");
        }
        if self.underline {
            attributes.push_str(" text-decoration=\"underline\"");
        }
        attributes
    }
}

/// A run of equally styled characters in a row.
#[derive(Debug, PartialEq, Eq)]
struct StyledPiece {
    column: usize,
    text: String,
    style: PieceStyle,
}

/// Splits a captured row into pieces. The style carries over to the next row.
fn pieces(row: &str, style: &mut PieceStyle) -> Vec<StyledPiece> {
    let (mut found, mut column, mut rest) = (Vec::<StyledPiece>::new(), 0, row);
    while let Some(character) = rest.chars().next() {
        if let Some((parameters, after)) = sequence(rest) {
            if let Some(parameters) = parameters {
                style.apply(parameters);
            }
            rest = after;
            continue;
        }
        match found.last_mut().filter(|last| last.style == *style) {
            Some(last) => last.text.push(character),
            None => found.push(StyledPiece { column, text: character.into(), style: *style }),
        }
        column += 1;
        rest = &rest[character.len_utf8()..];
    }
    found
}

/// Reads an escape sequence at the beginning: the parameters if it sets a style, and the text after it.
fn sequence(text: &str) -> Option<(Option<&str>, &str)> {
    let body = text.strip_prefix("\x1b[")?;
    let end = body.find(|c: char| c.is_ascii_alphabetic())?;
    let after = &body[end + 1..];
    Some((body[end..].starts_with('m').then_some(&body[..end]), after))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Draws a captured screen (`tmux capture-pane -p -e`) with a title bar.
pub fn svg(title: &str, columns: usize, screen: &str) -> String {
    let rows: Vec<&str> = screen.trim_end().lines().collect();
    let width = columns as f64 * CELL.0 + 2.0 * MARGIN;
    let height = BAR + rows.len() as f64 * CELL.1 + 2.0 * MARGIN;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\">",
        title = escaped(title)
    );
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{BACKGROUND}\"/>");
    for (at, color) in ["#f2777a", "#e6c06f", "#7fc98f"].into_iter().enumerate() {
        let x = MARGIN + 6.0 + 18.0 * at as f64;
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{}\" r=\"5\" fill=\"{color}\"/>", BAR / 2.0 + 3.0);
    }
    let mut style = PieceStyle::default();
    for (at, row) in rows.iter().enumerate() {
        let y = BAR + MARGIN + at as f64 * CELL.1 + CELL.1 * 0.75;
        for StyledPiece { column, text, style } in pieces(row, &mut style) {
            let (x, length) = (MARGIN + column as f64 * CELL.0, text.chars().count() as f64 * CELL.0);
            if style.reverse {
                let top = y - CELL.1 * 0.75;
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{}\" fill=\"{FOREGROUND}\"/>",
                    CELL.1
                );
            }
            if !text.trim().is_empty() {
                let attributes = style.attributes();
                // Viewers collapse spaces; those that do not break stay.
                let text = escaped(&text).replace(' ', "\u{a0}");
                let _ = writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\"{attributes}>{text}</text>"
                );
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_split_where_its_style_changes() {
        let mut style = PieceStyle::default();
        let found = pieces("a\x1b[32m✓ b\x1b[39m c\x1b[1m", &mut style);
        let green = PieceStyle { color: Some(2), ..PieceStyle::default() };
        let piece = |column, text: &str, style| StyledPiece { column, text: text.to_owned(), style };
        let plain = PieceStyle::default();
        assert_eq!(found, [piece(0, "a", plain), piece(1, "✓ b", green), piece(4, " c", plain)]);
        assert!(style.bold, "the style carries over to the next row");
    }

    #[test]
    fn a_color_of_the_palette_is_no_attribute() {
        let mut style = PieceStyle::default();
        style.apply("38;5;3");
        assert_eq!(style, PieceStyle { color: Some(3), ..PieceStyle::default() });
    }

    #[test]
    fn text_of_a_screen_cannot_leave_its_element() {
        let drawn = svg("<t>", 20, "</text><script>&");
        assert!(drawn.contains("&lt;/text&gt;&lt;script&gt;&amp;") && !drawn.contains("<script>"), "{drawn}");
    }
}
