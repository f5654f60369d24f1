//! Building an answer that stays within its bounds and says in exact numbers what it left out.

use posse_core::text::visible;
/// Room reserved for the notes at the end of an answer.
pub(crate) const NOTES_BYTES: usize = 512;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun: `1 file`, `2 matches`, `1,000 entries`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let shown = grouped(number);
    match noun {
        _ if number == 1 => format!("1 {noun}"),
        "match" => format!("{shown} matches"),
        "entry" => format!("{shown} entries"),
        "directory" => format!("{shown} directories"),
        _ => format!("{shown} {noun}s"),
    }
}

/// Lines up to a number of lines and bytes. After the first line that does not fit nothing more is taken, so what is
/// left out is one piece at the end.
pub(crate) struct BoundedLines {
    text: String,
    lines_left: usize,
    bytes_left: usize,
    full: bool,
}

impl BoundedLines {
    /// Creates a list with these limits.
    pub fn new(lines_max: usize, bytes_max: usize) -> Self {
        Self { text: String::new(), lines_left: lines_max, bytes_left: bytes_max, full: false }
    }

    /// Adds a line; returns false once the list is full.
    pub fn push(&mut self, line: &str) -> bool {
        if self.full || self.lines_left == 0 || line.len() + 1 > self.bytes_left {
            self.full = true;
            return false;
        }
        self.lines_left -= 1;
        self.bytes_left -= line.len() + 1;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Tells whether a line did not fit.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The lines and then the notes, each on a line of its own in brackets.
    pub fn finish(mut self, notes: &[String]) -> String {
        for note in notes {
            self.text.push('[');
            self.text.push_str(note);
            self.text.push_str("]\n");
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}

/// The beginning of `bytes` as text of at most `max` bytes.
pub(crate) struct DecodedText {
    pub text: String,
    /// Number of input bytes that the text covers.
    pub used: usize,
    /// Bytes that are not UTF-8 were replaced by U+FFFD.
    pub lossy: bool,
}

pub(crate) fn decode(bytes: &[u8], max: usize) -> DecodedText {
    let mut out = DecodedText { text: String::new(), used: 0, lossy: false };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if out.text.len() + c.len_utf8() > max {
                return out;
            }
            out.text.push(c);
            out.used += c.len_utf8();
        }
        if !chunk.invalid().is_empty() {
            if out.text.len() + char::REPLACEMENT_CHARACTER.len_utf8() > max {
                return out;
            }
            out.text.push(char::REPLACEMENT_CHARACTER);
            out.used += chunk.invalid().len();
            out.lossy = true;
        }
    }
    out
}

/// A file name for an answer: one line, nothing hidden in it.
pub(crate) fn name(raw: &std::ffi::OsStr) -> String {
    visible(&raw.to_string_lossy()).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_nouns() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(count(1, "match"), "1 match");
        assert_eq!(count(2, "match"), "2 matches");
        assert_eq!(count(2, "entry"), "2 entries");
        assert_eq!(count(1000, "line"), "1,000 lines");
    }

    #[test]
    fn decoding_stops_on_a_boundary_and_counts_the_bytes_it_used() {
        let decoded = decode("aé".as_bytes(), 2);
        assert_eq!((decoded.text.as_str(), decoded.used, decoded.lossy), ("a", 1, false));
        let decoded = decode(b"a\xffb", 100);
        assert_eq!((decoded.text.as_str(), decoded.used, decoded.lossy), ("a\u{fffd}b", 3, true));
    }
}
