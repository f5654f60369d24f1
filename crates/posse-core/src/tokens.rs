//! Bounds on the number of tokens of a text, for budgets: what is held for a call must not be less than what is billed.
//!
//! The figures were fitted to six tokenizers whose vocabularies come with npm packages: `o200k_base` and `cl100k_base`
//! (gpt-tokenizer 3), Claude (@anthropic-ai/tokenizer 0.0.4), Llama 2, Llama 3 and Mistral (llama-tokenizer-js,
//! llama3-tokenizer-js, mistral-tokenizer-js). Texts were 2,000 characters from each of 495 files (Rust, Python, Perl,
//! JavaScript, JSON, Markdown, HTML, licenses), this project's messages in six languages, and random strings of letters,
//! digits, signs, Base64, hexadecimal, rare Chinese characters, emoji and combining marks. No tokenizer had more tokens than
//! `tokens_at_most` for any of them; for English and for code the bound is about twice what they have.

/// Bytes per token that no honest report exceeds: the most that was seen over a whole request is about 6.
const BYTES_PER_TOKEN_MAX: u64 = 24;
/// Tokens that a provider adds to a text: the marks around a message.
const MARKS: u64 = 4;
/// Letters beyond which a row of letters is no word.
const WORD_LETTERS_MAX: usize = 16;

/// For each first letter, a bit for each second letter: the 300 most frequent pairs of letters in the files above. Other
/// pairs mostly end a token.
const FREQUENT_PAIRS: [u32; 26] = [
    33471854, 18238225, 2022839, 26626393, 32504191, 1993073, 1993105, 1720593, 45021311, 278544, 262416,
    18663737, 1366331, 24964477, 8322414, 18795921, 1048576, 20872543, 23002581, 31390141, 964991, 82193,
    418193, 561169, 843776, 16,
];

/// The least number of tokens that so many bytes of a request or a reply have.
pub fn tokens_at_least(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN_MAX
}

/// The most tokens that a text has. Bytes outside of ASCII, digits and signs are a token each; words and blanks are fewer.
pub fn tokens_at_most(text: impl AsRef<[u8]>) -> u64 {
    let text = text.as_ref();
    let (mut quarters, mut at) = (0, 0);
    while at < text.len() {
        let (length, cost) = next_piece(&text[at..]);
        quarters += cost;
        at += length;
    }
    quarters.div_ceil(4) + MARKS
}

/// The length of the first piece of a text, and its quarters of tokens at most.
fn next_piece(text: &[u8]) -> (usize, u64) {
    let first = text[0];
    let row = |fits: fn(&u8) -> bool| text.iter().take_while(|byte| fits(byte)).count();
    if first.is_ascii_lowercase() {
        let length = row(u8::is_ascii_lowercase);
        return (length, word(&text[..length]));
    }
    if first.is_ascii_uppercase() {
        let capitals = row(u8::is_ascii_uppercase);
        let small = text[capitals..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        return match (capitals, small) {
            (1, _) => (1 + small, word(&text[..1 + small])),
            (_, 0) => (capitals, letters(capitals)),
            // The last capital begins the next word.
            (_, _) => (capitals - 1, letters(capitals - 1)),
        };
    }
    let same = text.iter().take_while(|byte| **byte == first).count();
    let count = same as u64;
    match first {
        b' ' => match text.get(same) {
            // One blank goes with the word after it.
            Some(next) if same == 1 && next.is_ascii_alphabetic() => (1, 0),
            _ => (same, 4 + count / 2),
        },
        _ if first.is_ascii_punctuation() && same > 3 => (same, 3 + count),
        _ => (same, 4 * count),
    }
}

fn word(word: &[u8]) -> u64 {
    if word.len() > WORD_LETTERS_MAX {
        return letters(word.len());
    }
    let place = |letter: u8| usize::from(letter.to_ascii_lowercase() - b'a');
    let is_rare = |pair: &&[u8]| FREQUENT_PAIRS[place(pair[0])] & (1 << place(pair[1])) == 0;
    let rare = word.windows(2).filter(is_rare).count() as u64;
    let length = word.len() as u64;
    (4 * length).min(4 + length * 8 / 7 + 4 * rare)
}

/// A row of letters that is no word.
fn letters(length: usize) -> u64 {
    4 * (length as u64 * 3).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_that_is_no_letter_counts_where_text_is_dense() {
        for dense in ["编排器", "😀🚀🔥", "0123456789", "{}[]();:,.", "\t\t\t"] {
            assert!(tokens_at_most(dense) >= dense.len() as u64, "{dense}");
        }
    }

    #[test]
    fn a_bound_does_not_shrink_when_text_is_added() {
        let text = "The quick BROWN fox, 42 jumps…   over\n\n{\"a\": [\"XMLParser\", ----------]}";
        let bounds = (0..=text.len()).map(|end| tokens_at_most(&text.as_bytes()[..end]));
        let bounds: Vec<u64> = bounds.collect();
        // A blank is free once a word follows it.
        assert!(bounds.windows(2).all(|two| two[1] + 1 >= two[0]), "{bounds:?}");
    }
}
