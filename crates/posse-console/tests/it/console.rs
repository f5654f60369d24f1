//! The console at a terminal.

use posse_console::{Console, ConsoleEvent, ConsoleEvents, ConsoleOptions, NoticeForm};
use posse_terminal::keys::{KeyCode, KeyEvent, KeyModifiers};
use posse_terminal::painter::{CursorSpot, TerminalSize};
use posse_terminal::style::StyledLine;

use crate::pty::PtyScreen;

fn lines(texts: &[&str]) -> Vec<StyledLine> {
    texts.iter().map(StyledLine::plain).collect()
}

fn open(screen: &PtyScreen) -> (Console, ConsoleEvents) {
    let options = ConsoleOptions { has_paste: true, ..ConsoleOptions::default() };
    Console::open(screen.io(), options).unwrap()
}

fn typed(character: char) -> ConsoleEvent {
    ConsoleEvent::Key(KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE))
}

#[tokio::test]
async fn committed_lines_stay_above_the_live_rows_and_closing_removes_those() {
    let screen = PtyScreen::new(40, 8, true);
    let (console, _events) = open(&screen);
    console.show(lines(&["> ", "status"]), CursorSpot { row: 0, column: 2 });
    screen.shows(&[">", "status"]).await;
    console.commit(lines(&["first"]));
    screen.shows(&["first", ">", "status"]).await;
    assert!(!screen.echoes());
    console.commit(lines(&["last"]));
    console.close();
    screen.shows(&["first", "last"]).await;
    assert!(screen.echoes(), "the terminal is as it was");
    screen.until("paste is off", || screen.bytes().ends_with("\x1b[?2004l\x1b[0m")).await;
}

#[tokio::test]
async fn keys_and_pastes_arrive_and_the_rows_stay() {
    let mut screen = PtyScreen::new(40, 8, true);
    let (console, mut events) = open(&screen);
    console.show(lines(&["row"]), CursorSpot::default());
    screen.shows(&["row"]).await;
    screen.types("a\x03\x1b[200~two\rlines\x1b[201~");
    assert_eq!(events.recv().await, Some(typed('a')));
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(events.recv().await, Some(ConsoleEvent::Key(ctrl_c)));
    assert_eq!(events.recv().await, Some(ConsoleEvent::Paste("two\nlines".to_owned())));
    screen.types("\x1b");
    let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(events.recv().await, Some(ConsoleEvent::Key(escape)));
    screen.shows(&["row"]).await;
    console.close();
    assert_eq!(events.recv().await, None);
}

#[tokio::test]
async fn more_keys_than_the_screen_takes_wait_and_none_is_lost() {
    let mut screen = PtyScreen::new(40, 8, true);
    let (_console, mut events) = open(&screen);
    let text = "x".repeat(2_000);
    screen.types(&text);
    for _ in 0..text.len() {
        assert_eq!(events.recv().await, Some(typed('x')));
    }
}

#[tokio::test]
async fn a_new_size_is_told_and_the_rows_are_drawn_again_at_the_cursor() {
    let screen = PtyScreen::new(40, 8, true);
    let (console, mut events) = open(&screen);
    console.commit(lines(&["done"]));
    console.show(lines(&["live"]), CursorSpot::default());
    screen.shows(&["done", "live"]).await;
    screen.resize(60, 12);
    let size = TerminalSize { columns: 60, rows: 12 };
    assert_eq!(events.recv().await, Some(ConsoleEvent::Resize(size)));
    assert_eq!(console.size(), size);
    console.show(lines(&["live again"]), CursorSpot::default());
    screen.shows(&["done", "live again"]).await;
    assert_eq!(screen.bytes().matches("\x1b[6n").count(), 1);
}

#[tokio::test]
async fn a_terminal_that_does_not_say_where_its_cursor_is_is_asked_once() {
    let mut screen = PtyScreen::new(40, 8, false);
    let (console, mut events) = open(&screen);
    for (columns, row) in [(50, "one"), (60, "two"), (70, "three")] {
        screen.resize(columns, 8);
        assert!(matches!(events.recv().await, Some(ConsoleEvent::Resize(_))));
        // Keys typed while the terminal is asked are keys.
        screen.types("k");
        assert_eq!(events.recv().await, Some(typed('k')));
        console.show(lines(&[row]), CursorSpot::default());
        screen.until(row, || screen.rows().last().map(String::as_str) == Some(row)).await;
    }
    assert_eq!(screen.bytes().matches("\x1b[6n").count(), 1);
}

#[tokio::test]
async fn a_full_screen_view_has_the_terminal_for_itself() {
    let screen = PtyScreen::new(40, 8, true);
    let (console, _events) = open(&screen);
    console.show(lines(&["tree"]), CursorSpot::default());
    screen.shows(&["tree"]).await;
    console.suspend().await;
    screen.shows(&[]).await;
    assert!(screen.echoes());
    let before = screen.bytes();
    console.commit(lines(&["meanwhile"]));
    console.show(lines(&["tree 2"]), CursorSpot::default());
    console.suspend().await;
    assert_eq!(screen.bytes(), before, "nothing is written meanwhile");
    console.resume();
    screen.shows(&["meanwhile", "tree 2"]).await;
    assert!(!screen.echoes());
}

#[tokio::test]
async fn a_notice_cannot_carry_control_characters() {
    let screen = PtyScreen::new(40, 8, true);
    let options = ConsoleOptions { notice: NoticeForm::BellAndText, ..ConsoleOptions::default() };
    let (console, _events) = Console::open(screen.io(), options).unwrap();
    console.ring("t_04 asks\x1b]0;owned\x07");
    console.close();
    screen.until("a notice", || screen.bytes().contains("\x07\x1b]9;t_04 asks]0;owned\x07")).await;
}
