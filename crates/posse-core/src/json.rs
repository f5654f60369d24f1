//! Texts as JSON strings. The result of a tool is written twice, into the journal and into the request; so where its
//! escapes are is found for many bytes at once, and what stands between them is copied in steps of a constant size.

mod compact;

pub use compact::append;

/// What is put together before it is handed out.
const BLOCK_BYTES: usize = 1_024;

/// As many as have a bit each in a word.
const CHUNK_BYTES: usize = u64::BITS as usize;

/// What is copied at once, before it is known how much of it counts.
const STEP_BYTES: usize = 16;

/// The longest escape: `\u001f`.
const ESCAPE_BYTES_MAX: usize = 6;

/// What the last step of a chunk and the escape after it need.
const STEP_ROOM: usize = STEP_BYTES + ESCAPE_BYTES_MAX;

/// What a chunk needs at most.
const CHUNK_ROOM: usize = CHUNK_BYTES * ESCAPE_BYTES_MAX + STEP_ROOM;

/// For so few bytes the rest is not worth its beginning.
const SHORT_BYTES: usize = 32;

/// Hands out `text` as a JSON string, in pieces, byte for byte as `serde_json` writes it.
pub fn string(text: &str, put: &mut dyn FnMut(&[u8])) {
    if is_short(text) {
        put(b"\"");
        put(text.as_bytes());
        return put(b"\"");
    }
    let (chunks, rest) = text.as_bytes().as_chunks();
    let mut last = [b' '; CHUNK_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    let mut block = [0; BLOCK_BYTES];
    block[0] = b'"';
    let mut filled = 1;
    for chunk in chunks.iter().chain([&last]) {
        if filled > BLOCK_BYTES - CHUNK_ROOM {
            put(&block[..filled]);
            filled = 0;
        }
        filled += write(chunk, part(&mut block, filled));
    }
    // The spaces after the last chunk stood for themselves.
    filled -= CHUNK_BYTES - rest.len();
    put(&block[..filled]);
    put(b"\"");
}

/// It is written as it is, and faster so.
fn is_short(text: &str) -> bool {
    text.len() <= SHORT_BYTES && text.bytes().all(|byte| LETTERS[usize::from(byte)] == 0)
}

/// Writes a chunk, escaped, and returns how many bytes it has become.
#[inline(always)]
fn write(chunk: &[u8; CHUNK_BYTES], room: &mut [u8; CHUNK_ROOM]) -> usize {
    let mut escapes = escapes(chunk);
    // A step may begin at its last byte.
    let mut padded = [0; CHUNK_BYTES + STEP_BYTES];
    padded[..CHUNK_BYTES].copy_from_slice(chunk);
    let (mut from, mut filled) = (0, 0);
    loop {
        // The end, where there is none left.
        let to = escapes.trailing_zeros() as usize;
        while to - from > STEP_BYTES {
            *part::<STEP_BYTES>(room, filled) = *part(&mut padded, from);
            from += STEP_BYTES;
            filled += STEP_BYTES;
        }
        let step = part::<STEP_ROOM>(room, filled);
        *part::<STEP_BYTES>(step, 0) = *part(&mut padded, from);
        let plain = to - from;
        filled += plain;
        if to == CHUNK_BYTES {
            return filled;
        }
        filled += escape(chunk[to], part(step, plain));
        from = to + 1;
        escapes &= escapes - 1;
    }
}

/// So many bytes as one value: copying it needs no call.
#[inline(always)]
fn part<const BYTES: usize>(of: &mut [u8], from: usize) -> &mut [u8; BYTES] {
    of[from..].first_chunk_mut().expect("there is room for every escape and padding for every step")
}

/// Which of these bytes need an escape; the lowest bit is the first byte's.
fn escapes(bytes: &[u8; CHUNK_BYTES]) -> u64 {
    let mut flags = [0; CHUNK_BYTES];
    for (flag, byte) in flags.iter_mut().zip(bytes) {
        *flag = u8::from((*byte < 0x20) | (*byte == b'"') | (*byte == b'\\'));
    }
    // The product has the flags of eight bytes side by side in its highest byte.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    flags.as_chunks().0.iter().rev().fold(0, |all, eight| all << 8 | bits(eight))
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
#[inline(always)]
fn escape(byte: u8, room: &mut [u8; ESCAPE_BYTES_MAX]) -> usize {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = LETTERS[usize::from(byte)];
    if letter != b'u' {
        [room[0], room[1]] = [b'\\', letter];
        return 2;
    }
    *room = [b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
    6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut written = Vec::new();
        string(text, &mut |piece| written.extend_from_slice(piece));
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn every_character_is_written_as_by_the_general_serialiser_wherever_it_stands() {
        for character in (0..0x300).filter_map(char::from_u32) {
            for before in [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 62, 63, 64, 65] {
                for after in ["", "!\"12345678"] {
                    let text = format!("{}{character}{after}", "x".repeat(before));
                    assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
                }
            }
        }
    }

    #[test]
    fn a_text_of_nothing_but_the_longest_escapes_is_written_whole() {
        for length in [1, 63, 64, 65, 1000] {
            let text = "\u{1f}".repeat(length);
            assert_eq!(written(&text), format!("\"{}\"", "\\u001f".repeat(length)));
        }
    }

    proptest! {
        #[test]
        fn every_text_is_written_as_by_the_general_serialiser(text in "[\\x00-\\x7fä€😀\"\\\\\n]{0,900}") {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
