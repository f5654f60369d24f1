//! Files that are replaced whole: written beside the old one first, so that no half of it is ever there.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

/// Replaces a file, keeping its mode, and makes its directory if that is absent.
pub fn replace(path: &Path, text: &str) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = fs::metadata(path).map_or(0o600, |about| about.permissions().mode() & 0o7777);
    fs::create_dir_all(parent)
        .and_then(|()| write_whole(path, text.as_bytes(), mode))
        .map_err(|e| unwritable(path).caused_by(e))
}

/// Reads a file, or creates it for this user alone. Concurrent creators agree on one content.
pub fn read_or_create(path: &Path, make: impl FnOnce() -> io::Result<String>) -> Result<String> {
    let made = || {
        match fs::read_to_string(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        let (text, parent) = (make()?, path.parent().unwrap_or(path));
        fs::create_dir_all(parent)?;
        let unfinished = tempfile::Builder::new()
            .make_in(parent, |path| OpenOptions::new().write(true).create_new(true).mode(0o600).open(path))?;
        unfinished.as_file().write_all(text.as_bytes())?;
        match unfinished.persist_noclobber(path) {
            Ok(_) => Ok(text),
            Err(_) => fs::read_to_string(path),
        }
    };
    made().map_err(|e| unwritable(path).caused_by(e))
}

/// Replaces a file whose content is for this user alone, whatever mode the earlier one had.
pub fn replace_private(path: &Path, text: &str) -> Result<()> {
    write_private(path, text.as_bytes()).map_err(|e| unwritable(path).caused_by(e))
}

/// Writes a file of its user alone, in place of an earlier one.
pub(crate) fn write_private(path: &Path, text: &[u8]) -> io::Result<()> {
    write_whole(path, text, 0o600)
}

fn write_whole(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    let temporary = temporary(path);
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written = file
        .write_all(text)
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

/// The error for a file that cannot be written.
pub fn unwritable(path: &Path) -> Error {
    Error::new(ErrorCode::Io, localized!("cannot-be-written", path = path.display()))
}
