//! State of MCP servers: accepted tools and credentials, one small file each in the state directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::ports::BoxFuture;
use rustix::fs::OFlags;

use crate::client::{PinStore, TokenRecord, TokenVault, ToolPins};
use crate::files;

/// Twice the maximum size of a tool list, to allow for escapes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Suffix of credential files.
const SIGN_IN: &str = ".sign-in.json";
/// Longest wait for another process that renews a token.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
const LOCK_PAUSE: Duration = Duration::from_millis(25);

pub struct PinFiles {
    directory: PathBuf,
}

impl PinFiles {
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }
}

impl PinFiles {
    fn sign_in_path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}{SIGN_IN}"))
    }

    /// Collects all stored tokens, for redaction.
    pub fn secrets(&self) -> Vec<String> {
        let files = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let keys = names.filter_map(|name| name.strip_suffix(SIGN_IN).map(str::to_owned));
        let granted = keys.filter_map(|key| TokenVault::load(self, &key).ok()??.granted);
        granted.flat_map(|granted| granted.secrets().collect::<Vec<_>>()).collect()
    }
}

impl TokenVault for PinFiles {
    fn load(&self, key: &str) -> Result<Option<TokenRecord>> {
        let path = self.sign_in_path(key);
        let unusable = |why: LocalizedText| {
            let text = localized!("mcp-sign-in-unusable", path = path.display(), why);
            Error::new(ErrorCode::Io, text).hint(localized!("mcp-sign-in-unusable-hint"))
        };
        let text = read(&path, 0o077).map_err(|e| unusable(e.to_string().into()))?;
        // The parse error is dropped: it could quote secrets.
        let parsed = text
            .map(|text| serde_json::from_str(&text).map_err(|_| unusable(localized!("mcp-sign-in-damaged"))));
        parsed.transpose()
    }

    fn save(&self, key: &str, record: &TokenRecord) -> Result<()> {
        let path = self.sign_in_path(key);
        let text = serde_json::to_string(record).unwrap_or_default();
        write(&self.directory, &path, text.as_bytes()).map_err(|e| unwritten(&path, e))
    }

    fn remove(&self, key: &str) -> Result<bool> {
        let path = self.sign_in_path(key);
        match fs::remove_file(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(|e| unwritten(&path, e)),
        }
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>>> {
        Box::pin(async move {
            let path = self.directory.join(format!("{key}.lock"));
            let file = lock_file(&self.directory, &path).map_err(|e| unwritten(&path, e))?;
            let until = Instant::now() + LOCK_PATIENCE;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(Box::new(file) as Box<dyn Send>),
                    Err(TryLockError::WouldBlock) if Instant::now() < until => {
                        tokio::time::sleep(LOCK_PAUSE).await
                    }
                    Err(e) => return Err(unwritten(&path, e.into())),
                }
            }
        })
    }
}

fn lock_file(directory: &Path, path: &Path) -> io::Result<File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options.open(path)
}

fn unwritten(path: &Path, cause: io::Error) -> Error {
    files::unwritable(path).caused_by(cause)
}

impl PinStore for PinFiles {
    fn load(&self, key: &str) -> Result<Option<ToolPins>> {
        let path = self.path(key);
        let unusable = |why: String| {
            let text = localized!("mcp-memory-unusable", path = path.display(), why);
            Error::new(ErrorCode::Io, text).hint(localized!("mcp-memory-unusable-hint"))
        };
        match read(&path, 0o022) {
            Ok(None) => Ok(None),
            Ok(Some(text)) => serde_json::from_str(&text).map(Some).map_err(|e| unusable(e.to_string())),
            Err(e) => Err(unusable(e.to_string())),
        }
    }

    fn save(&self, key: &str, known: &ToolPins) -> Result<()> {
        let path = self.path(key);
        let text = serde_json::to_string(known).unwrap_or_default();
        write(&self.directory, &path, text.as_bytes()).map_err(|e| unwritten(&path, e))
    }
}

/// Reads a file of this user; fails if another user owns it or it has any of the `forbidden` mode bits.
fn read(path: &Path, forbidden: u32) -> io::Result<Option<String>> {
    let file = match OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let about = file.metadata()?;
    // The owner decides what is accepted.
    if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & forbidden != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn write(directory: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    files::write_private(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::task::{Context, Waker};

    // S13 S32 Seen to fail with `Ok(None)` for what cannot be read: a damaged file would make any definition the first one.
    #[test]
    fn what_cannot_be_read_is_an_error_and_never_a_server_that_nobody_knows() {
        let dir = tempfile::tempdir().unwrap();
        let files = PinFiles::at(dir.path().join("mcp"));
        assert_eq!(PinStore::load(&files, "k").unwrap(), None);
        let known =
            ToolPins { accepted: [("t".to_owned(), serde_json::json!({"a": 1}))].into(), waiting: None };
        PinStore::save(&files, "k", &known).unwrap();
        assert_eq!(PinStore::load(&files, "k").unwrap(), Some(known.clone()));
        let path = files.path("k");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(dir.path().join("mcp")).unwrap().mode() & 0o777, 0o700);
        fs::write(&path, "{ damaged").unwrap();
        assert!(PinStore::load(&files, "k").is_err());
        PinStore::save(&files, "k", &known).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(PinStore::load(&files, "k").is_err());
    }

    // S26 S32 Seen to fail with the mask of the other files, and with a lock that nobody waits for.
    #[tokio::test]
    async fn what_a_server_is_told_is_in_a_file_of_this_user_alone_and_changed_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let files = PinFiles::at(dir.path().join("mcp"));
        let record = TokenRecord {
            server: "https://a.test/".to_owned(),
            challenge: Some("Bearer".to_owned()),
            granted: None,
        };
        TokenVault::save(&files, "k", &record).unwrap();
        let path = files.sign_in_path("k");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(TokenVault::load(&files, "k").unwrap().unwrap().server, record.server);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(TokenVault::load(&files, "k").is_err(), "others could read it");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, r#"{"access_token":"s3cret"#).unwrap();
        let error = TokenVault::load(&files, "k").err().unwrap();
        assert!(!error.message().contains("s3cret"), "{error}");
        let held = files.lock("k").await.unwrap();
        let other = PinFiles::at(dir.path().join("mcp"));
        let mut waiting = other.lock("k");
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut nobody).is_pending(), "somebody holds it");
        drop(held);
        waiting.await.unwrap();
        assert!(files.remove("k").unwrap() && !files.remove("k").unwrap());
    }
}
