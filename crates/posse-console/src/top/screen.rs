//! The terminal as a full screen: modes, frames and keys.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossterm::event::{Event, KeyEvent, KeyEventKind, MouseEvent};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use posse_terminal::painter::restore_on_panic;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, kill_current_process_group};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::copy;
use super::draw::draw;
use super::view::TopView;

/// Time between two looks at whether the thread has to end.
const LOOK: Duration = Duration::from_millis(50);
/// Inputs that wait for a frame; beyond them keys stay in the terminal's own buffer.
const INPUTS_MAX: usize = 64;
/// Time that a stop takes at most to arrive. Without job control it never does.
const STOP_WAIT: Duration = Duration::from_secs(1);

/// Alternate screen, no cursor, bracketed paste.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h";
/// Ends the frame and all modes, whichever of them are on.
const LEAVE: &str = "\x1b[?2026l\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";
/// Buttons and wheel, without motion.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// Sequences of a frame without a change: styles end, the cursor is hidden again.
const UNCHANGED: [&[u8]; 5] = [b"\x1b[39m", b"\x1b[49m", b"\x1b[59m", b"\x1b[0m", b"\x1b[?25l"];

/// True while this process shows a full screen.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Input of a person.
#[derive(Debug, Clone)]
pub enum ScreenInput {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resized,
}

/// The alternate screen of the terminal behind standard error. Dropping it restores the terminal.
pub struct FullScreen {
    terminal: Terminal<CrosstermBackend<FrameWriter>>,
    has_mouse: bool,
    is_over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl FullScreen {
    /// Takes the terminal, and reads its keys from now on.
    pub fn enter(has_mouse: bool) -> io::Result<(Self, mpsc::Receiver<ScreenInput>)> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| restore_on_panic(std::thread::current().id(), restore));
        // Made before the modes change: a failure leaves the terminal alone.
        let terminal = Terminal::new(CrosstermBackend::new(FrameWriter::default()))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut screen = Self { terminal, has_mouse, is_over: is_over.clone(), reader: None };
        screen.take_terminal()?;
        let (sender, inputs) = mpsc::channel(INPUTS_MAX);
        let reader = std::thread::Builder::new().name("keys".to_owned());
        screen.reader = Some(reader.spawn(move || read_inputs(&sender, &is_over))?);
        Ok((screen, inputs))
    }

    /// Draws a frame. Only changed cells are written, in one write.
    pub fn draw(&mut self, view: &mut TopView, now_ms: u64) -> io::Result<()> {
        self.terminal.draw(|frame| {
            let area = frame.area();
            if let Some(cursor) = draw(view, area, frame.buffer_mut(), now_ms) {
                frame.set_cursor_position(cursor);
            }
        })?;
        Ok(())
    }

    /// Draws every cell again with the next frame.
    pub fn repaint(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Takes the mouse, or gives it back to the terminal.
    pub fn set_mouse(&mut self, is_on: bool) -> io::Result<()> {
        self.has_mouse = is_on;
        write_now(if is_on { MOUSE_ON } else { MOUSE_OFF })
    }

    /// Puts a text into the clipboard of the terminal.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        write_now(&copy::sequence(text))
    }

    /// Stops this job as Ctrl-Z does, with the terminal restored, until the shell continues it.
    pub async fn stop(&mut self) -> io::Result<()> {
        let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        restore();
        kill_current_process_group(Signal::TSTP)?;
        let _ = tokio::time::timeout(STOP_WAIT, continued.recv()).await;
        self.take_terminal()?;
        self.repaint()
    }

    fn take_terminal(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        IS_SHOWN.store(true, Ordering::Relaxed);
        write_now(ENTER)?;
        if self.has_mouse { write_now(MOUSE_ON) } else { Ok(()) }
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            // A panic of the thread was reported when it happened.
            let _ = reader.join();
        }
        restore();
    }
}

/// Restores the terminal if it shows the screen. Both parts are tried even if one fails.
fn restore() {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write_now(LEAVE);
        let _ = disable_raw_mode();
    }
}

fn write_now(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes())?;
    stderr.flush()
}

fn read_inputs(sender: &mpsc::Sender<ScreenInput>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let event = match crossterm::event::poll(LOOK) {
            Ok(true) => crossterm::event::read(),
            Ok(false) => continue,
            // The terminal is gone.
            Err(_) => return,
        };
        let input = match event {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => ScreenInput::Key(key),
            Ok(Event::Mouse(mouse)) => ScreenInput::Mouse(mouse),
            Ok(Event::Paste(text)) => ScreenInput::Paste(text),
            Ok(Event::Resize(..)) => ScreenInput::Resized,
            Ok(Event::Key(_) | Event::FocusGained | Event::FocusLost) => continue,
            Err(_) => return,
        };
        if send(sender, input, is_over).is_err() {
            return;
        }
    }
}

/// Waits for room in the queue, but not beyond the end of the screen.
fn send(sender: &mpsc::Sender<ScreenInput>, mut input: ScreenInput, is_over: &AtomicBool) -> Result<(), ()> {
    while !is_over.load(Ordering::Relaxed) {
        match sender.try_send(input) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(()),
            Err(mpsc::error::TrySendError::Full(kept)) => input = kept,
        }
        std::thread::sleep(LOOK / 10);
    }
    Err(())
}

/// Gathers a frame and writes it at once, between the marks of synchronized output.
#[derive(Debug, Default)]
struct FrameWriter(Vec<u8>);

impl Write for FrameWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if is_unchanged(&self.0) {
            self.0.clear();
            return Ok(());
        }
        let mut frame = b"\x1b[?2026h".to_vec();
        frame.append(&mut self.0);
        frame.extend_from_slice(b"\x1b[?2026l");
        let mut stderr = io::stderr().lock();
        stderr.write_all(&frame)?;
        stderr.flush()
    }
}

/// Tells whether a frame changes nothing on the screen.
fn is_unchanged(mut frame: &[u8]) -> bool {
    while let Some(rest) = UNCHANGED.iter().find_map(|sequence| frame.strip_prefix(*sequence)) {
        frame = rest;
    }
    frame.is_empty()
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::CrosstermBackend;
    use ratatui::layout::Rect;
    use ratatui::{TerminalOptions, Viewport};

    use super::*;

    /// Output that the test can read while the terminal has it.
    #[derive(Clone, Default)]
    struct SharedOutput(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

    impl Write for SharedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_frame_without_a_change_writes_nothing() {
        let output = SharedOutput::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, 20, 4));
        let backend = CrosstermBackend::new(output.clone());
        let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        let mut draw = |text: &str| {
            let style = ratatui::style::Style::new();
            terminal.draw(|frame| frame.buffer_mut().set_string(0, 0, text, style)).unwrap();
            std::mem::take(&mut *output.0.borrow_mut())
        };
        assert!(!is_unchanged(&draw("posse top")));
        let frame = draw("posse top");
        assert!(is_unchanged(&frame), "{:?}", String::from_utf8_lossy(&frame));
        assert!(!is_unchanged(&draw("posse tap")));
    }
}
