//! One program that tries everything, under each tier, as the superuser and as nobody. The test starts itself twice more:
//! as the runtime that calls `bash`, and from there as the attacker. What each attempt must come to stands in a table.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use posse_tools::bash::BashTool;
use rustix::fs::{Timespec, Timestamps};
use serde_json::json;

use crate::world::{World, context, has_bubblewrap};

const ROLE: &str = "POSSE_TEST_ATTACK";
/// Where the attacked things are.
const FACTS: &str = "POSSE_TEST_FACTS";
/// A key of the runtime that no command may see.
const CANARY: &str = "POSSE_TEST_CANARY";
const CANARY_VALUE: &str = "canary-3f9a1c";
const NOBODY: u32 = 65_534;

/// What becomes of each attempt at tier T1 and at tier T2. The last part is honest work, which has to go on.
///
/// T1 has no view of its own of the file system: the attributes of files that belong to the same user can be read and
/// changed wherever they are. Nor has it queues of its own, so that there are none at all. That is the whole difference, and
/// it is documented.
const TABLE: &str = "
write a file outside                     denied   denied
write outside through ..                 denied   denied
write outside through a symbolic link    denied   denied
create a file outside                    denied   denied
make a directory outside                 denied   denied
remove a file outside                    denied   denied
truncate a file outside                  denied   denied
rename a file to the outside             denied   denied
link a file from outside to the inside   denied   denied
read a file outside                      denied   denied
list a directory outside                 denied   denied
see that a file outside is there         allowed  denied
change the mode of a file outside        allowed  denied
change the times of a file outside       allowed  denied
write to a setting of the kernel         denied   denied
connect by TCP                           denied   denied
listen by TCP                            denied   denied
send by UDP                              denied   denied
connect to a socket in the file system   denied   denied
connect to an abstract socket            denied   denied
send from one of a pair of sockets       denied   denied
signal a process outside                 denied   denied
slow down a process outside              denied   denied
let a process outside run when idle      denied   denied
keep a process outside on one processor  denied   denied
give a file outside an attribute         denied   denied
slow down all processes of the user      denied   denied
trace a process outside                  denied   denied
read the memory of a process outside     denied   denied
find the runtime's key in a process      denied   denied
have the runtime's key                   denied   denied
hold a descriptor of the runtime         denied   denied
mount something                          denied   denied
make a user name space                   denied   denied
clone into a user name space             denied   denied
use io_uring                             denied   denied
reach files by the root of a process     denied   denied
write the memory of a process outside    denied   denied
attach memory that others share          denied   denied
send to a queue of others                denied   denied
make a queue that stays                  denied   allowed
let everybody run a file as its owner    denied   denied
make such a file                         denied   denied
make such a file without a name          denied   denied
make such a file as a node               denied   denied
make such a file by openat2              denied   denied
hold a capability                        denied   denied
become the superuser                     denied   denied
write a file inside                      allowed  allowed
write a temporary file                   allowed  allowed
read a file inside                       allowed  allowed
run a program                            allowed  allowed
make a file executable                   allowed  allowed
talk over a pair of sockets              allowed  allowed
signal a child                           allowed  allowed
slow down oneself                        allowed  allowed
";
use posse_sandbox::launch::{CommandEnvironment, ProcessLauncher};
use posse_sandbox::supervisor::{Supervisor, WorkDirectory};
use posse_sandbox::{Sandbox, SandboxSettings, SandboxWish};

// G18 S08 S23 S25 Seen to fail on tier T1, as superuser, without `drop_all` (the key in /proc), the scope flags, the
// filter of sockets, with `/` as a read root, with a full network, and without `OF_OTHERS`, `OF_MODES`, `OF_OPENING` and
// the refusal of `openat2` in the filter together; as nobody without `OF_PRIORITIES`.
#[test]
fn every_attack_ends_as_the_table_says() {
    match std::env::var(ROLE).as_deref() {
        Ok("attacker") => return attack(&Facts::read()),
        Ok("runtime") => return be_the_runtime(),
        _ => {}
    }
    let is_root = rustix::process::geteuid().is_root();
    let users: &[Option<u32>] = if is_root { &[None, Some(NOBODY)] } else { &[None] };
    for user in users {
        for (column, tier) in ["t1", "t2"].into_iter().enumerate() {
            if tier == "t2" && !has_bubblewrap() {
                eprintln!("bubblewrap is not installed: tier t2 is not tested");
                continue;
            }
            let found = Field::new(*user).fight(tier);
            assert_eq!(found.trim(), expected(column).trim(), "tier {tier}, user {user:?}");
        }
    }
}

fn expected(column: usize) -> String {
    let rows = TABLE.lines().filter(|line| !line.is_empty());
    let row = |line: &str| {
        let (what, verdicts) = line.split_at(41);
        let verdict = verdicts.split_ascii_whitespace().nth(column).unwrap();
        format!("{}: {verdict}\n", what.trim())
    };
    rows.map(row).collect()
}

/// A directory with a workspace, things outside of it that belong to the same user, and somebody who listens.
struct Field {
    dir: tempfile::TempDir,
    user: Option<u32>,
    facts: Facts,
    _listeners: (TcpListener, UdpSocket, UnixListener, UnixListener, UnixDatagram),
    victim: std::process::Child,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Facts {
    tier: String,
    inside: PathBuf,
    outside: PathBuf,
    programs: PathBuf,
    tcp: u16,
    udp: u16,
    abstract_name: String,
    victim: i32,
    /// Of System V, open to everybody.
    memory: i32,
    queue: i32,
}

impl Facts {
    fn read() -> Self {
        serde_json::from_str(&std::env::var(FACTS).unwrap()).unwrap()
    }
}

impl Field {
    fn new(user: Option<u32>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let [inside, outside, programs, temporary] =
            ["inside", "outside", "programs", "temporary"].map(|name| top.join(name));
        for place in [&inside.join("src"), &outside.join("sub"), &programs, &temporary] {
            fs::create_dir_all(place).unwrap();
        }
        for file in ["file", "truncate", "remove", "read", "link", "mode"] {
            fs::write(outside.join(file), "secret").unwrap();
        }
        fs::write(inside.join("src/inside.txt"), "inside").unwrap();
        std::os::unix::fs::symlink(outside.join("file"), inside.join("src/link")).unwrap();
        // Not where they were built: another user may not get there.
        fs::copy(std::env::current_exe().unwrap(), programs.join("test")).unwrap();
        fs::copy(crate::SUPERVISOR, programs.join("supervise")).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UnixListener::bind(outside.join("socket")).unwrap();
        let datagrams = UnixDatagram::bind(outside.join("datagrams")).unwrap();
        let abstract_name = format!("posse-attack-{}-{user:?}", std::process::id());
        let address = {
            use std::os::linux::net::SocketAddrExt;
            std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap()
        };
        let nameless = UnixListener::bind_addr(&address).unwrap();
        let mut victim = Command::new("sleep");
        victim.arg("300");
        if let Some(user) = user {
            give_away(&top, user);
            victim.uid(user).gid(user);
        }
        let victim = victim.spawn().unwrap();
        let facts = Facts {
            tier: String::new(),
            inside,
            outside,
            programs,
            tcp: tcp.local_addr().unwrap().port(),
            udp: udp.local_addr().unwrap().port(),
            abstract_name,
            victim: victim.id() as i32,
            // SAFETY: plain numbers.
            memory: unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o666) },
            queue: unsafe { libc::msgget(libc::IPC_PRIVATE, libc::IPC_CREAT | 0o666) },
        };
        assert!(facts.memory >= 0 && facts.queue >= 0, "{}", io::Error::last_os_error());
        Self { dir, user, facts, _listeners: (tcp, udp, socket, nameless, datagrams), victim }
    }

    fn fight(mut self, tier: &str) -> String {
        self.facts.tier = tier.to_owned();
        let mut runtime = Command::new(self.facts.programs.join("test"));
        runtime
            .args(["--exact", "attacks::every_attack_ends_as_the_table_says", "--nocapture"])
            .env(ROLE, "runtime")
            .env(FACTS, serde_json::to_string(&self.facts).unwrap())
            .env(CANARY, CANARY_VALUE)
            .env("TMPDIR", self.dir.path().join("temporary"))
            .env("HOME", self.dir.path())
            .current_dir("/");
        if let Some(user) = self.user {
            runtime.uid(user).gid(user);
        }
        let done = runtime.output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{text}\n{}", String::from_utf8_lossy(&done.stderr));
        let lines = text.lines().filter_map(|line| line.strip_prefix("attack "));
        let found: String = lines.map(|line| format!("{line}\n")).collect();
        assert!(!found.is_empty(), "the attacker did not run: {text}");
        found
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        // SAFETY: plain numbers; nothing is written for this command.
        unsafe {
            libc::shmctl(self.facts.memory, libc::IPC_RMID, std::ptr::null_mut());
            libc::msgctl(self.facts.queue, libc::IPC_RMID, std::ptr::null_mut());
        }
    }
}

fn give_away(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap().flatten() {
            give_away(&entry.path(), user);
        }
        chown(path, Some(user), Some(user)).unwrap();
    }
}

/// Calls the tool as an agent would.
fn be_the_runtime() {
    let facts = Facts::read();
    let wish = if facts.tier == "t1" { SandboxWish::T1 } else { SandboxWish::T2 };
    let sandbox = Sandbox::new(SandboxSettings {
        wish,
        search: std::env::var_os("PATH").unwrap_or_default(),
        read: vec![facts.programs.clone()],
        temporary: std::env::temp_dir(),
        ..SandboxSettings::default()
    });
    let names = [ROLE, FACTS].map(str::to_owned).to_vec();
    // SAFETY: nothing else runs in this process that reads the environment.
    unsafe { std::env::set_var(ROLE, "attacker") };
    let launch = ProcessLauncher {
        supervisor: Supervisor { program: facts.programs.join("supervise"), args: Vec::new() },
        directory: WorkDirectory::Path(facts.inside.clone()),
        environment: CommandEnvironment::new(std::env::vars_os(), names, vec![CANARY.to_owned()]),
        sandbox,
        is_told: Default::default(),
    };
    // A descriptor that is not closed on exec, as a library may leave one.
    let leak = File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let test = facts.programs.join("test");
    let command =
        format!("{} --exact attacks::every_attack_ends_as_the_table_says --nocapture", test.display());
    let world = World { dir: tempfile::tempdir().unwrap(), context: context("attack"), launch };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bash = BashTool::new(world.launch.clone());
    let output = runtime.block_on(world.call(&bash, &json!({ "command": command }).to_string()));
    let _ = writeln!(std::io::stdout(), "{}", output.text);
}

/// Tries everything and says what came of it.
// flat table
fn attack(facts: &Facts) {
    let Facts { inside, outside, tcp, udp, abstract_name, victim, .. } = facts;
    let new = |name: &str| inside.join("src").join(name);
    let write = |path: &Path| OpenOptions::new().write(true).open(path)?.write_all(b"x");
    attempt("write a file outside", || write(&outside.join("file")));
    attempt("write outside through ..", || write(&inside.join("src/../../outside/file")));
    attempt("write outside through a symbolic link", || write(&new("link")));
    attempt("create a file outside", || File::create_new(outside.join("new")));
    attempt("make a directory outside", || fs::create_dir(outside.join("new-directory")));
    attempt("remove a file outside", || fs::remove_file(outside.join("remove")));
    attempt("truncate a file outside", || truncate(&outside.join("truncate")));
    attempt("rename a file to the outside", || {
        fs::write(new("mine"), "x")?;
        fs::rename(new("mine"), outside.join("sub/mine"))
    });
    attempt("link a file from outside to the inside", || {
        fs::hard_link(outside.join("link"), new("linked"))?;
        write(&new("linked"))
    });
    attempt("read a file outside", || fs::read(outside.join("read")));
    attempt("list a directory outside", || fs::read_dir(outside));
    attempt("see that a file outside is there", || fs::metadata(outside.join("file")));
    attempt("change the mode of a file outside", || {
        fs::set_permissions(outside.join("mode"), fs::Permissions::from_mode(0o777))
    });
    attempt("change the times of a file outside", || set_times(&outside.join("mode")));
    // As the superuser this would be a way out, and owning the file is enough for it.
    attempt("write to a setting of the kernel", || {
        OpenOptions::new().write(true).open("/proc/sys/kernel/core_pattern")
    });
    attempt("connect by TCP", || TcpStream::connect(("127.0.0.1", *tcp)));
    attempt("listen by TCP", || TcpListener::bind("127.0.0.1:0"));
    attempt("send by UDP", || UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", ("127.0.0.1", *udp)));
    attempt("connect to a socket in the file system", || UnixStream::connect(outside.join("socket")));
    attempt("connect to an abstract socket", || {
        use std::os::linux::net::SocketAddrExt;
        UnixStream::connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(abstract_name)?)
    });
    attempt("send from one of a pair of sockets", || {
        UnixDatagram::pair()?.0.send_to(b"x", outside.join("datagrams"))
    });
    // SAFETY, here and below: plain numbers and live buffers.
    attempt("signal a process outside", || done(unsafe { libc::kill(*victim, 0) }.into()));
    attempt("slow down a process outside", || {
        done(unsafe { libc::setpriority(libc::PRIO_PROCESS, *victim as libc::id_t, 19) }.into())
    });
    attempt("let a process outside run when idle", || {
        let parameters = libc::sched_param { sched_priority: 0 };
        done(unsafe { libc::sched_setscheduler(*victim, libc::SCHED_IDLE, &raw const parameters) }.into())
    });
    attempt("keep a process outside on one processor", || {
        // SAFETY: a set of processors is plain numbers.
        let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        unsafe { libc::CPU_SET(0, &mut one) };
        done(unsafe { libc::sched_setaffinity(*victim, size_of_val(&one), &raw const one) }.into())
    });
    attempt("give a file outside an attribute", || {
        let file = std::ffi::CString::new(outside.join("file").into_os_string().into_encoded_bytes())?;
        let (name, value) = (c"user.posse", c"x");
        done(unsafe { libc::setxattr(file.as_ptr(), name.as_ptr(), value.as_ptr().cast(), 1, 0) }.into())
    });
    attempt("slow down all processes of the user", || {
        done(unsafe { libc::setpriority(libc::PRIO_USER, 0, 1) }.into())
    });
    attempt("trace a process outside", || done(unsafe { libc::ptrace(libc::PTRACE_ATTACH, *victim, 0, 0) }));
    attempt("read the memory of a process outside", || memory_of(*victim));
    attempt("find the runtime's key in a process", find_the_key);
    attempt("have the runtime's key", || std::env::var(CANARY).map_err(io::Error::other));
    attempt("hold a descriptor of the runtime", || {
        (3..64).map(descriptor).find(Result::is_ok).unwrap_or(Err(none()))
    });
    attempt("mount something", || {
        let from = c"/".as_ptr();
        done(unsafe { libc::mount(from, c"/tmp".as_ptr(), from, libc::MS_BIND, std::ptr::null()) }.into())
    });
    attempt("make a user name space", || done(unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into()));
    attempt("clone into a user name space", || {
        let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
        match unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) } {
            0 => unsafe { libc::_exit(0) },
            pid => done(pid),
        }
    });
    attempt("use io_uring", || {
        let mut parameters = [0u8; 120];
        done(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1u32, parameters.as_mut_ptr()) })
    });
    attempt("reach files by the root of a process", || {
        fs::read(format!("/proc/{victim}/root{}", outside.join("read").display()))
    });
    attempt("write the memory of a process outside", || {
        OpenOptions::new().write(true).open(format!("/proc/{victim}/mem"))
    });
    attempt("attach memory that others share", || {
        match unsafe { libc::shmat(facts.memory, std::ptr::null(), libc::SHM_RDONLY) } as isize {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    });
    attempt("send to a queue of others", || {
        let message = [1i64, 0];
        done(unsafe { libc::msgsnd(facts.queue, message.as_ptr().cast(), 1, libc::IPC_NOWAIT) }.into())
    });
    attempt("make a queue that stays", || {
        let queue = done(unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) }.into())?;
        done(unsafe { libc::msgctl(queue as i32, libc::IPC_RMID, std::ptr::null_mut()) }.into())
    });
    set_id_attempts(&new("mine-to-run"), &new("made"));
    attempt("hold a capability", || {
        let status = fs::read_to_string("/proc/self/status")?;
        // Only the privileged can empty the bounding set, and for all others it is no longer of use.
        let counts = |line: &&str| rustix::process::geteuid().is_root() || !line.starts_with("CapBnd");
        let mut sets = status.lines().filter(|line| line.starts_with("Cap")).filter(counts);
        if sets.any(|line| !line.ends_with("0000000000000000")) { Ok(()) } else { Err(none()) }
    });
    attempt("become the superuser", || {
        done(unsafe { libc::setuid(0) }.into())?;
        // Who is user 0 already has to gain something by it.
        OpenOptions::new().write(true).open("/dev/mem")
    });
    attempt("write a file inside", || fs::write(new("inside.txt"), "changed"));
    attempt("write a temporary file", || fs::write(std::env::temp_dir().join("mine"), "x"));
    attempt("read a file inside", || fs::read(new("inside.txt")));
    attempt("run a program", || Command::new("ls").stdout(Stdio::null()).status());
    attempt("make a file executable", || {
        fs::set_permissions(new("inside.txt"), fs::Permissions::from_mode(0o755))
    });
    attempt("talk over a pair of sockets", || {
        let (mut one, mut other) = UnixStream::pair()?;
        one.write_all(b"x")?;
        other.read_exact(&mut [0])
    });
    attempt("signal a child", || Command::new("sleep").arg("300").spawn()?.kill());
    attempt("slow down oneself", || done(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) }.into()));
}

/// Ways to a file that runs with the rights of its owner, whoever starts it.
fn set_id_attempts(existing: &Path, made: &Path) {
    const MODE: libc::mode_t = 0o4755;
    let path = std::ffi::CString::new(made.to_str().unwrap()).unwrap();
    let gone = || {
        let _ = fs::remove_file(made);
    };
    let has_bit = |done: i64| {
        let mode = if done < 0 { 0 } else { fs::metadata(made)?.permissions().mode() };
        gone();
        if mode & 0o6000 == 0 { Err(none()) } else { Ok(()) }
    };
    let _ = fs::write(existing, "x");
    attempt("let everybody run a file as its owner", || {
        let by_path = fs::set_permissions(existing, fs::Permissions::from_mode(MODE));
        let open = File::open(existing)?;
        by_path
            .or_else(|_| open.set_permissions(fs::Permissions::from_mode(0o2755)))
            .or_else(|_| {
                done(unsafe { libc::fchmod(std::os::fd::AsRawFd::as_raw_fd(&open), MODE) }.into()).map(|_| ())
            })
            .or_else(|_| {
                let path = std::ffi::CString::new(existing.to_str().unwrap()).unwrap();
                let calls = [(libc::SYS_fchmodat, 0), (452, 0)];
                let mut tried = calls.iter().map(|(call, flags)| {
                    done(unsafe { libc::syscall(*call, libc::AT_FDCWD, path.as_ptr(), MODE, *flags) })
                });
                tried.find(Result::is_ok).map_or(Err(none()), |_| Ok(()))
            })
    });
    let create = libc::O_CREAT | libc::O_WRONLY;
    attempt("make such a file", || {
        has_bit(unsafe { libc::open(path.as_ptr(), create, MODE) }.into())
            .or_else(|_| {
                has_bit(unsafe {
                    libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), create, MODE)
                })
            })
            .or_else(|_| has_bit(unsafe { libc::creat(path.as_ptr(), MODE) }.into()))
    });
    attempt("make such a file without a name", || {
        let place = std::ffi::CString::new(made.parent().unwrap().to_str().unwrap()).unwrap();
        done(unsafe { libc::open(place.as_ptr(), libc::O_TMPFILE | libc::O_RDWR, MODE) }.into())
    });
    attempt("make such a file as a node", || {
        has_bit(unsafe { libc::mknod(path.as_ptr(), libc::S_IFREG | MODE, 0) }.into())
    });
    attempt("make such a file by openat2", || {
        let how = [create as u64, u64::from(MODE), 0];
        has_bit(unsafe {
            libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), how.as_ptr(), 24usize)
        })
    });
}

fn attempt<T>(what: &str, attempt: impl FnOnce() -> io::Result<T>) {
    let verdict = attempt().map_or("denied", |_| "allowed");
    // In one piece: a child that was cloned must not repeat half a line.
    let _ = writeln!(std::io::stdout(), "attack {what}: {verdict}");
}

fn none() -> io::Error {
    io::ErrorKind::NotFound.into()
}

fn done(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn truncate(path: &Path) -> io::Result<i64> {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path is a live string.
    done(unsafe { libc::truncate(path.as_ptr(), 0) }.into())
}

fn set_times(path: &Path) -> io::Result<()> {
    let time = Timespec { tv_sec: 1, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::empty())?)
}

fn memory_of(pid: i32) -> io::Result<i64> {
    let mut byte = [0u8; 1];
    let local = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let start =
        maps.split('-').next().and_then(|start| usize::from_str_radix(start, 16).ok()).ok_or_else(none)?;
    let remote = libc::iovec { iov_base: start as *mut _, iov_len: 1 };
    // SAFETY: both point to one byte each, the remote one in another process.
    done(unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) } as i64)
}

/// In the environment of any process that can be seen, the supervisor and the runtime among them.
fn find_the_key() -> io::Result<()> {
    let seen =
        fs::read_dir("/proc")?.flatten().filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    let has_key =
        |environment: &Vec<u8>| environment.windows(CANARY_VALUE.len()).any(|w| w == CANARY_VALUE.as_bytes());
    if seen.into_iter().any(|environment| has_key(&environment)) { Ok(()) } else { Err(none()) }
}

/// Whether a descriptor leads to a file, and not to something that this process made itself.
fn descriptor(number: i32) -> io::Result<()> {
    let target = fs::read_link(format!("/proc/self/fd/{number}"))?;
    if target.starts_with("/etc") { Ok(()) } else { Err(none()) }
}
