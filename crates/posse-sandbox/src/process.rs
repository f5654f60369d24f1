//! Signals and sessions of processes that are no tool's: this one, and those that outlive it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Ignores SIGXFSZ: a write beyond the limit on the size of files is an error that can be reported, not the end of the process.
pub fn ignore_file_size_signal() {
    // SAFETY: sets how one signal is handled and takes no pointers.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Tells whether this process ignores SIGHUP, as one does that `nohup` started. Once the signal is received, it is not ignored
/// any more.
pub fn ignores_hang_up() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a query, without a new action; `action` is valid for writes, and all zeros are a valid value of it.
    let action = unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Starts a command in a session of its own, so that the end of the terminal does not end it. A higher `niceness` gives way
/// to others.
pub fn spawn_detached(command: &mut Command, niceness: i32) -> io::Result<Child> {
    // SAFETY: makes two system calls that are allowed between fork and exec, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if niceness != 0 {
                // Without it the command works all the same.
                let _ = rustix::process::setpriority_process(None, niceness);
            }
            rustix::process::setsid()?;
            Ok(())
        });
    }
    command.spawn()
}
