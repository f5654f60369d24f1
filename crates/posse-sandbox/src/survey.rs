//! Where in a workspace something protected is. Every command has to know it before it starts and once more when it has ended, so
//! what was seen is kept: a directory whose status has not changed since holds the same names.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;

use crate::protected::FileProtection;

/// A workspace with more directories is not worked in by commands: what is protected in it could not be found.
const DIRECTORIES_MAX: usize = 65_536;
/// Full of other people's files, and made anew by one command.
const BULK: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__"];
/// The clock of file systems ticks every few milliseconds: what was changed so shortly before we looked can have changed again
/// without being told from it.
const TICK_NS: i128 = 50_000_000;

/// Identifies one state of a file. Only the kernel sets the change time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SurveyStamp {
    identity: FileIdentity,
    changed_ns: i128,
}

/// Identifies a file, also against a later one with the same inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: (u32, u32),
    number: u64,
    born_ns: i128,
}

impl SurveyStamp {
    /// Takes the stamp of a path; a final link relative to an open directory is not followed.
    pub fn of(at: Option<&OwnedFd>, path: &Path) -> Option<Self> {
        let mask = StatxFlags::INO | StatxFlags::CTIME | StatxFlags::BTIME;
        let found = match at {
            Some(directory) => rustix::fs::statx(directory, path, AtFlags::SYMLINK_NOFOLLOW, mask),
            None => rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), mask),
        };
        found.ok().map(|found| Self::new(&found))
    }

    fn of_open(directory: impl AsFd) -> Option<Self> {
        let mask = StatxFlags::INO | StatxFlags::CTIME | StatxFlags::BTIME;
        rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, mask).ok().map(|found| Self::new(&found))
    }

    fn new(found: &Statx) -> Self {
        let ns = |time: &rustix::fs::StatxTimestamp| {
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        };
        let changed_ns = ns(&found.stx_ctime);
        // A file system that does not know the one has to do with the other.
        let knows_birth = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        let born_ns = if knows_birth { ns(&found.stx_btime) } else { changed_ns };
        let device = (found.stx_dev_major, found.stx_dev_minor);
        Self { identity: FileIdentity { device, number: found.stx_ino, born_ns }, changed_ns }
    }

    /// Without what changes when something is done in a directory.
    pub fn lasting(self) -> Self {
        Self { changed_ns: 0, ..self }
    }

    fn is_older_than(&self, now_ns: i128) -> bool {
        self.changed_ns + TICK_NS < now_ns
    }
}

/// Cached view of a workspace.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceSurvey {
    seen: HashMap<PathBuf, SurveyedEntry>,
}

#[derive(Debug)]
struct SurveyedEntry {
    /// `None`: it may have changed without showing it.
    stamp: Option<SurveyStamp>,
    protected: Vec<OsString>,
    below: Vec<OsString>,
}

impl WorkspaceSurvey {
    /// Everything protected in a workspace, relative to it and sorted. The error says why it cannot be told.
    pub fn protected(
        &mut self,
        workspace: &OwnedFd,
        protection: &FileProtection,
    ) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        let mut kept = HashMap::with_capacity(self.seen.len());
        let mut next = vec![PathBuf::new()];
        while let Some(directory) = next.pop() {
            if kept.len() >= DIRECTORIES_MAX {
                return Err(format!(
                    "the workspace has more than {DIRECTORIES_MAX} directories, too many to look for protected files in. Work in a \
                     part of it"
                ));
            }
            let seen = match self.scan(workspace, &directory, protection) {
                Ok(seen) => seen,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !directory.as_os_str().is_empty() => {
                    continue;
                }
                Err(why) if directory.as_os_str().is_empty() => {
                    return Err(format!("the workspace cannot be looked through: {why}"));
                }
                // Its owner could open it again, so it counts as if something were in it.
                Err(_) => {
                    found.push(directory);
                    continue;
                }
            };
            found.extend(seen.protected.iter().map(|name| directory.join(name)));
            next.extend(seen.below.iter().map(|name| directory.join(name)));
            kept.insert(directory, seen);
        }
        self.seen = kept;
        found.sort();
        Ok(found)
    }

    fn scan(
        &mut self,
        workspace: &OwnedFd,
        directory: &Path,
        protection: &FileProtection,
    ) -> Result<SurveyedEntry, Errno> {
        if let Some(seen) = self.seen.remove(directory)
            && seen.stamp.is_some()
            && seen.stamp == SurveyStamp::of(Some(workspace), or_here(directory))
        {
            return Ok(seen);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i128);
        let open = open_beneath(workspace, directory, flags)?;
        // Before it is read, so that a change meanwhile is noticed the next time.
        let stamp = SurveyStamp::of_open(&open).filter(|stamp| stamp.is_older_than(now_ns));
        let mut seen = SurveyedEntry { stamp, protected: Vec::new(), below: Vec::new() };
        for entry in Dir::new(open)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let path = directory.join(name);
            if protection.find_last(&path).is_some() {
                seen.protected.push(name.to_owned());
            } else if is_directory(workspace, &path, entry.file_type()) && !is_bulk(name) {
                seen.below.push(name.to_owned());
            }
        }
        Ok(seen)
    }
}

/// Opens a path below the workspace and follows no symlink: another process may be changing it now.
pub(crate) fn open_beneath(workspace: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(workspace, or_here(path), flags, Mode::empty(), resolve)
}

pub(crate) fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

pub(crate) fn is_bulk(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| BULK.contains(&name))
}

fn is_directory(workspace: &OwnedFd, path: &Path, kind: FileType) -> bool {
    let asked = || {
        let found = rustix::fs::statat(workspace, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(found.st_mode))
    };
    match kind {
        FileType::Unknown => asked() == Some(FileType::Directory),
        kind => kind == FileType::Directory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    fn put(at: &Path, files: &[&str]) {
        for file in files {
            std::fs::create_dir_all(at.join(file).parent().unwrap()).unwrap();
            std::fs::write(at.join(file), "x").unwrap();
        }
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    // G20 Seen to fail with 256 in place of `DIRECTORIES_MAX`.
    #[test]
    fn what_is_protected_is_found_however_deep_and_wide_the_workspace_is() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..400 {
            std::fs::create_dir_all(dir.path().join(format!("wide/d{number:03}"))).unwrap();
        }
        let deep: PathBuf = std::iter::repeat_n("d", 60).collect();
        put(dir.path(), &[".env", "wide/d399/.env", "node_modules/x/.env", "a/.github/workflows/ci.yml"]);
        put(&dir.path().join(&deep), &[".git/config"]);
        let expected: Vec<PathBuf> =
            [".env".into(), "a/.github/workflows".into(), deep.join(".git"), "wide/d399/.env".into()].into();
        let mut survey = WorkspaceSurvey::default();
        for _ in 0..2 {
            assert_eq!(survey.protected(&open(dir.path()), &FileProtection::default()), Ok(expected.clone()));
        }
    }

    // Newer kernels tell changes of one tick apart; for the others fresh stamps are not kept.
    #[test]
    fn what_changes_between_two_looks_is_seen_also_in_the_same_tick() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), &["a/b/x"]);
        let (workspace, mut survey) = (open(dir.path()), WorkspaceSurvey::default());
        for number in 0..200 {
            let file = format!("a/b/.env{number}");
            assert_eq!(survey.protected(&workspace, &FileProtection::default()), Ok(Vec::new()));
            put(dir.path(), &[&file]);
            assert_eq!(survey.protected(&workspace, &FileProtection::default()), Ok(paths(&[&file])));
            std::fs::remove_file(dir.path().join(&file)).unwrap();
        }
        // A directory in the place of another one, and what is behind a link.
        std::fs::rename(dir.path().join("a"), dir.path().join("c")).unwrap();
        put(dir.path(), &["a/b/.env", "c/b/.npmrc"]);
        std::os::unix::fs::symlink("c", dir.path().join("link")).unwrap();
        assert_eq!(
            survey.protected(&workspace, &FileProtection::default()),
            Ok(paths(&["a/b/.env", "c/b/.npmrc"]))
        );
    }

    #[test]
    fn a_directory_that_did_not_change_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), &["a/.env"]);
        let (workspace, mut survey) = (open(dir.path()), WorkspaceSurvey::default());
        survey.protected(&workspace, &FileProtection::default()).unwrap();
        // As if it had been seen long ago, with something else in it.
        let seen = survey.seen.get_mut(Path::new("a")).unwrap();
        seen.stamp = SurveyStamp::of(Some(&workspace), Path::new("a"));
        seen.protected = vec!["kept".into()];
        assert_eq!(survey.protected(&workspace, &FileProtection::default()), Ok(paths(&["a/kept"])));
        put(dir.path(), &["a/new"]);
        assert_eq!(survey.protected(&workspace, &FileProtection::default()), Ok(paths(&["a/.env"])));
    }
}
