//! Replaces a piece of text in a file. A text that is not there, or is there more than once, is refused with what
//! the model needs to name it better.

use memchr::memmem;
use posse_core::text::{estimate_tokens, prefix};
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::ToolOutput;
use posse_sandbox::workspace::{WHOLE_BYTES_MAX, show};
use rustix::fs::Stat;
use serde::Deserialize;

use crate::answer::{BoundedLines, count, decode};
use crate::files::{Answer, FileJob, describe};
use crate::replace::{FileTarget, ParentPolicy};
use crate::seen::ContentStamp;

/// Line numbers named when a text occurs too often.
const PLACES_MAX: usize = 10;
const CONTEXT_LINES: usize = 2;
const SNIPPET_LINES_MAX: usize = 60;
const SNIPPET_SIDE_LINES_MAX: usize = 20;
const SNIPPET_LINE_BYTES_MAX: usize = 200;
/// Looking for a near match compares line by line; this keeps it instant.
const HINT_LINES_MAX: usize = 200_000;

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "File to change, relative to the workspace. Read it first." },
    "old_string": { "type": "string", "description": "The text to replace, exactly as it is in the file, with its indentation and without the line numbers that `read` shows. It must occur exactly once: include neighbouring lines if needed." },
    "new_string": { "type": "string", "description": "The text to put in its place; empty to delete." },
    "replace_all": { "type": "boolean", "description": "Replace every occurrence instead of exactly one. Default false." }
  },
  "required": ["path", "old_string", "new_string"],
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditArguments {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

pub(crate) fn spec() -> ToolSpec {
    describe(
        "edit",
        ToolEffect::Unsafe,
        "Replace an exact piece of text in a file that you have read. Refused if the text is missing, occurs more \
         than once without `replace_all`, or if the file changed since you read it. Answers with the changed lines.",
        SCHEMA,
    )
}

pub(crate) fn run(job: &FileJob, arguments: EditArguments) -> Answer {
    let path = job.context.workspace.path(&arguments.path)?;
    let (old, new) = (&arguments.old_string, &arguments.new_string);
    if old.is_empty() {
        return Err(
            "`old_string` is empty; give the text to replace, or use `write` to make a new file".to_owned()
        );
    }
    if old == new {
        return Err("`old_string` and `new_string` are the same, so nothing would change".to_owned());
    }
    let target = FileTarget::find(job, &path, ParentPolicy::MustExist)?;
    let Some(before) = target.now()? else {
        return Err(format!(
            "there is no `{}`; use `write` to create it, or `glob` to find its name",
            show(&path)
        ));
    };
    job.context.seen.check(&job.task, &path, &before.stamp)?;
    let Some(content) = &before.content else {
        let max = count(WHOLE_BYTES_MAX, "byte");
        return Err(format!("`{}` is larger than {max}, too large to edit with this tool", show(&path)));
    };
    let change = TextChange::find(content, old, new);
    let result = change.checked(&show(&path), content, &arguments)?;
    let changed = target.replace(Some(&before), &result)?;
    job.context.seen.note(&job.task, &path, ContentStamp::of_content(&result), job.turn);
    let text = change.report(&show(&path), content, &result, job.room, &before.stat);
    Ok(ToolOutput { changed: vec![changed], ..ToolOutput::text(text) })
}

/// The content that a call makes of another; `None` if it would be refused.
pub(crate) fn content_after(arguments: &EditArguments, content: &[u8]) -> Option<Vec<u8>> {
    let change = TextChange::find(content, &arguments.old_string, &arguments.new_string);
    change.checked("", content, arguments).ok()
}

/// Position of the old text and its replacement, with the file's line endings.
struct TextChange {
    old: Vec<u8>,
    new: Vec<u8>,
    places: Vec<usize>,
}

impl TextChange {
    fn find(content: &[u8], old: &str, new: &str) -> Self {
        let plain = || Self::search(content, old.as_bytes().to_vec(), new.as_bytes().to_vec());
        let with_crlf = || Self::search(content, to_crlf(old), to_crlf(new));
        match line_ends(content) {
            LineEnds::Lf => plain(),
            LineEnds::Crlf => with_crlf(),
            // Both kinds: what is written exactly as in the file wins.
            LineEnds::Mixed => match plain() {
                found if !found.places.is_empty() => found,
                _ => with_crlf(),
            },
        }
    }

    fn search(content: &[u8], old: Vec<u8>, new: Vec<u8>) -> Self {
        let places = memmem::find_iter(content, &old).collect();
        Self { old, new, places }
    }

    /// The new content, if the old text is where the call says.
    fn checked(&self, path: &str, content: &[u8], arguments: &EditArguments) -> Result<Vec<u8>, String> {
        match self.places.len() {
            0 => {
                let nearest = near_miss(content, &arguments.old_string);
                return Err(format!("`old_string` is not in `{path}`; {nearest}"));
            }
            1 => {}
            _ if arguments.replace_all => {}
            n => {
                return Err(format!(
                    "`old_string` occurs {n} times in `{path}` ({}); add neighbouring lines to name one of \
                 them, or set `replace_all`",
                    self.lines(content, 0)
                ));
            }
        }
        let result = self.apply(content);
        if result.len() as u64 > WHOLE_BYTES_MAX {
            let size = count(result.len() as u64, "byte");
            return Err(format!(
                "the result would have {size}, more than {}",
                count(WHOLE_BYTES_MAX, "byte")
            ));
        }
        Ok(result)
    }

    fn apply(&self, content: &[u8]) -> Vec<u8> {
        let mut result = Vec::with_capacity(content.len() + self.new.len());
        let mut from = 0;
        for &place in &self.places {
            result.extend_from_slice(&content[from..place]);
            result.extend_from_slice(&self.new);
            from = place + self.old.len();
        }
        result.extend_from_slice(&content[from..]);
        result
    }

    /// `line 3, 17 and 2 more`, leaving out the first `skip` places.
    fn lines(&self, content: &[u8], skip: usize) -> String {
        let mut numbers: Vec<String> = Vec::new();
        let (mut line, mut from) = (1, 0);
        for &place in self.places.iter().take(skip + PLACES_MAX) {
            line += memchr::memchr_iter(b'\n', &content[from..place]).count();
            from = place;
            numbers.push(line.to_string());
        }
        let listed = numbers[skip.min(numbers.len())..].join(", ");
        match self.places.len() - numbers.len() {
            0 => format!("lines {listed}"),
            more => format!("lines {listed} and {more} more"),
        }
    }

    /// The first changed place as a small diff with line numbers of the new content.
    fn report(&self, path: &str, content: &[u8], result: &[u8], room: usize, stat: &Stat) -> String {
        let first = self.places[0];
        let start = memchr::memrchr(b'\n', &content[..first]).map_or(0, |end| end + 1);
        // Whole lines are shown. Where whole lines were replaced by whole lines, the next line is not part of it.
        let (old_end, new_end) = (first + self.old.len(), first + self.new.len());
        let new_is_whole = self.new.last().map_or(first == start, |&last| last == b'\n');
        let (old_end, new_end) = match self.old.ends_with(b"\n") && new_is_whole {
            true => (old_end, new_end),
            false => (line_end(content, old_end), line_end(result, new_end)),
        };
        let (removed, added) = (&content[start..old_end], &result[start..new_end]);
        let number = 1 + memchr::memchr_iter(b'\n', &content[..start]).count();

        let mut out = BoundedLines::new(SNIPPET_LINES_MAX, room - 600);
        let place = count(self.places.len() as u64, "place");
        out.push(&format!("edited `{path}`: {place}"));
        let before: Vec<&[u8]> = lines(&content[..start]).collect();
        let shown_before = before.len().saturating_sub(CONTEXT_LINES);
        for (offset, line) in before[shown_before..].iter().enumerate() {
            out.push(&numbered(' ', shown_before + offset + 1, line));
        }
        push_side(&mut out, '-', number, removed);
        push_side(&mut out, '+', number, added);
        let after = number + lines(added).count();
        for (offset, line) in lines(&result[new_end..]).take(CONTEXT_LINES).enumerate() {
            out.push(&numbered(' ', after + offset, line));
        }
        let mut notes = Vec::new();
        if self.places.len() > 1 {
            notes.push(format!("also replaced at {} (numbers before the change)", self.lines(content, 1)));
        }
        if stat.st_nlink > 1 {
            notes.push(format!(
                "the file had {} hard links; only this name has the new content",
                stat.st_nlink
            ));
        }
        out.finish(&notes)
    }
}

fn push_side(out: &mut BoundedLines, sign: char, number: usize, text: &[u8]) {
    let total = lines(text).count();
    for (offset, line) in lines(text).take(SNIPPET_SIDE_LINES_MAX).enumerate() {
        out.push(&numbered(sign, number + offset, line));
    }
    if total > SNIPPET_SIDE_LINES_MAX {
        let left_out = count((total - SNIPPET_SIDE_LINES_MAX) as u64, "line");
        out.push(&format!("{sign} [{left_out} more]"));
    }
}

fn numbered(sign: char, number: usize, line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let shown = decode(line, SNIPPET_LINE_BYTES_MAX);
    let cut = if shown.used < line.len() { "…" } else { "" };
    format!("{sign}{number:>5}\t{}{cut}", shown.text)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// The end of the line that holds `position`, its line end included.
fn line_end(text: &[u8], position: usize) -> usize {
    memchr::memchr(b'\n', &text[position..]).map_or(text.len(), |end| position + end + 1)
}

enum LineEnds {
    Lf,
    Crlf,
    Mixed,
}

fn line_ends(content: &[u8]) -> LineEnds {
    let (mut lf, mut crlf) = (false, false);
    for end in memchr::memchr_iter(b'\n', content) {
        if end > 0 && content[end - 1] == b'\r' { crlf = true } else { lf = true }
    }
    match (lf, crlf) {
        (_, false) => LineEnds::Lf,
        (false, true) => LineEnds::Crlf,
        (true, true) => LineEnds::Mixed,
    }
}

fn to_crlf(text: &str) -> Vec<u8> {
    text.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes()
}

/// Describes the closest match of a text that was not found.
fn near_miss(content: &[u8], old: &str) -> String {
    if old.lines().any(|line| !line.is_empty()) && old.lines().all(|l| l.is_empty() || has_line_number(l)) {
        return "it begins with line numbers as `read` shows them; they are not part of the file, leave \
             them out"
            .to_owned();
    }
    let wanted: Vec<String> = old.trim().lines().map(squeeze).collect();
    let text = String::from_utf8_lossy(content);
    let have: Vec<String> = text.lines().take(HINT_LINES_MAX).map(squeeze).collect();
    if wanted.is_empty() {
        return "it is only white space; copy it exactly from what `read` shows".to_owned();
    }
    if let Some(line) = have.windows(wanted.len()).position(|window| window == wanted) {
        let exact: Vec<&str> = text.lines().skip(line).take(wanted.len().min(5)).collect();
        let exact = exact.join("\n");
        return format!(
            "but line {} differs from it only in white space (spaces, tabs, indentation, line breaks). The file \
             has there:
{}",
            line + 1,
            prefix(&exact, 500)
        );
    }
    let lower = |line: &String| line.to_lowercase();
    let wanted_lower: Vec<String> = wanted.iter().map(lower).collect();
    let have_lower: Vec<String> = have.iter().map(lower).collect();
    if let Some(line) = have_lower.windows(wanted.len()).position(|window| window == wanted_lower) {
        return format!(
            "but line {} differs from it only in upper and lower case; copy it exactly from what \
             `read` shows",
            line + 1
        );
    }
    match have.iter().position(|line| !line.is_empty() && *line == wanted[0]) {
        Some(line) if wanted.len() > 1 => {
            let differs = wanted.iter().zip(&have[line..]).take_while(|(a, b)| a == b).count();
            format!(
                "its first line is line {first} of the file, but line {differs} of the file differs \
                 from its line {own}; read from there again",
                first = line + 1,
                differs = line + differs + 1,
                own = differs + 1
            )
        }
        _ if estimate_tokens(old) > 200 => {
            "no similar text was found; use a shorter piece and copy it exactly from what `read` \
                 shows"
                .to_owned()
        }
        _ => "no similar text was found; copy it exactly from what `read` shows".to_owned(),
    }
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has_line_number(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.trim_start().len() && rest.starts_with('\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_edit_is_a_plain_replacement(content in "[ab\né]{0,60}", old in "[ab\né]{1,4}", new in "[abc\n]{0,6}") {
            let change = TextChange::find(content.as_bytes(), &old, &new);
            prop_assert_eq!(change.places.len(), content.matches(&old).count());
            prop_assert_eq!(String::from_utf8(change.apply(content.as_bytes())).unwrap(), content.replace(&old, &new));
        }

        #[test]
        fn line_ends_of_a_crlf_file_survive(content in "[ab\n]{0,60}\n", old in "[ab\n]{1,4}", new in "[abc\n]{0,6}") {
            let crlf = content.replace('\n', "\r\n");
            let change = TextChange::find(crlf.as_bytes(), &old, &new);
            let expected = content.replace(&old, &new).replace('\n', "\r\n");
            prop_assert_eq!(String::from_utf8(change.apply(crlf.as_bytes())).unwrap(), expected);
        }

        #[test]
        fn the_report_never_fails_and_stays_small(content in "[ab\n]{0,300}", old in "[ab\n]{1,2}", new in "[abc\n]{0,200}") {
            let change = TextChange::find(content.as_bytes(), &old, &new);
            if !change.places.is_empty() {
                let result = change.apply(content.as_bytes());
                let stat = rustix::fs::stat(".").unwrap();
                prop_assert!(change.report("f", content.as_bytes(), &result, 2048, &stat).len() <= 2048);
            }
        }
    }

    #[test]
    fn the_report_shows_whole_lines_as_they_were_and_are() {
        let stat = rustix::fs::stat("/proc/self/stat").unwrap();
        for (content, old, new, expected) in [
            ("x\nab\ny\n", "a", "", "      1\tx\n-    2\tab\n+    2\tb\n      3\ty"),
            ("ab\ny\n", "a", "", "-    1\tab\n+    1\tb\n      2\ty"),
            ("ab\ny\n", "ab\n", "", "-    1\tab\n      1\ty"),
            ("ab\ny\n", "ab\n", "c", "-    1\tab\n-    2\ty\n+    1\tcy"),
            ("ab\ny\n", "ab\n", "c\nd\n", "-    1\tab\n+    1\tc\n+    2\td\n      3\ty"),
            ("ab", "b", "b\n", "-    1\tab\n+    1\tab"),
        ] {
            let change = TextChange::find(content.as_bytes(), old, new);
            let result = change.apply(content.as_bytes());
            let report = change.report("f", content.as_bytes(), &result, 2048, &stat);
            assert_eq!(
                report.strip_prefix("edited `f`: 1 place\n").unwrap(),
                expected.replace("      ", "     "),
                "{content:?}"
            );
        }
    }

    #[test]
    fn a_miss_says_what_is_near() {
        let content = b"fn main() {\n    let x = 1;\n    let y = 2;\n}\n";
        for (old, hint) in [
            ("fn main() {\n  let x = 1;", "line 1 differs from it only in white space"),
            ("\tlet y = 2;", "The file has there:\n    let y = 2;"),
            ("     2\t    let x = 1;", "leave them out"),
            ("LET X = 1;", "line 2 differs from it only in upper and lower case"),
            ("let x = 1;\nlet z = 2;", "line 3 of the file differs from its line 2"),
            ("absent", "no similar text"),
            (" \n \n", "only white space"),
        ] {
            let found = near_miss(content, old);
            assert!(found.contains(hint), "{old:?}: {found}");
        }
    }
}
