//! Shortening text without lying about it: the notice says exactly what was left out.

/// The usual estimate of the specification (len/4, counted in characters, rounded up).
pub fn estimate_tokens(text: &str) -> u64 {
    // Most results are plain, and that is seen much faster than characters are counted.
    let characters = if text.is_ascii() { text.len() } else { text.chars().count() };
    (characters as u64).div_ceil(4)
}

/// Formats a count with its noun: `1 file`, `2 files`.
pub fn counted(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}

/// Quotes a name as a C string, as git does.
pub fn c_quoted(name: &str) -> String {
    let mut out = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let octal = |byte: u8| format!("\\{byte:03o}");
                out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(octal));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The longest prefix of at most `bytes` bytes that ends on a character boundary.
pub fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The longest suffix of at most `bytes` bytes that starts on a character boundary.
pub fn suffix(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// Truncates a text that is longer than `max` bytes in the middle. The result, notice included, is at
/// most `max` bytes (for `max` of at least 100).
pub fn head_and_tail(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    const NOTICE: usize = 64;
    let room = max.saturating_sub(NOTICE);
    let head = prefix(text, room * 2 / 3);
    let tail = suffix(text, room - room * 2 / 3);
    let left_out = text.len() - head.len() - tail.len();
    let notice = format!("[{left_out} of {} bytes left out here]", text.len());
    format!("{head}\n{notice}\n{tail}")
}

/// The name that was probably meant: the one with the fewest changed letters, if that is few enough.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are no names, and the work grows with the square of the length.
    const LETTERS_MAX: usize = 64;
    let letters = wanted.chars().count();
    if letters > LETTERS_MAX {
        return None;
    }
    let near = names.into_iter().filter(|name| name.chars().count() <= LETTERS_MAX);
    // Of names with equally many changes, the one of the same length: letters change places more often than they go.
    let near = near.map(|name| (changes(wanted, name), name));
    let near = near.min_by_key(|(changes, name)| (*changes, name.chars().count().abs_diff(letters)));
    near.filter(|(changes, _)| *changes <= (letters / 3).max(1)).map(|(_, name)| name)
}

/// Computes the edit distance of two words. Two letters that changed places are one change.
fn changes(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (down, letter) in from.iter().enumerate() {
        let above = &rows[down];
        let mut row = vec![down + 1];
        for (at, other) in to.iter().enumerate() {
            let mut least =
                (above[at] + usize::from(letter != other)).min(above[at + 1] + 1).min(row[at] + 1);
            if down > 0 && at > 0 && *letter == to[at - 1] && from[down - 1] == *other {
                least = least.min(rows[down - 1][at - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

/// Makes control, bidirectional, zero-width and otherwise invisible characters visible, so that text from a model cannot steer
/// a terminal or hide what it says. Line ends and tabs stay, and so do joiners and selectors where scripts and emoji
/// need them: after a character beyond ASCII.
pub fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    if text.is_ascii() && !text.chars().any(is_hidden) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for c in text.chars() {
        let joins = !before.is_ascii() && (!is_joiner(before) || (c == '\u{200d}' && before != c));
        let hidden = is_hidden(c) || (is_joiner(c) && !joins);
        if hidden {
            out.extend(c.escape_unicode())
        } else {
            out.push(c)
        }
        before = c;
    }
    if out == text { text.into() } else { out.into() }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Marks of direction, and what is only there to be invisible.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_nearly_a_name_is_taken_for_it() {
        let names = ["anthropic", "openai", "gemini", "groq"];
        for (wrong, right) in [
            ("antropic", Some("anthropic")),
            ("Anthropic", Some("anthropic")),
            ("open-ai", Some("openai")),
            ("grok", Some("groq")),
            ("gorq", Some("groq")),
            ("nobody", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, names), right, "{wrong}");
        }
        assert_eq!(nearest(&"a".repeat(10_000), names), None);
        assert_eq!(nearest("x", []), None);
    }
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shortened_text_keeps_its_limit_and_counts_what_it_left_out(text in "\\PC{0,400}", max in 100usize..300) {
            let short = head_and_tail(&text, max);
            prop_assert!(short.len() <= max.max(text.len().min(max)));
            if text.len() > max {
                let notice = short.lines().find(|l| l.contains("left out here")).unwrap();
                let left_out: usize = notice[1..].split(' ').next().unwrap().parse().unwrap();
                prop_assert_eq!(short.len() - notice.len() - 2 + left_out, text.len());
            }
        }
    }

    #[test]
    fn escape_sequences_and_direction_marks_become_visible() {
        assert_eq!(visible("a\u{1b}[31m\u{202e}b\nc"), "a\\u{1b}[31m\\u{202e}b\nc");
    }
}
