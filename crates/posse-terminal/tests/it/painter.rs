//! The inline painter, driven into a terminal emulator.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use posse_core::event::{Event, EventEntry};
use posse_core::grant::SandboxTier;
use posse_core::id::{CallKey, TaskId};
use posse_core::usage::Usage;
use posse_terminal::painter::{
    CursorSpot, LivePainter, ModeGuard, PaintStep, RESTORE, RawSwitch, TerminalSize, restore_on_panic,
};
use posse_terminal::rows::{TreeLayout, TreeModel};
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet};

/// Output that keeps each write.
#[derive(Clone, Default)]
struct Writes(Rc<RefCell<Vec<Vec<u8>>>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A painter and the terminal that it draws on.
struct TestScreen {
    painter: LivePainter<Writes>,
    writes: Writes,
    terminal: vt100::Parser,
    now_ms: u64,
}

fn size(columns: usize, rows: usize) -> TerminalSize {
    TerminalSize { columns, rows }
}

fn cells(n: usize) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(u16::try_from(n).unwrap()).unwrap()
}

fn lines(texts: &[&str]) -> Vec<StyledLine> {
    texts.iter().map(StyledLine::plain).collect()
}

impl TestScreen {
    fn new(columns: usize, rows: usize) -> Self {
        let writes = Writes::default();
        let painter =
            LivePainter::new(writes.clone(), size(columns, rows), StylePalette::Ansi, SymbolSet::Unicode);
        let terminal = vt100::Parser::new(cells(rows), cells(columns), 10_000);
        Self { painter, writes, terminal, now_ms: 0 }
    }

    /// Lets 100 ms pass and ticks; the terminal takes what was written. Returns the bytes of the frame.
    fn frame(&mut self) -> String {
        self.now_ms += 100;
        self.painter.tick(self.now_ms).unwrap();
        self.take()
    }

    fn take(&mut self) -> String {
        let writes = std::mem::take(&mut *self.writes.0.borrow_mut());
        assert!(writes.len() <= 1, "a frame is one write");
        let bytes = writes.concat();
        self.terminal.process(&bytes);
        String::from_utf8(bytes).unwrap()
    }

    fn show(&mut self, rows: &[&str]) -> String {
        self.painter.show(lines(rows), CursorSpot::default());
        self.frame()
    }

    fn resize(&mut self, columns: usize, rows: usize, answer: bool) {
        self.terminal.screen_mut().set_size(cells(rows), cells(columns));
        self.painter.resize(size(columns, rows), self.now_ms);
        assert_eq!(self.painter.tick(self.now_ms + 149).unwrap(), PaintStep::Wait { millis: 1 });
        self.now_ms += 150;
        assert_eq!(self.painter.tick(self.now_ms).unwrap(), PaintStep::AskCursor);
        assert_eq!(self.take(), "", "nothing is drawn before the cursor is found");
        let row = usize::from(self.terminal.screen().cursor_position().0) + 1;
        self.painter.locate(answer.then_some(row));
    }

    /// Rows of the screen, without those that are empty at its end.
    fn screen(&self) -> Vec<String> {
        let screen = self.terminal.screen();
        let mut rows: Vec<String> =
            screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Everything that was ever on the screen: scrollback and screen.
    fn history(&mut self) -> Vec<String> {
        let total = self.terminal.screen().scrollback_len();
        let mut rows = Vec::new();
        for back in (1..=total).rev() {
            self.terminal.screen_mut().set_scrollback(back);
            rows.extend(self.screen().into_iter().next());
        }
        self.terminal.screen_mut().set_scrollback(0);
        rows.extend(self.screen());
        rows
    }
}

#[test]
fn committed_lines_stand_above_the_live_rows() {
    let mut screen = TestScreen::new(40, 10);
    screen.painter.commit(lines(&["first"]));
    let frame = screen.show(&["● root  working", "  keys"]);
    assert_eq!(
        frame,
        "\x1b[?2026h\x1b[?25l\rfirst\x1b[K\r\n● root  working\x1b[K\r\n  keys\x1b[K\r\x1b[1A\x1b[?25h\x1b[?2026l"
    );
    assert_eq!(screen.screen(), ["first", "● root  working", "  keys"]);
    screen.painter.commit(lines(&["second", "third"]));
    screen.show(&["● root  done"]);
    assert_eq!(screen.screen(), ["first", "second", "third", "● root  done"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (3, 0), "the cursor rests on the first live row");
    screen.painter.close().unwrap();
    screen.take();
    assert_eq!(screen.screen(), ["first", "second", "third"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (3, 0));
}

#[test]
fn only_changed_rows_are_written_and_idle_frames_are_empty() {
    let mut screen = TestScreen::new(40, 10);
    screen.show(&["one", "two", "three"]);
    assert_eq!(screen.frame(), "");
    assert_eq!(screen.show(&["one", "two", "three"]), "");
    let frame = screen.show(&["one", "TWO", "three"]);
    assert_eq!(frame, "\x1b[?2026h\x1b[?25l\r\r\nTWO\x1b[K\r\x1b[1A\x1b[?25h\x1b[?2026l");
    screen.show(&["one"]);
    assert_eq!(screen.screen(), ["one"]);
    screen.show(&["one", "two", "three", "four"]);
    assert_eq!(screen.screen(), ["one", "two", "three", "four"]);
    screen.painter.invalidate();
    assert!(screen.frame().contains("one") && screen.screen().len() == 4);
}

#[test]
fn frames_come_at_most_twelve_times_a_second() {
    let mut screen = TestScreen::new(40, 10);
    let mut painted = 0;
    for now_ms in 0..1_000 {
        screen.painter.show(lines(&[&now_ms.to_string()]), CursorSpot::default());
        match screen.painter.tick(now_ms).unwrap() {
            PaintStep::Painted => painted += 1,
            PaintStep::Wait { millis } => assert!((1..84).contains(&millis)),
            step => panic!("{step:?}"),
        }
        screen.take();
    }
    assert_eq!(painted, 12);
}

#[test]
fn the_cursor_rests_on_the_prompt_where_there_is_one() {
    let mut screen = TestScreen::new(40, 10);
    screen.painter.show(lines(&["unfinished", "> hello", "  status"]), CursorSpot { row: 1, column: 7 });
    screen.frame();
    assert_eq!(screen.terminal.screen().cursor_position(), (1, 7));
    screen
        .painter
        .show(lines(&["unfinished line", "> hello", "  status 2"]), CursorSpot { row: 1, column: 2 });
    screen.frame();
    assert_eq!(screen.screen(), ["unfinished line", "> hello", "  status 2"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (1, 2));
    screen.painter.show(lines(&["> hello", "  status"]), CursorSpot { row: 0, column: 2 });
    screen.painter.commit(lines(&["unfinished line is finished"]));
    screen.frame();
    assert_eq!(screen.screen(), ["unfinished line is finished", "> hello", "  status"]);
}

#[test]
fn rows_end_before_the_edge_and_never_fill_the_terminal() {
    let mut screen = TestScreen::new(10, 5);
    let rows = ["0123456789abc", "日本語日本語", "3", "4", "5", "6"];
    screen.show(&rows);
    assert_eq!(screen.screen(), ["01234567…", "日本語日…", "3", "4"]);
    assert_eq!(screen.terminal.screen().scrollback_len(), 0);
}

#[test]
fn long_code_is_written_whole_and_wrapped_by_the_terminal() {
    let mut screen = TestScreen::new(10, 8);
    screen.show(&["xxxxxxxxx", "xxxxxxxxx", "xxxxxxxxx", "xxxxxxxxx", "xxxxxxxxx"]);
    screen.painter.commit(lines(&["0123456789abc", "0123456789", "a日本語日本"]));
    screen.show(&["live"]);
    assert_eq!(screen.screen(), ["0123456789", "abc", "0123456789", "a日本語日", "本", "live"]);
    assert!(screen.terminal.screen().row_wrapped(0), "so that it is copied as one line");
}

/// A tree of twenty subagents that work, and the event that each frame brings.
fn busy_tree(model: &mut TreeModel, second: u64, step: u64) {
    let tell = |model: &mut TreeModel, number: u32, event| {
        let task_id = if number == 0 { TaskId::root("s") } else { TaskId::child("s", number) };
        model.observe(&EventEntry { v: 1, seq: 0, task_id, at_ms: second * 1_000, event });
    };
    let started = || Event::Started {
        agent: "general".to_owned(),
        model: "p:m".to_owned(),
        context_window: None,
        sandbox: SandboxTier::None,
    };
    if step == 0 {
        (0..=20).for_each(|number| tell(model, number, started()));
    }
    let (number, turn) = ((step % 20) as u32 + 1, (step / 20) as u32 + 1);
    let key = CallKey { turn, index: 0 };
    tell(model, number, Event::TurnStarted { turn, turns_max: 50 });
    let usage = Usage { input: 100, ..Usage::default() }.costing(Some(1_000));
    tell(model, number, Event::Replied { turn, model: "p:m".to_owned(), usage, calls: 1 });
    tell(model, number, Event::ToolStarted { key, tool: "bash".to_owned(), summary: format!("make {step}") });
}

/// Final characters of the sequences that a frame must not have: it moves up and right, erases rows and sets modes and styles.
fn foreign_sequences(frame: &str) -> String {
    let finals =
        frame.split("\x1b[").skip(1).filter_map(|part| part.chars().find(|c| c.is_ascii_alphabetic()));
    finals.filter(|c| !"KACmhl".contains(*c)).collect()
}

/// Runs twenty subagents for 15 seconds with three committed lines; returns the lines in the scrollback.
fn scrollback_after_15_seconds(rows: usize) -> usize {
    let mut screen = TestScreen::new(80, rows);
    let mut model = TreeModel::new(TaskId::root("s"));
    let layout = TreeLayout { columns: 80, rows_max: rows - 3, symbols: SymbolSet::Unicode, selected: None };
    for step in 0..150 {
        busy_tree(&mut model, screen.now_ms / 1_000, step);
        if step % 50 == 0 {
            screen.painter.commit(lines(&[&format!("note {step}")]));
        }
        let mut live = model.lines(&layout, screen.now_ms);
        live.push(model.key_line(&layout, true));
        assert!(live.len() <= rows - 2);
        screen.painter.show(live, CursorSpot::default());
        let frame = screen.frame();
        assert!(frame.len() < 2_500, "{} bytes", frame.len());
        assert_eq!(foreign_sequences(&frame), "", "{frame:?}");
    }
    let history = screen.history();
    for note in ["note 0", "note 50", "note 100"] {
        assert_eq!(history.iter().filter(|line| *line == note).count(), 1, "{note}: {history:#?}");
    }
    assert_eq!(history.iter().filter(|line| line.starts_with("● general")).count(), 1, "{history:#?}");
    screen.terminal.screen().scrollback_len()
}

#[test]
fn only_commits_reach_the_scrollback() {
    assert_eq!(scrollback_after_15_seconds(40), 0);
    assert!(scrollback_after_15_seconds(12) <= 1);
}

/// Resizes six times between 60 and 200 columns while lines are committed; returns the rows ever seen.
fn resized(rows: usize, answers: bool) -> Vec<String> {
    let mut screen = TestScreen::new(120, rows);
    for (step, columns) in [60, 200, 80, 150, 61, 120].into_iter().enumerate() {
        screen.painter.commit(lines(&[&format!("committed {step} a"), &format!("committed {step} b")]));
        screen.show(&["● root  working", "├─ ● t_01  reading", "└─ ● t_02  writing"]);
        screen.resize(columns, rows, answers);
        screen.painter.commit(lines(&[&format!("committed {step} c")]));
        screen.show(&["● root  working", "├─ ● t_01  reading", "└─ ● t_02  writing"]);
    }
    screen.history()
}

#[test]
fn resizes_keep_every_committed_line_exactly_once() {
    for (rows, answers) in [(24, true), (8, true), (24, false), (8, false)] {
        let history = resized(rows, answers);
        for step in 0..6 {
            for part in ["a", "b", "c"] {
                let line = format!("committed {step} {part}");
                let count = history.iter().filter(|row| **row == line).count();
                assert_eq!(count, 1, "{line} at {rows} rows, {answers}: {history:#?}");
            }
        }
        let trees = history.iter().filter(|row| *row == "● root  working").count();
        assert!(trees == if answers { 1 } else { 7 }, "{trees} trees at {rows} rows: {history:#?}");
    }
}

#[test]
fn a_live_area_at_the_first_row_begins_anew_at_the_bottom() {
    let mut screen = TestScreen::new(100, 10);
    screen.show(&["● root", "└─ ● t_01"]);
    screen.resize(60, 10, true);
    screen.show(&["● root", "└─ ● t_01  more"]);
    assert_eq!(screen.screen().iter().filter(|row| row.contains("more")).count(), 1);
    assert_eq!(screen.screen().last().map(String::as_str), Some("└─ ● t_01  more"));
}

#[test]
fn an_unfinished_line_above_the_prompt_is_not_repeated_by_a_resize() {
    let mut screen = TestScreen::new(100, 10);
    let rows = ["The server binds", "> typed", "  status"];
    screen.painter.commit(lines(&["before"]));
    screen.painter.show(lines(&rows), CursorSpot { row: 1, column: 7 });
    screen.frame();
    for columns in [60, 90] {
        screen.resize(columns, 10, true);
        screen.painter.show(lines(&rows), CursorSpot { row: 1, column: 7 });
        screen.frame();
        assert_eq!(screen.screen(), ["before", "The server binds", "> typed", "  status"]);
        assert_eq!(screen.terminal.screen().cursor_position(), (2, 7));
    }
    screen.painter.commit(lines(&["The server binds its port."]));
    screen.painter.show(lines(&rows[1..]), CursorSpot { row: 0, column: 7 });
    screen.frame();
    assert_eq!(
        screen.screen(),
        ["before", "The server binds", "The server binds its port.", "> typed", "  status"]
    );
}

/// Raw mode that counts.
#[derive(Clone, Default)]
struct CountedRaw(Rc<RefCell<i32>>);

impl RawSwitch for CountedRaw {
    fn enable(&mut self) -> io::Result<()> {
        *self.0.borrow_mut() += 1;
        Ok(())
    }

    fn disable(&mut self) -> io::Result<()> {
        *self.0.borrow_mut() -= 1;
        Ok(())
    }
}

#[test]
fn the_guard_gives_the_terminal_back_once() {
    let (writes, raw) = (Writes::default(), CountedRaw::default());
    let written =
        |writes: &Writes| String::from_utf8(std::mem::take(&mut *writes.0.borrow_mut()).concat()).unwrap();
    let mut guard = ModeGuard::enter(writes.clone(), raw.clone(), true).unwrap();
    assert_eq!((written(&writes).as_str(), *raw.0.borrow()), ("\x1b[?2004h", 1));
    guard.suspend().unwrap();
    guard.suspend().unwrap();
    assert_eq!((written(&writes).as_str(), *raw.0.borrow()), (RESTORE, 0));
    guard.resume().unwrap();
    let mut terminal = vt100::Parser::new(cells(5), cells(20), 0);
    terminal.process(format!("{}\x1b[?25l\x1b[1m", written(&writes)).as_bytes());
    assert!(terminal.screen().bracketed_paste() && terminal.screen().hide_cursor());
    drop(guard);
    terminal.process(written(&writes).as_bytes());
    assert!(
        !terminal.screen().bracketed_paste() && !terminal.screen().hide_cursor() && !terminal.screen().bold()
    );
    assert_eq!(*raw.0.borrow(), 0);
}

#[test]
fn a_panic_of_the_owner_restores_and_one_of_a_tool_does_not() {
    let restored = Arc::new(AtomicUsize::new(0));
    let counter = restored.clone();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    restore_on_panic(std::thread::current().id(), move || {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let tool = std::thread::spawn(|| panic!("in a tool")).join();
    let after_tool = restored.load(Ordering::Relaxed);
    let owner = std::panic::catch_unwind(|| panic!("in the painter"));
    std::panic::set_hook(before);
    assert!(tool.is_err() && owner.is_err());
    assert_eq!((after_tool, restored.load(Ordering::Relaxed)), (0, 1));
}
