//! The parts of an answer that a model was asked to mark: `<findings>`, `<summary>` and `<answer>`.
//!
//! Models mark them loosely: twice, inside each other, or without an end. The last part that has both its marks counts;
//! an answer without marks is its own findings.

use serde::{Deserialize, Serialize};

use crate::text::head_and_tail;

/// Bytes of one part. The whole answer is kept as its text; this is what callers show.
pub const SECTION_BYTES_MAX: usize = 64 * 1024;

/// Tagged sections of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSections {
    /// Details; the whole answer where they are not marked.
    pub findings: String,
    /// Two or three sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The direct answer, if there was a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// `None` if the text marks nothing.
pub fn marked(text: &str) -> Option<AnswerSections> {
    let [findings, summary, answer] = ["findings", "summary", "answer"].map(|tag| last(text, tag));
    if findings.is_none() && summary.is_none() && answer.is_none() {
        return None;
    }
    let findings = findings.unwrap_or_else(|| bounded(text));
    Some(AnswerSections { findings, summary, answer })
}

/// The parts of a text that may mark none: then all of it is findings.
pub fn of(text: &str) -> AnswerSections {
    marked(text).unwrap_or_else(|| AnswerSections { findings: bounded(text), summary: None, answer: None })
}

fn bounded(text: &str) -> String {
    head_and_tail(text.trim(), SECTION_BYTES_MAX)
}

/// Returns the text between the last pair of tags. Unpaired tags are ignored.
fn last(text: &str, tag: &str) -> Option<String> {
    let mut open: Vec<usize> = Vec::new();
    let mut found = None;
    for SectionMark { at, end, closes } in marks(text, tag) {
        match closes {
            false => open.push(end),
            true => found = open.pop().map(|start| (start, at)).or(found),
        }
    }
    found.map(|(start, end)| bounded(&text[start..end]))
}

struct SectionMark {
    at: usize,
    end: usize,
    closes: bool,
}

/// `<tag>` and `</tag>` in order, in any case and with spaces before the end.
fn marks<'a>(text: &'a str, tag: &'a str) -> impl Iterator<Item = SectionMark> + 'a {
    text.match_indices('<').filter_map(move |(at, _)| {
        let rest = &text[at + 1..];
        let (closes, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let name = rest.get(..tag.len())?;
        let after = rest[tag.len()..].trim_start_matches([' ', '\t']);
        let ends = name.eq_ignore_ascii_case(tag) && after.starts_with('>');
        ends.then(|| SectionMark { at, end: text.len() - after.len() + 1, closes })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sections(findings: &str, summary: Option<&str>, answer: Option<&str>) -> AnswerSections {
        let (summary, answer) = (summary.map(str::to_owned), answer.map(str::to_owned));
        AnswerSections { findings: findings.to_owned(), summary, answer }
    }

    // R259
    #[test]
    fn marked_parts_are_found_and_an_answer_without_marks_is_all_findings() {
        let text =
            "Sure.\n<findings>\n- a.rs:3\n</findings>\n<summary>It leaks.</summary><Answer >yes</ANSWER>";
        assert_eq!(marked(text), Some(sections("- a.rs:3", Some("It leaks."), Some("yes"))));
        assert_eq!(marked("no marks, a < b > c"), None);
        assert_eq!(of(" no marks "), sections("no marks", None, None));
        let only = "It is so. <answer>42</answer>";
        assert_eq!(of(only), sections(only, None, Some("42")));
    }

    #[test]
    fn the_last_whole_pair_counts_and_loose_marks_do_no_harm() {
        for (text, findings) in [
            ("<findings>draft</findings> no: <findings>final</findings>", "final"),
            ("I put them in <findings>, so: <findings>final</findings>", "final"),
            ("<findings>whole</findings> and <findings>cut o", "whole"),
            ("</findings><findings>a</findings></findings>", "a"),
            ("<findings>a <findings>b</findings> c</findings>", "a <findings>b</findings> c"),
            ("<findings>a <summary>s</summary></findings>", "a <summary>s</summary>"),
            ("<findings></findings>", ""),
            ("<findings>only begun", "<findings>only begun"),
            ("<findingsé>x</findings>", "<findingsé>x</findings>"),
        ] {
            assert_eq!(of(text).findings, findings, "{text}");
        }
    }

    #[test]
    fn a_part_is_bounded_and_says_so() {
        let long = format!("<findings>{}</findings>", "x".repeat(2 * SECTION_BYTES_MAX));
        let found = of(&long).findings;
        assert!(found.len() <= SECTION_BYTES_MAX && found.contains("bytes left out here"));
    }

    proptest! {
        #[test]
        fn what_is_marked_last_is_found_whatever_stands_before_it(
            before in "(<findings>|</findings>|<summary>|[a-z<>/ é]){0,40}", body in "[a-zé \\n]{0,40}", after in "[a-z> ]{0,20}"
        ) {
            let text = format!("{before}<findings>{body}</findings>{after}");
            prop_assert_eq!(of(&text).findings, body.trim());
        }

        #[test]
        fn every_part_is_a_part_of_the_text(text in "(<findings>|</findings>|<answer>|</answer>|[a-z</> é]){0,60}") {
            let found = of(&text);
            prop_assert!(text.contains(&found.findings));
            prop_assert!(found.answer.is_none_or(|answer| text.contains(&answer)));
        }
    }
}
