//! Replacing a file in one step. A reader sees the old content or the new, never a part; a failure leaves the old;
//! a change made by somebody else in the meantime is noticed and kept.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use posse_core::edits::{ChangeKind, FileChange, FileImage, IMAGE_BYTES_MAX, ImageContent, WithheldReason};
use posse_messages::fixed;
use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use crate::diff;
use crate::files::FileJob;
use crate::protected::FileProtection;
use crate::seen::{ContentStamp, sha256};
use crate::workspace::{
    OpenFile, WHOLE_BYTES_MAX, Workspace, open_beneath, open_directory, open_for_reading, or_dot, show,
};

/// Attempts to lock a directory. Another task holds the lock for one comparison and one rename.
const LOCK_TRIES: usize = 1000;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

const TEMPORARY_TRIES: usize = 100;

/// A name in a directory that is held open, so that everything about it happens in the same place.
pub(crate) struct FileTarget<'a> {
    job: &'a FileJob,
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

/// A file as it is now.
pub(crate) struct ExistingFile {
    pub stamp: ContentStamp,
    /// `None` if it is larger than what is handled as a whole.
    pub content: Option<Vec<u8>>,
    pub stat: Stat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentPolicy {
    MustExist,
    Create,
}

impl<'a> FileTarget<'a> {
    /// Opens the parent directory and checks that the task may write the file.
    pub fn find(job: &'a FileJob, path: &Path, parents: ParentPolicy) -> Result<Self, String> {
        let workspace: &Workspace = &job.desk.workspace;
        let Some(name) = path.file_name() else {
            return Err(fixed!("path-is-workspace"));
        };
        workspace.refuse_protected(path)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        if parents == ParentPolicy::Create {
            // Not even a directory is made behind a link that leads to a protected place.
            let existing =
                parent.ancestors().find_map(|dir| Some((dir, workspace.open_directory(dir).ok()?)));
            if let Some((dir, handle)) = existing {
                let place = workspace.place_of(dir, handle.as_fd())?;
                let place = place.join(path.strip_prefix(dir).unwrap_or(path));
                workspace.refuse_protected(&place)?;
                job.check_place(path, &place)?;
                job.permit(&place)?;
            }
        }
        let directory = match parents {
            ParentPolicy::MustExist => workspace.open_directory(parent)?,
            ParentPolicy::Create => workspace.create_directory(parent)?,
        };
        let target = Self { job, path: path.to_owned(), directory, name: name.to_owned() };
        target.place()?;
        Ok(target)
    }

    /// Returns the resolved path relative to the workspace, if the task may write there. Links are resolved, and
    /// the directory may have been moved.
    fn place(&self) -> Result<PathBuf, String> {
        let place = self.job.desk.workspace.place_of(&self.path, self.directory.as_fd())?.join(&self.name);
        self.job.desk.workspace.refuse_protected(&place)?;
        self.job.check_place(&self.path, &place)?;
        Ok(place)
    }

    /// Reads the current file, `None` if there is none. Refuses a link: replacing it would leave its target
    /// unchanged, which is never meant.
    pub fn now(&self) -> Result<Option<ExistingFile>, String> {
        let opened = open_for_reading(self.directory.as_fd(), Path::new(&self.name), OFlags::NOFOLLOW);
        match opened {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(self.is_link()),
            _ => {}
        }
        let mut open: OpenFile = self.job.desk.workspace.regular(&self.path, opened)?;
        let content = open
            .whole(WHOLE_BYTES_MAX)
            .map_err(|cause| fixed!("cannot-read", path = show(&self.path), cause))?;
        let stamp = match &content {
            Some(content) => ContentStamp::of_content(content),
            None => ContentStamp::of_metadata(&open.stat),
        };
        Ok(Some(ExistingFile { stamp, content, stat: open.stat }))
    }

    fn is_link(&self) -> String {
        let target = rustix::fs::readlinkat(&self.directory, &self.name, Vec::new());
        let target = target.map(|t| show(Path::new(&*t.to_string_lossy()))).unwrap_or_else(|_| "?".into());
        fixed!("path-is-link", path = show(&self.path), target)
    }

    /// Puts `content` in the place of what `before` saw. Fails, leaving everything as it is, if that is no longer
    /// what is there, or if the task may not write there any more. What it was is in the journal before.
    pub fn replace(&self, before: Option<&ExistingFile>, content: &[u8]) -> Result<FileChange, String> {
        let unchanged = |what: &str, cause: &dyn std::fmt::Display| {
            fixed!("write-failed", what, path = show(&self.path), cause)
        };
        let mut temporary = StagedContent::create(self.directory.as_fd(), before.is_some())
            .map_err(|cause| unchanged("create", &cause))?;
        temporary.fill(content, before.map(|b| &b.stat)).map_err(|cause| unchanged("write", &cause))?;

        let change = self.change(before, content);
        self.job.save(self.image(change.clone(), before, content)?)?;
        let lock = ReplaceLock::take(&self.directory).map_err(|cause| unchanged("lock", &cause))?;
        let now = self.now()?;
        if now.as_ref().map(|n| &n.stamp) != before.map(|b| &b.stamp) {
            return Err(fixed!("changed-during-call", path = show(&self.path)));
        }
        // The last moment: whoever lost the right to write since the call began leaves everything as it is.
        self.job.permit(&self.place()?)?;
        let renamed = match before {
            Some(_) => rustix::fs::renameat(&self.directory, &temporary.name, &self.directory, &self.name),
            None => self.put_new(&temporary.name),
        };
        renamed.map_err(|cause| unchanged("replace", &cause))?;
        temporary.done = true;
        drop(lock);
        match rustix::fs::fsync(&self.directory) {
            // Some file systems cannot synchronise a directory.
            Ok(()) | Err(Errno::INVAL) => Ok(change),
            Err(cause) => Err(fixed!("not-confirmed", path = show(&self.path), cause)),
        }
    }

    fn change(&self, before: Option<&ExistingFile>, content: &[u8]) -> FileChange {
        let (kind, lines) = match before.map(|before| before.content.as_deref()) {
            None => (ChangeKind::Created, diff::count(None, Some(content))),
            Some(None) => (ChangeKind::Modified, None),
            Some(old) => (ChangeKind::Modified, diff::count(old, Some(content))),
        };
        FileChange { path: self.path.to_string_lossy().into_owned(), kind, lines }
    }

    /// The before-image. A protected name has none, also where the operator opened it.
    fn image(
        &self,
        change: FileChange,
        before: Option<&ExistingFile>,
        content: &[u8],
    ) -> Result<FileImage, String> {
        let place = self.place()?;
        let protection = FileProtection::default().within(self.job.desk.workspace.root());
        let before = match before.map(|before| before.content.as_deref()) {
            None => ImageContent::Absent,
            Some(_) if protection.find(&place).is_some() => ImageContent::Withheld(WithheldReason::Protected),
            Some(None) => ImageContent::Withheld(WithheldReason::TooLarge),
            Some(Some(old)) => ImageContent::of(old),
        };
        let (key, saved_ms) = (self.job.key, posse_runtime::context::now_ms());
        Ok(FileImage { key, change, before, after_sha256: sha256(content), saved_ms })
    }

    /// Never takes the place of a file that somebody else created meanwhile.
    fn put_new(&self, temporary: &str) -> Result<(), Errno> {
        let directory = &self.directory;
        match rustix::fs::renameat_with(directory, temporary, directory, &self.name, RenameFlags::NOREPLACE) {
            // Not every file system knows the flag; a hard link does not replace either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(directory, temporary, directory, &self.name, AtFlags::empty())?;
                rustix::fs::unlinkat(directory, temporary, AtFlags::empty())
            }
            renamed => renamed,
        }
    }
}

/// The content of a file that a person may see in a question, `Some(None)` if there is no file. `None` for a link, a
/// protected or closed place, and what is too large to be kept with the question.
pub(crate) fn shown_before(workspace: &Workspace, path: &Path) -> Option<Option<Vec<u8>>> {
    let protection = FileProtection::default().within(workspace.root());
    let is_open = |place: &Path| protection.find(place).is_none() && workspace.refuse_closed(place).is_ok();
    if !is_open(path) {
        return None;
    }
    let opened = open_for_reading(workspace.handle(), or_dot(path), OFlags::NOFOLLOW);
    if matches!(opened, Err(Errno::NOENT)) {
        return Some(None);
    }
    let mut open = workspace.regular(path, opened).ok()?;
    let place = workspace.place_of(path, open.file.as_fd()).ok()?;
    is_open(&place).then_some(())?;
    open.whole(IMAGE_BYTES_MAX as u64).ok()?.map(Some)
}

/// The entry behind a name, as far as a patch can express it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchContent {
    File { bytes: Vec<u8>, program: bool },
    Link(OsString),
}

/// Files of a patch are handled as a whole.
const PATCHED_BYTES_MAX: u64 = 512 << 20;

impl PatchContent {
    /// `None` if there is nothing.
    pub fn read(workspace: &Workspace, path: &Path) -> Result<Option<Self>, String> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let directory = match open_directory(workspace.handle(), or_dot(parent)) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            opened => opened.map_err(|cause| workspace.explain(parent, cause))?,
        };
        Self::in_directory(workspace, path, &directory)
    }

    fn in_directory(workspace: &Workspace, path: &Path, directory: &OwnedFd) -> Result<Option<Self>, String> {
        let name = path.file_name().ok_or("it has no name")?;
        let opened = open_for_reading(directory.as_fd(), Path::new(name), OFlags::NOFOLLOW);
        match opened {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                let target = rustix::fs::readlinkat(directory, name, Vec::new());
                let target = target.map_err(|cause| workspace.explain(path, cause))?;
                return Ok(Some(PatchContent::Link(OsStr::from_bytes(target.to_bytes()).to_owned())));
            }
            _ => {}
        }
        let mut open = workspace.regular(path, opened)?;
        let bytes = open.whole(PATCHED_BYTES_MAX).map_err(|cause| format!("cannot read it: {cause}"))?;
        let bytes = bytes.ok_or("it is too large to be merged")?;
        Ok(Some(PatchContent::File { bytes, program: open.stat.st_mode & 0o100 != 0 }))
    }
}

impl FileTarget<'_> {
    /// Makes a file of a person's work tree what a patch says, if it is still what was expected. Without a task there are no
    /// leases; protected names are the caller's matter.
    pub fn put(
        workspace: &Workspace,
        path: &Path,
        expected: Option<&PatchContent>,
        wanted: Option<&PatchContent>,
    ) -> Result<(), String> {
        let unchanged = |cause: Errno| format!("cannot change `{}`: {cause}; it is as it was", show(path));
        let name = path.file_name().ok_or("the path has no name")?;
        let parent = path.parent().unwrap_or(Path::new(""));
        let directory = match wanted {
            Some(_) => workspace.create_directory(parent)?,
            None => workspace.open_directory(parent)?,
        };
        let mut temporary = None;
        match wanted {
            None => {}
            Some(PatchContent::File { bytes, program }) => {
                let mut file = StagedContent::create(directory.as_fd(), false).map_err(unchanged)?;
                file.fill(bytes, None).map_err(|cause| format!("cannot write `{}`: {cause}", show(path)))?;
                file.make_program(*program).map_err(unchanged)?;
                temporary = Some(file);
            }
            Some(PatchContent::Link(target)) => {
                let file = StagedContent::create(directory.as_fd(), false).map_err(unchanged)?;
                rustix::fs::unlinkat(&directory, &file.name, AtFlags::empty()).map_err(unchanged)?;
                rustix::fs::symlinkat(target, &directory, &file.name).map_err(unchanged)?;
                temporary = Some(file);
            }
        }
        let _lock = ReplaceLock::take(&directory).map_err(unchanged)?;
        if PatchContent::in_directory(workspace, path, &directory)?.as_ref() != expected {
            return Err(format!("`{}` was changed by somebody else meanwhile; it is as it was", show(path)));
        }
        match &mut temporary {
            None => rustix::fs::unlinkat(&directory, name, AtFlags::empty()).map_err(unchanged)?,
            Some(file) => {
                rustix::fs::renameat(&directory, &file.name, &directory, name).map_err(unchanged)?;
                file.done = true;
            }
        }
        match rustix::fs::fsync(&directory) {
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(cause) => {
                Err(format!("`{}` was changed, but the disk did not confirm it: {cause}", show(path)))
            }
        }
    }
}

/// Makes the comparison and the rename one step among all tasks, in any process.
struct ReplaceLock<'a>(&'a OwnedFd);

impl<'a> ReplaceLock<'a> {
    fn take(directory: &'a OwnedFd) -> Result<Self, Errno> {
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
struct StagedContent<'a> {
    directory: std::os::fd::BorrowedFd<'a>,
    name: String,
    file: File,
    done: bool,
}

impl<'a> StagedContent<'a> {
    fn create(directory: std::os::fd::BorrowedFd<'a>, private: bool) -> Result<Self, Errno> {
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
    fn make_program(&mut self, program: bool) -> Result<(), Errno> {
        let mode = rustix::fs::fstat(&self.file)?.st_mode & 0o777;
        let mode = if program { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))
    }

    fn fill(&mut self, content: &[u8], like: Option<&Stat>) -> std::io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_no_content_from_behind_a_link_or_of_a_closed_or_protected_place() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for dir in [".git", "closed"] {
            std::fs::create_dir(root.join(dir)).unwrap();
        }
        for file in ["a.txt", ".git/config", "closed/a.txt"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::fs::write(root.join("large.txt"), vec![b'x'; IMAGE_BYTES_MAX + 1]).unwrap();
        for (target, link) in [("a.txt", "link"), (".git", "git"), ("closed", "open")] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let workspace = Workspace::open_without(root, &[root.join("closed")]).unwrap();
        let shown = |path: &str| shown_before(&workspace, Path::new(path));
        assert_eq!(shown("a.txt"), Some(Some(b"x".to_vec())));
        assert_eq!((shown("new.txt"), shown("new/a.txt")), (Some(None), Some(None)));
        for path in
            ["link", ".git/config", "git/config", "closed/a.txt", "open/a.txt", "large.txt", "closed", ""]
        {
            assert_eq!(shown(path), None, "{path}");
        }
    }
}
