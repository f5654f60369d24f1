//! Running cargo, at the root of the workspace.

use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Where `Cargo.lock` is. Cargo tells a program it runs where its own package is.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    package.and_then(|package| package.parent().map(PathBuf::from)).unwrap_or_else(|| PathBuf::from("."))
}

pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs cargo with its output shown, and fails if it does.
pub fn run(arguments: &[&str]) -> Result<()> {
    eprintln!("$ cargo {}", arguments.join(" "));
    let status = cargo(arguments).status().context("cargo cannot be started")?;
    if !status.success() {
        bail!("`cargo {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}

/// Whether cargo accepts the arguments, without showing its output.
pub fn succeeds(arguments: &[&str]) -> bool {
    let status = cargo(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Like `succeeds`, for what may hang: after `time_max` it is ended and counts as failed.
pub fn succeeds_within(arguments: &[&str], time_max: Duration) -> bool {
    within(cargo(arguments).stdout(Stdio::null()), time_max)
}

/// Whether a program succeeds in time; after `time_max` it is ended.
pub fn within(command: &mut Command, time_max: Duration) -> bool {
    let Ok(mut child) = command.spawn() else { return false };
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return ExitStatus::success(&status),
            Ok(None) if started.elapsed() < time_max => std::thread::sleep(Duration::from_millis(50)),
            Ok(None) | Err(_) => {
                // It is ended either way; waiting only collects it.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}
