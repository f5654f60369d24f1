//! Copying the files of a work tree. The list of names comes from a repository that is not trusted, so nothing is read
//! from outside of the work tree and nothing is written outside of the copy.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_sandbox::workspace::{Workspace, open_for_reading};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::failed;

/// More than this is not copied for one task.
const FILES_MAX: usize = 500_000;
const BYTES_MAX: u64 = 8 << 30;

/// Copies what is there of these files, and says what that was.
pub(super) fn copy(from: &Path, to: &Path, names: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    if names.len() > FILES_MAX {
        return Err(too_much(localized!("worktree-too-many-files", count = names.len())));
    }
    let source = Workspace::open(from)?;
    make_directory(to)?;
    let mut copied = Vec::with_capacity(names.len());
    let (mut links, mut bytes) = (Vec::new(), 0);
    for name in names {
        if !is_plain(&name) {
            continue;
        }
        match open_for_reading(source.handle(), &name, OFlags::NOFOLLOW) {
            Ok((mut file, stat)) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                bytes += u64::try_from(stat.st_size).unwrap_or(0);
                if bytes > BYTES_MAX {
                    return Err(too_much(localized!("worktree-too-large", gib = BYTES_MAX >> 30)));
                }
                let mode = if stat.st_mode & 0o100 != 0 { 0o755 } else { 0o644 };
                write(&mut file, &to.join(&name), mode)?;
                copied.push(name);
            }
            Err(Errno::LOOP) => links.push(name),
            // A directory is another repository; what is gone was deleted and not committed; pipes have no content.
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::NXIO) => {}
            Err(cause) => return Err(failed("copy", &from.join(&name), cause.into())),
        }
    }
    // Last: while files are written, no name leads through a link.
    for name in links {
        if copy_link(&source, &name, to)? {
            copied.push(name);
        }
    }
    Ok(copied)
}

/// Below the work tree by its spelling, and nothing of a repository.
fn is_plain(name: &Path) -> bool {
    name.components().all(|part| match part {
        Component::Normal(name) => !name.as_bytes().eq_ignore_ascii_case(b".git"),
        _ => false,
    })
}

fn write(from: &mut fs::File, to: &Path, mode: u32) -> Result<()> {
    if let Some(parent) = to.parent() {
        make_directory(parent)?;
    }
    let mut options = fs::OpenOptions::new();
    let written = options.write(true).create_new(true).mode(mode).open(to);
    written.and_then(|mut file| std::io::copy(from, &mut file)).map(drop).map_err(|e| failed("write", to, e))
}

fn copy_link(source: &Workspace, name: &Path, to: &Path) -> Result<bool> {
    let parent = name.parent().unwrap_or(Path::new(""));
    let (Some(file_name), Ok(directory)) = (name.file_name(), source.open_directory(parent)) else {
        return Ok(false);
    };
    let Ok(target) = rustix::fs::readlinkat(&directory, file_name, Vec::new()) else { return Ok(false) };
    let place = to.join(name);
    if let Some(parent) = place.parent() {
        make_directory(parent)?;
        // A link that is there already may stand for one of its directories.
        let inside = fs::canonicalize(parent).is_ok_and(|real| real.starts_with(to));
        if !inside {
            return Ok(false);
        }
    }
    match std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target.to_bytes()), &place) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(failed("write", &place, e)),
        made => Ok(made.is_ok()),
    }
}

fn make_directory(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755).create(path).map_err(|e| failed("make", path, e))
}

fn too_much(text: LocalizedText) -> Error {
    Error::new(ErrorCode::IsolationUnavailable, text).hint(localized!("worktree-too-much-hint"))
}
