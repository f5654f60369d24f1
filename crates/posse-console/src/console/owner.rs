//! The thread that owns the terminal: paints, reads keys, restores the modes.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use posse_terminal::keys::{KeyCode, KeyDecoder, KeyEvent, KeyModifiers, TerminalInput};
use posse_terminal::painter::{
    CursorSpot, LivePainter, ModeGuard, PaintStep, RESTORE, RawSwitch, restore_on_panic,
};
use posse_terminal::style::StyledLine;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use super::io::{ConsoleIo, InputState, RawTerminal, stop_job};
use super::{ConsoleEvent, ConsoleMail, ConsoleOptions, ConsoleRequests, NoticeForm};

/// Question for the cursor's row.
const ASK_CURSOR: &[u8] = b"\x1b[6n";
/// Time that the terminal has to answer it.
const ANSWER_WAIT: Duration = Duration::from_millis(250);
/// Time after which a process that should have stopped goes on: there is no job control.
const STOP_WAIT: Duration = Duration::from_millis(500);
/// Interval of looking whether the screen takes events again.
const FULL_WAIT: Duration = Duration::from_millis(20);

/// Everything that the thread has.
pub(super) struct TerminalOwner {
    io: ConsoleIo,
    /// Modes of the terminal before.
    before: RawTerminal,
    painter: LivePainter<ConsoleIo>,
    modes: ModeGuard<ConsoleIo, RawTerminal>,
    options: ConsoleOptions,
    mail: Arc<ConsoleMail>,
    woken: OwnedFd,
    events: mpsc::Sender<ConsoleEvent>,
    /// Events for which the screen had no room; at most those of one read.
    held: VecDeque<ConsoleEvent>,
    /// Live rows, kept while another has the terminal.
    live: (Vec<StyledLine>, CursorSpot),
    decoder: KeyDecoder,
    /// Time of the last bytes.
    typed: Instant,
    phase: OwnerPhase,
    /// Time at which this thread took the terminal.
    taken: Instant,
    cursor: CursorQuery,
    began: Instant,
}

/// Holder of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerPhase {
    /// This thread.
    Painting,
    /// A full-screen view.
    Suspended,
    /// The shell, since this time.
    Stopped(Instant),
}

/// Question for the cursor's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CursorQuery {
    Possible,
    Asked(Instant),
    /// The terminal did not answer once, and is not asked again: a late answer would be a key.
    Impossible,
}

impl TerminalOwner {
    pub(super) fn new(
        io: ConsoleIo,
        options: ConsoleOptions,
        mail: Arc<ConsoleMail>,
        woken: OwnedFd,
        events: mpsc::Sender<ConsoleEvent>,
    ) -> io::Result<Self> {
        // Keys typed before the screen was there are meant for no screen.
        io.discard_typed();
        let painter = LivePainter::new(io.try_clone()?, io.size(), options.palette, options.symbols);
        let raw = RawTerminal::new(&io)?;
        let before = raw.try_clone()?;
        let cursor = if io.has_input() { CursorQuery::Possible } else { CursorQuery::Impossible };
        let has_paste = options.has_paste && io.has_input();
        let modes = ModeGuard::enter(io.try_clone()?, raw, has_paste)?;
        let now = Instant::now();
        Ok(Self {
            io,
            before,
            painter,
            modes,
            options,
            mail,
            woken,
            events,
            held: VecDeque::new(),
            live: (Vec::new(), CursorSpot::default()),
            decoder: KeyDecoder::default(),
            typed: now,
            phase: OwnerPhase::Painting,
            taken: now,
            cursor,
            began: now,
        })
    }

    /// Serves the screen until the console is closed.
    pub(super) fn work(mut self) {
        self.restore_on_panic();
        loop {
            let requests = self.mail.take();
            let is_closed = requests.is_closed;
            self.obey(requests);
            if is_closed {
                break;
            }
            let time = self.paint();
            if !self.listen(time) {
                break;
            }
        }
        if self.phase == OwnerPhase::Painting {
            // The terminal is gone; there is nobody to tell.
            let _ = self.painter.close();
        }
        self.io.discard_typed();
    }

    /// A panic of this thread leaves a terminal that a shell can use.
    fn restore_on_panic(&self) {
        let Ok((output, raw)) = self.io.try_clone().and_then(|io| Ok((io, self.before.try_clone()?))) else {
            return;
        };
        let terminal = Mutex::new((output, raw));
        restore_on_panic(std::thread::current().id(), move || {
            let mut terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = terminal.0.write_all(RESTORE.as_bytes());
            let _ = terminal.1.disable();
        });
    }

    fn obey(&mut self, requests: ConsoleRequests) {
        let ConsoleRequests { committed, live, notice, suspend, .. } = requests;
        self.painter.commit(committed);
        if let Some(live) = live {
            self.live = live;
            self.show_live();
        }
        if let Some(text) = notice {
            self.ring(&text);
        }
        if requests.is_stale {
            self.painter.invalidate();
        }
        if let Some(done) = suspend {
            self.suspend(done);
        }
        if requests.is_resumed && self.phase == OwnerPhase::Suspended {
            self.take_terminal();
        }
        if requests.is_continued {
            self.go_on();
        }
        if requests.is_resized {
            self.measure();
        }
    }

    fn show_live(&mut self) {
        if self.phase == OwnerPhase::Painting {
            let (rows, cursor) = &self.live;
            self.painter.show(rows.clone(), *cursor);
        }
    }

    fn suspend(&mut self, done: oneshot::Sender<()>) {
        if self.phase == OwnerPhase::Painting {
            self.give_terminal();
        }
        self.phase = OwnerPhase::Suspended;
        // Whoever asked has gone; the terminal stays free.
        let _ = done.send(());
    }

    /// Removes the live rows and restores the modes.
    fn give_terminal(&mut self) {
        let _ = self.painter.close();
        let _ = self.modes.suspend();
    }

    /// Enters the modes again and paints below what is on the screen.
    fn take_terminal(&mut self) {
        (self.phase, self.taken) = (OwnerPhase::Painting, Instant::now());
        let _ = self.modes.resume();
        self.painter.restart();
        self.show_live();
        self.measure();
    }

    /// Goes on after the process was stopped, by Ctrl-Z or by another process.
    fn go_on(&mut self) {
        match self.phase {
            OwnerPhase::Stopped(_) => self.take_terminal(),
            OwnerPhase::Suspended => {}
            // The end of our own stop was noticed before its signal came.
            OwnerPhase::Painting if self.taken.elapsed() < STOP_WAIT => {}
            // The shell has used the terminal meanwhile.
            OwnerPhase::Painting => {
                let _ = self.modes.suspend();
                self.take_terminal();
            }
        }
    }

    /// Takes the size, and tells the screen if it changed.
    fn measure(&mut self) {
        let size = self.io.size();
        let mut known = self.mail.size.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *known, size) != size {
            drop(known);
            self.painter.resize(size, self.now_ms());
            self.send(ConsoleEvent::Resize(size));
        }
    }

    fn ring(&mut self, text: &str) {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        let notice = match self.options.notice {
            NoticeForm::Bell => "\x07".to_owned(),
            NoticeForm::BellAndText => format!("\x07\x1b]9;{text}\x07"),
        };
        let _ = self.io.write_all(notice.as_bytes());
    }

    /// Paints what is due; returns the time until there is more to do.
    fn paint(&mut self) -> Option<Duration> {
        match self.phase {
            OwnerPhase::Painting => {}
            OwnerPhase::Suspended => return None,
            OwnerPhase::Stopped(since) if since.elapsed() < STOP_WAIT => {
                return Some(STOP_WAIT.saturating_sub(since.elapsed()));
            }
            OwnerPhase::Stopped(_) => self.take_terminal(),
        }
        if let CursorQuery::Asked(since) = self.cursor {
            match ANSWER_WAIT.checked_sub(since.elapsed()) {
                Some(left) if !left.is_zero() => return Some(left),
                _ => {
                    self.cursor = CursorQuery::Impossible;
                    self.painter.locate(None);
                }
            }
        }
        match self.painter.tick(self.now_ms()) {
            Ok(PaintStep::Idle) | Err(_) => None,
            Ok(PaintStep::Painted) => Some(Duration::ZERO),
            Ok(PaintStep::Wait { millis }) => Some(Duration::from_millis(millis)),
            Ok(PaintStep::AskCursor) => {
                self.ask_cursor();
                Some(Duration::ZERO)
            }
        }
    }

    fn ask_cursor(&mut self) {
        match self.cursor {
            CursorQuery::Possible if self.io.write_all(ASK_CURSOR).is_ok() => {
                self.cursor = CursorQuery::Asked(Instant::now());
            }
            _ => self.painter.locate(None),
        }
    }

    /// Waits for keys, requests or the end of this time; returns false if there is nobody to listen to.
    fn listen(&mut self, time: Option<Duration>) -> bool {
        self.deliver_held();
        let reads_keys = self.phase == OwnerPhase::Painting && self.held.is_empty();
        let expiry = self.decoder.patience().map(|patience| patience.saturating_sub(self.typed.elapsed()));
        let full = (!self.held.is_empty()).then_some(FULL_WAIT);
        let time = time.into_iter().chain(expiry.filter(|_| reads_keys)).chain(full).min();
        let Ok(state) = self.io.wait(&self.woken, reads_keys, time) else { return false };
        self.forget_wakes();
        match state {
            InputState::Readable => self.read_keys(),
            InputState::Gone => self.io.forget_input(),
            InputState::Quiet => {}
        }
        let patience = self.decoder.patience();
        if patience.is_some_and(|patience| self.typed.elapsed() >= patience) {
            let expired = self.decoder.expire();
            self.take_inputs(expired);
        }
        true
    }

    fn forget_wakes(&mut self) {
        let Ok(woken) = self.woken.try_clone() else { return };
        let mut woken = UnixStream::from(woken);
        let mut bytes = [0; 64];
        while woken.read(&mut bytes).is_ok_and(|count| count == bytes.len()) {}
    }

    fn read_keys(&mut self) {
        match self.io.read() {
            Ok(bytes) if bytes.is_empty() => self.io.forget_input(),
            Ok(bytes) => {
                self.typed = Instant::now();
                let inputs = self.decoder.push(&bytes);
                self.take_inputs(inputs);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.io.forget_input(),
        }
    }

    fn take_inputs(&mut self, inputs: Vec<TerminalInput>) {
        for input in inputs {
            match input {
                TerminalInput::Key(key) if is_stop(&key) => {
                    self.give_terminal();
                    self.phase = OwnerPhase::Stopped(Instant::now());
                    stop_job();
                }
                TerminalInput::Key(key) => self.send(ConsoleEvent::Key(key)),
                TerminalInput::Paste(text) => self.send(ConsoleEvent::Paste(text)),
                TerminalInput::CursorRow(row) => {
                    if let CursorQuery::Asked(_) = self.cursor {
                        self.cursor = CursorQuery::Possible;
                        self.painter.locate(Some(row));
                    }
                }
            }
        }
    }

    fn send(&mut self, event: ConsoleEvent) {
        self.held.push_back(event);
        self.deliver_held();
    }

    fn deliver_held(&mut self) {
        while let Some(event) = self.held.pop_front() {
            match self.events.try_send(event) {
                // Nobody listens any more.
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(event)) => return self.held.push_front(event),
            }
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn is_stop(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL
}
