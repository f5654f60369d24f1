//! The filter of system calls: ways around Landlock, ways to reach the network and other processes, and what only an
//! administrator needs. Everything else is allowed, because commands are any programs.

use std::io;

use posse_core::confinement::NetworkReach;
use posse_core::grant::SandboxTier;

/// Calls that fail with `EPERM`, whatever their arguments.
const DENIED: &[i64] = &[
    // Other name spaces, other views of the file system.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Work that the kernel does without being asked through a call that is seen here.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Parts of the kernel with a long history of holes, of no use to a build or a test.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Memory, queues and counters that are found by a number and not by a path, so that Landlock does not see them, and that stay
/// when their maker ends. Inside of name spaces there are none but the command's own.
const OF_OTHERS: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that say how much of the machine a process gets, and which of their arguments says whose: nobody's is one's own. A
/// supervisor that gets nothing beside many busy processes ends none of them. Inside of name spaces it cannot be named.
const OF_PRIORITIES: &[(i64, u32)] = &[
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
];

/// Calls that give a file attributes, lists of access among them. Landlock knows nothing of them, so that they would reach
/// every file of the user.
const OF_ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];
/// The same numbers everywhere; the library does not have their names yet.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
/// Argument of `setpriority` and `ioprio_set` that means all processes of a user.
const PRIO_USER: u32 = 2;
const IOPRIO_WHO_USER: u32 = 3;

/// Mode bits that give a program its owner's rights, which would outlive the sandbox.
const SET_ID: u32 = 0o6000;
/// Flags of `open` with which a file is made, so that there is a mode: `O_CREAT` and the part of `O_TMPFILE` that says so.
const MAKING: u32 = libc::O_CREAT as u32 | 0o20_000_000;
/// Calls that set the mode of a file, and which of their arguments it is.
const OF_MODES: &[(i64, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];
/// The same number everywhere; not every version of the library has its name.
const FCHMODAT2: i64 = 452;
/// Calls that may make a file, with where their flags and their mode are.
const OF_OPENING: &[(i64, u32, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Without a network these have no use: there is no socket to call them with. A second lock on the same door.
const OF_SOCKETS: &[i64] =
    &[libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// Flags of `clone` for every kind of namespace.
const NAME_SPACES: u32 = 0x7e02_0080;

/// Bit 30 of a number means the x32 variant of a call, which the table above does not name.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xc000_00f3;

// Offsets in `struct seccomp_data`; all architectures above are little-endian.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const fn argument_at(index: u32) -> u32 {
    16 + 8 * index
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const IF_ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

const fn fail(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno as u32
}

pub(crate) struct SeccompFilter(Vec<libc::sock_filter>);

impl SeccompFilter {
    /// Builds the filter for a tier and network access.
    pub fn new(tier: SandboxTier, network: &NetworkReach) -> Self {
        let mut filter = Self(Vec::new());
        filter.step(LOAD, ARCHITECTURE_AT, 0, 0);
        filter.step(IF_EQUAL, ARCHITECTURE, 1, 0);
        filter.end(KILL);
        filter.step(LOAD, NUMBER_AT, 0, 0);
        #[cfg(target_arch = "x86_64")]
        {
            filter.step(IF_AT_LEAST, X32, 0, 1);
            filter.end(fail(libc::ENOSYS));
        }
        for call in DENIED {
            filter.deny(*call, libc::EPERM);
        }
        if tier < SandboxTier::Namespaces {
            for call in OF_OTHERS {
                filter.deny(*call, libc::EPERM);
            }
        }
        if tier < SandboxTier::Namespaces {
            for (call, whose) in OF_PRIORITIES {
                filter.deny_if(*call, *whose, &[(IF_AT_LEAST, 1)]);
            }
            // As on a file system without them, so that programs that copy files go on.
            for call in OF_ATTRIBUTES {
                filter.deny(*call, libc::EOPNOTSUPP);
            }
        }
        filter.deny_if(libc::SYS_setpriority, 0, &[(IF_EQUAL, PRIO_USER)]);
        filter.deny_if(libc::SYS_ioprio_set, 0, &[(IF_EQUAL, IOPRIO_WHO_USER)]);
        // Their flags and modes are in memory, where a filter cannot look. Libraries fall back to `clone` and `openat`.
        filter.deny(libc::SYS_clone3, libc::ENOSYS);
        filter.deny(libc::SYS_openat2, libc::ENOSYS);
        filter.deny_if(libc::SYS_clone, 0, &[(IF_ANY_BIT, NAME_SPACES)]);
        // Typing into the terminal of whoever started us.
        filter.deny_if(libc::SYS_ioctl, 1, &[(IF_EQUAL, 0x5412), (IF_EQUAL, 0x541c)]);
        // Limits of others: whoever starves the supervisor outlives it. Its own limits a process may lower, as process 0.
        filter.deny_if(libc::SYS_prlimit64, 0, &[(IF_AT_LEAST, 1)]);
        for (call, mode) in OF_MODES {
            filter.deny_if(*call, *mode, &[(IF_ANY_BIT, SET_ID)]);
        }
        for (call, flags, mode) in OF_OPENING {
            filter.deny_making(*call, *flags, *mode);
        }
        filter.sockets(network);
        filter.end(ALLOW);
        filter
    }

    fn sockets(&mut self, network: &NetworkReach) {
        let inet = [libc::AF_INET as u32, libc::AF_INET6 as u32];
        // A pair of connected sockets is a pipe. Of datagrams, each could still be sent to any address.
        self.allow_only(libc::SYS_socketpair, 1, Some(0xf), &[1, 5]);
        match network {
            NetworkReach::None => {
                self.deny(libc::SYS_socket, libc::EACCES);
                for call in OF_SOCKETS {
                    self.deny(*call, libc::EACCES);
                }
            }
            // TCP only: Landlock knows no other ports.
            NetworkReach::Ports(_) => {
                self.allow_only(libc::SYS_socket, 0, None, &inet);
                self.allow_only(libc::SYS_socket, 1, Some(0xf), &[libc::SOCK_STREAM as u32]);
                // Neither SCTP nor MPTCP nor anything else that has streams.
                self.allow_only(libc::SYS_socket, 2, None, &[0, libc::IPPROTO_TCP as u32]);
                // Opening a connection by sending.
                for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)]
                {
                    self.deny_if(call, flags, &[(IF_ANY_BIT, libc::MSG_FASTOPEN as u32)]);
                }
            }
            // No local sockets: behind those are daemons that do what one asks.
            NetworkReach::Full => {
                let netlink = libc::AF_NETLINK as u32;
                self.allow_only(libc::SYS_socket, 0, None, &[inet[0], inet[1], netlink]);
            }
        }
    }

    fn step(&mut self, code: u16, k: u32, then: u8, otherwise: u8) {
        self.0.push(libc::sock_filter { code, jt: then, jf: otherwise, k });
    }

    fn end(&mut self, action: u32) {
        self.step(RETURN, action, 0, 0);
    }

    /// The number of the call is loaded before and after each of these.
    fn deny(&mut self, call: i64, errno: i32) {
        self.step(IF_EQUAL, call as u32, 0, 1);
        self.end(fail(errno));
    }

    fn deny_if(&mut self, call: i64, argument: u32, tests: &[(u16, u32)]) {
        let body = 1 + 2 * tests.len() + 1;
        self.step(IF_EQUAL, call as u32, 0, body as u8);
        self.step(LOAD, argument_at(argument), 0, 0);
        for (test, value) in tests {
            self.step(*test, *value, 0, 1);
            self.end(fail(libc::EPERM));
        }
        self.step(LOAD, NUMBER_AT, 0, 0);
    }

    fn deny_making(&mut self, call: i64, flags: u32, mode: u32) {
        self.step(IF_EQUAL, call as u32, 0, 6);
        self.step(LOAD, argument_at(flags), 0, 0);
        self.step(IF_ANY_BIT, MAKING, 0, 3);
        self.step(LOAD, argument_at(mode), 0, 0);
        self.step(IF_ANY_BIT, SET_ID, 0, 1);
        self.end(fail(libc::EPERM));
        self.step(LOAD, NUMBER_AT, 0, 0);
    }

    fn allow_only(&mut self, call: i64, argument: u32, mask: Option<u32>, values: &[u32]) {
        let body = 1 + usize::from(mask.is_some()) + values.len() + 1 + 1;
        self.step(IF_EQUAL, call as u32, 0, body as u8);
        self.step(LOAD, argument_at(argument), 0, 0);
        if let Some(mask) = mask {
            self.step(AND, mask, 0, 0);
        }
        for (at, value) in values.iter().enumerate() {
            // Over the other values and the refusal.
            self.step(IF_EQUAL, *value, (values.len() - at) as u8, 0);
        }
        self.end(fail(libc::EACCES));
        self.step(LOAD, NUMBER_AT, 0, 0);
    }

    /// Runs between `fork` and `exec`. Needs `no_new_privs`.
    pub fn apply(&self) -> io::Result<()> {
        let program = libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the program points to a live vector of this length, which the kernel only reads.
        let done = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0u32, &raw const program)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Tells whether the kernel supports filters.
pub(crate) fn is_there() -> bool {
    let action = libc::SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the kernel reads one number.
    unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0u32, &raw const action) == 0 }
}
