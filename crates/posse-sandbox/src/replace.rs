//! The two parts of replacing a file in one step: new content beside it, and a lock for comparison and rename.

use std::fs::File;
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use crate::workspace::open_beneath;

/// Attempts to lock a directory. Another task holds the lock for one comparison and one rename.
const LOCK_TRIES: usize = 1000;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

const TEMPORARY_TRIES: usize = 100;

/// Makes the comparison and the rename one step among all tasks, in any process.
pub struct ReplaceLock<'a>(&'a OwnedFd);

impl<'a> ReplaceLock<'a> {
    /// Waits for the lock of a directory.
    pub fn take(directory: &'a OwnedFd) -> Result<Self, Errno> {
        for _ in 0..LOCK_TRIES {
            match rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(directory)),
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(LOCK_PAUSE),
                Err(cause) => return Err(cause),
            }
        }
        Err(Errno::WOULDBLOCK)
    }
}

impl Drop for ReplaceLock<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

/// A file beside the target; removed again unless it took the target's place.
pub struct StagedContent<'a> {
    directory: BorrowedFd<'a>,
    /// Name in the directory.
    pub name: String,
    file: File,
    /// It took the target's place.
    pub done: bool,
}

impl<'a> StagedContent<'a> {
    /// Creates an empty file; a private one is readable by its owner alone.
    pub fn create(directory: BorrowedFd<'a>, private: bool) -> Result<Self, Errno> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // The content of a private file must not be readable by others even for a moment.
        let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..TEMPORARY_TRIES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".posse-{}-{number}.tmp", std::process::id());
            match open_beneath(directory, Path::new(&name), flags, mode) {
                Err(Errno::EXIST) => continue,
                Err(cause) => return Err(cause),
                Ok(fd) => return Ok(Self { directory, name, file: File::from(fd), done: false }),
            }
        }
        Err(Errno::EXIST)
    }

    /// Sets the executable bits for everyone who may read, or for nobody.
    pub fn make_program(&mut self, program: bool) -> Result<(), Errno> {
        let mode = rustix::fs::fstat(&self.file)?.st_mode & 0o777;
        let mode = if program { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))
    }

    /// Writes the content, takes over owner and mode of the file it replaces, and syncs.
    pub fn fill(&mut self, content: &[u8], like: Option<&Stat>) -> std::io::Result<()> {
        self.file.write_all(content)?;
        if let Some(old) = like {
            let mine = rustix::fs::fstat(&self.file)?;
            let mut mode = old.st_mode & 0o7777;
            if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid) {
                let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
                if rustix::fs::fchown(&self.file, Some(owner), Some(group)).is_err() {
                    // A set-user-id bit must not move to another user.
                    mode &= 0o777;
                }
            }
            rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))?;
        }
        self.file.sync_all()
    }
}

impl Drop for StagedContent<'_> {
    fn drop(&mut self) {
        if !self.done {
            let _ = rustix::fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}
