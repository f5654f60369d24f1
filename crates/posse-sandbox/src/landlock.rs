//! Landlock, by its three system calls: a ruleset handles some rights, rules give them back for what is beneath a path,
//! and a process that restricts itself keeps no others. Each ruleset that is applied takes away more.

use std::fmt;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use posse_core::confinement::NetworkReach;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

const READING: u64 = EXECUTE | READ_FILE | READ_DIR;
const CHANGING: u64 = WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_CHAR
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_BLOCK
    | MAKE_SYM
    | REFER
    | TRUNCATE;
/// Rights that a rule for a non-directory may give.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const BIND_TCP: u64 = 1;
const CONNECT_TCP: u64 = 1 << 1;
/// Abstract sockets and signals reach nobody outside.
const SCOPES: u64 = 1 | 1 << 1;

const RULE_PATH_BENEATH: u32 = 1;
const RULE_NET_PORT: u32 = 2;
const ABI_VERSION: u32 = 1;

/// Rights that a rule gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleAccess {
    /// Reading and executing.
    Reading,
    /// The names in a directory and in all below it, and nothing else of them.
    Names,
    /// Changing, but not making devices, and not reading.
    Changing,
    /// That and reading.
    Everything,
    /// A device that is read, written and controlled.
    Device,
}

#[repr(C)]
struct RulesetAttr {
    fs: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneathAttr {
    allowed: u64,
    parent: i32,
}

#[repr(C)]
struct NetPortAttr {
    allowed: u64,
    port: u64,
}

/// Returns the Landlock version of the kernel; 0 without Landlock.
pub(crate) fn version() -> u32 {
    // SAFETY: with this flag the kernel reads neither of the other arguments.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, ABI_VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

pub(crate) struct LandlockRuleset {
    fd: OwnedFd,
    handled: u64,
}

/// To be applied one after the other. They refer to files and not to paths, and go from process to process as descriptors.
#[derive(Clone, Default)]
pub(crate) struct LandlockRulesets(Arc<Vec<LandlockRuleset>>);

impl LandlockRulesets {
    /// Creates a stack of rulesets.
    pub fn new(all: Vec<LandlockRuleset>) -> Self {
        Self(Arc::new(all))
    }

    /// From another process, which has built them.
    pub fn received(all: Vec<OwnedFd>) -> Self {
        Self::new(all.into_iter().map(|fd| LandlockRuleset { fd, handled: 0 }).collect())
    }

    /// Iterates over the rulesets.
    pub fn iter(&self) -> impl Iterator<Item = &LandlockRuleset> {
        self.0.iter()
    }

    /// Iterates over the descriptors to pass to a helper.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.iter().map(|ruleset| ruleset.fd.as_fd())
    }
}

impl PartialEq for LandlockRulesets {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LandlockRulesets {}

impl fmt::Debug for LandlockRulesets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rulesets({})", self.0.len())
    }
}

impl LandlockRuleset {
    /// Everything that this version can hold.
    pub fn whole(version: u32, network: &NetworkReach) -> io::Result<Self> {
        let net = match network {
            NetworkReach::Full => 0,
            NetworkReach::None | NetworkReach::Ports(_) if version < 4 => 0,
            NetworkReach::None | NetworkReach::Ports(_) => BIND_TCP | CONNECT_TCP,
        };
        let scoped = if version < 6 { 0 } else { SCOPES };
        let ruleset = Self::create(READING | known(CHANGING | IOCTL_DEV, version), net, scoped)?;
        if let (NetworkReach::Ports(ports), true) = (network, net != 0) {
            for port in ports {
                ruleset.add_port(*port)?;
            }
        }
        Ok(ruleset)
    }

    /// Changing files alone.
    pub fn changes(version: u32) -> io::Result<Self> {
        Self::create(known(CHANGING, version), 0, 0)
    }

    fn create(fs: u64, net: u64, scoped: u64) -> io::Result<Self> {
        let attr = RulesetAttr { fs, net, scoped };
        // An older kernel takes a longer structure if what it does not know is zero.
        // SAFETY: the pointer and the size are those of a live structure.
        let fd = unsafe {
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size_of::<RulesetAttr>(), 0u32)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor, close-on-exec, for us.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, handled: fs })
    }

    /// For what is beneath an open directory, or for one open file.
    pub fn add(&self, path: BorrowedFd<'_>, gives: RuleAccess) -> io::Result<()> {
        let given = match gives {
            RuleAccess::Reading => READING,
            RuleAccess::Names => READ_DIR,
            RuleAccess::Changing => CHANGING & !(MAKE_CHAR | MAKE_BLOCK),
            RuleAccess::Everything => READING | (CHANGING & !(MAKE_CHAR | MAKE_BLOCK)),
            RuleAccess::Device => READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
        };
        let is_directory = {
            let stat = rustix::fs::fstat(path)?;
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory
        };
        let allowed = given & self.handled & if is_directory { u64::MAX } else { OF_FILES };
        if allowed == 0 {
            return Ok(());
        }
        let attr = PathBeneathAttr { allowed, parent: path.as_raw_fd() };
        self.add_rule(RULE_PATH_BENEATH, (&raw const attr).cast())
    }

    fn add_port(&self, port: u16) -> io::Result<()> {
        let attr = NetPortAttr { allowed: CONNECT_TCP, port: port.into() };
        self.add_rule(RULE_NET_PORT, (&raw const attr).cast())
    }

    fn add_rule(&self, kind: u32, attr: *const u8) -> io::Result<()> {
        // SAFETY: each caller passes a live structure of the kind it names.
        let done =
            unsafe { libc::syscall(libc::SYS_landlock_add_rule, self.fd.as_raw_fd(), kind, attr, 0u32) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Runs between `fork` and `exec`. Needs `no_new_privs`.
    pub fn apply(&self) -> io::Result<()> {
        // SAFETY: plain numbers.
        let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.fd.as_raw_fd(), 0u32) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Masks the rights that this version knows.
fn known(rights: u64, version: u32) -> u64 {
    let mut rights = rights;
    for (right, since) in [(REFER, 2), (TRUNCATE, 3), (IOCTL_DEV, 5)] {
        if version < since {
            rights &= !right;
        }
    }
    rights
}
