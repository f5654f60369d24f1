//! Giving up privileges for good. A superuser without capabilities is a user who owns the system's files; with them it
//! reads the memory and the environment of every process, whatever Landlock says.

use std::io;

const LAST_CAPABILITY_MAX: i32 = 63;
const VERSION_3: u32 = 0x2008_0522;
/// No capabilities for user 0, neither by `exec` nor by changing the user, and that for good.
const NO_ROOT: u32 = 0b1111 | 0b1100_0000;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Runs between `fork` and `exec`. Whatever was held before, nothing is held afterwards.
pub(crate) fn drop_all() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as u64, 0)?;
    for capability in 0..=LAST_CAPABILITY_MAX {
        // Either the kernel has no more of them, or whoever may not drop it cannot get it either: `exec` gives nothing more now.
        if prctl(libc::PR_CAPBSET_DROP, capability as u64, 0).is_err() {
            break;
        }
    }
    // Only the privileged may say this, and only for them it means something.
    let _ = prctl(libc::PR_SET_SECUREBITS, u64::from(NO_ROOT), 0);
    let header = CapabilityHeader { version: VERSION_3, pid: 0 };
    let none = [CapabilitySets::default(); 2];
    // SAFETY: the kernel reads one header and two sets, which is what this version has.
    if unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut left = [CapabilitySets { effective: 1, ..CapabilitySets::default() }; 2];
    // SAFETY: the kernel writes two sets.
    if unsafe { libc::syscall(libc::SYS_capget, &raw const header, left.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if left == none { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

fn prctl(what: i32, one: u64, two: u64) -> io::Result<i32> {
    // SAFETY: plain numbers.
    match unsafe { libc::prctl(what, one, two, 0u64, 0u64) } {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done),
    }
}
