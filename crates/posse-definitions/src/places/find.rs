//! Finds the agent files of one directory and reads those that changed. It walks by handle, follows no links
//! and opens only regular files, so that a project cannot make Posse read files elsewhere. In the user's own
//! directories it follows a link to a regular file of the same user, because people manage dotfiles that way.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use posse_core::definition::{DefinitionScope, Remark, RemarkSeverity};
use posse_core::text::visible;
use posse_messages::{LocalizedText, localized};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::AgentDirectory;

/// Maximum file size: larger than any useful prompt; real files have a few kilobytes.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Maximum depth of subdirectories; people use one or two.
const DEPTH_MAX: usize = 8;
/// Maximum agent files per scope.
const FILES_MAX: usize = 10_000;
/// Maximum directory entries examined per scope, agents or not.
const ENTRIES_MAX: usize = 100_000;
/// Maximum bytes of all files of a scope; their content stays in memory.
const TOTAL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum skipped entries reported one by one; the rest is counted.
const REMARKS_MAX: usize = 20;

/// The remaining read quota of a scope. A project has its own, so that it cannot use up the user's.
pub(crate) struct ScanAllowance {
    files: usize,
    entries: usize,
    bytes: u64,
}

impl Default for ScanAllowance {
    fn default() -> Self {
        Self { files: FILES_MAX, entries: ENTRIES_MAX, bytes: TOTAL_BYTES_MAX }
    }
}

/// The identity and version of a file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Also changes with the mode and the owner, and when a tool sets `modified` back.
    changed: (i64, i64),
}

pub(crate) struct FoundFile {
    pub path: PathBuf,
    /// Path below the agent directory, with `/` as separator.
    pub relative: String,
    /// `None` if the file could not be examined.
    pub stamp: Option<ScanStamp>,
    pub owner: u32,
    pub content: FoundContent,
}

pub(crate) enum FoundContent {
    /// Unchanged: the stamp is the known one.
    Same,
    Bytes(Vec<u8>),
    /// The file exists but was not read.
    Unreadable(UnreadableFile),
}

pub(crate) struct UnreadableFile {
    pub why: LocalizedText,
    pub hint: LocalizedText,
}

/// Results of a walk besides the files.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ScanSummary {
    /// Every directory entered.
    pub directories: Vec<PathBuf>,
    pub remarks: Vec<Remark>,
}

/// Calls `each` for every agent file, ordered by name. `known` returns the stamp of a file that is already
/// cached.
pub(crate) fn find(
    directory: &AgentDirectory,
    user: u32,
    allowance: &mut ScanAllowance,
    known: &dyn Fn(&Path) -> Option<ScanStamp>,
    each: &mut dyn FnMut(FoundFile),
) -> ScanSummary {
    let mut walk =
        PlaceWalk { directory, user, allowance, known, each, seen: ScanSummary::default(), skipped: 0 };
    match open_root(directory) {
        Ok(Some(handle)) => walk.enter(handle, &directory.path, "", 1),
        Ok(None) => {}
        Err(why) => walk.remark(&directory.path, &why, &localized!("place-agents-missing")),
    }
    if walk.skipped > REMARKS_MAX {
        let more = walk.skipped - REMARKS_MAX;
        walk.seen.remarks.push(warning(
            localized!("place-skipped", path = shown(&directory.path), more),
            &localized!("place-skipped-hint"),
        ));
    }
    walk.seen
}

/// Opens the directory; `None` if it does not exist.
fn open_root(directory: &AgentDirectory) -> Result<Option<OwnedFd>, LocalizedText> {
    const HOW: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let opened = match rustix::fs::openat(CWD, &directory.path, HOW, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        // A file in place of a parent means absence; one in place of the directory itself is a mistake worth
        // reporting.
        Err(Errno::NOTDIR) if directory.path.symlink_metadata().is_err() => return Ok(None),
        Err(Errno::NOTDIR) => return Err(localized!("place-not-directory")),
        opened => opened.map_err(|cause| localized!("place-unreadable", cause))?,
    };
    let Some(inside) = &directory.inside else { return Ok(Some(opened)) };
    let real = directory.path.canonicalize().map_err(|cause| localized!("place-unresolved", cause))?;
    if real == directory.path {
        return Ok(Some(opened));
    }
    if !real.starts_with(inside) {
        return Err(localized!("place-leads-out"));
    }
    let reopened = rustix::fs::openat(CWD, &real, HOW | OFlags::NOFOLLOW, Mode::empty());
    reopened.map(Some).map_err(|cause| localized!("place-unreadable", cause))
}

struct PlaceWalk<'a> {
    directory: &'a AgentDirectory,
    user: u32,
    allowance: &'a mut ScanAllowance,
    known: &'a dyn Fn(&Path) -> Option<ScanStamp>,
    each: &'a mut dyn FnMut(FoundFile),
    seen: ScanSummary,
    skipped: usize,
}

impl PlaceWalk<'_> {
    fn enter(&mut self, handle: OwnedFd, path: &Path, relative: &str, depth: usize) {
        self.seen.directories.push(path.to_owned());
        let names = match self.names(handle.as_fd(), path) {
            Ok(names) => names,
            Err(cause) => {
                let why = localized!("place-unreadable", cause);
                return self.remark(path, &why, &localized!("place-agents-missing"));
            }
        };
        for (name, kind) in names {
            let below = path.join(&name);
            let relative = match relative {
                "" => name.to_string_lossy().into_owned(),
                relative => format!("{relative}/{}", name.to_string_lossy()),
            };
            let is_agent = name.as_bytes().ends_with(self.directory.ending.as_bytes());
            let is_followed =
                kind == FileType::Symlink && is_agent && self.leads_to_own_file(handle.as_fd(), &name);
            match kind {
                FileType::Directory if self.directory.nested => {
                    self.descend(handle.as_fd(), &name, &below, &relative, depth)
                }
                FileType::Symlink if !is_followed && (is_agent || self.directory.nested) => {
                    self.remark(&below, &localized!("place-is-link"), &localized!("place-is-link-hint"));
                }
                FileType::Directory => {}
                FileType::Symlink if !is_followed => {}
                kind if is_agent && !self.file(handle.as_fd(), &name, below, relative, kind) => return,
                _ => {}
            }
        }
    }

    /// Checks the target of a link in a user's directory. The target is checked again after opening.
    fn leads_to_own_file(&self, handle: BorrowedFd<'_>, name: &OsStr) -> bool {
        self.directory.scope == DefinitionScope::User
            && rustix::fs::statat(handle, name, AtFlags::empty()).is_ok_and(|stat| self.is_own_file(&stat))
    }

    fn is_own_file(&self, stat: &Stat) -> bool {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_uid == self.user
    }

    /// Lists the visible entries with their types, sorted by name.
    fn names(&mut self, handle: BorrowedFd<'_>, path: &Path) -> Result<Vec<(OsString, FileType)>, Errno> {
        let mut names = Vec::new();
        for entry in Dir::read_from(handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            // Also skips `.` and `..`.
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            if self.allowance.entries == 0 {
                self.remark(
                    path,
                    &localized!("place-too-many-names", most = ENTRIES_MAX),
                    &localized!("place-too-many-names-hint"),
                );
                break;
            }
            self.allowance.entries -= 1;
            let kind = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            names.push((name.to_owned(), kind));
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    fn descend(&mut self, handle: BorrowedFd<'_>, name: &OsStr, path: &Path, relative: &str, depth: usize) {
        if depth == DEPTH_MAX {
            return self.remark(
                path,
                &localized!("place-too-deep", most = DEPTH_MAX),
                &localized!("place-too-deep-hint"),
            );
        }
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(handle, name, how, Mode::empty()) {
            Ok(below) => self.enter(below, path, relative, depth + 1),
            Err(cause) => {
                self.remark(path, &localized!("place-unreadable", cause), &localized!("place-agents-missing"))
            }
        }
    }

    /// Handles one file; returns `false` when the quota is exhausted.
    fn file(
        &mut self,
        handle: BorrowedFd<'_>,
        name: &OsStr,
        path: PathBuf,
        relative: String,
        kind: FileType,
    ) -> bool {
        if self.allowance.files == 0 {
            let text = localized!("place-too-many-agents", path = shown(&path), most = FILES_MAX);
            self.push_remark(text, &localized!("place-too-many-agents-hint"));
            return false;
        }
        self.allowance.files -= 1;
        let mut found =
            FoundFile { path, relative, stamp: None, owner: u32::MAX, content: FoundContent::Same };
        if let Some(known) = (self.known)(&found.path)
            && let Ok(stat) = rustix::fs::statat(handle, name, follow(kind).0)
            && ScanStamp::of(&stat) == known
        {
            (found.stamp, found.owner) = (Some(known), stat.st_uid);
            self.allowance.bytes = self.allowance.bytes.saturating_sub(known.size);
        } else {
            found.content = self.read(handle, name, kind, &mut found);
        }
        if let FoundContent::Bytes(bytes) = &found.content
            && is_note(name, bytes)
        {
            self.remark(&found.path, &localized!("place-is-note"), &localized!("place-is-note-hint"));
            return true;
        }
        (self.each)(found);
        true
    }

    fn read(
        &mut self,
        handle: BorrowedFd<'_>,
        name: &OsStr,
        kind: FileType,
        found: &mut FoundFile,
    ) -> FoundContent {
        let unreadable = |why: LocalizedText, hint| FoundContent::Unreadable(UnreadableFile { why, hint });
        // Opening a device can have side effects, and opening a pipe blocks until its other end opens.
        if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
            return unreadable(
                localized!("place-irregular", kind = word(kind)),
                localized!("place-irregular-hint"),
            );
        }
        let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | follow(kind).1;
        let opened = rustix::fs::openat(handle, name, how, Mode::empty());
        let opened = opened.and_then(|fd| rustix::fs::fstat(&fd).map(|stat| (fd, stat)));
        let (fd, stat) = match opened {
            Ok(opened) => opened,
            Err(cause) => {
                return unreadable(localized!("place-unopened", cause), localized!("place-unopened-hint"));
            }
        };
        (found.stamp, found.owner) = (Some(ScanStamp::of(&stat)), stat.st_uid);
        let opened = FileType::from_raw_mode(stat.st_mode);
        if opened != FileType::RegularFile {
            return unreadable(
                localized!("place-irregular", kind = word(opened)),
                localized!("place-irregular-hint"),
            );
        }
        if kind == FileType::Symlink && !self.is_own_file(&stat) {
            return unreadable(localized!("place-foreign-link"), localized!("place-is-link-hint"));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > FILE_BYTES_MAX {
            return unreadable(
                localized!("place-too-large", most = FILE_BYTES_MAX),
                localized!("place-too-large-hint"),
            );
        }
        if size > self.allowance.bytes {
            return unreadable(
                localized!("place-sum-too-large", most = TOTAL_BYTES_MAX),
                localized!("place-too-many-agents-hint"),
            );
        }
        self.allowance.bytes -= size;
        let mut bytes = Vec::with_capacity(size as usize + 1);
        // One byte more than allowed, to detect a file that grows during the read.
        match File::from(fd).take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes) {
            Err(cause) => {
                unreadable(localized!("place-unreadable", cause), localized!("place-unopened-hint"))
            }
            Ok(_) if bytes.len() as u64 > FILE_BYTES_MAX => unreadable(
                localized!("place-too-large", most = FILE_BYTES_MAX),
                localized!("place-too-large-hint"),
            ),
            Ok(_) => FoundContent::Bytes(bytes),
        }
    }

    fn remark(&mut self, path: &Path, why: &LocalizedText, hint: &LocalizedText) {
        self.push_remark(localized!("place-remark", path = shown(path), why), hint);
    }

    fn push_remark(&mut self, text: LocalizedText, hint: &LocalizedText) {
        self.skipped += 1;
        if self.skipped <= REMARKS_MAX {
            self.seen.remarks.push(warning(text, hint));
        }
    }
}

/// Returns the flags for examining and opening an entry. A link is followed only if the caller decided so
/// before.
fn follow(kind: FileType) -> (AtFlags, OFlags) {
    match kind {
        FileType::Symlink => (AtFlags::empty(), OFlags::empty()),
        _ => (AtFlags::SYMLINK_NOFOLLOW, OFlags::NOFOLLOW),
    }
}

fn word(kind: FileType) -> LocalizedText {
    match kind {
        FileType::Fifo => localized!("kind-pipe"),
        FileType::Socket => localized!("kind-socket"),
        FileType::CharacterDevice | FileType::BlockDevice => localized!("kind-device"),
        FileType::Directory => localized!("kind-directory"),
        FileType::Symlink => localized!("kind-link"),
        FileType::RegularFile | FileType::Unknown => localized!("kind-unknown"),
    }
}

/// Detects a `README.md` for people: one without frontmatter.
fn is_note(name: &OsStr, bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    name.as_bytes().eq_ignore_ascii_case(b"readme.md") && !text.starts_with(b"---")
}

impl ScanStamp {
    fn of(stat: &Stat) -> Self {
        Self {
            device: number(stat.st_dev),
            inode: number(stat.st_ino),
            size: number(stat.st_size),
            modified: (number(stat.st_mtime), number(stat.st_mtime_nsec)),
            changed: (number(stat.st_ctime), number(stat.st_ctime_nsec)),
        }
    }

    /// Returns the time of the last change in seconds since 1970.
    pub fn changed_s(&self) -> i64 {
        self.changed.0.max(self.modified.0)
    }
}

/// Converts a field of `Stat`, whose types differ between systems.
fn number<T: Default>(value: impl TryInto<T>) -> T {
    value.try_into().unwrap_or_default()
}

/// Formats a path without terminal control characters.
pub(crate) fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}

pub(crate) fn warning(text: LocalizedText, hint: &LocalizedText) -> Remark {
    Remark { severity: RemarkSeverity::Warning, text, line: None, hint: Some(hint.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_core::definition::Format;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn own_user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// Returns the files found, with the reason for each unread one, and the remarks.
    fn found(allowance: &mut ScanAllowance, files: &[(&str, usize)]) -> (Vec<String>, Vec<String>) {
        let top = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x".repeat(*bytes)).unwrap();
        }
        let directory = AgentDirectory {
            path: top.path().to_owned(),
            format: Format::Claude,
            scope: DefinitionScope::User,
            nested: true,
            ending: ".md",
            base: top.path().to_owned(),
            inside: None,
        };
        let mut names = Vec::new();
        let seen = find(&directory, own_user(), allowance, &|_| None, &mut |file| {
            names.push(match file.content {
                FoundContent::Unreadable(unreadable) => format!("{} {}", file.relative, unreadable.why),
                FoundContent::Bytes(bytes) => format!("{} {}", file.relative, bytes.len()),
                FoundContent::Same => panic!("nothing is known"),
            });
        });
        let beginning = format!("{}/", shown(top.path()));
        (names, seen.remarks.into_iter().map(|remark| remark.text.replace(&beginning, "")).collect())
    }

    #[test]
    fn files_are_found_in_the_order_of_their_paths() {
        let files = [("b.md", 1), ("a/z.md", 2), ("a/b/c.md", 3), ("c.txt", 4), ("B.md", 5)];
        let (names, remarks) = found(&mut ScanAllowance::default(), &files);
        assert_eq!(names, ["B.md 5", "a/b/c.md 3", "a/z.md 2", "b.md 1"]);
        assert_eq!(remarks, [""; 0]);
    }

    #[test]
    fn more_files_than_allowed_are_told_and_not_read() {
        let mut allowance = ScanAllowance { files: 2, ..ScanAllowance::default() };
        let (names, remarks) = found(&mut allowance, &[("a.md", 1), ("b.md", 1), ("c.md", 1), ("d.md", 1)]);
        assert_eq!(names, ["a.md 1", "b.md 1"]);
        assert_eq!(remarks, ["c.md and what follows is not read: there are more than 10000 agents"]);
    }

    #[test]
    fn more_names_than_allowed_are_told() {
        let mut allowance = ScanAllowance { entries: 2, ..ScanAllowance::default() };
        let (names, remarks) = found(&mut allowance, &[("a.md", 1), ("b.md", 1), ("c.md", 1)]);
        assert_eq!((names.len(), remarks.len()), (2, 1));
        assert!(
            remarks[0].ends_with("is not read to its end: there are more than 100000 names"),
            "{remarks:?}"
        );
    }

    #[test]
    fn a_file_beyond_the_sum_of_bytes_is_listed_with_its_error() {
        let mut allowance = ScanAllowance { bytes: 10, ..ScanAllowance::default() };
        let (names, _) = found(&mut allowance, &[("a.md", 6), ("b.md", 6), ("c.md", 4)]);
        assert_eq!(
            names,
            ["a.md 6", "b.md is not read: there are more than 67108864 bytes of agents", "c.md 4"]
        );
    }

    #[test]
    fn only_the_first_of_many_remarks_are_told_one_by_one() {
        let top = tempfile::tempdir().unwrap();
        for number in 0..50 {
            std::os::unix::fs::symlink("x", top.path().join(format!("{number:02}.md"))).unwrap();
        }
        let directory = AgentDirectory {
            path: top.path().to_owned(),
            format: Format::Native,
            scope: DefinitionScope::User,
            nested: false,
            ending: ".md",
            base: top.path().to_owned(),
            inside: None,
        };
        let seen = find(&directory, own_user(), &mut ScanAllowance::default(), &|_| None, &mut |_| {
            panic!("links are not files")
        });
        assert_eq!(seen.remarks.len(), REMARKS_MAX + 1);
        assert!(seen.remarks[REMARKS_MAX].text.ends_with("30 more were skipped"));
    }

    #[test]
    fn a_link_of_the_user_to_a_file_of_the_user_is_followed() {
        let top = tempfile::tempdir().unwrap();
        let (agents, dotfiles) = (top.path().join("agents"), top.path().join("dotfiles"));
        for dir in [&agents, &dotfiles] {
            fs::create_dir(dir).unwrap();
        }
        fs::write(dotfiles.join("real.md"), "12345").unwrap();
        symlink("../dotfiles/real.md", agents.join("a.md")).unwrap();
        symlink("a.md", agents.join("chain.md")).unwrap();
        symlink("/dev/null", agents.join("device.md")).unwrap();
        symlink("../dotfiles", agents.join("directory.md")).unwrap();
        symlink("nowhere", agents.join("dangling.md")).unwrap();
        let look = |scope: DefinitionScope, user: u32| {
            let directory = AgentDirectory {
                path: agents.clone(),
                format: Format::Native,
                scope,
                nested: false,
                ending: ".md",
                base: agents.clone(),
                inside: None,
            };
            let mut names = Vec::new();
            let seen = find(&directory, user, &mut ScanAllowance::default(), &|_| None, &mut |file| {
                assert!(matches!(file.content, FoundContent::Bytes(ref bytes) if bytes == b"12345"));
                names.push(file.relative);
            });
            (names, seen.remarks.len())
        };
        assert_eq!(
            look(DefinitionScope::User, own_user()),
            (vec!["a.md".to_owned(), "chain.md".to_owned()], 3)
        );
        assert_eq!(look(DefinitionScope::User, own_user() + 1), (Vec::new(), 5), "a file of somebody else");
        assert_eq!(look(DefinitionScope::Project { distance: 0 }, own_user()), (Vec::new(), 5));
    }

    #[test]
    fn a_note_to_people_is_no_agent() {
        let top = tempfile::tempdir().unwrap();
        for (name, text) in
            [("README.md", "# Agents"), ("a.md", "# Not a note"), ("sub/Readme.md", "\n---\nname: x\n---\n")]
        {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let directory = AgentDirectory {
            path: top.path().to_owned(),
            format: Format::Opencode,
            scope: DefinitionScope::User,
            nested: true,
            ending: ".md",
            base: top.path().to_owned(),
            inside: None,
        };
        let mut names = Vec::new();
        let seen = find(&directory, own_user(), &mut ScanAllowance::default(), &|_| None, &mut |file| {
            names.push(file.relative)
        });
        assert_eq!(names, ["a.md", "sub/Readme.md"]);
        assert!(
            seen.remarks[0].text.ends_with("README.md has no frontmatter and is taken for a note to people")
        );
    }
}
