//! One file of a patch: the content it has, and putting another in its place.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use posse_sandbox::replace::{ReplaceLock, StagedContent};
use posse_sandbox::workspace::{Workspace, open_directory, open_for_reading, or_dot, show};
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;

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

/// Makes a file of a person's work tree what a patch says, if it is still what was expected. Without a task there are no
/// leases; protected names are the caller's matter.
pub(crate) fn put(
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
        Err(cause) => Err(format!("`{}` was changed, but the disk did not confirm it: {cause}", show(path))),
    }
}
