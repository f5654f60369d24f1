//! Fuzzy matching: the letters of the query in their order, the closer together and the nearer to the start of a word the better.

/// Longest query and candidate that are compared, in characters.
const CHARACTERS_MAX: usize = 512;

/// Returns how well a candidate matches a query, `None` if it does not. An empty query matches everything. Case counts only for
/// capitals of the query.
pub fn match_score(candidate: &str, query: &str) -> Option<i64> {
    let text: Vec<char> = candidate.chars().take(CHARACTERS_MAX).collect();
    let wanted: Vec<char> = query.chars().take(CHARACTERS_MAX).collect();
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    if wanted.is_empty() {
        return Some(-length);
    }
    // A whole piece of the candidate is better than scattered letters; the last one, which is in the file's name, is the best.
    let whole = (0..=text.len().saturating_sub(wanted.len()))
        .rev()
        .filter(|at| is_equal(&text[*at..], &wanted))
        .map(|at| (at, bonus(&text, at)))
        .max_by_key(|(at, bonus)| (*bonus, *at));
    if let Some((at, bonus)) = whole {
        let is_name = !text[at..].contains(&'/');
        return Some(10_000 + bonus * 100 + if is_name { 50 } else { 0 } - length);
    }
    let (mut score, mut at, mut last) = (0, 0, None);
    for letter in &wanted {
        let found = at + text[at.min(text.len())..].iter().position(|c| same(*c, *letter))?;
        score += bonus(&text, found) * 4;
        score += if last == found.checked_sub(1) && last.is_some() { 8 } else { 0 };
        (last, at) = (Some(found), found + 1);
    }
    Some(score - length)
}

fn is_equal(text: &[char], wanted: &[char]) -> bool {
    text.len() >= wanted.len() && text.iter().zip(wanted).all(|(c, letter)| same(*c, *letter))
}

fn same(character: char, wanted: char) -> bool {
    character == wanted || !wanted.is_uppercase() && character.to_lowercase().eq([wanted])
}

/// Rates a place: the start of the text or of a part of a path, the start of a word, anything else.
fn bonus(text: &[char], at: usize) -> i64 {
    match at.checked_sub(1).map(|before| text[before]) {
        None | Some('/' | '@') => 3,
        Some(before) if !before.is_alphanumeric() => 2,
        Some(before) if before.is_lowercase() && text[at].is_uppercase() => 2,
        Some(_) => 0,
    }
}
