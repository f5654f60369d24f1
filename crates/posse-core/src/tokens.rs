//! Bounds on the number of tokens of a text, for budgets: what is held for a call must not be less than what is billed.
//!
//! Certain is only that a tokenizer that works on bytes has at most a token for each byte. What is less here was measured
//! with ten tokenizers whose vocabularies come with npm packages: `o200k_base`, `cl100k_base`, Claude (that of 2023), Llama 2,
//! Llama 3, Mistral 7B, Mistral Nemo, Qwen 3, Gemma 3 and DeepSeek 3. Their counts for a sample of each kind of text are in
//! `tests/it/token_counts.txt`, with the versions of the packages.
//!
//! - Small letters: random words of 1 to 20 letters, words of frequent pairs of letters, rows without blanks, consonants
//!   alone. No count was above the bound. Letters that are chosen against a vocabulary can have a token each, a
//!   third more than the bound; random rows of q, z, x, j, v, k and w have 9 % more with Llama 2.
//! - Rows of 1 to 200 blanks, before letters, digits and signs. Tokenizers that do not join blanks (GPT-2) were not measured.
//! - English and code: 2,000 characters from each of 367 files. The bound is about two to three times the highest count.
//!
//! Unmeasured are the tokenizers that nobody publishes: today's of Anthropic, and Google's beyond Gemma. A tokenizer that
//! spells characters out before it counts has more than a token for a byte: Claude's of 2023 has 15 for U+FDFA, of 3 bytes.

/// Bytes per token that no honest report exceeds. This is assumed, not measured for every text: over whole requests in
/// English and code about 6 were seen, and long rows of one sign or of blanks have more.
const BYTES_PER_TOKEN_MAX: u64 = 24;
/// Tokens that a provider adds to a text: the marks around a message. Assumed, too.
const MARKS: u64 = 4;

/// The least number of tokens that so many bytes of a request or a reply have.
pub fn tokens_at_least(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN_MAX
}

/// The most tokens that a text has. A small letter after another is three quarters of a token, one blank before a letter is
/// free, a row of blanks is a few tokens, and every other byte is one.
pub fn tokens_at_most(text: impl AsRef<[u8]>) -> u64 {
    let mut rows = text.as_ref().chunk_by(|one, next| kind(*one) == kind(*next)).peekable();
    let mut quarters = 0;
    while let Some(row) = rows.next() {
        let length = row.len() as u64;
        let next_is_letter = rows.peek().is_some_and(|next| next[0].is_ascii_alphabetic());
        quarters += match kind(row[0]) {
            Kind::Small => 1 + 3 * length,
            Kind::Blank if length == 1 && next_is_letter => 0,
            Kind::Blank => (4 * length).min(8 + length / 2),
            Kind::Other => 4 * length,
        };
    }
    quarters.div_ceil(4) + MARKS
}

#[derive(PartialEq, Eq)]
enum Kind {
    Small,
    Blank,
    Other,
}

fn kind(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' => Kind::Small,
        b' ' => Kind::Blank,
        _ => Kind::Other,
    }
}
