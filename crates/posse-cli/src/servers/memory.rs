//! What was accepted of servers, one small file for each in the state directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_mcp::client::{Known, Memory};
use posse_messages::say;

/// Twice what a server may say about its tools, with room for escapes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub struct Files {
    directory: PathBuf,
}

impl Files {
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }
}

impl Memory for Files {
    fn load(&self, key: &str) -> Result<Option<Known>> {
        let path = self.path(key);
        let unusable = |why: String| {
            let text = say!("mcp-memory-unusable", path = path.display(), why);
            Error::new(ErrorCode::Io, text).hint(say!("mcp-memory-unusable-hint"))
        };
        match read(&path) {
            Ok(None) => Ok(None),
            Ok(Some(text)) => serde_json::from_str(&text).map(Some).map_err(|e| unusable(e.to_string())),
            Err(e) => Err(unusable(e.to_string())),
        }
    }

    fn save(&self, key: &str, known: &Known) -> Result<()> {
        let path = self.path(key);
        let text = serde_json::to_string(known).unwrap_or_default();
        write(&self.directory, &path, text.as_bytes()).map_err(|e| {
            Error::new(ErrorCode::Io, say!("cannot-be-written", path = path.display())).caused_by(e)
        })
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let about = file.metadata()?;
    // Whoever can write it decides what is accepted. SAFETY: reads a number.
    if about.uid() != unsafe { libc::geteuid() } || about.mode() & 0o022 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn write(directory: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let temporary = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written =
        file.write_all(text).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    // S13 S32 Seen to fail with `Ok(None)` for what cannot be read: a damaged file would make any definition the first one.
    #[test]
    fn what_cannot_be_read_is_an_error_and_never_a_server_that_nobody_knows() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::at(dir.path().join("mcp"));
        assert_eq!(files.load("k").unwrap(), None);
        let known = Known { accepted: [("t".to_owned(), serde_json::json!({"a": 1}))].into(), waiting: None };
        files.save("k", &known).unwrap();
        assert_eq!(files.load("k").unwrap(), Some(known.clone()));
        let path = files.path("k");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(dir.path().join("mcp")).unwrap().mode() & 0o777, 0o700);
        fs::write(&path, "{ damaged").unwrap();
        assert!(files.load("k").is_err());
        files.save("k", &known).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(files.load("k").is_err());
    }
}
