//! SIGTERM and SIGHUP end this process without canceling its tasks: they stay in the store, as after `kill -9`, and
//! can be resumed.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_sandbox::process::ignores_hang_up;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit code for the signal that ended this process; 0 if none did.
static EXIT_CODE: AtomicU8 = AtomicU8::new(0);

/// A signal that asks this process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    Terminate,
    HangUp,
}

impl EndSignal {
    fn name(self) -> &'static str {
        match self {
            EndSignal::Terminate => "SIGTERM",
            EndSignal::HangUp => "SIGHUP",
        }
    }

    /// 128 plus the signal's number, as shells report it.
    pub fn exit_code(self) -> u8 {
        let number = match self {
            EndSignal::Terminate => SignalKind::terminate(),
            EndSignal::HangUp => SignalKind::hangup(),
        };
        128 + number.as_raw_value() as u8
    }

    /// Returns the error that ends a command while it drives `task`, and remembers the exit code for `main`.
    pub fn interrupt(self, task: &TaskId) -> Error {
        EXIT_CODE.store(self.exit_code(), Ordering::Relaxed);
        error(self.name(), task)
    }
}

/// Returns the error of a task that Ctrl-C interrupted.
pub fn interrupted(task: &TaskId) -> Error {
    error("Ctrl-C", task)
}

fn error(signal: &str, task: &TaskId) -> Error {
    Error::new(ErrorCode::Interrupted, say!("task-interrupted", task, signal))
        .hint(say!("task-interrupted-hint", task))
}

/// Returns the exit code of a process that a signal ended.
pub fn exit_code() -> Option<ExitCode> {
    match EXIT_CODE.load(Ordering::Relaxed) {
        0 => None,
        code => Some(ExitCode::from(code)),
    }
}

/// A receiver of the signals that ask this process to end. Signals that arrive before `recv` is called are not lost.
pub struct EndSignals {
    terminate: Signal,
    /// `None` if this process was started with SIGHUP ignored, as `nohup` does: then a closed terminal does not end it.
    hang_up: Option<Signal>,
}

impl EndSignals {
    pub fn listen() -> Result<Self> {
        let terminate = receiver(SignalKind::terminate())?;
        let hang_up = match ignores_hang_up() {
            true => None,
            false => Some(receiver(SignalKind::hangup())?),
        };
        Ok(Self { terminate, hang_up })
    }

    pub async fn recv(&mut self) -> EndSignal {
        let hang_up = self.hang_up.as_mut();
        let hung_up = async {
            match hang_up {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => EndSignal::Terminate,
            () = hung_up => EndSignal::HangUp,
        }
    }
}

/// Installs a receiver for one signal.
pub fn receiver(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|e| Error::new(ErrorCode::Io, say!("signals-unavailable")).caused_by(e))
}
