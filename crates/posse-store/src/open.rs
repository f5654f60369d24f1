//! Opens the store: ownership and mode of the file, durability of a commit.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::fault;
use crate::schema;

/// Pages in the write-ahead log before a checkpoint: 2 MB. A checkpoint costs two fsyncs, so it should be rare; afterwards
/// the log is reused from its beginning.
const CHECKPOINT_PAGES: u32 = 500;

/// Maximum size of the log file after a checkpoint.
const LOG_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// Page cache of the writer, which appends and rereads only the last pages of its tables. Changed pages stay until the
/// commit, and pages read beside them should stay too: many tasks that start at once change dozens of pages.
const CACHE_KIB: u32 = 256;

/// Readers wait only while another process opens or recovers the store, which takes seconds on a busy machine.
const READ_BUSY_MAX: Duration = Duration::from_secs(15);

/// Maximum findings of an integrity check that are shown; the first ones tell the kind of damage.
const FINDINGS_MAX: u32 = 10;

/// Result of an integrity check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreHealth {
    pub schema: u32,
    pub tasks: u64,
    /// Size of the database file, without its log.
    pub bytes: u64,
}

/// Creates the directory (0700) and an empty file (0600) where they are absent. Returns the path with the directory's
/// links resolved. A link in place of the file itself is refused: its creator would choose where we write.
pub(crate) fn prepare_file(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| fault::unavailable(path))?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let failed = |e| fault::from_io(path, e);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let resolved = directory.canonicalize().map_err(failed)?.join(name);
    // The log and the shared memory file take their mode from the database file.
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&resolved) {
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => refuse_odd_file(&resolved)?,
        Err(e) => return Err(failed(e)),
    }
    Ok(resolved)
}

fn refuse_odd_file(path: &Path) -> Result<()> {
    let kind = fs::symlink_metadata(path).map_err(|e| fault::from_io(path, e))?.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let message = match kind.is_symlink() {
        true => localized!("store-is-link", path = path.display()),
        false => localized!("store-not-regular", path = path.display()),
    };
    Err(Error::new(ErrorCode::StoreUnavailable, message).hint(localized!("store-odd-file-hint")))
}

/// Opens the writing connection.
pub(crate) fn connect(path: &Path, busy_max: Duration) -> Result<Connection> {
    let connection = open_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Until the schema is known to be ours, even closing must not write.
    set(&connection, path, |c| c.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop))?;
    set(&connection, path, |c| c.busy_timeout(READ_BUSY_MAX.min(busy_max)))?;
    if schema::version(&connection, path)? == 0 {
        // `auto_vacuum` can only be set before the first table; `retention` needs it to return space in slices.
        set(&connection, path, |c| c.pragma_update(None, "auto_vacuum", "INCREMENTAL"))?;
    }
    retry_busy(busy_max, || {
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; PRAGMA journal_size_limit = {LOG_BYTES_MAX};
             PRAGMA cache_size = -{CACHE_KIB};"
        ))
    })
    .map_err(|e| fault::from_sqlite(path, e))?;
    if connection.is_readonly("main").unwrap_or(true) {
        return Err(fault::unavailable(path));
    }
    if let Err(fault) = schema::migrate(&connection, path, busy_max) {
        drop(connection);
        // A failed migration of a large store leaves pages in the log until a connection closes normally.
        if let Ok(next) = open_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
            let _ = schema::version(&next, path);
        }
        return Err(fault);
    }
    set(&connection, path, |c| c.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map(drop))?;
    // From here on the writer retries by itself, with jitter.
    set(&connection, path, |c| c.busy_timeout(Duration::ZERO))?;
    Ok(connection)
}

/// Opens a read-only connection.
pub(crate) fn connect_reader(path: &Path) -> Result<Connection> {
    let connection = open_file(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    set(&connection, path, |c| c.busy_timeout(READ_BUSY_MAX))?;
    Ok(connection)
}

/// Opens a store that cannot be written, to read it; `SQLite` needs the file of the log's index for that, which may be
/// missing and cannot be made.
pub(crate) fn connect_unwritable(path: &Path) -> Result<(PathBuf, Connection)> {
    let path = locate(path)?;
    let usable = |connection: Connection| match schema::version(&connection, &path)? {
        schema::VERSION => Ok(connection),
        _ => Err(fault::unavailable(&path)),
    };
    let connection = connect_reader(&path)
        .and_then(usable)
        .or_else(|_| connect_alone(&path).and_then(usable))
        .or_else(|_| connect_frozen(&path).and_then(usable))?;
    Ok((path, connection))
}

/// Opens a connection that keeps the log's index in its memory, which takes a lock that no other process may have.
fn connect_alone(path: &Path) -> Result<Connection> {
    let connection = open_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    set(&connection, path, |c| c.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop))?;
    set(&connection, path, |c| c.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;"))?;
    Ok(connection)
}

/// Opens a connection to a file that nothing can change. It does not read the log, so there must be none.
fn connect_frozen(path: &Path) -> Result<Connection> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if fs::metadata(log).is_ok_and(|about| about.len() > 0) {
        return Err(fault::unavailable(path));
    }
    let quoted: String =
        path.as_os_str().as_encoded_bytes().iter().map(|byte| format!("%{byte:02x}")).collect();
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{quoted}?immutable=1"), flags)
        .map_err(|e| fault::from_sqlite(path, e))
}

/// Returns the path of an existing store, with the links of its directory resolved.
fn locate(path: &Path) -> Result<PathBuf> {
    refuse_odd_file(path)?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = directory.canonicalize().map_err(|e| fault::from_io(path, e))?;
    Ok(path.file_name().map_or_else(|| path.to_owned(), |name| directory.join(name)))
}

pub(crate) fn check(path: &Path) -> Result<StoreHealth> {
    let bytes = fs::metadata(path).map_err(|e| fault::from_io(path, e))?.len();
    let path = locate(path)?;
    let connection = connect_reader(&path)?;
    let schema = schema::version(&connection, &path)?;
    integrity(&connection, &path)?;
    let tasks: u32 = if schema == 0 {
        0
    } else {
        connection
            .query_row("SELECT count(*) FROM tasks", [], |row| row.get(0))
            .map_err(|e| fault::from_sqlite(&path, e))?
    };
    Ok(StoreHealth { schema, tasks: tasks.into(), bytes })
}

pub(crate) fn integrity(connection: &Connection, path: &Path) -> Result<()> {
    let findings = connection
        .prepare(&format!("PRAGMA integrity_check({FINDINGS_MAX})"))
        .and_then(|mut statement| {
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        })
        .map_err(|e| fault::from_sqlite(path, e))?;
    if findings == ["ok"] {
        return Ok(());
    }
    Err(fault::corrupt(path).caused_by(findings.join("; ")))
}

/// Retries while the file is locked, with growing random pauses so that equal processes do not collide again.
pub(crate) fn retry_busy<T>(
    busy_max: Duration,
    mut attempt: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let started = Instant::now();
    let mut pause_us = 200;
    loop {
        match attempt() {
            Err(e) if is_busy(&e) && started.elapsed() < busy_max => {
                std::thread::sleep(Duration::from_micros(fastrand::u64(pause_us / 2..=pause_us)));
                pause_us = (pause_us * 2).min(10_000);
            }
            outcome => return outcome,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

fn open_file(path: &Path, mode: OpenFlags) -> Result<Connection> {
    // Each connection is used by one thread at a time, so SQLite need not lock it.
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags).map_err(|e| fault::from_sqlite(path, e))
}

fn set(
    connection: &Connection,
    path: &Path,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<()> {
    change(connection).map_err(|e| fault::from_sqlite(path, e))
}
