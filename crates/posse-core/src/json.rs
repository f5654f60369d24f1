//! Long texts as JSON strings. The result of a tool is written twice, into the journal and into the request, and most of
//! it needs no escape; so it is looked at eight bytes at a time.

/// What is put together before it is handed out.
const BLOCK_BYTES: usize = 512;

/// One step adds at most seven bytes and an escape of six, and writes eight before it knows how many of them count.
const STEP_BYTES: usize = 16;

/// Hands out `text` as a JSON string, in pieces, byte for byte as `serde_json` writes it.
pub fn string(text: &str, mut put: impl FnMut(&[u8])) {
    let mut block = [0; BLOCK_BYTES];
    block[0] = b'"';
    let mut filled = 1;
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        if filled > BLOCK_BYTES - STEP_BYTES {
            put(&block[..filled]);
            filled = 0;
        }
        let room: &mut [u8; STEP_BYTES] =
            block[filled..].first_chunk_mut().expect("there is room for a step");
        let (taken, written) = step(rest, room);
        rest = &rest[taken..];
        filled += written;
    }
    put(&block[..filled]);
    put(b"\"");
}

/// Writes the next bytes, up to and including the first that needs an escape. Returns how many were read and written.
fn step(text: &[u8], room: &mut [u8; STEP_BYTES]) -> (usize, usize) {
    let (word, known) = match text.first_chunk::<8>() {
        Some(word) => (*word, 8),
        None => {
            let mut word = [0; 8];
            word[..text.len()].copy_from_slice(text);
            (word, text.len())
        }
    };
    room[..8].copy_from_slice(&word);
    let plain = plain_bytes(u64::from_le_bytes(word));
    // The zeros after the end look as if they needed an escape.
    if plain >= known {
        return (known, known);
    }
    let (escape, length) = escape(word[plain & 7]);
    room[plain & 7..][..6].copy_from_slice(&escape);
    (plain + 1, plain + length)
}

/// How many bytes from the beginning stand for themselves in a JSON string.
fn plain_bytes(word: u64) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const TOP_BITS: u64 = ONES * 0x80;
    // A byte that is zero, or below 0x20, gets its top bit. A borrow can also give it to bytes after such a one, never before.
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    let escapes = is_control | is_zero(word ^ (ONES * b'"' as u64)) | is_zero(word ^ (ONES * b'\\' as u64));
    (escapes & TOP_BITS).trailing_zeros() as usize / 8
}

/// The escape of a byte, and how long it is.
fn escape(byte: u8) -> ([u8; 6], usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = match byte {
        b'\n' => b'n',
        b'"' | b'\\' => byte,
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            return ([b'\\', b'u', b'0', b'0', high, low], 6);
        }
    };
    ([b'\\', letter, 0, 0, 0, 0], 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut written = Vec::new();
        string(text, |piece| written.extend_from_slice(piece));
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn every_character_is_written_as_by_the_general_serialiser_wherever_it_stands() {
        for character in (0..0x300).filter_map(char::from_u32) {
            for before in 0..9 {
                for after in ["", "!\"12345678"] {
                    let text = format!("{}{character}{after}", "x".repeat(before));
                    assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_text_is_written_as_by_the_general_serialiser(text in "[\\x00-\\x7fä€😀\"\\\\\n]{0,900}") {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
