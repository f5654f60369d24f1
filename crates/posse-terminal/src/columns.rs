//! Terminal columns by display width: a Chinese or Japanese character takes two.

use std::fmt::{self, Alignment, Display};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Pads a value to the width of its format placeholder, by display width, on the side that the format asks for.
pub struct PaddedCell<T>(pub T);

impl<T: Display> Display for PaddedCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let missing = f.width().unwrap_or(0).saturating_sub(text.width());
        match f.align() {
            Some(Alignment::Right) => write!(f, "{:missing$}{text}", ""),
            _ => write!(f, "{text}{:missing$}", ""),
        }
    }
}

/// Cuts a text to at most `columns` display columns; a cut text ends in `…`.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken < columns
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_places() {
        assert_eq!(format!("{:<6}|{:>6}|", PaddedCell("ab"), PaddedCell("3 轮")), "ab    |  3 轮|");
        assert_eq!(format!("{:<2}|", PaddedCell("longer")), "longer|");
    }

    #[test]
    fn what_is_left_out_is_told() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "long…");
        assert_eq!(cut("日本語です", 6), "日本…");
        assert_eq!(cut("日本語です", 10), "日本語です");
    }
}
