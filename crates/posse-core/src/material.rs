//! Standard input as material for a task, as it is sent to the model.

use posse_messages::{LocalizedText, localized};

use crate::provenance::marked;
use crate::sizes;
use crate::text::head_and_tail;

/// Maximum bytes read: a stream need not end.
pub const READ_BYTES_MAX: u64 = 16 << 20;

/// Maximum bytes sent to the model.
const BYTES_MAX: usize = 256 << 10;

/// Material as sent to the model: the beginning and the end if it is long.
#[derive(Debug, PartialEq, Eq)]
pub struct InputMaterial {
    text: String,
    /// Bytes that were read, and true if there were more.
    bytes: u64,
    has_more: bool,
    is_cut: bool,
}

impl InputMaterial {
    /// Takes what was read, limited by the model's context window in tokens if that is known.
    pub fn new(bytes: &[u8], window_tokens: Option<u64>) -> Self {
        Self::of(bytes, bytes_max(window_tokens))
    }

    fn of(bytes: &[u8], bytes_max: usize) -> Self {
        let read = bytes.len().min(READ_BYTES_MAX as usize);
        let whole = String::from_utf8_lossy(&bytes[..read]);
        let is_cut = whole.len() > bytes_max;
        let text = if is_cut { head_and_tail(&whole, bytes_max) } else { whole.into_owned() };
        Self { text, bytes: read as u64, has_more: bytes.len() > read, is_cut }
    }

    /// Formats the material for the model, with a line that says what was left out.
    pub fn for_model(&self) -> String {
        let text = marked("standard input", &self.text);
        let intro = match (self.has_more, self.is_cut) {
            (false, false) => "Standard input that came with the task:".to_owned(),
            (false, true) => format!(
                "Standard input that came with the task: the beginning and the end of {} bytes:",
                self.bytes
            ),
            (true, _) => format!(
                "Standard input that came with the task: the beginning and the end of its first {} \
                 bytes; the rest was not read:",
                self.bytes
            ),
        };
        format!("{intro}\n{text}")
    }

    /// Describes for people what was taken.
    pub fn note(&self) -> LocalizedText {
        let (size, shown) = (sizes::in_words(self.bytes), sizes::in_words(self.text.len() as u64));
        match (self.has_more, self.is_cut) {
            (false, false) => localized!("stdin-taken", size),
            (false, true) => localized!("stdin-cut", size, shown),
            (true, _) => localized!("stdin-endless", size, shown),
        }
    }
}

/// Half of the window, at four bytes per token.
fn bytes_max(window_tokens: Option<u64>) -> usize {
    let half = window_tokens.and_then(|tokens| usize::try_from(tokens.saturating_mul(2)).ok());
    half.map_or(BYTES_MAX, |half| half.min(BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_is_cut_in_the_middle_and_the_model_is_told() {
        let small = InputMaterial::of(b"one\ntwo", 100);
        assert_eq!((small.text.as_str(), small.is_cut), ("one\ntwo", false));
        let long = format!("BEGIN{}END", "x".repeat(1_000));
        let cut = InputMaterial::of(long.as_bytes(), 100);
        assert!(cut.text.starts_with("BEGIN") && cut.text.ends_with("END") && cut.text.len() < 200);
        assert!(cut.for_model().contains("1008 bytes"), "{}", cut.for_model());
        assert_eq!(bytes_max(Some(8_000)), 16_000);
        assert_eq!((bytes_max(Some(1_000_000)), bytes_max(None)), (BYTES_MAX, BYTES_MAX));
    }
}
