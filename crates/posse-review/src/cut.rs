//! Cutting the diff of a review to what a model can take.

use std::fmt::Write;

use posse_core::text::prefix;
use posse_git::diff::{FileDiff, quoted};
use serde::{Deserialize, Serialize};

/// Smallest useful share of a file: its header and some lines.
const SHARE_BYTES_MIN: usize = 600;
/// Longest file name in a remark; paths can have thousands of bytes.
const NAME_BYTES_MAX: usize = 200;
/// Longest diff in a request: about 60,000 tokens, which leaves space for the review.
const TOTAL_BYTES_MAX: usize = 240_000;
/// Files listed one by one.
const LISTED_MAX: usize = 200;

/// The diff as sent in the request.
#[derive(Debug)]
pub struct FittedDiff {
    pub text: String,
    /// Files that are not shown whole.
    pub cut: Vec<CutFile>,
}

/// A file that the model was not shown whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutFile {
    pub path: String,
    /// Lines of its diff that were left out.
    pub lines: u64,
}

/// Cuts the diffs to the budget fairly: small files stay whole, and larger ones share the rest equally. Each cut is
/// marked. `window` is the model's context window in tokens.
pub fn fit(files: &[FileDiff], window: Option<u64>) -> FittedDiff {
    // A third of the window, at four bytes per token.
    let of_window = window.map_or(usize::MAX, |tokens| usize::try_from(tokens / 3 * 4).unwrap_or(usize::MAX));
    let sizes: Vec<usize> = files.iter().map(|file| file.text().len()).collect();
    let shares = shares(&sizes, TOTAL_BYTES_MAX.min(of_window));
    let unshown = shares.iter().filter(|share| **share == 0).count();
    let mut fitted = FittedDiff { text: String::new(), cut: Vec::new() };
    for (file, share) in files.iter().zip(shares) {
        if file.text().len() <= share {
            fitted.text.push_str(file.text());
            continue;
        }
        let lines = cut_to(file, share, &mut fitted.text);
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

/// End of the line that marks a cut.
const CUT_MARK: &str = "more lines of this diff are not shown here; look at the file with `read`]";

/// Writes the first `share` bytes, cut mark included, and returns the number of lines left out.
fn cut_to(file: &FileDiff, share: usize, text: &mut String) -> u64 {
    if share == 0 {
        return file.text().lines().count() as u64;
    }
    let name = quoted(&file.path);
    let name = prefix(&name, NAME_BYTES_MAX);
    // Twenty digits and the surrounding text.
    let remark_bytes = name.len() + CUT_MARK.len() + 26;
    let kept = &file.text()[..whole_lines(file.text(), share.saturating_sub(remark_bytes))];
    let more = file.text()[kept.len()..].lines().count();
    text.push_str(kept);
    let _ = writeln!(text, "[{name}: {more} {CUT_MARK}");
    more as u64
}

/// Divides `room` bytes among files of these sizes. Smaller files are served first, each with at most an equal part
/// of the rest; a share too small to be useful goes to others.
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

/// Lists the files, at most `LISTED_MAX` of them.
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
            assert!(
                files[40..].iter().all(|file| fitted.text.contains(file.text())),
                "small files are whole"
            );
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
}
