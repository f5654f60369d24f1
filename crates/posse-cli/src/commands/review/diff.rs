//! A unified diff, file by file: which lines it shows, and as much of it as a model can be given.

use std::fmt::Write;

use posse_core::text::prefix;
use serde::{Deserialize, Serialize};

/// Least share of a file that is shown at all: its header and some lines.
const SHARE_BYTES_MIN: usize = 600;
/// Of a name in a remark; paths can have thousands of bytes.
const NAME_BYTES_MAX: usize = 200;
/// Of the whole diff in the request: some 60,000 tokens, and room for the review.
const TOTAL_BYTES_MAX: usize = 240_000;
/// Files that are named one by one.
const LISTED_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// From the root of the repository; for a renamed file the new one.
    pub path: String,
    pub change: DiffKind,
    pub added: u64,
    pub removed: u64,
    /// As git writes it, with its header. The request has it, so it is not kept twice.
    #[serde(skip)]
    text: String,
    /// First lines and ends of what the diff shows: of the new file, or of the old one if it was deleted.
    shown: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    Added,
    Deleted,
    Modified,
    Renamed { from: String },
}

impl DiffKind {
    pub fn word(&self) -> &'static str {
        match self {
            DiffKind::Added => "added",
            DiffKind::Deleted => "deleted",
            DiffKind::Modified => "modified",
            DiffKind::Renamed { .. } => "renamed",
        }
    }
}

/// The diff as it goes into the request.
#[derive(Debug)]
pub struct FittedDiff {
    pub text: String,
    /// Files of which not everything is in it.
    pub cut: Vec<CutFile>,
}

/// A file of which the model was not shown everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutFile {
    pub path: String,
    /// Lines of its diff that were not shown.
    pub lines: u64,
}

impl FileDiff {
    fn empty(path: String, change: DiffKind) -> Self {
        Self { path, change, added: 0, removed: 0, text: String::new(), shown: Vec::new() }
    }

    /// A file that git does not know yet, as it would show it.
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

    /// A file that is there and was not looked at.
    pub fn unseen(path: String, why: &str) -> Self {
        let text = format!("{}[not shown: {why}]\n", new_header(&path));
        Self { text, ..Self::empty(path, DiffKind::Added) }
    }

    pub fn shows(&self, line: u64) -> bool {
        self.shown.iter().any(|(start, end)| (*start..*end).contains(&line))
    }

    /// One line of a list.
    fn listed(&self) -> String {
        let from = match &self.change {
            DiffKind::Renamed { from } => format!(" from {}", quoted(from)),
            DiffKind::Added | DiffKind::Deleted | DiffKind::Modified => String::new(),
        };
        format!("{} ({}{from}, +{} -{})", quoted(&self.path), self.change.word(), self.added, self.removed)
    }
}

/// What git printed. Lines of a file's content begin with a sign, so nothing in a file can look like a header.
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
            // Before the first hunk there are only headers.
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

    /// `-1,3 +1,4 @@ …`
    fn range(&self, header: &str) -> Option<(u64, u64)> {
        let sign = if self.change == DiffKind::Deleted { '-' } else { '+' };
        let side = header.split(' ').find_map(|word| word.strip_prefix(sign))?;
        let (start, count) = side.split_once(',').unwrap_or((side, "1"));
        let (start, count): (u64, u64) = (start.parse().ok()?, count.parse().ok()?);
        Some((start, start.saturating_add(count)))
    }
}

/// From `a/name b/name`: both are the same name, or else it is told in a line of its own.
fn name_of(names: &str) -> String {
    let half = names.get(names.len() / 2 + 1..).unwrap_or_default();
    let name = unquoted(half);
    name.strip_prefix("b/").map(str::to_owned).unwrap_or(name)
}

fn new_header(path: &str) -> String {
    let [old, new] = ["a", "b"].map(|side| quoted(&format!("{side}/{path}")));
    format!("diff --git {old} {new}\nnew file\n")
}

/// A name on one line: one with control characters is written like a string in C, as git does it.
pub fn quoted(name: &str) -> String {
    if !name.contains(char::is_control) {
        return name.to_owned();
    }
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// A name with unusual characters is written like a string in C.
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
                // Three digits at most: another digit after them belongs to the name.
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

/// As much as fits, fairly: small files are whole, and what is left is divided equally among the others. What is left out is
/// said where it would stand. `window` is how many tokens the model takes.
pub fn fit(files: &[FileDiff], window: Option<u64>) -> FittedDiff {
    // Four bytes to a token, and a third of the window for the diff.
    let of_window = window.map_or(usize::MAX, |tokens| usize::try_from(tokens / 3 * 4).unwrap_or(usize::MAX));
    let sizes: Vec<usize> = files.iter().map(|file| file.text.len()).collect();
    let shares = shares(&sizes, TOTAL_BYTES_MAX.min(of_window));
    let unshown = shares.iter().filter(|share| **share == 0).count();
    let mut fitted = FittedDiff { text: String::new(), cut: Vec::new() };
    for (file, share) in files.iter().zip(shares) {
        if file.text.len() <= share {
            fitted.text.push_str(&file.text);
            continue;
        }
        let lines = file.cut_to(share, &mut fitted.text);
        fitted.cut.push(CutFile { path: file.path.clone(), lines });
    }
    if unshown > 0 {
        let _ = writeln!(
            fitted.text,
            "[there is no room for the diffs of {unshown} more files; look at them with `read`]"
        );
    }
    fitted
}

/// What stands where a file is cut.
const CUT_MARK: &str = "more lines of this diff are not shown here; look at the file with `read`]";

impl FileDiff {
    /// Writes as much as `share` bytes hold, the remark on the rest included, and returns how many lines are missing.
    fn cut_to(&self, share: usize, text: &mut String) -> u64 {
        if share == 0 {
            return self.text.lines().count() as u64;
        }
        let name = quoted(&self.path);
        let name = prefix(&name, NAME_BYTES_MAX);
        // Twenty digits and what stands around them.
        let remark_bytes = name.len() + CUT_MARK.len() + 26;
        let kept = &self.text[..whole_lines(&self.text, share.saturating_sub(remark_bytes))];
        let more = self.text[kept.len()..].lines().count();
        text.push_str(kept);
        let _ = writeln!(text, "[{name}: {more} {CUT_MARK}");
        more as u64
    }
}

/// Divides `room` among files of these sizes. The smallest are served first, each with at most an equal part of what is left, so
/// what they do not need is for the larger ones. A share below the least that is useful goes to others instead.
fn shares(sizes: &[usize], room: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    by_size.sort_by_key(|at| sizes[*at]);
    let (mut left, mut shares) = (room, vec![0; sizes.len()]);
    for (served, at) in by_size.iter().enumerate() {
        let equal = left / (sizes.len() - served);
        let share = sizes[*at].min(equal.max(SHARE_BYTES_MIN));
        if share > left {
            break;
        }
        shares[*at] = share;
        left -= share;
    }
    shares
}

fn whole_lines(text: &str, bytes: usize) -> usize {
    let end = text.floor_char_boundary(bytes);
    text[..end].rfind('\n').map_or(0, |at| at + 1)
}

/// The files one by one, as far as a list can be read.
pub fn list(files: &[FileDiff]) -> String {
    let mut lines: Vec<String> = files.iter().take(LISTED_MAX).map(FileDiff::listed).collect();
    if files.len() > LISTED_MAX {
        lines.push(format!("and {} more", files.len() - LISTED_MAX));
    }
    lines.join("\n")
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

    fn long(name: &str, lines: usize) -> FileDiff {
        let content: String = (0..lines).map(|n| format!("line {n} öäü\n")).collect();
        FileDiff::added(name.to_owned(), content.as_bytes())
    }

    #[test]
    fn a_large_diff_is_cut_at_whole_lines_and_says_so() {
        let files = [long("small", 3), long("large", 50_000), long("last", 2)];
        let fitted = fit(&files, None);
        let kept = fitted.text.matches("+line ").count() as u64;
        assert_eq!(fitted.cut, [CutFile { path: "large".to_owned(), lines: 50_005 - kept }]);
        assert!(fitted.text.len() <= TOTAL_BYTES_MAX && kept > 10_000, "{} {kept}", fitted.text.len());
        let more = format!("[large: {} more lines of this diff are not shown here", 50_005 - kept);
        assert!(fitted.text.contains(&more), "{kept}");
        assert!(fitted.text.ends_with("+line 1 öäü\n"), "what comes after it is there");
    }

    #[test]
    fn every_file_of_a_huge_diff_has_its_share_and_small_ones_are_whole() {
        let mut files: Vec<FileDiff> = (0..40).map(|n| long(&format!("large{n}"), 4_000)).collect();
        files.extend((0..20).map(|n| long(&format!("small{n}"), 20)));
        for window in [None, Some(60_000)] {
            let fitted = fit(&files, window);
            let room = window.map_or(TOTAL_BYTES_MAX, |tokens| tokens as usize / 3 * 4);
            assert!(fitted.text.len() <= room, "{} of {room}", fitted.text.len());
            assert!(fitted.text.len() > room / 10 * 9, "room is used: {} of {room}", fitted.text.len());
            assert_eq!(fitted.cut.len(), 40);
            assert!(files[40..].iter().all(|file| fitted.text.contains(&file.text)), "small files are whole");
            let seen: Vec<u64> = fitted.cut.iter().map(|cut| 4_005 - cut.lines).collect();
            let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
            assert!(*least > 10 && most - least <= 2, "equal shares: {seen:?}");
        }
    }

    #[test]
    fn more_files_than_there_is_room_for_are_counted_and_do_not_exceed_it() {
        let files: Vec<FileDiff> = (0..3_000).map(|n| long(&format!("f{n}"), 500)).collect();
        let fitted = fit(&files, None);
        assert!(fitted.text.len() <= TOTAL_BYTES_MAX + 100, "{}", fitted.text.len());
        assert_eq!(fitted.cut.len(), 3_000);
        assert!(
            fitted
                .text
                .ends_with("[there is no room for the diffs of 2600 more files; look at them with `read`]\n")
        );
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
