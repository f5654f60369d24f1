//! How the log of a store reaches the disk. SQLite writes a commit in two pieces per page, lets the file grow piece by piece, deletes it
//! when the last process leaves and makes it anew for the next one. Here a commit is one write, into room that is made ahead, and the
//! file is kept for the next one: a sync into blocks that the file already has costs half of one that has to find them.
//!
//! Everything else is left to SQLite's own way to files. The pieces of a commit are held back until SQLite syncs the log, which it
//! does before it shows the commit to anybody; whoever reads the log through the same connection is preceded by what was held back.
//! When the last process leaves, SQLite copies the log into the store page by page. Nobody else can look then, so there neighbouring pages
//! are written together as well; what cannot be written fails the next step, before the log is given up.
//!
//! It counts on two settings of `open::connect`: with `synchronous = FULL` every commit is synced, and with `cache_spill = OFF` nothing
//! is written before a commit, so that nothing of a transaction that is rolled back is still held when another process writes there.
//! While a store is brought to a new version that is not set yet: there a connection whose transaction was rolled back is closed.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::LazyLock;

use rusqlite::ffi::{
    SQLITE_CANTOPEN, SQLITE_FCNTL_CKPT_DONE, SQLITE_FCNTL_CKPT_START, SQLITE_IOERR, SQLITE_LOCK_EXCLUSIVE,
    SQLITE_OK, SQLITE_OPEN_CREATE, SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_filename,
    sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

/// What is held back at most. More would be a piece of memory of its own for the system, made and given back each time.
const HELD_BYTES_MAX: usize = 1 << 15;

/// The log doubles up to this much at once, so that a short run does not write much for nothing.
const ROOM_BYTES_MAX: u64 = 1 << 20;

/// What is kept of the file for whoever opens the store next.
const KEPT_BYTES_MAX: u64 = 4 << 20;

/// They say how to read the rest: without them a log is an empty one.
const HEADER_BYTES: usize = 32;

/// A log that is longer has had a page of any size; room made behind the header alone is less.
const PAGE_BYTES_MIN: u64 = 512;

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

const NAME: &CStr = c"posse";

/// The name under which connections are opened.
pub(crate) fn files() -> &'static CStr {
    // If it fails, opening says that there is no such name.
    let _ = SYSTEM.is_some();
    NAME
}

/// SQLite's own way to files, on which ours stands.
static SYSTEM: LazyLock<Option<System>> = LazyLock::new(register);

struct System {
    files: *mut sqlite3_vfs,
    /// Where our own part of an open file begins.
    after: usize,
}

// SAFETY: what it points to is never changed and lives as long as the process; its functions may be called from any thread.
unsafe impl Send for System {}
// SAFETY: as above.
unsafe impl Sync for System {}

fn register() -> Option<System> {
    // SAFETY: with no name it is the default one, or null; once registered it is there for good.
    let files = unsafe { sqlite3_vfs_find(ptr::null()) };
    // SAFETY: a valid one where it is not null.
    let system = unsafe { files.as_ref() }?;
    let after = (system.szOsFile as usize).next_multiple_of(align_of::<*mut Log>());
    let size = c_int::try_from(after + size_of::<*mut Log>()).ok()?;
    let ours = sqlite3_vfs {
        szOsFile: size,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        xDelete: Some(delete),
        ..*system
    };
    // SAFETY: it is never freed, and its name is a constant.
    let registered = unsafe { sqlite3_vfs_register(Box::leak(Box::new(ours)), 0) };
    (registered == SQLITE_OK).then_some(System { files, after })
}

/// An open log, or the store itself.
struct Log {
    /// Those of the system with ours in place of some. SQLite finds them here.
    methods: sqlite3_io_methods,
    system: SystemFile,
    held: Held,
    /// How long the file is, as far as is known.
    length: Option<u64>,
    what: What,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Log,
    Store {
        /// Nobody else has it open.
        is_alone: bool,
        /// The log is being copied into it.
        is_copied: bool,
    },
}

/// Pieces that follow each other.
#[derive(Default)]
struct Held {
    at: u64,
    bytes: Vec<u8>,
}

impl Held {
    /// Whether it can be written together with what is held.
    fn takes(&self, piece: &[u8], at: u64) -> bool {
        self.bytes.is_empty() || (at == self.end() && self.bytes.len() + piece.len() <= HELD_BYTES_MAX)
    }

    fn add(&mut self, piece: &[u8], at: u64) {
        if self.bytes.is_empty() {
            self.at = at;
        }
        self.bytes.extend_from_slice(piece);
    }

    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }
}

impl Log {
    fn holds_back(&self) -> bool {
        matches!(self.what, What::Log | What::Store { is_alone: true, is_copied: true })
    }

    fn write(&mut self, piece: &[u8], at: u64) -> c_int {
        if !self.holds_back() {
            return match self.write_held() {
                SQLITE_OK => self.system.write(piece, at),
                failed => failed,
            };
        }
        if !self.held.takes(piece, at) {
            let written = self.write_held();
            if written != SQLITE_OK {
                return written;
            }
        }
        self.held.add(piece, at);
        SQLITE_OK
    }

    fn write_held(&mut self) -> c_int {
        if self.held.bytes.is_empty() {
            return SQLITE_OK;
        }
        let end = self.held.end();
        let written = self.system.write(&self.held.bytes, self.held.at);
        match self.what {
            What::Log => {
                self.held.bytes.clear();
                if written == SQLITE_OK {
                    self.make_room(end);
                }
            }
            // Kept until it is written: a copy of which something is missing must not seem complete.
            What::Store { .. } if written == SQLITE_OK => self.held.bytes.clear(),
            What::Store { .. } => {}
        }
        written
    }

    /// Adds zeros behind a commit that made the file longer: making it longer costs a sync as much as the data. To SQLite they are
    /// what an unfinished write is, a frame without a valid checksum, before which the log ends. Whoever writes has the store's lock,
    /// so nobody else has anything behind it.
    fn make_room(&mut self, end: u64) {
        let length = *self.length.get_or_insert_with(|| self.system.length().unwrap_or_default());
        if end < length {
            return;
        }
        let wanted = end + end.min(ROOM_BYTES_MAX);
        let mut at = end;
        while at < wanted {
            let zeros = &ZEROS[..ZEROS.len().min((wanted - at) as usize)];
            // Failing is harmless: commits are slower then.
            if self.system.write(zeros, at) != SQLITE_OK {
                break;
            }
            at += zeros.len() as u64;
        }
        self.length = Some(at);
    }
}

/// A log as the system opened it.
struct SystemFile {
    file: *mut sqlite3_file,
    methods: *const sqlite3_io_methods,
}

/// Calls one of the system's methods.
macro_rules! system {
    ($file:expr, $method:ident $(, $argument:expr)*) => {
        // SAFETY: the file is open for as long as the `Log` lives to which this belongs, the methods are its own and
        // constants of SQLite, and the arguments are as the method wants them.
        unsafe {
            match (*$file.methods).$method {
                Some(method) => method($file.file $(, $argument)*),
                None => SQLITE_IOERR,
            }
        }
    };
}

impl SystemFile {
    fn write(&self, bytes: &[u8], at: u64) -> c_int {
        let Ok(length) = c_int::try_from(bytes.len()) else { return SQLITE_IOERR };
        system!(self, xWrite, bytes.as_ptr().cast(), length, at.cast_signed())
    }

    fn length(&self) -> Option<u64> {
        let mut length = 0;
        let known = system!(self, xFileSize, &raw mut length);
        (known == SQLITE_OK).then_some(length.cast_unsigned())
    }
}

/// Opens a file in the memory that SQLite set aside for it, as much as `register` asked for.
unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let Some(system) = &*SYSTEM else { return SQLITE_CANTOPEN };
    let open = |flags: c_int| {
        // SAFETY: the arguments are the caller's, and the system's part of the memory comes first.
        unsafe {
            (*system.files)
                .xOpen
                .map_or(SQLITE_CANTOPEN, |open| open(system.files, name, file, flags, flags_out))
        }
    };
    let is_log = flags & SQLITE_OPEN_WAL != 0;
    let opened = match is_log && is_there_for_good(name) {
        true => match open(flags & !SQLITE_OPEN_CREATE) {
            SQLITE_OK => SQLITE_OK,
            _ => open(flags),
        },
        false => open(flags),
    };
    let what = match flags & SQLITE_OPEN_MAIN_DB != 0 {
        true => What::Store { is_alone: false, is_copied: false },
        false => What::Log,
    };
    if opened == SQLITE_OK && (is_log || what != What::Log) {
        // SAFETY: the system has set the methods of the file that it opened, and our part of the memory is behind its own.
        unsafe {
            let methods = (*file).pMethods;
            let log = Box::new(Log {
                methods: sqlite3_io_methods {
                    xClose: Some(close),
                    xRead: Some(read),
                    xWrite: Some(write),
                    xTruncate: Some(truncate),
                    xSync: Some(sync),
                    xFileSize: Some(file_size),
                    xLock: Some(lock),
                    xUnlock: Some(unlock),
                    xFileControl: Some(control),
                    ..*methods
                },
                system: SystemFile { file, methods },
                held: Held::default(),
                length: None,
                what,
            });
            let log = Box::into_raw(log);
            (*file).pMethods = &raw const (*log).methods;
            place(file, system).write(log);
        }
    }
    opened
}

/// Whether the directory need not be synced for this log, as SQLite does it for one that it may have to make. It does so when it
/// syncs the header, before a page is written behind that.
fn is_there_for_good(name: sqlite3_filename) -> bool {
    // SAFETY: SQLite gives the path of a file, or nothing for one without a name.
    let Some(name) = (unsafe { name.as_ref().map(|name| CStr::from_ptr(name)) }) else { return false };
    let about = fs::symlink_metadata(OsStr::from_bytes(name.to_bytes()));
    about.is_ok_and(|about| about.is_file() && about.len() > PAGE_BYTES_MIN)
}

/// Where the address of our part is kept.
///
/// # Safety
/// The memory of the file is as long as `register` asked for.
unsafe fn place(file: *mut sqlite3_file, system: &System) -> *mut *mut Log {
    // SAFETY: within that memory, and aligned.
    unsafe { file.byte_add(system.after).cast() }
}

/// # Safety
/// `open` made the file a log, and nobody else uses it meanwhile: SQLite uses a file from one thread at a time.
unsafe fn log<'a>(file: *mut sqlite3_file) -> Option<&'a mut Log> {
    // SAFETY: `open` has put it there, and only `close` takes it away.
    SYSTEM.as_ref().map(|system| unsafe { &mut **place(file, system) })
}

/// For a method of an open log.
macro_rules! with_log {
    ($file:ident, $log:ident => $act:expr) => {
        // SAFETY: SQLite calls this only for files that have these methods, which are logs.
        match unsafe { log($file) } {
            Some($log) => $act,
            None => SQLITE_IOERR,
        }
    };
}

/// What was held back first, then the system's method.
macro_rules! after_held {
    ($file:ident, $log:ident => $act:expr) => {
        with_log!($file, $log => match $log.write_held() {
            SQLITE_OK => $act,
            failed => failed,
        })
    };
}

unsafe extern "C" fn write(file: *mut sqlite3_file, bytes: *const c_void, length: c_int, at: i64) -> c_int {
    // SAFETY: SQLite gives so many bytes.
    let piece = unsafe { slice::from_raw_parts(bytes.cast(), length.unsigned_abs() as usize) };
    with_log!(file, log => log.write(piece, at.cast_unsigned()))
}

unsafe extern "C" fn read(file: *mut sqlite3_file, bytes: *mut c_void, length: c_int, at: i64) -> c_int {
    after_held!(file, log => system!(log.system, xRead, bytes, length, at))
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    after_held!(file, log => system!(log.system, xSync, flags))
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: i64) -> c_int {
    after_held!(file, log => {
        log.length = None;
        system!(log.system, xTruncate, length)
    })
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, length: *mut i64) -> c_int {
    after_held!(file, log => system!(log.system, xFileSize, length))
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    with_log!(file, log => {
        let locked = system!(log.system, xLock, level);
        if let What::Store { is_alone, .. } = &mut log.what {
            *is_alone |= locked == SQLITE_OK && level == SQLITE_LOCK_EXCLUSIVE;
        }
        locked
    })
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    with_log!(file, log => {
        let written = log.write_held();
        if let What::Store { is_alone, .. } = &mut log.what {
            *is_alone = false;
        }
        match system!(log.system, xUnlock, level) {
            SQLITE_OK => written,
            failed => failed,
        }
    })
}

/// SQLite says when it begins to copy the log, and when it has; after that it syncs.
unsafe extern "C" fn control(file: *mut sqlite3_file, what: c_int, with: *mut c_void) -> c_int {
    with_log!(file, log => {
        if let What::Store { is_copied, .. } = &mut log.what {
            match what {
                SQLITE_FCNTL_CKPT_START => *is_copied = true,
                SQLITE_FCNTL_CKPT_DONE => *is_copied = false,
                _ => {}
            }
        }
        system!(log.system, xFileControl, what, with)
    })
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    let Some(system) = &*SYSTEM else { return SQLITE_IOERR };
    // SAFETY: `open` put it there; nobody uses the file afterwards.
    let mut log = unsafe { Box::from_raw(place(file, system).read()) };
    // Of a commit nothing is held back.
    log.held.bytes.clear();
    // SAFETY: the file is still open, and is the system's again.
    unsafe { (*file).pMethods = log.system.methods };
    system!(log.system, xClose)
}

/// SQLite deletes a log when all of it is in the store and nobody else has the store open. It has the store's lock.
unsafe extern "C" fn delete(_: *mut sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: SQLite gives the path of a file.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    if path.as_os_str().as_bytes().ends_with(b"-wal") && empty(path).is_ok() {
        return SQLITE_OK;
    }
    let Some(system) = &*SYSTEM else { return SQLITE_IOERR };
    // SAFETY: the arguments are the caller's.
    unsafe {
        (*system.files).xDelete.map_or(SQLITE_IOERR, |delete| delete(system.files, name, sync_directory))
    }
}

/// As good as deleted, with its blocks kept. As with a deletion it does no harm if it is forgotten in a power cut: what the log had is in
/// the store; and before anything new is written behind the new header, SQLite syncs that. But a part of a log must never be taken for
/// the whole, so it is cut only when it is certain to be empty.
fn empty(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.nlink() != 1 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.write_all_at(&[0; HEADER_BYTES], 0)?;
    if about.len() > KEPT_BYTES_MAX {
        file.sync_data()?;
        file.set_len(KEPT_BYTES_MAX)?;
    }
    Ok(())
}
