//! Turns the two kept ends of a command's output into text for a model: harmless, bounded, exact about what is missing.

use posse_core::text;
use posse_sandbox::supervisor::StreamOutput;

pub(crate) struct RenderedOutput {
    pub text: String,
    /// Bytes that were not UTF-8 and are shown as `\xNN`.
    pub odd_bytes: u64,
}

/// At most `max` bytes of text (for `max` of at least 100). Counts in the notice are bytes the command wrote.
pub(crate) fn render(output: &StreamOutput, max: usize) -> RenderedOutput {
    let is_whole = (output.head.len() + output.tail.len()) as u64 == output.total;
    if is_whole {
        let units = units(&[output.head.as_slice(), &output.tail].concat());
        if units.iter().map(|unit| unit.text.len()).sum::<usize>() <= max {
            return join(&units, None, &[]);
        }
        return shorten(&units, &units, output.total, max);
    }
    // The cuts fell between bytes, not characters: what is left of a cut character counts as left out.
    let head = units(without_cut_end(&output.head));
    let tail = units(without_cut_start(&output.tail));
    shorten(&head, &tail, output.total, max)
}

const NOTICE: usize = 80;

fn shorten(head: &[TextUnit], tail: &[TextUnit], total: u64, max: usize) -> RenderedOutput {
    let room = max.saturating_sub(NOTICE);
    let fits = |room: usize| {
        let mut used = 0;
        move |unit: &&TextUnit| {
            used += unit.text.len();
            used <= room
        }
    };
    let first = head.iter().take_while(fits(room * 2 / 3)).count();
    let last = tail.iter().rev().take_while(fits(room - room * 2 / 3)).count();
    let (head, tail) = (&head[..first], &tail[tail.len() - last..]);
    let shown: usize = head.iter().chain(tail).map(|unit| unit.bytes).sum();
    let notice = format!("[{} of {total} bytes left out]", total - shown as u64);
    join(head, Some(notice), tail)
}

fn join(head: &[TextUnit], notice: Option<String>, tail: &[TextUnit]) -> RenderedOutput {
    let mut text: String = head.iter().map(|unit| unit.text.as_str()).collect();
    if let Some(notice) = notice {
        for part in [notice.as_str(), ""] {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(part);
        }
    }
    text.extend(tail.iter().map(|unit| unit.text.as_str()));
    let odd_bytes = head.iter().chain(tail).filter(|unit| unit.is_odd).count() as u64;
    RenderedOutput { text, odd_bytes }
}

/// One character, or one byte that is not part of any.
struct TextUnit {
    bytes: usize,
    text: String,
    is_odd: bool,
}

fn units(bytes: &[u8]) -> Vec<TextUnit> {
    let mut units = Vec::new();
    let mut buffer = [0; 4];
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let shown = text::visible(c.encode_utf8(&mut buffer)).into_owned();
            units.push(TextUnit { bytes: c.len_utf8(), text: shown, is_odd: false });
        }
        for byte in chunk.invalid() {
            units.push(TextUnit { bytes: 1, text: format!("\\x{byte:02x}"), is_odd: true });
        }
    }
    units
}

fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    &bytes[cut..]
}

fn without_cut_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(4)..]) {
        // The window itself may begin inside a character; only an unfinished one at its end matters here.
        Ok(_) => bytes,
        Err(_) => {
            let unfinished = (1..=3.min(bytes.len())).find(|n| {
                let last = &bytes[bytes.len() - n..];
                matches!(std::str::from_utf8(last), Err(error) if error.error_len().is_none() && error.valid_up_to() == 0)
            });
            &bytes[..bytes.len() - unfinished.unwrap_or(0)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8]) -> StreamOutput {
        StreamOutput { head: bytes.to_vec(), tail: Vec::new(), total: bytes.len() as u64 }
    }

    #[test]
    fn control_characters_and_odd_bytes_are_shown_and_counted() {
        let rendered = render(&whole(b"a\x1b[31m\0\xff\xfeb\n\tc"), 200);
        assert_eq!((rendered.text.as_str(), rendered.odd_bytes), ("a\\u{1b}[31m\\u{0}\\xff\\xfeb\n\tc", 2));
    }

    #[test]
    fn a_character_cut_by_keeping_two_ends_is_left_out_and_not_called_odd() {
        let euro = "€".as_bytes();
        let output = StreamOutput {
            head: [b"ab", &euro[..2]].concat(),
            tail: [&euro[1..], b"yz"].concat(),
            total: 1000,
        };
        let rendered = render(&output, 200);
        assert_eq!((rendered.text.as_str(), rendered.odd_bytes), ("ab\n[996 of 1000 bytes left out]\nyz", 0));
        let clean = StreamOutput { head: "a€".into(), tail: "€b".into(), total: 1000 };
        assert_eq!(render(&clean, 200).text, "a€\n[992 of 1000 bytes left out]\n€b");
    }

    proptest! {
        #[test]
        fn the_limit_holds_and_the_notice_adds_up(bytes in proptest::collection::vec(any::<u8>(), 0..600), max in 100usize..300) {
            let rendered = render(&whole(&bytes), max);
            prop_assert!(rendered.text.len() <= max);
            prop_assert!(!rendered.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            if let Some(notice) = rendered.text.lines().find(|line| line.ends_with("bytes left out]")) {
                let left_out: usize = notice[1..].split(' ').next().unwrap().parse().unwrap();
                prop_assert!(left_out > 0 && left_out <= bytes.len());
            }
        }
    }
}
