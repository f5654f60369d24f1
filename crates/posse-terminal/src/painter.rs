//! Inline painter: finished lines on the normal screen, and one live area below them.
//!
//! A frame is one write inside a synchronized update. It never erases the display, addresses absolute rows or sets scroll
//! regions: each of these loses or repeats lines in some terminal. A changed row is overwritten and its rest erased; only
//! committed lines reach the scrollback. Size and time are arguments.

mod guard;

use std::fmt::Write as _;
use std::io::{self, Write};

use unicode_segmentation::UnicodeSegmentation;

pub use guard::{ModeGuard, RESTORE, RawSwitch, restore_on_panic};

use crate::style::{StylePalette, StyledLine, SymbolSet, columns};

/// Time between two frames: twelve a second look alive.
const FRAME_MS: u64 = 84;
/// Silence after a resize: a window that is dragged changes its size many times.
const RESIZE_QUIET_MS: u64 = 150;

const FRAME_BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const FRAME_END: &str = "\x1b[?25h\x1b[?2026l";
const ERASE_REST: &str = "\x1b[K";
const NEXT_ROW: &str = "\r\n";

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// Place of the cursor in the live area, from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CursorSpot {
    /// Row of the live area.
    pub row: usize,
    /// Column.
    pub column: usize,
}

/// Result of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaintStep {
    /// No change; no byte was written.
    Idle,
    /// A frame was written.
    Painted,
    /// Something is to be drawn in so many milliseconds.
    Wait {
        /// Time until the next tick makes sense.
        millis: u64,
    },
    /// The window has its new size: ask the terminal for the cursor's row, then call [`LivePainter::locate`].
    AskCursor,
}

/// Draws committed lines and the live area below them.
pub struct LivePainter<W: Write> {
    out: W,
    size: TerminalSize,
    palette: StylePalette,
    symbols: SymbolSet,
    /// Lines that wait to be committed.
    queue: Vec<StyledLine>,
    /// The live area as it was given.
    given: LiveArea,
    /// The part of it that is drawn, cut to the size.
    wanted: LiveArea,
    shown: LiveArea,
    start: AreaStart,
    /// Given rows above the cursor at the last frame.
    above: Vec<StyledLine>,
    /// Given rows that stayed above the cursor at a resize; they are not drawn again until they change.
    left_above: Vec<StyledLine>,
    frame_ms: Option<u64>,
    resize: ResizePhase,
}

/// Rows of the live area, and the cursor in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LiveArea {
    rows: Vec<StyledLine>,
    cursor: CursorSpot,
}

/// Place where the next frame begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AreaStart {
    /// The first row of the live area, as far above the cursor as it was drawn.
    Shown,
    /// The cursor's row; so many rows from there on are blanked first.
    Blanked { rows: usize },
    /// A new row below everything.
    Bottom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResizePhase {
    Settled,
    Quiet { until_ms: u64 },
    Asked,
}

impl<W: Write> LivePainter<W> {
    /// Creates a painter whose live area begins at the cursor's row; the cursor is in its first column.
    pub fn new(out: W, size: TerminalSize, palette: StylePalette, symbols: SymbolSet) -> Self {
        Self {
            out,
            size,
            palette,
            symbols,
            queue: Vec::new(),
            given: LiveArea::default(),
            wanted: LiveArea::default(),
            shown: LiveArea::default(),
            start: AreaStart::Shown,
            above: Vec::new(),
            left_above: Vec::new(),
            frame_ms: None,
            resize: ResizePhase::Settled,
        }
    }

    /// Returns the size that frames are drawn for.
    pub fn size(&self) -> TerminalSize {
        self.size
    }

    /// Queues finished lines. They are printed above the live area, each once, and never change.
    pub fn commit(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.queue.extend(lines);
    }

    /// Sets the rows of the live area and the cursor in it. Each row is cut before the edge, and rows that would not leave one
    /// row of the terminal free are left out at the end.
    pub fn show(&mut self, rows: Vec<StyledLine>, cursor: CursorSpot) {
        self.given = LiveArea { rows, cursor };
        self.fit();
    }

    /// Cuts the given area to the size.
    fn fit(&mut self) {
        let LiveArea { rows, cursor } = &self.given;
        if !rows.starts_with(&self.left_above) {
            self.left_above.clear();
        }
        let hidden = self.left_above.len();
        let cut = |row: &StyledLine| row.cut(self.size.columns.saturating_sub(1), self.symbols);
        let rows_max = self.size.rows.saturating_sub(1).max(1);
        let rows: Vec<StyledLine> = rows[hidden..].iter().take(rows_max).map(cut).collect();
        let row = cursor.row.saturating_sub(hidden).min(rows.len().saturating_sub(1));
        let column = cursor.column.min(self.size.columns.saturating_sub(1));
        self.wanted = LiveArea { rows, cursor: CursorSpot { row, column } };
    }

    /// Takes a new size. Nothing is drawn until the window is quiet.
    pub fn resize(&mut self, size: TerminalSize, now_ms: u64) {
        if size != self.size || self.resize != ResizePhase::Settled {
            self.size = size;
            self.resize = ResizePhase::Quiet { until_ms: now_ms + RESIZE_QUIET_MS };
        }
    }

    /// Takes the cursor's row after a resize, from 1; `None` if the terminal did not say. At row 1 a part of the live area may
    /// have left the screen, so a new one begins at the bottom.
    pub fn locate(&mut self, row: Option<usize>) {
        self.resize = ResizePhase::Settled;
        self.start = match row {
            Some(row) if row >= 2 => {
                AreaStart::Blanked { rows: (self.size.rows + 1).saturating_sub(row).max(1) }
            }
            _ => AreaStart::Bottom,
        };
        self.left_above = match self.start {
            AreaStart::Bottom => Vec::new(),
            AreaStart::Shown | AreaStart::Blanked { .. } => self.above.clone(),
        };
        self.shown = LiveArea::default();
        self.fit();
    }

    /// Draws every row again at the next tick, as for Ctrl-L.
    pub fn invalidate(&mut self) {
        // A line with this text is never wanted: it could not be drawn.
        let stale = StyledLine::plain("\0");
        self.shown.rows.iter_mut().for_each(|row| *row = stale.clone());
    }

    /// Begins a new live area at the cursor's row, as after Ctrl-Z and `fg`.
    pub fn restart(&mut self) {
        (self.shown, self.start) = (LiveArea::default(), AreaStart::Shown);
        self.left_above.clear();
        self.fit();
    }

    /// Draws what is due, in one write. At most one frame per 84 ms, none while the window is resized.
    pub fn tick(&mut self, now_ms: u64) -> io::Result<PaintStep> {
        match self.resize {
            ResizePhase::Quiet { until_ms } if now_ms < until_ms => {
                return Ok(PaintStep::Wait { millis: until_ms - now_ms });
            }
            ResizePhase::Quiet { .. } | ResizePhase::Asked => {
                self.resize = ResizePhase::Asked;
                return Ok(PaintStep::AskCursor);
            }
            ResizePhase::Settled => {}
        }
        if self.is_current() {
            return Ok(PaintStep::Idle);
        }
        let due_ms = self.frame_ms.map_or(now_ms, |frame| frame + FRAME_MS);
        if now_ms < due_ms {
            return Ok(PaintStep::Wait { millis: due_ms - now_ms });
        }
        self.frame_ms = Some(now_ms);
        self.paint()?;
        Ok(PaintStep::Painted)
    }

    /// Commits the queued lines, removes the live area and leaves the cursor on the row below, at once.
    pub fn close(&mut self) -> io::Result<()> {
        self.show(Vec::new(), CursorSpot::default());
        self.resize = ResizePhase::Settled;
        if self.is_current() { Ok(()) } else { self.paint() }
    }

    /// Returns the output, as for tests and a change of screens.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Returns the output.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    fn is_current(&self) -> bool {
        self.queue.is_empty() && self.start == AreaStart::Shown && self.shown == self.wanted
    }

    fn paint(&mut self) -> io::Result<()> {
        let frame = self.compose();
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()?;
        self.queue.clear();
        self.start = AreaStart::Shown;
        self.shown = self.wanted.clone();
        let LiveArea { rows, cursor } = &self.given;
        self.above = rows[..cursor.row.min(rows.len())].to_vec();
        Ok(())
    }

    /// Composes a frame from the rows that changed.
    fn compose(&self) -> String {
        let mut frame = FRAME_BEGIN.to_owned();
        self.go_to_start(&mut frame);
        let mut committed = 0;
        for line in &self.queue {
            let end = wrapped_end(line, self.size.columns);
            committed += end.row + 1;
            frame.push_str(&line.to_ansi(self.palette));
            // At the edge of a full row, erasing would take its last character.
            if end.column < self.size.columns {
                frame.push_str(ERASE_REST);
            }
            frame.push_str(NEXT_ROW);
        }
        let old = if self.start == AreaStart::Shown { self.shown.rows.as_slice() } else { &[] };
        let left = old.len().saturating_sub(committed);
        let wanted = &self.wanted.rows;
        // Lines were printed over the old rows, so none of them can be kept.
        let is_kept = |at: usize| committed == 0 && at < wanted.len() && old.get(at) == wanted.get(at);
        let total = wanted.len().max(left);
        let last = (0..total).rev().find(|at| !is_kept(*at));
        for at in 0..last.map_or(0, |last| last + 1) {
            if at > 0 {
                frame.push_str(NEXT_ROW);
            }
            if !is_kept(at) {
                let row = wanted.get(at).map_or_else(String::new, |row| row.to_ansi(self.palette));
                frame.push_str(&row);
                frame.push_str(ERASE_REST);
            }
        }
        self.go_to_cursor(&mut frame, last.unwrap_or(0));
        frame.push_str(FRAME_END);
        frame
    }

    fn go_to_start(&self, frame: &mut String) {
        match self.start {
            AreaStart::Shown => {
                up(frame, self.shown.cursor.row);
                frame.push('\r');
            }
            AreaStart::Blanked { rows } => {
                frame.push('\r');
                let blank = vec![ERASE_REST; rows];
                frame.push_str(&blank.join(NEXT_ROW));
                up(frame, rows.saturating_sub(1));
                frame.push('\r');
            }
            AreaStart::Bottom => {
                let _ = write!(frame, "\x1b[{}B{NEXT_ROW}", self.size.rows);
            }
        }
    }

    /// Moves from the first column or the end of this row to the cursor.
    fn go_to_cursor(&self, frame: &mut String, from: usize) {
        let CursorSpot { row, column } = self.wanted.cursor;
        frame.push('\r');
        up(frame, from.saturating_sub(row));
        // The cursor may be below the last row that changed.
        (from..row).for_each(|_| frame.push_str(NEXT_ROW));
        if column > 0 {
            let _ = write!(frame, "\x1b[{column}C");
        }
    }
}

fn up(frame: &mut String, rows: usize) {
    if rows > 0 {
        let _ = write!(frame, "\x1b[{rows}A");
    }
}

/// Returns where a line ends when the terminal wraps it.
fn wrapped_end(line: &StyledLine, width: usize) -> CursorSpot {
    let mut end = CursorSpot::default();
    for grapheme in line.text().graphemes(true) {
        let wide = columns(grapheme);
        if end.column + wide > width && end.column > 0 {
            end = CursorSpot { row: end.row + 1, column: 0 };
        }
        end.column += wide;
    }
    end
}
