//! Terminal modes, and giving them back whatever happens.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::thread::ThreadId;

/// Ends a frame, shows the cursor, ends styles and bracketed paste. Harmless where none of it was on.
pub const RESTORE: &str = "\x1b[?2026l\x1b[?25h\x1b[?2004l\x1b[0m";
const PASTE_ON: &str = "\x1b[?2004h";

/// Switches raw mode of a terminal.
pub trait RawSwitch {
    /// Turns line editing and echo off.
    fn enable(&mut self) -> io::Result<()>;
    /// Turns them on again.
    fn disable(&mut self) -> io::Result<()>;
}

/// Holds the terminal in raw mode; dropping it restores raw mode, paste mode, cursor and style.
pub struct ModeGuard<W: Write, R: RawSwitch> {
    out: W,
    raw: R,
    has_paste: bool,
    is_entered: bool,
}

impl<W: Write, R: RawSwitch> ModeGuard<W, R> {
    /// Enters raw mode, with bracketed paste for a prompt.
    pub fn enter(out: W, raw: R, has_paste: bool) -> io::Result<Self> {
        let mut guard = Self { out, raw, has_paste, is_entered: false };
        guard.resume()?;
        Ok(guard)
    }

    /// Enters the modes again, as after Ctrl-Z and `fg`.
    pub fn resume(&mut self) -> io::Result<()> {
        if !self.is_entered {
            self.raw.enable()?;
            self.is_entered = true;
            if self.has_paste {
                self.out.write_all(PASTE_ON.as_bytes())?;
                self.out.flush()?;
            }
        }
        Ok(())
    }

    /// Restores the terminal until [`ModeGuard::resume`]. Both parts are tried even if one fails.
    pub fn suspend(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_entered, false) {
            return Ok(());
        }
        let written = self.out.write_all(RESTORE.as_bytes()).and_then(|()| self.out.flush());
        self.raw.disable().and(written)
    }
}

impl<W: Write, R: RawSwitch> Drop for ModeGuard<W, R> {
    fn drop(&mut self) {
        // The terminal is gone; there is nobody to tell.
        let _ = self.suspend();
    }
}

/// Installs a panic hook that calls `restore` before the message is printed. Only a panic of `owner`, the thread that has the
/// terminal, restores: a panic in a tool ends that call alone, and the screen goes on.
pub fn restore_on_panic(owner: ThreadId, restore: impl Fn() + Send + Sync + 'static) {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if std::thread::current().id() == owner {
            restore();
        }
        previous(info);
    }));
}
