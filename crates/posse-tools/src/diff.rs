//! Unified diffs of file contents.

use std::time::Duration;

use posse_core::edits::LineCounts;
use posse_core::text::c_quoted;
use similar::{ChangeTag, TextDiff};

pub use crate::seen::sha256;

/// Contents that differ everywhere are compared for so long; then the diff is right, but longer than it could be.
const SEARCH_MAX: Duration = Duration::from_millis(300);
const CONTEXT_LINES: usize = 3;

/// Counts the lines that a diff of two texts adds and removes. `None` stands for no file; the result is `None` for what is no text.
pub fn count(before: Option<&[u8]>, after: Option<&[u8]>) -> Option<LineCounts> {
    let (before, after) = (text(before)?, text(after)?);
    let mut lines = LineCounts::default();
    for change in compared(before, after).iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => lines.added += 1,
            ChangeTag::Delete => lines.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    Some(lines)
}

/// A unified diff that `patch -p1` and `git apply` take. `None` stands for no file; contents that are no text are only named.
pub fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let name = |side: &str, there: bool| match there {
        true => quoted(&format!("{side}/{path}")),
        false => "/dev/null".to_owned(),
    };
    let (old, new) = (name("a", before.is_some()), name("b", after.is_some()));
    let (Some(before), Some(after)) = (text(before), text(after)) else {
        return format!("Binary files {old} and {new} differ\n");
    };
    let compared = compared(before, after);
    compared.unified_diff().context_radius(CONTEXT_LINES).header(&old, &new).to_string()
}

/// A unified diff for a person who decides about it. `None` where it would not tell everything: nothing changes, one of the
/// two is no text, or a carriage return ends a line.
pub(crate) fn to_approve(path: &str, before: Option<&[u8]>, after: &[u8]) -> Option<String> {
    let is_told = |content: &str| !content.replace("\r\n", "\n").contains('\r');
    let is_whole = is_told(text(before)?) && is_told(text(Some(after))?);
    let diff = is_whole.then(|| unified(path, before, Some(after)))?;
    diff.strip_suffix('\n').map(ToOwned::to_owned)
}

fn compared<'a>(before: &'a str, after: &'a str) -> TextDiff<'a, 'a, 'a, str> {
    TextDiff::configure().timeout(SEARCH_MAX).diff_lines(before, after)
}

fn text(content: Option<&[u8]>) -> Option<&str> {
    let content = content.unwrap_or_default();
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// A name that could be taken for something else in a header is quoted as git does it.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    if name.chars().all(is_plain) { name.to_owned() } else { c_quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_a_diff_shows_them() {
        let lines = |added, removed| Some(LineCounts { added, removed });
        assert_eq!(count(Some(b"a\nb\nc\n"), Some(b"a\nx\ny\nc\n")), lines(2, 1));
        assert_eq!(count(None, Some(b"a\nb")), lines(2, 0));
        assert_eq!(count(Some(b"a\n"), None), lines(0, 1));
        assert_eq!(count(Some(b"a\0"), Some(b"a\n")), None);
    }

    #[test]
    fn a_diff_to_approve_tells_everything_or_is_not_there() {
        let diff = to_approve("a", Some(b"1\r\n"), b"2  \r\n").unwrap();
        assert_eq!(diff, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\r\n+2  \r");
        let whole: &[(Option<&[u8]>, &[u8])] = &[
            (Some(b"same\n"), b"same\n"),
            (None, b""),
            (None, b"a\0b\n"),
            (Some(b"\xff\n"), b"a\n"),
            (None, b"a\rb\n"),
            (Some(b"a\rb\n"), b"a\n"),
        ];
        for (before, after) in whole {
            assert_eq!(to_approve("a", *before, after), None, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_name_with_a_line_end_cannot_forge_a_header() {
        let diff = unified("a\n+++ b/x", Some(b"1\n"), Some(b"2\n"));
        assert_eq!(diff, "--- \"a/a\\n+++ b/x\"\n+++ \"b/a\\n+++ b/x\"\n@@ -1 +1 @@\n-1\n+2\n");
    }

    #[test]
    fn a_new_file_a_removed_one_and_one_that_is_no_text() {
        assert_eq!(
            unified("n", None, Some(b"1")),
            "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("n", Some(b"1\n"), None), "--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n");
        assert_eq!(unified("n", Some(b"\xff"), Some(b"1\n")), "Binary files a/n and b/n differ\n");
    }
}
