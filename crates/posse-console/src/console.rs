//! The terminal of this process, owned by one thread.

mod io;
mod owner;

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use posse_terminal::keys::KeyEvent;
use posse_terminal::painter::{CursorSpot, TerminalSize};
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

pub use self::io::ConsoleIo;
use self::owner::TerminalOwner;

/// Events that wait for the screen. Beyond them keys stay in the terminal's own buffer.
const EVENTS_MAX: usize = 256;

/// Looks of a console, and how it calls for attention.
#[derive(Debug, Clone, Copy)]
pub struct ConsoleOptions {
    /// Colors and attributes, or none.
    pub palette: StylePalette,
    /// Characters for marks and ellipses.
    pub symbols: SymbolSet,
    /// Bracketed paste, for a screen with a prompt.
    pub has_paste: bool,
    /// Form of [`Console::ring`].
    pub notice: NoticeForm,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self {
            palette: StylePalette::Plain,
            symbols: SymbolSet::Unicode,
            has_paste: false,
            notice: NoticeForm::Bell,
        }
    }
}

/// A call for attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeForm {
    /// BEL, as in tmux, which keeps OSC 9 to itself.
    Bell,
    /// BEL and OSC 9, which terminals show as a notification of the desktop.
    BellAndText,
}

/// Something that happened at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsoleEvent {
    /// A key stroke. Ctrl-C is one; Ctrl-Z is not: the console stops and continues the process itself.
    Key(KeyEvent),
    /// Pasted text.
    Paste(String),
    /// A new size. Rows laid out for it are shown as soon as the window is quiet.
    Resize(TerminalSize),
}

/// Receiver of the events of a console.
#[derive(Debug)]
pub struct ConsoleEvents(mpsc::Receiver<ConsoleEvent>);

impl ConsoleEvents {
    /// Waits for the next event; `None` once the console is closed.
    pub async fn recv(&mut self) -> Option<ConsoleEvent> {
        self.0.recv().await
    }
}

/// Handle of the thread that owns the terminal. Dropping it closes the console.
pub struct Console {
    mail: Arc<ConsoleMail>,
    thread: Mutex<Option<JoinHandle<()>>>,
    signals: Vec<AbortHandle>,
}

impl Console {
    /// Takes the terminal. Needs a Tokio runtime for signals.
    pub fn open(io: ConsoleIo, options: ConsoleOptions) -> std::io::Result<(Self, ConsoleEvents)> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let mail = Arc::new(ConsoleMail { requests: Mutex::default(), wake, size: Mutex::new(io.size()) });
        let (events, received) = mpsc::channel(EVENTS_MAX);
        let signals = vec![
            mail.on_signal(SignalKind::window_change(), |requests| requests.is_resized = true)?,
            mail.on_signal(SignalKind::from_raw(io::SIGCONT), |requests| requests.is_continued = true)?,
        ];
        let owner = TerminalOwner::new(io, options, mail.clone(), OwnedFd::from(woken), events)?;
        let thread = std::thread::Builder::new().name("terminal".to_owned()).spawn(|| owner.work())?;
        let console = Self { mail, thread: Mutex::new(Some(thread)), signals };
        Ok((console, ConsoleEvents(received)))
    }

    /// Prints finished lines above the live rows, each once.
    pub fn commit(&self, lines: Vec<StyledLine>) {
        if !lines.is_empty() {
            self.mail.request(|requests| requests.committed.extend(lines));
        }
    }

    /// Sets the live rows and the cursor in them. Rows that did not change cost nothing.
    pub fn show(&self, rows: Vec<StyledLine>, cursor: CursorSpot) {
        self.mail.request(|requests| requests.live = Some((rows, cursor)));
    }

    /// Returns the size of the terminal.
    pub fn size(&self) -> TerminalSize {
        *self.mail.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws every row again, as for Ctrl-L.
    pub fn repaint(&self) {
        self.mail.request(|requests| requests.is_stale = true);
    }

    /// Calls for attention. The text is shown by the desktop where the terminal passes it on.
    pub fn ring(&self, text: &str) {
        self.mail.request(|requests| requests.notice = Some(text.to_owned()));
    }

    /// Removes the live rows and gives the terminal back, until [`Console::resume`]. Lines committed meanwhile wait.
    pub async fn suspend(&self) {
        let (done, is_done) = oneshot::channel();
        self.mail.request(|requests| requests.suspend = Some(done));
        // An error means that the thread has ended, and the terminal is free.
        let _ = is_done.await;
    }

    /// Takes the terminal again and paints below what is on the screen.
    pub fn resume(&self) {
        self.mail.request(|requests| requests.is_resumed = true);
    }

    /// Prints what was committed, removes the live rows, restores the terminal and discards unread keys. Returns when that
    /// is done.
    pub fn close(&self) {
        self.signals.iter().for_each(AbortHandle::abort);
        self.mail.request(|requests| requests.is_closed = true);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.close();
    }
}

/// Requests for the thread, and the way to wake it.
struct ConsoleMail {
    requests: Mutex<ConsoleRequests>,
    wake: UnixStream,
    size: Mutex<TerminalSize>,
}

/// Requests that the thread has not taken. Live rows replace older ones; committed lines are as many as were written since
/// the last frame.
#[derive(Default)]
struct ConsoleRequests {
    committed: Vec<StyledLine>,
    live: Option<(Vec<StyledLine>, CursorSpot)>,
    notice: Option<String>,
    suspend: Option<oneshot::Sender<()>>,
    is_resumed: bool,
    is_stale: bool,
    is_resized: bool,
    /// The process was stopped and goes on.
    is_continued: bool,
    is_closed: bool,
}

impl ConsoleMail {
    fn request(&self, change: impl FnOnce(&mut ConsoleRequests)) {
        change(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        // A full pipe wakes the thread as well.
        let _ = (&self.wake).write(&[0]);
    }

    fn take(&self) -> ConsoleRequests {
        std::mem::take(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn on_signal(
        self: &Arc<Self>,
        kind: SignalKind,
        change: fn(&mut ConsoleRequests),
    ) -> std::io::Result<AbortHandle> {
        let (mail, mut signal) = (self.clone(), signal(kind)?);
        let listening = tokio::spawn(async move {
            while signal.recv().await.is_some() {
                mail.request(change);
            }
        });
        Ok(listening.abort_handle())
    }
}
