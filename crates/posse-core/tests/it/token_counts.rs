//! The bound on tokens against what tokenizers count.

use posse_core::tokens::tokens_at_most;

const TABLE: &str = include_str!("token_counts.txt");

struct Row {
    kind: &'static str,
    count: u64,
    text: String,
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let [kind, count, _, text] = line.splitn(4, " | ").collect::<Vec<_>>().try_into().unwrap();
        Row { kind, count: count.parse().unwrap(), text: serde_json::from_str(text).unwrap() }
    };
    lines.map(row).collect()
}

#[test]
fn no_tokenizer_has_more_tokens_than_the_bound() {
    for Row { kind, count, text } in rows() {
        let bound = tokens_at_most(&text);
        assert!(bound >= count, "{kind}: {count} tokens, {bound} at most");
    }
}

#[test]
fn ordinary_text_is_held_for_no_more_than_four_times_its_tokens() {
    let ordinary = ["English", "Rust", "JSON"];
    let rows: Vec<Row> = rows().into_iter().filter(|row| ordinary.contains(&row.kind)).collect();
    assert_eq!(rows.len(), ordinary.len());
    for Row { kind, count, text } in rows {
        let bound = tokens_at_most(&text);
        assert!(bound <= 4 * count, "{kind}: {count} tokens, {bound} at most");
    }
}

#[test]
fn text_that_comes_in_pieces_is_bounded_by_their_bounds() {
    for Row { kind, text, .. } in rows() {
        let whole = tokens_at_most(&text);
        for at in 0..=text.len() {
            let (begin, end) = text.as_bytes().split_at(at);
            assert!(tokens_at_most(begin) + tokens_at_most(end) >= whole, "{kind} cut at {at}");
        }
    }
}
