//! Streamed Markdown: finished lines, whatever the pieces.

#[cfg(feature = "syntax-colors")]
use std::time::Duration;

use posse_terminal::markdown::{CodeColors, MarkdownStream, MarkdownStyle};
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet, columns};
use proptest::prelude::*;

fn style(width: usize, palette: StylePalette) -> MarkdownStyle {
    MarkdownStyle { width, palette, symbols: SymbolSet::Unicode, code: CodeColors::off() }
}

fn stream(width: usize) -> MarkdownStream {
    MarkdownStream::new(style(width, StylePalette::Ansi))
}

fn rendered(mut stream: MarkdownStream, pieces: &[&str]) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = pieces.iter().flat_map(|piece| stream.push(piece)).collect();
    lines.extend(stream.finish());
    lines
}

fn texts(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::text).collect()
}

/// Renders as plain text at this width and compares.
fn check(width: usize, source: &str, expected: &str) {
    let shown = texts(&rendered(stream(width), &[source])).join("\n");
    assert_eq!(shown, expected.trim_start_matches('\n').trim_end(), "\n{shown}\n");
}

#[test]
fn blocks_become_lines() {
    check(
        50,
        "# Title\n\nThe server binds its port *before* the pool is **ready**, so `bind` answers too early.\n\
         Same paragraph.\n\n- one\n- two\n  - nested item that is long enough to be wrapped once\n\n    more of it\n\
         3. three\n10. ten\n\n> quoted\n> text\n>\n> - item\n\n---\nend  \nbroken\\\nagain\n",
        r"
Title

The server binds its port before the pool is
ready, so bind answers too early. Same paragraph.

- one
- two
  - nested item that is long enough to be wrapped
    once

    more of it
3. three
10. ten

│ quoted text
│
│ - item

────────────────────────────────────────
end
broken
again
",
    );
}

#[test]
fn styles_are_of_the_16_colors_and_end_with_their_span() {
    let lines = rendered(stream(60), &["**b** *i* `c` ~~s~~ [t](https://x.y) <https://z.w> ***x***\n# H\n"]);
    let ansi: Vec<String> = lines.iter().map(|line| line.to_ansi(StylePalette::Ansi)).collect();
    assert_eq!(
        ansi,
        [
            "\x1b[1mb\x1b[0m \x1b[3mi\x1b[0m \x1b[36mc\x1b[0m \x1b[9ms\x1b[0m \x1b[4mt\x1b[0m (https://x.y) \
             \x1b[4mhttps://z.w\x1b[0m \x1b[1;3mx\x1b[0m",
            "\x1b[1;4mH\x1b[0m"
        ]
    );
}

#[test]
fn marks_stay_where_styles_are_off() {
    let plain = MarkdownStream::new(style(60, StylePalette::Plain));
    let lines = rendered(plain, &["## H\n**b** *i* `c`\n"]);
    let shown: Vec<String> = lines.iter().map(|line| line.to_ansi(StylePalette::Plain)).collect();
    assert_eq!(shown, ["## H", "**b** *i* `c`"]);
}

#[test]
fn fences_close_at_their_own_mark_and_code_is_whole() {
    let long = "x".repeat(60);
    check(
        40,
        &format!(
            "~~~~ text\n```\n{long}\n~~~\n\n\ttab\n~~~~~\nafter\n\n1. in a list:\n   ```\n   code\n   ```\n"
        ),
        &format!("    ```\n    {long}\n    ~~~\n\n        tab\nafter\n\n1. in a list:\n       code"),
    );
    check(40, "```rust\nunclosed", "    unclosed");
    check(40, "> ```\n> a\n> ```\nb", "│     a\nb");
}

#[test]
fn a_line_is_committed_when_it_and_its_marks_are_complete() {
    let mut stream = stream(30);
    assert_eq!(texts(&stream.push("The first words that fill a ")), [""; 0]);
    assert_eq!(texts(&stream.push("line ")), ["The first words that fill a"]);
    assert_eq!(texts(&stream.push("and **bold words that are not closed yet ")), [""; 0]);
    assert_eq!(texts(&stream.pending()), ["line and **bold words that", "are not closed yet"]);
    assert_eq!(texts(&stream.push("now** ")), ["line and bold words that are"]);
    assert_eq!(texts(&stream.push("x\n")), [""; 0]);
    assert_eq!(texts(&stream.push("\n")), ["not closed yet now x"]);
    assert_eq!(texts(&stream.push("```rust\nlet a")), [""], "the line between the blocks");
    assert_eq!(texts(&stream.pending()), ["    let a"]);
    assert_eq!(texts(&stream.push(" = 1;\n")), ["    let a = 1;"], "code comes line by line");
}

#[test]
fn a_link_is_complete_at_its_parenthesis_whatever_its_address_has() {
    let mut stream = stream(24);
    assert_eq!(texts(&stream.push("see [it](/_a(b)_c*d) and then some more ")), ["see it (/_a(b)_c*d) and"]);
}

#[test]
fn a_table_is_committed_when_it_ends() {
    let mut stream = stream(60);
    assert_eq!(
        texts(&stream.push("| Name | Cost | Mid |\n|---|---:|:-:|\n| 日本語 | 1 | a |\n| `b` | **20** |")),
        [""; 0]
    );
    assert_eq!(
        texts(&stream.push(" x |\n\n")),
        ["Name   │ Cost │ Mid", "───────┼──────┼────", "日本語 │    1 │  a", "b      │   20 │  x"]
            .map(|line| line.to_owned())
    );
    check(60, "a | b\n--|--\nc\\|d | e\nno row", "a   │ b\n────┼──\nc|d │ e\nno row");
    check(60, "| not a table |\n\nx", "| not a table |\n\nx");
}

#[test]
fn a_table_that_is_too_wide_is_wrapped_inside_its_columns() {
    check(
        32,
        "| File | Why |\n|--|--|\n| src/auth.rs | the expiry test is inverted, so old tokens pass |\n",
        r"
File        │ Why
────────────┼──────────────────
src/auth.rs │ the expiry test
            │ is inverted, so
            │ old tokens pass
",
    );
    check(
        20,
        "|a|b|c|d|\n|-|-|-|-|\n|long words here|long words here|long words here|1|\n",
        "a: long words here\nb: long words here\nc: long words here\nd: 1",
    );
}

#[test]
fn chinese_and_japanese_break_between_characters() {
    check(13, "日本語のテキストはスペースなしで続く。", "日本語のテキ\nストはスペー\nスなしで続\nく。");
}

#[test]
fn a_word_longer_than_a_line_is_broken_by_grapheme() {
    check(
        9,
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301} 👩‍💻👩‍💻",
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}\ne\u{301}e\u{301} 👩‍💻👩‍💻",
    );
}

#[test]
fn a_long_text_without_spaces_or_with_an_open_mark_still_flows() {
    for text in
        ["x".repeat(12_000), format!("**{}", "word ".repeat(2_400)), format!("x{}", "*".repeat(12_000))]
    {
        let mut stream = stream(80);
        let mut lines = Vec::new();
        for piece in text.as_bytes().chunks(100) {
            lines.extend(stream.push(std::str::from_utf8(piece).unwrap()));
            let held: usize = stream.pending().iter().map(StyledLine::width).sum();
            assert!(held < 10_000, "{held} columns wait");
        }
        lines.extend(stream.finish());
        assert_eq!(lines, rendered(self::stream(80), &[&text]));
    }
}

#[test]
fn control_characters_become_visible() {
    let shown = "a\\u{1b}[31m b\\u{7}";
    check(60, "a\u{1b}[31m b\u{7}\n", shown);
    check(60, "`a\u{1b}[31m b\u{7}`\n", shown);
    check(60, "```\na\u{1b}[31m b\u{7}\n```\n", &format!("    {shown}"));
    check(60, "| x |\n|---|\n| a\u{1b}[31m b\u{7} |\n", &format!("x\n──────────────────\n{shown}"));
    check(60, "a\r\nb\rc\r\n", "a b\\u{d}c");
}

#[test]
fn text_that_only_looks_like_marks_is_kept() {
    for text in [
        "2 * 3 * 4 = 24",
        "snake_case_name and _x",
        "a < b && b > c",
        "[x] done [y]",
        "~5 minutes",
        "C:\\dir\\x",
        "1986 was * good",
        "<div class=a> text",
    ] {
        check(60, text, text);
    }
    check(
        60,
        "[ref]: http://x.y\n\nTitle\n===\n",
        "[ref]: http://x.y\n\nTitle\n────────────────────────────────────────",
    );
}

#[cfg(feature = "syntax-colors")]
#[test]
fn code_has_colors_of_its_language_until_the_time_is_up() {
    let source = "```rust,ignore\nfn main() { // hi\n    let s = \"a\";\n```\n```nonsense\nfn\n```\n";
    let colored = |budget| {
        let code = CodeColors::start(budget);
        let lines =
            rendered(MarkdownStream::new(MarkdownStyle { code, ..style(60, StylePalette::Ansi) }), &[source]);
        lines.iter().map(|line| line.to_ansi(StylePalette::Ansi)).collect::<Vec<_>>()
    };
    assert_eq!(
        colored(Duration::from_secs(600)),
        [
            "    \x1b[35mfn\x1b[0m \x1b[1mmain\x1b[0m() { \x1b[36m// hi\x1b[0m",
            "        \x1b[35mlet\x1b[0m s = \x1b[32m\"a\"\x1b[0m;",
            "    fn"
        ]
    );
    assert_eq!(colored(Duration::ZERO), ["    fn main() { // hi", "        let s = \"a\";", "    fn"]);
}

#[cfg(feature = "syntax-colors")]
#[test]
fn a_long_block_is_plain_after_200_lines() {
    let code = CodeColors::start(Duration::from_secs(600));
    let source = format!("```json\n{}```\n", "1\n".repeat(202));
    let lines =
        rendered(MarkdownStream::new(MarkdownStyle { code, ..style(60, StylePalette::Ansi) }), &[&source]);
    let colored = lines.iter().filter(|line| line.to_ansi(StylePalette::Ansi).contains("\x1b[33m")).count();
    assert_eq!((lines.len(), colored), (202, 200));
}

/// Sources that are rich in marks, some of them unbalanced.
fn source() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[f-l]{1,8}",
        2 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => prop::sample::select(vec![
            "\n\n", "**", "*", "_", "`", "``", "~~", "[", "](", ")", "# ", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n```rust\n",
            "\n```\n", "\n~~~~\n", "\n| f | g |\n|--|--|\n| h | i |\n", " | ", "\n|", "\n---\n", "===", "  \n", "\\", "\\\n", "\t",
            "    ", "日本語", "e\u{301}", "👩‍💻", "<br>", "&amp;", "\u{1b}[2J", "\r\n", ":", "1.", "2) ", ".",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Letters of the words in `source()`. Languages, tags, entities and escapes have others.
fn letters(text: &str) -> String {
    text.chars().filter(|c| ('f'..='l').contains(c)).collect()
}

proptest! {
    #[test]
    fn lines_are_the_same_whatever_the_pieces(source in source(), cuts in prop::collection::vec(0usize..400, 0..40), width in 8usize..70) {
        let whole = rendered(stream(width), &[&source]);
        let mut at: Vec<usize> = cuts.iter().map(|cut| source.floor_char_boundary(*cut)).collect();
        at.extend([0, source.len()]);
        at.sort_unstable();
        let pieces: Vec<&str> = at.windows(2).map(|ends| &source[ends[0]..ends[1]]).collect();
        prop_assert_eq!(&rendered(stream(width), &pieces), &whole);
        let characters: Vec<String> = source.chars().map(|c| c.to_string()).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        prop_assert_eq!(&rendered(stream(width), &characters), &whole);
    }

    #[test]
    fn no_text_is_lost_and_prose_fits(source in source(), width in 12usize..70) {
        // The language of a fence is not shown.
        let has_info = |line: &str| line.rsplit_once("```").or(line.rsplit_once("~~~")).is_some_and(|(_, info)| !letters(info).is_empty());
        prop_assume!(!source.lines().any(has_info));
        let mut lines = rendered(stream(width), &[&source]);
        let shown = letters(&texts(&lines).concat());
        if source.contains('|') {
            // Wrapped cells stand side by side, and rows without room for columns repeat their header.
            let count = |text: &str, letter: char| text.chars().filter(|c| *c == letter).count();
            prop_assert!(('f'..='l').all(|letter| count(&shown, letter) >= count(&letters(&source), letter)));
        } else {
            prop_assert_eq!(shown, letters(&source));
        }
        lines.retain(|line| !line.text().contains("    "));
        for line in lines {
            prop_assert!(columns(&line.text()) < width, "{:?} is wider than {}", line.text(), width);
            prop_assert!(!line.text().contains(char::is_control), "{:?}", line.text());
        }
    }

    #[test]
    fn what_is_pending_is_shown(source in source()) {
        let mut stream = stream(40);
        let mut shown = texts(&stream.push(&source)).concat();
        shown.push_str(&texts(&stream.pending()).concat());
        let whole = texts(&rendered(MarkdownStream::new(style(40, StylePalette::Ansi)), &[&source])).concat();
        // A table waits as a whole and the language of a fence is not shown; everything else is visible at once.
        if !source.contains('|') && !source.contains("``") && !source.contains("~~~") {
            prop_assert_eq!(letters(&shown), letters(&whole));
        }
    }
}
