//! Replacing a file in one step. A reader sees the old content or the new, never a part; a failure leaves the old;
//! a change made by somebody else in the meantime is noticed and kept.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use posse_core::edits::{ChangeKind, FileChange, FileImage, IMAGE_BYTES_MAX, ImageContent, WithheldReason};
use posse_sandbox::protected::FileProtection;
use posse_sandbox::replace::{ReplaceLock, StagedContent};
use posse_sandbox::workspace::{OpenFile, WHOLE_BYTES_MAX, Workspace, open_for_reading, or_dot, show};
use rustix::fs::{AtFlags, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::diff;
use crate::files::FileJob;
use crate::seen::{ContentStamp, sha256};

/// A name in a directory that is held open, so that everything about it happens in the same place.
pub(crate) struct FileSlot<'a> {
    workspace: &'a Workspace,
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

/// A file that a call may replace.
pub(crate) struct FileTarget<'a> {
    job: &'a FileJob,
    slot: FileSlot<'a>,
}

/// A file as it is now.
pub(crate) struct ExistingFile {
    pub stamp: ContentStamp,
    /// `None` if it is larger than what is handled as a whole.
    pub content: Option<Vec<u8>>,
    pub stat: Stat,
}

const NO_FILE: &str = "the path is the workspace itself, which is a directory; name a file in it";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentPolicy {
    MustExist,
    Create,
}

impl<'a> FileSlot<'a> {
    /// Opens the parent directory.
    pub fn open(workspace: &'a Workspace, path: &Path, parents: ParentPolicy) -> Result<Self, String> {
        let name = path.file_name().ok_or(NO_FILE)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        let directory = match parents {
            ParentPolicy::MustExist => workspace.open_directory(parent)?,
            ParentPolicy::Create => workspace.create_directory(parent)?,
        };
        Ok(Self { workspace, path: path.to_owned(), directory, name: name.to_owned() })
    }

    /// Returns the resolved path relative to the workspace. Links are resolved, and the directory may have been moved.
    pub fn place(&self) -> Result<PathBuf, String> {
        Ok(self.workspace.place_of(&self.path, self.directory.as_fd())?.join(&self.name))
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
        let mut open: OpenFile = self.workspace.regular(&self.path, opened)?;
        let content = open
            .whole(WHOLE_BYTES_MAX)
            .map_err(|cause| format!("cannot read `{}`: {cause}", show(&self.path)))?;
        let stamp = match &content {
            Some(content) => ContentStamp::of_content(content),
            None => ContentStamp::of_metadata(&open.stat),
        };
        Ok(Some(ExistingFile { stamp, content, stat: open.stat }))
    }

    fn is_link(&self) -> String {
        let target = rustix::fs::readlinkat(&self.directory, &self.name, Vec::new());
        let target = target.map(|t| show(Path::new(&*t.to_string_lossy()))).unwrap_or_else(|_| "?".into());
        format!(
            "`{}` is a symbolic link to `{target}`; nothing was written. Use the path of the file \
             itself, if it is inside the workspace",
            show(&self.path)
        )
    }

    /// Locks the directory for a comparison and a rename.
    pub fn lock(&self) -> Result<ReplaceLock<'_>, String> {
        ReplaceLock::take(&self.directory).map_err(|cause| self.unchanged("lock the directory of", &cause))
    }

    /// Writes `content` to a file beside it, with owner and mode of the file it is to replace.
    pub fn stage(&self, before: Option<&ExistingFile>, content: &[u8]) -> Result<StagedContent<'_>, String> {
        let mut staged = StagedContent::create(self.directory.as_fd(), before.is_some())
            .map_err(|cause| self.unchanged("create a file beside", &cause))?;
        staged.fill(content, before.map(|b| &b.stat)).map_err(|cause| self.unchanged("write", &cause))?;
        Ok(staged)
    }

    /// Moves staged content into the place of the file, or of no file if there was none.
    pub fn put(&self, mut staged: StagedContent<'_>, before: Option<&ExistingFile>) -> Result<(), String> {
        let renamed = match before {
            Some(_) => rustix::fs::renameat(&self.directory, &staged.name, &self.directory, &self.name),
            None => self.put_new(&staged.name),
        };
        renamed.map_err(|cause| self.unchanged("put the new content in place of", &cause))?;
        staged.done = true;
        Ok(())
    }

    /// Removes the file.
    pub fn remove(&self) -> Result<(), String> {
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())
            .map_err(|cause| self.unchanged("remove", &cause))
    }

    /// Syncs the directory, so that a crash does not take the change back.
    pub fn sync(&self) -> Result<(), String> {
        match rustix::fs::fsync(&self.directory) {
            // Some file systems cannot synchronise a directory.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(cause) => Err(format!(
                "`{}` was written, but the disk did not confirm it: {cause}; read it to see what is there",
                show(&self.path)
            )),
        }
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

    fn unchanged(&self, what: &str, cause: &dyn std::fmt::Display) -> String {
        format!("cannot {what} `{}`: {cause}; the file is unchanged", show(&self.path))
    }
}

impl<'a> FileTarget<'a> {
    /// Opens the parent directory and checks that the task may write the file.
    pub fn find(job: &'a FileJob, path: &Path, parents: ParentPolicy) -> Result<Self, String> {
        let workspace: &Workspace = &job.context.workspace;
        path.file_name().ok_or(NO_FILE)?;
        workspace.refuse_protected(path)?;
        if parents == ParentPolicy::Create {
            // Not even a directory is made behind a link that leads to a protected place.
            let place = expected_place(workspace, path)?;
            workspace.refuse_protected(&place)?;
            job.check_place(path, &place)?;
            job.permit(&place)?;
        }
        let target = Self { job, slot: FileSlot::open(workspace, path, parents)? };
        target.place()?;
        Ok(target)
    }

    /// Returns the resolved path relative to the workspace, if the task may write there.
    fn place(&self) -> Result<PathBuf, String> {
        let place = self.slot.place()?;
        self.job.context.workspace.refuse_protected(&place)?;
        self.job.check_place(&self.slot.path, &place)?;
        Ok(place)
    }

    /// Reads the current file, `None` if there is none.
    pub fn now(&self) -> Result<Option<ExistingFile>, String> {
        self.slot.now()
    }

    /// Puts `content` in the place of what `before` saw. Fails, leaving everything as it is, if that is no longer
    /// what is there, or if the task may not write there any more. What it was is in the journal before.
    pub fn replace(&self, before: Option<&ExistingFile>, content: &[u8]) -> Result<FileChange, String> {
        let staged = self.slot.stage(before, content)?;
        let change = self.change(before, content);
        self.job.save(self.image(change.clone(), before, content)?)?;
        let lock = self.slot.lock()?;
        let now = self.now()?;
        if now.as_ref().map(|n| &n.stamp) != before.map(|b| &b.stamp) {
            return Err(format!(
                "`{}` was changed by somebody else during this call; nothing was written. Read it \
                 again, then repeat the change on its present content",
                show(&self.slot.path)
            ));
        }
        // The last moment: whoever lost the right to write since the call began leaves everything as it is.
        self.job.permit(&self.place()?)?;
        self.slot.put(staged, before)?;
        drop(lock);
        self.slot.sync()?;
        Ok(change)
    }

    fn change(&self, before: Option<&ExistingFile>, content: &[u8]) -> FileChange {
        let (kind, lines) = match before.map(|before| before.content.as_deref()) {
            None => (ChangeKind::Created, diff::count(None, Some(content))),
            Some(None) => (ChangeKind::Modified, None),
            Some(old) => (ChangeKind::Modified, diff::count(old, Some(content))),
        };
        FileChange { path: self.slot.path.to_string_lossy().into_owned(), kind, lines }
    }

    /// The before-image. A protected name has none, also where the operator opened it.
    fn image(
        &self,
        change: FileChange,
        before: Option<&ExistingFile>,
        content: &[u8],
    ) -> Result<FileImage, String> {
        let place = self.place()?;
        let protection = FileProtection::default().within(self.job.context.workspace.root());
        let before = match before.map(|before| before.content.as_deref()) {
            None => ImageContent::Absent,
            Some(_) if protection.find(&place).is_some() => ImageContent::Withheld(WithheldReason::Protected),
            Some(None) => ImageContent::Withheld(WithheldReason::TooLarge),
            Some(Some(old)) => ImageContent::from_bytes(old),
        };
        let (key, saved_ms) = (self.job.key, posse_runtime::context::now_ms());
        Ok(FileImage { key, change, before, after_sha256: sha256(content), saved_ms })
    }
}

/// Resolves where a file will be once its missing directories are made: links in the existing ones are followed.
pub(crate) fn expected_place(workspace: &Workspace, path: &Path) -> Result<PathBuf, String> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let existing = parent.ancestors().find_map(|dir| Some((dir, workspace.open_directory(dir).ok()?)));
    let Some((dir, handle)) = existing else { return Ok(path.to_owned()) };
    Ok(workspace.place_of(dir, handle.as_fd())?.join(path.strip_prefix(dir).unwrap_or(path)))
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
