//! What SQLite and the file system say, in our words. One fault can be the answer to many waiting requests.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode};
use posse_messages::{LocalizedText, localized};
use rusqlite::ErrorCode as SqliteCode;

/// An error that can be given to several callers.
#[derive(Debug, Clone)]
pub(crate) struct StoreFault {
    pub code: ErrorCode,
    message: LocalizedText,
    hint: Option<LocalizedText>,
    cause: Option<String>,
}

impl StoreFault {
    /// Creates a fault without hint and cause.
    pub fn new(code: ErrorCode, message: impl Into<LocalizedText>) -> Self {
        Self { code, message: message.into(), hint: None, cause: None }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<LocalizedText>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn cause(mut self, cause: impl ToString) -> Self {
        self.cause = Some(cause.to_string());
        self
    }
}

impl From<StoreFault> for Error {
    fn from(fault: StoreFault) -> Self {
        let mut error = Error::new(fault.code, fault.message);
        if let Some(hint) = fault.hint {
            error = error.hint(hint);
        }
        if let Some(cause) = fault.cause {
            error = error.caused_by(cause);
        }
        error
    }
}

/// Converts a refusal of the shared context rules.
impl From<Error> for StoreFault {
    fn from(error: Error) -> Self {
        let hint = error.advice().cloned();
        StoreFault { code: error.code(), message: error.message().clone(), hint, cause: None }
    }
}

pub(crate) fn task_not_found(task: &TaskId) -> StoreFault {
    StoreFault::new(ErrorCode::TaskNotFound, localized!("store-no-task", task))
}

pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> StoreFault {
    let shown = path.display();
    let Some(code) = error.sqlite_error_code() else {
        return StoreFault::new(ErrorCode::Internal, localized!("store-odd-answer", shown)).cause(error);
    };
    match code {
        SqliteCode::DiskFull => disk_full(path).cause(error),
        SqliteCode::SystemIoFailure if is_out_of_space(path) => disk_full(path).cause(error),
        SqliteCode::DatabaseBusy | SqliteCode::DatabaseLocked => busy(path).cause(error),
        SqliteCode::DatabaseCorrupt | SqliteCode::NotADatabase => corrupt(path).cause(error),
        SqliteCode::CannotOpen | SqliteCode::ReadOnly | SqliteCode::PermissionDenied => {
            unavailable(path).cause(error)
        }
        SqliteCode::SystemIoFailure => {
            StoreFault::new(ErrorCode::StoreUnavailable, localized!("store-io", shown))
                .hint(localized!("store-io-hint"))
                .cause(error)
        }
        _ => StoreFault::new(ErrorCode::Internal, localized!("store-refused", shown)).cause(error),
    }
}

pub(crate) fn from_io(path: &Path, error: io::Error) -> StoreFault {
    if is_full(&error) { disk_full(path).cause(error) } else { unavailable(path).cause(error) }
}

pub(crate) fn corrupt(path: &Path) -> StoreFault {
    let shown = path.display();
    StoreFault::new(ErrorCode::StoreCorrupt, localized!("store-corrupt", shown))
        .hint(localized!("store-corrupt-hint", shown))
}

pub(crate) fn unavailable(path: &Path) -> StoreFault {
    StoreFault::new(ErrorCode::StoreUnavailable, localized!("store-unavailable", path = path.display()))
        .hint(localized!("store-unavailable-hint"))
}

fn disk_full(path: &Path) -> StoreFault {
    StoreFault::new(ErrorCode::DiskFull, localized!("store-disk-full", path = path.display()))
        .hint(localized!("store-disk-full-hint"))
}

fn busy(path: &Path) -> StoreFault {
    StoreFault::new(ErrorCode::StoreBusy, localized!("store-busy", path = path.display()))
        .hint(localized!("store-busy-hint"))
}

/// SQLite reports a write that a limit or a quota refused as a plain I/O error. Writing one page to a file beside the store, where
/// its largest file ends, tells them apart.
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
