//! Directories for temporary files. Each is locked by the process that made it; one whose lock is free belongs to nobody any
//! more and is removed when a process starts.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

/// A directory that is younger may not be locked yet.
const UNLOCKED_MAX: Duration = Duration::from_secs(60);
/// Entries of the directory above that are looked at: a start must not wait for a crowded one.
const ENTRIES_MAX: usize = 20_000;

/// A directory of this process, removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    _lock: File,
}

impl ScratchDirectory {
    pub fn make(above: &Path) -> io::Result<Self> {
        let above = fs::canonicalize(above)?;
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = above.join(format!("posse-{}-{nanos}", std::process::id()));
        private_directory(&path)?;
        let lock = open(&path)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of processes that died, and returns how many there were.
pub fn remove_abandoned(above: &Path) -> usize {
    let Ok(entries) = fs::read_dir(above) else { return 0 };
    let named = entries.take(ENTRIES_MAX).flatten().filter(|entry| {
        entry.file_name().to_str().and_then(made_at).is_some_and(|made| {
            let age = SystemTime::now().duration_since(made);
            age.is_ok_and(|age| age > UNLOCKED_MAX)
        })
    });
    named.filter(|entry| remove_if_abandoned(&entry.path()).unwrap_or(false)).count()
}

/// Fails if something is there, whatever it is: in a directory for everybody it may be somebody else's.
pub(crate) fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn made_at(name: &str) -> Option<SystemTime> {
    let (process, nanos) = name.strip_prefix("posse-")?.split_once('-')?;
    process.parse::<u32>().ok()?;
    UNIX_EPOCH.checked_add(Duration::from_nanos(nanos.parse().ok()?))
}

fn remove_if_abandoned(path: &Path) -> io::Result<bool> {
    let lock = open(path)?;
    let user = rustix::process::geteuid().as_raw();
    if lock.metadata()?.uid() != user || flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    fs::remove_dir_all(path)?;
    Ok(true)
}

/// Opens the directory itself, never what a link leads to.
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_directories_without_an_owner_are_removed() {
        let above = tempfile::tempdir().unwrap();
        let mine = ScratchDirectory::make(above.path()).unwrap();
        let old = |name: &str| {
            let path = above.path().join(name);
            fs::create_dir_all(path.join("inside")).unwrap();
            path
        };
        let abandoned = old("posse-1-1700000000000000000");
        let held = old("posse-1-1700000000000000001");
        let lock = open(&held).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let others = [old("posse-mine"), old("posse-x-1700000000000000000"), old("elsewhere")];
        let link = above.path().join("posse-1-1700000000000000002");
        std::os::unix::fs::symlink(&others[2], &link).unwrap();
        assert_eq!(remove_abandoned(above.path()), 1);
        assert!(!abandoned.exists());
        for path in others.iter().chain([&held, &link]) {
            assert!(path.exists(), "{}", path.display());
        }
        assert!(mine.path().exists());
    }
}
