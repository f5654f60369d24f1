//! Unified diffs as git writes them, file by file, with the lines that they show.

use std::fmt::Write;

use posse_core::text::c_quoted;
use serde::{Deserialize, Serialize};

/// The diff of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Path from the repository root; the new path of a renamed file.
    pub path: String,
    pub change: DiffKind,
    pub added: u64,
    pub removed: u64,
    /// The diff as git writes it, with its header. The request holds it, so the plan does not.
    #[serde(skip)]
    text: String,
    /// Line ranges (start, end) that the diff shows, in the new file, or in the old one if it was deleted.
    shown: Vec<(u64, u64)>,
}

/// Kind of change of a file in a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    Added,
    Deleted,
    Modified,
    Renamed { from: String },
}

impl DiffKind {
    /// Returns the word for it in lists and JSON.
    pub fn word(&self) -> &'static str {
        match self {
            DiffKind::Added => "added",
            DiffKind::Deleted => "deleted",
            DiffKind::Modified => "modified",
            DiffKind::Renamed { .. } => "renamed",
        }
    }
}

impl FileDiff {
    fn empty(path: String, change: DiffKind) -> Self {
        Self { path, change, added: 0, removed: 0, text: String::new(), shown: Vec::new() }
    }

    /// Formats a file that git does not track, as git would show it.
    pub fn added(path: String, content: &[u8]) -> Self {
        let mut file = Self::empty(path, DiffKind::Added);
        file.text = new_header(&file.path);
        let new_name = quoted(&format!("b/{}", file.path));
        if content.contains(&0) {
            let _ = writeln!(file.text, "Binary files /dev/null and {new_name} differ");
            return file;
        }
        let content = String::from_utf8_lossy(content);
        file.added = content.lines().count() as u64;
        if file.added > 0 {
            let _ = writeln!(file.text, "--- /dev/null\n+++ {new_name}\n@@ -0,0 +1,{} @@", file.added);
            file.shown.push((1, file.added + 1));
        }
        for line in content.lines() {
            let _ = writeln!(file.text, "+{line}");
        }
        file
    }

    /// Marks a file that exists and was not read.
    pub fn unseen(path: String, why: &str) -> Self {
        let text = format!("{}[not shown: {why}]\n", new_header(&path));
        Self { text, ..Self::empty(path, DiffKind::Added) }
    }

    /// Returns the diff as git writes it, with its header; empty for one that was read back from a journal.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Formats one line of the file list.
    pub fn listed(&self) -> String {
        let from = match &self.change {
            DiffKind::Renamed { from } => format!(" from {}", quoted(from)),
            DiffKind::Added | DiffKind::Deleted | DiffKind::Modified => String::new(),
        };
        format!("{} ({}{from}, +{} -{})", quoted(&self.path), self.change.word(), self.added, self.removed)
    }

    /// Tells whether the diff shows this line of the file.
    pub fn shows(&self, line: u64) -> bool {
        self.shown.iter().any(|(start, end)| (*start..*end).contains(&line))
    }
}

/// Parses git's output. Content lines begin with a sign, so no content can look like a header.
pub fn parse(patch: &[u8]) -> Vec<FileDiff> {
    let text = String::from_utf8_lossy(patch);
    let mut files: Vec<FileDiff> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(names) = line.strip_prefix("diff --git ") {
            files.push(FileDiff::empty(name_of(names.trim_end_matches('\n')), DiffKind::Modified));
        }
        if let Some(file) = files.last_mut() {
            file.take(line);
        }
    }
    files
}

impl FileDiff {
    fn take(&mut self, line: &str) {
        self.text.push_str(line);
        let line = line.trim_end_matches('\n');
        if let Some(header) = line.strip_prefix("@@ ") {
            self.shown.extend(self.range(header));
        } else if !self.shown.is_empty() {
            // Only headers precede the first hunk.
            self.added += u64::from(line.starts_with('+'));
            self.removed += u64::from(line.starts_with('-'));
        } else if line.starts_with("new file") {
            self.change = DiffKind::Added;
        } else if line.starts_with("deleted file") {
            self.change = DiffKind::Deleted;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            self.change = DiffKind::Renamed { from: unquoted(from) };
        } else if let Some(to) = line.strip_prefix("rename to ") {
            self.path = unquoted(to);
        }
    }

    /// Parses a hunk header: `-1,3 +1,4 @@ …`.
    fn range(&self, header: &str) -> Option<(u64, u64)> {
        let sign = if self.change == DiffKind::Deleted { '-' } else { '+' };
        let side = header.split(' ').find_map(|word| word.strip_prefix(sign))?;
        let (start, count) = side.split_once(',').unwrap_or((side, "1"));
        let (start, count): (u64, u64) = (start.parse().ok()?, count.parse().ok()?);
        Some((start, start.saturating_add(count)))
    }
}

/// Reads the name from `a/name b/name`. Where the two differ, separate header lines name both.
fn name_of(names: &str) -> String {
    let half = names.get(names.len() / 2 + 1..).unwrap_or_default();
    let name = unquoted(half);
    name.strip_prefix("b/").map(str::to_owned).unwrap_or(name)
}

fn new_header(path: &str) -> String {
    let [old, new] = ["a", "b"].map(|side| quoted(&format!("{side}/{path}")));
    format!("diff --git {old} {new}\nnew file\n")
}

/// Quotes a name with control characters as a C string, as git does.
pub fn quoted(name: &str) -> String {
    if name.contains(char::is_control) { c_quoted(name) } else { name.to_owned() }
}

/// Undoes git's C string quoting.
fn unquoted(name: &str) -> String {
    let Some(quoted) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                // Three octal digits at most; another digit belongs to the name.
                for _ in 0..2 {
                    let Some(next) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) else { break };
                    value = value * 8 + u32::from(next - b'0');
                }
                bytes.push(value as u8);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,4 @@ fn main
 one
--- two
+++ b/other
+diff --git a/x b/x
 three
@@ -40 +41,0 @@
-gone
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git \"a/\\303\\274 \\\"q\\\".txt\" \"b/\\303\\274 \\\"q\\\".txt\"
deleted file mode 100644
index 1..0
--- \"a/\\303\\274 \\\"q\\\".txt\"
+++ /dev/null
@@ -7,2 +0,0 @@
-x
-y
\\ No newline at end of file
diff --git a/logo.png b/logo.png
new file mode 100644
Binary files /dev/null and b/logo.png differ
";

    #[test]
    fn files_lines_and_names_are_found_whatever_the_content_looks_like() {
        let files = parse(PATCH.as_bytes());
        let seen: Vec<String> = files.iter().map(FileDiff::listed).collect();
        assert_eq!(
            seen,
            [
                "src/a.rs (modified, +2 -2)",
                "new name (renamed from old name, +0 -0)",
                "ü \"q\".txt (deleted, +0 -2)",
                "logo.png (added, +0 -0)"
            ]
        );
        assert!(files[0].shows(1) && files[0].shows(4) && !files[0].shows(5) && !files[0].shows(41));
        assert!(
            files[2].shows(7) && files[2].shows(8) && !files[2].shows(9),
            "the old lines of a deleted file"
        );
        assert!(!files[3].shows(1));
        let whole: String = files.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(whole, PATCH);
    }

    #[test]
    fn a_new_file_is_shown_as_git_would() {
        let file = FileDiff::added("n.txt".to_owned(), b"a\nb");
        assert!(
            file.text.ends_with("--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"),
            "{}",
            file.text
        );
        assert_eq!(parse(file.text.as_bytes()), std::slice::from_ref(&file), "its own form is read back");
        assert!(FileDiff::added("b".to_owned(), b"\0").text.contains("Binary files"));
        assert_eq!(FileDiff::added("e".to_owned(), b"").added, 0);
    }

    #[test]
    fn a_name_with_control_characters_stays_on_one_line_and_is_read_back() {
        let name = "a\n</diff>\u{1}7 \"q\"\\.txt";
        assert_eq!(quoted(name), "\"a\\n</diff>\\0017 \\\"q\\\"\\\\.txt\"");
        assert_eq!(unquoted(&quoted(name)), name);
        let file = FileDiff::added(name.to_owned(), b"x\n");
        assert_eq!(parse(file.text.as_bytes()), std::slice::from_ref(&file));
        assert!(!file.text.contains("\n</diff>") && !file.listed().contains('\n'));
    }
}
