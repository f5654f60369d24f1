//! Descriptors of the terminal, and its modes.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use posse_terminal::painter::{RawSwitch, TerminalSize};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpgrp, kill_current_process_group};
use rustix::termios::{
    OptionalActions, OutputModes, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};

/// Signal that tells a stopped process to go on.
pub(super) const SIGCONT: i32 = Signal::CONT.as_raw();

/// Size that is assumed where the terminal does not say.
const USUAL_SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };
/// Bytes read at once.
const READ_BYTES: usize = 4_096;

/// The terminal of a process: where keys come from, and where it is painted.
#[derive(Debug)]
pub struct ConsoleIo {
    /// `None` if keys cannot be read; the console only paints.
    input: Option<File>,
    output: File,
}

impl ConsoleIo {
    /// Uses these descriptors.
    pub fn new(input: Option<OwnedFd>, output: OwnedFd) -> Self {
        Self { input: input.map(File::from), output: File::from(output) }
    }

    /// Finds the terminal behind standard error, with keys from standard input or `/dev/tty`. Returns `None` if there is none,
    /// or if this process is a job in the background, which must not touch it.
    pub fn of_process() -> io::Result<Option<Self>> {
        let (stdin, stderr) = (io::stdin(), io::stderr());
        if !stderr.is_terminal() {
            return Ok(None);
        }
        let foreground = tcgetpgrp(&stderr);
        let input = match foreground {
            Ok(group) if group != getpgrp() => return Ok(None),
            _ if stdin.is_terminal() => Some(stdin.as_fd().try_clone_to_owned()?),
            // Only the controlling terminal has a foreground group, and `/dev/tty` is that terminal.
            Ok(_) => File::options().read(true).open("/dev/tty").ok().map(OwnedFd::from),
            Err(_) => None,
        };
        Ok(Some(Self::new(input, stderr.as_fd().try_clone_to_owned()?)))
    }

    /// Returns the size of the terminal.
    pub fn size(&self) -> TerminalSize {
        let Ok(told) = tcgetwinsize(&self.output) else { return USUAL_SIZE };
        let or = |told: u16, usual| if told > 0 { usize::from(told) } else { usual };
        TerminalSize { columns: or(told.ws_col, USUAL_SIZE.columns), rows: or(told.ws_row, USUAL_SIZE.rows) }
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        let input = self.input.as_ref().map(File::try_clone).transpose()?;
        Ok(Self { input, output: self.output.try_clone()? })
    }

    /// Tells whether keys can be read.
    pub fn has_input(&self) -> bool {
        self.input.is_some()
    }

    /// Stops reading keys: the terminal is gone.
    pub(super) fn forget_input(&mut self) {
        self.input = None;
    }

    /// Reads the bytes that are there; empty at the end of the input.
    pub(super) fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; READ_BYTES];
        let count = match &mut self.input {
            Some(input) => input.read(&mut bytes)?,
            None => 0,
        };
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Discards typed keys that nobody read.
    pub(super) fn discard_typed(&self) {
        if let Some(input) = &self.input {
            // The terminal is gone, and so are its keys.
            let _ = tcflush(input, QueueSelector::IFlush);
        }
    }

    /// Waits until keys can be read, the other descriptor is ready or the time has passed.
    pub(super) fn wait(
        &self,
        woken: &OwnedFd,
        reads_keys: bool,
        time: Option<Duration>,
    ) -> io::Result<InputState> {
        let mut wanted = vec![PollFd::new(woken, PollFlags::IN)];
        wanted.extend(
            self.input.as_ref().filter(|_| reads_keys).map(|input| PollFd::new(input, PollFlags::IN)),
        );
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        match poll(&mut wanted, time.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(InputState::Quiet),
            Err(e) => return Err(e.into()),
        }
        Ok(match wanted.get(1).map(PollFd::revents) {
            Some(state) if state.contains(PollFlags::IN) => InputState::Readable,
            Some(state) if !state.is_empty() => InputState::Gone,
            _ => InputState::Quiet,
        })
    }
}

impl Write for ConsoleIo {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Keys of the terminal after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputState {
    Quiet,
    Readable,
    Gone,
}

/// Raw mode that keeps line ends: a stray message of another thread stays readable.
#[derive(Debug)]
pub(super) struct RawTerminal {
    input: Option<File>,
    before: Option<Termios>,
}

impl RawTerminal {
    pub(super) fn new(io: &ConsoleIo) -> io::Result<Self> {
        let input = io.input.as_ref().map(File::try_clone).transpose()?;
        let before = input.as_ref().map(tcgetattr).transpose()?;
        Ok(Self { input, before })
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        let input = self.input.as_ref().map(File::try_clone).transpose()?;
        Ok(Self { input, before: self.before.clone() })
    }
}

impl RawSwitch for RawTerminal {
    fn enable(&mut self) -> io::Result<()> {
        let (Some(input), Some(before)) = (&self.input, &self.before) else { return Ok(()) };
        let mut raw = before.clone();
        raw.make_raw();
        raw.output_modes |= before.output_modes & (OutputModes::OPOST | OutputModes::ONLCR);
        Ok(tcsetattr(input, OptionalActions::Now, &raw)?)
    }

    fn disable(&mut self) -> io::Result<()> {
        let (Some(input), Some(before)) = (&self.input, &self.before) else { return Ok(()) };
        Ok(tcsetattr(input, OptionalActions::Now, before)?)
    }
}

/// Stops this job, as Ctrl-Z does where it is not a key.
pub(super) fn stop_job() {
    // Without job control nothing happens, and the screen goes on.
    let _ = kill_current_process_group(Signal::TSTP);
}
