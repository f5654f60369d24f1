//! Long texts as JSON strings. The result of a tool is written twice, into the journal and into the request, and most of
//! it needs no escape; so it is looked at eight bytes at a time.

/// What is put together before it is handed out.
const BLOCK_BYTES: usize = 512;

/// One step writes at most seven bytes and the six of an escape after them.
const STEP_BYTES: usize = 16;

/// Hands out `text` as a JSON string, in pieces, byte for byte as `serde_json` writes it.
pub fn string(text: &str, mut put: impl FnMut(&[u8])) {
    let mut block = [0; BLOCK_BYTES];
    block[0] = b'"';
    let mut filled = 1;
    let mut rest = text.as_bytes();
    loop {
        let Some(room) = block.get_mut(filled..).and_then(<[u8]>::first_chunk_mut::<STEP_BYTES>) else {
            put(&block[..filled]);
            filled = 0;
            continue;
        };
        let Some((word, after)) = rest.split_first_chunk::<8>() else { break };
        // All of them are written before it is known how many count.
        room[..8].copy_from_slice(word);
        let plain = plain_bytes(u64::from_le_bytes(*word));
        if plain == 8 {
            filled += 8;
            rest = after;
        } else {
            filled += plain + escape(rest[plain], &mut room[plain..]);
            rest = &rest[plain + 1..];
        }
    }
    put(&block[..filled]);
    for byte in rest {
        let mut escaped = [*byte; 6];
        let length = if LETTERS[usize::from(*byte)] == 0 { 1 } else { escape(*byte, &mut escaped) };
        put(&escaped[..length]);
    }
    put(b"\"");
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

/// The letter after the backslash, or 0 for a byte that stands for itself.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        letters[control] = b'u';
        control += 1;
    }
    letters[0x08] = b'b';
    letters[b'\t' as usize] = b't';
    letters[b'\n' as usize] = b'n';
    letters[0x0c] = b'f';
    letters[b'\r' as usize] = b'r';
    letters[b'"' as usize] = b'"';
    letters[b'\\' as usize] = b'\\';
    letters
};

/// Writes the escape of a byte and returns its length.
fn escape(byte: u8, room: &mut [u8]) -> usize {
    let letter = LETTERS[usize::from(byte)];
    room[..2].copy_from_slice(&[b'\\', letter]);
    if letter != b'u' {
        return 2;
    }
    const HEX: &[u8; 16] = b"0123456789abcdef";
    room[2..6].copy_from_slice(&[b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    6
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
