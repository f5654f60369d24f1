//! The end of a server. Hosts end theirs in every way there is: by closing its input, with SIGINT, with SIGTERM; and a host that answers one
//! question and exits is gone long before its tasks are done.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::session::Hosted;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Global;
use crate::config::OnExit;
use crate::terminal;

pub async fn told_to_stop() -> Result<()> {
    let failed = |e| Error::new(ErrorCode::Io, say!("signals-unavailable")).caused_by(e);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(failed)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Ok(())
}

/// What becomes of tasks that are at work.
pub async fn leave(global: &Global, hosted: &Hosted, on_exit: OnExit) -> Result<()> {
    if hosted.at_work().is_empty() {
        return Ok(());
    }
    match on_exit {
        OnExit::HandOver => {
            let left = hosted.let_go().await?;
            if left.is_empty() {
                return Ok(());
            }
            start_worker(global)?;
            terminal::note(&say!("mcp-handed-over", count = left.len()));
        }
        OnExit::Cancel => hosted.cancel_all().await,
        OnExit::Leave => drop(hosted.let_go().await?),
    }
    Ok(())
}

/// `--flag=path`: whatever a path begins with, it is no flag of its own.
pub fn joined(flag: &str, path: &Path) -> OsString {
    [OsStr::new(flag), OsStr::new("="), path.as_os_str()].into_iter().collect()
}

/// In a session of its own, so that whatever ends the host's processes does not end this one.
fn start_worker(global: &Global) -> Result<()> {
    let failed = |e| Error::new(ErrorCode::Io, say!("mcp-worker-not-started")).caused_by(e);
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["worker", "--local", "--until-idle"]);
    for (flag, path) in [("--state", &global.state), ("--config", &global.config), ("--log", &global.log)] {
        if let Some(path) = path {
            command.arg(joined(flag, path));
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: one call that is allowed between fork and exec, and takes no pointers.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    command.spawn().map(drop).map_err(failed)
}
