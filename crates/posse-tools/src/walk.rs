//! Walks a directory tree by handle, in the order of names, leaving out what ignore files name. Every directory is
//! opened from the handle of its parent without following links, so the walk cannot be led outside.
//!
//! `.gitignore`, `.ignore` and `.git/info/exclude` inside the workspace count. The user's global ignore file does
//! not: what a tool finds should depend on the workspace alone.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use posse_sandbox::workspace::{OpenFile, Workspace, open_beneath, open_for_reading};
use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use crate::answer::count;

/// A tree with more entries is a sign that the wrong directory was named; the note says that the walk stopped.
const ENTRIES_MAX: u64 = 300_000;
/// One handle is open per level.
const DEPTH_MAX: usize = 64;
const IGNORE_FILE_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    Directory,
    File,
    Link,
    Other,
}

pub(crate) struct WalkEntry<'a> {
    /// From the workspace root.
    pub path: &'a Path,
    pub name: &'a OsStr,
    pub kind: EntryKind,
    /// The handle of the directory that holds it.
    pub directory: BorrowedFd<'a>,
    /// 1 for what is directly in the directory where the walk began.
    pub depth: usize,
}

pub(crate) struct WalkOptions<'a> {
    /// Show names that begin with a dot (never `.git`).
    pub hidden: bool,
    pub depth_max: usize,
    /// Tells whether an entry is outside of the task's grant, by its path from the workspace root.
    pub refuses: &'a dyn Fn(&Path) -> bool,
}

impl Default for WalkOptions<'_> {
    fn default() -> Self {
        Self { hidden: false, depth_max: DEPTH_MAX, refuses: &|_| false }
    }
}

/// Statistics of a walk, for the notes.
#[derive(Debug, Default)]
pub(crate) struct WalkReport {
    pub entries: u64,
    /// Directories at the depth asked for, seen but not entered.
    pub not_entered: u64,
    /// Directories deeper than any walk goes.
    pub too_deep: u64,
    pub unreadable: u64,
    /// Entries outside of the task's grant.
    pub refused: u64,
    pub cancelled: bool,
    pub too_many: bool,
}

impl WalkReport {
    /// Returns the notes for the model.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.cancelled {
            notes.push("cancelled before the end: the result is incomplete".to_owned());
        }
        if self.too_many {
            let max = count(ENTRIES_MAX, "entry");
            notes.push(format!("stopped after {max}: the result is incomplete; name a smaller directory"));
        }
        if self.too_deep > 0 {
            let closed = count(self.too_deep, "directory");
            notes.push(format!("{closed} below {DEPTH_MAX} levels not entered; name a deeper `path`"));
        }
        if self.unreadable > 0 {
            notes.push(format!("could not read {}", count(self.unreadable, "entry")));
        }
        if self.refused > 0 {
            notes.push(format!("left out {} that this task may not look at", count(self.refused, "entry")));
        }
        notes
    }
}

impl WalkEntry<'_> {
    /// Opens the entry if it still is a regular file.
    pub fn open(&self) -> Option<OpenFile> {
        let (file, stat) = open_for_reading(self.directory, Path::new(self.name), OFlags::NOFOLLOW).ok()?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        regular.then_some(OpenFile { file, stat })
    }
}

/// Visits everything below `start`, whose handle is `directory`.
pub(crate) fn walk(
    workspace: &Workspace,
    start: &Path,
    directory: OwnedFd,
    options: WalkOptions<'_>,
    cancel: &CancellationToken,
    visit: &mut dyn FnMut(&WalkEntry<'_>),
) -> WalkReport {
    let mut frames = Vec::new();
    if !start.as_os_str().is_empty() {
        for ancestor in start.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            if let Ok(handle) = workspace.open_directory(ancestor) {
                frames.push(IgnoreFrame::load(handle.as_fd(), ancestor));
            }
        }
    }
    let mut walk = WorkspaceWalk { options, cancel, frames, visit, report: WalkReport::default() };
    walk.directory(start, directory.as_fd(), 1);
    walk.report
}

/// Lists the paths of files in a workspace that no ignore file names, at most `files_max`.
pub fn workspace_files(workspace: &Workspace, files_max: usize) -> Vec<String> {
    let mut files = Vec::new();
    let Ok(directory) = workspace.open_directory(Path::new(".")) else { return files };
    let cancel = CancellationToken::new();
    walk(workspace, Path::new(""), directory, WalkOptions::default(), &cancel, &mut |entry| {
        if entry.kind == EntryKind::File
            && let Some(path) = entry.path.to_str()
        {
            files.push(path.to_owned());
        }
        if files.len() >= files_max {
            cancel.cancel();
        }
    });
    files
}

/// The names in a directory with their kinds, in order. The flag says that there were more than `max`.
pub(crate) fn entries(
    directory: BorrowedFd<'_>,
    max: usize,
) -> Result<(Vec<(OsString, EntryKind)>, bool), Errno> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if found.len() == max {
            return Ok((found, true));
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        let kind = match kind {
            FileType::Directory => EntryKind::Directory,
            FileType::RegularFile => EntryKind::File,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        };
        found.push((name.to_owned(), kind));
    }
    found.sort_unstable();
    Ok((found, false))
}

struct WorkspaceWalk<'a> {
    options: WalkOptions<'a>,
    cancel: &'a CancellationToken,
    /// The ignore rules of the directories from the root to the present one.
    frames: Vec<IgnoreFrame>,
    visit: &'a mut dyn FnMut(&WalkEntry<'_>),
    report: WalkReport,
}

impl WorkspaceWalk<'_> {
    fn directory(&mut self, path: &Path, handle: BorrowedFd<'_>, depth: usize) {
        let left = ENTRIES_MAX - self.report.entries;
        let Ok((found, more)) = entries(handle, left as usize) else {
            self.report.unreadable += 1;
            return;
        };
        self.report.entries += found.len() as u64;
        self.report.too_many |= more;
        self.frames.push(IgnoreFrame::load(handle, path));
        for (name, kind) in found {
            if self.cancel.is_cancelled() {
                self.report.cancelled = true;
            }
            if self.report.cancelled {
                break;
            }
            let entry_path = path.join(&name);
            if self.left_out(&entry_path, &name, kind) {
                continue;
            }
            if (self.options.refuses)(&entry_path) {
                self.report.refused += 1;
                continue;
            }
            (self.visit)(&WalkEntry { path: &entry_path, name: &name, kind, directory: handle, depth });
            if kind == EntryKind::Directory {
                self.enter(&entry_path, handle, &name, depth);
            }
        }
        self.frames.pop();
    }

    fn enter(&mut self, path: &Path, parent: BorrowedFd<'_>, name: &OsStr, depth: usize) {
        if depth >= DEPTH_MAX {
            self.report.too_deep += 1;
            return;
        }
        if depth >= self.options.depth_max {
            self.report.not_entered += 1;
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        match open_beneath(parent, Path::new(name), flags, rustix::fs::Mode::empty()) {
            Ok(handle) => self.directory(path, handle.as_fd(), depth + 1),
            Err(_) => self.report.unreadable += 1,
        }
    }

    fn left_out(&self, path: &Path, name: &OsStr, kind: EntryKind) -> bool {
        if name == ".git" {
            return true;
        }
        match judge(&self.frames, path, kind == EntryKind::Directory) {
            Some(ignored) => ignored,
            None => !self.options.hidden && name.as_bytes().starts_with(b"."),
        }
    }
}

/// The ignore rules of one directory.
struct IgnoreFrame {
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    /// Git's rules of a repository do not reach into another repository inside it.
    is_repository: bool,
}

impl IgnoreFrame {
    fn load(handle: BorrowedFd<'_>, path: &Path) -> Self {
        let is_repository = rustix::fs::statat(handle, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        Self {
            ignore: rules(handle, path, ".ignore"),
            gitignore: rules(handle, path, ".gitignore"),
            exclude: if is_repository {
                rules(handle, path, ".git/info/exclude")
            } else {
                Gitignore::empty()
            },
            is_repository,
        }
    }
}

/// `Some(true)` ignored, `Some(false)` explicitly wanted. The nearest rule counts, and `.ignore` before `.gitignore`.
fn judge(frames: &[IgnoreFrame], path: &Path, is_directory: bool) -> Option<bool> {
    let path = rooted(path);
    let verdict = |rules: &Gitignore| match rules.matched(&path, is_directory) {
        ignore::Match::None => None,
        ignore::Match::Ignore(_) => Some(true),
        ignore::Match::Whitelist(_) => Some(false),
    };
    let repository = frames.iter().rposition(|frame| frame.is_repository).unwrap_or(0);
    let inner = || frames[repository..].iter().rev();
    let by_ignore = frames.iter().rev().find_map(|frame| verdict(&frame.ignore));
    by_ignore
        .or_else(|| inner().find_map(|frame| verdict(&frame.gitignore)))
        .or_else(|| inner().find_map(|frame| verdict(&frame.exclude)))
}

fn rules(handle: BorrowedFd<'_>, path: &Path, name: &str) -> Gitignore {
    let Ok((file, stat)) = open_for_reading(handle, Path::new(name), OFlags::NOFOLLOW) else {
        return Gitignore::empty();
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Gitignore::empty();
    }
    let Ok(Some(content)) = (OpenFile { file, stat }).whole(IGNORE_FILE_BYTES_MAX) else {
        return Gitignore::empty();
    };
    let mut builder = GitignoreBuilder::new(rooted(path));
    for line in String::from_utf8_lossy(&content).trim_start_matches('\u{feff}').lines() {
        // As git does: a line that is no pattern is passed over, the others count.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The matchers strip a root from paths; an absolute spelling leaves no doubt about where it ends.
pub(crate) fn rooted(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}
