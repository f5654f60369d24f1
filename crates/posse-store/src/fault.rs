//! Errors of SQLite and the file system, translated to our codes.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use rusqlite::ErrorCode as SqliteCode;

/// A failure of SQLite, or a request refused by a rule.
#[derive(Debug)]
pub(crate) enum StoreRefusal {
    Sqlite(rusqlite::Error),
    Rule(Error),
}

impl StoreRefusal {
    /// Converts the refusal into an error of the store in this file.
    pub fn into_error(self, path: &Path) -> Error {
        match self {
            StoreRefusal::Sqlite(error) => from_sqlite(path, error),
            StoreRefusal::Rule(error) => error,
        }
    }
}

impl From<rusqlite::Error> for StoreRefusal {
    fn from(error: rusqlite::Error) -> Self {
        StoreRefusal::Sqlite(error)
    }
}

impl From<Error> for StoreRefusal {
    fn from(error: Error) -> Self {
        StoreRefusal::Rule(error)
    }
}

pub(crate) fn task_not_found(task: &TaskId) -> Error {
    Error::new(ErrorCode::TaskNotFound, localized!("store-no-task", task))
}

pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Error {
    // The text alone: the causes of SQLite's error repeat it.
    let (shown, cause) = (path.display(), error.to_string());
    let Some(code) = error.sqlite_error_code() else {
        return Error::new(ErrorCode::Internal, localized!("store-odd-answer", shown)).caused_by(cause);
    };
    match code {
        SqliteCode::DiskFull => disk_full(path).caused_by(cause),
        SqliteCode::SystemIoFailure if is_out_of_space(path) => disk_full(path).caused_by(cause),
        SqliteCode::DatabaseBusy | SqliteCode::DatabaseLocked => busy(path).caused_by(cause),
        SqliteCode::DatabaseCorrupt | SqliteCode::NotADatabase => corrupt(path).caused_by(cause),
        SqliteCode::CannotOpen | SqliteCode::ReadOnly | SqliteCode::PermissionDenied => {
            unavailable(path).caused_by(cause)
        }
        SqliteCode::SystemIoFailure => Error::new(ErrorCode::StoreUnavailable, localized!("store-io", shown))
            .hint(localized!("store-io-hint"))
            .caused_by(cause),
        _ => Error::new(ErrorCode::Internal, localized!("store-refused", shown)).caused_by(cause),
    }
}

pub(crate) fn from_io(path: &Path, error: io::Error) -> Error {
    if is_full(&error) { disk_full(path).caused_by(error) } else { unavailable(path).caused_by(error) }
}

/// Tells whether a store that cannot be opened for writing may still be read.
pub(crate) fn may_be_readable(refusal: &Error) -> bool {
    matches!(refusal.code(), ErrorCode::DiskFull | ErrorCode::StoreUnavailable)
}

pub(crate) fn corrupt(path: &Path) -> Error {
    let shown = path.display();
    Error::new(ErrorCode::StoreCorrupt, localized!("store-corrupt", shown))
        .hint(localized!("store-corrupt-hint", shown))
}

pub(crate) fn unavailable(path: &Path) -> Error {
    Error::new(ErrorCode::StoreUnavailable, localized!("store-unavailable", path = path.display()))
        .hint(localized!("store-unavailable-hint"))
}

fn disk_full(path: &Path) -> Error {
    Error::new(ErrorCode::DiskFull, localized!("store-disk-full", path = path.display()))
        .hint(localized!("store-disk-full-hint"))
}

fn busy(path: &Path) -> Error {
    Error::new(ErrorCode::StoreBusy, localized!("store-busy", path = path.display()))
        .hint(localized!("store-busy-hint"))
}

/// Tells a full quota or size limit from an I/O error, which SQLite reports alike, by writing one page to a file beside
/// the store, where its largest file ends.
fn is_out_of_space(path: &Path) -> bool {
    const PAGE_BYTES: usize = 4_096;
    let beside = |suffix: &str| {
        PathBuf::from([path.as_os_str(), OsStr::new(suffix)].into_iter().collect::<OsString>())
    };
    let end_of = |suffix| fs::metadata(beside(suffix)).map_or(0, |about| about.len());
    let probe = beside("-probe");
    let written = File::create(&probe)
        .and_then(|file| file.write_all_at(&[0; PAGE_BYTES], end_of("").max(end_of("-wal"))));
    let _ = fs::remove_file(&probe);
    written.is_err_and(|error| is_full(&error))
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
